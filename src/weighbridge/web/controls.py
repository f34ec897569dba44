"""What moves a simulator: numbers, choices, switches and texts, and how an address says where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from fractions import Fraction
from math import ceil
from typing import Final
from urllib.parse import urlencode

from weighbridge.errors import printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.units import in_full
from weighbridge.written import number

__all__ = ["Blank", "Choice", "Control", "Number", "State", "Stated", "Switch", "Words", "address", "stated", "written"]

_LONGEST: Final = 60
"""Characters of a value: more are no number that a control can have."""
_LONG: Final = 10**15
"""From here on a number is written with its exponent."""
_GROUPED: Final = re.compile(r"[+-]?[0-9]{1,3}(?:(?:,[0-9]{3})+|(?:_[0-9]{3})+)(?:\.[0-9]+)?")
"""A number whose digits are grouped by thousands, as the pages write them and as Python takes them."""
_SWITCHES: Final = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}

State = Mapping[str, int | float | str | bool]
"""Where the controls of a simulator stand, by their names; "" is a blank that nobody has filled in."""


class Number(NamedTuple):
    """A slider with a box beside it: a number from ``minimum`` to ``maximum``, whole where ``step`` is.

    The slider goes to ``reach``, within which most move it, and the box to the maximum.  ``is_log`` slides by powers.  What
    ``plays`` has a button that moves it on, whole number by whole number, to where its slider ends.
    """

    name: str
    label: str
    default: int | float
    minimum: int | float
    maximum: int | float
    reach: int | float | None = None
    step: int | float = 1
    unit: str = ""
    is_log: bool = False
    meaning: str = ""
    plays: bool = False

    @property
    def kind(self) -> str:
        return "number"

    @property
    def is_whole(self) -> bool:
        """Whether it takes whole numbers alone."""
        return isinstance(self.step, int)

    @property
    def begin(self) -> int | float:
        """Where the slider begins: the least multiple of the step, as it stops at whole steps from there; by powers the minimum."""
        if self.is_whole or self.is_log:
            return self.minimum
        step = Fraction(str(self.step))
        return float(step * ceil(Fraction(str(self.minimum)) / step))


class Choice(NamedTuple):
    """One of several: ``choices`` are what people read by what the address has."""

    name: str
    label: str
    default: str
    choices: Mapping[str, str]
    meaning: str = ""

    @property
    def kind(self) -> str:
        return "choice"


class Switch(NamedTuple):
    """On or off."""

    name: str
    label: str
    default: bool
    meaning: str = ""

    @property
    def kind(self) -> str:
        return "switch"


class Blank(NamedTuple):
    """A place to fill in: a whole number from 0 to ``maximum``, or nothing, which is its default."""

    name: str
    label: str
    maximum: int
    meaning: str = ""
    default: str = ""

    @property
    def kind(self) -> str:
        return "blank"


class Words(NamedTuple):
    """A line of text of at most ``longest`` characters; what it may say is for the simulator to judge."""

    name: str
    label: str
    default: str = ""
    longest: int = 200
    meaning: str = ""

    @property
    def kind(self) -> str:
        return "words"


Control = Number | Choice | Switch | Blank | Words


class Stated(NamedTuple):
    """What an address says: a value for every control, and by name what is wrong with those whose default stands in for it."""

    state: State
    faults: Mapping[str, str]


def stated(controls: Iterable[Control], query: Iterable[tuple[str, str]]) -> Stated:
    """The state that the pairs of an address say; what they leave out is the default.

    A value that its control cannot have, a name that is there twice and one that no control has are faults.
    """
    known = {control.name: control for control in controls}
    state: dict[str, int | float | str | bool] = {name: control.default for name, control in known.items()}
    faults: dict[str, str] = {}
    seen: set[str] = set()
    for name, text in query:
        shown = printable(name, _LONGEST)
        if name not in known:
            near = get_close_matches(name, known, 1)
            faults[shown] = f"there is no such control{f'; did you mean {near[0]}?' if near else ''}"
        elif name in seen:
            faults[shown] = "is there twice"
        else:
            value = _read(known[name], text.strip())
            if isinstance(value, _Fault):
                faults[shown] = value.what
            else:
                state[name] = value
        seen.add(name)
    return Stated(state, faults)


def address(controls: Iterable[Control], state: State) -> str:
    """The query of an address that says ``state``; what is at its default is left out."""
    return urlencode([(one.name, written(state[one.name])) for one in controls if state[one.name] != one.default])


def written(value: float | str) -> str:
    """A value as the address has it: whole numbers without a point, so that a state has one address."""
    is_short = isinstance(value, float) and value.is_integer() and abs(value) < _LONG
    return str(int(value)) if isinstance(value, bool) or is_short else str(value)


class _Fault(NamedTuple):
    what: str


def _read(control: Control, text: str) -> int | float | str | bool | _Fault:
    if isinstance(control, Number):
        return _number(control, text)
    if isinstance(control, Blank):
        return _blank(control, text)
    if isinstance(control, Words):
        return _words(control, text)
    if isinstance(control, Switch):
        found = _SWITCHES.get(text.lower())
        return _Fault("must be 1 or 0") if found is None else found
    if text in control.choices:
        return text
    near = get_close_matches(text[:_LONGEST], control.choices, 1)
    return _Fault(f"there is no {printable(text, 30)!r}{f'; did you mean {near[0]}?' if near else ''}")


def _blank(control: Blank, text: str) -> int | str | _Fault:
    value = _amount(text)
    if not text:
        return ""
    if value is None or value.denominator != 1 or not 0 <= value <= control.maximum:
        return _Fault(f"must be a whole number from 0 to {_shown(control.maximum)}, or empty")
    return int(value)


def _words(control: Words, text: str) -> str | _Fault:
    if len(text) > control.longest:
        return _Fault(f"must have at most {control.longest} characters")
    return text if text.isprintable() else _Fault("must be a line of characters that can be shown")


def _amount(text: str) -> Fraction | None:
    """The number that somebody wrote, its thousands grouped or not."""
    if len(text) > _LONGEST:
        return None
    return number(text.replace(",", "").replace("_", "") if _GROUPED.fullmatch(text) else text)


def _number(control: Number, text: str) -> int | float | _Fault:
    value = _amount(text)
    kind = "a whole number" if control.is_whole else "a number"
    wanted = f"must be {kind} from {_shown(control.minimum)} to {_shown(control.maximum)}"
    # A float's own value is not the one that is written: 1/10 is below that of 0.1.
    if value is None or not Fraction(str(control.minimum)) <= value <= Fraction(str(control.maximum)):
        return _Fault(wanted)
    if value.denominator == 1 and control.is_whole:
        return int(value)
    return _Fault(wanted) if control.is_whole else float(value)


def _shown(value: float) -> str:
    return in_full(Fraction(str(value))) if value >= 0 else f"-{in_full(Fraction(str(-value)))}"
