"""Many small networks in turns, on machines whose time is counted and not waited for."""

from __future__ import annotations

import pytest

from tests.measure.machines import Machine
from weighbridge.measure.micro.turns import best, in_turns


def test_all_are_taken_in_every_round_forwards_and_backwards() -> None:
    machine = Machine(scatter=0)
    runs = [machine.runs(each, name) for name, each in (("a", 1e-3), ("b", 2e-3), ("c", 4e-3))]
    heard: list[int] = []
    found, rounds = in_turns(runs, 1.0, lambda: machine.now_s, heard.append)
    turns = "".join(name for name, _, _ in machine.asked)
    assert turns.endswith("cba" * (rounds % 2))
    assert "abccbaabc" in turns
    assert heard == list(range(1, rounds + 1))
    assert machine.now_s >= 1.0
    assert {len(one.samples_s) // rounds for one in found} == {3, 2}


@pytest.mark.parametrize(("run_s", "runs"), [(1e-5, 50), (1e-3, 1), (1.0, 1)])
def test_a_sample_is_long_enough_for_the_clock(run_s: float, runs: int) -> None:
    machine = Machine(scatter=0)
    ((samples, per_sample),), rounds = in_turns([machine.runs(run_s)], 0.0, lambda: machine.now_s)
    assert per_sample == pytest.approx(runs, abs=1)
    assert samples[0] == pytest.approx(run_s)
    assert rounds == 5


def test_the_first_sample_of_a_turn_is_in_no_figure() -> None:
    def runs(count: int, times: int) -> list[float]:
        return [9.0, *[1.0] * (count - 1)]

    clock = iter(range(1_000))
    ((samples, _),), _ = in_turns([runs], 1.0, lambda: next(clock))
    assert set(samples) == {1.0}


def test_the_best_is_the_fastest_sample() -> None:
    machine = Machine(scatter=0.1)
    assert 0.6e-3 < best(machine.runs(1e-3), 0.2, 4e-3) < 0.95e-3
    _, count, times = machine.asked[-1]
    assert count * times == pytest.approx(200, rel=0.2)
    assert times == pytest.approx(4, abs=1)


@pytest.mark.parametrize(("run_s", "count", "runs"), [(10.0, 3, 1), (0.4e-3, 250, 2), (0.3e-3, 333, 2)])
def test_the_best_is_of_three_samples_at_least_none_of_them_shorter_than_asked_for(
    run_s: float, count: int, runs: int
) -> None:
    machine = Machine(scatter=0)
    best(machine.runs(run_s), 0.2, 0.5e-3)
    assert machine.asked[-1][1:] == (pytest.approx(count, abs=1), runs)
