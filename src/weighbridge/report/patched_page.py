"""Patches for people: what they save and what they cost, every policy in a table, and the patches as they lie on the image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from weighbridge.errors import printable
from weighbridge.operators.record import known_total
from weighbridge.patches.cheapest import Cheapest
from weighbridge.patches.maps import NO_MAPS
from weighbridge.patches.plan import Grid as PatchGrid
from weighbridge.patches.plan import PatchPlan
from weighbridge.report.alive_lines import alive_lines
from weighbridge.report.alive_map import AliveMap, Curve, Level, alive_grid
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.page import Table
from weighbridge.report.patch_lines import patch_lines
from weighbridge.report.patch_map import PatchMap, from_to, patch_maps, place_of
from weighbridge.report.patched import Patched, Room
from weighbridge.report.spans import Line, text_of
from weighbridge.report.streamed_page import by_rows, rings
from weighbridge.report.terminal import Look
from weighbridge.report.told import Drawing, Told, lines_of, markdown_of
from weighbridge.units import binary_bytes, exact, significant

__all__ = [
    "alive",
    "details",
    "grids",
    "lines",
    "maps",
    "markdown",
    "said",
    "sentences",
    "subtitle",
    "table",
    "text",
    "title",
]

_UNKNOWN: Final = "?"
_NAME: Final = 60
_LONG_NAME: Final = 200
"""Where names stand in a table of their own, as those of one file begin alike, and of a layer that may be typed behind --last."""
_MAY_FIT: Final = "unknown"


def lines(found: Patched, look: Look, *, all_rows: bool = False) -> Iterator[Line]:
    """The page as lines of spans."""
    return lines_of(_told(found, all_rows), look)


def text(found: Patched, look: Look) -> str:
    """The page as plain text, with every row."""
    return text_of(lines(found, look, all_rows=True))


def markdown(found: Patched) -> str:
    """The page as Markdown, with every row."""
    return markdown_of(_told(found, all_rows=True))


def _told(found: Patched, all_rows: bool) -> Told:
    return Told(
        title(found),
        subtitle(found),
        (),
        sentences(found),
        grids(found, all_rows=all_rows),
        said(found),
        found.tool,
        drawings=tuple(_drawings(found)),
    )


def _drawings(found: Patched) -> Iterator[Drawing]:
    if found.steps:
        yield partial(alive_lines, alive(found))
    for drawn in maps(found):
        yield partial(patch_lines, drawn)


def alive(found: Patched) -> AliveMap:
    """What is alive while each layer runs, in one piece and in patches; what devices have are levels, and the stage is marked."""
    names = [printable(one.name, _LONG_NAME) for one in found.steps]
    stage = frozenset(place for place, one in enumerate(found.steps) if one.in_stage)
    curves = (
        Curve("in one piece", names, [one.before_bytes for one in found.steps], stage),
        Curve("in patches", names, [one.after_bytes for one in found.steps], stage),
    )
    levels = tuple(
        Level(
            f"{'left in ' if one.beside_bytes else ''}{_region(one)} of {printable(one.device, _NAME)}",
            one.available_bytes,
        )
        for one in found.on
        if one.available_bytes is not None
    )
    title = f"bytes alive while each layer runs, by the policy {found.policy}"
    return AliveMap(title, curves, levels, "the stage, which runs patch by patch")


def maps(found: Patched) -> tuple[PatchMap, ...]:
    """The patches as they lie on each input of the network."""
    return () if found.plan is None else tuple(patch_maps(found.plan, found.policy))


def title(found: Patched) -> str:
    """The network."""
    return f"{printable(found.name, _NAME)} in patches"


def subtitle(found: Patched) -> str:
    """By which rule memory is counted."""
    given = "the input in the same memory" if found.with_input else "the input read where it lies"
    return f"peak memory by the policy {found.policy}, {given}"


def table(found: Patched) -> Table:
    """A row a patch with raw values, for formats that are computed on."""
    plan = found.plan
    columns = ("row", "column", "first_row", "rows", "first_column", "columns", "macs", f"{found.policy}_bytes")
    patches = () if plan is None else plan.patches
    across = 1 if plan is None else plan.grid.columns
    return Table(
        columns,
        tuple(
            (
                place // across,
                place % across,
                one.rows.start,
                one.rows.size,
                one.columns.start,
                one.columns.size,
                one.macs,
                one.peak_bytes[found.policy],
            )
            for place, one in enumerate(patches)
        ),
    )


def sentences(found: Patched) -> Iterator[str]:
    """What patches come to, and for each device whether it has room then."""
    plan, after = found.plan, found.after_bytes
    if plan is None:
        yield f"no patches make the peak of {_bytes(found.before_bytes)} smaller: {_tried(found)}"
    elif after is None:
        yield "what patches come to is unknown, as the sizes of some tensors are"
    else:
        yield _outcome(found.before_bytes, after, _what(plan))
        yield from _limit(plan, found.policy, with_input=found.with_input)
        yield _work(plan)
    if found.streamed is not None and found.by_rows_bytes is not None:
        yield by_rows(found.streamed, found.before_bytes, found.by_rows_bytes)
    for one in found.on:
        if one.available_bytes is None:
            yield f"{printable(one.device, _NAME)}: it has no memory for activations"
            continue
        beside = f" beside the {exact(one.beside_bytes)} B of what else lies there" if one.beside_bytes else ""
        room = f"{exact(one.available_bytes)} B {'left in' if one.beside_bytes else 'of'} {_region(one)}{beside}"
        with_patches = "" if one.after is None else f", in patches {_fits(one.after)}"
        short = f" by {exact(one.short_bytes)} B" if one.short_bytes and one.after != _MAY_FIT else ""
        rows = "" if one.by_rows is None else f", row by row {_fits(one.by_rows)}"
        yield f"{printable(one.device, _NAME)}, {room}: in one piece {_fits(one.before)}{with_patches}{short}{rows}"
        if one.cheapest is not None and (
            plan is None or (one.cheapest.last, one.cheapest.grid) != (plan.last, plan.grid)
        ):
            yield _with_least_work(one.cheapest)


def _region(room: Room) -> str:
    return printable(room.region or "", _NAME)


def _fits(verdict: str | None) -> str:
    return "it may fit" if verdict in (None, _MAY_FIT) else f"it {verdict}"


def _with_least_work(found: Cheapest) -> str:
    (rows, columns), last = found.grid, printable(found.last, _LONG_NAME)
    work = f"{exact(found.macs_more)} MACs done again, {_bytes(found.peak_bytes)}"
    return f"with the least work that fits there: {rows} x {columns} patches up to {last}, {work}"


def _outcome(before: int, after: int, what: str) -> str:
    if after < before:
        return f"peak {_bytes(after)} in place of {_bytes(before)}, {significant(before / after)} times less: {what}"
    if after == before:
        return f"the peak stays at {_bytes(before)}: {what}, do not help"
    return f"the peak rises by {exact(after - before)} B from {_bytes(before)} to {_bytes(after)}: {what}, do not help"


def _limit(plan: PatchPlan, policy: str, *, with_input: bool) -> Iterator[str]:
    """Whether the peak is that of the stage or lies behind it, and what it is made of; nothing where a size is unknown."""
    parts = {
        "in the largest patch": plan.patch_bytes[policy],
        "for the result that all patches fill": plan.buffer_bytes,
        "for the input": plan.input_bytes if with_input else 0,
    }
    rest, stage = plan.rest_bytes[policy], known_total(parts.values())
    if rest is None or stage is None:
        return
    made = ", ".join(f"{exact(size)} B {name}" for name, size in parts.items() if size)
    if rest >= stage:
        yield f"the limit is what runs behind the stage, {exact(rest)} B; the stage takes {exact(stage)} B: {made}"
    else:
        yield f"the limit is the stage, {exact(stage)} B: {made}; what runs behind it takes {exact(rest)} B"


def _what(plan: PatchPlan) -> str:
    rows, columns = plan.grid
    count = f"{exact(len(plan.nodes))} layers" if len(plan.nodes) > 1 else "layer"
    return f"{rows} x {columns} patches of the first {count}, up to {printable(plan.last, _LONG_NAME)}"


def _work(plan: PatchPlan) -> str:
    more = plan.clipped_macs - plan.stage_macs
    if not more:
        return "no MAC is done twice"
    of_stage = f"{more / plan.stage_macs:.1%} of the stage" if plan.stage_macs else ""
    of_network = (
        f"{more / plan.network_macs:.1%} of the network" if plan.network_macs else "the network is not counted in full"
    )
    return f"{exact(more)} MACs are done again where patches overlap: {', '.join(filter(None, (of_stage, of_network)))}"


def _tried(found: Patched) -> str:
    if NO_MAPS in found.reasons.values():
        return NO_MAPS
    if not found.tried:
        return "no stage at the beginning of the network has less behind it"
    if found.best is None:
        return f"{exact(found.tried)} stages and grids were tried"
    peak, last, (rows, columns) = found.best
    grid = f"{rows} x {columns} up to {printable(last, _LONG_NAME)}"
    return f"the best of {exact(found.tried)} tried, {grid}, has {_bytes(peak)}"


def grids(found: Patched, *, all_rows: bool = False) -> Iterator[Grid]:
    """The peaks by policy, the patches, and the rings of rows."""
    if found.plan is not None or found.streamed is not None:
        yield _peaks(found)
    if found.plan is not None:
        yield _patches(found.plan, found.policy)
    if found.streamed is not None and found.streamed.rings:
        yield rings(found.streamed, found.policy, all_rows=all_rows)


def details(found: Patched) -> Iterator[Grid]:
    """The figures behind the drawings: where each patch lies on each input, and what is alive while each layer runs."""
    patches = () if found.plan is None else found.plan.patches
    for drawn in maps(found):
        rows = [
            (
                place_of(place, drawn.grid),
                from_to(down),
                from_to(across),
                exact(one.macs),
                _short(one.peak_bytes[found.policy]),
            )
            for place, (one, (down, across)) in enumerate(zip(patches, drawn.boxes, strict=True))
        ]
        columns = ("patch", "rows", "columns", "MACs", "bytes alive")
        yield Grid(
            f"what each patch reads of {drawn.name}",
            tuple(Column(name, is_number=place > 2) for place, name in enumerate(columns)),
            tuple(map(GridRow, rows)),
            ("rows and columns are counted from 0",),
        )
    if found.steps:
        yield alive_grid(alive(found))


def _peaks(found: Patched) -> Grid:
    """A row for each way of running, a column a policy."""
    plan, streamed = found.plan, found.streamed
    rows: dict[str, Mapping[str, int | None]] = {}
    notes = []
    if plan is not None:
        rows |= {
            "in one piece": plan.before_bytes,
            "largest patch": plan.patch_bytes,
            "behind the stage": plan.rest_bytes,
            "in patches": plan.peak_bytes,
            "in patches, input held": plan.with_input_bytes,
        }
        buffer = _short(plan.buffer_bytes)
        notes = [
            (
                "in patches it is the larger of what is alive behind the stage and of a patch with the result that all patches fill "
                f"({buffer} B)"
            ),
            f"the input of the network takes {_short(plan.input_bytes)} B; in one piece it is held until its last reader has run",
        ]
    if streamed is not None:
        rows |= {"row by row": streamed.peak_bytes, "row by row, input held": streamed.with_input_bytes}
    policies = list(next(iter(rows.values())))
    return Grid(
        "peak memory in bytes, by policy",
        (Column(""), *(Column(policy, is_number=True) for policy in policies)),
        tuple(GridRow((name, *(_short(sizes[policy]) for policy in policies))) for name, sizes in rows.items()),
        tuple(notes),
    )


def _patches(plan: PatchPlan, policy: str) -> Grid:
    """What each patch is of, and needs; patches that are alike in one row."""
    columns = ("patch", "of the result", "of the input", "MACs", "bytes alive")
    groups: dict[tuple[str, str, str, str], list[int]] = {}
    for place, one in enumerate(plan.patches):
        needed = ", ".join("x".join(str(span.size) for span in box) for box in one.inputs.values())
        key = (f"{one.rows.size}x{one.columns.size}", needed, exact(one.macs), _short(one.peak_bytes[policy]))
        groups.setdefault(key, []).append(place)
    rows = [GridRow((_places(places, plan.grid), *key)) for key, places in groups.items()]
    beyond = (
        f"all patches together {exact(plan.clipped_macs)} MACs, and {exact(plan.full_macs)} where halos go on beyond the borders of the "
        f"maps, as some runtimes compute them; in one piece {exact(plan.stage_macs)}"
    )
    notes = (f"bytes alive by the policy {policy}, without input and result", beyond)
    return Grid(
        "patches",
        tuple(Column(name, is_number=place > 2) for place, name in enumerate(columns)),
        tuple(rows),
        notes,
    )


def _places(places: list[int], grid: PatchGrid) -> str:
    """Row and column of the first, and how many more are alike."""
    first = place_of(places[0], grid)
    return first if len(places) == 1 else f"{first} and {exact(len(places) - 1)} more"


def said(found: Patched) -> list[str]:
    """The notes, and why some nodes can end no stage."""
    notes = [printable(note, 600) for note in found.notes]
    ends = [
        f"no stage ends with {printable(name, _LONG_NAME)}: {printable(why, _LONG_NAME)}"
        for name, why in list(found.reasons.items())[:3]
    ]
    return [*notes, *ends]


def _bytes(size: int) -> str:
    return f"{exact(size)} B ({binary_bytes(size)})"


def _short(size: int | None) -> str:
    return _UNKNOWN if size is None else exact(size)
