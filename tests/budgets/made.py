"""Models with budgets on reports that were made by hand or weighed."""

from __future__ import annotations

from collections.abc import Sequence

from weighbridge.budgets.baseline import baseline_of
from weighbridge.budgets.judge import judged
from weighbridge.budgets.language import budget_of
from weighbridge.budgets.record import CheckedModel, ModelBudgets, Result, Unchecked
from weighbridge.budgets.weighed_on import weighed_on
from weighbridge.report import Report


def held(
    report: Report, budgets: Sequence[str], before: Report | None = None, on: Sequence[str] = ()
) -> tuple[CheckedModel, tuple[Unchecked, ...]]:
    """What became of ``budgets``, with ``before`` as baseline."""
    model = ModelBudgets("net", "net.onnx", tuple(map(budget_of, budgets)), tuple(on))
    baseline = None if before is None else baseline_of(before, "net.onnx")
    return judged(model, report, baseline, weighed_on(on))


def result(report: Report, budget: str, before: Report | None = None, on: Sequence[str] = ()) -> Result:
    """What became of one budget that can be checked."""
    checked, unchecked = held(report, [budget], before, on)
    assert not unchecked, unchecked
    return checked.results[0]


def reason(report: Report, budget: str, before: Report | None = None, on: Sequence[str] = ()) -> str:
    """Why a budget cannot be checked."""
    checked, (unchecked,) = held(report, [budget], before, on)
    assert not checked.results
    assert unchecked.budget == budget
    return unchecked.reason
