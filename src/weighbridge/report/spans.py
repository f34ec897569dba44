"""Styled text on a grid of terminal cells: padding, clipping, wrapping, bars."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from weighbridge.named_tuple import NamedTuple

__all__ = ["Line", "Span", "Style", "bar", "cells", "clip", "fit", "in_ascii", "level", "pad", "text_of", "wrap"]


_IS_NARROW = re.compile("[ -~\xa0-\u02ff\u2010-\u2027\u2500-\u25fc]*")
"""Characters of one cell each: Latin ones, dashes and dots, and what bars and frames are drawn with."""


class Style(StrEnum):
    """What a span is; the values are rich's names for how it looks."""

    PLAIN = ""
    STRONG = "bold"
    QUIET = "dim"
    FIGURE = "bold cyan"
    PARAMETERS = "blue"
    MACS = "yellow"
    MEMORY = "magenta"
    PEAK = "bold magenta"
    GOOD = "bold green"
    BAD = "bold red"
    WARNING = "bold yellow"


class Span(NamedTuple):
    text: str
    style: Style = Style.PLAIN


class Line(tuple[Span, ...]):
    """The spans of one line, from left to right."""

    __slots__ = ()

    @classmethod
    def of(cls, *spans: tuple[str, Style]) -> Line:
        """A line of (text, style) pairs."""
        return cls(Span(*span) for span in spans)


def cells(text: str) -> int:
    """How many cells ``text`` takes: wide characters two, combining ones none."""
    if _IS_NARROW.fullmatch(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


ARROW: Final = " -> "
"""Between what was and what is."""
_SHORTEST_SIDE: Final = 5
"""Cells that either side of an arrow must have if it is cut by itself."""


def clip(text: str, width: int) -> str:
    """``text``, cut to ``width`` cells in the middle, where names differ least; of ``before -> after`` each side by itself."""
    if cells(text) <= width:
        return text
    if width < 5:
        return _start(text, width)
    before, arrow, after = text.partition(ARROW)
    room = width - len(ARROW)
    if arrow and room >= 2 * _SHORTEST_SIDE:
        half = min(cells(before), max(room // 2, room - cells(after)))
        return f"{clip(before, half)}{ARROW}{clip(after, room - half)}"
    head = _start(text, (width - 1) // 2)
    tail = _start(text[::-1], width - 1 - cells(head))[::-1]
    return f"{head}…{tail}"


def _start(text: str, width: int) -> str:
    end = min(len(text), width)
    while cells(text[:end]) > width:
        end -= 1
    return text[:end]


def pad(text: str, width: int) -> str:
    """``text`` filled up to ``width`` cells, on its left for a negative width."""
    fill = " " * (abs(width) - cells(text))
    return fill + text if width < 0 else text + fill


def fit(text: str, width: int) -> str:
    """``text`` in exactly ``width`` cells, clipped or padded; on the right for a negative width."""
    size = abs(width)
    if text.isascii() and len(text) <= size:
        return text.rjust(size) if width < 0 else text.ljust(size)
    return pad(clip(text, size), width)


def wrap(text: str, width: int, style: Style, *, indent: int = 0, hanging: int = 0) -> list[Line]:
    """``text`` broken at spaces into lines of at most ``width`` cells; ``hanging`` indents all but the first further."""
    lines: list[str] = []
    current, room = "", width - indent
    for word in _words(text, max(8, width - indent - hanging)):
        joined = f"{current} {word}" if current else word
        if current and cells(joined) > room:
            lines.append(current)
            current, room = word, width - indent - hanging
        else:
            current = joined
    lines.append(current)
    return [Line.of((" " * (indent + (hanging if index else 0)) + line, style)) for index, line in enumerate(lines)]


_BEFORE_UNIT = re.compile(r"(\d) (?=[kKMGTPEZY]?i?B\b)")
"""A number stays with its unit."""


def _words(text: str, width: int) -> Iterable[str]:
    for word in _BEFORE_UNIT.sub(r"\1\0", text).split():
        rest = word.replace("\0", " ")
        while cells(rest) > width:
            start = _start(rest, width)
            yield start
            rest = rest[len(start) :]
        yield rest


_PLAIN = str.maketrans({"·": "-", "…": "~", "µ": "u"})


def text_of(lines: Iterable[Line]) -> str:
    """Lines as plain text, with nothing behind the last word of each."""
    return "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)


def in_ascii(line: Line) -> Line:
    """``line`` with the few characters of our own that ASCII lacks replaced; those of names stay as they are."""
    return Line(Span(span.text.translate(_PLAIN), span.style) for span in line)


_EIGHTHS = "▏▎▍▌▋▊▉█"
_LEVELS = "▁▂▃▄▅▆▇█"
_ASCII_LEVELS = "_.-=+*#@"


def bar(share: float | None, width: int, unicode: bool) -> str:
    """A bar of ``share`` of ``width`` cells, filled up with spaces; what is longer than 1 ends in an arrow."""
    if share is None:
        return " " * width
    if share > 1:
        return ("█" if unicode else "#") * (width - 1) + ("▶" if unicode else ">")
    eighths = round(max(0.0, min(share, 1.0)) * width * 8)
    if share > 0:
        eighths = max(1, eighths)
    whole, part = divmod(eighths, 8)
    if not unicode:
        return ("#" * (whole + (part >= 4))).ljust(width)
    return ("█" * whole + (_EIGHTHS[part - 1] if part else "")).ljust(width)


def level(share: float | None, unicode: bool) -> str:
    """One character, as high as ``share`` is large."""
    if share is None:
        return "?"
    levels = _LEVELS if unicode else _ASCII_LEVELS
    return levels[int(min(7.0, max(0.0, share) * 8))]
