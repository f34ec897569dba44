"""The tables of training against the plan in the report, and the chart of it."""

from __future__ import annotations

from weighbridge import Report, weigh
from weighbridge.memory.training.records import TrainingPlan
from weighbridge.report.charts.panel import Panel, Subject
from weighbridge.report.charts.training import training
from weighbridge.report.training_page import training_grids


def trained() -> tuple[Report, TrainingPlan]:
    report = weigh("lenet5", train="adam")
    assert report.memory.training is not None
    return report, report.memory.training


def test_the_share_of_a_layer_is_that_of_all_it_takes() -> None:
    report, plan = trained()
    (grid,) = (grid for grid in training_grids(report, all_rows=True) if grid.title.startswith("training by layer"))
    whole = sum(layer.training_bytes for layer in plan.layers)
    for layer, row in zip(plan.layers, grid.rows, strict=True):
        assert row.cells[-2] == f"{layer.training_bytes:,}"
        assert row.cells[-1] == f"{layer.training_bytes * 1000 // whole / 10:.1f}%"


def test_the_parts_of_a_bar_stand_on_each_other() -> None:
    report, plan = trained()
    drawn = training(Subject(0, "lenet5", report, None, "live"))
    assert isinstance(drawn, Panel)
    ((_, rows),) = drawn.datasets.items()
    for place, layer in enumerate(plan.layers, 1):
        ours = [row for row in rows if row["layer"] == place]
        sizes = [layer.saved_bytes, layer.parameter_bytes, layer.gradient_bytes]
        assert [row["bytes"] for row in ours] == sizes
        assert [row["begin"] for row in ours] == [0, sizes[0], sizes[0] + sizes[1]]
        assert [row["end"] for row in ours] == [sizes[0], sizes[0] + sizes[1], layer.training_bytes]
