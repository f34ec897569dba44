"""Rates of single operators come back from the times that known coefficients make."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.calibration.networks import CALL_S, TRUE, operators
from weighbridge.calibration.efficiencies import Efficiencies
from weighbridge.calibration.entry import Runs, with_efficiencies, with_rates, without_efficiencies
from weighbridge.calibration.rates import Limits, fit_rates
from weighbridge.calibration.rows import Row
from weighbridge.estimates.class_time import FAR_MEMORY
from weighbridge.estimates.class_work import ClassWork

UNBOUNDED = Limits()
KINDS = (("operations", 4), ("operations", 9), ("compares", 3), ("compares", 8))


def test_known_coefficients_are_recovered() -> None:
    found = fit_rates(operators(), UNBOUNDED)
    assert found.call_s == pytest.approx(CALL_S, rel=1e-4)
    for name, seconds in TRUE.items():
        for term, value in seconds._asdict().items():
            if value:
                assert getattr(found.classes[name], term) == pytest.approx(value, rel=1e-3), (name, term)
    assert max(abs(one.error) for one in found.residuals) < 1e-6


def test_a_term_that_takes_no_time_is_found_to_be_none() -> None:
    found = fit_rates(operators(), UNBOUNDED)
    assert found.classes["copy"].macs == 0
    assert found.classes["copy"].special == 0
    assert found.classes["copy"].steps == pytest.approx(0, abs=1e-10)


def test_classes_stand_in_the_order_of_the_file_and_each_residual_names_its_own() -> None:
    found = fit_rates(list(reversed(operators())), UNBOUNDED)
    assert list(found.classes) == ["dense convolution", "linear", "softmax", "copy"]
    assert {one.operators for one in found.residuals} == set(TRUE)


def test_two_rows_that_are_far_off_do_not_move_it() -> None:
    rows = operators()
    rows[3] = rows[3]._replace(time_s=rows[3].time_s * 20)
    rows[29] = rows[29]._replace(time_s=rows[29].time_s / 5)
    found = fit_rates(rows, UNBOUNDED)
    assert found.classes["dense convolution"].macs == pytest.approx(TRUE["dense convolution"].macs, rel=0.05)
    assert found.classes["linear"].macs == pytest.approx(TRUE["linear"].macs, rel=0.05)
    worst = sorted(found.residuals, key=lambda one: -abs(one.error))[:2]
    assert {one.name for one in worst} == {rows[3].name, rows[29].name}


def test_nothing_is_faster_than_the_machine() -> None:
    limits = Limits(macs_per_s=2e10, bytes_per_s=4e9)
    found = fit_rates(operators(), limits)
    for each in found.classes.values():
        assert each.macs == 0 or each.macs >= 1 / 2e10
        assert each.bytes >= 1 / 4e9
    assert found.classes["copy"].macs == 0  # nothing of it multiplies


def test_a_peak_that_is_not_known_and_calls_that_cannot_be_told_apart_are_said() -> None:
    rows = [row for row in operators() if row.work[0].steps == 1]
    assert len(fit_rates(rows, UNBOUNDED).notes) == 2
    assert fit_rates(operators(), Limits(1e15, 1e15)).notes == ()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.2, 5), min_size=64, max_size=64), st.floats(1e-3, 1e3))
def test_no_coefficient_is_negative_and_all_times_scale(factors: list[float], scale: float) -> None:
    rows = [row._replace(time_s=row.time_s * factor) for row, factor in zip(operators(), factors, strict=True)]
    found = fit_rates(rows, UNBOUNDED)
    scaled = fit_rates([row._replace(time_s=row.time_s * scale) for row in rows], UNBOUNDED)
    assert found.call_s >= 0
    assert all(one >= 0 for each in found.classes.values() for one in each)
    for one, other in zip(found.residuals, scaled.residuals, strict=True):
        assert other.expected_s == pytest.approx(one.expected_s * scale, rel=1e-3)


def rows_of(operators: str, *each: dict[str, float], times: list[float]) -> list[Row]:
    """A row for each, of one class."""
    return [
        Row(f"{operators} {place}", operators, (ClassWork(operators, nodes=1, **{"steps": 1, **asked}),), time_s)
        for place, (asked, time_s) in enumerate(zip(each, times, strict=True))
    ]


def test_far_bytes_take_a_time_more_in_all_classes_alike() -> None:
    rows = operators()
    far = [
        row._replace(work=(row.work[0]._replace(far_bytes=0.5 * row.work[0].bytes),), name=f"far {row.name}")
        for row in rows
    ]
    slower = [row._replace(time_s=row.time_s + row.work[0].far_bytes * 4e-11) for row in far]
    assert fit_rates([*rows, *slower], UNBOUNDED).far_byte_s == pytest.approx(4e-11, rel=1e-3)
    assert fit_rates(rows, UNBOUNDED).far_byte_s == 0


def test_a_recurrence_has_a_time_of_its_own_beside_its_steps() -> None:
    asked = [{"steps": steps, "bytes": size} for steps in (1, 16, 50) for size in (1e3, 1e5)]
    times = [CALL_S + 3e-5 + each["steps"] * 2e-6 + each["bytes"] * 1e-10 for each in asked]
    found = fit_rates([*rows_of("recurrence", *asked, times=times), *operators()], UNBOUNDED)
    assert found.classes["recurrence"].nodes == pytest.approx(3e-5, rel=0.01)
    assert found.classes["recurrence"].steps == pytest.approx(2e-6, rel=0.01)
    assert found.classes["linear"].nodes == 0  # which cannot be told from that of its steps


def test_windows_take_operations_and_comparisons_and_what_is_used_once_takes_bytes() -> None:
    asked = [{"bytes": size, kind: size * taps} for size in (1e4, 1e6) for kind, taps in KINDS]
    times = [
        1e-6 + each["bytes"] * 1e-10 + each.get("operations", 0) * 1e-9 + each.get("compares", 0) * 4e-9
        for each in asked
    ]
    pooling = fit_rates(rows_of("pooling", *asked, times=times), UNBOUNDED).classes["pooling"]
    assert (pooling.operations, pooling.compares) == (pytest.approx(1e-9, rel=0.01), pytest.approx(4e-9, rel=0.01))
    other = fit_rates(rows_of("elementwise", *asked, times=times), UNBOUNDED).classes["elementwise"]
    assert (other.operations, other.compares) == (0, 0)
    assert other.bytes > 1e-10


RUNS = Runs("a runtime", "1", "plain", "float32", 2, True, "a bench", "made up for a test", near_bytes=2**21, lanes=16)


def test_an_entry_has_the_memory_and_the_lanes_that_its_work_was_told_with() -> None:
    rates = fit_rates(operators(), UNBOUNDED)
    far = with_rates(RUNS, rates._replace(far_byte_s=5e-11))
    assert far.near_bytes is not None
    assert far.far_bytes_per_s is not None
    assert (far.near_bytes.value, far.far_bytes_per_s.value, far.lanes) == (2**21, pytest.approx(2e10), 16)
    alike = with_rates(RUNS, rates)  # no byte takes longer than another
    assert (alike.near_bytes, alike.far_bytes_per_s) == (None, None)


def test_networks_say_how_much_of_the_far_rate_they_reach_and_without_them_it_is_as_before() -> None:
    plain = with_rates(RUNS, fit_rates(operators(), UNBOUNDED)._replace(far_byte_s=5e-11))
    reached = Efficiencies(0.5, {"linear": 0.8, FAR_MEMORY: 0.25}, 1.0)
    found = with_efficiencies(plain, reached, None, 5, [10], "made up for a test")
    assert found.far_efficiency is not None
    assert found.far_efficiency.value == 0.25
    assert without_efficiencies(found) == plain
