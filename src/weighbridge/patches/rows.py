"""Which rows of its operands each row of a node's result needs: what a stage that runs row by row follows from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.graph import Graph, Node
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.halo import Box, Needs, Span, whole
from weighbridge.operators.record import Op
from weighbridge.patches.maps import slots_of
from weighbridge.patches.part import Part, needed_by, part_of
from weighbridge.patches.stage import Stage

__all__ = ["MOST_ROWS", "ByRows", "NodeRows", "RowRules", "rows_in"]

MOST_ROWS: Final = 300_000
"""So many rows of all layers are followed one by one, which takes seconds."""


class NodeRows(NamedTuple):
    """A node of a stage by the rows of its results.

    ``made`` are for each row the rows that are made in one go: one, of most nodes.  ``read`` are for each row what is read of each
    operand that is computed, in the order of the operands.
    """

    node: Node
    made: Sequence[Span]
    read: Sequence[Mapping[str, Span]]


class _Rule(NamedTuple):
    """What each row needs: the parts of the operands, and the axis along which each is needed row by row, None of one that is not."""

    made: Sequence[Span]
    parts: Sequence[Mapping[str, Box]]
    axes: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class RowRules:
    """The rules of the nodes of one graph; each node is asked once, however many stages it is in."""

    graph: Graph
    operators: Mapping[str, Op]
    _known: dict[tuple[object, ...], _Rule] = field(default_factory=dict)

    def of(self, node: Node, axis: int | None, stage: Stage) -> _Rule:
        """The rule of a node whose results have their rows along ``axis``, or are there as a whole.  Raises ``BadSpec``."""
        key = node.name, axis, node is stage.last, node.name in stage.seeing_all
        if key not in self._known:
            self._known[key] = self._asked(node, axis, stage)
        return self._known[key]

    def _asked(self, node: Node, axis: int | None, stage: Stage) -> _Rule:
        shapes = {name: self.graph.tensors[name].shape or () for name in node.outputs}
        rows = 1 if axis is None else shapes[node.outputs[0]][axis]
        made, parts = [], []
        for row in range(rows):
            boxes = {name: _row(whole(shape), axis, row) for name, shape in shapes.items()}
            needed_by(self.graph, node, boxes, self.operators, stage)
            of_it = boxes[node.outputs[0]]
            made.append(Span(0, 1) if axis is None else of_it[axis])
            parts.append({name: box for name, box in boxes.items() if name not in shapes and name not in stage.static})
        # of a single row those behind it, outside the result, tell how what is needed moves on
        probes = (0, 0) if axis is None else (0, rows - 1) if rows > 1 else (1, 2)
        needs = []
        for row in probes:
            boxes = {name: _row(whole(shape), axis, row) for name, shape in shapes.items()}
            needs.append(needed_by(self.graph, node, boxes, self.operators, stage))
        return _Rule(made, parts, _axes(node, *needs))


def _row(box: Box, axis: int | None, row: int) -> Box:
    return box if axis is None else (*box[:axis], Span(row, row + 1), *box[axis + 1 :])


def _axes(node: Node, first: Needs, last: Needs) -> dict[str, int | None]:
    """Along which axis what is needed of each operand moves on with the rows.  Raises ``BadSpec`` where that is no single axis."""
    names = dict(slots_of(node))
    found: dict[str, int | None] = {}
    for slot, box in first.items():
        moving = [axis for axis, (one, other) in enumerate(zip(box, last[slot], strict=True)) if one != other]
        known = found.get(names[slot])
        if len(moving) > 1 or (moving and known is not None and known != moving[0]):
            raise _not_by_rows(node.name)
        found[names[slot]] = moving[0] if moving else known
    return found


class ByRows(NamedTuple):
    """The ``nodes`` of a stage by rows, in order; for each tensor that is computed or given the axis of its rows, None where it has none.

    ``part`` computes all of the stage's result, of just what of each tensor is needed for that.
    """

    nodes: tuple[NodeRows, ...]
    axes: Mapping[str, int | None]
    part: Part


def rows_in(stage: Stage, rules: RowRules) -> ByRows:
    """A stage by rows.

    Raises ``BadSpec`` for a node that does not run row by row, by its name, and for a stage of more rows than ``MOST_ROWS``.
    """
    result = whole(rules.graph.tensors[stage.output].shape or ())
    part = part_of(rules.graph, stage, result, rules.operators)
    needed = {name for name, box in part.boxes.items() if all(span.size for span in box)}
    axes: dict[str, int | None] = {stage.output: stage.axes[0]}
    found: list[tuple[Node, _Rule]] = []
    rows = 0
    for node in reversed(stage.nodes):
        wanted = [axes[name] for name in node.outputs if name in axes]
        if needed.isdisjoint(node.outputs):
            continue
        if len(set(wanted)) > 1:
            raise _not_by_rows(node.name)
        axes.update(dict.fromkeys(node.outputs, wanted[0]))  # all results of a node have their rows alike
        rows += 1 if wanted[0] is None else (rules.graph.tensors[node.outputs[0]].shape or ())[wanted[0]]
        if rows > MOST_ROWS:  # before each of them is asked for
            what = f"the layers have more than {MOST_ROWS:,} rows in all"
            raise BadSpec(what, where="last", hint="end the stage earlier")
        rule = rules.of(node, wanted[0], stage)
        for tensor, axis in rule.axes.items():
            if tensor in stage.static:
                continue
            if axis is not None and axes.get(tensor) not in (None, axis):
                raise _not_by_rows(node.name)
            axes[tensor] = axes.get(tensor) if axis is None else axis
        for tensor in rule.parts[0]:
            axes.setdefault(tensor, None)
        found.append((node, rule))
    nodes = (NodeRows(node, rule.made, list(_spans(rule, axes, needed))) for node, rule in reversed(found))
    return ByRows(tuple(nodes), axes, part)


def _spans(rule: _Rule, axes: Mapping[str, int | None], needed: Set[str]) -> Iterator[Mapping[str, Span]]:
    """The rows of each operand, of one that has none the whole as if it were a row."""
    for part in rule.parts:
        spans = {}
        for tensor, box in part.items():
            axis = axes[tensor]
            if tensor in needed and all(span.size for span in box):
                spans[tensor] = Span(0, 1) if axis is None else box[axis]
        yield spans


def _not_by_rows(name: str) -> BadSpec:
    return BadSpec(f"{name} does not run row by row", where=name, hint="end the stage before it")
