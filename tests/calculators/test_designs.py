"""Latency in, throughput out: the figures of the lecture, exactly."""

from __future__ import annotations

import json
import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from weighbridge import BadSpec
from weighbridge.calculators import Design, batching


@pytest.fixture(scope="session")
def lecture(shared: Path) -> dict[str, dict[str, object]]:
    text = (shared / "facts" / "lecture.toml").read_text(encoding="utf-8")
    return tomllib.loads(text, parse_float=Decimal)


def test_designs_of_the_lecture(lecture) -> None:
    stated = [lecture["throughput"][name] for name in ("design_1", "design_2", "server_1", "server_32")]
    designs = [Design(one["batch"], Fraction(one["latency_ms"]) / 1000) for one in stated]
    assert [one.throughput_per_s for one in batching(designs).designs] == [one["throughput_per_s"] for one in stated]
    one, many = batching(designs[2:]).designs
    assert (many.latency_ratio, many.throughput_ratio) == (4, 8)
    assert (one.latency_ratio, one.throughput_ratio) == (1, 1)
    tsm = lecture["throughput"]["tsm_8f"]
    (design,) = batching([Design(1, Fraction(tsm["latency_ms_batch_1"]) / 1000)]).designs
    assert round(float(design.throughput_per_s), 1) == float(tsm["reciprocal_per_s"])


def test_frames_missed_of_the_lecture(lecture) -> None:
    facts = lecture["latency"]
    names = ("segformer_b5", "efficientvit_l1")
    found = batching([Design(1, Fraction(facts[f"{name}_ms"]) / 1000, name) for name in names], fps=30)
    assert {one.name: one.frames_missed for one in found.designs} == {
        name: facts["frames_missed"][name] for name in names
    }
    assert round(1000 * float(found.deadline_s), 1) == float(facts["frame_ms"])


@pytest.mark.parametrize("latency", ["0.05", 0.05, Fraction(1, 20)])
def test_fractions_are_taken_as_they_are_written(latency) -> None:
    (design,) = batching([Design(1, latency)]).designs
    assert design.throughput_per_s == 20


def test_a_frame_that_is_ready_at_its_end_is_not_missed() -> None:
    """ceil(latency x fps) - 1, where a float would be above the whole number: 0.1 x 30 is 3.0000000000000004."""
    (design,) = batching([Design(1, "0.1")], fps="30").designs
    assert design.frames_missed == 2


def test_names_and_json() -> None:
    found = batching([Design(1, "0.05"), Design(4, "0.1", "four")], fps="29.97")
    assert [one.name for one in found.designs] == ["design 1", "four"]
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["fps"] == 29.97
    assert plain["designs"][1] == {
        "name": "four",
        "batch": 4,
        "latency_s": 0.1,
        "throughput_per_s": 40,
        "latency_ratio": 2,
        "throughput_ratio": 2,
        "frames_missed": 2,
    }
    assert batching([Design(1, 1)]).to_dict()["fps"] is None


@pytest.mark.parametrize(
    "designs",
    [
        [],
        [Design(0, 1)],
        [Design(-1, 1)],
        [Design(1.5, 1)],
        [Design(True, 1)],
        [Design(10**10, 1)],
        [Design(1, 0)],
        [Design(1, -1)],
        [Design(1, float("nan"))],
        [Design(1, float("inf"))],
        [Design(1, "1e99")],
        [Design(1, "1e-99")],
        [Design(1, "1e99999999")],
        [Design(1, 1e-320)],
        [Design(1, Fraction(10**50))],
        [Design("1", 1)],
        [Design(1, "soon")],
        [Design(1, 1), Design(1, 0)],
    ],
    ids=str,
)
def test_designs_that_are_none(designs) -> None:
    with pytest.raises(BadSpec):
        batching(designs)


def test_numbers_of_any_library_and_at_the_bounds() -> None:
    short, long = batching([Design(np.int64(1), np.float64(1e-15)), Design(10**9, "1e12")], fps=np.int64(30)).designs
    assert (short.batch, short.latency_s, long.latency_s) == (1, Fraction(1, 10**15), 10**12)
    assert json.loads(json.dumps(batching([Design(np.int64(4), 1)]).to_dict()))["designs"][0]["batch"] == 4


@pytest.mark.parametrize("fps", [0, -1, float("nan"), float("inf"), "x", True, 1e-320, "1e99999999", "1e-99999999"])
def test_rates_that_are_none(fps) -> None:
    with pytest.raises(BadSpec) as caught:
        batching([Design(1, 1)], fps=fps)
    assert caught.value.where == "fps"
