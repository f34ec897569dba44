"""The patches of a stage as they lie on the inputs of a network: which part each reads, and how many read each part."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from weighbridge.errors import printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.halo import Box, Span
from weighbridge.patches.plan import Grid, PatchPlan
from weighbridge.units import exact

__all__ = ["Counted", "PatchMap", "counted", "from_to", "patch_maps", "place_of"]

_NAME: Final = 60
_NOTHING: Final = (Span(0, 0), Span(0, 0))


class Counted(NamedTuple):
    """``times[i][j]`` patches read what lies from ``rows[i]`` to ``rows[i + 1]`` and from ``columns[j]`` to ``columns[j + 1]``."""

    rows: Sequence[int]
    columns: Sequence[int]
    times: Sequence[Sequence[int]]

    def most(self, rows: Span, columns: Span) -> int:
        """The most patches that read a place of a part that is not empty."""
        down, across = _touched(self.rows, rows), _touched(self.columns, columns)
        return max(max(line[across.start : across.stop]) for line in self.times[down.start : down.stop])

    @property
    def places(self) -> Mapping[int, int]:
        """How many places are read by so many patches."""
        found: Counter[int] = Counter()
        for top, bottom, line in zip(self.rows, self.rows[1:], self.times, strict=False):
            for left, right, times in zip(self.columns, self.columns[1:], line, strict=False):
                found[times] += (bottom - top) * (right - left)
        return dict(sorted(found.items()))


class PatchMap(NamedTuple):
    """An input of ``rows`` x ``columns`` places and of every patch the rows and the columns that it reads, the first row of the grid first.

    ``lines`` are the rows at which the patches of each row of the grid begin, and the columns likewise, as they would without halos.
    ``largest`` is the place of the patch in which most is alive, None where that is not known.
    """

    name: str
    shape: tuple[int, ...]
    rows: int
    columns: int
    grid: Grid
    boxes: tuple[tuple[Span, Span], ...]
    lines: tuple[tuple[int, ...], tuple[int, ...]]
    largest: int | None

    @property
    def title(self) -> str:
        """What it is a map of."""
        rows, columns = self.grid
        sizes = "x".join(map(str, self.shape))
        return f"{self.name} {sizes} under {exact(rows)} x {exact(columns)} patches: how many read each part"

    @property
    def said(self) -> str:
        """How much is read once, and how much more often."""
        places, whole = counted(self).places, self.rows * self.columns
        shares = [f"{size / whole:.1%} {{}}by {_patches(times)}" for times, size in places.items()]
        parts = [one.format("" if place else "are read ") for place, one in enumerate(shares)]
        read = sum(times * size for times, size in places.items())
        return (
            f"of {exact(self.rows)} x {exact(self.columns)} places {', '.join(parts)}; "
            f"all patches together read {read / whole:.2f} times as many places as there are"
        )


def _patches(times: int) -> str:
    return "none" if not times else "one patch" if times == 1 else exact(times)


def place_of(place: int, grid: Grid) -> str:
    """A patch by its row and its column from 1 on, ``2,3``."""
    return f"{place // grid.columns + 1},{place % grid.columns + 1}"


def from_to(span: Span) -> str:
    """The first and the last, ``40 to 115``, from 0 on."""
    return f"{exact(span.start)} to {exact(span.stop - 1)}" if span.size else "nothing"


def patch_maps(plan: PatchPlan, policy: str) -> Iterator[PatchMap]:
    """A map of each input of which the patches read different parts."""
    sizes = [one.peak_bytes[policy] for one in plan.patches]
    known = [size for size in sizes if size is not None]
    largest = sizes.index(max(known)) if known else None
    for name, shape in plan.input_shapes.items():
        boxes = [_read(one.inputs.get(name)) for one in plan.patches]
        axes = _axes(boxes, plan.grid, len(shape))
        if axes is None:
            continue
        rows, columns = (shape[axis] for axis in axes)
        yield PatchMap(
            printable(name, _NAME),
            shape,
            rows,
            columns,
            plan.grid,
            tuple(_NOTHING if box is None else (box[axes[0]], box[axes[1]]) for box in boxes),
            (
                _lines([one.rows for one in plan.patches[:: plan.grid.columns]], rows),
                _lines([one.columns for one in plan.patches[: plan.grid.columns]], columns),
            ),
            largest,
        )


def _read(box: Box | None) -> Box | None:
    """A box that has something in it; one of padding alone has nothing."""
    return None if box is None or any(span.size <= 0 for span in box) else box


def _axes(boxes: Sequence[Box | None], grid: Grid, rank: int) -> tuple[int, int] | None:
    """Which axes are the rows and the columns: those along which patches below each other differ, and beside each other.

    Where all read the same along one of the two it lies beside the other: rows stand before columns.
    """
    down = _varying([boxes[place :: grid.columns] for place in range(grid.columns)], rank)
    across = _varying([boxes[place : place + grid.columns] for place in range(0, len(boxes), grid.columns)], rank)
    if down is None and across is None:
        return None
    if down is None:
        assert across is not None
        down = across - 1 if across > 1 or rank == 2 else across + 1
    elif across is None:
        across = down + 1 if down + 1 < rank else down - 1
    return (down, across) if down != across else None


def _varying(lines: Sequence[Sequence[Box | None]], rank: int) -> int | None:
    """The first axis along which the boxes of one line differ."""
    for axis in range(rank):
        if any(len({box[axis] for box in line if box is not None}) > 1 for line in lines):
            return axis
    return None


def _lines(spans: Sequence[Span], size: int) -> tuple[int, ...]:
    """Where parts of a result begin, on an input of ``size``."""
    whole = spans[-1].stop
    return tuple(one.start * size // whole for one in spans)


def counted(drawn: PatchMap) -> Counted:
    """How many patches read each part."""
    rows = sorted({0, drawn.rows, *(end for one, _ in drawn.boxes for end in one)})
    columns = sorted({0, drawn.columns, *(end for _, one in drawn.boxes for end in one)})
    change = [[0] * len(columns) for _ in rows]
    for down, across in drawn.boxes:
        top, bottom = bisect_left(rows, down.start), bisect_left(rows, down.stop)
        left, right = bisect_left(columns, across.start), bisect_left(columns, across.stop)
        for row, by in ((top, 1), (bottom, -1)):
            change[row][left] += by
            change[row][right] -= by
    across_rows = [list(accumulate(line)) for line in change]
    times = [list(line) for line in zip(*(accumulate(line) for line in zip(*across_rows, strict=True)), strict=True)]
    return Counted(rows, columns, [line[:-1] for line in times[:-1]])


def _touched(edges: Sequence[int], span: Span) -> range:
    """Which of the parts between ``edges`` have something of ``span``."""
    return range(bisect_right(edges, span.start) - 1, bisect_left(edges, span.stop))
