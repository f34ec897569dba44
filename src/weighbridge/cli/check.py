"""Carries out ``weighbridge check``: weighs the models of the file of budgets, judges, writes, and decides the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from weighbridge.budgets.baseline import baseline_of, read_baseline
from weighbridge.budgets.page import lines, markdown, text
from weighbridge.budgets.read import Budgets, named, read_budgets
from weighbridge.budgets.record import BaselineModel, Checked, ModelBudgets, Unchecked
from weighbridge.budgets.update_page import Updated
from weighbridge.budgets.update_page import lines as update_lines
from weighbridge.budgets.words import headline, unchecked_sentence
from weighbridge.checking import judge_each, weigh_each
from weighbridge.cli.output import FILE_WIDTH, look_of, show_lines, to_every, write, write_to
from weighbridge.cli.progress import progress
from weighbridge.cli.source_call import report_of
from weighbridge.cli.targets import STDOUT, Input, Target, check_targets, file_format, inputs_of
from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.report import Report
from weighbridge.report.terminal import Look

__all__ = ["Request", "carry_out"]

_SUFFIXES: Final = {".json": "json", ".md": "markdown", ".markdown": "markdown", ".xml": "junit", ".txt": "text"}
_SCREEN: Final = "screen"


class Request(NamedTuple):
    """The options as they were written."""

    models: Sequence[str] = ()
    budgets: str | None = None
    update: bool = False
    json: str | None = None
    markdown: str | None = None
    junit: str | None = None
    outputs: Sequence[str] = ()
    all_rows: bool = False


def carry_out(request: Request) -> int:
    """Weigh, judge, write everything that was asked for, and return the exit code.

    A model that cannot be weighed keeps no other from being checked.  Nothing is updated unless all that are named were weighed.
    """
    budgets = read_budgets(None if request.budgets is None else Path(request.budgets))
    models = named(budgets, request.models)
    targets = _targets(request, budgets, models)
    baseline = read_baseline(budgets.baseline)
    with progress() as tell:
        weighed = weigh_each(models, lambda model: report_of(model, tell))
    if request.update:
        if weighed.lost:
            raise _not_updated(weighed.lost)
        before = read_baseline(budgets.baseline)  # again, as another update may have written it meanwhile
        baseline, updated = _updated(request, budgets, before, weighed.reports)
        _write_baseline(budgets.baseline, baseline)
        if targets[-1].kind == _SCREEN:
            look = look_of(sys.stdout)
            show_lines(update_lines(budgets.baseline, updated, look, all_rows=request.all_rows), look)
            write("\n", None)
    checked = judge_each(models, weighed, baseline)
    to_every(targets, lambda target: _write(checked, target, all_rows=request.all_rows))
    if targets[-1].kind != _SCREEN and checked.exit_code:
        _explain(checked)
    return checked.exit_code


def _targets(request: Request, budgets: Budgets, models: Sequence[ModelBudgets]) -> tuple[Target, ...]:
    """Everything to write.  Raises ``BadSpec`` for what cannot be written, or would overwrite what is read."""
    stated = (("json", request.json), ("markdown", request.markdown), ("junit", request.junit))
    targets = [Target(kind, place) for kind, place in stated if place is not None]
    targets += (Target(file_format(file, _SUFFIXES), file) for file in request.outputs)
    check_targets((target.place for target in targets), _inputs(budgets, models))
    for target in targets:  # also over a baseline that is only about to be there
        if target.place != STDOUT and os.path.realpath(target.place) == os.path.realpath(budgets.baseline):
            raise BadSpec("the report would overwrite the baseline", where=target.place, hint="name another file")
    if all(target.place != STDOUT for target in targets):
        targets.append(Target(_SCREEN, STDOUT))
    return tuple(targets)


def _inputs(budgets: Budgets, models: Sequence[ModelBudgets]) -> Iterator[Input]:
    yield Input(budgets.path, "the file of budgets")
    yield Input(budgets.baseline, "the baseline")
    for model in models:
        yield from inputs_of(model.source, model.on, model.options.get("energy"))


def _updated(
    request: Request, budgets: Budgets, before: Mapping[str, BaselineModel], reports: Mapping[str, Report]
) -> tuple[Mapping[str, BaselineModel], tuple[Updated, ...]]:
    """The baseline with these models in it, and what changed; who names no model means all, and no others stay."""
    models = {model.name: model for model in budgets.models}
    made = {
        name: baseline_of(report, models[name].shown, models[name].weighed_with) for name, report in reports.items()
    }
    kept = before if request.models else {}
    updated = [Updated(name, before.get(name), after, reports[name].facts) for name, after in made.items()]
    if not request.models:
        updated += (Updated(name, old, None) for name, old in before.items() if name not in made)
    return {**kept, **made}, tuple(updated)


def _write_baseline(path: Path, models: Mapping[str, BaselineModel]) -> None:
    """Replace the file at once, so that none ever is half written, also where this is interrupted.  Raises ``BadSpec``."""
    from contextlib import suppress

    from weighbridge.budgets.baseline import to_text

    place = path.resolve()  # of a link what it leads to
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        write(to_text(models), beside)
        beside.replace(place)
    except OSError as error:
        hint = "make its folder first" if not place.parent.is_dir() else "nothing was updated"
        raise BadSpec(f"cannot be written: {error.strerror or error}", where=str(path), hint=hint) from None
    finally:
        with suppress(OSError):
            beside.unlink()


def _not_updated(lost: Sequence[Unchecked]) -> BadSpec:
    what = f"the baseline stays as it was, as {len(lost):,} of the models could not be weighed"
    return BadSpec(what, hint="repair them, or name the others", details=[unchecked_sentence(one) for one in lost])


def _write(checked: Checked, target: Target, *, all_rows: bool) -> None:
    write_to(target, lambda look: lines(checked, look, all_rows=all_rows), lambda kind: _content(checked, kind))


def _content(checked: Checked, kind: str) -> str:
    if kind == "json":
        return checked.to_json()
    if kind == "junit":
        from weighbridge.budgets.junit import render

        return render(checked)
    return markdown(checked) if kind == "markdown" else text(checked, Look(FILE_WIDTH), all_rows=True)


def _explain(checked: Checked) -> None:
    """Say on standard error what nobody sees on the screen."""
    sys.stderr.write(f"weighbridge: {headline(checked)}\n")
    for one in checked.unchecked:
        sys.stderr.write(f"weighbridge: error: {unchecked_sentence(one)}\n")
