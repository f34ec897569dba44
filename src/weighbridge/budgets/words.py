"""What became of a budget, in words: every page says it so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from weighbridge.budgets.record import FITS, NOT_EXACT, OVER, PASSED, Blame, Checked, CheckedModel, Result, Unchecked
from weighbridge.errors import printable
from weighbridge.report.figures import cell, is_rough, quotient
from weighbridge.report.layers import FIGURES, OF, LayerFigures
from weighbridge.report.matching import Differences
from weighbridge.units import as_number, exact, rough_ratio, significant

__all__ = [
    "NOT_CHECKED",
    "baseline",
    "blamed",
    "differences_words",
    "figure",
    "headline",
    "layers_sentence",
    "limit",
    "outcome",
    "reason",
    "several",
    "shown_budget",
    "unchecked_sentence",
]

_NAME: Final = 80
NOT_CHECKED: Final = "not checked"
"""What is said of a budget that nothing is known of."""
_TIMES: Final = "time_s"
_STATES: Final = ((PASSED, "passed"), (OVER, OVER), (NOT_EXACT, NOT_EXACT), (NOT_CHECKED, NOT_CHECKED))


def headline(checked: Checked) -> str:
    """How many budgets there are, and what became of how many."""
    found = Counter(result.status for model in checked.models for result in model.results)
    lost = [one.model for one in checked.unchecked if one.budget is None]
    found[NOT_CHECKED] = len(checked.unchecked) - len(lost)
    parts = []
    if checked.models:
        total = found.total()
        all_pass = "it passes" if total == 1 else "all pass"
        states = ", ".join(f"{found[state]:,} {word}" for state, word in _STATES if found[state])
        became = all_pass if found[PASSED] == total else states
        parts.append(f"{several(total, 'budget')} of {several(len(checked.models), 'model')}: {became}")
    if lost:
        parts.append(f"{several(len(lost), 'model')} could not be weighed: {printable(', '.join(lost))}")
    return "; ".join(parts)


def several(count: int, of: str) -> str:
    """``1 model``, ``2 models``."""
    return f"{count:,} {of}{'' if count == 1 else 's'}"


def shown_budget(result: Result) -> str:
    """The budget as it was written, on one line."""
    return printable(result.budget.text)


def figure(value: int | float | str | None, unit: str, *, is_exact: bool = True, name: str = "") -> str:
    """A figure with its unit; ``>=`` in front of a lower bound, ``?`` where it is unknown; two digits of what is rough by its ``name``."""
    return cell(value, unit, is_exact, name=name)


def outcome(result: Result) -> str:
    """What the figure is, and how far from what it may be: a clause."""
    if result.status == NOT_EXACT:
        return _undecided(result)
    if result.budget.relation == FITS:
        worst = "" if result.over_by is None else f": at the worst {_amount(result.over_by, result)} short"
        return f"{result.value}{worst}"
    now = _now(result)
    if result.status == PASSED:
        return now
    over = result.over_by
    if over is None or over < 0:
        return f"{now}, not {figure(result.limit, result.unit)}"
    share = _percent(over, max(result.limit or 0, 0), result.budget.metric)
    bound = "" if result.exact else ">= "
    of_limit = f" ({bound}{share} of the limit)" if share else ""
    return f"{now}, which is {_amount(over, result)} too much{of_limit}"


def _undecided(result: Result) -> str:
    """Why nobody knows whether it passes, as far as the figure itself says; notes say more."""
    if result.budget.relation == FITS:
        return "nobody knows whether it fits"
    if result.value is None:
        return "unknown, so nobody knows whether it passes"
    if not result.exact:
        return f"{_now(result)} is a lower bound, so nobody knows whether it passes"
    return f"{_now(result)}, and the baseline is not exact, so nobody knows whether it passes"


def _now(result: Result) -> str:
    now = figure(result.value, result.unit, is_exact=result.exact, name=result.budget.metric)
    if not result.budget.grows:
        return now
    return f"{baseline(result)} in the baseline, {now} now{_grown(result)}"


def baseline(result: Result) -> str:
    """What the figure was in the baseline."""
    is_exact = result.baseline_exact or result.baseline is None
    return figure(result.baseline, result.unit, is_exact=is_exact, name=result.budget.metric)


def _amount(value: float, result: Result) -> str:
    return figure(value, result.unit, is_exact=result.exact, name=result.budget.metric)


def limit(result: Result) -> str:
    """What may be, with its relation; "" of a verdict, and where the baseline does not know."""
    if result.limit is None:
        return ""
    # of counts and bytes it is the largest that passes, so that what is below 10 is at most 9
    relation = "<=" if result.budget.relation == "<" and result.unit in ("", "B") else result.budget.relation
    more = "" if result.baseline_exact else " or more"
    return f"{relation} {figure(result.limit, result.unit)}{more}"


def _grown(result: Result) -> str:
    """How much it has grown, where that is known: a lower bound that is no more than it was says nothing."""
    value, before = result.value, result.baseline
    if value is None or before is None or isinstance(value, str) or not result.baseline_exact:
        return ""
    change = Fraction(value) - Fraction(before)
    if change <= 0 and not result.exact:
        return ""
    if not change:
        return ", as it was"
    amount = as_number(abs(change))
    size = _percent(amount, before, result.budget.metric) or figure(amount, result.unit, name=result.budget.metric)
    return f" ({'' if result.exact else 'at least '}{size} {'more' if change > 0 else 'less'})"


def _percent(part: float, whole: float, name: str) -> str:
    """``part`` of ``whole`` as a percentage of four significant digits, two of what is rough by its ``name``; "" of nothing."""
    share = quotient(part, whole)
    return "" if share is None else f"{(rough_ratio if is_rough(name) else significant)(100 * share)} %"


def blamed(result: Result, most: int | None = None, *, in_full: bool = False) -> Iterator[str]:
    """The layers that it is due to, the first ``most`` of them: what each has more than in the baseline.

    ``in_full`` says all that changed in them, where no table of the layers that differ stands below.
    """
    layers = result.blame[:most]
    if layers and all(blame.growth is None and blame.by is not None for blame in layers):
        yield _unlike_others(layers)
    yield from (_blamed(blame, in_full=in_full) for blame in layers)


def _unlike_others(layers: Sequence[Blame]) -> str:
    """What layers are named for of which none is known to have more of something than in the baseline."""
    figures = {blame.by for blame in layers}
    by = figures.pop() if len(figures) == 1 else None
    which = "take longest" if by == _TIMES else f"have most {FIGURES[by]}" if by else "are largest"
    if any(blame.before not in (None, blame.after) for blame in layers):
        return f"of the layers that grew these {which}:"
    since = (
        "" if all(blame.before is None for blame in layers) else "no layer is known to have grown since the baseline; "
    )
    return f"{since}these {which}:"


def _blamed(blame: Blame, *, in_full: bool) -> str:
    name = printable(blame.name, _NAME)
    if blame.by is None:
        name += ", where the peak is"
    if blame.before is None:
        new = "" if blame.growth is None else f"{_growth(blame)} more, as it is new: "
        return f"{name}{' has ' if new else ': '}{new}{', '.join(_described(blame.after))}"
    if blame.growth is None or blame.by is None:
        return f"{name}: {', '.join(_changed(blame.before, blame.after))}"
    changed = (
        ", ".join(_changed(blame.before, blame.after)) if in_full else _values(blame.before, blame.after, blame.by)
    )
    return f"{name} has {_growth(blame)} more: {changed}"


def _growth(blame: Blame) -> str:
    return f"{exact(blame.growth or 0)} {FIGURES[blame.by or '']}"


def _changed(old: LayerFigures, new: LayerFigures) -> Iterator[str]:
    """What of a layer is not as it was; all of it where nothing changed."""
    if old == new:
        yield from _described(new)
    yield from (f"{word} {_values(old, new, name)}" for name, word in FIGURES.items() if _says(old, new, name))
    if old.output != new.output:
        yield f"output {_shape(old)} -> {_shape(new)}"
    if old.operator != new.operator:
        yield f"{printable(old.operator, _NAME)} -> {printable(new.operator, _NAME)}"


def _says(old: LayerFigures, new: LayerFigures, name: str) -> bool:
    of = OF.get(name)
    return getattr(old, name) != getattr(new, name) and (of is None or getattr(old, of) == getattr(new, of))


def _values(old: LayerFigures, new: LayerFigures, name: str) -> str:
    sides = (getattr(old, name), getattr(new, name))
    return " -> ".join("?" if value is None else exact(value) for value in sides)


def _described(side: LayerFigures) -> Iterator[str]:
    yield printable(side.operator, _NAME)
    if side.weights:
        yield f"{exact(side.weights)} weights"
    if side.macs:
        yield f"{exact(side.macs)} MACs"
    yield f"output {_shape(side)}"


def _shape(side: LayerFigures) -> str:
    return "?" if side.output is None else "x".join(map(str, side.output)) or "scalar"


def layers_sentence(model: CheckedModel) -> str:
    """How the layers of a model differ from the baseline; "" where that does not have it."""
    return "" if model.differences is None else f"layers: {differences_words(model.differences)}"


def differences_words(found: Differences) -> str:
    """``20 as in the baseline, 1 of them renamed (a -> b), 1 changed, 2 new, 1 gone``."""
    kinds = Counter("new" if one.before is None else "gone" if one.after is None else "changed" for one in found.layers)
    parts = [f"{exact(found.same) if found.same else 'none'} as in the baseline"]
    if found.renamed:
        named = ", ".join(f"{printable(old, _NAME)} -> {printable(new, _NAME)}" for old, new in found.renamed[:3])
        more = f" and {len(found.renamed) - 3:,} more" if len(found.renamed) > 3 else ""
        parts.append(f"{len(found.renamed):,} of them renamed ({named}{more})")
    parts += (f"{kinds[kind]:,} {kind}" for kind in ("changed", "new", "gone") if kinds[kind])
    return ", ".join(parts)


def unchecked_sentence(one: Unchecked) -> str:
    """What was not checked, and why."""
    what = "" if one.budget is None else f": {printable(one.budget)}"
    return f"{printable(one.model, _NAME)}{what}: {reason(one)}"


def reason(one: Unchecked) -> str:
    """Why it was not checked, on one line; behind the budget it does not have to say again which."""
    told = one.reason if one.budget is None else one.reason.removeprefix(f"{one.budget}: ")
    return printable("; ".join(map(str.strip, told.splitlines())), 600)
