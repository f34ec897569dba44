"""A network in the order that leaves the smallest peak: what that saves, and which layers run at another time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.exported import Exported

__all__ = ["Moved", "OrderStep", "Ordered", "Overwrite"]

SCHEMA: Final = 1


class Moved(NamedTuple):
    """A layer that runs at another time: its place before and after, from 0."""

    name: str
    operator: str
    before: int
    after: int


class OrderStep(NamedTuple):
    """The layer that runs at one time in the order as it was and in the new one, with the bytes alive by ``live``; None where unknown."""

    before_name: str
    before_bytes: int | None
    after_name: str
    after_bytes: int | None


class Overwrite(NamedTuple):
    """A layer whose kernel may write its result over ``operand``, which dies there: the bytes that saves at that layer, and of the peak.

    ``peak_saved_bytes`` is what the peak under ``live`` would be smaller by if this kernel alone did so.
    """

    name: str
    operator: str
    operand: str
    saved_bytes: int
    peak_saved_bytes: int


@dataclass(frozen=True, slots=True)
class Ordered:
    """``peak_bytes`` is the peak under ``live`` of the best order that was found, ``before_bytes`` of the order as it was, and no order has
    one below ``bound_bytes``; ``is_least`` says that none is better.

    ``order`` names the layers as they run, ``moved`` those that run at another time.  ``profile`` has what is alive while each runs, a step
    a layer; its largest are the two peaks.  ``policies`` are the peaks by every memory policy before and after, None where one does not
    apply.  ``overwrites`` are the kernels that could run in place, in the order as it was.
    """

    tool: str
    source: str
    name: str
    before_bytes: int
    peak_bytes: int
    bound_bytes: int
    is_least: bool
    states: int
    order: tuple[str, ...]
    moved: tuple[Moved, ...]
    profile: tuple[OrderStep, ...]
    policies: Mapping[str, tuple[int | None, int | None]]
    overwrites: tuple[Overwrite, ...]
    notes: tuple[str, ...] = ()
    exported: Exported | None = None
    schema: int = SCHEMA

    def to_dict(self) -> dict[str, object]:
        """Plain dicts, lists, numbers and strings, as the JSON has them."""
        from weighbridge.report.json import plain

        lost: list[float] = []
        names = ("schema", "tool", "source", "name", "before_bytes", "peak_bytes", "bound_bytes", "is_least", "states")
        return {
            **{name: getattr(self, name) for name in names},
            "policies": {
                name: {"before_bytes": before, "after_bytes": after} for name, (before, after) in self.policies.items()
            },
            "order": list(self.order),
            "moved": plain(self.moved, lost),
            "profile": plain(self.profile, lost),
            "overwrites": plain(self.overwrites, lost),
            "notes": list(self.notes),
            "exported": None if self.exported is None else self.exported.to_dict(),
        }

    def to_json(self) -> str:
        """The JSON text, ending in a newline."""
        from weighbridge.report.json import layout

        return layout(self.to_dict())
