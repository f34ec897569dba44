"""What running the first stage patch by patch takes: memory under each policy, and the work that halos do twice.

After "MCUNetV2: Memory-Efficient Patch-based Inference for Tiny Deep Learning" (Lin et al., NeurIPS 2021).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Final

from weighbridge.counts import count
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.memory.plan import plan_of_values
from weighbridge.memory.profiles import largest
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.halo import Box, Span
from weighbridge.operators.record import Op, known_total
from weighbridge.operators.table import OPERATORS
from weighbridge.patches.part import Known, Part, boxes_of, part_of
from weighbridge.patches.stage import Stage, stage_to
from weighbridge.patches.steps import Profile, Step, profile_of, steps_of, worst_of

__all__ = [
    "MOST_PATCHES",
    "Grid",
    "Patch",
    "PatchPlan",
    "Peaks",
    "input_bytes",
    "inputs_of",
    "peaks_behind",
    "peaks_in",
    "planned",
    "splits",
]


MOST_PATCHES: Final = 10_000
"""Each patch is looked at by itself, which takes seconds for so many."""


class Grid(NamedTuple):
    """So many patches above each other, and side by side."""

    rows: int
    columns: int

    @property
    def patches(self) -> int:
        return self.rows * self.columns


class Patch(NamedTuple):
    """``rows`` and ``columns`` of the stage's output, and of each input of the network what has to be there for them; what it takes."""

    rows: Span
    columns: Span
    inputs: Mapping[str, Box]
    macs: int
    peak_bytes: Mapping[str, int | None]


class PatchPlan(NamedTuple):
    """The stage up to ``last`` in patches, and what comes behind it as it was; bytes by policy.

    The peak of a patch has in it what lies between the network's input and the stage's output: not the input, which a patch reads
    where it lies (in flash, in a camera), and not the output, ``buffer_bytes``, which all patches together fill.  ``peak_bytes`` is
    the larger of the patches with that buffer and of the rest; ``with_input_bytes`` the same where ``input_bytes``, all inputs that the
    network reads, in the stage or behind it, lie in the same memory while the stage runs.  ``before_bytes`` is the peak without patches,
    the inputs in it.  ``input_shapes`` are those of the inputs that the stage reads, whole.

    ``stage_macs`` are those of the stage in one piece, ``clipped_macs`` those of all patches with halos that end at the borders of
    the maps, ``full_macs`` with halos that do not, but for patches with a node that sees all of a map; ``network_macs`` are None where
    not every node of the network is counted.
    ``steps`` say of every node that runs what is alive at it; the largest are ``before_bytes`` and ``peak_bytes``.
    """

    last: str
    nodes: tuple[str, ...]
    grid: Grid
    patches: tuple[Patch, ...]
    patch_bytes: Mapping[str, int | None]
    buffer_bytes: int | None
    input_bytes: int | None
    input_shapes: Mapping[str, tuple[int, ...]]
    rest_bytes: Mapping[str, int | None]
    peak_bytes: Mapping[str, int | None]
    with_input_bytes: Mapping[str, int | None]
    before_bytes: Mapping[str, int | None]
    stage_macs: int
    clipped_macs: int
    full_macs: int
    network_macs: int | None
    steps: tuple[Step, ...]


class Peaks(NamedTuple):
    """Bytes by policy of the patches of a stage, the buffer that they fill, the input of the network, and what runs behind the stage."""

    patch_bytes: Mapping[str, int | None]
    buffer_bytes: int | None
    input_bytes: int | None
    rest_bytes: Mapping[str, int | None]

    def stage_bytes(self, policy: str, *, with_input: bool = False) -> int | None:
        """The most that is alive while the stage runs."""
        return known_total((self.patch_bytes[policy], self.buffer_bytes, self.input_bytes if with_input else 0))

    def peak_bytes(self, policy: str, *, with_input: bool = False) -> int | None:
        """The most that is alive."""
        return largest((self.stage_bytes(policy, with_input=with_input), self.rest_bytes[policy]))


