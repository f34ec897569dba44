"""The graph that computes one part of a stage's result: its tensors are the boxes that are needed, its windows pad what is left to pad."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import Final

from weighbridge.errors import BadSpec, GraphError
from weighbridge.graph import Graph, Node, Role, Tensor
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.halo import Box, Needs, Slot, Span, whole
from weighbridge.operators.record import Op
from weighbridge.passes.rewrite import call_of
from weighbridge.patches.maps import slots_of
from weighbridge.patches.stage import Stage

__all__ = ["Answer", "Known", "Part", "around", "boxes_of", "holds", "needed_by", "part_of"]

_MOST_KNOWN: Final = 100_000
"""So many answers of nodes are kept, some tens of megabytes."""


class Part(NamedTuple):
    """``graph`` computes ``boxes[output]`` of the stage's output, of the boxes of all tensors that are needed for that."""

    graph: Graph
    boxes: Mapping[str, Box]


class _Cut(NamedTuple):
    """The part of each of its results that a node makes, what it needs for that as its windows have it, and what of it there is."""

    made: tuple[Box, ...]
    needed: Needs
    there: Needs


class Answer(NamedTuple):
    """What a node makes and needs, and by the place of each operand the box of it that is there, None of one that is stored."""

    cut: _Cut
    reads: tuple[Box | None, ...]

    @property
    def made(self) -> tuple[Box, ...]:
        return self.cut.made


class Known:
    """What the nodes of one graph answered, for whoever asks about many parts of many stages of it: most questions come again.

    Nodes of one kind, alike in all that rules see, answer alike: networks repeat themselves.
    """

    def __init__(self) -> None:
        self._answers: dict[object, Answer] = {}
        self._kinds: dict[str, object] = {}
        self._alike: dict[object, object] = {}

    def answer(
        self,
        graph: Graph,
        node: Node,
        asked: tuple[Box | None, ...],
        operators: Mapping[str, Op],
        stage: Stage,
        *,
        clipped: bool = True,
    ) -> Answer:
        """What a node needs for the boxes of its results.  Raises ``BadSpec`` as ``part_of`` does."""
        kind = self._kinds.get(node.name)
        if kind is None:
            kind = self._kinds[node.name] = self._kind(graph, node, stage)
        key = kind, asked, clipped, node is stage.last
        found = self._answers.get(key)
        if found is None:
            if len(self._answers) >= _MOST_KNOWN:
                self._answers.clear()
            own = {name: box for name, box in zip(node.outputs, asked, strict=True) if box is not None}
            cut = _cut(graph, node, own, operators, stage, clipped=clipped)
            found = Answer(cut, tuple(cut.there.get(slot) for slot, _ in slots_of(node)))
            self._answers[key] = found
        return found

    def _kind(self, graph: Graph, node: Node, stage: Stage) -> object:
        """A number for all nodes of one kind, or the name of one whose attributes cannot be compared."""
        types = tuple((graph.tensors[one].type, one in stage.static) for one in (*node.inputs, *node.outputs))
        key = node.operator, tuple(name for name, _ in node.operands), len(node.outputs), types
        try:
            whole_key = *key, frozenset(node.attributes.items()), node.name in stage.seeing_all
            return self._alike.setdefault(whole_key, len(self._alike))
        except TypeError:
            return node.name


def part_of(
    graph: Graph,
    stage: Stage,
    box: Box,
    operators: Mapping[str, Op],
    *,
    clipped: bool = True,
    known: Known | None = None,
) -> Part:
    """The part of ``stage`` that computes ``box`` of its output.

    With ``clipped`` halos end at the borders of the maps, where padding takes their place, so that the part computes what the whole
    does; without it they go on beyond, as if every patch lay in the middle: what a runtime computes that makes no difference.
    Of a tensor that several nodes need different boxes of, the smallest box around them is computed, and each reads its own where it
    lies.  The input of the network is of role ``state``, as a variable that lies elsewhere: it is not held by the part.  ``known`` has
    what was answered of the same graph before.

    Raises ``BadSpec`` for a node that has to see everything, by its name.
    """
    boxes, cuts = _needed(graph, stage, box, operators, clipped=clipped, known=known)
    return Part(_graph(graph, stage, boxes, cuts, operators), boxes)


