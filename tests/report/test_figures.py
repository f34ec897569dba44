"""The figures of a report by name: which there are, and which are exact."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report.samples import alexnet, node, on_device, report
from weighbridge import weigh
from weighbridge.report.figures import values_of

ODD = node("odd", operator="unknown", origin="my.Op", macs=None)


def test_a_policy_that_does_not_apply_has_no_peak_and_one_that_is_unknown_has() -> None:
    made = report(alexnet())
    memory = made.memory._replace(peak_bytes={"live": 5, "held": None, "pair": None}, inapplicable={"held": "blocks"})
    values = values_of(replace(made, memory=memory))
    peaks = {name: (value.value, value.exact) for (name, _), value in values.items() if name.startswith("peak_bytes.")}
    assert peaks == {"peak_bytes.live": (5, True), "peak_bytes.pair": (None, False)}


@pytest.mark.parametrize(("verdict", "exact"), [("fits", True), ("does not fit", True), ("unknown", False)])
def test_a_verdict_is_certain_unless_it_is_unknown(verdict: str, exact: bool) -> None:
    there = on_device()
    there = there._replace(fit=there.fit._replace(verdict=verdict))
    found = values_of(replace(report(alexnet()), on=(there,)))["verdict", there.device]
    assert (found.value, found.exact) == (verdict, exact)


def test_what_is_not_counted_in_full_is_exact_nowhere() -> None:
    whole, odd = (values_of(report(nodes)) for nodes in (alexnet(), [*alexnet(), ODD]))
    for name in ("macs", "flops", "parameters", "weights", "parameter_bytes", "weight_bytes"):
        assert (whole[name, None].exact, odd[name, None].exact) == (True, False)


@pytest.mark.parametrize("exact", [True, False])
def test_other_operations_and_training_are_as_exact_as_their_own_counts(exact: bool) -> None:
    made = weigh("lenet5", train="adam")
    plan = made.memory.training
    assert plan is not None
    made = replace(
        made,
        facts=made.facts._replace(work_exact=exact),
        memory=made.memory._replace(training=plan._replace(exact=exact)),
    )
    values = values_of(made)
    assert values["macs", None].exact
    assert values["peak_bytes.live", None].exact
    for name in ("other_operations", "training.saved_bytes", "training.peak_activation_bytes", "training.total_bytes"):
        assert values[name, None].exact == exact
        assert values[name, None].value is not None
