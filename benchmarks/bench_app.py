"""The local app in a process of its own: start, the answer to a slider, many requests and uploads at once, and the memory that stays.

A slider is a request for a twin in JSON, each of another state, one after the other on one connection.  Beside AlexNet's layers it is
moved in every simulator, where it changes the answer, and in a network of 1,000 layers that is uploaded.  The same load of 200 requests
at once is sent twice, and so are 20 uploads, while a slider goes on: what the process holds after the second is what it keeps.  Times
are those of a clock and of the processor that the server had, which says more while neighbours are busy.  Needs psutil.

    python benchmarks/bench_app.py [--repeats 5] [--model FILE] [--json FILE]
"""

from __future__ import annotations

import argparse
import http.client
import itertools
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
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import psutil
from bench_onnx import Check

from weighbridge.web.controls import Choice, Number
from weighbridge.web.simulator import Simulator
from weighbridge.web.simulators import simulators

_HOST: Final = "127.0.0.1"
_AT_ONCE: Final = 200
_UPLOADS: Final = 20
_MOVES: Final = 60
_LAYERS: Final = 1000
_MOVED: Final = {"ucurve": "batch"}
"""The slider that is moved where the first one ends behind what the network has; else it is the first."""

MAX_START_S = 1.0
MAX_SLIDER_MS = 20.0
MAX_LARGE_SLIDER_MS = 200.0
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
        try:
            get(http.client.HTTPConnection(_HOST, port), "/")
            seconds = time.perf_counter() - begin
            yield psutil.Process(process.pid), port, seconds
        finally:
            process.terminate()


def get(connection: http.client.HTTPConnection, address: str) -> float:
    """Milliseconds until the whole answer is there, which must be a good one."""
    return asked(connection, address)[0]


def asked(connection: http.client.HTTPConnection, address: str) -> tuple[float, bytes]:
    """Milliseconds until the whole answer is there, which must be a good one, and what it is."""
    begin = time.perf_counter()
    connection.request("GET", address)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        sys.exit(f"{address}: {answer.status}")
    return (time.perf_counter() - begin) * 1000, body


def moved(simulator: Simulator, connection: http.client.HTTPConnection) -> Iterator[str]:
    """The twins as a slider that means something goes through its range; without sliders the first two choices go through theirs."""
    start = json.loads(asked(connection, f"/{simulator.name}.json")[1])
    usable = [one for one in simulator.controls if one.name not in start["unused"]]
    sliders = [one for one in usable if isinstance(one, Number)]
    slider = next((one for one in sliders if one.name == _MOVED.get(simulator.name, one.name)), None)
    states: list[dict[str, float | str]] = []
    if slider is None:
        one, other = [control for control in usable if isinstance(control, Choice)][:2]
        pairs = itertools.cycle(itertools.product(one.choices, other.choices))
        states = [{one.name: first, other.name: second} for first, second in itertools.islice(pairs, _MOVES)]
    else:
        reach = start["reaches"].get(slider.name) or slider.reach or slider.maximum
        for place in range(_MOVES):
            value = slider.begin + (reach - slider.begin) * place / (_MOVES - 1)
            states.append({slider.name: round(value) if slider.is_whole else round(value, 6)})
    for state in states:
        yield simulator.link(state).replace(simulator.name, f"{simulator.name}.json", 1)


def sliders(process: psutil.Process, port: int) -> list[Check]:
    """The median of each simulator, after its first answer, which also imports and builds what it needs."""
    connection = http.client.HTTPConnection(_HOST, port)
    checks = []
    print(
        f"\nan answer to a slider, {_MOVES} of each simulator, in ms: the first, of the others the median and the longest, "
        "and the mean of the processor"
    )
    for name, simulator in simulators().items():
        median = slid(process, connection, name, moved(simulator, connection))
        checks.append(Check(f"a slider of {name}: median ms", median, MAX_SLIDER_MS))
    return checks


def slid(process: psutil.Process, connection: http.client.HTTPConnection, name: str, addresses: Iterator[str]) -> float:
    """The median milliseconds of all answers but the first.  Ends the benchmark where moving it changes little of what is answered."""
    first, _ = asked(connection, next(addresses))
    left = list(addresses)
    before = worked(process)
    taken = [asked(connection, address) for address in left]
    each = (worked(process) - before) / len(taken) * 1000
    others = [milliseconds for milliseconds, _ in taken]
    states, answers = len(set(left)), len({_shown(body) for _, body in taken})
    if answers <= states // 2:
        sys.exit(f"{name}: {answers} answers to {states} states: this slider moves nothing")
    median = statistics.median(others)
    print(f"  {name:<14}{first:9.1f}{median:9.1f}{max(others):9.1f}{each:9.1f}  {answers} answers to {states} states")
    return median


def _shown(body: bytes) -> str:
    """What an answer says beside the state that was asked for."""
    found = json.loads(body)
    return json.dumps([found[part] for part in ("readouts", "sentences", "plots", "tables")])


def worked(process: psutil.Process) -> float:
    """Seconds of the processor that the server itself has had."""
    times = process.cpu_times()
    return times.user + times.system


