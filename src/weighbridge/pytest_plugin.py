"""The pytest plug-in: the fixture ``weighbridge_budget`` holds a model to its budgets within a test.

pytest loads this module in every run where Weighbridge is installed, so that all else is imported when a test asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from weighbridge.budgets.record import Checked, CheckedModel

__all__ = ["BudgetCheck", "weighbridge_budget"]

_Path = str | os.PathLike[str]
_WIDTH: Final = 100


@pytest.fixture
def weighbridge_budget(request: pytest.FixtureRequest) -> BudgetCheck:
    """Holds a model to its budgets, and fails the test where one breaks or a number is not exact.

    ``weighbridge_budget("name")`` takes the budgets that the file of budgets has for this model;
    ``weighbridge_budget(source, "macs <= 1 M", on="toy")`` takes whatever ``weighbridge.weigh`` does, with its options.
    Gives what was found: ``report`` and ``results``.
    """
    return BudgetCheck(request.path.parent)


class BudgetCheck:
    """What the fixture ``weighbridge_budget`` is, for tests in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, source: Any, *budgets: str, file: _Path | None = None, **options: Any) -> CheckedModel:
        """What became of the budgets of ``source`` where all of them hold.

        Without ``budgets`` it is the name of a model in ``file``, a path from the working folder; without that in the file of budgets
        that is nearest to the test, from its folder upwards.  With ``budgets``, ``source`` and ``options`` are those of
        ``weighbridge.weigh``.

        Fails the test, with what ``weighbridge check`` shows, where a budget breaks, where a number is not exact, and where something
        cannot be checked.
        """
        __tracebackhide__ = True
        checked = self._checked(source, budgets, file, options)
        # Raised here, where no other exception is being handled: pytest shows that one, too.
        if isinstance(checked, str):
            pytest.fail(checked, pytrace=False)
        (model,) = checked.models
        return model

    def _checked(
        self, source: Any, budgets: tuple[str, ...], file: _Path | None, options: dict[str, Any]
    ) -> Checked | str:
        """What was found, or where not all of it passes the text that says so."""
        __tracebackhide__ = True
        from weighbridge.errors import WeighbridgeError

        try:
            checked = _of_source(source, budgets, file, options) if budgets else self._of_file(source, file, options)
        except WeighbridgeError as error:
            return f"weighbridge: error: {error}"
        if not checked.exit_code:
            return checked
        from weighbridge.budgets.page import text
        from weighbridge.report.terminal import Look

        return text(checked, Look(_WIDTH), all_rows=True)

    def _of_file(self, name: object, file: _Path | None, options: Mapping[str, Any]) -> Checked:
        """Raises ``BadSpec`` for what is no name in the file, and whatever reading and checking do."""
        if not isinstance(name, str):
            raise _misused("there is no budget", f'give one: weighbridge_budget({type(name).__name__}, "macs <= 30 M")')
        if options:
            what = f"{', '.join(options)}: the file of budgets says how its models are weighed"
            raise _misused(what, f"write it there, or give a budget behind {name!r} to weigh that")
        from weighbridge.budgets.baseline import read_baseline
        from weighbridge.budgets.read import named, nearest_file, read_budgets
        from weighbridge.checking import checked
        from weighbridge.cli.source_call import report_of
        from weighbridge.sources import quietly

        found = read_budgets(nearest_file(self._folder) if file is None else Path(file))
        # As the command does, which imports a Python file that makes a model.
        return checked(named(found, (name,)), read_baseline(found.baseline), lambda model: report_of(model, quietly))


def _of_source(source: Any, texts: tuple[str, ...], file: _Path | None, options: dict[str, Any]) -> Checked:
    """Raises what ``weigh`` does, and ``BadSpec`` for a budget that cannot be read."""
    __tracebackhide__ = True
    if file is not None:
        raise _misused("the budgets are given here, so none are read from a file", "leave file out")
    from weighbridge.api import weigh
    from weighbridge.budgets.judge import judged
    from weighbridge.budgets.language import budget_of
    from weighbridge.budgets.record import Checked, ModelBudgets
    from weighbridge.budgets.weighed_on import weighed_on

    budgets = tuple(map(budget_of, texts))
    for budget in budgets:
        if budget.grows:
            hint = 'put both into the file of budgets, run `weighbridge check --update`, and write weighbridge_budget("NAME")'
            raise _misused(f"{budget.text}: only models of a file of budgets have a baseline to grow from", hint)
    given = options.pop("on", ())
    on = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    report = weigh(source, on=on, **options)
    name = os.fspath(source) if isinstance(source, (str, os.PathLike)) else type(source).__name__
    model, unchecked = judged(ModelBudgets(name, name, budgets), report, None, weighed_on(on))
    return Checked(report.tool, (model,), unchecked)


def _misused(what: str, hint: str) -> Exception:
    from weighbridge.errors import BadSpec

    return BadSpec(what, where="weighbridge_budget", hint=hint)
