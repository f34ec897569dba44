"""Numbers for people are the exact numbers, rounded, with the unit that they have."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.report.page import percent
from weighbridge.units import (
    binary_bytes,
    decimal_bytes,
    exact,
    in_full,
    joules,
    rough_joules,
    rough_ratio,
    rough_seconds,
    seconds,
    short,
    significant,
    stated,
)

SIZES = st.integers(0, 10**30) | st.integers(0, 90).map(lambda n: 2**n) | st.integers(0, 27).map(lambda n: 10**n - 1)


def value_of(text: str, units: dict[str, int]) -> tuple[Fraction, Fraction]:
    """(what the text says, half a unit in its last place)."""
    found = re.fullmatch(r"(-?[\d,]+)(?:\.(\d+))? ?([A-Za-z]*)", text)
    assert found, text
    whole, part, unit = found.groups()
    places = len(part or "")
    number = Fraction(whole.replace(",", "") + (f".{part}" if part else ""))
    return number * units[unit], Fraction(units[unit], 2 * 10**places)


DECIMAL = {f"{prefix}B": 1000**n for n, prefix in enumerate(["", "k", "M", "G", "T", "P", "E", "Z", "Y"])}
BINARY = {f"{prefix}B": 1024**n for n, prefix in enumerate(["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"])}
COUNT = {unit.removesuffix("B"): size for unit, size in DECIMAL.items()}


@pytest.mark.parametrize(("show", "units"), [(decimal_bytes, DECIMAL), (binary_bytes, BINARY), (short, COUNT)])
@given(size=SIZES)
def test_what_is_shown_is_the_value_to_half_of_the_last_digit(show, units: dict[str, int], size: int) -> None:
    shown, half = value_of(show(size), units)
    assert abs(shown - size) <= (half if half > Fraction(1, 2) else 0)
    assert len(re.sub(r"\D", "", show(size))) >= 4 or size < 1024  # four digits are kept


@given(size=st.integers(0, 10**30))
def test_an_exact_number_has_all_its_digits(size: int) -> None:
    assert int(exact(size).replace(",", "")) == size


@pytest.mark.parametrize(
    ("size", "decimal", "binary"),
    [
        (0, "0 B", "0 B"),
        (999, "999 B", "999 B"),
        (1000, "1.000 kB", "1,000 B"),
        (1024, "1.024 kB", "1.000 KiB"),
        (243_818_624, "243.8 MB", "232.5 MiB"),
        (60_954_656, "60.95 MB", "58.13 MiB"),
        (999_999, "1.000 MB", "976.6 KiB"),
        (1_048_575, "1.049 MB", "1.000 MiB"),
        (-2048, "-2.048 kB", "-2.000 KiB"),
    ],
)
def test_decimal_and_binary_units_differ(size: int, decimal: str, binary: str) -> None:
    assert (decimal_bytes(size), binary_bytes(size)) == (decimal, binary)


@pytest.mark.parametrize(
    ("count", "text"), [(9999, "9,999"), (10_000, "10.00 k"), (724_406_816, "724.4 M"), (1_448_813_632, "1.449 G")]
)
def test_counts(count: int, text: str) -> None:
    assert short(count) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0333, "33.30 ms"),
        (0.483958, "483.9 ms"),
        (0.9, "900.0 ms"),
        (1.0, "1.000 s"),
        (90.0, "90.00 s"),
        (0.9999999, "999.9 ms"),
        (2.5e-6, "2.500 µs"),
        (1e-12, "1.000 ps"),
        (12_345.6, "12,340 s"),
        (0.0, "0 s"),
        (4e-13, "4.000e-13 s"),
        (1.23456e30, "1.234e+30 s"),
    ],
)
def test_times(value: float, text: str) -> None:
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.16, "160 ms"),
        (0.0351, "35 ms"),
        (0.00996, "10 ms"),
        (1234, "1,200 s"),
        (0, "0 s"),
        (5.64, "5.6 s"),
        (2.5e-10, "250 ps"),
        (2.5e-13, "2.5e-13 s"),
        (-0.2, "-200 ms"),
        (math.inf, "?"),
    ],
)
def test_a_rough_time_has_two_digits(value: float, text: str) -> None:
    assert rough_seconds(value) == text


def test_a_rough_energy_and_a_rough_ratio_too() -> None:
    assert [rough_joules(value) for value in (0.0014799, 8.1875e-05, 0.0)] == ["1.5 mJ", "82 µJ", "0 J"]
    assert [rough_ratio(value) for value in (4.5673, 123.4, 0.4812, math.nan)] == ["4.6", "120", "0.48", "?"]


TIME_UNITS = {"s": 1, "ms": 10**-3, "µs": 10**-6, "ns": 10**-9, "ps": 10**-12}


@given(st.floats(1e-12, 1e6))
def test_a_time_is_rounded_down_and_by_less_than_a_thousandth(value: float) -> None:
    number, unit = seconds(value).split()
    shown = Fraction(number.replace(",", "")) / round(1 / TIME_UNITS[unit])
    exact_value = Fraction(value)
    assert shown <= exact_value * (1 + Fraction(1, 10**15))  # a decimal that no float holds may lie above its float
    assert shown > exact_value * Fraction(999, 1000)


@given(st.floats(5e-324, 1.7e308) | st.integers(0, 10**30).map(float))
def test_a_number_in_full_is_read_as_itself(value: float) -> None:
    shown = in_full(stated(value))
    assert float(shown.replace(",", "")) == value
    assert Fraction(shown.replace(",", "")) == stated(value) == Fraction(repr(value))


@given(st.tuples(*[st.decimals(0, 10**24, allow_nan=False, places=9).map(Fraction)] * 2))
def test_a_sum_of_decimals_in_full_has_lost_nothing(parts: tuple[Fraction, Fraction]) -> None:
    assert Fraction(in_full(sum(parts)).replace(",", "")) == sum(parts)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (640.0, "640"),
        (3.7, "3.7"),
        (1234567.891, "1,234,567.891"),
        (0.123456789, "0.123456789"),
        (0.00012, "0.00012"),
        (1.5e-9, "1.5e-09"),
        (1e24, "1e+24"),
        (1.25e17, "1.25e+17"),
    ],
)
def test_numbers_in_full(value: float, text: str) -> None:
    assert in_full(stated(value)) == text


SIZES_OF = {prefix: Fraction(1, 1000**power) for power, prefix in enumerate("mµnpf", 1)}


@pytest.mark.parametrize(
    ("show", "closeness"),
    [
        (seconds, Fraction(1, 999)),
        (joules, Fraction(1, 19_999)),
        (significant, Fraction(1, 1999)),
        (rough_seconds, Fraction(1, 19)),
        (rough_joules, Fraction(1, 19)),
    ],
)
@given(value=st.floats())
def test_every_float_can_be_shown(show, closeness: Fraction, value: float) -> None:
    shown = show(value)
    if not math.isfinite(value):
        assert shown == "?"
        return
    number, _, unit = shown.partition(" ")
    size = SIZES_OF.get(unit[:1] if len(unit) > 1 else "", 1)
    error = abs(Fraction(number.replace(",", "")) * size - Fraction(value))
    assert error <= abs(Fraction(value)) * closeness


@given(st.floats())
def test_every_share_can_be_shown(value: float) -> None:
    assert (percent(value) == "?") == (not math.isfinite(value))
