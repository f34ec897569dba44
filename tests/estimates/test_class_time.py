"""The formula of a network's time by classes of operators, by hand on round numbers."""

from __future__ import annotations

import pytest

from weighbridge.devices.measured import Amount
from weighbridge.devices.timed import ClassRates, Timed
from weighbridge.estimates.class_time import time_of
from weighbridge.estimates.class_work import ClassWork

LINEAR = ClassWork("linear", macs=4000, bytes=600, special=8, nodes=2, steps=3)


def amount(value: float) -> Amount:
    return Amount(value, "made up for a test")


def timed(*classes: ClassRates) -> Timed:
    return Timed("ours", "1", "plain", "float32", 1, True, "a bench", classes, call_s=amount(7))


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ({"macs_per_s": 1000}, 4),
        ({"bytes_per_s": 100}, 6),
        ({"special_per_s": 2}, 4),
        ({"overhead_s": 0.5}, 1.5),
        ({"macs_per_s": 1000, "bytes_per_s": 100, "special_per_s": 2, "overhead_s": 0.5}, 15.5),
        ({"macs_per_s": 1000, "overhead_s": 0.5, "efficiency": 0.5}, 11),
    ],
)
def test_the_terms_add_up_and_the_efficiency_divides_them(rates: dict[str, float], expected: float) -> None:
    each = ClassRates("linear", **{name: amount(value) for name, value in rates.items()})
    assert time_of(timed(each), [LINEAR]) == ({"linear": expected}, ())


def test_a_class_without_rates_is_named_and_no_other_stands_in_for_it() -> None:
    rates = ClassRates("linear", overhead_s=amount(1))
    by, missing = time_of(
        timed(rates), [LINEAR._replace(operators="softmax"), LINEAR, LINEAR._replace(operators="copy")]
    )
    assert (by, missing) == ({"linear": 3}, ("softmax", "copy"))


def test_more_than_a_number_can_hold_is_no_time() -> None:
    with pytest.raises(OverflowError):
        time_of(timed(ClassRates("linear", macs_per_s=amount(1))), [LINEAR._replace(macs=10**400)])
