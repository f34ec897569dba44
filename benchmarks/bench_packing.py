"""How long the offsets of an arena take: crowds as no network has them, and chains as networks are.

python benchmarks/bench_packing.py [--repeats 5]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from random import Random

from weighbridge.memory.packing import Request, pack

MAX_SECONDS_5000 = 2.0
MAX_GROWTH = 2.6
"""Twice the buffers of a chain may take this many times as long."""


def crowd(count: int) -> list[Request]:
    """Buffers of random sizes that live from one random moment to another: a third of them meet at any."""
    random = Random(0)
    spans = (sorted((random.randrange(count), random.randrange(count))) for _ in range(count))
    return [Request(16 * random.randint(1, 5000), first, last) for first, last in spans]


def at_once(count: int) -> list[Request]:
    """Buffers of random sizes that all live all the time."""
    random = Random(0)
    return [Request(16 * random.randint(1, 5000), 0, 1) for _ in range(count)]


def chain(count: int) -> list[Request]:
    """A network whose nodes read what up to three before them made."""
    random = Random(0)
    return [Request(16 * random.randint(1, 5000), step, step + random.randint(1, 3)) for step in range(count)]


def seconds(requests: list[Request], repeats: int) -> float:
    """The least of several runs, of processor time: neighbours do not count."""
    runs = []
    for _ in range(repeats):
        start = time.process_time()
        pack(requests)
        runs.append(time.process_time() - start)
    return min(runs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="runs of each kind (default 5)")
    repeats = parser.parse_args().repeats
    kinds: tuple[tuple[str, Callable[[int], list[Request]]], ...] = (
        ("a crowd", crowd),
        ("all at once", at_once),
        ("a chain", chain),
    )
    took = {}
    for name, make in kinds:
        for count in (5_000, 10_000, 20_000):
            if make is crowd and count > 5_000:
                continue
            took[name, count] = seconds(make(count), repeats)
            print(f"{name:<14}{count:>8,} buffers {took[name, count]:8.3f} s of the processor")
    checks = [(f"{name}, 5,000 buffers: seconds", took[name, 5_000], MAX_SECONDS_5000) for name, _ in kinds]
    growth = took["a chain", 20_000] / took["a chain", 10_000]
    checks.append(("a chain: times as long as half of it", growth, MAX_GROWTH))
    for what, value, limit in checks:
        print(f"{'ok  ' if value <= limit else 'MISS'} {what}: {value:.3g} (at most {limit:g})")
    return 0 if all(value <= limit for _, value, limit in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
