"""The records of a check: a budget, what became of it, and the baseline that growth is measured from."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.figures import Value
from weighbridge.report.layers import Layer, LayerFigures
from weighbridge.report.matching import Differences
from weighbridge.report.record import Report

__all__ = [
    "FITS",
    "NOT_EXACT",
    "OVER",
    "PASSED",
    "BaselineModel",
    "Blame",
    "Budget",
    "Checked",
    "CheckedModel",
    "ModelBudgets",
    "Result",
    "Unchecked",
]

PASSED: Final = "passed"
OVER: Final = "over budget"
NOT_EXACT: Final = "not exact"
"""What became of a budget.  A lower bound above the limit is over it; one below the limit decides nothing and is not exact."""
FITS: Final = "fits"
"""The relation of a budget on a verdict, and the verdict that it asks for."""
_OVER_BUDGET, _BAD_INPUT, _INEXACT = 1, 2, 3


class Budget(NamedTuple):
    """One limit.  ``text`` is as it was written, ``metric`` and ``device`` are a key of ``report.figures.values_of``.

    ``relation`` is ``<=``, ``<`` or ``==``, or ``fits`` of a verdict, which has no ``bound``.  ``bound`` is in the unit of the metric
    (B, s, J, or a count); where ``grows`` it is the growth against the baseline, and a share of that (2 % is 1/50) where ``is_share``.
    """

    text: str
    metric: str
    device: str | None
    relation: str
    bound: Fraction | None = None
    grows: bool = False
    is_share: bool = False


class ModelBudgets(NamedTuple):
    """A model and its budgets: ``source`` is what ``weigh`` takes from the working folder, ``on`` are the devices, ``options`` the
    other options of ``weigh`` as the command has them, by name (``batch``, ``precision``, ``input`` …).

    ``written`` is the source as the file of budgets has it, relative to that file, which pages and baselines show; "" where there is none.
    ``weighed_with`` are the options as it has them, as text: a baseline by others is none to measure growth from.
    """

    name: str
    source: str
    budgets: tuple[Budget, ...]
    on: tuple[str, ...] = ()
    options: Mapping[str, Any] = {}
    written: str = ""
    weighed_with: str = ""

    @property
    def shown(self) -> str:
        """The source for people and for files that are kept: the same wherever the check is run from."""
        return self.written or self.source


class BaselineModel(NamedTuple):
    """A model as the baseline has it: every figure by name and device, the layers, and the node that sets each peak by policy.

    ``source`` and ``weighed_with`` are what the file of budgets said then.
    """

    source: str
    figures: Mapping[tuple[str, str | None], Value]
    layers: tuple[Layer, ...]
    peak_nodes: Mapping[str, str]
    weighed_with: str = ""


class Blame(NamedTuple):
    """A layer that a budget broke at, with what it was in the baseline: ``before`` is None of a new layer and without a baseline.

    ``by`` is the figure of ``LayerFigures`` that shows it (``macs``, ``weights`` …), or ``time_s``; None of the layer that sets a
    peak.  ``growth`` is how much more of it the layer has than in the baseline; None where it has not grown, or nobody knows.
    """

    name: str
    before: LayerFigures | None
    after: LayerFigures
    by: str | None = None
    growth: int | None = None


class Result(NamedTuple):
    """What became of a budget: ``status`` is ``passed``, ``over budget`` or ``not exact``.

    ``value`` is that of the network, None where it is unknown, and a lower bound unless ``exact``; ``baseline`` what it was there, None
    unless the budget is one of growth, and a lower bound unless ``baseline_exact``, as ``limit`` is then.  ``limit`` is the largest
    value that passes, in ``unit``, and ``over_by`` what ``value`` has beyond it: below 0 where ``==`` asks for more, None where the
    budget is not broken.  Of ``fits`` the value is the verdict, there is no limit, and ``over_by`` are the bytes that the memory lacks
    which is shortest of room.  ``blame`` are the layers it is due to, those of most first.
    """

    budget: Budget
    status: str
    unit: str
    value: int | float | str | None
    exact: bool
    baseline: int | float | None = None
    baseline_exact: bool = True
    limit: int | float | None = None
    over_by: int | float | None = None
    blame: tuple[Blame, ...] = ()
    notes: tuple[str, ...] = ()


class CheckedModel(NamedTuple):
    """A model and what became of its budgets; ``differences`` from the baseline, None where that does not have it."""

    name: str
    source: str
    report: Report
    results: tuple[Result, ...]
    differences: Differences | None = None


class Unchecked(NamedTuple):
    """What could not be held against anything, and why: a budget by its text, or where ``budget`` is None a whole model."""

    model: str
    source: str
    budget: str | None
    reason: str


class Checked(NamedTuple):
    """What became of all budgets; ``unchecked`` are those that nothing is known of, so that none of them passes by accident."""

    tool: str
    models: tuple[CheckedModel, ...]
    unchecked: tuple[Unchecked, ...] = ()

    @property
    def exit_code(self) -> int:
        """2 where something could not be checked, else 1 where a budget is exceeded, else 3 where a number is not exact, else 0."""
        if self.unchecked:
            return _BAD_INPUT
        found = {result.status for model in self.models for result in model.results}
        if OVER in found:
            return _OVER_BUDGET
        return _INEXACT if NOT_EXACT in found else 0

    def to_dict(self) -> dict[str, object]:
        """Plain dicts, lists, numbers and strings, as the JSON has them."""
        from weighbridge.budgets.check_json import to_plain

        return to_plain(self)

    def to_json(self) -> str:
        """The JSON text: ASCII, ints exact however large, no NaN and no infinity."""
        from weighbridge.report.json import layout

        return layout(self.to_dict())

    def __str__(self) -> str:
        """The page as text, 100 columns wide."""
        from weighbridge.budgets.page import text
        from weighbridge.report.terminal import Look

        return text(self, Look(100))
