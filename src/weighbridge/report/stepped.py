"""What drawings with a column a step have in common: how steps become columns, what stands left of them, and the axis below."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.spans import Line, Style, pad
from weighbridge.units import exact

__all__ = ["Characters", "Steps", "amount", "axis_lines", "characters", "gutter_of", "left_of", "peak_line", "steps_in"]

_WIDEST_STEP: Final = 6
_TICK: Final = 10
"""At least so many cells from one numbered step to the next."""
_MOST_DIGITS: Final = 20


class Characters(NamedTuple):
    side: str
    mark: str
    corner: str
    floor: str
    tick: str
    peak: str


_UNICODE: Final = Characters("│", "┤", "└", "─", "┬", "▲")
_ASCII: Final = Characters("|", "+", "+", "-", "+", "^")


def characters(unicode: bool) -> Characters:
    """What the frame of a drawing is made of."""
    return _UNICODE if unicode else _ASCII


class Steps(NamedTuple):
    """``total`` steps in columns of ``width`` cells each, whose first steps are ``starts``."""

    total: int
    starts: Sequence[int]
    width: int

    @property
    def together(self) -> int:
        """The steps of a column, but for the last one."""
        return self.starts[1] - self.starts[0] if len(self.starts) > 1 else self.total

    def of(self, place: int) -> range:
        """The steps of the column at ``place``."""
        end = self.starts[place + 1] if place + 1 < len(self.starts) else self.total
        return range(self.starts[place], end)

    def column_of(self, step: int) -> int:
        """The place of the column that stands for ``step``."""
        return bisect_right(self.starts, step) - 1


def steps_in(count: int, room: int) -> Steps:
    """The columns of ``count`` steps, at least one, in ``room`` cells."""
    starts = range(0, count, -(-count // room))
    return Steps(count, starts, max(1, min(_WIDEST_STEP, room // len(starts))))


def gutter_of(most: int) -> int:
    """The cells left of a drawing whose largest amount is ``most``."""
    return min(len(exact(most)), _MOST_DIGITS) + 1


def amount(size: int) -> str:
    """``size`` as it stands left of a drawing."""
    text = exact(size)
    return text if len(text) <= _MOST_DIGITS else "?"


def left_of(text: str, gutter: int, side: str) -> Line:
    """What stands left of a line of a drawing."""
    return Line.of((f"{pad(text, -(gutter - 1))} {side}", Style.QUIET))


def axis_lines(steps: Steps, gutter: int, look: Characters, first: int = 0) -> Iterator[Line]:
    """The floor of a drawing with ticks, and the numbers of their steps, which are counted from ``first``."""
    apart = -(-_TICK // steps.width)
    floor, numbers = "", ""
    for place, step in enumerate(steps.starts):
        is_tick = place % apart == 0
        floor += (look.tick if is_tick else look.floor) + look.floor * (steps.width - 1)
        number = exact(step + first)
        if is_tick and place * steps.width + len(number) <= len(steps.starts) * steps.width:
            numbers = numbers.ljust(place * steps.width) + number
    yield Line.of((pad("0", -(gutter - 1)) + f" {look.corner}{floor}", Style.QUIET))
    yield Line.of((" " * (gutter + 1) + numbers, Style.QUIET))


def peak_line(steps: Steps, gutter: int, look: Characters, peak: int, text: str, width: int) -> Line:
    """A mark below the column of the step ``peak``, and ``text`` beside it where a line of ``width`` cells has room for it."""
    at, wide, room = steps.column_of(peak) * steps.width, len(steps.starts) * steps.width, width - gutter - 1
    behind = at + len(text) + 2
    if behind <= wide or (at < len(text) + 1 and behind <= room):
        shown = " " * at + f"{look.peak} {text}"
    elif at > len(text):
        shown = " " * (at - len(text) - 1) + f"{text} {look.peak}"
    else:
        shown = " " * at + look.peak
    return Line.of((" " * (gutter + 1) + shown, Style.PEAK))
