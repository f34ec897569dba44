"""What the stages of a network need at least in patches, and compute again: each followed back as far as where another has been.

Behind a layer whose result is all that is alive, every stage goes on as the one that ends there: what is known of that is not looked
at again, so that the work grows with the number of layers and not with its square.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from weighbridge.counts import count
from weighbridge.errors import BadSpec, GraphError
from weighbridge.graph import Graph, Node
from weighbridge.memory.records import IN_PLACE
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.halo import Box, Span, whole
from weighbridge.operators.record import Op
from weighbridge.passes.rewrite import call_of
from weighbridge.patches.part import Answer, Known, around, holds
from weighbridge.patches.plan import Grid, splits
from weighbridge.patches.stage import Running, Stage

__all__ = ["Walks"]

_BY_THE_INPUT = frozenset({"conv_transpose"})
"""Operators that take MACs for each element of the operand, and not of the result."""

_State = tuple[str, Box]
"""A result that is all that is alive before the nodes behind it, and the part of it that they need."""


class _Visit(NamedTuple):
    """A node by its place: what is alive around it, and the elements that its MACs go by; what it leaves, where that is a state."""

    place: int
    alive: int
    elements: int
    state: _State | None


class _Walk(NamedTuple):
    """``elements`` by place of the nodes that were looked at, ``alive`` the most around any, and the known state where it ends."""

    elements: Mapping[int, int]
    alive: int
    state: _State | None


class _Known(NamedTuple):
    """What comes before a state: its own walk to the next one, the most alive in all, and the MACs of all.

    ``macs`` is None where they are no whole number for each element, and ``error`` why nothing can be told.
    """

    walk: _Walk
    alive: int
    macs: int | None
    error: BadSpec | None = None


class Walks:
    """The walks of one network under one policy."""

    def __init__(self, deployed: Graph, running: Running, policy: str, operators: Mapping[str, Op]) -> None:
        self.known = Known()
        self._graph, self._running, self._operators = deployed, running, operators
        self._live, self._in_place = policy.startswith("live"), policy.endswith(IN_PLACE)
        self._macs = {one.name: one.macs or 0 for one in count(deployed, deployed).nodes}
        self._maker = {name: place for place, node in enumerate(running.nodes) for name in node.outputs}
        self._apart = {node.name for node in running.nodes if _is_apart(node, deployed, operators)}
        self._views = {name for node in running.nodes if _is_view(node, operators) for name in node.outputs}
        self._before: dict[_State, _Known] = {}
        self._learned: set[str] = set()
        self._of_stage: dict[str, int] = {}
        self._every = [self._elements_of(node) for node in running.nodes]

    def least_bytes(self, stage: Stage, grid: Grid) -> int:
        """What is alive at least while the stage runs in patches, the input not in it: around any node of one patch in the middle.

        It is never more than ``peaks_in`` has.  Raises ``BadSpec`` as ``planned`` does.
        """
        down, across = self._splits(stage, grid)
        buffer = self._graph.tensors[stage.output].bytes or 0
        whole_box = whole(self._graph.tensors[stage.output].shape or ())
        box = _with(whole_box, stage.axes[0], down[len(down) // 2])
        walk = self._walk(stage, _with(box, stage.axes[1], across[len(across) // 2]))
        if stage.output in self._views:
            return buffer  # what it is a view of is written into the buffer
        return buffer + max(walk.alive, self._known_of(walk).alive)

    def macs_again(self, stage: Stage, grid: Grid) -> int | None:
        """The MACs of all patches less those of the stage in one piece; below 0 where the stage computes what nobody needs.

        What a patch computes of a map is so many rows times so many columns, so that all patches compute the sum of the rows times the
        sum of the columns.  None where patches come together at a layer without needing all that the stage needs of it; raises
        ``BadSpec`` as ``planned`` does.
        """
        all_of_it = whole(self._graph.tensors[stage.output].shape or ())
        along = [
            [self._walk(stage, _with(all_of_it, axis, span), counts=False) for span in spans]
            for axis, spans in zip(stage.axes, self._splits(stage, grid), strict=True)
        ]
        ends = [0 if walk.state is None else self._maker[walk.state[0]] + 1 for walks in along for walk in walks]
        once, passed, last = self._needed(self._walk(stage, all_of_it, counts=False), min(ends))
        if any(walk.state is not None and walk.state not in passed for walks in along for walk in walks):
            return None
        before = 0 if last is None else self._before[last].macs
        if before is None:
            return None
        more = before * grid.patches - self.macs_of(stage)
        for place, elements in once.items():
            if elements:
                rows, columns = (sum(self._at(walk, place, elements) for walk in walks) for walks in along)
                more += (
                    self._macs.get(self._running.nodes[place].name, 0)
                    * (rows * columns // elements)
                    // self._every[place]
                )
        return more

    def macs_of(self, stage: Stage) -> int:
        """Those of a stage in one piece."""
        if stage.output not in self._of_stage:
            self._of_stage[stage.output] = sum(self._macs.get(node.name, 0) for node in stage.nodes)
        return self._of_stage[stage.output]

    def _at(self, walk: _Walk, place: int, needed: int) -> int:
        """The elements of a node in a walk, beyond its end as many as the stage needs."""
        beyond = walk.state is not None and place <= self._maker[walk.state[0]]
        return needed if beyond else walk.elements.get(place, 0)

    def _needed(self, walk: _Walk, first: int) -> tuple[dict[int, int], set[_State], _State | None]:
        """Of the stage in one piece the elements of its nodes from ``first`` on, the states that it passes, and the last of them."""
        once, passed = dict(walk.elements), set()
        state = walk.state
        while state is not None:
            passed.add(state)
            if self._maker[state[0]] < first:
                break
            found = self._before[state].walk
            once.update(found.elements)
            state = found.state
        return once, passed, state

    def _splits(self, stage: Stage, grid: Grid) -> tuple[list[Span], list[Span]]:
        shape = self._graph.tensors[stage.output].shape or ()
        rows, columns = stage.axes
        return splits(shape[rows], shape[columns], grid)

    def _known_of(self, walk: _Walk) -> _Known:
        return _Known(_Walk({}, 0, None), 0, 0) if walk.state is None else self._before[walk.state]

    def _walk(self, stage: Stage, box: Box, *, counts: bool = True) -> _Walk:
        """From the end of a stage as far as a state that is known, which all are that the stage in one piece passes.

        Without ``counts`` nobody asks what is alive.  Raises what is known of the state.
        """
        if stage.output not in self._learned:
            self._learned.add(stage.output)
            self._learn(stage, whole(self._graph.tensors[stage.output].shape or ()))
        elements, most = {}, 0
        for visit in self._visits(stage, self._maker[stage.output], {stage.output: box}, counts=counts):
            elements[visit.place] = visit.elements
            most = max(most, visit.alive)
            if visit.state is not None and visit.state in self._before:
                error = self._before[visit.state].error
                if error is not None:
                    raise error
                return _Walk(elements, most, visit.state)
        return _Walk(elements, most, None)

    def _learn(self, stage: Stage, box: Box) -> None:
        """All states that the stage in one piece passes, the last ones first."""
        new: list[tuple[_State, _Walk]] = []
        at: _State | None = None
        elements: dict[int, int] = {}
        most, error = 0, None
        end: _State | None = None
        try:
            for visit in self._visits(stage, self._maker[stage.output], {stage.output: box}):
                elements[visit.place] = visit.elements
                most = max(most, visit.alive)
                if visit.state is None:
                    continue
                if at is not None:
                    new.append((at, _Walk(elements, most, visit.state)))
                at, elements, most = visit.state, {}, 0
                if at in self._before:
                    end = at
                    break
        except BadSpec as found:
            error = found
        if end is None and at is not None:
            new.append((at, _Walk(elements, most, None)))
        for state, walk in reversed(new):
            before = self._known_of(walk)
            why = error if walk.state is None else before.error
            self._before[state] = _Known(walk, max(walk.alive, before.alive), self._macs_of(walk, before), why)

    def _macs_of(self, walk: _Walk, before: _Known) -> int | None:
        """Of the elements of a walk and of all before it."""
        found = before.macs
        for place, elements in walk.elements.items():
            macs, rest = divmod(self._macs.get(self._running.nodes[place].name, 0) * elements, self._every[place])
            if found is None or rest:
                return None
            found += macs
        return found

    def _elements_of(self, node: Node) -> int:
        """All elements that the MACs of a node go by."""
        name = dict(node.operands).get("x", "") if node.operator in _BY_THE_INPUT else ""
        return self._graph.tensors[name or node.outputs[0]].elements or 1 if node.outputs else 1

    def _visits(self, stage: Stage, place: int, needed: dict[str, Box], *, counts: bool = True) -> Iterator[_Visit]:
        """Back from the node at ``place``, through all that the part that is ``needed`` of its results needs."""
        sizes: dict[str, int] = {}
        nodes, elsewhere, alive = self._running.nodes, place, 0
        while place >= 0 and needed:
            node = nodes[place]
            asked = tuple([needed.pop(name, None) for name in node.outputs])
            if any(holds(box) for box in asked):
                answer = self._answer(node, asked, stage)
                self._reads(node, answer, needed)
                if counts:
                    made = 0 if place == elsewhere else sum(map(self._size, node.outputs, answer.made))
                    alive = self._alive(node, made, needed, sizes)
                yield _Visit(place, alive, self._counted(node, answer), _state(needed))
            place -= 1

    def _answer(self, node: Node, asked: tuple[Box | None, ...], stage: Stage) -> Answer:
        return self.known.answer(self._graph, node, asked, self._operators, stage)

    def _reads(self, node: Node, answer: Answer, needed: dict[str, Box]) -> None:
        """What is ``needed`` grows by what a node reads of what others make."""
        for (_, name), there in zip(node.operands, answer.reads, strict=True):
            if there is not None and name in self._maker:
                before = needed.get(name)
                needed[name] = there if before is None else around(before, there)

    def _alive(self, node: Node, made: int, needed: Mapping[str, Box], sizes: dict[str, int]) -> int:
        """What is alive at a node that makes so many bytes; ``sizes`` of all that is needed behind it become those of before it."""
        later = set(sizes).difference(node.outputs)
        for name in node.outputs:
            sizes.pop(name, None)
        read = set(node.inputs)
        sizes.update({name: self._size(name, box) for name, box in needed.items() if name in read})
        dying = max((size for name, size in sizes.items() if name in read and name not in later), default=0)
        alive = made + sum(size for name, size in sizes.items() if self._live or name in read)
        return alive - (min(made, dying) if self._in_place and node.name not in self._apart else 0)

    def _size(self, name: str, box: Box) -> int:
        """The bytes of a part; none of a view, which lies in its operand."""
        if name in self._views:
            return 0
        return self._graph.tensors[name].dtype.bytes_of(_elements(box)) or 0

    def _counted(self, node: Node, answer: Answer) -> int:
        if node.operator in _BY_THE_INPUT:
            box = next((box for (name, _), box in zip(node.operands, answer.reads, strict=True) if name == "x"), None)
            return 0 if box is None else _elements(box)
        return _elements(answer.made[0])


def _is_view(node: Node, operators: Mapping[str, Op]) -> bool:
    op = operators.get(node.operator)
    return op is not None and op.view_of is not None


def _is_apart(node: Node, graph: Graph, operators: Mapping[str, Op]) -> bool:
    """Whether no part of what a node makes is written over an operand: of a convolution over more than one channel at a time."""
    op = operators.get(node.operator)
    if op is None or op.may_overwrite is None:
        return True
    if node.operator != "conv":
        return False  # it depends on the sizes of the part
    try:
        call = call_of(node, graph)
    except GraphError:
        return False
    kinds = [(name, graph.tensors[tensor].type) for name, tensor in node.operands]
    return all(kind is not None and op.may_overwrite(call, name, kind) is None for name, kind in kinds)


def _state(needed: Mapping[str, Box]) -> _State | None:
    return next(iter(needed.items())) if len(needed) == 1 else None


def _elements(box: Box) -> int:
    return prod([stop - start for start, stop in box])


def _with(box: Box, axis: int, span: Span) -> Box:
    return (*box[:axis], span, *box[axis + 1 :])
