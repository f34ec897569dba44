"""Files with their operators in other orders in TensorFlow Lite Micro: the same results, and the arena that we say."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip(
    "tflite_micro", reason="the interpreter of TensorFlow Lite Micro is built for Linux on x86-64 and no other machine"
)

from tests.tflite.build import model
from tests.tflite.files import tflite_files
from tests.tflite.interpreter import load
from tests.tflite.invoked import computed
from tests.tflite.test_reordered import branches, plan, rewritten, shuffled, write
from tests.tflite.tflm_graphs import mesh
from weighbridge import best_order, weigh
from weighbridge.errors import WeighbridgeError
from weighbridge.frontends.tflite_reordered import tflite_list


def test_shared_files_compute_the_same_in_other_orders(shared: Path, tmp_path: Path) -> None:
    pairs: list[tuple[Path, Path]] = []
    for name, path in tflite_files(shared).items():
        if path.stat().st_size > 4_000_000:
            continue
        try:
            listed = tflite_list(path)
            order = shuffled(listed, 7)
            if order != tuple(range(len(order))):
                weigh(path)
                pairs.append((path, rewritten(path, order, tmp_path / f"{len(pairs)}.tflite")))
        except WeighbridgeError:
            assert name
    digests = computed([path for pair in pairs for path in pair])
    ran = [(one, other) for one, other in zip(digests[::2], digests[1::2], strict=True) if one]
    assert all(one == other for one, other in ran)
    assert len(ran) >= 5
    loaded = load([new for _, new in pairs])
    for (path, new), one in zip(pairs, loaded, strict=True):
        if one.head is not None:
            assert weigh(new).memory.peak_bytes["arena_tflm"] == one.head, path.name


def test_the_arena_of_an_exported_file_is_the_interpreters(tmp_path: Path) -> None:
    made = {f"wide{count}": model(branches(count)) for count in (2, 4, 9)}
    made |= {f"mesh{seed}": mesh(seed) for seed in range(40)}
    made["planned"] = model(branches(), metadata=plan(len(branches().tensors)))
    old = [write(tmp_path, content, name) for name, content in made.items()]
    new = [path.with_name(f"better_{path.name}") for path in old]
    orders = [best_order(path, export=to) for path, to in zip(old, new, strict=True)]
    moved = 0
    for order, before, after in zip(orders, load(old), load(new), strict=True):
        found = order.exported
        assert found is not None
        assert found.peak_bytes == found.promised_bytes
        assert order.policies["arena_tflm"] == (before.head, after.head), found.path
        assert (found.arena_before_bytes, found.arena_bytes) == (before.head, after.head), found.path
        moved += found.moved > 0
    assert moved > 5
    digests = computed([*old, *new])
    assert all(digests)
    assert digests[: len(old)] == digests[len(old) :]
