"""The first stage of a network row by row: of each map just the rows that are still to be read, in a ring, and no row computed twice.

Rows of a layer are kept between the rows of the next one, as in "Fused-Layer CNN Accelerators" (Alwani et al., MICRO 2016), and for
microcontrollers in "StreamNet: Memory-Efficient Streaming Tiny Deep Learning Inference on the Microcontroller" (Zheng et al., 2023).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from weighbridge.counts import count
from weighbridge.graph import Graph
from weighbridge.memory.profiles import largest
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.halo import Box, Span
from weighbridge.operators.record import known_total
from weighbridge.patches.plan import input_bytes, peaks_behind
from weighbridge.patches.rows import NodeRows, RowRules, rows_in
from weighbridge.patches.stage import Stage, stage_to

__all__ = ["Ring", "Run", "Streamed", "in_rows", "ran"]


class Ring(NamedTuple):
    """Of ``name`` so many rows are there at once, ``rows`` of ``all_rows``; a tensor without rows, as a mean of a map, is one row."""

    name: str
    rows: int
    all_rows: int
    bytes: int | None


class Streamed(NamedTuple):
    """The stage up to ``last`` row by row, and what comes behind it as it was; bytes by policy where they depend on one.

    Each row of the stage's result is asked for in turn, and asks for the rows that it needs and that are not there yet.  Each tensor
    between the input of the network and the result lies in a ring of its own, as large as need be so that no row is computed twice;
    nothing is written over an operand.  ``buffer_bytes`` is the result, which is held whole, and ``input_bytes`` the input, which is
    read where it lies.  ``peak_bytes`` is the larger of rings and buffer and of the rest; ``with_input_bytes`` the same where the input
    lies in the same memory while the stage runs.  ``macs`` are those of the stage: a row that nobody needs is not computed.
    """

    last: str
    nodes: tuple[str, ...]
    rings: tuple[Ring, ...]
    ring_bytes: int | None
    buffer_bytes: int | None
    input_bytes: int | None
    rest_bytes: Mapping[str, int | None]
    peak_bytes: Mapping[str, int | None]
    with_input_bytes: Mapping[str, int | None]
    macs: int


class Run(NamedTuple):
    """How a stage runs by rows: in turn a node by its place, and the rows of its results; the rows that each ring has to hold."""

    turns: tuple[tuple[int, Span], ...]
    held: Mapping[str, int]


def in_rows(
    deployed: Graph,
    last: str,
    rules: RowRules,
    rest: Mapping[str, int | None] | None = None,
) -> Streamed:
    """``deployed`` with the stage up to the node ``last`` row by row.

    ``rest`` is what ``peaks_behind`` says of the stage, where that is known.  Raises ``BadSpec`` for what no stage can end with, and
    for a node in it that does not run row by row.
    """
    stage = stage_to(deployed, last, rules.operators)
    nodes, axes, part = rows_in(stage, rules)
    turns, held = ran(nodes, stage)
    rings = tuple(_ring(deployed, name, part.boxes[name], axes[name], rows) for name, rows in held.items() if rows)
    ring_bytes = known_total(ring.bytes for ring in rings)
    buffer = deployed.tensors[stage.output].bytes
    given = input_bytes(deployed)
    behind = peaks_behind(deployed, stage, rules.operators) if rest is None else rest
    without, within = known_total((ring_bytes, buffer)), known_total((ring_bytes, buffer, given))
    return Streamed(
        last=last,
        nodes=tuple(node.name for node in stage.nodes),
        rings=rings,
        ring_bytes=ring_bytes,
        buffer_bytes=buffer,
        input_bytes=given,
        rest_bytes=behind,
        peak_bytes={policy: largest((without, size)) for policy, size in behind.items()},
        with_input_bytes={policy: largest((within, size)) for policy, size in behind.items()},
        macs=_macs(part.graph, nodes, turns, axes),
    )


def _ring(graph: Graph, name: str, box: Box, axis: int | None, rows: int) -> Ring:
    """So many rows of what is needed of a tensor."""
    sizes = [span.size for span in box]
    all_rows = 1 if axis is None else (graph.tensors[name].shape or ())[axis]
    if axis is not None:
        sizes[axis] = rows
    return Ring(name, rows, all_rows, replace(graph.tensors[name], shape=tuple(sizes), nonzeros=None).bytes)


def _macs(
    part: Graph, nodes: tuple[NodeRows, ...], turns: tuple[tuple[int, Span], ...], axes: Mapping[str, int | None]
) -> int:
    """Those of the rows that are computed; each row of a node takes as many."""
    computed = [0] * len(nodes)
    for place, span in turns:
        computed[place] += span.size
    by_name = {one.name: one.macs or 0 for one in count(part, part).nodes}
    found = 0
    for rows, (node, _, _) in zip(computed, nodes, strict=True):
        name = node.outputs[0]
        axis = axes.get(name)
        of_part = 1 if axis is None or name not in part.tensors else (part.tensors[name].shape or ())[axis]
        found += by_name.get(node.name, 0) * rows // of_part if of_part else 0
    return found


@dataclass(slots=True)
class _Tensor:
    """What happens to a tensor: the rows that are made, how many there are after each turn, and from which row on it is read."""

    rows: list[int] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)
    reads: list[tuple[int, int]] = field(default_factory=list)

    def held(self) -> int:
        """The most rows from the oldest that is still to be read to the newest; what nobody reads is there while it is made."""
        most, reads, oldest = 0, list(self.reads), self.rows[-1] + 1 if self.rows else 0
        befores = [0, *(length for _, length in self.ends)]
        for (turn, length), before in zip(reversed(self.ends), reversed(befores[:-1]), strict=True):
            while reads and reads[-1][0] >= turn:
                oldest = min(oldest, reads.pop()[1])
            most = max(most, length - min(before, bisect_left(self.rows, oldest, 0, length)))
        return most


def ran(nodes: tuple[NodeRows, ...], stage: Stage) -> Run:
    """The stage row by row: a node makes its next row as soon as the one behind it asks, which is once all that it reads is there."""
    maker = {name: place for place, one in enumerate(nodes) for name in one.node.outputs}
    wanted = [list(one) for one in _wanted(nodes, maker, maker[stage.output])]
    tensors: dict[str, _Tensor] = {name: _Tensor() for name in maker}
    turns: list[tuple[int, Span]] = []
    for place, row in _in_turn(nodes, wanted, maker, maker[stage.output]):
        made = nodes[place].made[row]
        for name, span in nodes[place].read[row].items():
            if name in tensors:
                tensors[name].reads.append((len(turns), span.start))
        for name in nodes[place].node.outputs:
            tensors[name].rows.extend(range(*made))
            tensors[name].ends.append((len(turns), len(tensors[name].rows)))
        turns.append((place, made))
    return Run(tuple(turns), {name: one.held() for name, one in tensors.items() if name != stage.output})


def _wanted(nodes: tuple[NodeRows, ...], maker: Mapping[str, int], last: int) -> Iterator[Iterator[int]]:
    """Of each node the rows that somebody needs, of several that are made in one go the first."""
    needed = [bytearray(len(one.made)) for one in nodes]
    needed[last] = bytearray(b"\1" * len(nodes[last].made))
    for place in range(len(nodes) - 1, -1, -1):
        for row, is_needed in enumerate(needed[place]):
            if not is_needed:
                continue
            made = nodes[place].made[row]
            needed[place][made.start : made.stop] = bytes(made.size)
            needed[place][made.start] = 1
            for name, (start, stop) in nodes[place].read[row].items():
                if name in maker:
                    needed[maker[name]][start:stop] = b"\1" * (stop - start)
    for one in needed:
        yield (row for row, is_needed in enumerate(one) if is_needed)


def _in_turn(
    nodes: tuple[NodeRows, ...], wanted: list[list[int]], maker: Mapping[str, int], last: int
) -> Iterator[tuple[int, int]]:
    """The nodes and their rows, each after all that it reads, which is asked for operand by operand."""
    done = [0] * len(nodes)
    asked = [last]
    while done[last] < len(wanted[last]):
        place = asked[-1]
        row = wanted[place][done[place]]
        missing = None
        for name, span in nodes[place].read[row].items():
            of = maker.get(name)
            if of is not None and done[of] < len(wanted[of]) and wanted[of][done[of]] < span.stop:
                missing = of
                break
        if missing is not None:
            asked.append(missing)
            continue
        yield place, row
        done[place] += 1
        if len(asked) > 1:
            asked.pop()
