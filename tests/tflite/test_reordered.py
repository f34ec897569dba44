"""TensorFlow Lite files with their operators in other orders: the same otherwise, and what the schema's package reads of them."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

import numpy as np
import pytest
import tflite

from tests.cli.test_weigh import one_line
from tests.tflite.build import graph, model, op, tensor
from tests.tflite.damage import external
from tests.tflite.files import tflite_files
from tests.tflite.writer import Subgraph
from weighbridge import BadModel, BadSpec, best_order, load, weigh
from weighbridge.cli.main import main
from weighbridge.errors import WeighbridgeError
from weighbridge.frontends.file_order import check_order, in_turn, ordered_by
from weighbridge.frontends.tflite_reordered import TfliteList, tflite_list

SIDE, WIDE = 8, 16
CONV = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
PLAN, CONTROL = "OfflineMemoryAllocation", "model_control_dependencies"


def branches(count: int = 4) -> Subgraph:
    """Branches that widen and end narrow, written a layer of all branches at a time."""
    numbers = np.random.default_rng(0)
    tensors, operators, ends = [tensor("x", (1, SIDE, SIDE, 2))], [], ["x"] * count
    for step, (given, channels) in enumerate(((2, WIDE), (WIDE, 1))):
        for branch in range(count):
            weights = numbers.standard_normal((channels, 1, 1, given)).astype(np.float32)
            made, w, b = (f"{one}{step}_{branch}" for one in "twb")
            tensors += [tensor(w, weights.shape, data=weights.tobytes()), tensor(b, (channels,), data=True)]
            tensors.append(tensor(made, (1, SIDE, SIDE, channels)))
            operators.append(op("CONV_2D", f"{ends[branch]} {w} {b}", made, CONV))
            ends[branch] = made
    tensors.append(tensor("y", (1, SIDE, SIDE, count)))
    operators.append(op("CONCATENATION", ends, "y", {"axis": 3}))
    return graph(tensors, operators, "x", "y")


def peaks(count: int = 4) -> tuple[int, int]:
    """As written all wide maps with the input, and of the best order one with the input and the ends, or all ends joined."""
    area = SIDE * SIDE * 4
    return (count * WIDE + 2) * area, max(WIDE + 2 + count - 1, 2 * count) * area


def write(folder: Path, made: bytes, name: str = "wide") -> Path:
    path = folder / f"{name}.tflite"
    path.write_bytes(made)
    return path


def shuffled(listed: TfliteList, seed: int) -> tuple[int, ...]:
    r = random.Random(seed)
    times = {place: r.random() for place in range(len(listed.order)) if r.random() < 0.8}
    order = ordered_by(times, in_turn(listed.before, listed.order, listed.effects))
    check_order(order, listed.before)
    return order


def rewritten(path: Path, order: tuple[int, ...], to: Path) -> Path:
    source = path.read_bytes()
    pieces = tflite_list(path).rewritten(order).pieces
    to.write_bytes(b"".join(one if isinstance(one, bytes) else source[slice(*one)] for one in pieces))
    return to


def operators(path: Path, number: int = 0) -> list[tuple[int, tuple[int, ...], tuple[int, ...], int]]:
    """By the package: the code, inputs and outputs of the operators, and where their tables are."""
    read = tflite.Model.GetRootAs(path.read_bytes(), 0).Subgraphs(number)
    found = []
    for index in range(read.OperatorsLength()):
        one = read.Operators(index)
        inputs, outputs = (
            tuple(map(int, part)) if one.InputsLength() else ()
            for part in (_vector(one, "Inputs"), _vector(one, "Outputs"))
        )
        found.append((one.OpcodeIndex(), inputs, outputs, one._tab.Pos))
    return found


def _vector(one: tflite.Operator, name: str) -> list[int]:
    return [getattr(one, name)(index) for index in range(getattr(one, f"{name}Length")())]


def test_the_file_has_the_order_and_the_peak_that_was_found(tmp_path: Path) -> None:
    for count in (2, 8, 24):
        path, better = write(tmp_path, model(branches(count))), tmp_path / "better.tflite"
        found = best_order(path, export=better)
        assert found.exported is not None
        assert (found.before_bytes, found.exported.peak_bytes) == peaks(count)
        arenas = found.exported.arena_before_bytes, found.exported.arena_bytes
        assert arenas == tuple(weigh(one).memory.peak_bytes.get("arena_tflm") for one in (path, better))
        if count > 10:  # TensorFlow Lite Micro joins no more than ten tensors at once
            assert arenas == (None, None)
            assert "arena_tflm" not in found.policies
        else:
            assert found.policies["arena_tflm"] == arenas == best_order(path).policies["arena_tflm"]
            assert arenas[1] < arenas[0]
        assert better.stat().st_size == path.stat().st_size
        assert operators(better) != operators(path)
        assert sorted(operators(better)) == sorted(operators(path))


def test_the_arena_of_an_order_is_the_runtimes_or_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, model(branches()))
    before = weigh(path).memory.peak_bytes["arena_tflm"]
    unnamed = best_order(load(path))  # there is no file that the runtime's requests could be read from
    assert unnamed.policies["arena_tflm"] == (before, None)
    assert [note for note in unnamed.notes if "arena_tflm" in note] == [
        "arena_tflm of the new order is left out: what the runtime asks for in the new order is not known"
    ]
    kept = write(tmp_path, model(branches(), metadata={CONTROL: b"1"}), "kept")
    assert best_order(kept).policies["arena_tflm"] == (before, None)
    # in other widths than the file's nobody knows what the runtime asks for, and both graphs are packed in one way
    narrow = best_order(path, activation_bits=4)
    assert not any("left out" in note for note in narrow.notes)
    assert None not in narrow.policies["arena_tflm"]


def test_an_order_that_stays_keeps_every_figure(tmp_path: Path) -> None:
    found = best_order(write(tmp_path, model(branches(1))))
    assert found.moved == ()
    assert found.policies["arena_tflm"][0]
    assert all(before == after for before, after in found.policies.values())


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write(tmp_path, model(branches()))
    assert main(["order", "wide.tflite", "--export", "better.tflite"]) == 0
    out = capsys.readouterr().out
    assert f"its peak is {peaks()[1]:,} B by live, as found" in out
    assert "packed into one arena it is smaller as well" in out
    assert "ONNX Runtime" not in out
    for target, said in (
        ("better.onnx", "is not called like a TensorFlow Lite model"),
        ("wide.tflite", "is the network itself"),
    ):
        assert main(["order", "wide.tflite", "--export", target]) == 2
        assert said in one_line(capsys)
    cut = (tmp_path / "wide.tflite").read_bytes()[:300]
    write(tmp_path, cut, "cut")
    assert main(["order", "cut.tflite", "--export", "better.tflite"]) == 2
    one_line(capsys)


def test_every_shared_file_stays_the_same_but_for_its_list(shared: Path, tmp_path: Path) -> None:
    moved = 0
    for name, path in tflite_files(shared).items():
        try:
            listed = tflite_list(path)
            best_order(path, most_states=100)
        except WeighbridgeError:
            continue
        for seed in range(2):
            order = shuffled(listed, seed)
            if order == tuple(range(len(order))):
                continue
            try:
                new = rewritten(path, order, tmp_path / "new.tflite")
            except BadSpec as error:
                assert CONTROL in error.what or PLAN in error.what, name
                continue
            moved += 1
            old, bytes_now = path.read_bytes(), new.read_bytes()
            stop = listed.start + 4 * len(order)
            assert operators(new) == [operators(path)[place] for place in order], name
            assert old[: listed.start] == bytes_now[: listed.start], name
            assert PLAN in listed.model.metadata or old[stop:] == bytes_now[stop:], name
            # what runs is the same in another order
            before, after = best_order(path, most_states=0), best_order(new, most_states=0)
            assert len(before.order) == len(after.order), name
    assert moved > 10


def test_what_stands_behind_the_flatbuffer_stays_there(tmp_path: Path) -> None:
    path = write(tmp_path, model(branches(), outside=True))
    found = best_order(path, export=tmp_path / "better.tflite").exported
    assert found is not None
    assert found.peak_bytes == peaks()[1]
    listed = tflite_list(path)
    assert listed.model.behind
    stop = listed.start + 4 * len(listed.order)
    assert path.read_bytes()[stop:] == (tmp_path / "better.tflite").read_bytes()[stop:]


def test_weights_in_other_files_are_looked_for_beside_it(tmp_path: Path) -> None:
    path = write(tmp_path, external(48))
    (tmp_path / "other").mkdir()
    with pytest.raises(BadSpec, match="keeps weights in other files, which are looked for beside it"):
        best_order(path, export=tmp_path / "other" / "better.tflite")
    assert list((tmp_path / "other").iterdir()) == []
    assert best_order(path, export=tmp_path / "better.tflite").exported is not None


def test_a_signature_has_its_own_subgraph_put_in_order(tmp_path: Path) -> None:
    small = graph([tensor("a", (1, 4)), tensor("b", (1, 4))], [op("RELU", "a", "b")], "a", "b", "small")
    path = write(tmp_path, model(small, branches(), signatures={"small": 0, "wide": 1}))
    better = tmp_path / "better.tflite"
    found = best_order(f"{path}:wide", export=better).exported
    assert found is not None
    assert (found.nodes, found.peak_bytes) == (9, peaks()[1])
    assert operators(better, 0) == operators(path, 0)
    assert operators(better, 1) != operators(path, 1)
    other = best_order(f"{path}:small", export=better).exported
    assert other is not None
    assert (other.nodes, other.moved, other.peak_bytes) == (1, 0, 32)


def plan(count: int) -> dict[str, bytes]:
    return {PLAN: struct.pack(f"<3i{count}i", 1, 0, count, *[-1 if one % 2 else 4096 * one for one in range(count)])}


def test_a_plan_for_the_old_order_is_taken_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wide = branches()
    path, better = write(tmp_path, model(wide, metadata=plan(len(wide.tensors)))), tmp_path / "better.tflite"
    assert main(["order", str(path), "--export", str(better), "--json", str(tmp_path / "page.json")]) == 0
    said = "its plan of memory was made for the old order and is taken out: the runtime makes one (OfflineMemoryAllocation)"
    assert f"in the file {said}" in " ".join(capsys.readouterr().out.split())
    data = json.loads((tmp_path / "page.json").read_text())["exported"]
    assert data["notes"] == [said]
    place, size = tflite_list(better).model.metadata[PLAN]
    words = struct.unpack_from(f"<{size // 4}i", better.read_bytes(), place)
    assert words == (1, 0, len(wide.tensors), *[-1] * len(wide.tensors))
    plain = best_order(write(tmp_path, model(wide)), export=tmp_path / "plain.tflite").exported
    assert plain is not None
    assert data["arena_bytes"] == plain.arena_bytes < data["arena_before_bytes"]


def test_a_plan_stays_where_the_order_does(tmp_path: Path) -> None:
    line = graph([tensor(name, (1, 4)) for name in "abc"], [op("RELU", "a", "b"), op("RELU", "b", "c")], "a", "c")
    path = write(tmp_path, model(line, metadata={PLAN: struct.pack("<6i", 1, 0, 3, 0, 16, 0)}))
    found = best_order(path, export=tmp_path / "better.tflite").exported
    assert found is not None
    assert (found.moved, found.notes) == (0, ())
    assert path.read_bytes() == (tmp_path / "better.tflite").read_bytes()


def test_what_depends_on_the_order_is_refused(tmp_path: Path) -> None:
    wide = branches()
    better = tmp_path / "better.tflite"
    with pytest.raises(BadSpec, match="says in its metadata model_control_dependencies what runs before what"):
        best_order(write(tmp_path, model(wide, metadata={CONTROL: b"\1\1\0"})), export=better)
    compiled = wide._replace(
        tensors=[*wide.tensors, tensor("z", (1, 4))], operators=[*wide.operators, op("ethos-u", "y", "z")]
    )
    with pytest.raises(BadSpec, match="belongs to code that was compiled for an NPU"):
        best_order(write(tmp_path, model(compiled, metadata=plan(len(compiled.tensors)))), export=better)
    assert best_order(write(tmp_path, model(compiled)), export=better).exported is not None
    better.unlink()
    with pytest.raises(BadModel, match="is a tensor as well"):
        path = write(tmp_path, model(wide, metadata=plan(len(wide.tensors))))
        listed = tflite_list(path)
        held = next(one.data for one in listed.model.subgraphs[0].tensors if one.data)
        metadata = {PLAN: held}
        listed._replace(model=listed.model._replace(metadata=metadata)).rewritten(listed.order)
    assert not better.exists()


def test_a_table_in_front_of_its_list_is_refused(tmp_path: Path) -> None:
    """No writer does so; an offset leads forwards, and the last place may be behind a table that the first one reaches."""
    path = write(tmp_path, model(branches()))
    listed = tflite_list(path)
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, listed.start, 4)  # the first operator's table would begin in the list itself
    with pytest.raises(BadModel, match="operator 0 stands in front of its list"):
        listed._replace(model=listed.model._replace(data=memoryview(bytes(data)))).rewritten((1, 2, 0, *range(3, 9)))


def test_variables_keep_their_order(tmp_path: Path) -> None:
    """What is read before a variable is assigned is read before it in every order, whichever operators are moved."""
    tensors = [tensor("h", (1,), "RESOURCE"), *[tensor(name, (1, 4)) for name in "xabcd"], tensor("y", (1, 4))]
    steps = [
        op("VAR_HANDLE", "", "h", {"container": "", "shared_name": "state"}),
        op("READ_VARIABLE", "h", "a"),
        op("ADD", "a x", "b"),
        op("ASSIGN_VARIABLE", "h b", ""),
        op("READ_VARIABLE", "h", "c"),
        op("RELU", "x", "d"),
        op("ADD", "c d", "y"),
    ]
    path = write(tmp_path, model(graph(tensors, steps, "x", "y")))
    listed = tflite_list(path)
    assert listed.effects == {0, 1, 3, 4}
    for seed in range(50):
        order = shuffled(listed, seed)
        assert [place for place in order if place in listed.effects] == [0, 1, 3, 4]
