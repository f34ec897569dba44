"""Two models on one street: frames missed at published latencies, and the four conditions beside every figure."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.published import find, names
from weighbridge.web.simulator import Answer, answered
from weighbridge.web.simulators.street import street

SIMULATOR = street()


def answer(**state: object) -> Answer:
    found, said = answered(SIMULATOR, [(name, str(value)) for name, value in state.items()])
    assert not found.faults
    assert said is not None
    return said


def read(**state: object) -> dict[str, object]:
    """The readouts of a state by their names."""
    return {one.name: one.value for one in answer(**state).readouts}


def test_the_frames_of_the_lecture(lecture) -> None:
    stated, found = lecture["latency"]["frames_missed"], read()
    assert found["one.frames_missed"] == stated["segformer_b5"]
    assert found["other.frames_missed"] == stated["efficientvit_l1"]
    assert [found[f"one.{name}"] for name in ("hardware", "runtime", "precision", "batch")] == [
        "Jetson AGX Orin",
        "TensorRT",
        "fp16",
        1,
    ]
    by_deadline = read(deadline_in="ms", deadline_ms=lecture["latency"]["frame_ms"])
    assert by_deadline["one.frames_missed"] == stated["segformer_b5"]


@pytest.mark.parametrize("name", names())
def test_all_four_conditions_stand_beside_each_row_whether_known_or_not(name: str) -> None:
    shown = {one.name: (one.value, one.shown) for one in answer(one=name).readouts}
    conditions = find(name).conditions
    for field in ("hardware", "runtime", "precision", "batch"):
        value = getattr(conditions, field) or None
        assert shown[f"one.{field}"] == (value, "?" if value is None else str(value))


@pytest.mark.parametrize("name", names())
def test_a_throughput_is_never_turned_into_a_latency(name: str) -> None:
    row, found = find(name), read(one=name)
    assert found["one.latency_s"] == (None if row.latency_s is None else float(row.latency_s))
    assert found["one.throughput_per_s"] == (None if row.throughput_per_s is None else float(row.throughput_per_s))
    assert (found["one.frames_missed"] is None) == (row.latency_s is None)


@given(name=st.sampled_from([name for name in names() if find(name).latency_s]), tenths=st.integers(1, 5000))
def test_the_frames_drawn_are_those_that_come_while_the_network_works(name: str, tenths: int) -> None:
    """The oracle counts the frames one by one."""
    fps, latency = Fraction(tenths, 10), find(name).latency_s
    said = answer(one=name, other="i3d", fps=tenths / 10)
    missed = 0
    while (missed + 1) / fps < latency:
        missed += 1
    assert {one.name: one.value for one in said.readouts}["one.frames_missed"] == missed
    (plot,) = said.plots
    kinds = [row["kind"] for row in plot.rows]
    assert kinds == ["worked on", *["missed"] * missed, "the next one taken"][:80]
    assert ("80 frames" in plot.description) == (missed + 2 > 80)


def test_what_differs_between_conditions_is_said() -> None:
    for one, other in product(names(), repeat=2):
        first, second = find(one).conditions, find(other).conditions
        said = any("the conditions differ" in sentence for sentence in answer(one=one, other=other).sentences)
        assert said == (first != second)


def test_two_rows_with_throughput_alone_are_compared_by_it() -> None:
    said = answer(one="i3d", other="tsm_8f_batch_16")
    assert said.plots == ()
    assert any("12.69 times" in sentence for sentence in said.sentences)
