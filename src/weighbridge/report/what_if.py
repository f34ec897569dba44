"""A network before and after changes: every metric side by side, with the ratio, and the layers that differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from weighbridge.errors import printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.figures import NOTHING, Value, quotient, values_of
from weighbridge.report.layers import LayerChange
from weighbridge.report.record import Report

__all__ = ["Metric", "Step", "WhatIf", "compared"]

SCHEMA: Final = 1


class Metric(NamedTuple):
    """One figure of the network, or of it on ``device``, before and after the changes.

    ``unit`` is "" for counts and words, else B, s or J.  None is unknown.  ``ratio`` is after / before and ``times_smaller`` its
    inverse; each is None where a side is unknown or no number, and where it would divide by 0.  Unless ``exact_before`` or
    ``exact_after`` that side is a lower bound, and unless ``exact`` the ratio is not one of exact figures: with a lower bound before
    it is an upper bound, with one after a lower bound, with two neither.
    """

    name: str
    unit: str
    device: str | None
    before: int | float | str | None
    after: int | float | str | None
    ratio: float | None
    times_smaller: float | None
    exact: bool
    exact_before: bool
    exact_after: bool


class Step(NamedTuple):
    """What a step changed, and the network after it."""

    changes: tuple[str, ...]
    report: Report


@dataclass(frozen=True, slots=True, repr=False)
class WhatIf:
    """A network before and after changes.

    ``metrics`` has every figure of both, ``layers`` those that differ, in the order in which they run; ``steps`` each step by itself
    where they were asked for, ``notes`` what a change left as it was, and why.  The attributes have the names of the JSON.
    """

    tool: str
    source: str
    changes: tuple[str, ...]
    before: Report
    after: Report
    metrics: tuple[Metric, ...]
    layers: tuple[LayerChange, ...]
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA

    def metric(self, name: str, device: str | None = None) -> Metric:
        """The metric of this name.  Raises ``KeyError``."""
        for one in self.metrics:
            if (one.name, one.device) == (name, device):
                return one
        raise KeyError(name)

    def to_dict(self) -> dict[str, object]:
        """Plain dicts, lists, numbers and strings, as the JSON has them."""
        from weighbridge.report.what_if_json import to_plain

        return to_plain(self)

    def to_json(self) -> str:
        """The JSON text: ASCII, ints exact however large, no NaN and no infinity."""
        from weighbridge.report.json import layout

        return layout(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> WhatIf:
        """The comparison that ``to_dict`` made ``data`` of.  Raises ``BadSpec`` with the ``$.path`` of what does not fit."""
        from weighbridge.report.what_if_json import from_plain

        return from_plain(data)

    @classmethod
    def from_json(cls, text: str) -> WhatIf:
        """The comparison that was saved as ``text``.  Raises ``BadSpec``."""
        from weighbridge.report.json_text import parsed
        from weighbridge.report.what_if_json import from_plain

        return from_plain(parsed(text))

    def __repr__(self) -> str:
        ratios = (f"{name} x {one.ratio:.4g}" for name in ("parameters", "macs") if (one := self.metric(name)).ratio)
        return (
            f"<WhatIf {printable(self.before.network.name)} {printable(' '.join(self.changes))}: {', '.join(ratios)}>"
        )

    def __str__(self) -> str:
        """The page as text, 100 columns wide."""
        from weighbridge.report.terminal import Look
        from weighbridge.report.what_if_page import text

        return text(self, Look(100))


def compared(before: Report, after: Report) -> tuple[Metric, ...]:
    """Every metric of two reports; one that a side lacks is unknown there."""
    old, new = values_of(before), values_of(after)
    return tuple(_metric(*key, old.get(key), new.get(key)) for key in dict.fromkeys((*old, *new)))


def _metric(name: str, device: str | None, before: Value | None, after: Value | None) -> Metric:
    one, other = before or NOTHING, after or NOTHING
    return Metric(
        name,
        one.unit or other.unit,
        device,
        one.value,
        other.value,
        quotient(other.value, one.value),
        quotient(one.value, other.value),
        one.exact and other.exact and None not in (one.value, other.value),
        one.exact and one.value is not None,
        other.exact and other.value is not None,
    )
