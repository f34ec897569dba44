"""The chart of what none beats: its dots are the figures of the comparison, and there is none where nothing is placed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from weighbridge import Report, compare, weigh
from weighbridge.report.charts.front import front_charts
from weighbridge.report.comparison import Comparison, Model, comparison_of
from weighbridge.report.comparison_sentences import names_of
from weighbridge.report.figures import label


def drawn(found: Comparison) -> list[list[dict[str, object]]]:
    return [
        [dict(row) for rows in chart.datasets.values() for row in rows]
        for chart in front_charts(found, names_of(found))
    ]


def test_each_dot_is_a_figure_as_a_multiple_of_the_first_model_s() -> None:
    found = compare(
        ["resnet18", "resnet34", "squeezenet", "published:segformer_b5", "published:efficientvit_l1"], on="toy"
    )
    charts = front_charts(found, names_of(found))
    assert [chart.device for chart in charts] == [front.on for front in found.fronts]
    assert len(charts) == 3
    for rows, front in zip(drawn(found), found.fronts, strict=True):
        placed = [*front.best, *(one.model for one in front.beaten)]
        assert len(rows) == len(placed) * len(front.metrics)
        for name in front.metrics:
            metric = next(one for one in found.metrics if one.name == name and one.device in (None, front.on))
            values = [value for value, model in zip(metric.values, found.models, strict=True) if model.name in placed]
            ratios = [row["ratio"] for row in rows if row["figure"] == label(name)]
            assert ratios == pytest.approx([value / values[0] for value in values])  # type: ignore[operator]
    assert {(row["model"], row["placed"]) for row in drawn(found)[0]} == {
        ("A", "not beaten"),
        ("B", "beaten"),
        ("C", "not beaten"),
    }
    assert charts[0].description.endswith("B is beaten by A")


def of(*reports: Report) -> Comparison:
    return comparison_of(
        [Model("ABCDE"[place], "", one) for place, one in enumerate(reports)], tool="", fps=Fraction(30)
    )


def test_without_two_that_are_placed_there_is_no_chart() -> None:
    one, other = weigh("resnet18"), weigh("resnet18", batch=8)
    assert drawn(of(one, other)) == []
    assert drawn(of(one)) == []
    assert len(drawn(of(one, other, one))) == 1