class Held(NamedTuple):
    """What the server has, and beside it the processes that it started."""

    megabytes: float
    others_megabytes: float
    files: int

    @classmethod
    def of(cls, process: psutil.Process) -> Held:
        others = sum(one.memory_info().rss for one in process.children(recursive=True))
        return cls(process.memory_info().rss / 1e6, others / 1e6, process.num_fds())

    def __str__(self) -> str:
        return (
            f"{self.megabytes:.1f} MB, {self.others_megabytes:.1f} MB in processes beside it, {self.files} open files"
        )


def grown(what: str, held: list[Held]) -> Check:
    return Check(f"{what}: MB more than after the first", held[1].megabytes - held[0].megabytes, MAX_GROWTH_MB)


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
        held.append(Held.of(process))
        print(f"  {time.perf_counter() - begin:.2f} s in all, the longest {max(taken):.0f} ms; {held[-1]}")
    return [grown("after a second identical load of requests", held)]


def sent(port: int, address: str, name: str, content: bytes) -> tuple[int, str]:
    """The status and where a form with a file leads to."""
    border = "a-border-that-no-model-has"
    head = f'--{border}\r\ncontent-disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = head.encode() + content + f"\r\n--{border}--\r\n".encode()
    connection = http.client.HTTPConnection(_HOST, port, timeout=300)
    connection.request("POST", address, body, {"content-type": f"multipart/form-data; boundary={border}"})
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    if answer.status not in (200, 303):
        sys.exit(f"{address}: {answer.status}: {said[:400]!r}")
    return answer.status, answer.headers.get("location", "")


def uploads(process: psutil.Process, port: int, model: Path) -> list[Check]:
    """Many uploads at once, twice, while a slider goes on: none fails, nothing of them stays, and the slider does not wait for them."""
    content = model.read_bytes()
    held = []
    print(f"\n{_UPLOADS} uploads of {model.name} at once, {len(content):,} B each")
    for _ in range(2):
        begin, taken = time.perf_counter(), []
        with ThreadPoolExecutor(_UPLOADS) as pool:
            running = [pool.submit(sent, port, "/weigh.json", model.name, content) for _ in range(_UPLOADS)]
            connection = http.client.HTTPConnection(_HOST, port, timeout=120)
            while not all(one.done() for one in running):
                taken.append(get(connection, f"/layer.json?c_i={1 + len(taken) % 4096}"))
                time.sleep(0.02)
            for one in running:
                one.result()
        seconds = time.perf_counter() - begin
        time.sleep(1)  # processes that have ended are put away
        held.append(Held.of(process))
        print(
            f"  {seconds:.2f} s in all; {len(taken)} moves of a slider meanwhile, median {statistics.median(taken):.1f} ms, ",
            end="",
        )
        print(f"longest {max(taken):.1f} ms; {held[-1]}")
    return [
        grown("after a second identical load of uploads", held),
        Check("after it: files open more than after the first", held[1].files - held[0].files, 0),
    ]


def large(process: psutil.Process, port: int) -> list[Check]:
    """The sliders of the page of peaks for a network of many layers that is uploaded."""
    layers = "\n".join(
        f'  {{ name = "c{place}", op = "conv", out = 8, kernel = 3, padding = 1 }},' for place in range(_LAYERS)
    )
    shape = 'inputs = [{ name = "x", shape = [1, 8, 32, 32] }]'
    text = f'name = "chain"\ntitle = "A chain"\nsource = "made for this"\n{shape}\nlayers = [\n{layers}\n]\n'
    _, led_to = sent(port, "/weigh", "chain.toml", text.encode())
    source = dict(parse_qsl(urlsplit(led_to).query))["model"]
    connection = http.client.HTTPConnection(_HOST, port, timeout=120)
    checks = []
    print(f"\na network of {_LAYERS:,} layers, uploaded")
    for control, least in (("step", 1), ("bits", 1)):
        states = ({"network": source, control: str(least + place % 64)} for place in range(_MOVES))
        median = slid(process, connection, control, (f"/peak.json?{urlencode(state)}" for state in states))
        checks.append(Check(f"the slider {control} of {_LAYERS:,} layers: median ms", median, MAX_LARGE_SLIDER_MS))
    return checks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="times that the app is started (default 5)")
    parser.add_argument("--model", type=Path, help="a model to upload many times at once")
    parser.add_argument("--json", type=Path, help="write the checks to this file")
    options = parser.parse_args()
    print(f"{platform.platform()}, {os.cpu_count()} processors, Python {platform.python_version()}")
    starts, processor = [], []
    for _ in range(options.repeats):
        with started() as (process, _, seconds):
            starts.append(seconds)
            processor.append(worked(process))
    print(f"start to first answer: {', '.join(f'{one:.2f}' for one in sorted(starts))} s")
    print(f"  of the processor: {', '.join(f'{one:.2f}' for one in sorted(processor))} s")
    with started() as (process, port, _):
        checks = [
            Check("start to first answer: least seconds", min(starts), MAX_START_S),
            *at_once(process, port),
            *sliders(process, port),
            *large(process, port),
        ]
        if options.model:
            checks += uploads(process, port, options.model)
    print()
    for check in checks:
        print(f"{'ok  ' if check.holds else 'MISS'} {check.what}: {check.value:.3g} (at most {check.limit:g})")
    if options.json:
        options.json.write_text(json.dumps([{**check._asdict(), "holds": check.holds} for check in checks], indent=1))
    return 0 if all(check.holds for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
