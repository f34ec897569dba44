"""Machines that need no time: what a run takes on them is a rule, with seconds that are counted and never waited for."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

Speed = Callable[[float], float]
"""How many times its best a run takes at a second of the machine's clock."""


class Machine:
    """Its clock goes on by what runs take, so that networks taken in turns share what happens to it."""

    def __init__(self, speed: Speed = lambda _: 1.0, seed: int = 1, scatter: float = 0.01) -> None:
        self.now_s = 0.0
        self.random = random.Random(seed)
        self.asked: list[tuple[str, int, int]] = []
        self._speed, self._scatter = speed, scatter

    def runs(self, run_s: float, name: str = "") -> Callable[[int, int], Sequence[float]]:
        """What a network of ``run_s`` seconds is measured by."""

        def taken(count: int, runs: int) -> Sequence[float]:
            self.asked.append((name, count, runs))
            found = []
            for _ in range(count):
                each = run_s * self._speed(self.now_s) * math.exp(self.random.gauss(0, self._scatter))
                self.now_s += each * runs
                found.append(each)
            return found

        return taken


def alike(seed: int, count: int, correlation: float, scatter: float = 0.05) -> list[float]:
    """Samples with the median 1 of which each depends on the one before it."""
    chance, at, found = random.Random(seed), 0.0, []
    at = chance.gauss(0, 1)
    for _ in range(count):
        at = correlation * at + math.sqrt(1 - correlation**2) * chance.gauss(0, 1)
        found.append(math.exp(scatter * at))
    return found
