"""A validation for people: each network beside what is expected of it, and how far that is off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from weighbridge.calibration.left_out import COVERED
from weighbridge.errors import printable
from weighbridge.report.grid import Grid
from weighbridge.report.measured_words import whole_percent
from weighbridge.report.page import Table
from weighbridge.report.predicted import held
from weighbridge.report.predicted_grids import (
    asides,
    distribution_grid,
    network_grid,
    network_table,
    predicted_sentences,
    warnings_of,
)
from weighbridge.report.spans import Line, text_of
from weighbridge.report.terminal import Look
from weighbridge.report.told import Told, lines_of, markdown_of
from weighbridge.report.validated import Validation
from weighbridge.units import exact

__all__ = ["grids", "lines", "markdown", "said", "sentences", "subtitle", "table", "text", "title"]

_NAME: Final = 60


def lines(found: Validation, look: Look, *, all_rows: bool = False) -> Iterator[Line]:
    """The page as lines of spans."""
    return lines_of(_told(found, all_rows), look)


def text(found: Validation, look: Look) -> str:
    """The page as plain text, with every row."""
    return text_of(lines(found, look, all_rows=True))


def markdown(found: Validation) -> str:
    """The page as Markdown, with every row."""
    return markdown_of(_told(found, all_rows=True))


def _told(found: Validation, all_rows: bool) -> Told:
    every = sentences(found), grids(found, all_rows=all_rows)
    return Told(title(found), subtitle(found), (), *every, said(found), found.tool)


def title(found: Validation) -> str:
    """The device."""
    return f"{printable(found.device, _NAME)}, predicted against measured"


def subtitle(found: Validation) -> str:
    """How much there is."""
    count = len(found.networks)
    return f"{exact(count)} measurement{'s' if count != 1 else ''}; {printable(found.title, 160)}"


def sentences(found: Validation) -> Iterator[str]:
    """What cannot be, how far expected times are off, and whether the device's interval holds what it says."""
    yield from warnings_of(found.networks)
    yield from predicted_sentences(found.errors)
    inside, known = held(found.networks)
    if known:
        yield (
            f"the device's interval holds {exact(inside)} of {exact(known)} measurements; it is made to hold {whole_percent(COVERED)} of "
            "networks that had no part in it"
        )


def grids(found: Validation, *, all_rows: bool = False) -> Iterator[Grid]:
    """The networks, all of them in any case, and the errors."""
    yield network_grid(found.networks)
    if found.errors:
        yield distribution_grid(found.errors)


def said(found: Validation) -> list[str]:
    """The notes, and what was left out."""
    return [*(printable(note, 600) for note in dict.fromkeys(found.notes)), *asides(found.aside)]


def table(found: Validation) -> Table:
    """A row a measurement, for formats that are computed on."""
    return network_table(found.networks)
