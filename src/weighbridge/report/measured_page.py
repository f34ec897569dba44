"""What was measured, for people: the times with their intervals, what disturbed them, what they come to, and under which conditions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from weighbridge.errors import printable
from weighbridge.measure.record import Measurement
from weighbridge.report.measured import KNEE_SHARE, Against, Curve, FloorBeside, Measured
from weighbridge.report.measured_grids import grids
from weighbridge.report.measured_lines import spread_lines
from weighbridge.report.measured_words import between, names_of, ratio_between, time, whole_percent
from weighbridge.report.spans import Line, text_of
from weighbridge.report.terminal import Look
from weighbridge.report.told import Told, lines_of, markdown_of
from weighbridge.units import exact, significant

__all__ = ["lines", "markdown", "said", "sentences", "subtitle", "text", "title"]

_DRAWN: Final = 3
"""Measurements of which the samples are drawn on a terminal."""


def lines(found: Measured, look: Look, *, all_rows: bool = False) -> Iterator[Line]:
    """The page as lines of spans."""
    return lines_of(_told(found, all_rows), look)


def text(found: Measured, look: Look) -> str:
    """The page as plain text, with every row."""
    return text_of(lines(found, look, all_rows=True))


def markdown(found: Measured) -> str:
    """The page as Markdown, with every row."""
    return markdown_of(_told(found, all_rows=True))


def _told(found: Measured, all_rows: bool) -> Told:
    named = tuple(zip(names_of(found.measurements), found.measurements, strict=True))
    return Told(
        title(found),
        subtitle(found),
        (),
        sentences(found),
        grids(found, all_rows=all_rows),
        said(found),
        found.tool,
        drawings=tuple(partial(spread_lines, name, one) for name, one in named) if len(named) <= _DRAWN else (),
    )


def title(found: Measured) -> str:
    """The networks."""
    names = dict.fromkeys(names_of(found.measurements) if found.curve is None else [found.measurements[0].name])
    return f"{printable(' and '.join(names), 160)}, measured"


def subtitle(found: Measured) -> str:
    """On what, and when."""
    first = found.measurements[0]
    where, hardware = first.conditions, first.conditions.hardware
    threads = f"{exact(where.threads)} thread{'s' if where.threads > 1 else ''}"
    processor = hardware.processor if hardware.accelerator is None else hardware.accelerator.name
    how = f"{where.runtime} {where.version} ({where.mode}) with {threads}"
    return printable(f"{how} on {processor or 'an unknown processor'}; {first.taken_at}", 240)


def sentences(found: Measured) -> Iterator[str]:
    """The medians, whether they can be relied on, and what they come to."""
    names = names_of(found.measurements)
    for name, one in zip(names, found.measurements, strict=True):
        yield _median(name, one)
    for name, one in zip(names, found.measurements, strict=True):
        yield from (f"noisy: {name}: {printable(reason, 300)}" for reason in one.noise)
    yield from (_compared(names, one) for one in found.against)
    if found.curve is not None:
        yield _knee(found.curve)
    for frames in found.frames:
        yield f"{names[frames.place]} misses {exact(frames.median)} frames at {significant(frames.fps)} a second in the median run"
    for floor in found.floors:
        if floor.is_broken:
            yield _broken(names[floor.place], floor, found.measurements[floor.place].latency_s)


def _broken(name: str, floor: FloorBeside, measured_s: float) -> str:
    below = (
        f"the measured {time(measured_s)} is below the floor of {printable(floor.device, 60)}, {time(floor.floor_s)}"
    )
    return f"{name}: {below}, which nothing beats: the device's figures or the precision are wrong, or this is another machine"


def _median(name: str, one: Measurement) -> str:
    interval, rate = one.interval, one.throughput_per_s
    known = (
        ""
        if interval is None
        else f", {between(interval.low_s, interval.high_s)} at {whole_percent(one.summary.confidence)}"
    )
    rated = "" if rate is None else f": {significant(rate)} inferences/s"
    return f"{name}: {time(one.latency_s)} a run in the median{known}{rated}"


def _knee(curve: Curve) -> str:
    share = whole_percent(KNEE_SHARE)
    if curve.knee is not None:
        return f"the knee is at batch {exact(curve.knee)}, the smallest with {share} of the best throughput"
    return f"no knee: no batch but the largest has {share} of the best throughput, which may go on growing"


def _compared(names: tuple[str, ...], one: Against) -> str:
    said = f"{names[one.place]} takes {ratio_between(one.ratio, one.low, one.high)} times what {names[0]} takes"
    if one.low is not None and not one.is_told_apart:
        return f"{said}: no difference can be told"
    return said


def said(found: Measured) -> list[str]:
    """The notes."""
    every = [*found.notes, *(note for one in found.measurements for note in one.notes)]
    return [printable(note, 600) for note in dict.fromkeys(every)]
