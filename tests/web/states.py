"""States of a simulator, as people and programs come by them."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from hypothesis import strategies as st

from weighbridge.web.controls import Blank, Choice, Control, Number, State, Words
from weighbridge.web.simulator import Simulator

__all__ = ["bad_values", "states", "values"]


def values(control: Control) -> st.SearchStrategy[int | float | str | bool]:
    """What a control can have: its ends, its default, where its slider goes and all between."""
    if isinstance(control, Choice):
        return st.sampled_from(list(control.choices))
    if isinstance(control, Blank):
        return st.one_of(st.just(""), st.integers(0, 10**6), st.just(control.maximum))
    if isinstance(control, Words):
        return st.sampled_from(
            ["", "rest=3", "conv2=4 fc6=2", "no such layer", "first=8, last=", "x" * control.longest]
        )
    if not isinstance(control, Number):
        return st.booleans()
    ends = st.sampled_from([control.minimum, control.default, control.maximum])
    slid = _between(control, control.begin, control.reach or control.maximum)
    return st.one_of(slid, ends, _between(control, control.minimum, control.maximum))


def _between(control: Number, low: float, high: float) -> st.SearchStrategy[int | float]:
    if control.is_whole:
        return st.integers(int(low), int(high))
    step = Fraction(str(control.step))
    steps = st.integers(ceil(Fraction(str(low)) / step), floor(Fraction(str(high)) / step))
    return steps.map(lambda count: float(count * step))


def states(simulator: Simulator) -> st.SearchStrategy[State]:
    """A value for every control; most are near the default, as people move one at a time."""
    every = st.fixed_dictionaries({one.name: values(one) for one in simulator.controls})
    moves = [st.tuples(st.just(one.name), values(one)) for one in simulator.controls]
    few = st.lists(st.one_of(moves), max_size=3).map(dict)
    defaults = {one.name: one.default for one in simulator.controls}
    return st.one_of(few.map(lambda moved: {**defaults, **moved}), every)


def bad_values(control: Control) -> list[str]:
    """Texts that a control cannot have."""
    words = ["", "x", "nan", "inf", "1e9999", "-" * 70, "<b>", "\u202e1", "None", "٣"]
    if isinstance(control, Blank):
        return [*words[1:], "-1", "1.5", "1,00", "9" * 30, "9" * 4000]
    if isinstance(control, Words):
        return ["x" * (control.longest + 1), "\u202e1", "one\ntwo", "\x00"]
    if not isinstance(control, Number):
        return [*words, "2", "-1"]
    outside = [str(Fraction(str(control.minimum)) - 1), f"{Fraction(str(control.maximum)) + 1}", "9" * 30, "9" * 4000]
    return [*words, *outside, *(["1.5"] if control.is_whole else [])]
