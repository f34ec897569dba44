"""Networks side by side: ratios and what they are of, names, what is published, and every format."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from fractions import Fraction
from io import StringIO

import pytest
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion

from tests.report.compared import EFFICIENTVIT, ORIN, SEGFORMER, published, side_by_side
from tests.report.samples import alexnet, node, on_device, report
from tests.steps import steps
from weighbridge import weigh
from weighbridge.errors import BadSpec
from weighbridge.published import Conditions
from weighbridge.report.comparison import Comparison, Model, comparison_of
from weighbridge.report.comparison_page import grids, lines, markdown, sentences, table, text
from weighbridge.report.comparison_sentences import names_of
from weighbridge.report.csv import render
from weighbridge.report.figures import values_of
from weighbridge.report.record import NetworkInput
from weighbridge.report.terminal import Look

HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m\u202e|`"
ODD = node("odd", operator="unknown", origin="my.Op", macs=None)


@pytest.mark.parametrize("width", [60, 100])
def test_a_page(snapshot: SnapshotAssertion, width: int) -> None:
    models = [Model(name, name, weigh(name, on=["toy", "stm32f746"])) for name in ("resnet18", "resnet34")]
    shown = text(comparison_of([*models, SEGFORMER, EFFICIENTVIT], tool="t", fps=Fraction(30)), Look(width))
    assert max(map(cell_len, shown.splitlines())) <= width
    assert shown == snapshot


def test_published_rows_need_no_model(snapshot: SnapshotAssertion) -> None:
    found = comparison_of([SEGFORMER, EFFICIENTVIT], tool="t", fps=Fraction(30))
    assert markdown(found) == snapshot
    assert text(found, Look(100, unicode=False)).isascii()


def test_every_figure_of_every_model_is_there_with_its_ratio_to_the_first() -> None:
    reports = [weigh(name, on="toy") for name in ("lenet5", "mlp", "alexnet")]
    found = side_by_side(*reports)
    every = [values_of(one) for one in reports]
    assert [(one.name, one.device) for one in found.metrics] == list(dict.fromkeys(key for one in every for key in one))
    for metric in found.metrics:
        of = [values.get((metric.name, metric.device)) for values in every]
        assert list(metric.values) == [None if one is None else one.value for one in of]
        for value, ratio in zip(metric.values, metric.ratios, strict=True):
            if isinstance(value, str) or value is None or not metric.values[0]:
                assert ratio is None
            else:
                assert ratio is not None
                assert math.isclose(ratio, value / metric.values[0])
    assert found.metric("macs").ratios[0] == 1
    with pytest.raises(KeyError):
        found.metric("macs", "toy")


def test_a_figure_that_a_model_does_not_have_is_no_unknown_one() -> None:
    with_plan, without = weigh("lenet5", train="adam"), weigh("mlp")
    grid = next(iter(grids(side_by_side(with_plan, without))))
    cells = next(row.cells for row in grid.rows if row.cells[0] == "training, total")
    assert cells[2:] == ("-", "")


@pytest.mark.parametrize(
    ("before", "after", "cell", "said"),
    [
        ([], [], "0.1455", ", 0.1455 times the MACs"),
        ([ODD], [], "<= 0.1455", ", at most 0.1455 times the MACs"),
        ([], [ODD], ">= 0.1455", ", at least 0.1455 times the MACs"),
        ([ODD], [ODD], "* 0.1455", ", 0.1455 times the MACs as far as they are counted"),
    ],
)
def test_a_ratio_says_what_it_is_where_a_side_is_a_lower_bound(before, after, cell, said) -> None:
    whole = alexnet()
    found = side_by_side(report([*whole, *before]), report([*whole[:1], *after]))
    shown = " ".join(sentences(found))
    assert said in shown
    for name, odd in (("A", before), ("B", after)):
        assert (f"careful: {name} is not counted in full" in shown) == bool(odd)
    grid = next(iter(grids(found)))
    assert next(row.cells[3] for row in grid.rows if row.cells[0] == "MACs") == cell
    assert any("neither a floor nor a ceiling" in note for note in grid.notes) == (cell[0] == "*")


@pytest.mark.parametrize(
    ("changes", "has_ratio"),
    [
        ({}, True),
        ({"source": "another paper"}, True),
        ({"conditions": ORIN._replace(batch=8)}, False),
        ({"conditions": ORIN._replace(precision="int8")}, False),
        ({"conditions": ORIN._replace(hardware="Jetson Nano")}, False),
        ({"conditions": ORIN._replace(hardware="Jetson Nano"), "title": "One"}, True),
        ({"conditions": ORIN._replace(hardware="Jetson Nano", batch=8), "title": "One"}, False),
        ({"conditions": ORIN._replace(hardware="Jetson Nano"), "title": "One", "input": "another"}, False),
        ({"conditions": None}, False),
    ],
)
def test_times_have_a_ratio_where_one_thing_varies(changes: dict[str, object], has_ratio: bool) -> None:
    found = comparison_of([published("one"), published("two", latency_s=Fraction("0.2"), **changes)], tool="t")
    assert found.metric("published.latency_s").ratios == (1, 2 if has_ratio else None)
    assert found.metric("published.macs").ratios == (1, 1)
    shown = " ".join(sentences(found))
    assert ("two takes 2.000 times as long as one" in shown) == has_ratio
    assert ("their times have no ratio" in shown) != has_ratio


def test_what_a_source_does_not_say_is_the_same_in_one_source_alone() -> None:
    vague = ORIN._replace(runtime="")
    for source, has_ratio in (("a paper", True), ("another", False)):
        models = [published("one", conditions=vague), published("two", conditions=vague, source=source)]
        found = comparison_of(models, tool="t")
        assert (found.metric("published.latency_s").ratios[1] is not None) == has_ratio
        assert ("nothing says that two and one were timed under the same" in " ".join(sentences(found))) != has_ratio
    nowhere = [published(name, conditions=Conditions()) for name in ("one", "two")]
    assert comparison_of(nowhere, tool="t").metric("published.latency_s").ratios == (None, None)


def test_what_is_published_has_no_ratio_to_what_is_weighed() -> None:
    found = comparison_of([Model("mlp", "mlp", weigh("mlp")), SEGFORMER], tool="t")
    for metric in found.metrics:
        is_published = metric.name.startswith("published.")
        assert metric.values[not is_published] is None
        assert metric.ratios[not is_published] is None
    assert found.differences == ()
    assert not any({"MACs", "MACs, published"} <= {row.cells[0] for row in grid.rows} for grid in grids(found))
    assert "no ratio to what is weighed here" in " ".join(sentences(found))


@pytest.mark.parametrize("fps", [Fraction(30), Fraction(30000, 1001), Fraction(1, 7), Fraction(10**6)])
def test_frames_missed_are_those_of_the_formula(fps: Fraction) -> None:
    times = [
        Fraction(k, 1) / fps * part for k in (1, 2, 19) for part in (Fraction(1), Fraction(9, 10), Fraction(11, 10))
    ]
    rows = [published(f"n{place}", latency_s=time) for place, time in enumerate(times)]
    found = comparison_of([Model("net", "", replace(report(alexnet()), on=(on_device(),))), *rows], tool="t", fps=fps)
    assert found.deadline is not None
    floor, *measured = found.deadline.by
    assert [one.frames_missed for one in measured] == [max(0, math.ceil(time * fps) - 1) for time in times]
    assert {one.kind for one in measured} == {"published"}
    assert (floor.kind, floor.on, floor.frames_missed) == ("floor", "stm32f746", math.ceil(Fraction("3.35") * fps) - 1)
    assert "at least" in text(found, Look(100))


def test_without_a_time_no_frame_is_said_to_be_missed() -> None:
    found = comparison_of([SEGFORMER, published("untimed", latency_s=None)], tool="t", fps=Fraction(30))
    assert found.deadline is not None
    assert [one.frames_missed for one in found.deadline.by] == [19, None]
    assert [one.exact for one in found.deadline.by] == [True, False]


def every_kind() -> Comparison:
    odd = replace(report([*alexnet(), ODD]), on=(on_device(),))
    models = [Model("A", "a.onnx", weigh("lenet5", on="toy")), Model("B", "", odd), SEGFORMER]
    rows = [
        published("x", conditions=None, macs=None, quality=Fraction("82.4"), quality_metric="mIoU, %", notes=("n",))
    ]
    return comparison_of([*models, *rows], tool="t", fps=Fraction(30000, 1001))


def test_json_and_back_is_the_same() -> None:
    found = every_kind()
    assert Comparison.from_json(found.to_json()) == found
    assert Comparison.from_dict(found.to_dict()) == found
    assert list(found.to_dict()) == [
        "schema",
        "tool",
        "models",
        "metrics",
        "differences",
        "fronts",
        "deadline",
        "notes",
    ]
    noted = replace(found, notes=("of its own",))
    assert Comparison.from_json(noted.to_json()) == noted


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (("schema",), 2, "$.schema"),
        (("models",), [], "$.models"),
        (("models",), {}, "$.models"),
        (("models", 1, "name"), "A", "$.models"),
        (("models", 0), 7, "$.models[0]"),
        (("models", 0, "name"), None, "$.models[0].name"),
        (("models", 0, "report"), None, "$.models[0]"),
        (("models", 0, "published"), {}, "$.models[0]"),
        (("models", 0, "report", "facts", "macs"), -1, "$.models[0].report.facts.macs"),
        (("models", 2, "published", "macs"), "many", "$.models[2].published.macs"),
        (("models", 2, "published", "macs"), True, "$.models[2].published.macs"),
        (("models", 2, "published", "latency_s"), -1, "$.models[2].published.latency_s"),
        (("models", 2, "published", "latency_s"), math.nan, "$.models[2].published.latency_s"),
        (("models", 2, "published", "latency_s"), 10**999, "$.models[2].published.latency_s"),
        (("models", 2, "published", "conditions", "batch"), 0, "$.models[2].published.conditions.batch"),
        (("models", 2, "published", "conditions", "batch"), True, "$.models[2].published.conditions.batch"),
        (("models", 2, "published", "notes"), [1], "$.models[2].published.notes[0]"),
        (("deadline",), 30, "$.deadline"),
        (("deadline", "fps"), 0, "$.deadline.fps"),
        (("notes",), ["fine", 3], "$.notes[1]"),
        (("tool",), 3, "$.tool"),
    ],
)
def test_what_is_no_comparison_is_refused_with_its_place(
    path: tuple[str | int, ...], value: object, where: str
) -> None:
    data = every_kind().to_dict()
    inner = data
    for step in path[:-1]:
        inner = inner[step]  # type: ignore[index, assignment]
    inner[path[-1]] = value  # type: ignore[index]
    with pytest.raises(BadSpec) as caught:
        Comparison.from_dict(data)
    assert caught.value.where == where


def test_a_saved_report_is_no_comparison() -> None:
    with pytest.raises(BadSpec, match="no saved comparison"):
        Comparison.from_json(weigh("mlp").to_json())


def test_csv_has_every_metric_with_raw_values() -> None:
    found = side_by_side(weigh("mlp"), weigh("lenet5"))
    rows = list(csv.DictReader(StringIO(render(table(found)))))
    assert len(rows) == len(found.metrics)
    macs = next(row for row in rows if row["name"] == "macs")
    assert (macs["A"], macs["B"], macs["A exact"], macs["B ratio"]) == (
        "266200",
        "416520",
        "true",
        str(416520 / 266200),
    )


def test_names_on_a_page_are_short_and_tell_the_models_apart() -> None:
    def called(*names: str) -> list[str]:
        return list(names_of(comparison_of([Model(name, "", weigh("linear")) for name in names], tool="t")).values())

    assert called("one", "two") == ["one", "two"]
    assert called("models/of/a/long/path/one.onnx", "models/of/a/long/path/two.onnx") == ["one.onnx", "two.onnx"]
    assert called("models/of/a/long/path/net.onnx@main", "models/of/a/long/path/net.onnx") == [
        "net.onnx@main",
        "net.onnx",
    ]
    assert called("models/of/one/long/path/net.onnx", "models/of/two/long/path/net.onnx") == ["A", "B"]
    assert len(set(called(*(f"models/of/a/long/path/{place}/net.onnx" for place in range(30))))) == 30


def test_hostile_text_reaches_no_page() -> None:
    odd = [one._replace(name=f"{HOSTILE}{place}", operator=HOSTILE) for place, one in enumerate(alexnet())]
    there = on_device()._replace(device=HOSTILE)
    there = there._replace(
        conditions=there.conditions._replace(precision=HOSTILE), fit=there.fit._replace(verdict=HOSTILE)
    )
    made = replace(report(odd), on=(there,), notes=(HOSTILE,))
    made = replace(made, network=made.network._replace(graph=HOSTILE, inputs=(NetworkInput(HOSTILE, (1,), HOSTILE),)))
    row = published(HOSTILE, source=HOSTILE, notes=(HOSTILE,), conditions=Conditions(HOSTILE, HOSTILE, HOSTILE, 1))
    assert row.published is not None
    second = Model(f"{HOSTILE} 3", "", None, row.published._replace(latency_s=Fraction(3)))
    third = Model(f"{HOSTILE} 4", "", None, row.published._replace(conditions=Conditions(f"{HOSTILE} 3")))
    plain = replace(report(alexnet()), on=(on_device()._replace(device=HOSTILE),))
    models = [Model(HOSTILE, HOSTILE, made), Model(f"{HOSTILE} 2", "", plain), row, second, third]
    found = comparison_of(models, tool=HOSTILE, fps=Fraction(30))
    assert "whether A fits is unknown and B does not fit" in " ".join(sentences(found))
    for shown in (text(found, Look(100), all_rows=True), markdown(found), repr(found), str(found)):
        assert "\x1b" not in shown
        assert "\u202e" not in shown
    assert "<img" not in markdown(found).replace("\\<img", "")


def test_many_models_on_many_devices_take_as_long_as_they_are_many() -> None:
    def of(models: int, devices: int) -> int:
        there = tuple(on_device()._replace(device=f"device {place}") for place in range(devices))
        reports = [replace(report(alexnet()), on=there) for _ in range(models)]
        every = [Model(f"m{place}", "", one) for place, one in enumerate(reports)]
        return steps(lambda: text(comparison_of(every, tool="t", fps=Fraction(30)), Look(100)))

    assert of(4, 64) < 4.4 * of(4, 16)  # quadratic would be 16 times
    assert of(16, 16) < 4.8 * of(4, 16)


def test_layers_of_a_large_network_take_as_long_as_they_are_many() -> None:
    def of(count: int) -> int:
        nodes = [node(f"n{place}", weights=place, macs=place) for place in range(count)]
        one, other = report(nodes), report([*nodes[: count // 2], node("new", weights=1, macs=1), *nodes[count // 2 :]])
        return steps(lambda: sum(1 for _ in lines(side_by_side(one, other), Look(100))))

    assert of(800) < 4.4 * of(200)  # quadratic would be 16 times
