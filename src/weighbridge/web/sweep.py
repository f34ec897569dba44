"""A network that runs step by step: what is alive at each under a policy, and the room that there is for it."""

from __future__ import annotations

from itertools import accumulate

from weighbridge.api import deployed_of
from weighbridge.devices.device import ACTIVATIONS
from weighbridge.errors import BadSpec
from weighbridge.estimates.needs import Need, Room, room
from weighbridge.memory import MemoryPlan, TensorSpan, plan, plan_of_values
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.static import runs, static_tensors
from weighbridge.web.boards import Budget
from weighbridge.web.networks import Networks

__all__ = ["Planned", "Step", "Sweep", "planned"]


class Step(NamedTuple):
    """A node that runs."""

    name: str
    operator: str


class Planned(NamedTuple):
    """A network in a batch and a width: the steps of its plan, and whether it has that batch."""

    steps: tuple[Step, ...]
    memory: MemoryPlan
    takes_batch: bool


def planned(networks: Networks, network: str, batch: int, bits: int, *, of_runtimes: bool) -> Planned:
    """The plan, under the policies of runtimes only where these are asked for: they take ten times as long as all others.

    Raises ``BadSpec`` at the network where it cannot be had, and where nothing in it runs.
    """
    found = networks.sized(network, batch)
    deployed = deployed_of(found.graph, bits, bits)
    static = static_tensors(deployed, OPERATORS)
    steps = tuple(Step(node.name, node.operator) for node in deployed.nodes if runs(node, static))
    if not steps:
        raise BadSpec("nothing in it runs", where="network", hint="choose another network")
    return Planned(steps, (plan if of_runtimes else plan_of_values)(deployed), found.takes_batch)


class Sweep(NamedTuple):
    """A network at one of its steps: ``place`` counts from 0."""

    steps: tuple[Step, ...]
    memory: MemoryPlan
    policy: str
    place: int
    budget: Budget

    @property
    def profile(self) -> tuple[int | None, ...]:
        return self.memory.profile[self.policy]

    @property
    def running(self) -> tuple[int | None, ...]:
        """The largest up to each step; None from the first unknown on."""
        return tuple(accumulate(self.profile, _larger))

    @property
    def alive(self) -> tuple[TensorSpan, ...]:
        """What ``live`` has in memory at this step."""
        return tuple(one for one in self.memory.tensors if one.first <= self.place <= one.last)

    def name(self, place: int) -> str:
        return self.steps[place].name

    def room_for(self, alive_bytes: int | None) -> Room:
        need = Need(ACTIVATIONS, alive_bytes, self.memory.exact and alive_bytes is not None, policy=self.policy)
        return room([need], self.budget.available_bytes)


def _larger(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)
