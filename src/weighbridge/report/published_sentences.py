"""What published figures say of each other: a ratio of times only where one thing varies, and why times and MACs do not go together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from weighbridge.errors import printable
from weighbridge.published import Published
from weighbridge.report.published_figures import are_comparable, conditions_of
from weighbridge.units import short, significant

if TYPE_CHECKING:
    from weighbridge.report.comparison import Comparison

__all__ = ["of_published"]
_Row = tuple[str, Published]
_NEARLY: Final = 0.01
"""Rates that differ by less, as a part of them, are as good as equal: published figures have two or three digits."""
_TIMES: Final = (("latency_s", "takes {} times as long as"), ("throughput_per_s", "does {} times as many a second as"))
_COUNTS: Final = (("macs", "MACs"), ("flops", "published FLOPs"))


def of_published(found: Comparison, called: Mapping[str, str]) -> Iterator[str]:
    """Each later published row against the first with which its times can be compared, or that there is none."""
    rows = [(called[model.name], model.published) for model in found.models if model.published is not None]
    for place, (name, row) in enumerate(rows[1:], 1):
        pairs = [one for one in rows[:place] if are_comparable(one[1], row)]
        if pairs:
            yield from _pair(pairs[0], (name, row))
        elif row.latency_s or row.throughput_per_s:
            yield _no_ratio(rows[0], (name, row))
    if rows and len(rows) < len(found.models):
        yield "published figures are by their sources' own counts: they have no ratio to what is weighed here"


def _no_ratio(first: _Row, later: _Row) -> str:
    here, there = conditions_of(later[1].conditions), conditions_of(first[1].conditions)
    if here == there:
        return f"nothing says that {later[0]} and {first[0]} were timed under the same conditions: their times have no ratio"
    return f"{later[0]} was timed under other conditions than {first[0]} ({here}; {there}): their times have no ratio"


def _pair(first: _Row, later: _Row) -> Iterator[str]:
    """The larger time or throughput against the smaller, and what each runs a second, which the ratio of the counts hides."""
    for name, words in _TIMES:
        smaller, larger = sorted((first, later), key=lambda row: getattr(row[1], name) or 0)
        if not getattr(smaller[1], name):
            continue
        ratio = getattr(larger[1], name) / getattr(smaller[1], name)
        head = f"as published, {larger[0]} {words.format(significant(float(ratio)))} {smaller[0]}"
        if first[1].conditions != later[1].conditions:
            yield f"{head}: one network on {_hardware(larger)} and on {_hardware(smaller)}, all else being the same"
            continue
        count = next((pair for pair in _COUNTS if all(getattr(row[1], pair[0]) for row in (first, later))), None)
        if count is None:
            yield f"{head} ({conditions_of(first[1].conditions)})"
            continue
        figure, unit = count
        more = getattr(larger[1], figure) / getattr(smaller[1], figure)
        counts = f"as many {unit}" if more == 1 else f"{significant(float(more))} times the {unit}"
        yield f"{head} for {counts} ({conditions_of(first[1].conditions)})"
        yield from _rates(larger, smaller, name, figure, unit)


def _hardware(row: _Row) -> str:
    conditions = row[1].conditions
    return printable(conditions.hardware if conditions else "", 60)


def _rates(larger: _Row, smaller: _Row, time: str, count: str, unit: str) -> Iterator[str]:
    """Why the times are not in the ratio of the counts: the two do not run at one rate."""
    rates = [_rate(row[1], time, count) for row in (larger, smaller)]
    one, other = rates
    if one is None or other is None or abs(one - other) <= _NEARLY * max(one, other):
        return
    shown = [f"{short(int(rate))} {unit} a second" for rate in (one, other)]
    yield f"{unit} are not time: {larger[0]} runs {shown[0]} there and {smaller[0]} {shown[1]}"


def _rate(row: Published, time: str, count: str) -> Fraction | None:
    """MACs or FLOPs a second, of all samples of the batch; None where the batch is unknown."""
    each = getattr(row, count)
    if time == "throughput_per_s":
        return Fraction(each * row.throughput_per_s)
    batch = row.conditions.batch if row.conditions else None
    return None if batch is None else Fraction(each * batch / row.latency_s)
