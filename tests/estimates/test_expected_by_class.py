"""The time that a runtime's rates expect of a network: by hand, at any batch, and never without what it leaves out."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import pytest

from tests.estimates.machines import FUSED, WRITTEN, amount, machine
from weighbridge import Report, weigh
from weighbridge.api import demand_of, load, node_works_of
from weighbridge.devices.timed import Timed
from weighbridge.estimates import Demand, Expected, estimate, expected
from weighbridge.estimates.class_work import NodeWork, class_work
from weighbridge.estimates.expected import CALL, NOT_MEASURED

from .demands import SMALL

WORK = (
    NodeWork("linear", 2000, (2000,) * 3, running_bytes=1000, nodes=2, steps=3),
    NodeWork("copy", running_bytes=500),
)
DEMAND = SMALL._replace(precision="float32", work=WORK, work_as_written=WORK[1:])


def only(timed: Timed, demand: Demand = DEMAND, precision: str | None = None, batch: int | None = 1) -> Expected:
    device = machine(timed)
    (found,) = expected(demand, device, device, precision, batch)
    return found


def test_the_time_is_that_of_the_classes_and_of_the_call() -> None:
    found = only(FUSED)
    assert found.by == pytest.approx({"linear": 3.3e-5, "copy": 1.05e-5, CALL: 1e-3})
    assert found.time_s == pytest.approx(sum(found.by.values()))
    assert (found.least_s, found.most_s) == pytest.approx((found.time_s / 2, found.time_s * 2))
    assert (found.kernels, found.precision, found.reason, found.beyond) == ("onnxruntime 1.32.0", "float32", "", "")
    assert found.conditions == "12 networks and single operators, CPUExecutionProvider, 2 threads, a bench"
    assert found.energy_j is None


def test_a_runtime_that_merges_nothing_runs_the_graph_as_it_is_written() -> None:
    assert only(WRITTEN).by.keys() == {"copy", CALL}
    assert only(WRITTEN, DEMAND._replace(work_as_written=None)).reason == (
        "what the network asks of each class of operators is not known"
    )


def test_without_networks_the_range_is_unknown_and_said_to_be() -> None:
    found = only(replace(FUSED, least=None, most=None, networks=0))
    assert found.time_s is not None
    assert (found.least_s, found.most_s) == (None, None)
    assert found.beyond == "no network was measured, so that nobody knows how far off it is"
    assert found.conditions.startswith("single operators, ")


@pytest.mark.parametrize("missing", [("copy",), ("linear",)])
def test_a_class_without_rates_is_left_out_and_said_to_be(missing: tuple[str, ...]) -> None:
    found = only(replace(FUSED, classes=tuple(one for one in FUSED.classes if one.operators not in missing)))
    assert not set(missing) & found.by.keys()
    assert found.beyond == f"without the time of {missing[0]}, which was not measured"


def test_what_is_not_all_known_is_told() -> None:
    found = only(FUSED, DEMAND._replace(work=(WORK[0]._replace(exact=False), WORK[1]._replace(exact=False))))
    assert found.beyond == "not all that linear and copy ask is known"


def test_a_network_far_from_the_measured_ones_is_told_so() -> None:
    """It has 2,000 MACs."""
    small = only(replace(FUSED, least_macs=amount(4000), most_macs=amount(8000)))
    large = only(replace(FUSED, least_macs=amount(1), most_macs=amount(20)))
    assert small.beyond == "beyond what was measured: 0.5 times those of the smallest network there"
    assert large.beyond == "beyond what was measured: 100 times the MACs of the largest network there"


def test_a_network_without_products_is_told_so_and_not_compared_with_the_smallest() -> None:
    found = only(replace(FUSED, least_macs=amount(4000), most_macs=amount(8000)), DEMAND._replace(ops=0))
    assert found.beyond == "beyond what was measured: it has no MACs, and every network there has"


def test_a_doubt_about_a_rate_is_told() -> None:
    assert only(FUSED).verified
    assert not only(replace(FUSED, call_s=amount(1, verified=False))).verified


@pytest.mark.parametrize(
    ("changes", "precision", "reason"),
    [
        ({"ops_exact": False}, None, "not all MACs of the network are counted"),
        ({"work": ()}, None, "nothing in the network takes time"),
        ({"work": (NodeWork("linear", 10**400, (10**400,) * 3),)}, None, "the time is beyond what a number can hold"),
    ],
)
def test_what_is_not_known_has_no_time(changes: dict[str, object], precision: str | None, reason: str) -> None:
    found = only(FUSED, DEMAND._replace(**changes), precision)
    assert (found.time_s, found.least_s, found.most_s, found.by) == (None, None, None, {})
    assert found.reason == reason


def test_none_of_its_classes_measured_is_no_time_of_the_call_alone() -> None:
    found = only(replace(FUSED, classes=FUSED.classes[:1]))
    assert (found.time_s, found.reason) == (None, "none of its classes of operators was measured")


def test_the_precision_must_be_the_one_that_was_measured() -> None:
    needs = demand_of(load("lenet5"))
    assert only(FUSED, needs).time_s is not None
    assert only(FUSED, needs, "float32").time_s is not None
    assert only(FUSED, needs, "int8").reason == "c1 computes at int8, and they were measured at float32"
    assert only(FUSED, demand_of(load("lenet5"), "int8")).reason.startswith("c1 computes at int8")


@pytest.fixture(scope="module")
def report() -> Report:
    return weigh("mobilenet_v2:resolution=96", on=[machine(FUSED, WRITTEN)], batch=3, fps=30)


def test_both_graphs_of_a_network_are_weighed_at_its_batch(report: Report) -> None:
    fused, written = report.on[0].expected
    for found, merges in ((fused, True), (written, False)):
        work = class_work(node_works_of(load("mobilenet_v2:resolution=96", batch=3), merges))
        assert found.by.keys() == {one.operators for one in work} | {CALL}
        assert found.time_s == pytest.approx(
            sum((one.macs + one.bytes) / 1e9 + one.steps * 1e-5 for one in work) + 0.001
        )
    assert written.time_s is not None
    assert fused.time_s is not None
    assert fused.time_s < written.time_s


def test_the_graph_as_it_is_written_is_counted_where_a_device_asks_for_it_alone() -> None:
    (on,) = weigh("lenet5", on=[machine(FUSED)]).on
    assert [one.kernels for one in on.expected] == ["onnxruntime 1.32.0"]
    (as_written,) = weigh("mobilenet_v2:resolution=96", on=[machine(FUSED)], as_written=True).on
    assert "normalisation" in as_written.expected[0].by


def test_frames_are_expected_to_be_missed_with_a_range_where_there_is_one(report: Report) -> None:
    deadline = report.on[0].deadline
    assert deadline is not None
    assert [one.kernels for one in deadline.expected] == ["onnxruntime 1.32.0", "pytorch 2.14.1"]
    (alone,) = weigh("lenet5", on=[machine(replace(FUSED, least=None, most=None, networks=0))], fps=1000).on
    assert alone.deadline is not None
    (one,) = alone.deadline.expected
    assert (one.frames_missed, one.least_frames_missed, one.most_frames_missed) == (1, None, None)


@pytest.mark.parametrize(("measured", "figures"), [(True, "measured"), (False, "data sheet")])
def test_a_latency_says_where_the_figures_of_the_floor_come_from(measured: bool, figures: str) -> None:
    device = machine(measured=measured)
    assert estimate(DEMAND, device).latency.figures == figures


def test_figures_of_both_origins_are_told_as_both() -> None:
    device = replace(machine(), memories=machine(measured=False).memories)
    assert estimate(DEMAND, device).latency.figures == "data sheet and measured"


def test_a_microcontroller_with_times_of_a_runtime_does_not_lack_them() -> None:
    board = replace(machine(), kind="mcu")
    assert NOT_MEASURED in estimate(DEMAND, board).notes
    assert NOT_MEASURED not in estimate(DEMAND, replace(board, timed=(FUSED,))).notes


def test_what_nodes_ask_of_kernels_is_counted_where_a_device_was_timed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    demand_module = import_module("weighbridge.estimates.demand")
    asked = []
    counted = demand_module.node_works
    monkeypatch.setattr(demand_module, "node_works", lambda *args: asked.append(args) or counted(*args))
    weigh("lenet5", on=[machine(), "toy"])
    assert not asked
    weigh("lenet5", on=[machine(FUSED)])
    assert len(asked) == 1
