"""The ratio of two networks taken in turns: its interval holds it on a machine that changes its speed, by simulation."""

from __future__ import annotations

import math
import random
from statistics import median

import pytest

from tests.measure.machines import Machine
from weighbridge.measure.harness import Asked, Taken, alternate
from weighbridge.measure.paired import Ratio, ratio

BRIEF = Asked(width=1e-9, most_s=5, least_rounds=8)


def wandering(seed: int, rounds: int, times: float) -> tuple[Taken, Taken]:
    """Two networks, of which the second takes ``times`` the time, on a machine whose speed wanders by 30 % between rounds."""
    chance, at = random.Random(seed), 0.0
    samples: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        for place in (0, 1) if number % 2 else (1, 0):
            at = 0.9 * at + chance.gauss(0, 0.3 * math.sqrt(0.19))
            samples[place].extend((times if place else 1) * math.exp(at + chance.gauss(0, 0.05)) for _ in range(10))
    begins = tuple(range(0, 10 * rounds, 10))
    return Taken((), tuple(samples[0]), 1, begins), Taken((), tuple(samples[1]), 1, begins)


@pytest.mark.parametrize("rounds", [8, 20, 60])
def test_the_interval_holds_the_ratio_as_often_as_it_says(rounds: int) -> None:
    found = [ratio(*wandering(seed, rounds, 1.05)) for seed in range(300)]
    held = [one.low <= 1.05 <= one.high for one in found if one.low is not None and one.high is not None]
    assert len(held) >= 0.8 * len(found)
    assert sum(held) / len(held) >= 0.93


def test_more_rounds_know_it_better_and_better_than_the_medians_do() -> None:
    few, many = ([ratio(*wandering(seed, rounds, 1.05)) for seed in range(60)] for rounds in (8, 60))

    def off(found: list[float]) -> float:
        return median(abs(one - 1.05) for one in found)

    assert off([one.ratio for one in many]) < off([one.ratio for one in few])
    assert off([one.ratio for one in many]) < off([one.of_medians for one in many])


def test_a_machine_that_halves_its_speed_half_way_changes_no_ratio() -> None:
    machine = Machine(lambda now: 1.0 if now < 6 else 2.0)
    one, other = alternate([machine.runs(0.01), machine.runs(0.012)], BRIEF)
    found = ratio(one, other)
    assert found.ratio == pytest.approx(1.2, rel=0.01)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 1.2 <= found.high
    assert found.differs
    assert found.high - found.low < 0.02


def test_the_same_network_twice_does_not_differ_from_itself() -> None:
    machine = Machine()
    one, other = alternate([machine.runs(0.01), machine.runs(0.01)], BRIEF)
    assert ratio(one, other).differs is False


def test_of_few_rounds_there_is_a_ratio_and_no_interval() -> None:
    rounds = Taken((), (1.0, 1.0, 1.0), 1, (0, 1, 2))
    found = ratio(rounds, rounds)
    assert (found.ratio, found.low, found.high, found.differs) == (1, None, None, None)
    assert found.ratios == (1, 1, 1)


def test_rounds_that_make_no_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="2 and 1 rounds"):
        ratio(Taken((), (1.0, 1.0), 1, (0, 1)), Taken((), (1.0,), 1, (0,)))
    with pytest.raises(ValueError, match="0 and 0 rounds"):
        ratio(Taken((), (1.0,), 1), Taken((), (1.0,), 1))
    with pytest.raises(ValueError, match="no time"):
        ratio(Taken((), (0.0,), 1, (0,)), Taken((), (1.0,), 1, (0,)))


def test_an_interval_that_ends_at_one_tells_no_difference() -> None:
    assert Ratio(1.1, 1.0, 1.2, 0.95, (), 1.1).differs is False
    assert Ratio(0.9, 0.8, 1.0, 0.95, (), 0.9).differs is False
    assert Ratio(1.1, 1.01, 1.2, 0.95, (), 1.1).differs is True
