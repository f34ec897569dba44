"""Throughput by batch, frames missed, groups of devices: through the public interface."""

from __future__ import annotations

import json
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weighbridge
from weighbridge.devices.catalogue import find, names
from weighbridge.errors import BadSpec, WeighbridgeError
from weighbridge.estimates import deadline, frames_missed
from weighbridge.report import Report


def test_throughput_is_weighed_at_every_batch() -> None:
    """On an A100 the weights bind AlexNet at batch 1 and the arithmetic at batch 8: from there on a larger batch only takes longer."""
    report = weighbridge.weigh("alexnet", on="a100", batches=[64, 1, 8])
    points = report.on[0].throughput.by_batch
    assert [point.batch for point in points] == [1, 8, 64]
    for point in points:
        alone = weighbridge.weigh("alexnet", on="a100", batch=point.batch).on[0]
        assert point.latency_s == alone.latency.floor_s
        assert point.per_s == point.batch / alone.latency.floor_s
        assert point.layerwise_per_s == point.batch / alone.latency.layerwise_s
        assert (point.bound, point.verdict) == (alone.latency.bound, alone.fit.verdict)
    assert points[0].per_s < points[1].per_s == points[2].per_s
    assert (points[0].bound, points[2].bound) == ("memory", "compute")


def test_a_batch_is_weighed_though_the_first_dimension_looks_like_it(tmp_path: Path) -> None:
    """A sequence of 16 comes first, then the batch of 1: batch 16 is 16 times the work."""
    path = tmp_path / "net.toml"
    path.write_text(
        """
name = "sequence_first"
title = "A layer along a sequence"
source = "made up for a test"
description = "A linear layer at each of the steps."
parameters.batch = { default = 1, description = "sequences at once" }
parameters.seq = { default = 16, description = "steps" }
inputs = [{ name = "x", shape = ["seq", "batch", 64] }]
layers = [{ name = "fc", op = "linear", out = 64 }]
"""
    )
    report = weighbridge.weigh(path, on="toy", batches=[4, 16])
    four, sixteen = report.on[0].throughput.by_batch
    (alone,) = weighbridge.weigh(path, batch=16, on="toy").on
    assert (four.batch, sixteen.batch) == (4, 16)
    assert sixteen.latency_s == alone.latency.floor_s > 3 * four.latency_s


def test_no_batch_is_guessed_where_inputs_and_outputs_differ() -> None:
    from weighbridge.builder import Builder
    from weighbridge.dtypes import DTYPES

    builder = Builder("net")
    table, rows = builder.input("table", (1000, 4), DTYPES["float32"]), builder.input("rows", (2,), DTYPES["int64"])
    (y,) = builder.add("gather", [("x", table), ("indices", rows)], {"axis": 0}, name="look")
    (on,) = weighbridge.weigh(builder.graph([y]), on="toy").on
    assert (on.conditions.batch, on.throughput.by_batch) == (None, ())


def test_the_own_batch_is_a_point_without_being_asked_for() -> None:
    (point,) = weighbridge.weigh("alexnet", batch=4, on="toy").on[0].throughput.by_batch
    assert point.batch == 4


def test_a_batch_that_the_source_cannot_have(shared: Path) -> None:
    """Its Reshape was written for one image."""
    path = shared / "data" / "onnx" / "onnx_light" / "light_bvlc_alexnet.onnx"
    with pytest.raises(WeighbridgeError, match=r"batch 8: light_bvlc_alexnet\.onnx: n15: 73728 elements do not fill"):
        weighbridge.weigh(path, on="toy", batches=[1, 8])
    graph = weighbridge.load("alexnet")
    with pytest.raises(BadSpec, match="a graph has one batch size"):
        weighbridge.weigh(graph, on="toy", batches=[1, 8])


@pytest.mark.parametrize("batches", [[0], [-1], [1.5], ["8"], [True], "1,8", 8.5, [2**40]])
def test_what_is_no_batch_size(batches: object) -> None:
    with pytest.raises(BadSpec, match="is no batch size"):
        weighbridge.weigh("alexnet", on="toy", batches=batches)


def test_throughput_and_frames_need_a_device() -> None:
    with pytest.raises(BadSpec, match="throughput by batch needs a device"):
        weighbridge.weigh("alexnet", batches=[8])
    with pytest.raises(BadSpec, match="frames missed need a device"):
        weighbridge.weigh("alexnet", fps=30)


def test_frames_missed_are_those_of_the_source_material(shared: Path) -> None:
    with (shared / "facts" / "lecture.toml").open("rb") as file:
        stated = tomllib.load(file)["latency"]
    for name in ("segformer_b5", "efficientvit_l1"):
        missed = frames_missed(Fraction(str(stated[f"{name}_ms"])) / 1000, Fraction(30))
        assert missed == stated["frames_missed"][name]


@pytest.mark.parametrize(
    ("latency", "fps", "missed"), [("1/30", 30, 0), ("1/29", 30, 1), ("0", 30, 0), ("2/30", 30, 1)]
)
def test_a_frame_is_missed_when_the_next_one_begins(latency: str, fps: int, missed: int) -> None:
    assert frames_missed(Fraction(latency), Fraction(fps)) == missed