def peaks_in(
    deployed: Graph,
    stage: Stage,
    grid: Grid,
    operators: Mapping[str, Op] = OPERATORS,
    rest: Mapping[str, int | None] | None = None,
    known: Known | None = None,
) -> Peaks:
    """The peaks that ``planned`` has, of the patches alone that no other is larger than in every tensor.

    ``rest`` is what ``peaks_behind`` says of the stage, where that is known already, as from another grid; ``known`` has what was
    answered of the same graph before.

    Raises ``BadSpec`` as ``planned`` does.
    """
    shape = deployed.tensors[stage.output].shape or ()
    rows, columns = stage.axes
    down, across = splits(shape[rows], shape[columns], grid)
    decisive: list[list[Span]] = []
    for axis, spans in ((rows, down), (columns, across)):
        sizes = {}
        for span in spans:
            box = tuple(span if place == axis else Span(0, size) for place, size in enumerate(shape))
            boxes = boxes_of(deployed, stage, box, operators, known)
            sizes[span] = {name: tuple(one.size for one in box) for name, box in boxes.items()}
        decisive.append(_largest(sizes))
    of_patches = []
    for box in _boxes(deployed, stage, *decisive).values():
        graph = part_of(deployed, stage, box, operators, known=known).graph
        of_patches.append(_of_values(plan_of_values(graph, operators, elsewhere=(stage.output,)).peak_bytes))
    return Peaks(
        {policy: largest([one[policy] for one in of_patches]) for policy in of_patches[0]},
        deployed.tensors[stage.output].bytes,
        input_bytes(deployed),
        peaks_behind(deployed, stage, operators) if rest is None else rest,
    )


def _largest(sizes: Mapping[Span, Mapping[str, tuple[int, ...]]]) -> list[Span]:
    """The spans that no other one needs as much or more than in every tensor, one of those that are alike."""
    found: list[Span] = []
    for span, own in sizes.items():
        if not any(_covers(sizes[one], own) for one in found):
            found = [one for one in found if not _covers(own, sizes[one])]
            found.append(span)
    return found


def _covers(one: Mapping[str, tuple[int, ...]], other: Mapping[str, tuple[int, ...]]) -> bool:
    return all(name in one and all(map(int.__ge__, one[name], size)) for name, size in other.items())


def planned(deployed: Graph, last: str, grid: Grid, operators: Mapping[str, Op] = OPERATORS) -> PatchPlan:
    """The plan of ``deployed`` with the stage up to the node ``last`` in patches of ``grid``, whose sizes differ by one at most.

    Raises ``BadSpec`` for what no stage can end with, a node in it that needs all of its input, and a grid finer than the map.
    """
    stage = stage_to(deployed, last, operators)
    peaks = peaks_in(deployed, stage, grid, operators)
    shape = deployed.tensors[stage.output].shape or ()
    rows, columns = (shape[axis] for axis in stage.axes)
    whole, facts = plan_of_values(deployed, operators), count(deployed, deployed)
    patches, full, inner = _patches(deployed, stage, splits(rows, columns, grid), operators)
    behind = _behind(deployed, stage)
    inside = {node.name for node in stage.nodes}
    policies = tuple(peaks.patch_bytes)
    profiles = (
        profile_of(deployed, whole, policies, operators),
        inner,
        profile_of(behind, plan_of_values(behind, operators), policies, operators),
    )
    return PatchPlan(
        last=last,
        nodes=tuple(node.name for node in stage.nodes),
        grid=grid,
        patches=patches,
        patch_bytes=peaks.patch_bytes,
        buffer_bytes=peaks.buffer_bytes,
        input_bytes=peaks.input_bytes,
        input_shapes={name: deployed.tensors[name].shape or () for name in inputs_of(deployed, stage)},
        rest_bytes=peaks.rest_bytes,
        peak_bytes={policy: peaks.peak_bytes(policy) for policy in policies},
        with_input_bytes={policy: peaks.peak_bytes(policy, with_input=True) for policy in policies},
        before_bytes={policy: whole.peak_bytes[policy] for policy in policies},
        stage_macs=sum(one.macs or 0 for one in facts.nodes if one.name in inside),
        clipped_macs=sum(one.macs for one in patches),
        full_macs=full,
        network_macs=facts.macs if facts.exact else None,
        steps=tuple(steps_of(deployed, profiles, peaks.buffer_bytes, operators)),
    )


def _patches(
    deployed: Graph, stage: Stage, spans: tuple[Sequence[Span], Sequence[Span]], operators: Mapping[str, Op]
) -> tuple[tuple[Patch, ...], int, Profile]:
    """All patches, the MACs of all with halos that go on beyond the borders, and the most alive at each node.

    What is alike is looked at once.
    """
    patches, full, profiles = [], 0, []
    given = inputs_of(deployed, stage)
    known: dict[object, tuple[int, int, Mapping[str, int | None]]] = {}
    for place, box in _boxes(deployed, stage, *spans).items():
        part = part_of(deployed, stage, box, operators)
        key = _alike(part)
        if key not in known:
            beyond = (_beyond(deployed, stage, box, operators) or part).graph
            made = plan_of_values(part.graph, operators, elsewhere=(stage.output,))
            peaks = _of_values(made.peak_bytes)
            profiles.append(profile_of(part.graph, made, peaks, operators))
            known[key] = count(part.graph, part.graph).macs, count(beyond, beyond).macs, peaks
        macs, beyond_macs, peaks = known[key]
        inputs = {name: _on(deployed, name, part.boxes[name]) for name in given if name in part.boxes}
        patches.append(Patch(*place, inputs, macs, peaks))
        full += beyond_macs
    return tuple(patches), full, worst_of(profiles)


