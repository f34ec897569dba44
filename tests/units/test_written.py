"""Numbers are taken exactly as they are written, within bounds, and from any library that has whole ones."""

from __future__ import annotations

import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.written import BANDWIDTH_UNITS, OPS_UNITS, number, quantity, shown, whole

DIGITS = st.text("0123456789", min_size=1, max_size=30)


@given(DIGITS, st.none() | st.text("0123456789", max_size=30), st.none() | st.integers(-99, 99), st.sampled_from("+- "))
def test_decimals_are_exact(whole_part: str, part: str | None, exponent: int | None, sign: str) -> None:
    text = f"{sign.strip()}{whole_part}{'' if part is None else f'.{part}'}{'' if exponent is None else f'e{exponent}'}"
    assert number(f" {text} ") == Fraction(Decimal(text))


@given(st.integers(0, 10**30 - 1), st.integers(0, 10**30 - 1))
def test_fractions_are_exact(top: int, bottom: int) -> None:
    assert number(f"{top}/{bottom}") == (Fraction(top, bottom) if bottom else None)


@given(st.floats(1e-90, 1e90))
def test_a_float_is_the_decimal_that_it_is_written_as(value: float) -> None:
    assert number(value) == Fraction(repr(value)) == number(np.float64(value)) == number(Decimal(repr(value)))


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            " ",
            ".",
            "e3",
            "1e",
            "1.2.3",
            "1e99999999",
            "1e-99999999",
            "1e400",
            "1" * 31,
            "1" * 5000,
            "1_000",
            "1,5",
        ),
        *("nan", "inf", "-inf", "0x1e", "1/0", "1/00", "-1/3", "1/-3", "1/3/3", "٣٠", "３０", "½", "1e٣", "1\x00"),
        *(True, None, b"30", [30], 1j, float("nan"), float("inf"), 1e-320, 1.7e308, 10**5000, {}),
    ],
    ids=lambda value: repr(value)[:20] if not isinstance(value, int) or value < 10 else "large",
)
def test_what_is_no_number_of_sensible_length(value: object) -> None:
    assert number(value) is None
    assert len(shown(value)) <= 60


@pytest.mark.parametrize("digit", [chr(code) for code in range(128, sys.maxunicode) if chr(code).isdigit()][::25])
def test_digits_are_those_of_ascii(digit: str) -> None:
    assert number(digit) is None
    assert number(f"1{digit}") is None


@pytest.mark.parametrize("value", [8, np.int64(8), np.uint8(8), np.array(8)], ids=repr)
def test_whole_numbers_of_any_library(value: object) -> None:
    assert whole(value) == 8
    assert type(whole(value)) is int


@pytest.mark.parametrize("value", [True, np.True_, 8.0, np.float64(8), "8", None, [8], np.array([3, 3]), Fraction(8)])
def test_what_is_no_whole_number(value: object) -> None:
    assert whole(value) is None


def test_rates_are_exact_with_the_units_that_people_write_them_in() -> None:
    assert quantity("864 MOPS", OPS_UNITS) == quantity("0.864e9", OPS_UNITS) == 864_000_000
    assert quantity("5.3TFLOPS", OPS_UNITS) == 5_300_000_000_000
    assert quantity("1.5 GiB/s", BANDWIDTH_UNITS) == 3 << 29
    assert quantity("204.8GB/s", BANDWIDTH_UNITS) == 204_800_000_000


@pytest.mark.parametrize("text", ["", "fast", "1 mOPS", "1 Gb/s", "1e999", "1" * 31, "1 GB", "1,5"])
def test_what_is_no_rate_is_none(text: str) -> None:
    assert quantity(text, BANDWIDTH_UNITS) is None
    assert quantity(text, OPS_UNITS) is None
