"""A check as JSON."""

from __future__ import annotations

from typing import Final

from weighbridge.budgets.record import Budget, Checked, CheckedModel, Result
from weighbridge.report.json import plain
from weighbridge.units import as_number

__all__ = ["SCHEMA", "to_plain"]

SCHEMA: Final = 1


def to_plain(checked: Checked) -> dict[str, object]:
    """Dicts, lists, ints, finite floats, strings, booleans and None, under the names that docs/json.md has.

    The reports are left out: ``weigh`` writes them, and what differs from the baseline is here.
    """
    return {
        "schema": SCHEMA,
        "tool": checked.tool,
        "exit_code": checked.exit_code,
        "models": [_model(model) for model in checked.models],
        "unchecked": plain(checked.unchecked, []),
    }


def _model(model: CheckedModel) -> dict[str, object]:
    return {
        "name": model.name,
        "source": model.source,
        "results": [_result(result) for result in model.results],
        "differences": plain(model.differences, []),
    }


def _result(result: Result) -> dict[str, object]:
    without = plain(result._replace(budget=None), [])  # type: ignore[arg-type]
    return {**without, "budget": _budget(result.budget)}


def _budget(budget: Budget) -> dict[str, object]:
    bound = budget.bound
    return {**plain(budget._replace(bound=None), []), "bound": None if bound is None else as_number(bound)}