def _beyond(deployed: Graph, stage: Stage, box: Box, operators: Mapping[str, Op]) -> Part | None:
    """The part with halos that go on beyond the borders; None where a node of it sees all of a map, of which there is no beyond."""
    try:
        return part_of(deployed, stage, box, operators, clipped=False)
    except BadSpec:
        return None


def _on(graph: Graph, name: str, box: Box) -> Box:
    """A box of a tensor, of which a span of nothing may lie outside: at the nearer border then."""
    shape = graph.tensors[name].shape or ()
    pairs = zip(box, shape, strict=True)
    return tuple(Span(min(max(span.start, 0), size), min(max(span.stop, 0), size)) for span, size in pairs)


def _alike(part: Part) -> object:
    """What two parts have in common that compute as much of tensors as large: those in the middle of a map are all alike."""
    sizes = tuple(tensor.shape for tensor in part.graph.tensors.values())
    return sizes, tuple(node.attributes.get("padding") for node in part.graph.nodes)


def _boxes(graph: Graph, stage: Stage, down: Iterable[Span], across: Iterable[Span]) -> Mapping[tuple[Span, Span], Box]:
    """By rows and columns of each patch its box of the stage's output."""
    shape = graph.tensors[stage.output].shape or ()
    found = {}
    for pair in product(down, across):
        where = dict(zip(stage.axes, pair, strict=True))
        found[pair] = tuple(where.get(axis, Span(0, size)) for axis, size in enumerate(shape))
    return found


def splits(rows: int, columns: int, grid: Grid) -> tuple[list[Span], list[Span]]:
    """The rows and the columns of the patches, whose numbers differ by one at most.

    Raises ``BadSpec`` for a grid finer than the map, or of more patches than ``MOST_PATCHES``.
    """
    if not (1 <= grid.rows <= rows and 1 <= grid.columns <= columns):
        what = f"{grid.rows} x {grid.columns} patches of a map of {rows} x {columns}"
        raise BadSpec(what, where="grid", hint="a patch has at least one row and one column of the result of the stage")
    if grid.patches > MOST_PATCHES:
        what = f"{grid.rows} x {grid.columns} patches are more than {MOST_PATCHES:,}"
        raise BadSpec(what, where="grid", hint="choose a coarser grid")
    return _spans(rows, grid.rows), _spans(columns, grid.columns)


def _spans(size: int, parts: int) -> list[Span]:
    return [Span(place * size // parts, (place + 1) * size // parts) for place in range(parts)]


def inputs_of(graph: Graph, stage: Stage) -> tuple[str, ...]:
    """The inputs of the network that the stage reads."""
    read = {tensor for node in stage.nodes for tensor in node.inputs}
    return tuple(one for one in graph.inputs if one in read)


def input_bytes(graph: Graph) -> int | None:
    """The bytes of all inputs that anything reads, the stage or what runs behind it: all are there from the beginning."""
    read = {tensor for node in graph.nodes for tensor in node.inputs}
    return known_total(graph.tensors[one].bytes for one in graph.inputs if one in read)


def peaks_behind(graph: Graph, stage: Stage, operators: Mapping[str, Op]) -> Mapping[str, int | None]:
    """The peaks of what runs behind the stage, which begins with its output."""
    return _of_values(plan_of_values(_behind(graph, stage), operators).peak_bytes)


def _behind(graph: Graph, stage: Stage) -> Graph:
    """What runs behind the stage."""
    inside = {node.name for node in stage.nodes}
    nodes = tuple(node for node in graph.nodes if node.name not in inside)
    left = {tensor for node in stage.nodes for tensor in node.outputs} - {stage.output}
    tensors = {name: tensor for name, tensor in graph.tensors.items() if name not in left}
    inputs = (*(one for one in graph.inputs if one not in inputs_of(graph, stage)), stage.output)
    return Graph(graph.name, tensors, nodes, inputs, graph.outputs, blocks=graph.blocks)


def _of_values(peaks: Mapping[str, int | None]) -> Mapping[str, int | None]:
    """The policies that say what is alive of a patch as of a network."""
    return {name: size for name, size in peaks.items() if name.startswith(("pair", "live"))}
