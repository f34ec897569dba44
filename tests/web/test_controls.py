"""What an address says, and how a state is written into one."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.web.states import bad_values, values
from weighbridge.web.controls import Blank, Choice, Control, Number, State, Switch, Words, address, stated

COUNT = Number("count", "count", 3, 1, 1000, reach=64)
RATE = Number("rate", "rate", 30, 0.001, 10**6, reach=120, step=0.1)
TINY = Number("tiny", "tiny", 1e-6, 1e-12, 1e20, step=1e-12, is_log=True)
SIGNED = Number("signed", "signed", 0, -10, 10, step=0.25)
KIND = Choice("kind", "kind", "first", {"first": "the first", "second": "the second"})
BIAS = Switch("bias", "bias", False)
ANSWER = Blank("answer", "answer", 10**9)
LINE = Words("line", "line", longest=20)
ALL: tuple[Control, ...] = (COUNT, RATE, TINY, SIGNED, KIND, BIAS, ANSWER, LINE)
DEFAULTS = {one.name: one.default for one in ALL}


def said(**texts: str) -> tuple[State, dict[str, str]]:
    found = stated(ALL, list(texts.items()))
    return found.state, dict(found.faults)


def test_what_an_address_leaves_out_is_at_its_default() -> None:
    assert said() == (DEFAULTS, {})
    assert address(ALL, DEFAULTS) == ""


@given(st.fixed_dictionaries({one.name: values(one) for one in ALL}))
def test_every_state_comes_back_from_its_address(state: State) -> None:
    found = stated(ALL, parse_qsl(address(ALL, state), keep_blank_values=True))
    assert found.faults == {}
    assert found.state == state
    assert address(ALL, found.state) == address(ALL, state)
    for name, value in found.state.items():
        assert isinstance(value, bool) == isinstance(state[name], bool)


@pytest.mark.parametrize("control", ALL, ids=lambda one: one.name)
def test_a_bad_value_leaves_the_default_and_is_said(control: Control) -> None:
    for text in bad_values(control):
        state, faults = said(**{control.name: text})
        assert state == DEFAULTS
        assert list(faults) == [control.name]
        assert faults[control.name].isprintable()
        assert len(faults[control.name]) < 200


@given(st.lists(st.tuples(st.one_of(st.sampled_from([*DEFAULTS, "cuont"]), st.text()), st.text()), max_size=8))
def test_no_text_is_taken_for_a_value_that_its_control_cannot_have(query: list[tuple[str, str]]) -> None:
    found = stated(ALL, query)
    assert found.state.keys() == DEFAULTS.keys()
    for control in ALL:
        value = found.state[control.name]
        if isinstance(control, Number):
            assert control.minimum <= value <= control.maximum
            assert isinstance(value, int) or not control.is_whole
        elif isinstance(control, Choice):
            assert value in control.choices
        elif isinstance(control, Blank):
            assert value == "" or (type(value) is int and 0 <= value <= control.maximum)
        elif isinstance(control, Words):
            assert isinstance(value, str)
            assert value.isprintable()
        else:
            assert isinstance(value, bool)
    for name, what in found.faults.items():
        assert name.isprintable()
        assert what.isprintable()


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("count", "0", "must be a whole number from 1 to 1,000"),
        ("count", "2.5", "must be a whole number from 1 to 1,000"),
        ("rate", "0", "must be a number from 0.001 to 1,000,000"),
        ("signed", "-11", "must be a number from -10 to 10"),
        ("kind", "frist", "there is no 'frist'; did you mean first?"),
        ("kind", "", "there is no ''"),
        ("bias", "maybe", "must be 1 or 0"),
        ("answer", "-1", "must be a whole number from 0 to 1,000,000,000, or empty"),
        ("line", "x" * 21, "must have at most 20 characters"),
        ("line", "one\ttwo", "must be a line of characters that can be shown"),
        ("cuont", "1", "there is no such control; did you mean count?"),
        ("zzz", "1", "there is no such control"),
    ],
)
def test_a_fault_says_what_would_do(name: str, text: str, fault: str) -> None:
    assert said(**{name: text})[1] == {name: fault}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("count", "1,000", 1000),
        ("count", "1_000", 1000),
        ("count", "1e3", 1000),
        ("count", " 12 ", 12),
        ("count", "1000.0", 1000),
        ("rate", "29.97", 29.97),
        ("rate", "30000/1001", 30000 / 1001),
        ("rate", "1,000.5", 1000.5),
        ("signed", "-2.50", -2.5),
        ("answer", "884,736", 884736),
        ("answer", "8.84736e5", 884736),
        ("answer", "", ""),
        ("line", "  first=8 ", "first=8"),
    ],
)
def test_values_are_taken_as_people_write_them(name: str, text: str, value: object) -> None:
    assert said(**{name: text}) == ({**DEFAULTS, name: value}, {})


@pytest.mark.parametrize("text", ["1,00", "1_0", ",100", "1,000_000", "1.000,5", "1,5", "0x10", "1e3e3", "1 000"])
def test_what_could_be_two_numbers_is_none(text: str) -> None:
    """Commas and underscores group thousands; where they do not, nobody can tell what was meant."""
    assert list(said(count=text)[1]) == ["count"]


def test_a_name_that_is_there_twice_is_a_fault_and_the_first_value_holds() -> None:
    found = stated(ALL, [("count", "4"), ("count", "5")])
    assert found.state["count"] == 4
    assert found.faults == {"count": "is there twice"}


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("true", True), ("ON", True), ("0", False), ("False", False), ("off", False)]
)
def test_a_switch_is_said_as_forms_and_people_say_it(text: str, value: bool) -> None:
    assert said(bias=text)[0]["bias"] is value


@pytest.mark.parametrize(
    ("control", "begin"),
    [
        (COUNT, 1),
        (RATE, 0.1),
        (TINY, 1e-12),
        (SIGNED, -10.0),
        (Number("n", "n", 1, -0.3, 5, step=0.2), -0.2),
        (Number("n", "n", 1, 0.7, 5, step=0.7), 0.7),
        (Number("n", "n", 1, 0, 5, step=0.5), 0.0),
    ],
    ids=str,
)
def test_a_slider_stops_at_multiples_of_its_step(control: Number, begin: float) -> None:
    """As one in a browser counts its steps from where it begins: from 0.001 in steps of 0.1 it would stop at 50.001."""
    assert control.begin == begin
    assert control.begin >= control.minimum


@pytest.mark.parametrize(("value", "text"), [(50.0, "50"), (45.9, "45.9"), (1e-6, "1e-06"), (1e20, "1e+20"), (7, "7")])
def test_a_number_has_one_way_to_be_written(value: float, text: str) -> None:
    control = Number("n", "n", 0.5, 0, 1e30, step=1 if isinstance(value, int) else 0.1)
    assert address([control], {"n": value}) == f"n={text.replace('+', '%2B')}"
    assert stated([control], [("n", text)]).state["n"] == value
