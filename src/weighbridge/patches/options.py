"""The stages and grids that a network can run in patches by, with what each leaves alive at least, before anyone looks closer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.memory.in_place import most, savings
from weighbridge.memory.lifetimes import lifetimes
from weighbridge.memory.plan import plan_of_values
from weighbridge.memory.records import IN_PLACE
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op
from weighbridge.patches.plan import Grid, input_bytes, peaks_in, planned
from weighbridge.patches.stage import Stage, running_in, stage_to, stages
from weighbridge.patches.walks import Walks

__all__ = ["Option", "Options", "behind_each"]


class Option(NamedTuple):
    """The stage up to ``last`` in patches of ``grid``, of any where it is None: no less than ``least_bytes`` is alive.

    Of several that are as good the one of the smallest ``order`` is taken.
    """

    least_bytes: int
    order: tuple[int, int, int]
    last: str
    grid: Grid | None = None


class Options:
    """Those of one network under one policy; ``reasons`` say of nodes that were looked at why they can end no stage.

    ``tried`` stages and grids were looked at.
    """

    def __init__(
        self,
        deployed: Graph,
        policy: str,
        operators: Mapping[str, Op],
        *,
        with_input: bool,
        last: str | None,
        grids: Sequence[Grid],
    ) -> None:
        self.tried = 0
        self.reasons: dict[str, BadSpec] = {}
        self.running = running_in(deployed, operators)
        self._deployed, self._policy, self._operators = deployed, policy, operators
        self._with_input, self._last, self._grids = with_input, last, grids
        self._walks = Walks(deployed, self.running, policy, operators)
        self._stages: dict[str, Stage] = {}
        self._macs: dict[tuple[str, Grid], int] = {}
        self._behind = behind_each(deployed, policy, operators)
        self._held = (input_bytes(deployed) or 0) if with_input else 0

    def ends(self) -> Iterator[Option]:
        """Every stage, or that which was asked for, with what is alive behind it, and of it the result and the input."""
        if self._last is not None:
            yield Option(0, (0, 0, 0), self._last)
            return
        for place, end in enumerate(stages(self._deployed, self._operators)):
            (output,) = self.running.nodes[self.running.places[end]].outputs
            behind = self._behind[end]
            least = max(behind, self._held + (self._deployed.tensors[output].bytes or 0))
            yield Option(least, (behind, place, 0), end)

    def grids_of(self, option: Option) -> Iterator[Option]:
        """Those of a stage, each with what is alive in a patch."""
        found = False
        try:
            stage = self._stage(option.last)
        except BadSpec as error:
            self.reasons[option.last] = error
            return
        for place, grid in enumerate(self._grids):
            self.tried += 1
            try:
                least = max(option.least_bytes, self._held + self._walks.least_bytes(stage, grid))
            except BadSpec as error:
                self.reasons.setdefault(option.last, error)
                continue
            found = True
            yield Option(least, (*option.order[:2], place), option.last, grid)
        if found:
            self.reasons.pop(option.last, None)

    def peak_bytes(self, option: Option) -> int | None:
        """What is alive at most; None where nobody knows, and where there are no such patches."""
        if option.grid is None:
            return None
        try:
            peaks = peaks_in(
                self._deployed, self._stage(option.last), option.grid, self._operators, known=self._walks.known
            )
        except BadSpec as error:
            self.reasons.setdefault(option.last, error)
            return None
        return peaks.peak_bytes(self._policy, with_input=self._with_input)

    def macs(self, option: Option) -> int:
        """The MACs of all patches.  Raises ``BadSpec`` as ``planned`` does."""
        return self.macs_again(option) + self._walks.macs_of(self._stage(option.last))

    def macs_again(self, option: Option) -> int:
        """Those less the ones of the stage in one piece; below 0 where that computes what nobody needs."""
        grid = self._grids[0] if option.grid is None else option.grid
        key = option.last, grid
        if key not in self._macs:
            found = self._walks.macs_again(self._stage(option.last), grid)
            if found is None:
                plan = planned(self._deployed, option.last, grid, self._operators)
                found = plan.clipped_macs - plan.stage_macs
            self._macs[key] = found
        return self._macs[key]

    def _stage(self, last: str) -> Stage:
        if last not in self._stages:
            self._stages[last] = stage_to(self._deployed, last, self._operators, self.running)
        return self._stages[last]


def behind_each(deployed: Graph, policy: str, operators: Mapping[str, Op]) -> Mapping[str, int]:
    """For each node that runs, what is alive at least behind a stage that ends with it, whose result is written over by nobody."""
    spans, plan = lifetimes(deployed, operators), plan_of_values(deployed, operators)
    profile, plain = plan.profile[policy], plan.profile[policy.removesuffix(IN_PLACE)]
    saved = savings(deployed, spans, operators) if policy.endswith(IN_PLACE) else None
    found, behind = {}, 0
    for place in range(len(spans.nodes) - 1, -1, -1):
        node = spans.nodes[place]
        storage = spans.storages.get(spans.storage_of.get(node.outputs[0], "")) if node.outputs else None
        kept = 0
        if saved is not None and storage is not None and storage.last > place and not spans.nodes[storage.last].bodies:
            kept = (plain[storage.last] or 0) - most(saved[storage.last], frozenset((storage.name,)))[0]
        found[node.name] = max(behind, kept)
        behind = max(behind, profile[place] or 0)
    return found
