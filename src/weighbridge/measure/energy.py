"""Joules of one run, read from the counters of the machine: RAPL's of processors, NVIDIA's of graphics processors.

The powercap files of Linux are read as they are: the libraries for them are no longer kept (pyRAPL, pyJoules) or bring tens of packages
for what is two files a counter.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any, Final

from weighbridge.errors import printable, said_by
from weighbridge.measure.harness import Runs
from weighbridge.measure.record import EnergyRead
from weighbridge.measure.runners.nvidia import handle_of, nvml_here
from weighbridge.measure.summary import Interval, median_interval
from weighbridge.named_tuple import NamedTuple

__all__ = ["POWERCAP", "Counter", "Meter", "energy", "joules", "meter_of_graphics", "meter_of_processor"]

POWERCAP: Final = Path("/sys/class/powercap")
_ZONE: Final = re.compile(r"(?:intel|amd)-rapl:\d+(?::\d+)?")
_COUNTED: Final = re.compile(r"package-\d+|dram")
"""Processors with their caches, and memory, which is not in those; cores are within their package, and "psys" has all of it again."""
_SLICES: Final = 12
_SLICE_S: Final = 0.5
"""RAPL counts on each millisecond, NVML about ten times a second: both are far below that."""
_HERE: Final = "not measurable here: "


class Counter(NamedTuple):
    """Grows by the joules that its ``domain`` draws; it begins again at 0 above ``range_j``, None where that is not known."""

    domain: str
    read: Callable[[], float]
    range_j: float | None = None


class Meter(NamedTuple):
    """Counters that are read together, and how."""

    method: str
    counters: tuple[Counter, ...]

    @property
    def domain(self) -> str:
        return ", ".join(one.domain for one in self.counters)


class _Slice(NamedTuple):
    """A stretch of time, what was drawn in it, and how many runs there were."""

    wall_s: float
    drawn_j: float
    runs: int


class _NotMeasurable(Exception):
    """With the reason."""


def meter_of_processor(folder: Path = POWERCAP) -> Meter | str:
    """RAPL's counters of all packages and their memory, or why there are none."""
    if not folder.is_dir():
        return f"{_HERE}this system shows no energy counters of its processors (there is no {folder})"
    zones = [(_word(zone / "name"), zone) for zone in sorted(folder.iterdir()) if _ZONE.fullmatch(zone.name)]
    found = [(name, zone) for name, zone in zones if name is not None and _COUNTED.fullmatch(name)]
    if not found:
        return f"{_HERE}the processors have no energy counters that are shown; virtual machines have none"
    try:
        counters = tuple(_zone(name, zone) for name, zone in found)
        for one in counters:
            one.read()
    except PermissionError as error:
        return f"{_HERE}{error.filename} is for root alone to read; let others: sudo chmod a+r {error.filename}"
    except (OSError, ValueError) as error:
        return f"{_HERE}the energy counters cannot be read: {printable(said_by(error))}"
    return Meter(f"RAPL, as {folder} shows it", counters)


def _zone(name: str, zone: Path) -> Counter:
    file = zone / "energy_uj"
    most = _word(zone / "max_energy_range_uj")
    range_j = int(most) / 1e6 if most is not None and most.isdigit() and int(most) else None
    parent = _word(zone.parent / zone.name.rpartition(":")[0] / "name") if name == "dram" else None
    domain = f"memory of {parent}" if parent else name.replace("dram", "memory")
    return Counter(domain.replace("package-", "package "), lambda: int(file.read_text(encoding="ascii")) / 1e6, range_j)


def _word(file: Path) -> str | None:
    with suppress(OSError, UnicodeDecodeError):
        return file.read_text(encoding="ascii").strip()
    return None


