"""What follows from measurements that nobody took: ratios, the knee, frames missed, what is not compared, and how a page says it."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from tests.measure.recorded import CONDITIONS, measurement
from weighbridge.errors import BadSpec
from weighbridge.measure.conditions import NAMES
from weighbridge.measure.record import EnergyRead, Measurement, Profile, ProfiledClass
from weighbridge.measure.summary import summary
from weighbridge.measuring import _classes
from weighbridge.report import csv as as_csv
from weighbridge.report import measured_html
from weighbridge.report.charts.measured import samples_chart
from weighbridge.report.measured import (
    COVERS,
    ClassFloor,
    FloorBeside,
    Measured,
    against,
    beside_profile,
    check_although,
    check_comparable,
    curve,
    missed,
)
from weighbridge.report.measured_grids import grids, table
from weighbridge.report.measured_lines import spread_lines
from weighbridge.report.measured_page import markdown, sentences, text
from weighbridge.report.measured_words import names_of
from weighbridge.report.spans import text_of
from weighbridge.report.terminal import Look

HOSTILE = "net<script>alert(1)</script>\x1b[31m|`x`"


def at_batch(batch: int, milliseconds: float, streams: int = 1) -> Measurement:
    return measurement(milliseconds, conditions={"batch": batch, "streams": streams})


def test_throughput_is_the_batch_of_all_streams_over_the_latency() -> None:
    found = curve([at_batch(4, 20), at_batch(1, 10), at_batch(2, 10, streams=3)])
    assert [one.batch for one in found.points] == [1, 2, 4]
    assert [one.per_s for one in found.points] == pytest.approx([100, 600, 200], rel=0.002)
    assert [one.runs_per_s for one in found.points] == pytest.approx([100, 300, 50], rel=0.002)


@pytest.mark.parametrize(
    ("milliseconds", "knee"),
    [
        ({1: 10, 2: 12, 4: 20, 8: 40}, 4),  # 100, 167, 200, 200 inferences a second
        ({1: 10, 2: 10, 4: 10}, None),  # throughput goes on growing
        ({1: 10, 2: 20.1}, 1),  # a batch does not help
        ({1: 10}, None),
    ],
)
def test_the_knee_is_the_smallest_batch_with_nine_tenths_of_the_best(milliseconds: dict[int, float], knee: int) -> None:
    found = curve([at_batch(batch, time) for batch, time in milliseconds.items()])
    assert found.knee == knee
    said = list(sentences(Measured("", tuple(at_batch(*one) for one in milliseconds.items()), curve=found)))
    assert said[-1].startswith("no knee" if knee is None else f"the knee is at batch {knee}, the smallest with 90 %")


def test_one_of_an_unknown_batch_is_on_no_curve() -> None:
    assert curve([measurement(conditions={"batch": None})]).points == ()


def test_what_a_profiler_says_stands_beside_a_floor_only_where_it_is_sure_to_be_the_same() -> None:
    floors = [ClassFloor("conv", 0.1, 3), ClassFloor("linear", 0.2, 1), ClassFloor("add", None, 2)]
    seen = Profile(
        "a profiler",
        3,
        1.0,
        (
            ProfiledClass("FusedConv", 0.5, 2),
            ProfiledClass("Conv", 0.25, 1),
            ProfiledClass("Gemm", 0.1, 2),  # called more often than there are nodes
            ProfiledClass("Add", 0.1, 2),  # a name that may mean something else
        ),
    )
    conv, linear, add = beside_profile(floors, seen)
    assert (conv.profiled_s, conv.profiled_as) == (0.75, ("FusedConv", "Conv"))
    assert (linear, add) == tuple(floors[1:])
    assert list(beside_profile(floors, None)) == floors
    floor = full().floors[0]._replace(classes=(conv, linear, add))
    one = replace(measurement(), profile=seen)
    by_operator = next(one for one in grids(Measured("", (one,), floors=(floor,))) if "floors by operator" in one.title)
    assert [row.cells[4] for row in by_operator.rows] == ["13.3%", "?", "?"]


def test_frames_missed_are_those_that_begin_during_a_run() -> None:
    samples = (0.1,) * 50 + (0.2,) * 49 + (0.35,)
    one = replace(measurement(), samples_s=samples, summary=summary(samples))
    (found,) = missed([one], Fraction(10))
    assert (found.median, found.p90, found.longest) == (1, 1, 3)
    assert found.deadline_s == 0.1
    assert found.late == 50  # one of a frame's length is not late


def test_the_ratio_is_taken_from_rounds_and_says_what_differs() -> None:
    first, other = measurement(10), measurement(12, conditions={"threads": 2})
    (found,) = against([first, other])
    assert found.ratio == pytest.approx(1.2, rel=0.002)
    assert found.is_told_apart
    assert [str(one) for one in found.differences] == ["threads: 1 and 2"]
    (same,) = against([first, first])
    assert not same.is_told_apart
    said = list(sentences(Measured("", (first, first), against=(same,))))
    assert said[-1].endswith("no difference can be told")


@pytest.mark.parametrize("word", sorted(key.rpartition(".")[2] for key in NAMES))
def test_every_condition_may_be_meant_to_differ(word: str) -> None:
    assert {key.rpartition(".")[2] for key in check_although([word])} == {word, *COVERS.get(word, ())}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"threads": 2}, "threads"),
        ({"precision": "int8"}, "precision"),
        ({"version": "1.21"}, "version"),
        ({"batch": 4}, "batch"),
        ({"governor": "powersave"}, "governor"),
        ({"streams": 2}, "streams"),
        ({"libraries": {"numpy": "1.0"}}, "libraries"),
        ({"hardware": CONDITIONS.hardware._replace(processor="another")}, "processor"),
    ],
)
def test_a_condition_that_differs_is_refused_unless_it_is_named(change: dict[str, object], word: str) -> None:
    both = [CONDITIONS, CONDITIONS._replace(**change)]  # type: ignore[arg-type]
    with pytest.raises(BadSpec, match="conditions differ from those of a") as caught:
        check_comparable(both, ["a", "b"], frozenset())
    assert (caught.value.where, word in caught.value.hint) == ("b", True)
    check_comparable(both, ["a", "b"], check_although([word]))


def test_names_tell_measurements_apart() -> None:
    assert names_of([measurement(), measurement(name="other")]) == ("net", "other")
    assert names_of([at_batch(1, 1), at_batch(2, 1)]) == ("net, batch 1", "net, batch 2")
    assert names_of([measurement(source="a.onnx"), measurement(source="b.onnx")]) == ("a.onnx", "b.onnx")
    assert names_of([measurement(), measurement()]) == ("net", "net (2)")


def full(name: str = "net") -> Measured:
    """A page with everything on it."""
    energy = EnergyRead("package 0", "a counter", 0.5, (0.4, 0.6), 11.0, 30)
    ones = (
        measurement(10, name=name, noise=(f"{name} is noisy",), energy=energy, notes=(f"of {name}",)),
        measurement(12, name=f"{name} too", energy=EnergyRead("", "", None, None, None, 0, "not measurable here")),
    )
    floor = FloorBeside(0, f"toy {name}", "Toy", "float32", 0.02, 0.03, 2.0, (), is_exact=False, is_verified=False)
    return Measured(
        "weighbridge 0", ones, tuple(against(ones)), curve(ones), tuple(missed(ones, Fraction(30))), (floor,)
    )


@pytest.mark.parametrize("width", [100, 200])
def test_the_page_says_what_is_known_in_words(width: int) -> None:
    found = " ".join(text(full(), Look(width)).split())
    for said in (
        "noisy: net: net is noisy",
        "below the floor of toy net, 20.00 ms",
        "not measurable here",
        ">= 20.00 ms",
    ):
        assert said in found
    assert re.search(r"net too takes 1\.\d+ to 1\.\d+ times what net takes", found)


def test_what_comes_from_outside_is_escaped_everywhere() -> None:
    found = full(HOSTILE)
    outside_fences = re.sub(r"^`{3,}text$.*?^`{3,}$", "", markdown(found), flags=re.MULTILINE | re.DOTALL)
    for shown in (markdown(found), measured_html.render(found), text(found, Look(100))):
        assert "\x1b" not in shown
    for shown in (outside_fences, measured_html.render(found)):
        assert "<script>alert" not in shown


def test_the_table_has_a_row_for_every_sample_with_its_round() -> None:
    rows = list(csv.DictReader(as_csv.render(table(full())).splitlines()))
    assert len(rows) == 120
    assert [int(row["round"]) for row in rows[:60]] == [place // 5 for place in range(60)]


def test_of_samples_too_few_there_is_no_interval_and_that_is_a_question_mark() -> None:
    samples = (0.01, 0.02)
    few = replace(measurement(), samples_s=samples, summary=summary(samples), rounds=(0,))
    times = next(iter(grids(Measured("", (few,)))))
    assert times.rows[0].cells[2:4] == ("?", "?")


def test_a_batch_with_just_nine_tenths_of_the_best_is_the_knee() -> None:
    of_a_second = replace(measurement(), samples_s=(1.0,) * 30, summary=summary([1.0] * 30))
    batches = [replace(of_a_second, conditions=CONDITIONS._replace(batch=batch)) for batch in (8, 9, 10)]
    assert curve(batches).knee == 9


def test_a_time_that_is_the_floor_breaks_nothing() -> None:
    floor = full().floors[0]
    assert not floor._replace(utilisation=1.0).is_broken
    assert floor._replace(utilisation=1.01).is_broken
    assert not floor._replace(utilisation=None).is_broken


def test_samples_that_are_all_the_same_are_drawn_as_one_bar() -> None:
    samples = (0.01,) * 60
    alike = replace(measurement(), samples_s=samples, summary=summary(samples))
    drawn = text_of(spread_lines("net", alike, 80, unicode=False)).splitlines()
    assert len(drawn) == 2
    assert drawn[1].split()[-2:] == ["60", "#" * 46]


def test_one_sample_beside_thousands_has_a_bar() -> None:
    samples = (1.0,) * 500 + (2.0,) * 500 + (1.5,)
    rare = replace(measurement(), samples_s=samples, summary=summary(samples))
    drawn = [line.split() for line in text_of(spread_lines("net", rare, 80, unicode=False)).splitlines()]
    assert [words[-2:] for words in drawn if "1" in words[-2:]] == [["1", "#"]]


def test_what_was_saved_is_what_was_measured() -> None:
    found = full()
    assert Measured.from_json(found.to_json()) == found
    assert Measured.from_dict(found.to_dict()) == found
    assert text(Measured.from_json(found.to_json()), Look(100)) == text(found, Look(100))
    alone = Measured("weighbridge 0", (measurement(),))
    assert Measured.from_json(alone.to_json()) == alone


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("schema",), 9, r"\$\.schema: is of another version: schema 9"),
        (("measurements",), [], r"\$\.measurements: a list of measurements belongs here"),
        (("measurements",), {}, r"\$\.measurements: a list of measurements belongs here"),
        (("measurements", 1), 3, r"\$\.measurements\[1\]: this is no measurement"),
        (("measurements", 1, "schema"), 9, r"\$\.measurements\[1\]\.schema: is of another version"),
        (("measurements", 0, "summary", "median_s"), 9.0, r"\$\.measurements\[0\]\.summary\.median_s: lies beyond"),
        (("measurements", 0, "threads"), None, None),  # a key that this version does not know
        (("against", 0, "place"), 2, r"\$\.against\[0\]\.place: there is no measurement of that place"),
        (("frames", 1, "place"), 10**400, r"\$\.frames\[1\]\.place: "),
        (("floors", 0, "place"), -1, r"\$\.floors\[0\]\.place: "),
        (("floors", 0, "floor_s"), "x", r"\$\.floors\[0\]\.floor_s: "),
        (("curve",), [], r"\$\.curve: "),
    ],
)
def test_what_was_saved_and_is_damaged_is_refused_where_it_is(
    path: tuple[str | int, ...], value: object, said: str | None
) -> None:
    data: Any = full().to_dict()
    within = data
    for step in path[:-1]:
        within = within[step]
    within[path[-1]] = value
    if said is None:
        assert Measured.from_dict(data) == full()
        return
    with pytest.raises(BadSpec, match=said):
        Measured.from_json(json.dumps(data))


@pytest.mark.parametrize("saved", ["[]", "{}", "x", '{"schema": 1, "measurements": []}'])
def test_other_texts_are_no_saved_measurement(saved: str) -> None:
    with pytest.raises(BadSpec):
        Measured.from_json(saved)


def test_batches_or_sources_tell_networks_of_one_name_apart() -> None:
    """Batches first: of one file at several there is one source."""
    by_batch = [at_batch(batch, 10) for batch in (1, 2)]
    assert names_of(by_batch) == ("net, batch 1", "net, batch 2")
    both = [replace(one, source=source) for one, source in zip(by_batch, ("a.onnx", "b.onnx"), strict=True)]
    assert names_of(both) == ("net, batch 1", "net, batch 2")


def test_every_outlier_is_drawn_however_many_samples_there_are() -> None:
    samples = tuple(0.01 + 1e-6 * (place % 7) for place in range(5_000))
    samples = (*samples[:4_001], 1.0, *samples[4_001:4_500], 2.0, *samples[4_500:])
    many = replace(measurement(), samples_s=samples, summary=summary(samples))
    drawn = samples_chart(["net"], [many]).datasets["samples_0"]
    assert [row["seconds"] for row in drawn if row["kind"] == "outlier"] == [1.0, 2.0]
    assert len(drawn) < 1_500


def test_an_operator_of_which_one_time_is_unknown_has_no_floor() -> None:
    nodes = [SimpleNamespace(operator=name) for name in ("conv", "relu", "conv", "relu")]
    times = [SimpleNamespace(time_s=one) for one in (0.1, 0.2, 0.3, None)]
    found = list(_classes(SimpleNamespace(nodes=nodes), SimpleNamespace(nodes=times)))  # type: ignore[arg-type]
    assert found == [ClassFloor("conv", 0.4, 2), ClassFloor("relu", None, 2)]
