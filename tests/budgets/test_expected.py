"""Budgets on expected times: beside those on the floor, decided by the estimate or by the end of its range, and never by silence."""

from __future__ import annotations

import pytest

from tests.budgets.made import reason, result
from weighbridge import weigh
from weighbridge.budgets.record import NOT_EXACT, OVER, PASSED
from weighbridge.budgets.words import outcome
from weighbridge.report import Report

NETWORK = "mobilenet_v1:width=0.25,resolution=96"
ON = ["stm32l4r5", "stm32f412"]


@pytest.fixture(scope="module")
def real() -> Report:
    return weigh(NETWORK, precision="int8", on=ON)


@pytest.mark.parametrize(
    ("budget", "status"),
    [
        ("floor_s <= 40 ms on stm32l4r5", PASSED),
        ("expected_s.X-CUBE-AI 9.0 <= 110 ms on stm32l4r5", PASSED),
        ("expected_most_s.X-CUBE-AI 9.0 <= 110 ms on stm32l4r5", OVER),
        ("expected_s.hale-1.0.175 <= 110 ms on stm32l4r5", OVER),
        ("expected_energy_j.x-cube-ai-9.0 <= 5 mJ on stm32l4r5", PASSED),
        ("expected_most_energy_j.x-cube-ai-9.0 <= 5 mJ on stm32l4r5", OVER),
    ],
)
def test_a_limit_is_on_the_floor_on_what_is_expected_or_on_the_most_of_it(
    real: Report, budget: str, status: str
) -> None:
    found = result(real, budget, on=ON)
    assert found.status == status
    if budget.startswith("expected"):
        assert [note for note in found.notes if note.startswith("expected 1") and "not a measurement" in note]


def test_it_is_said_with_two_digits(real: Report) -> None:
    found = result(real, "expected_s.X-CUBE-AI 9.0 <= 50 ms on stm32l4r5", on=ON)
    assert outcome(found) == "100 ms, which is 53 ms too much (110 % of the limit)"


def test_growth_is_told_too(real: Report) -> None:
    before = weigh("mobilenet_v1:width=0.25,resolution=64", precision="int8", on=ON)
    found = result(real, "expected_s.X-CUBE-AI 9.0 grows <= 10 % on stm32l4r5", before, on=ON)
    assert found.status == OVER


def test_what_has_no_expected_time_decides_nothing_and_says_why() -> None:
    floats = weigh("lenet5", on=ON)
    found = result(floats, "expected_s.X-CUBE-AI 9.0 <= 1 s on stm32l4r5", on=ON)
    assert (found.status, found.value) == (NOT_EXACT, None)
    assert [note for note in found.notes if "c1 computes at float32, and they were measured at int8" in note]


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        ("expected_s.X-CUBE-AI 9.0 <= 1 s on stm32f412", "nobody measured networks on stm32f412, so nothing is"),
        ("expected_s.X-CUBE-AI <= 1 s on stm32l4r5", "did you mean expected_s.X-CUBE-AI 9.0?"),
        ("expected_energy_j.HALE 1.0.175 <= 1 J on stm32l4r5", "nobody measured the power on stm32l4r5 with these"),
    ],
)
def test_what_nobody_measured_is_told(real: Report, budget: str, why: str) -> None:
    assert why in reason(real, budget, on=ON)
