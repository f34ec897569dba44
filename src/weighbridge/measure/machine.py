"""What this machine says of itself: for the conditions of a measurement, and for what disturbed it."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from weighbridge.errors import MissingExtra
from weighbridge.measure.conditions import Hardware
from weighbridge.measure.harness import Watch
from weighbridge.measure.noise import Load
from weighbridge.named_tuple import NamedTuple

__all__ = ["Mark", "governor", "hardware", "load_between", "mark", "pinned", "watching"]

_CPUINFO: Final = Path("/proc/cpuinfo")
_GOVERNOR: Final = "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"
_IDLE: Final = frozenset({"idle", "iowait", "guest", "guest_nice", "steal"})
"""What is no work of this machine's, or is counted elsewhere already."""


class Mark(NamedTuple):
    """What the counters stood at: seconds that all processors were busy, that ours were, that a hypervisor took; interruptions; hertz."""

    at_s: float
    busy_s: float | None
    own_s: float | None
    stolen_s: float | None
    interrupted: int | None
    frequency_hz: float | None


def hardware() -> Hardware:
    """The processor, its cores, the memory and the system; None for what cannot be read here."""
    ps = _psutil()
    return Hardware(
        processor=_processor(),
        architecture=platform.machine(),
        cores=ps.cpu_count(logical=False),
        processors=ps.cpu_count(),
        memory_bytes=ps.virtual_memory().total,
        system=f"{platform.system()} {platform.release()}",
        virtual=_is_virtual(),
    )


def pinned() -> tuple[int, ...]:
    """The logical processors that this process is held to; () where it may use all, or where the system does not say."""
    if not hasattr(os, "sched_getaffinity"):
        return ()
    allowed = os.sched_getaffinity(0)
    return () if len(allowed) == (os.cpu_count() or 0) else tuple(sorted(allowed))


def governor(processors: Iterable[int]) -> str | None:
    """How the system sets the frequency of these processors: one name, several where they differ, None where it does not say."""
    found = set()
    for one in processors:
        with suppress(OSError):
            found.add(Path(_GOVERNOR.format(one)).read_text(encoding="utf-8").strip())
    return ", ".join(sorted(found)) or None


def mark(processes: Iterable[int], at_s: float) -> Mark:
    """The counters of the machine and of ``processes`` at ``at_s`` seconds of a clock."""
    ps = _psutil()
    times = ps.cpu_times()._asdict()
    busy = sum(seconds for name, seconds in times.items() if name not in _IDLE)
    own, interrupted = 0.0, 0
    for number in processes:
        with suppress(ps.Error):
            process = ps.Process(number)
            used = process.cpu_times()
            own += used.user + used.system
            interrupted += process.num_ctx_switches().involuntary
    return Mark(at_s, busy, own, times.get("steal"), interrupted, _frequency(ps))


def load_between(before: Mark, after: Mark) -> Load:
    """What happened between two marks: no less than nothing, whatever a counter says that was set back."""
    return Load(
        wall_s=after.at_s - before.at_s,
        processors=os.cpu_count() or 1,
        busy_s=_less(after.busy_s, before.busy_s),
        own_s=_less(after.own_s, before.own_s),
        stolen_s=_less(after.stolen_s, before.stolen_s),
        interrupted=None
        if after.interrupted is None or before.interrupted is None
        else after.interrupted - before.interrupted,
        frequency_before_hz=before.frequency_hz,
        frequency_after_hz=after.frequency_hz,
    )


def watching(processes: Iterable[int], clock: Callable[[], float] = time.perf_counter) -> Watch:
    """Says what the machine did during a round, of which ``processes`` are the measurement's own."""
    numbers = tuple(processes)

    def begin() -> Callable[[], Load]:
        before = mark(numbers, clock())
        return lambda: load_between(before, mark(numbers, clock()))

    return begin


def _less(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else max(0.0, after - before)


def _frequency(ps: Any) -> float | None:
    with suppress(Exception):  # what psutil cannot read it tells in many ways
        found = ps.cpu_freq()
        return found.current * 1e6 if found and found.current and found.min != found.max else None
    return None


def _processor() -> str | None:
    with suppress(OSError):
        text = _CPUINFO.read_text(encoding="utf-8", errors="replace")
        named = re.search(r"^(?:model name|Model|Hardware)\s*:\s*(.+)$", text, re.MULTILINE)
        if named is not None:
            return " ".join(named[1].split())
    return platform.processor() or None


def _is_virtual() -> bool | None:
    """Whether a hypervisor says that it is there."""
    with suppress(OSError):
        flags = re.search(r"^flags\s*:\s*(.+)$", _CPUINFO.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
        return None if flags is None else "hypervisor" in flags[1].split()
    return None


def _psutil() -> Any:
    try:
        import psutil
    except ImportError:
        raise MissingExtra("measuring needs psutil", hint="pip install 'weighbridge[measure]'") from None
    return psutil
