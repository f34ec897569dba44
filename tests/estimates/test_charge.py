"""Batteries as they are written: the letters that matter, the digits of ASCII."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.errors import BadSpec
from weighbridge.estimates import Battery, battery_named, charge


@given(
    capacity=st.decimals("0.000001", 10**11, places=6),
    voltage=st.decimals("0.000001", 10**5, places=6),
    milli=st.tuples(*[st.sampled_from(["", "m"])] * 2),
    ampere_hours=st.sampled_from(["Ah", "ah", "AH", "aH"]),
    volt=st.sampled_from("vV"),
)
def test_a_battery_is_exact_and_only_the_m_is_told_from_its_capital(
    capacity, voltage, milli, ampere_hours, volt
) -> None:
    found = battery_named(f"{capacity} {milli[0]}{ampere_hours} @ {voltage}{milli[1]}{volt}")
    assert found.capacity_mah == Fraction(capacity) * (1 if milli[0] else 1000)
    assert found.voltage_v == Fraction(voltage) / (1000 if milli[1] else 1)
    for mega in (("M", milli[1]), (milli[0], "M")):
        with pytest.raises(BadSpec, match="is no battery"):
            battery_named(f"{capacity} {mega[0]}{ampere_hours} @ {voltage}{mega[1]}{volt}")


@pytest.mark.parametrize("text", ["２０００mAh@３.７V", "٢mAh@٣V", "2000mAh@٣V", "2kAh@3V", "2000µAh@3V", "1e3mAh@3V"])
def test_what_is_no_battery(text: str) -> None:
    with pytest.raises(BadSpec, match="is no battery") as caught:
        battery_named(text)
    assert caught.value.where == "battery"


@given(energy=st.floats(0, allow_infinity=True), capacity=st.integers(1, 10**15), milli_volt=st.integers(1, 10**9))
def test_a_charge_is_finite_or_unknown(energy: float, capacity: int, milli_volt: int) -> None:
    found = charge(energy, Battery(Fraction(capacity), Fraction(milli_volt, 1000)))
    largest = Fraction(energy) / Fraction(milli_volt, 1000) if math.isfinite(energy) else None
    if not energy or largest is None or largest > 10**308:
        assert found is None or math.isfinite(found.charge_c)
    else:
        assert found is not None
        assert found.charge_c == pytest.approx(float(largest))
        assert found.runs >= 0
