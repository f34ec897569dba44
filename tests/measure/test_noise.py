"""What is told of a measurement that was disturbed, and that nothing is told of one that was not."""

from __future__ import annotations

import pytest

from weighbridge.measure.noise import Load, drift, noises, together
from weighbridge.measure.summary import summary

QUIET = [1.0, 1.001, 1.002] * 40
CALM = Load(
    10.0, 4, busy_s=10.1, own_s=10.0, stolen_s=0.0, interrupted=40, frequency_before_hz=3e9, frequency_after_hz=3e9
)


def told(load: Load | None, rounds: tuple[Load, ...] = (), samples: list[float] = QUIET) -> tuple[str, ...]:
    return noises(samples, summary(samples), load, 0.01, rounds)


def test_nothing_is_told_of_a_quiet_measurement() -> None:
    assert told(CALM, (CALM,) * 8) == ()
    assert told(None) == ()
    assert told(Load(10.0, 4)) == ()


@pytest.mark.parametrize(
    ("load", "said"),
    [
        (CALM._replace(busy_s=20.0), "other programs kept 1.00 of 4 processors busy"),
        (CALM._replace(stolen_s=0.5), "the hypervisor gave 5.0% of a processor to others"),
        (CALM._replace(interrupted=5_000), "the measurement lost its processor 5,000 times in 10.0 s"),
        (CALM._replace(frequency_after_hz=2e9), "the processor ran at 2.00 to 3.00 GHz"),
    ],
)
def test_each_disturbance_is_told(load: Load, said: str) -> None:
    assert told(load) == (said,)


def test_what_disturbs_a_few_rounds_is_told_of_those() -> None:
    """A mean over the whole measurement would hide it."""
    calm = CALM._replace(wall_s=1.0, busy_s=1.01, own_s=1.0, interrupted=4)
    rounds = (*[calm] * 38, calm._replace(busy_s=2.0), calm._replace(busy_s=1.6))
    whole = together(rounds)
    assert whole is not None
    assert whole.others == pytest.approx(0.0495, abs=0.005)
    assert told(whole, rounds) == ("other programs were busy in 2 of 40 rounds, with 1.00 processors at most",)


def test_a_frequency_that_came_back_is_seen_in_the_rounds() -> None:
    rounds = (CALM, CALM._replace(frequency_after_hz=1.5e9), CALM)
    whole = together(rounds)
    assert whole is not None
    assert whole.frequency_before_hz == whole.frequency_after_hz
    assert told(whole, rounds) == ("the processor ran at 1.50 to 3.00 GHz",)


def test_loads_add_up_and_what_one_does_not_say_they_do_not_say() -> None:
    one, other = CALM, CALM._replace(busy_s=None, interrupted=2)
    found = together((one, other))
    assert found is not None
    assert (found.wall_s, found.busy_s, found.own_s, found.interrupted) == (20, None, 20, 42)
    assert found.others is None
    assert together(()) is None


def test_counters_that_are_read_one_after_the_other_make_no_work_less_than_none() -> None:
    assert CALM._replace(busy_s=9.9).others == 0
    assert CALM._replace(wall_s=0.0).others is None


def test_so_many_samples_are_too_few() -> None:
    assert told(None, samples=[1.0]) == ("1 sample is too few, or too much alike, for an interval of the median",)
    assert told(None, samples=[1.0, 1.1])[0].startswith("2 samples are too few")


def test_samples_far_out_are_told_where_they_are_many() -> None:
    few, many = [*QUIET, *[9.0] * 3], [*QUIET, *[9.0] * 12]
    assert told(None, samples=few) == ()
    assert told(None, samples=many)[-1].startswith("12 of 132 samples lie far out, above 1.0")


def test_drift_needs_thirds_that_can_be_told_apart() -> None:
    assert drift([1.0] * 17) is None
    assert drift([1.0] * 30) is None
    assert drift([1.0] * 10 + [1.1] * 10 + [1.2] * 10) == pytest.approx(0.2)
    assert drift([1.2] * 10 + [1.1] * 10 + [1.0] * 10) == pytest.approx(-1 / 6)
    assert drift([0.0] * 10 + [1.0] * 20) is None
    assert drift([1.0] * 6 + [1.1] * 6 + [1.2] * 6) == pytest.approx(0.2)


def test_a_falling_time_is_told_as_a_rising_one_is() -> None:
    assert "the last third of the runs took 9.1% less than the first" in told(None, samples=[1.1] * 40 + [1.0] * 80)
    assert "the last third of the runs took 10.0% more than the first" in told(None, samples=[1.0] * 80 + [1.1] * 40)


@pytest.mark.parametrize(("others_s", "is_told"), [(0.4, False), (0.6, True)])
def test_others_are_told_from_a_twentieth_of_a_processor(others_s: float, is_told: bool) -> None:
    assert bool(told(CALM._replace(busy_s=10 + others_s, own_s=10.0))) == is_told


@pytest.mark.parametrize(("others_s", "is_told"), [(0.2, False), (0.3, True)])
def test_a_round_is_disturbed_from_a_quarter_of_a_processor(others_s: float, is_told: bool) -> None:
    one = CALM._replace(wall_s=1.0, own_s=1.0, busy_s=1.0 + others_s)
    assert bool(told(None, (*[CALM] * 8, one))) == is_told


def test_what_disturbs_all_rounds_is_told_of_the_whole_alone() -> None:
    busy = CALM._replace(busy_s=20.0)
    assert told(together([busy] * 8), (busy,) * 8) == ("other programs kept 1.00 of 4 processors busy",)


def test_a_short_measurement_may_lose_its_processor_as_often_as_a_second_does() -> None:
    assert told(CALM._replace(wall_s=0.1, busy_s=0.1, own_s=0.1, interrupted=20)) == ()
    assert told(CALM._replace(wall_s=0.1, busy_s=0.1, own_s=0.1, interrupted=21)) != ()


def test_the_frequency_of_all_loads_is_from_the_first_to_the_last() -> None:
    found = together((CALM, CALM._replace(frequency_before_hz=2e9, frequency_after_hz=1e9)))
    assert found is not None
    assert (found.frequency_before_hz, found.frequency_after_hz) == (3e9, 1e9)
