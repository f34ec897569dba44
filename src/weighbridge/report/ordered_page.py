"""An order of execution for people: what it saves, what bounds it, which layers move, and which kernels could run in place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from weighbridge.errors import printable
from weighbridge.report.alive_lines import alive_lines
from weighbridge.report.alive_map import AliveMap, Curve, Level
from weighbridge.report.exported import exported_sentences
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.ordered import Moved, Ordered
from weighbridge.report.page import Table
from weighbridge.report.spans import Line, text_of
from weighbridge.report.terminal import Look
from weighbridge.report.told import Told, lines_of, markdown_of
from weighbridge.units import binary_bytes, exact, significant

__all__ = ["alive", "grids", "lines", "markdown", "said", "sentences", "subtitle", "table", "text", "title"]

_UNKNOWN: Final = "?"
_NAME: Final = 60
_LONG_NAME: Final = 200
"""Where names stand in a table of their own: those of one file begin alike."""
_ROWS: Final = 30


def lines(found: Ordered, look: Look, *, all_rows: bool = False) -> Iterator[Line]:
    """The page as lines of spans."""
    return lines_of(_told(found, all_rows), look)


def text(found: Ordered, look: Look) -> str:
    """The page as plain text, with every row."""
    return text_of(lines(found, look, all_rows=True))


def markdown(found: Ordered) -> str:
    """The page as Markdown, with every row."""
    return markdown_of(_told(found, all_rows=True))


def _told(found: Ordered, all_rows: bool) -> Told:
    return Told(
        title(found),
        subtitle(found),
        (),
        sentences(found),
        grids(found, all_rows=all_rows),
        said(found),
        found.tool,
        drawings=(partial(alive_lines, alive(found)),) if found.profile else (),
    )


def title(found: Ordered) -> str:
    """The network."""
    return f"the order of {printable(found.name, _NAME)}"


def subtitle(found: Ordered) -> str:
    """By which rule memory is counted."""
    return f"{exact(len(found.order))} layers; peak memory by the policy live"


def sentences(found: Ordered) -> Iterator[str]:
    """What the order saves, whether there is a better one, and what kernels in place would save."""
    if found.peak_bytes < found.before_bytes:
        yield (
            f"peak {_bytes(found.peak_bytes)} in place of {_bytes(found.before_bytes)}, "
            f"{significant(found.before_bytes / found.peak_bytes)} times less: {exact(len(found.moved))} layers run at another time"
        )
    else:
        yield f"the order as it is has a peak of {_bytes(found.before_bytes)}: no other one was found that has less"
    if found.is_least:
        yield "no order has a smaller peak"
    else:
        yield f"no order has a peak below {_bytes(found.bound_bytes)}; between that and this one nobody has looked"
    best = max(found.overwrites, key=lambda one: one.peak_saved_bytes, default=None)
    if best is not None and best.peak_saved_bytes:
        yield f"{printable(best.name, _NAME)} in place would take {exact(best.peak_saved_bytes)} B off the peak of the order as it is"
    if found.exported is not None:
        yield from exported_sentences(found.exported)


def alive(found: Ordered) -> AliveMap:
    """What is alive while each layer runs, as it is and, where layers move, reordered; the bound is a level."""
    names = [printable(step.before_name, _LONG_NAME) for step in found.profile]
    curves = [Curve("as it is", names, [step.before_bytes for step in found.profile], _places(found.moved, "before"))]
    if found.moved:
        names = [printable(step.after_name, _LONG_NAME) for step in found.profile]
        after = [step.after_bytes for step in found.profile]
        curves.append(Curve("reordered", names, after, _places(found.moved, "after")))
    return AliveMap(
        "bytes alive while each layer runs, by the policy live",
        tuple(curves),
        (Level("which no order goes below", found.bound_bytes),),
        "layers that run at another time",
    )


def _places(moved: Iterable[Moved], when: str) -> frozenset[int]:
    return frozenset(getattr(one, when) for one in moved)


def grids(found: Ordered, *, all_rows: bool = False) -> Iterator[Grid]:
    """The peaks by policy, the layers that move, and the kernels that could run in place."""
    yield _policies(found)
    if found.moved:
        yield _moved(found, all_rows)
    if found.overwrites:
        yield _overwrites(found, all_rows)


def _policies(found: Ordered) -> Grid:
    columns = (Column("policy"), Column("as it is", is_number=True), Column("reordered", is_number=True))
    rows = tuple(
        GridRow((policy, _short(before), _short(after)))
        for policy, (before, after) in found.policies.items()
        if before is not None or after is not None
    )
    note = "the order is the best by live; what a runtime packs into one arena may come out otherwise"
    return Grid("peak memory in bytes", columns, rows, (note,))


def _moved(found: Ordered, all_rows: bool) -> Grid:
    columns = (
        Column("layer"),
        Column("operator", rank=1),
        Column("runs as", is_number=True),
        Column("ran as", is_number=True),
    )
    shown = found.moved if all_rows else found.moved[:_ROWS]
    rows = tuple(
        GridRow((printable(one.name, _NAME), one.operator, exact(one.after + 1), exact(one.before + 1)))
        for one in shown
    )
    return Grid("layers that run at another time", columns, rows, _more(len(found.moved) - len(shown)))


def _overwrites(found: Ordered, all_rows: bool) -> Grid:
    columns = (
        Column("layer"),
        Column("operator", rank=1),
        Column("over", rank=2),
        Column("saves there", is_number=True),
        Column("of the peak", is_number=True),
    )
    ranked = sorted(found.overwrites, key=lambda one: (-one.peak_saved_bytes, -one.saved_bytes))
    shown = ranked if all_rows else ranked[:_ROWS]
    rows = tuple(
        GridRow(
            (
                printable(one.name, _NAME),
                one.operator,
                printable(one.operand, _NAME),
                exact(one.saved_bytes),
                exact(one.peak_saved_bytes),
            )
        )
        for one in shown
    )
    note = "bytes; of the peak by live of the order as it is, where this kernel alone writes over its operand"
    return Grid("kernels that could run in place, one by one", columns, rows, (note, *_more(len(ranked) - len(shown))))


def _more(count: int) -> tuple[str, ...]:
    return (f"{exact(count)} more; --all shows them",) if count > 0 else ()


def table(found: Ordered) -> Table:
    """A row a layer in the order in which it runs, for formats that are computed on."""
    return Table(("place", "layer"), tuple(enumerate(found.order)))


def said(found: Ordered) -> list[str]:
    """The notes."""
    return [printable(note, 600) for note in found.notes]


def _bytes(size: int) -> str:
    return f"{exact(size)} B ({binary_bytes(size)})" if size >= 1000 else f"{exact(size)} B"


def _short(size: int | None) -> str:
    return _UNKNOWN if size is None else exact(size)
