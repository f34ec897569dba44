"""The local app in a process of its own: start, the answer to a slider, many requests at once, and the memory that stays.

A slider is a request for a twin in JSON, each of another state, one after the other on one connection.  Beside AlexNet's layers it is
moved in every simulator.  The same load of 200 requests at once is sent twice: what the process holds after the second is what it
keeps of requests.  Needs psutil.

    python benchmarks/bench_app.py [--repeats 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil
from bench_onnx import Check

from weighbridge.web.controls import Number
from weighbridge.web.simulator import Simulator
from weighbridge.web.simulators import simulators

_HOST: Final = "127.0.0.1"
_AT_ONCE: Final = 200
_MOVES: Final = 60

MAX_START_S = 1.0
MAX_SLIDER_MS = 20.0
MAX_GROWTH_MB = 10.0


@contextmanager
def started() -> Iterator[tuple[psutil.Process, int, float]]:
    """The process, its port, and the seconds from its start to the first answer."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "weighbridge", "app", "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r":(\d+)/", said)
        if found is None:
            sys.exit(f"the app did not start: {said}")
        port = int(found[1])
        get(http.client.HTTPConnection(_HOST, port), "/layer")
        yield psutil.Process(process.pid), port, time.perf_counter() - begin
        process.kill()


def get(connection: http.client.HTTPConnection, address: str) -> float:
    """Milliseconds until the whole answer is there, which must be a good one."""
    begin = time.perf_counter()
    connection.request("GET", address)
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        sys.exit(f"{address}: {answer.status}")
    return (time.perf_counter() - begin) * 1000


def moved(simulator: Simulator) -> Iterator[str]:
    """The twins as its first slider goes through its range, or the same again where it has none."""
    numbers = [one for one in simulator.controls if isinstance(one, Number)]
    for place in range(_MOVES):
        state = {}
        if numbers:
            one = numbers[0]
            reach = one.reach or one.maximum
            value = one.begin + (reach - one.begin) * place / (_MOVES - 1)
            state = {one.name: round(value) if one.is_whole else round(value, 6)}
        yield simulator.link(state).replace(simulator.name, f"{simulator.name}.json", 1)


def sliders(port: int) -> list[Check]:
    """The median of each simulator, after its first answer, which also imports and builds what it needs."""
    connection = http.client.HTTPConnection(_HOST, port)
    checks = []
    print(
        f"\nan answer to a slider, {_MOVES} of each simulator: the first, the median and the longest of the others, in ms"
    )
    for name, simulator in simulators().items():
        first, *others = [get(connection, address) for address in moved(simulator)]
        median = statistics.median(others)
        print(f"  {name:<14}{first:9.1f}{median:9.1f}{max(others):9.1f}")
        checks.append(Check(f"a slider of {name}: median ms", median, MAX_SLIDER_MS))
    return checks


def at_once(process: psutil.Process, port: int) -> list[Check]:
    """The same load twice: no request fails, and nothing of it stays."""

    def one(place: int) -> float:
        connection = http.client.HTTPConnection(_HOST, port, timeout=120)
        taken = get(connection, f"/layer.json?c_i={1 + place}")
        connection.close()
        return taken

    held = []
    print(f"\n{_AT_ONCE} requests at once")
    for _ in range(2):
        begin = time.perf_counter()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            taken = list(pool.map(one, range(_AT_ONCE)))
        held.append(process.memory_info().rss / 1e6)
        print(
            f"  {time.perf_counter() - begin:.2f} s in all, the longest {max(taken):.0f} ms; {held[-1]:.1f} MB after it"
        )
    return [Check("after a second identical load: MB more than after the first", held[1] - held[0], MAX_GROWTH_MB)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="times that the app is started (default 5)")
    parser.add_argument("--json", type=Path, help="write the checks to this file")
    options = parser.parse_args()
    print(f"{platform.platform()}, {os.cpu_count()} processors, Python {platform.python_version()}")
    starts, worked = [], []
    for _ in range(options.repeats):
        with started() as (process, _, seconds):
            starts.append(seconds)
            worked.append(sum(process.cpu_times()[:2]))
    print(f"start to first answer: {', '.join(f'{one:.2f}' for one in sorted(starts))} s")
    print(f"  of the processor: {', '.join(f'{one:.2f}' for one in sorted(worked))} s")
    with started() as (process, port, _):
        checks = [
            Check("start to first answer: least seconds", min(starts), MAX_START_S),
            *at_once(process, port),
            *sliders(port),
        ]
    print()
    for check in checks:
        print(f"{'ok  ' if check.holds else 'MISS'} {check.what}: {check.value:.3g} (at most {check.limit:g})")
    if options.json:
        options.json.write_text(json.dumps([{**check._asdict(), "holds": check.holds} for check in checks], indent=1))
    return 0 if all(check.holds for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
