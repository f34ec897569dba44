"""Peaks and profiles by policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from weighbridge.arena import ALIGNMENT_BYTES, Arena, kept_on_boards
from weighbridge.graph import Graph, Role, Tensor
from weighbridge.memory.arena import ESTIMATE, ArenaPeak, arena_peak
from weighbridge.memory.bricks import brick_profiles
from weighbridge.memory.eager import EAGER, WORKSPACE, eager_peak
from weighbridge.memory.held import is_layer
from weighbridge.memory.lifetimes import Lifetimes, lifetimes
from weighbridge.memory.profiles import Profiles, Size, largest, profiles_by_policy
from weighbridge.memory.records import ARENA, NHCWB16, MemoryPlan, TensorSpan
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op, known_total
from weighbridge.operators.table import OPERATORS

__all__ = ["plan", "plan_of_values"]

_NO_BLOCKS: Final = "the source does not say which modules are blocks"
_REPEATED: Final = "a block runs several times in a row, and where one call ends is not known"
_NO_LAYERS: Final = "there is no convolution and no linear layer"
_NO_RECORD: Final = "there is no record of a run in PyTorch"
_NAMED: Final = 3
"""So many tensors of unknown size are named in a note."""


class _Peak(NamedTuple):
    """The most that is alive, and the first node at which it is; None where a policy does not apply or a size is unknown."""

    bytes: Size = None
    elements: Size = None
    node: str | None = None


def plan(deployed: Graph, operators: Mapping[str, Op] = OPERATORS, *, scratch: str = "") -> MemoryPlan:
    """The memory plan of a graph as it runs, under every policy; ``eager`` is there where the graph has a record.

    ``scratch`` adds the working memory of kernels to ``arena_tflm``, and to no other policy: ``im2col`` is the unrolled input
    of each convolution that is neither depthwise nor pointwise (one tap, stride 1, no padding), over the whole batch.

    Linear in the size of the graph where few tensors are alive at once.  At a node with bodies, ``pair`` is the larger of the
    node's own inputs and outputs and the worst node in a body; ``live`` adds to what is alive outside the worst moment of a
    body, tensors that the body takes from outside not counted twice (for an ``if`` the node's outputs are those of the
    branch); blocks in bodies hold nothing more.  ``arena_tflm`` has a scope for each node in a body, and an output of an
    ``if`` beside that of the branch.
    """
    spans = lifetimes(deployed, operators)
    made = _of_values(deployed, spans, operators)
    arena = arena_peak(deployed, spans, operators, scratch)
    made = _with_arena(arena, _with_eager(deployed, spans, made))
    made = _with_bricks(deployed, spans, operators, made)
    return made if deployed.arena is None else _with_persistent(deployed.arena, made)


def plan_of_values(
    deployed: Graph, operators: Mapping[str, Op] = OPERATORS, *, elsewhere: Iterable[str] = ()
) -> MemoryPlan:
    """``plan`` under the policies that follow from values alone: ``pair``, ``live`` and ``held`` in all their forms.

    Those of a runtime (``eager``, ``arena_tflm``, ``nhcwb16_vela``), offsets and what a runtime keeps for itself are not in it.
    Results that are written ``elsewhere``, and what is a view of as many bytes with one, take no room and are written over nothing.
    """
    spans = lifetimes(deployed, operators)
    storages = dict(spans.storages)
    for tensor in elsewhere:
        owner = storages.get(spans.storage_of.get(tensor, ""))
        if owner is not None and owner.bytes == deployed.tensors[tensor].bytes:
            storages[owner.name] = owner._replace(bytes=0, elements=0)
    return _of_values(deployed, spans._replace(storages=storages), operators)


def _of_values(deployed: Graph, spans: Lifetimes, operators: Mapping[str, Op]) -> MemoryPlan:
    profiles = dict(profiles_by_policy(deployed, spans, operators))
    layers = [place for place, node in enumerate(spans.nodes) if is_layer(node, spans)]
    peaks = dict(_peaks(profiles, spans, layers))
    unknown = list(dict.fromkeys(_unknown(spans, operators)))
    notes = (_missing(unknown),) if unknown else ()
    return MemoryPlan(
        peak_bytes={policy: peak.bytes for policy, peak in peaks.items()},
        peak_elements={policy: peak.elements for policy, peak in peaks.items()},
        peak_node={policy: peak.node for policy, peak in peaks.items()},
        profile={policy: tuple(profile.bytes) for policy, profile in profiles.items() if profile is not None},
        tensors=tuple([TensorSpan(name, size, first, last) for name, size, _, first, last in spans.storages.values()]),
        variable_bytes=_variable_bytes(deployed),
        persistent_bytes=None,
        exact=not unknown,
        inapplicable=dict(_inapplicable(deployed, profiles, has_layers=bool(layers))),
        notes=notes,
    )


def _missing(unknown: Sequence[str]) -> str:
    """One sentence about all tensors of unknown size: a model without shapes has hundreds."""
    named = ", ".join(unknown[:_NAMED])
    if len(unknown) == 1:
        return f"the size of {named} is unknown, so memory figures that need it are missing"
    more = f" and {len(unknown) - _NAMED:,} more tensors" if len(unknown) > _NAMED else ""
    return f"the sizes of {named}{more} are unknown, so memory figures that need them are missing"


def _with_eager(graph: Graph, spans: Lifetimes, made: MemoryPlan) -> MemoryPlan:
    if not graph.allocations:
        return made._replace(inapplicable={**made.inapplicable, EAGER: _NO_RECORD})
    found = eager_peak(graph.allocations, [node.name for node in spans.nodes])
    return made._replace(
        peak_bytes={**made.peak_bytes, EAGER: found.bytes},
        peak_elements={**made.peak_elements, EAGER: None},
        peak_node={**made.peak_node, EAGER: found.node},
        profile=made.profile if found.profile is None else {**made.profile, EAGER: found.profile},
        notes=(*made.notes, WORKSPACE),
    )


def _with_arena(found: ArenaPeak | str, made: MemoryPlan) -> MemoryPlan:
    if isinstance(found, str):
        return made._replace(inapplicable={**made.inapplicable, ARENA: found})
    offsets = found.offsets
    return made._replace(
        peak_bytes={**made.peak_bytes, ARENA: found.plan.bytes},
        peak_elements={**made.peak_elements, ARENA: None},
        peak_node={**made.peak_node, ARENA: found.node},
        profile=made.profile if found.profile is None else {**made.profile, ARENA: found.profile},
        tensors=tuple(
            [TensorSpan(name, size, first, last, offsets.get(name)) for name, size, first, last, _ in made.tensors]
        ),
        arena=found.plan,
    )


def _with_bricks(graph: Graph, spans: Lifetimes, operators: Mapping[str, Op], made: MemoryPlan) -> MemoryPlan:
    found = brick_profiles(graph, spans, operators)
    if isinstance(found, str):
        return made._replace(inapplicable={**made.inapplicable, NHCWB16: found})
    peak = _peak(found, range(len(spans.nodes)), spans)
    return made._replace(
        peak_bytes={**made.peak_bytes, NHCWB16: peak.bytes},
        peak_elements={**made.peak_elements, NHCWB16: peak.elements},
        peak_node={**made.peak_node, NHCWB16: peak.node},
        profile={**made.profile, NHCWB16: tuple(found.bytes)},
    )


def _with_persistent(arena: Arena, made: MemoryPlan) -> MemoryPlan:
    found = kept_on_boards(arena.persistent)
    kept = None if found is None else found.total_bytes
    notes = made.notes if kept is None else (*made.notes, ESTIMATE)
    return made._replace(persistent=arena.persistent, persistent_bytes=kept, notes=notes)


def _variable_bytes(graph: Graph) -> int | None:
    """Of all variables; rounded up to whole places where a runtime keeps them in the arena."""
    step = 1 if graph.arena is None or graph.arena.reason else ALIGNMENT_BYTES
    sizes = [tensor.bytes for tensor in _variables(graph)]
    return known_total(None if size is None else -(-size // step) * step for size in sizes)


def _variables(graph: Graph) -> list[Tensor]:
    """The variables of a graph and of all bodies in it, each once."""
    found: dict[str, Tensor] = {}
    graphs = [graph]
    while graphs:
        current = graphs.pop()
        found.update((tensor.id, tensor) for tensor in current.tensors.values() if tensor.role is Role.STATE)
        graphs.extend(body.graph for node in current.nodes for body in node.bodies)
    return list(found.values())


def _peaks(
    profiles: Mapping[str, Profiles | None], spans: Lifetimes, layers: Sequence[int]
) -> Iterator[tuple[str, _Peak]]:
    """Of every profile, and of ``held`` at convolutions and linear layers alone, where there are any."""
    for policy, profile in profiles.items():
        yield policy, _peak(profile, range(len(spans.nodes)), spans)
        if policy.startswith("held"):
            yield _at_layers(policy), _peak(profile if layers else None, layers, spans)


def _inapplicable(
    graph: Graph, profiles: Mapping[str, Profiles | None], *, has_layers: bool
) -> Iterator[tuple[str, str]]:
    """The forms of ``held`` that there are no figures for, and why."""
    reason = _NO_BLOCKS if graph.blocks is None else _REPEATED
    for policy, profile in profiles.items():
        if profile is None:
            yield policy, reason
            yield _at_layers(policy), reason
        elif policy.startswith("held") and not has_layers:
            yield _at_layers(policy), _NO_LAYERS


def _at_layers(policy: str) -> str:
    """The name of a form of ``held`` that is looked at in convolutions and linear layers only."""
    return policy.replace("held", "held_contractions")


def _peak(profiles: Profiles | None, places: Sequence[int], spans: Lifetimes) -> _Peak:
    if profiles is None:
        return _Peak()
    sizes = [profiles.bytes[place] for place in places]
    peak = largest(sizes)
    node = None if peak is None or not sizes else spans.nodes[places[sizes.index(peak)]].name
    return _Peak(peak, largest([profiles.elements[place] for place in places]), node)


def _unknown(spans: Lifetimes, operators: Mapping[str, Op]) -> list[str]:
    """The storages whose size nobody knows, bodies included."""
    found = [storage.name for storage in spans.storages.values() if storage.bytes is None]
    for node in spans.nodes:
        for body in node.bodies:
            found.extend(_unknown(lifetimes(body.graph, operators, spans.static), operators))
    return found