@given(milliseconds=st.integers(1, 10_000), frames=st.integers(1, 100))
def test_a_time_of_whole_frames_misses_those_behind_the_first(milliseconds: int, frames: int) -> None:
    """Times are floats: what rounding adds must not miss a frame."""
    fps = Fraction(1000 * frames, milliseconds)
    latency_s = milliseconds / 1000
    assert deadline(fps, latency_s, 3 * (latency_s / 3))[2:] == (frames - 1, frames - 1, ())


def test_a_deadline_on_a_device() -> None:
    """AlexNet takes the toy 1.4488 s at least: 43 frames of 30 a second pass, layer by layer 47."""
    (on,) = weighbridge.weigh("alexnet", on="toy", fps="30").on
    assert on.deadline == (30.0, pytest.approx(1 / 30), 43, 47, ())
    (on,) = weighbridge.weigh("alexnet", on="stm32f746", fps=29.97).on
    assert on.deadline[2:] == (None, None, ())


def test_what_is_expected_of_a_deadline_stands_beside_what_nothing_beats() -> None:
    """At 10 frames a second of 100 ms: the floor misses none, and 103, 89 and 157 ms miss one, none and one."""
    (on,) = weighbridge.weigh("mobilenet_v1:width=0.25,resolution=96", precision="int8", on="stm32l4r5", fps=10).on
    first, second = on.deadline.expected
    assert (on.deadline.frames_missed, first) == (0, ("X-CUBE-AI 9.0", 1, 0, 1))
    assert second.kernels == "HALE 1.0.175"
    assert second.least_frames_missed <= second.frames_missed <= second.most_frames_missed
    without = weighbridge.weigh("lenet5", on="stm32l4r5", fps=10).on[0]
    assert without.deadline.expected == ()


@pytest.mark.parametrize("fps", [0, -1, "x", float("nan"), float("inf"), True, "1/0", 1e30])
def test_what_is_no_frame_rate(fps: object) -> None:
    with pytest.raises(BadSpec, match="is no frame rate"):
        weighbridge.weigh("alexnet", on="toy", fps=fps)


@pytest.mark.parametrize("kind", ["mcu", "npu", "board", "server", " MCU "])
def test_a_group_is_every_device_of_its_kind(kind: str) -> None:
    wanted = [name for name in names() if find(name).kind == kind.strip().lower()]
    assert [on.device for on in weighbridge.weigh("lenet5", on=kind).on] == wanted
    assert len(wanted) > 4
    both = weighbridge.weigh("lenet5", on=[wanted[1], kind])
    assert [on.device for on in both.on] == [wanted[1], wanted[0], *wanted[2:]]


def test_a_report_with_all_costs_is_saved_and_read() -> None:
    report = weighbridge.weigh("lenet5", on=["toy", "a100"], batches=[1, 2], fps=30, energy="45nm", battery="5mAh@3V")
    assert Report.from_json(report.to_json()) == report


def test_a_report_that_was_saved_before_there_were_energies_is_read() -> None:
    data = json.loads(weighbridge.weigh("lenet5", on="toy").to_json())
    del data["energy"], data["on"][0]["deadline"], data["on"][0]["latency"]["ridge_ops_per_byte"]
    assert Report.from_dict(data).on[0].deadline is None
    del data["on"][0]["latency"]["floor_s"]
    with pytest.raises(BadSpec, match="lacks 'floor_s'"):
        Report.from_dict(data)


def test_a_region_counts_and_not_the_sum_of_a_board(shared: Path, tmp_path: Path) -> None:
    """published.toml, region_fit: 465.36 KiB of activations and 44.05 KiB of runtime, 217,564 B of buffers reserved."""
    with (shared / "facts" / "published.toml").open("rb") as file:
        stated = tomllib.load(file)["region_fit"]["what"]
    assert "overflow the 512 KiB AXI region by 214,912 B once 217,564 B of buffers are reserved" in stated
    activations, runtime, buffers = 476_529, 45_107, 217_564
    region = """
[[memories]]
name = "{name}"
holds = ["activations"]
bytes = {{ value = {size}, source = "made up for a test" }}
reserved_bytes = {{ value = {reserved}, source = "made up for a test" }}
"""
    head = 'name = "board"\ntitle = "A board"\nclass = "test"\ncore = "core"\n'
    weights = '[[memories]]\nname = "flash"\nholds = ["weights"]\nbytes = { value = 1000, source = "made up" }\n'
    found = {}
    for name, size in (("whole SRAM", 1_048_576), ("AXI SRAM", 524_288)):
        path = tmp_path / "board.toml"
        path.write_text(head + weights + region.format(name=name, size=size, reserved=runtime + buffers))
        found[name] = weighbridge.weigh(_exactly(activations), on=str(path)).on[0].fit
    assert found["whole SRAM"].verdict == "fits"
    assert found["AXI SRAM"].verdict == "does not fit"
    assert found["AXI SRAM"].regions[1].short_bytes == 214_912


def _exactly(peak_bytes: int) -> weighbridge.Graph:
    """A network whose peak is this many bytes: values of 8 bits, and as many of them padded."""
    from weighbridge.builder import Builder
    from weighbridge.dtypes import DTYPES

    builder = Builder("net")
    x = builder.input("x", (1, peak_bytes // 2), DTYPES["int8"])
    (y,) = builder.add("pad", [("x", x)], {"pads": (0, 0, 0, peak_bytes % 2)}, name="pad")
    return builder.graph([y])
