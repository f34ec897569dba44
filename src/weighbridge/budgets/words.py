"""What became of a budget, in words: every page says it so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from weighbridge.budgets.record import FITS, NOT_EXACT, OVER, PASSED, Blame, Checked, CheckedModel, Result, Unchecked
from weighbridge.errors import printable
from weighbridge.report.figures import cell
from weighbridge.report.layers import LayerFigures
from weighbridge.report.matching import Differences
from weighbridge.units import exact, significant

__all__ = [
    "blamed",
    "differences_words",
    "figure",
    "headline",
    "layers_sentence",
    "outcome",
    "percent",
    "shown_budget",
    "unchecked_sentence",
]

_NAME: Final = 80
_NOT_CHECKED: Final = "not checked"
_CHANGES: Final = (
    ("weights", "weights"),
    ("weight_bytes", "bytes of weights"),
    ("macs", "MACs"),
    ("output_bytes", "bytes of output"),
)
"""Figures of a layer, and what they are called."""
_OF: Final = {"weight_bytes": "weights", "output_bytes": "output"}
"""Bytes say something where what they are of is as it was."""
_STATES: Final = ((PASSED, "passed"), (OVER, OVER), (NOT_EXACT, NOT_EXACT), (_NOT_CHECKED, _NOT_CHECKED))


def headline(checked: Checked) -> str:
    """How many budgets there are, and what became of how many."""
    found = Counter(result.status for model in checked.models for result in model.results)
    found[_NOT_CHECKED] = len(checked.unchecked)
    total = found.total()
    models = len({model.name for model in checked.models} | {one.model for one in checked.unchecked})
    of = f"{_several(total, 'budget')} of {_several(models, 'model')}"
    if found[PASSED] == total:
        return f"{of}: {'it passes' if total == 1 else 'all pass'}"
    return f"{of}: {', '.join(f'{found[state]:,} {word}' for state, word in _STATES if found[state])}"


def _several(count: int, of: str) -> str:
    return f"{count:,} {of}{'' if count == 1 else 's'}"


def shown_budget(result: Result) -> str:
    """The budget as it was written, on one line."""
    return printable(result.budget.text)


def figure(value: int | float | str | None, unit: str, *, is_exact: bool = True) -> str:
    """A figure with its unit; ``>=`` in front of a lower bound, ``?`` where it is unknown."""
    return cell(value, unit, is_exact)


def outcome(result: Result) -> str:
    """What the figure is, and how far from what it may be: a sentence without its end."""
    budget, unit = result.budget, result.unit
    now = figure(result.value, unit, is_exact=result.exact or result.value is None)
    if result.status == NOT_EXACT:
        return f"{now} is not exact, so nobody knows whether it passes"
    if budget.relation == FITS:
        return now
    if budget.grows:
        now = f"{figure(result.baseline, unit)} in the baseline, {now} now{_grown(result)}"
    if result.status == PASSED:
        return now if result.limit is None else f"{now}, at most {figure(result.limit, unit)} passes"
    if budget.relation == "==":
        return f"{now}, not {figure(result.limit, unit)}"
    over = "" if result.over_by is None else f": {_beyond(result)}"
    return f"{now}, at most {figure(result.limit, unit)} passes{over}"


def _beyond(result: Result) -> str:
    """By how much a figure is beyond its limit, in its unit and as a share of the limit."""
    over = figure(result.over_by, result.unit, is_exact=result.exact)
    return f"{over} too much{_share(result.over_by, result.limit, ' of the limit')}"


def _grown(result: Result) -> str:
    value, before = result.value, result.baseline
    if value is None or before is None or isinstance(value, str):
        return ""
    change = Fraction(value) - Fraction(before)
    if not change:
        return ", as it was"
    word = "more" if change > 0 else "less"
    bound = "at least " if not result.exact else ""
    share = percent(abs(change), Fraction(before))
    return f" ({bound}{share} {word})" if share else f" ({bound}{figure(_number(abs(change)), result.unit)} {word})"


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _share(part: float | None, whole: float | None, of: str) -> str:
    if part is None or not whole:
        return ""
    return f" ({percent(Fraction(part), Fraction(whole))}{of})"


def percent(part: Fraction, whole: Fraction) -> str:
    """``part`` of ``whole`` as a percentage of four significant digits; "" of nothing."""
    return "" if not whole else f"{significant(float(100 * part / whole))} %"


def blamed(blame: Blame, result: Result) -> str:
    """A layer, what it has more of the metric, and what of it changed."""
    name = printable(blame.name, _NAME)
    growth = "" if blame.growth is None else f" {'+' if blame.growth > 0 else ''}{figure(blame.growth, result.unit)}"
    return f"{name}{growth}{_changed(blame)}"


def _changed(blame: Blame) -> str:
    old, new = blame.before, blame.after
    if old is None and new is None:
        return ""
    if old is None or new is None:
        side = new or old
        assert side is not None
        state = "" if old is None else "gone: "
        return f" ({state}{', '.join(_described(side))})"
    changes = [f"{word} {_values(old, new, name)}" for name, word in _CHANGES if _says(old, new, name)]
    if old.output != new.output:
        changes.append(f"output {_shape(old)} -> {_shape(new)}")
    if old.operator != new.operator:
        changes.append(f"{printable(old.operator, _NAME)} -> {printable(new.operator, _NAME)}")
    return f" ({', '.join(changes)})" if changes else ""


def _says(old: LayerFigures, new: LayerFigures, name: str) -> bool:
    of = _OF.get(name)
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
    parts = [f"{found.same:,} as in the baseline"]
    if found.renamed:
        named = ", ".join(f"{printable(old, _NAME)} -> {printable(new, _NAME)}" for old, new in found.renamed[:3])
        more = f" and {len(found.renamed) - 3:,} more" if len(found.renamed) > 3 else ""
        parts.append(f"{len(found.renamed):,} of them renamed ({named}{more})")
    parts += (f"{kinds[kind]:,} {kind}" for kind in ("changed", "new", "gone") if kinds[kind])
    return ", ".join(parts)


def unchecked_sentence(one: Unchecked) -> str:
    """What was not checked, and why."""
    what = "" if one.budget is None else f": {printable(one.budget)}"
    return f"{printable(one.model, _NAME)}{what}: {printable(one.reason, 600)}"
