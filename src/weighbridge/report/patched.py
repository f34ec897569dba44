"""A network whose first stage runs patch by patch: what that saves, what it costs, and which boards have room for it then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import known_total
from weighbridge.patches.cheapest import Cheapest
from weighbridge.patches.plan import PatchPlan
from weighbridge.patches.search import Candidate
from weighbridge.patches.steps import Alive
from weighbridge.patches.streamed import Streamed

__all__ = ["Patched", "Room"]

SCHEMA: Final = 1


class Room(NamedTuple):
    """What a device has for activations, in one piece, and whether that is enough without patches, with them, and row by row.

    ``available_bytes`` are those of the memory ``region``, less the ``beside_bytes`` of what else lies there; None, and no verdict, where
    the device has none for activations.  A verdict is "fits", "does not fit", or "unknown" where it depends on an estimate of what lies
    there; ``short_bytes`` are missing with patches, 0 where it fits.  ``by_rows`` is None where nothing is told of the stage row by row.
    ``cheapest`` are the patches that have room and the fewest MACs done again; None where it fits in one piece, or where none have room.
    """

    device: str
    region: str | None
    available_bytes: int | None
    before: str | None
    after: str | None
    short_bytes: int | None
    by_rows: str | None = None
    cheapest: Cheapest | None = None
    beside_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Patched:
    """``plan`` is the best that was found, or the one that was asked for; None where no patches make the peak smaller.

    Bytes are by the memory policy ``policy``, without patches ``before_bytes``; ``with_input`` says whether the input of the network
    lies in the same memory while the stage runs.  ``tried`` are the stages and grids that were looked at, ``reasons`` why a node can
    end no stage, by its name.  ``best`` is the smallest peak of those that were tried where none helps.  ``streamed`` is the stage that
    was asked for, or the best one, row by row with no row computed twice; None where that makes the peak no smaller, or where the stage
    that was asked for does not run so.
    """

    tool: str
    source: str
    name: str
    policy: str
    with_input: bool
    before_bytes: int
    plan: PatchPlan | None
    tried: int
    reasons: Mapping[str, str]
    on: tuple[Room, ...] = ()
    notes: tuple[str, ...] = ()
    streamed: Streamed | None = None
    best: Candidate | None = None
    schema: int = SCHEMA

    @property
    def after_bytes(self) -> int | None:
        """The peak with patches; None without a plan, and where a size is unknown."""
        if self.plan is None:
            return None
        return (self.plan.with_input_bytes if self.with_input else self.plan.peak_bytes)[self.policy]

    @property
    def by_rows_bytes(self) -> int | None:
        """The peak with the stage row by row; None where nothing is told of that, and where a size is unknown."""
        if self.streamed is None:
            return None
        return (self.streamed.with_input_bytes if self.with_input else self.streamed.peak_bytes)[self.policy]

    @property
    def steps(self) -> tuple[Alive, ...]:
        """Every node that runs, in order, with what is alive at it under ``policy`` without patches and with them; () without a plan.

        While the stage runs the input of the network is in it where ``with_input`` says so.  The largest are ``before_bytes`` and
        ``after_bytes``.
        """
        if self.plan is None:
            return ()
        held = self.plan.input_bytes if self.with_input else 0
        return tuple(
            Alive(
                one.name,
                one.operator,
                one.in_stage,
                one.before_bytes[self.policy],
                known_total((one.after_bytes[self.policy], held if one.in_stage else 0)),
            )
            for one in self.plan.steps
        )

    def to_dict(self) -> dict[str, object]:
        """Plain dicts, lists, numbers and strings, as the JSON has them."""
        from weighbridge.report.json import plain

        lost: list[float] = []
        names = ("schema", "tool", "source", "name", "policy", "with_input", "before_bytes", "after_bytes")
        found: dict[str, object] = {name: getattr(self, name) for name in names}
        plan = plain(self.plan, lost)
        if plan is not None:
            del plan["steps"]  # they stand beside the plan, under the one policy
        return {
            **found,
            "plan": plan,
            "steps": plain(self.steps, lost),
            "streamed": plain(self.streamed, lost),
            "tried": self.tried,
            "best": plain(self.best, lost),
            "reasons": dict(self.reasons),
            "on": plain(self.on, lost),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """The JSON text, ending in a newline."""
        from weighbridge.report.json import layout

        return layout(self.to_dict())
