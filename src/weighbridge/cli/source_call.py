"""Calls a function of the Python interface on a source as the command line has it: a file, a name, or a Python file's model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from weighbridge.sources import USER_FILE
from weighbridge.stated_inputs import inputs_for

if TYPE_CHECKING:
    from weighbridge.budgets.record import ModelBudgets
    from weighbridge.report import Report
    from weighbridge.revisions import Checkout

__all__ = ["called", "report_of"]

Result = TypeVar("Result")


def called(
    call: Callable[..., Result],
    source: str,
    inputs: Sequence[str],
    tell: Callable[[str], None],
    checkout: Checkout | None = None,
    **options: Any,
) -> Result:
    """``call(source, inputs=…, progress=tell, **options)``.

    A Python file that makes the model is imported for as long as that takes, and ``call`` gets what it made; one of a ``checkout``
    imports what is of that revision.  Raises ``BadSpec`` for inputs that cannot be read, and whatever ``call`` does.
    """
    options |= {**inputs_for(source, inputs), "progress": tell}
    by_user = USER_FILE.fullmatch(source)
    if by_user is None:
        return call(source, **options)
    from weighbridge.cli.user_file import made_by
    from weighbridge.frontends.torch_sources import choices_of

    tell(f"importing {by_user['path']}")
    choices = choices_of(by_user["choices"] or "", source)
    with made_by(Path(by_user["path"]), (by_user["name"] or "").strip(), choices, checkout) as module:
        return call(module, **options)


def report_of(model: ModelBudgets, tell: Callable[[str], None]) -> Report:
    """The report of a model as its entry in a file of budgets says.  Raises what ``called`` does."""
    from weighbridge.api import weigh

    options = dict(model.options)
    return called(weigh, model.source, options.pop("input", ()), tell, on=model.on, **options)
