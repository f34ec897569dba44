"""Holds models to the budgets of a file: each is weighed and judged, and what cannot be is kept with its reason."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from weighbridge.api import weigh
from weighbridge.budgets.baseline import read_baseline
from weighbridge.budgets.judge import judged
from weighbridge.budgets.read import named, read_budgets
from weighbridge.budgets.record import BaselineModel, Checked, CheckedModel, ModelBudgets, Unchecked
from weighbridge.budgets.weighed_on import weighed_on
from weighbridge.errors import BadSpec, WeighbridgeError
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.record import Report
from weighbridge.sources import quietly
from weighbridge.stated_inputs import inputs_for

__all__ = ["Weighed", "check", "checked", "judge_each", "weigh_each"]

_CALL: Final = 'call check("weighbridge.toml", ["net"])'


class Weighed(NamedTuple):
    """The reports of the models that could be weighed, by name, and those that could not."""

    reports: Mapping[str, Report]
    lost: tuple[Unchecked, ...]


def check(
    path: str | os.PathLike[str] | None = None,
    models: str | Iterable[str] = (),
    *,
    progress: Callable[[str], None] | None = None,
) -> Checked:
    """Hold the ``models`` of a file of budgets to them, all of them unless some are named.

    ``path`` is that of the file: ``weighbridge.toml``, or a ``pyproject.toml`` with ``[tool.weighbridge]``; without one it is the nearest
    from the working folder upwards.  Growth is measured from the baseline that the file names.  ``progress`` is called with the
    name of each stage as it begins.

    ``exit_code`` of the result is that of ``weighbridge check``: 0 where every budget holds, 1 where one is exceeded, 3 where a number
    that decides is not exact, and 2 where ``unchecked`` has a model that cannot be weighed, or a budget on what there is not.

    Raises ``BadSpec`` for a file of budgets or a baseline that is not there or has faults, and for a model that is not in it.
    """
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise BadSpec(f"the file of budgets is a path, not a {type(path).__name__}", where="path", hint=_CALL)
    if not isinstance(models, Iterable):
        raise BadSpec(f"models are named, not a {type(models).__name__}", where="models", hint=_CALL)
    found = read_budgets(None if path is None else Path(path))
    wanted = named(found, (models,) if isinstance(models, str) else tuple(models))
    tell = progress or quietly
    baseline = read_baseline(found.baseline)
    return checked(wanted, baseline, lambda model: _report(model, tell))


def checked(
    models: Sequence[ModelBudgets],
    baseline: Mapping[str, BaselineModel],
    report_of: Callable[[ModelBudgets], Report],
) -> Checked:
    """What became of the budgets of ``models``, with the reports that ``report_of`` makes."""
    return judge_each(models, weigh_each(models, report_of), baseline)


def weigh_each(models: Iterable[ModelBudgets], report_of: Callable[[ModelBudgets], Report]) -> Weighed:
    """The reports that ``report_of`` makes; a model that it cannot weigh keeps no other from being weighed.

    A report says where the model comes from as the file of budgets has it, wherever the check is run from.
    """
    reports: dict[str, Report] = {}
    lost: list[Unchecked] = []
    for model in models:
        try:
            report = report_of(model)
        except WeighbridgeError as error:
            lost.append(Unchecked(model.name, model.shown, None, str(error)))
        else:
            reports[model.name] = replace(report, network=report.network._replace(source=model.shown))
    return Weighed(reports, tuple(lost))


def judge_each(models: Iterable[ModelBudgets], weighed: Weighed, baseline: Mapping[str, BaselineModel]) -> Checked:
    """What became of the budgets of ``models``."""
    from weighbridge import __version__

    found: list[CheckedModel] = []
    unchecked = list(weighed.lost)
    for model in models:
        report = weighed.reports.get(model.name)
        if report is not None:
            one, others = judged(model, report, baseline.get(model.name), weighed_on(model.on))
            found.append(one)
            unchecked += others
    return Checked(f"weighbridge {__version__}", tuple(found), tuple(unchecked))


def _report(model: ModelBudgets, tell: Callable[[str], None]) -> Report:
    """The report of a model as its entry says.  Raises what ``weigh`` does."""
    options = dict(model.options)
    inputs = inputs_for(model.source, options.pop("input", ()))
    return weigh(model.source, on=model.on, progress=tell, **inputs, **options)
