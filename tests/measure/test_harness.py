"""When a measurement is warm, how long a sample is, when there are enough: on machines whose time is counted, not waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

import pytest

from tests.measure.machines import Machine
from weighbridge.measure.harness import Asked, alternate, is_enough, is_warm, runs_per_sample, take
from weighbridge.measure.noise import Load, drift, noises
from weighbridge.measure.runners import runner
from weighbridge.measure.summary import summary

ASKED = Asked()


def test_a_quiet_machine_is_measured_until_the_median_is_known_and_no_longer() -> None:
    machine = Machine()
    taken = take(machine.runs(0.01), ASKED)
    assert summary(taken.samples_s).relative_width <= ASKED.width  # type: ignore[operator]
    assert len(taken.rounds) == ASKED.least_rounds
    assert machine.now_s < 4


def test_a_restless_machine_is_measured_for_longer_and_not_beyond_the_time() -> None:
    quiet, restless = (take(Machine(scatter=scatter).runs(0.01), ASKED) for scatter in (0.01, 0.3))
    assert len(restless.samples_s) > 3 * len(quiet.samples_s)
    machine = Machine(scatter=1)
    hopeless = take(machine.runs(0.01), Asked(most_s=5))
    spent = sum(hopeless.samples_s)
    assert 5 <= spent < 6.5
    assert "known to" in noises(hopeless.samples_s, summary(hopeless.samples_s), None, 0.01)[0]


@pytest.mark.parametrize("run_s", [1e-7, 1e-5, 1e-3])
def test_a_run_too_short_for_the_clock_shares_its_sample(run_s: float) -> None:
    taken = take(Machine().runs(run_s), ASKED)
    assert taken.runs_per_sample * median(taken.samples_s) >= 0.9e-3
    assert median(taken.samples_s) == pytest.approx(run_s, rel=0.02)
    assert len(taken.samples_s) < ASKED.most_samples
    assert sum(taken.samples_s) * taken.runs_per_sample >= 1.5


def test_a_long_run_is_a_sample_each_and_the_time_ends_it() -> None:
    machine = Machine()
    taken = take(machine.runs(7.0), ASKED)
    assert (taken.runs_per_sample, len(taken.warm_up_s), len(taken.samples_s)) == (1, 1, 3)
    assert taken.rounds == (0, 1, 2)
    found = summary(taken.samples_s)
    assert found.median_interval is None
    assert "too few" in noises(taken.samples_s, found, None, 0.01)[0]


def test_a_clock_that_shows_no_time_ends_too() -> None:
    taken = take(lambda count, runs: [0.0] * count, Asked(most_samples=2_000, warm_up_s=0))
    assert len(taken.samples_s) == 2_000


def test_what_is_cold_is_in_no_sample() -> None:
    """Half a second of runs that get faster, as of a processor that wakes: the figures are of what is after."""
    machine = Machine(lambda now: 1 + 3 * max(0.0, 0.5 - now), scatter=0.002)
    taken = take(machine.runs(0.005), ASKED)
    assert taken.warm_up_s[0] > 0.012
    assert max(taken.samples_s) < 0.0055
    assert machine.asked[0] == ("", 1, 1)


def test_a_warm_up_that_never_ends_is_ended() -> None:
    machine = Machine(lambda now: 1 / (1 + now))
    taken = take(machine.runs(0.1), Asked(warm_up_s=2, most_s=2))
    assert 2 <= sum(taken.warm_up_s) < 2.5


def test_the_first_run_alone_may_be_the_warm_up() -> None:
    assert is_warm([4.0], 4.0, ASKED)
    assert not is_warm([], 0.0, ASKED)
    assert not is_warm([1.0] * 6, 0.1, ASKED)
    assert is_warm([1.0] * 6, 0.3, ASKED)
    assert not is_warm([2.0, 2.0, 2.0, 1.0, 1.0, 1.0], 0.3, ASKED)


def test_the_least_that_was_asked_for_is_taken() -> None:
    same = [1.0] * 29
    assert not is_enough(same, 1.0, ASKED, rounds=20)
    assert not is_enough([*same, 1.0], 1.0, ASKED, rounds=7)
    assert is_enough([*same, 1.0], 1.0, ASKED, rounds=8)
    assert is_enough(same, 20.0, ASKED, rounds=1)
    assert not is_enough([], 20.0, ASKED, rounds=0)


def test_no_more_samples_are_taken_than_asked_for() -> None:
    taken = take(Machine(scatter=0.1).runs(0.02), Asked(most_samples=300, width=1e-6))
    assert len(taken.samples_s) == 300


def test_runs_of_a_sample_follow_from_the_time_asked_for() -> None:
    assert runs_per_sample(1e-5, ASKED) == 100
    assert runs_per_sample(1e-5, Asked(most_samples=1_000_000)) == 10
    assert runs_per_sample(1.0, ASKED) == 1


def test_drift_is_told() -> None:
    machine = Machine(lambda now: 1 + 0.02 * now)
    taken = take(machine.runs(0.01), Asked(width=1e-9, most_s=5))
    moved = drift(taken.samples_s)
    assert moved is not None
    assert moved == pytest.approx(0.066, abs=0.03)
    assert any(
        "the last third of the runs took" in one for one in noises(taken.samples_s, summary(taken.samples_s), None, 1)
    )
    steady = take(Machine().runs(0.01), Asked(width=1e-9, most_s=5))
    assert drift(steady.samples_s) is None


def test_a_machine_of_two_speeds_has_no_interval_that_hides_one() -> None:
    """Two speeds a second each: the median may be either, and the interval says so."""
    machine = Machine(lambda now: 1.0 if now % 2 < 1 else 1.5)
    taken = take(machine.runs(0.01), Asked(most_s=16))
    found = summary(taken.samples_s)
    assert found.correlation_time > 20
    assert found.median_interval is not None
    assert found.median_interval.low_s == pytest.approx(0.01, rel=0.05)
    assert found.median_interval.high_s == pytest.approx(0.015, rel=0.05)


def test_networks_in_turns_share_a_machine_that_changes_its_speed() -> None:
    machine = Machine(lambda now: 1.0 if now < 6 else 2.0)
    one, other = alternate([machine.runs(0.01, "one"), machine.runs(0.01, "other")], Asked(width=1e-9, most_s=6))
    slow = [sum(sample > 0.015 for sample in taken.samples_s) / len(taken.samples_s) for taken in (one, other)]
    assert abs(slow[0] - slow[1]) < 0.1
    assert 0.2 < slow[0] < 0.8
    assert len(one.rounds) == len(other.rounds)


def test_the_turns_go_forwards_and_backwards() -> None:
    machine = Machine()
    alternate([machine.runs(0.01, "one"), machine.runs(0.02, "other")], Asked(warm_up_s=0, least_rounds=4, width=1))
    turns = [name for name, _, _ in machine.asked][2:]
    assert turns[:8] == ["one", "other", "other", "one"] * 2


def test_the_quick_one_goes_on_while_the_other_needs_more() -> None:
    machine = Machine()
    restless = Machine(scatter=0.4)
    one, other = alternate([machine.runs(0.01), restless.runs(0.01)], ASKED)
    assert len(one.rounds) == len(other.rounds) > ASKED.least_rounds


def test_rounds_are_watched_one_by_one() -> None:
    machine = Machine()
    seen: list[Load] = []

    def watch() -> Callable[[], Load]:
        before = machine.now_s

        def after() -> Load:
            seen.append(Load(machine.now_s - before, 2))
            return seen[-1]

        return after

    taken = take(machine.runs(0.01), ASKED, watch)
    assert taken.loads == tuple(seen)
    assert len(taken.loads) == len(taken.rounds)
    begins: Sequence[int] = (*taken.rounds[1:], len(taken.samples_s))
    for begin, end, load in zip(taken.rounds, begins, taken.loads, strict=True):
        assert load.wall_s == pytest.approx(sum(taken.samples_s[begin:end]))


def test_time_is_used_up_by_all_runs_of_a_sample() -> None:
    """Runs that are fifty times as slow as they were: the next round is one too many, and the last one."""
    machine = Machine(lambda now: 1.0 if now < 0.5 else 50.0)
    taken = take(machine.runs(1e-5), Asked(most_s=4, width=1e-9))
    assert taken.runs_per_sample > 1
    assert len(taken.samples_s) < 5_000


def test_the_first_cold_run_is_none_of_the_six_that_tell_whether_it_is_warm() -> None:
    machine = Machine(scatter=0)
    assert len(take(machine.runs(0.1), ASKED).warm_up_s) == 8


def test_rounds_of_the_warm_up_double() -> None:
    machine = Machine(lambda now: 1 / (1 + 10 * now))
    take(machine.runs(0.002), Asked(most_s=1))
    assert [count for _, count, _ in machine.asked][:6] == [1, 1, 2, 4, 8, 16]


def test_the_last_round_is_as_long_as_samples_are_wanted() -> None:
    taken = take(Machine(scatter=0).runs(0.02), Asked(least_samples=101, most_samples=101))
    assert taken.rounds == tuple(range(0, 101, 2))
    assert len(taken.samples_s) == 101


def test_the_median_is_known_to_half_the_width_of_its_interval() -> None:
    samples = take(Machine(scatter=0.1).runs(0.02), Asked(most_samples=100, width=1e-6)).samples_s
    known = summary(samples).relative_width
    assert known is not None
    assert is_enough(samples, 1.0, Asked(width=known * 1.01), rounds=8)
    assert not is_enough(samples, 1.0, Asked(width=known * 0.99), rounds=8)


def test_a_sample_is_the_mean_of_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((1_000, 4_000, 10_000, 16_000))
    monkeypatch.setattr(runner, "perf_counter_ns", lambda: next(clock))
    done: list[str] = []
    found = runner.timed(lambda: done.append("run"), lambda: done.append("wait"), 2, 3)
    assert found == pytest.approx([1e-6, 2e-6])
    assert done == ["run", "run", "run", "wait"] * 2
