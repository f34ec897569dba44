"""Networks beside what is expected of them: what the table, the distribution and the chart have of each."""

from __future__ import annotations

import pytest

from weighbridge.report.predicted import (
    BY_FLOOR,
    BY_MACS,
    EXPECTED,
    LEFT_OUT,
    LeftAside,
    NetworkTime,
    distributions,
    held,
)
from weighbridge.report.predicted_grids import asides, network_table, predicted_sentences

ONE = NetworkTime(
    name="a",
    source="a.onnx",
    runtime="onnxruntime",
    precision="float32",
    threads=1,
    batch=1,
    macs=10,
    measured_s=1.0,
    low_s=0.9,
    high_s=1.1,
    floor_s=0.5,
    expected_s=1.2,
    least_s=1.1,
    most_s=1.5,
    left_out_s=1.3,
    by_floor_s=2.0,
    by_macs_s=None,
)


def test_a_floor_within_the_noise_is_not_broken() -> None:
    assert not ONE._replace(floor_s=1.05).is_floor_broken
    assert ONE._replace(floor_s=1.15).is_floor_broken
    assert ONE._replace(floor_s=1.05, low_s=None, high_s=None).is_floor_broken
    assert not ONE._replace(floor_s=None).is_floor_broken


def test_distributions_are_by_runtime_and_of_all() -> None:
    found = distributions([ONE, ONE._replace(runtime="pytorch", left_out_s=None, by_macs_s=0.5)])
    assert [(one.method, one.runtime) for one in found] == [
        (LEFT_OUT, "onnxruntime"),
        (EXPECTED, "onnxruntime"),
        (BY_FLOOR, "onnxruntime"),
        (EXPECTED, "pytorch"),
        (BY_FLOOR, "pytorch"),
        (BY_MACS, "pytorch"),
        (LEFT_OUT, ""),
        (EXPECTED, ""),
        (BY_FLOOR, ""),
        (BY_MACS, ""),
    ]
    assert found[0].errors.median == pytest.approx(0.3)
    assert found[5].errors.worst_error == pytest.approx(-0.5)
    said = list(predicted_sentences(found))
    assert said[0].startswith("onnxruntime: a network left out is expected within 30.0% in the median")
    assert len(said) == 1  # all together are those of one runtime again
    both = list(predicted_sentences(distributions([ONE, ONE._replace(runtime="pytorch")])))
    assert [line.partition(":")[0] for line in both] == ["onnxruntime", "pytorch", "all together"]


def test_what_the_interval_holds() -> None:
    assert held([ONE, ONE._replace(least_s=0.9), ONE._replace(least_s=None)]) == (1, 2)


def test_a_row_has_every_number_and_what_is_left_out_is_bounded() -> None:
    table = network_table([ONE])
    assert dict(zip(table.columns, table.rows[0], strict=True))["left_out_s"] == 1.3
    assert table.columns[-1] == "noisy"
    told = asides([LeftAside(f"{place}\x1b", "why") for place in range(13)])
    assert len(told) == 11
    assert told[0] == "left out: 0\\x1b: why"
    assert told[-1] == "left out: 3 more; the JSON has them"


def test_the_chart_has_a_point_for_each_time_that_is_known() -> None:
    pytest.importorskip("altair")
    from weighbridge.report.charts.predicted import predicted_chart

    assert predicted_chart([]) is None
    assert predicted_chart([ONE._replace(left_out_s=None, floor_s=None)]) is None
    chart = predicted_chart([ONE, ONE._replace(name="b", measured_s=4.0, floor_s=None)])
    assert chart is not None
    assert [row["kind"] for row in chart.datasets["predicted"]] == ["expected", "floor", "expected"]
    assert [row["seconds"] for row in chart.datasets["as_measured"]] == [1.0, 4.0]
