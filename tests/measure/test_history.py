"""The history of a model: what changed between versions, and what is not compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.measure.recorded import CONDITIONS, measurement
from weighbridge import history
from weighbridge.errors import BadSpec
from weighbridge.report.measured_history_page import grids, markdown, sentences, table
from weighbridge.report.measured_records import append


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "times.jsonl"


def test_a_change_is_told_against_the_one_before(place: Path) -> None:
    append(
        place, [measurement(10, day=2, sha256="b" * 64), measurement(8, day=1), measurement(10, day=3, sha256="b" * 64)]
    )
    (model,) = history(place).models
    (series,) = model.series
    first, second, third = series.points
    assert (first.change, first.is_beyond_noise, first.is_new_version) == (None, None, False)
    assert second.change == pytest.approx(0.25, abs=0.002)
    assert (second.is_beyond_noise, second.is_new_version) == (True, True)
    assert (third.change, third.is_beyond_noise, third.is_new_version) == (0.0, False, False)
    assert list(sentences(history(place))) == [
        "net: 3 measurements of 2 versions; the last one took as long as the one before, for all that is known"
    ]


def test_other_conditions_stand_apart_and_say_which(place: Path) -> None:
    append(place, [measurement(10, day=1), measurement(6, day=2, conditions={"threads": 2}), measurement(11, day=3)])
    found = history(place)
    (model,) = found.models
    assert [len(series.points) for series in model.series] == [2, 1]
    assert [str(one) for one in model.series[1].differences] == ["threads: 1 and 2"]
    assert "net: 2 sets of conditions, which are not compared; they differ in threads" in list(sentences(found))
    notes = [note for grid in grids(found) for note in grid.notes]
    assert "not as in the first set: threads: 2 in place of 1" in notes


def test_what_may_differ_stands_in_one_table_and_each_row_says_so(place: Path) -> None:
    newer = CONDITIONS.hardware._replace(system="Linux 7")
    append(place, [measurement(10, day=1), measurement(10, day=2, conditions={"hardware": newer})])
    assert [len(model.series) for model in history(place).models] == [2]
    (model,) = history(place, although=["system"]).models
    (series,) = model.series
    assert [str(one) for one in series.points[1].differences] == ["system: Linux 6 and Linux 7"]
    with pytest.raises(BadSpec, match="is no condition"):
        history(place, although=["weather"])


def test_models_are_told_apart_by_name_and_source(place: Path) -> None:
    append(place, [measurement(), measurement(name="other"), measurement(source="elsewhere.onnx")])
    assert [(one.name, one.source) for one in history(place).models] == [
        ("net", "net.onnx"),
        ("other", "net.onnx"),
        ("net", "elsewhere.onnx"),
    ]


def test_the_json_and_the_table_have_every_measurement(place: Path) -> None:
    append(place, [measurement(day=day, noise=("busy",) if day == 2 else ()) for day in (1, 2, 3)])
    found = history(place)
    data = json.loads(found.to_json())
    (model,) = data["models"]
    (series,) = model["series"]
    assert [one["taken_at"] for one in series["points"]] == [f"2026-01-0{day}T00:00:00+00:00" for day in (1, 2, 3)]
    rows = [dict(zip(table(found).columns, row, strict=True)) for row in table(found).rows]
    assert [row["noisy"] for row in rows] == [False, True, False]


def test_names_of_a_hostile_record_are_escaped(place: Path) -> None:
    append(place, [measurement(name="a\x1b[31m<b>", source="x\ny|z.onnx", taken_at="\x1b[2J")])
    shown = markdown(history(place))
    assert "\x1b" not in shown
    assert "<b>" not in shown
