"""What one run draws: arithmetic beside what is fetched from each level of memory, on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import altair

from weighbridge.errors import printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.asking import ENERGY
from weighbridge.report.charts.axes import logarithmic
from weighbridge.report.charts.on_device import is_above_zero
from weighbridge.report.charts.panel import Datum, NoPanel, Panel, Subject
from weighbridge.report.charts.theme import ACCENT, PALETTE, WIDTH
from weighbridge.report.headlines import lower_bound
from weighbridge.report.record import OnDevice, told_apart
from weighbridge.units import exact, joules

if TYPE_CHECKING:
    from weighbridge.estimates import Bill

__all__ = ["energy"]

_ARITHMETIC, _WEIGHTS, _ACTIVATIONS, _BOTH = "arithmetic", "weights", "activations", "weights and activations"
_PARTS: Final = {
    _ARITHMETIC: (PALETTE[0], "circle"),
    _WEIGHTS: (PALETTE[1], "square"),
    _ACTIVATIONS: (PALETTE[2], "diamond"),
    _BOTH: (ACCENT, "triangle-up"),
}
"""What energy is drawn for, its colour and its shape; a device tells what is fetched by memory alone."""
_MOST_DEVICES: Final = 12
_MOST_COMPONENTS: Final = 40
_NAME: Final = 40
_GAP: Final = 20
_EDGE: Final = 8
"""Between the outermost dots and the frame, in pixels."""
_ROW: Final = 26
"""The height of a component, in pixels."""
_LEAST_HEIGHT: Final = 80
"""Below it there is no room for the axis's title."""


class _Amount(NamedTuple):
    """The joules of one part of what a component does: arithmetic computes, a level delivers weights."""

    component: str
    part: str
    joules: float | None


class _Source(NamedTuple):
    """Amounts that one table of energies gives."""

    title: str
    exact: bool
    verified: bool
    amounts: tuple[_Amount, ...]


def energy(subject: Subject) -> Panel | NoPanel:
    """A dot for each component and level: those of the bill by a table, and below those of every device that has a table."""
    report = subject.report
    devices = [on for on in report.on if on.energy is not None]
    sources = [_of_bill(report.energy)] if report.energy is not None else []
    sources += (_of_device(on) for on in devices[:_MOST_DEVICES])
    if not sources:
        return NoPanel(f"no energy was asked for, and no device has a table of energies; weigh it with {ENERGY}")
    named = {f"energy_{subject.place}_{place}": source for place, source in enumerate(sources)}
    drawn = {name: tuple(_rows(source)) for name, source in named.items()}
    if not any(drawn.values()):
        return NoPanel("no energy is known: the table has no entry at the precision, or nothing is counted")
    parts = [_dots(name, named[name], rows) for name, rows in drawn.items() if rows]
    notes = [note for source in sources for note in _notes(source)]
    if len(devices) > _MOST_DEVICES:
        notes.append(f"drawn are the first {_MOST_DEVICES} of {len(devices):,} devices with energies")
    return Panel(
        parts[0] if len(parts) == 1 else altair.vconcat(*parts, spacing=_GAP).resolve_scale(x="shared"),
        {name: rows for name, rows in drawn.items() if rows},
        "; ".join(_largest(source) for name, source in named.items() if drawn[name]),
        tuple(dict.fromkeys(notes)),
    )


def _of_bill(bill: Bill) -> _Source:
    levels = told_apart(printable(level.level, _NAME) for level in bill.levels)
    fetched = [
        _Amount(name, part, size)
        for name, level in zip(levels, bill.levels, strict=True)
        for part, size in ((_WEIGHTS, level.weights_j), (_ACTIVATIONS, level.activations_j))
    ]
    title = f"{_run(bill.batch)} by the table {bill.table}, {bill.precision or 'precision unknown'}: {bill.process}"
    return _Source(title, bill.exact, bill.verified, (_Amount(_ARITHMETIC, _ARITHMETIC, bill.arithmetic_j), *fetched))


def _of_device(on: OnDevice) -> _Source:
    found = on.energy
    assert found is not None
    names = told_apart(printable(name, _NAME) for name in found.by)
    amounts = [
        _Amount(name, _ARITHMETIC if name == _ARITHMETIC else _BOTH, size)
        for name, size in zip(names, found.by.values(), strict=True)
    ]
    title = f"{_run(on.conditions.batch)} on {on.device}, {on.conditions.precision or 'precision unknown'}"
    return _Source(title, found.exact, found.verified, tuple(amounts))


def _run(batch: int | None) -> str:
    return "one run, batch unknown," if batch is None else f"one run of batch {exact(batch)}"


def _components(source: _Source) -> Sequence[str]:
    """Those that have a place on a logarithmic axis."""
    return list(dict.fromkeys(one.component for one in source.amounts if is_above_zero(one.joules)))


def _rows(source: _Source) -> Iterator[Datum]:
    shown = set(_components(source)[:_MOST_COMPONENTS])
    for one in source.amounts:
        if is_above_zero(one.joules) and one.component in shown:
            size = lower_bound(joules(one.joules), source.exact)
            yield {"component": one.component, "part": one.part, "joules": one.joules, "energy": size}


def _dots(name: str, source: _Source, rows: Sequence[Datum]) -> Any:
    components = {row["component"] for row in rows}
    colours, shapes = ([look[place] for look in _PARTS.values()] for place in (0, 1))
    legend = altair.Legend(title=None, orient="bottom")
    return (
        altair.Chart(
            altair.NamedData(name),
            title=altair.TitleParams(printable(source.title, 200), limit=WIDTH),
            width=WIDTH,
            height=max(_LEAST_HEIGHT, _ROW * len(components)),
        )
        .mark_point(aria=False, filled=True, size=110, opacity=1)
        .encode(
            x=altair.X(
                "joules:Q",
                title="energy (J)",
                scale=altair.Scale(type="log", nice=True, padding=_EDGE),
                axis=logarithmic("J"),
            ),
            y=altair.Y("component:N", sort=None, title="component", axis=altair.Axis(grid=True)),
            color=altair.Color("part:N", scale=altair.Scale(domain=list(_PARTS), range=colours), legend=legend),
            shape=altair.Shape("part:N", scale=altair.Scale(domain=list(_PARTS), range=shapes), legend=legend),
            tooltip=[altair.Tooltip("component:N"), altair.Tooltip("part:N", title="for"), altair.Tooltip("energy:N")],
        )
    )


def _largest(source: _Source) -> str:
    first, *_ = sorted(source.amounts, key=lambda one: -(one.joules if is_above_zero(one.joules) else 0))
    of = first.component if first.part == first.component else f"{first.part} from {first.component}"
    return f"{printable(source.title, 200)}: most for {of}, {lower_bound(joules(first.joules or 0), source.exact)}"


def _notes(source: _Source) -> Iterator[str]:
    for said, found in (
        ("not known", [one for one in source.amounts if one.joules is None]),
        ("0 J, which a logarithmic axis has no place for", [one for one in source.amounts if one.joules == 0]),
    ):
        if found:
            named = ", ".join(
                dict.fromkeys(
                    f"{one.part} from {one.component}" if one.part != one.component else one.part for one in found
                )
            )
            yield f"{printable(source.title, 60)}: {printable(named, 200)} {'is' if len(found) == 1 else 'are'} {said}"
    count = len(_components(source))
    if count > _MOST_COMPONENTS:
        yield f"{printable(source.title, 60)}: drawn are the first {_MOST_COMPONENTS} of {count:,} components and levels"
    if not source.verified:
        yield f"{printable(source.title, 60)}: a figure of the table is not verified"
