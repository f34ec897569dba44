"""What is alive at each node of a network whose first stage runs in patches, beside what is alive there without them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from weighbridge.graph import Graph
from weighbridge.memory.lifetimes import lifetimes
from weighbridge.memory.profiles import largest
from weighbridge.memory.records import MemoryPlan
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op, known_total

__all__ = ["Alive", "Profile", "Step", "profile_of", "steps_of", "worst_of"]

Profile = Mapping[str, Mapping[str, int | None]]
"""By policy what is alive at each node, by its name."""


class Step(NamedTuple):
    """A node that runs, and what is alive at it by policy: in one piece, and with the stage in patches.

    Within the stage that is the most of all patches at this node, and the result that they fill; the input of the network is not in
    it.
    """

    name: str
    operator: str
    in_stage: bool
    before_bytes: Mapping[str, int | None]
    after_bytes: Mapping[str, int | None]


class Alive(NamedTuple):
    """A node that runs, and what is alive at it: without patches, and with the first stage in patches; None where a size is unknown."""

    name: str
    operator: str
    in_stage: bool
    before_bytes: int | None
    after_bytes: int | None


def steps_of(
    deployed: Graph,
    profiles: tuple[Profile, Profile, Profile],
    buffer_bytes: int | None,
    operators: Mapping[str, Op],
) -> Iterator[Step]:
    """Every node that runs, in order.

    ``profiles`` are those of the network in one piece, of the patches and of what runs behind the stage; ``buffer_bytes`` is what all
    patches fill.
    """
    whole, patches, rest = profiles
    for node in lifetimes(deployed, operators).nodes:
        in_stage = all(node.name not in profile for profile in rest.values())
        before = {policy: whole[policy][node.name] for policy in rest}
        # of what lies outside the maps no patch needs anything: nothing but the result is there
        after = (
            {policy: known_total((patches[policy].get(node.name, 0), buffer_bytes)) for policy in rest}
            if in_stage
            else {policy: rest[policy][node.name] for policy in rest}
        )
        yield Step(node.name, node.operator, in_stage, before, after)


def profile_of(graph: Graph, plan: MemoryPlan, policies: Iterable[str], operators: Mapping[str, Op]) -> Profile:
    """The profiles of a plan by the names of the nodes that run."""
    names = [node.name for node in lifetimes(graph, operators).nodes]
    return {policy: dict(zip(names, plan.profile[policy], strict=True)) for policy in policies}


def worst_of(profiles: Sequence[Profile]) -> Profile:
    """The most that is alive at each node in any of several graphs."""
    found: dict[str, dict[str, int | None]] = {}
    for profile in profiles:
        for policy, sizes in profile.items():
            known = found.setdefault(policy, {})
            for name, size in sizes.items():
                known[name] = largest((known.get(name, 0), size))
    return found