def meter_of_graphics(number: int = 0, nvml: Any = None) -> Meter | str:
    """NVIDIA's counter of the whole graphics processor that CUDA has under that number, of whoever uses it, or why there is none."""
    library = nvml or nvml_here()
    if library is None:
        return f"{_HERE}nvidia-ml-py is not installed; pip install 'weighbridge[measure]'"
    try:
        library.nvmlInit()
        handle = handle_of(library, number)
        name = library.nvmlDeviceGetName(handle)
        library.nvmlDeviceGetTotalEnergyConsumption(handle)
    except library.NVMLError as error:
        return f"{_HERE}NVIDIA's library counts no energy ({printable(said_by(error))})"
    named = printable(name.decode("utf-8", "replace") if isinstance(name, bytes) else name)

    def read() -> float:
        try:
            return float(library.nvmlDeviceGetTotalEnergyConsumption(handle)) / 1e3
        except library.NVMLError as error:
            raise OSError(said_by(error)) from None

    return Meter("NVML's total energy", (Counter(f"the whole {named}", read),))


def joules(before: float, after: float, range_j: float | None) -> float | None:
    """What a counter counted between two readings, that began again once at most; None where it went back and has no known range."""
    if after >= before:
        return after - before
    return None if range_j is None or before > range_j else after + range_j - before


def energy(
    runs: Runs,
    run_s: float,
    meter: Meter | str,
    *,
    clock: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], None] = time.sleep,
) -> EnergyRead:
    """Joules of one of ``runs``, which takes about ``run_s``, above what the machine draws idle, which is measured first.

    Of streams at the same time, each of which gives a sample, it is one run of one stream.

    Both are medians over a dozen slices of half a second, and the interval holds both: it reaches from the least that a run draws with
    the most that idling draws taken off, to the most and the least.  Where that holds nothing but the idle machine, there is no energy.
    """
    if isinstance(meter, str):
        return EnergyRead("", "", None, None, None, 0, meter)
    count = max(1, math.ceil(_SLICE_S / run_s)) if run_s > 0 else 1

    def rest() -> int:
        sleep(_SLICE_S)
        return 0

    def work() -> int:
        return len(runs(1, count)) * count  # a sample of each stream

    try:
        idle, busy = list(_slices(meter, clock, rest)), list(_slices(meter, clock, work))
    except (OSError, ValueError, _NotMeasurable) as error:
        reason = f"{_HERE}the energy counters cannot be read: {printable(said_by(error))}"
        return EnergyRead(meter.domain, meter.method, None, None, None, 0, reason)
    return _energy(meter, idle, busy)


def _slices(meter: Meter, clock: Callable[[], float], act: Callable[[], int]) -> Iterator[_Slice]:
    for _ in range(_SLICES):
        before, begun = [one.read() for one in meter.counters], clock()
        runs = act()
        ended, after = clock(), [one.read() for one in meter.counters]
        read = zip(meter.counters, before, after, strict=True)
        drawn = [joules(first, last, one.range_j) for one, first, last in read]
        if None in drawn:
            raise _NotMeasurable("one went back")
        yield _Slice(ended - begun, sum(one for one in drawn if one is not None), runs)


def _energy(meter: Meter, idle: Sequence[_Slice], busy: Sequence[_Slice]) -> EnergyRead:
    powers = [one.drawn_j / one.wall_s for one in idle]
    each = [one.drawn_j / one.runs for one in busy]
    run_s = median(one.wall_s / one.runs for one in busy)
    idle_w, net = median(powers), median(each) - median(powers) * run_s
    quiet, loud = _certain(powers), _certain(each)
    low, high = loud.low_s - quiet.high_s * run_s, loud.high_s - quiet.low_s * run_s
    done = sum(one.runs for one in busy)
    if not any(each):
        reason = f"{_HERE}the energy counters stand still"
        return EnergyRead(meter.domain, meter.method, None, None, None, done, reason)
    if low <= 0:
        reason = (
            f"a run draws no more than the idle machine's {idle_w:.3g} W are known to: at most {max(high, 0):.3g} J"
        )
        return EnergyRead(meter.domain, meter.method, None, None, idle_w, done, reason)
    return EnergyRead(meter.domain, meter.method, net, (low, high), idle_w, done)


def _certain(values: Sequence[float]) -> Interval:
    """The interval of the median, or all that there is where the values are too much alike their neighbours for one."""
    return median_interval(values) or Interval(min(values), max(values))