def boxes_of(
    graph: Graph, stage: Stage, box: Box, operators: Mapping[str, Op], known: Known | None = None
) -> Mapping[str, Box]:
    """The boxes of all tensors that ``box`` of the stage's output needs.  Raises ``BadSpec`` as ``part_of`` does.

    Along each axis they follow from the box along that axis alone, as windows are rectangles.
    """
    return _needed(graph, stage, box, operators, clipped=True, known=known)[0]


def needed_by(graph: Graph, node: Node, boxes: dict[str, Box], operators: Mapping[str, Op], stage: Stage) -> Needs:
    """What one node of a stage needs, as its windows have it, for the ``boxes`` of its results, which grow by what of that there is.

    Raises ``BadSpec`` as ``part_of`` does.
    """
    return _cut(graph, node, boxes, operators, stage, clipped=True).needed


def _needed(
    graph: Graph, stage: Stage, box: Box, operators: Mapping[str, Op], *, clipped: bool, known: Known | None
) -> tuple[dict[str, Box], dict[str, _Cut]]:
    boxes: dict[str, Box] = {stage.output: box}
    cuts: dict[str, _Cut] = {}
    known = Known() if known is None else known
    for node in reversed(stage.nodes):
        if not any(holds(boxes.get(one)) for one in node.outputs):
            continue
        asked = tuple([boxes.get(one) for one in node.outputs])
        found = known.answer(graph, node, asked, operators, stage, clipped=clipped)
        boxes.update(zip(node.outputs, found.cut.made, strict=True))
        for (_, tensor), there in zip(node.operands, found.reads, strict=True):
            if there is not None:
                before = boxes.get(tensor)
                boxes[tensor] = there if before is None else around(before, there)
        cuts[node.name] = found.cut
    return boxes, cuts


def around(one: Box, other: Box) -> Box:
    """The smallest box around both."""
    return one if one == other else tuple(map(Span.around, one, other))


def holds(box: Box | None) -> bool:
    """Whether a tensor is needed, and more of it than a border's width outside it."""
    return box is not None and all(span.size for span in box)


def _cut(
    graph: Graph, node: Node, boxes: dict[str, Box], operators: Mapping[str, Op], stage: Stage, *, clipped: bool
) -> _Cut:
    """What a node needs; ``boxes`` grow by it."""
    made, needed = _ruled(graph, node, boxes, operators, stage)
    boxes.update(zip(node.outputs, made, strict=True))
    there = {}
    for slot, tensor in slots_of(node):
        if slot not in needed and tensor in stage.static:
            continue
        shape = graph.tensors[tensor].shape or ()
        want = needed.get(slot, whole(shape))
        have = tuple(span.within(size) for span, size in zip(want, shape, strict=True))
        there[slot] = have if clipped else want
        known = boxes.get(tensor)
        boxes[tensor] = there[slot] if known is None else tuple(map(Span.around, known, there[slot]))
    return _Cut(made, needed, there)


def _ruled(
    graph: Graph, node: Node, boxes: Mapping[str, Box], operators: Mapping[str, Op], stage: Stage
) -> tuple[tuple[Box, ...], Needs]:
    """What a node makes of its results, and what it needs for that.  Raises ``BadSpec`` for one that has to see everything."""
    op = operators.get(node.operator)
    rule = None if op is None else op.halo_rule
    if op is None or rule is None:
        what = f"there is no rule for what {node.name} ({node.operator}) needs for a part of its result"
        raise BadSpec(what, where=node.name, hint="end the stage before it")
    made = None if node.name in stage.seeing_all else _made(graph, node, boxes)
    if made is not None:
        try:
            call = call_of(node, graph)
            if len(made) == 1:
                made = (op.grain(call, made[0]),)
            needed = rule(call, made[0])
        except GraphError:
            needed = None
        if needed is not None:
            if node is stage.last and made[0] != boxes[stage.output]:
                what = f"{node.name} ({node.operator}) makes its result in blocks, which this grid cuts"
                raise BadSpec(
                    what, where="grid", hint="choose a grid whose patches are whole blocks, or end the stage before it"
                )
            return made, needed
    what = f"{node.name} ({node.operator}) needs all of its input for a part of its result"
    raise BadSpec(what, where=node.name, hint="end the stage before it")


