"""Synthetic operators and networks whose coefficients are known, so that a fit has something to find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from random import Random

from weighbridge.calibration.efficiencies import Single
from weighbridge.calibration.rates import Seconds
from weighbridge.calibration.rows import Row
from weighbridge.estimates.class_work import ClassWork

CALL_S = 5e-6
TRUE: Mapping[str, Seconds] = {
    "dense convolution": Seconds(macs=2e-11, bytes=1e-10, special=0.0, steps=3e-6),
    "linear": Seconds(macs=3e-11, bytes=2e-10, special=0.0, steps=2e-6),
    "softmax": Seconds(macs=0.0, bytes=1e-10, special=4e-9, steps=1e-6),
    "copy": Seconds(macs=0.0, bytes=2e-10, special=0.0, steps=0.0),
}
EFFICIENT: Mapping[str, float] = {"dense convolution": 0.8, "linear": 0.5, "softmax": 1.3, "copy": 0.4}


def work(operators: str, size: int, steps: int = 1) -> ClassWork:
    """What so large an operator asks of the classes above."""
    macs = 400 * size if TRUE[operators].macs else 0
    special = size if TRUE[operators].special else 0
    return ClassWork(
        operators, macs * steps, (8 * size + 1000) * steps, special=special * steps, nodes=steps, steps=steps
    )


def time_of(each: Sequence[ClassWork], call_s: float = CALL_S) -> float:
    """By the coefficients above."""
    return call_s + sum(
        one.macs * TRUE[one.operators].macs
        + one.bytes * TRUE[one.operators].bytes
        + one.special * TRUE[one.operators].special
        + one.steps * TRUE[one.operators].steps
        for one in each
    )


def operators() -> list[Row]:
    """Each class at several sizes, with few bytes and with many, alone and in a chain."""
    rows = []
    for name, size, wide, steps in product(TRUE, (100, 1_000, 20_000, 300_000), (1, 12), (1, 8)):
        asked = work(name, size, steps)
        asked = asked._replace(bytes=asked.bytes * wide)
        label = f"{name} {size} x {wide} x {steps}"
        rows.append(Row(label, label, (asked,), time_of([asked])))
    return rows


def networks(
    count: int, seed: int = 0, *, noise: float = 0.0, efficient: Mapping[str, float] = EFFICIENT
) -> list[Single]:
    """Networks of a mixture of the classes each, whose times are those of ``efficient`` and so much noise."""
    random = Random(seed)
    found = []
    for number in range(count):
        by = {name: 10 ** random.uniform(-4, -2) for name in efficient}
        time_s = CALL_S + sum(seconds / efficient[name] for name, seconds in by.items())
        found.append(
            Single(f"network {number}", f"network {number}", by, CALL_S, time_s * (1 + noise * random.uniform(-1, 1)))
        )
    return found
