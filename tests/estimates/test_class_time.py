"""The formula of a network's time by classes of operators, by hand on round numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from weighbridge.devices.measured import Amount
from weighbridge.devices.timed import ClassRates, Timed
from weighbridge.estimates.class_time import FAR_MEMORY, asked_of, time_of
from weighbridge.estimates.class_work import ClassWork, NodeWork

LINEAR = ClassWork(
    "linear", macs=4000, bytes=600, far_bytes=90, operations=20, compares=12, special=8, nodes=2, steps=3
)


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
        ({"operations_per_s": 4}, 5),
        ({"compares_per_s": 4}, 3),
        ({"overhead_s": 0.5}, 1.5),
        ({"node_overhead_s": 0.5}, 1),
        ({"macs_per_s": 1000, "bytes_per_s": 100, "special_per_s": 2, "overhead_s": 0.5}, 15.5),
        ({"macs_per_s": 1000, "overhead_s": 0.5, "efficiency": 0.5}, 11),
    ],
)
def test_the_terms_add_up_and_the_efficiency_divides_them(rates: dict[str, float], expected: float) -> None:
    each = ClassRates("linear", **{name: amount(value) for name, value in rates.items()})
    assert time_of(timed(each), [LINEAR]) == ({"linear": expected}, ())


def test_far_bytes_stand_beside_the_classes_and_have_an_efficiency_of_their_own() -> None:
    rates = ClassRates("linear", bytes_per_s=amount(100), efficiency=amount(0.5))
    machine = replace(timed(rates), near_bytes=amount(50), far_bytes_per_s=amount(10))
    copied = LINEAR._replace(operators="copy")
    assert time_of(machine, [LINEAR, copied]) == ({"linear": 12, FAR_MEMORY: 9}, ("copy",))
    slower = replace(machine, far_efficiency=amount(0.25))
    assert time_of(slower, [LINEAR])[0] == {"linear": 12, FAR_MEMORY: 36}


def test_work_is_told_with_the_memory_and_the_lanes_of_the_runtime() -> None:
    works = [NodeWork("linear", 10, (10, 20, 30), running_bytes=200)]
    machine = replace(timed(), near_bytes=amount(50), far_bytes_per_s=amount(10), lanes=16)
    (far,), (near,) = asked_of(machine, works), asked_of(timed(), works)
    assert (far.macs, far.far_bytes) == (30, 150)
    assert (near.macs, near.far_bytes) == (10, 0)


def test_a_class_without_rates_is_named_and_no_other_stands_in_for_it() -> None:
    rates = ClassRates("linear", overhead_s=amount(1))
    by, missing = time_of(
        timed(rates), [LINEAR._replace(operators="softmax"), LINEAR, LINEAR._replace(operators="copy")]
    )
    assert (by, missing) == ({"linear": 3}, ("softmax", "copy"))


def test_more_than_a_number_can_hold_is_no_time() -> None:
    with pytest.raises(OverflowError):
        time_of(timed(ClassRates("linear", macs_per_s=amount(1))), [LINEAR._replace(macs=10**400)])
