from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weighbridge.units import binary_bytes, decimal_bytes, exact, seconds, short

FACTORS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18, "Z": 10**21, "Y": 10**24}
BINARY = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60, "Zi": 2**70, "Yi": 2**80}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (9_999, "9,999"),
        (10_000, "10.00 k"),
        (999_949, "999.9 k"),
        (999_950, "1.000 M"),
        (724_406_816, "724.4 M"),
        (10**30, "1,000,000 Y"),
        (-5_000_000, "-5.000 M"),
    ],
)
def test_short(value: int, text: str) -> None:
    assert short(value) == text


def test_decimal_and_binary_units_are_never_confused() -> None:
    assert decimal_bytes(243_818_624) == "243.8 MB"
    assert binary_bytes(243_818_624) == "232.5 MiB"
    assert decimal_bytes(1_000_000) == "1.000 MB"
    assert binary_bytes(1_048_576) == "1.000 MiB"
    assert decimal_bytes(999) == binary_bytes(999) == "999 B"
    assert (decimal_bytes(1000), binary_bytes(1000)) == ("1.000 kB", "1,000 B")


def value_of(text: str, factors: dict[str, int]) -> tuple[Decimal, Decimal]:
    """The number that a text states, and half of its last place."""
    number, _, prefix = text.partition(" ")
    digits = Decimal(number.replace(",", ""))
    step = Decimal(1).scaleb(int(digits.as_tuple().exponent))
    return digits * factors[prefix], step * factors[prefix] / 2


@given(st.integers(min_value=0, max_value=2**80))
@example(99_995)
@example(999_999_999)
def test_a_short_number_is_the_exact_one_rounded_to_four_digits(value: int) -> None:
    stated, tolerance = value_of(short(value), FACTORS)
    assert abs(stated - value) <= tolerance
    assert tolerance * 1000 <= max(value, 1000)


@given(st.integers(min_value=1024, max_value=2**90))
def test_binary_bytes_are_the_exact_ones_rounded(value: int) -> None:
    stated, tolerance = value_of(binary_bytes(value).removesuffix("B"), BINARY)
    assert abs(stated - value) <= tolerance
    assert tolerance * 1000 <= value


@given(st.integers(min_value=1000, max_value=2**90))
def test_decimal_bytes_are_the_exact_ones_rounded(value: int) -> None:
    stated, tolerance = value_of(decimal_bytes(value).removesuffix("B"), FACTORS)
    assert abs(stated - value) <= tolerance


def test_exact_keeps_every_digit() -> None:
    assert exact(2**63 + 1) == "9,223,372,036,854,775,809"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 s"),
        (0.638, "638 ms"),
        (3.35, "3.35 s"),
        (999.99e-6, "1 ms"),
        (3e-5, "30 µs"),
        (1e-12, "1 ps"),
        (1234.5, "1234 s"),
    ],
)
def test_seconds(value: float, text: str) -> None:
    assert seconds(value) == text
