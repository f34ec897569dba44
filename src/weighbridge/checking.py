"""Holds models to the budgets of a file: each is weighed and judged, and what cannot be is kept with its reason."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from weighbridge.api import weigh
from weighbridge.budgets.baseline import read_baseline
from weighbridge.budgets.judge import judged
from weighbridge.budgets.read import named, read_budgets
from weighbridge.budgets.record import BaselineModel, Checked, CheckedModel, ModelBudgets, Unchecked
from weighbridge.budgets.weighed_on import weighed_on
from weighbridge.errors import WeighbridgeError
from weighbridge.report.record import Report

__all__ = ["check", "checked", "options_of", "weighed"]


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
    found = read_budgets(None if path is None else Path(path))
    wanted = named(found, (models,) if isinstance(models, str) else tuple(models))
    tell = progress or _quietly
    return checked(wanted, read_baseline(found.baseline), lambda model: weighed(model, tell))


def checked(
    models: Iterable[ModelBudgets],
    baseline: Mapping[str, BaselineModel],
    weigh_model: Callable[[ModelBudgets], Report],
) -> Checked:
    """What became of the budgets of ``models``; a model that ``weigh_model`` cannot weigh keeps no other from being checked."""
    from weighbridge import __version__

    found: list[CheckedModel] = []
    unchecked: list[Unchecked] = []
    for model in models:
        try:
            devices = weighed_on(model.on)
            report = weigh_model(model)
        except WeighbridgeError as error:
            unchecked.append(Unchecked(model.name, model.shown, None, str(error)))
            continue
        shown = replace(report, network=report.network._replace(source=model.shown))
        one, others = judged(model, shown, baseline.get(model.name), devices)
        found.append(one)
        unchecked += others
    return Checked(f"weighbridge {__version__}", tuple(found), tuple(unchecked))


def weighed(model: ModelBudgets, tell: Callable[[str], None]) -> Report:
    """The report of a model as its entry says.  Raises what ``weigh`` does."""
    return weigh(model.source, **options_of(model), progress=tell)


def options_of(model: ModelBudgets) -> dict[str, Any]:
    """The options of ``weigh`` that the entry of a model says, beside its inputs."""
    return {"on": model.on, **{name: value for name, value in model.options.items() if name != "input"}}


def _quietly(stage: str) -> None:
    """Tell nobody."""
