"""What a file gives at other sizes and widths than its own, and what it reads that nothing makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tflite.build import graph, load, model, op, tensor
from weighbridge import weigh
from weighbridge.devices.device import Device, Figure, Memory
from weighbridge.errors import BadModel

CONV = {"padding": 0, "stride_h": 1, "stride_w": 1, "fused_activation_function": 1}


def network(batch: int) -> bytes:
    """Two layers, the second of 4-bit weights, for which the reference kernel asks for scratch."""
    tensors = [
        tensor("x", (batch, 8, 8, 3), "INT8", scales=1, signature=(-1, 8, 8, 3)),
        tensor("w", (4, 3, 3, 3), "INT8", data=True, scales=4),
        tensor("y", (batch, 8, 8, 4), "INT8", scales=1),
        tensor("v", (6, 3, 3, 4), "INT4", data=True, scales=6),
        tensor("z", (batch, 8, 8, 6), "INT8", scales=1),
    ]
    return model(graph(tensors, [op("CONV_2D", "x w -", "y", CONV), op("CONV_2D", "y v -", "z", CONV)], "x", "z"))


def board(size: int) -> Device:
    memory = Memory("SRAM", ("activations",), Figure(size, "a test"))
    return Device("board", "a board", "microcontroller", "none", memories=(memory,), kind="mcu")


def test_at_another_batch_the_runtime_asks_as_for_a_file_of_that_batch(tmp_path: Path) -> None:
    plans = []
    for stored, asked in ((1, 2), (2, None)):
        path = tmp_path / f"{stored}.tflite"
        path.write_bytes(network(stored))
        plans.append(weigh(path, batch=asked).memory)
    resized, own = plans
    assert own.arena is not None and own.arena.source == "runtime"
    assert any(one.is_scratch for one in own.arena.buffers)
    assert resized.arena == own.arena
    assert resized.persistent == own.persistent


def test_at_other_widths_the_plan_is_a_lower_bound_and_proves_no_fit(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(network(1))
    least = weigh(path, weight_bits=2).memory.peak_bytes["arena_tflm"]
    assert least == 256 + 384  # the second layer's input and output, without its scratch
    for size, verdict in ((least - 1, "does not fit"), (1 << 20, "unknown")):
        (on,) = weigh(path, weight_bits=2, on=board(size)).on
        assert on.fit.regions[0].verdict == verdict
    (own,) = weigh(path, on=board(1 << 20)).on
    assert own.fit.regions[0].verdict == "fits"


def test_memory_that_nothing_fills_counts_as_an_input() -> None:
    tensors = [tensor("x", (1, 8)), tensor("working_memory", (100,), "UINT8"), tensor("y", (1, 8))]
    found = load(model(graph(tensors, [op("ethos-u", "x working_memory", "y")], "x", "y")))
    assert found.inputs == ("x", "working_memory")
    assert any("nothing makes working_memory, which ethos-u reads" in note for note in found.notes)


def test_what_is_made_later_is_out_of_order() -> None:
    tensors = [tensor(name, (1, 8)) for name in ("x", "y", "z")]
    with pytest.raises(BadModel, match="no operator before it makes"):
        load(model(graph(tensors, [op("NEG", "y", "z", {}), op("NEG", "x", "y", {})], "x", "z")))


def test_a_batch_replaces_that_of_a_map_and_no_list_of_sizes() -> None:
    tensors = [
        tensor("sizes", (4,), "INT32"),
        tensor("w", (3, 2, 2, 5), data=True),
        tensor("x", (1, 4, 4, 5)),
        tensor("y", (1, 8, 8, 3)),
    ]
    options = {"padding": 0, "stride_h": 2, "stride_w": 2}
    found = load(model(graph(tensors, [op("TRANSPOSE_CONV", "sizes w x", "y", options)], "sizes x", "y")), batch=2)
    assert [found.tensors[name].shape for name in found.inputs] == [(4,), (2, 4, 4, 5)]


def test_scales_of_blocks_are_stored_on_the_device_too() -> None:
    tensors = [
        tensor("x", (1, 64)),
        tensor("scales", (8, 2), "FLOAT16", data=True),
        tensor("w", (8, 64), "INT4", data=True, scales="scales", block_size=32),
        tensor("y", (1, 8)),
    ]
    made = model(graph(tensors, [op("FULLY_CONNECTED", "x w -", "y", {})], "x", "y"))
    report = weigh(load(made), on=board(1 << 20))
    assert (report.facts.parameter_bytes, report.facts.constant_bytes) == (256, 32)
    assert report.facts.deployed_bytes == 288
    assert report.on[0].conditions.precision == "int8"  # x takes 8 bits as it runs, by weights of 4