def _made(graph: Graph, node: Node, boxes: Mapping[str, Box]) -> tuple[Box, ...] | None:
    """The part that a node makes of each of its results: the smallest box around what is needed of any of them.

    Along an axis that they share out, as a split does, all of each; None where less than that is needed of one, or where they are not
    alike in their axes.
    """
    if len(node.outputs) == 1:
        return (boxes[node.outputs[0]],)
    shapes = [graph.tensors[one].shape or () for one in node.outputs]
    wanted = [(boxes[one], whole(shape)) for one, shape in zip(node.outputs, shapes, strict=True) if one in boxes]
    around: list[Span | None] = []
    if len({len(shape) for shape in shapes}) > 1:
        return None
    for axis, sizes in enumerate(zip(*shapes, strict=True)):
        spans = [box[axis] for box, _ in wanted if holds(box)]
        if len(set(sizes)) == 1:
            around.append(reduce(Span.around, spans))
        elif all(box[axis] == all_[axis] for box, all_ in wanted if holds(box)):
            around.append(None)
        else:
            return None
    return tuple(
        tuple(Span(0, size) if span is None else span for span, size in zip(around, shape, strict=True))
        for shape in shapes
    )


def _graph(
    graph: Graph, stage: Stage, boxes: Mapping[str, Box], cuts: Mapping[str, _Cut], operators: Mapping[str, Op]
) -> Graph:
    tensors = dict(_tensors(graph, stage, boxes))
    nodes: list[Node] = []
    for node in (node for node in stage.nodes if node.name in cuts):
        cut = cuts[node.name]
        operands: list[tuple[str, str]] = []
        for slot, tensor in slots_of(node):
            there = _there(graph, boxes, stage, tensor)
            own = cut.there.get(slot, there)
            if own != there:
                view = _view(tensor, node, slot, own, there)
                (name,) = view.outputs
                tensors[name] = replace(
                    tensors[tensor], id=name, shape=_sizes(own), role=Role.ACTIVATION, nonzeros=None
                )
                nodes.append(view)
                tensor = name  # noqa: PLW2901
            operands.append((slot[0], tensor))
        differs = operators[node.operator].parted(call_of(node, graph), cut.made[0], cut.needed, cut.there)
        nodes.append(replace(node, operands=tuple(operands), attributes={**node.attributes, **differs}))
    used = {tensor for node in nodes for tensor in (*node.inputs, *node.outputs)}
    return Graph(
        name=graph.name,
        tensors={name: tensor for name, tensor in tensors.items() if name in used},
        nodes=tuple(nodes),
        inputs=(),
        outputs=(stage.output,),
        blocks=graph.blocks,
    )


def _tensors(graph: Graph, stage: Stage, boxes: Mapping[str, Box]) -> Iterator[tuple[str, Tensor]]:
    """Those that are stored, and the others as large as their boxes."""
    made = {tensor for node in stage.nodes for tensor in node.outputs}
    for name, tensor in graph.tensors.items():
        if name in stage.static:
            yield name, tensor
        elif name in boxes:
            role = tensor.role if name in made and holds(boxes[name]) else Role.STATE
            yield name, replace(tensor, shape=_sizes(boxes[name]), role=role, nonzeros=None)


def _there(graph: Graph, boxes: Mapping[str, Box], stage: Stage, tensor: str) -> Box:
    """The box that a tensor is there of: all of one that is stored."""
    return whole(graph.tensors[tensor].shape or ()) if tensor in stage.static else boxes[tensor]


def _view(tensor: str, node: Node, slot: Slot, box: Box, there: Box) -> Node:
    name = f"{tensor}: part for {node.name}.{slot[0]}{slot[1] or ''}"
    starts = tuple(
        min(max(span.start - have.start, 0), have.size - span.size) for span, have in zip(box, there, strict=True)
    )
    return Node(name, "part", (("x", tensor),), (name,), {"starts": starts, "sizes": _sizes(box)}, node.scope)


def _sizes(box: Box) -> tuple[int, ...]:
    return tuple(span.size for span in box)
