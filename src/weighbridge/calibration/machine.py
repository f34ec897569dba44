"""A machine as a device: peak rates and memories from what its libraries were measured to reach."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from weighbridge.devices.device import ACTIVATIONS, WEIGHTS, Device, Figure, Memory, Peak
from weighbridge.errors import printable
from weighbridge.measure.conditions import Hardware
from weighbridge.measure.micro.record import Bandwidth, MachineTimes, Rate
from weighbridge.units import binary_bytes

__all__ = ["device_of_machine", "name_of", "near_bytes"]

_ALIKE: Final = 0.8
"""Working sets are of one level where the bandwidth is no less than that share of the level's."""
_SETTLED_BYTES: Final = 256 * 1024
_SERVERS: Final = re.compile(r"xeon|epyc|opteron|ampere|neoverse|graviton|altra|power\d", re.IGNORECASE)
_BOARDS: Final = re.compile(r"raspberry|jetson|rockchip|bcm\d|cortex-a", re.IGNORECASE)
_ZEROS: Final = re.compile(r"\.0+ ")
_WIDER: Final[Mapping[str, tuple[str, ...]]] = {
    "float32": ("float64",),
    "float16": ("float32", "float64"),
    "bfloat16": ("float32", "float64"),
    "int8": ("float32", "float64"),
}
"""By precision those in which a runtime can compute the same."""


def device_of_machine(
    times: MachineTimes, name: str = "", when: str = "", reached: Sequence[Rate | Bandwidth] = ()
) -> Device:
    """The device whose peaks and bandwidths are the best of ``times`` and of what single operators and networks ``reached``.

    A peak is one that nothing was seen to exceed: where a wider format is faster, its rate, as a runtime may convert.  The caches are
    levels of memory, named by the working sets that were measured in them, the smallest first.  The bandwidth of each is the best that
    was measured of its smallest working set or of any larger one, so that a floor stays a floor.

    ``when`` is the date, ``name`` what ``--on`` takes; by default it is made of the processor's.
    """
    said = ", ".join(part for part in (_threads(times), when) if part)
    rates = (*times.rates, *(one for one in reached if isinstance(one, Rate)))
    bandwidths = (*times.bandwidths, *(one for one in reached if isinstance(one, Bandwidth)))
    hardware = times.hardware
    processor = printable(hardware.processor or "") or f"a processor of {hardware.architecture}"
    return Device(
        name=name or name_of(hardware, times.threads),
        title=f"{processor}, {_threads(times)}",
        class_=_class(hardware),
        core=", ".join(_core(hardware)),
        peaks=tuple(_peaks(rates, said)),
        memories=tuple(_memories(bandwidths, hardware.memory_bytes, said)),
        notes=(
            "Measured: what libraries reached on this machine; no data sheet stands behind it.",
            *times.noise,
            *times.notes,
        ),
        kind=_kind(hardware),
    )


def name_of(hardware: Hardware, threads: int) -> str:
    """A name for ``--on`` from that of the processor and the number of threads, without a slash."""
    said = re.sub(r"\((?:r|tm)\)|\bcpu\b|@.*", " ", (hardware.processor or hardware.architecture).lower())
    word = re.sub(r"[^a-z0-9.+]+", "-", said).strip("-.+") or "machine"
    return f"{word}-{threads}-thread{'s' if threads != 1 else ''}"


def _threads(times: MachineTimes) -> str:
    return f"{times.threads} thread{'s' if times.threads != 1 else ''}"


def _kind(hardware: Hardware) -> str:
    said = hardware.processor or ""
    if _SERVERS.search(said):
        return "server"
    return "board" if _BOARDS.search(said) else "other"


def _class(hardware: Hardware) -> str:
    named = {"server": "server CPU", "board": "CPU of a board", "other": "CPU"}[_kind(hardware)]
    return f"{named} of a virtual machine" if hardware.virtual else named


def _core(hardware: Hardware) -> Iterator[str]:
    if hardware.cores is not None:
        yield f"{hardware.cores} cores" if hardware.cores != 1 else "1 core"
    if hardware.processors is not None and hardware.processors != hardware.cores:
        yield f"{hardware.processors} logical processors"
    yield hardware.architecture


def _peaks(rates: Sequence[Rate], said: str) -> Iterator[Peak]:
    for precision in dict.fromkeys(one.precision for one in rates):
        as_fast = [one for one in rates if one.precision in (precision, *_WIDER.get(precision, ()))]
        best = max(as_fast, key=lambda one: (one.ops_per_s, one.precision == precision))
        converted = "" if best.precision == precision else f" in {best.precision}, which is faster here"
        source = f"{best.how}{converted}, fastest sample, {said}"
        yield Peak("processor", precision, _figure(best.ops_per_s, source))


def _memories(bandwidths: Sequence[Bandwidth], memory_bytes: int | None, said: str) -> Iterator[Memory]:
    """From the smallest working sets to the whole memory; none where no bandwidth was measured."""
    if not bandwidths:
        return
    *caches, (largest, slowest) = _levels(bandwidths)
    taken: set[str] = set()
    for limit, best in caches:
        size = Figure(limit, f"the largest working set that was measured to move so fast, {said}", measured=True)
        name = f"{_ZEROS.sub(' ', binary_bytes(limit))} level"
        if name in taken:  # rounded, two limits may read alike
            name = f"{limit:,} B level"
        taken.add(name)
        yield _memory(name, size, best, said)
    whole = Figure(max(largest, memory_bytes or 0), "what the system says of its memory")
    unknown = Figure(
        largest, f"the largest working set, {said}", verified=False, note="the system does not say its memory"
    )
    yield _memory("memory", unknown if memory_bytes is None else whole, slowest, said)


def near_bytes(bandwidths: Sequence[Bandwidth]) -> int | None:
    """What the nearest memory holds: the largest working set that moves at half of the speed or more of one of ``_SETTLED_BYTES``.

    Smaller sets than that lie in the first cache, which no tensor of a network stays in.  None where these were not measured.
    """
    by_size = {one.working_set_bytes: one.bytes_per_s for one in bandwidths}
    settled = by_size.get(_SETTLED_BYTES)
    if settled is None:
        return None
    return max(size for size, rate in by_size.items() if rate >= settled / 2)


def _memory(name: str, size: Figure, best: Bandwidth, said: str) -> Memory:
    how = f"{best.how}, {binary_bytes(best.working_set_bytes)} again and again"
    return Memory(name, (WEIGHTS, ACTIVATIONS), size, _figure(best.bytes_per_s, f"{how}, fastest sample, {said}"))


def _levels(bandwidths: Sequence[Bandwidth]) -> list[tuple[int, Bandwidth]]:
    """The largest working set of each level, and the best bandwidth of its smallest and of all that are larger.

    A set between two that were measured may be as fast as the smaller one: it begins the level that the larger one ends.
    """
    sets = sorted({one.working_set_bytes for one in bandwidths})
    best = [
        max((one for one in bandwidths if one.working_set_bytes >= size), key=lambda one: one.bytes_per_s)
        for size in sets
    ]
    # what is smaller than the smallest set, what lies between two, what is larger than the largest
    begins, ends = [best[0], *best], [*sets, sets[-1]]
    levels: list[tuple[int, Bandwidth]] = []
    for limit, found in zip(ends, begins, strict=True):
        if levels and found.bytes_per_s >= _ALIKE * levels[-1][1].bytes_per_s:
            levels[-1] = limit, levels[-1][1]
        else:
            levels.append((limit, found))
    return levels


def _figure(value: float, source: str) -> Figure:
    """Rounded up: a floor may not be above what was measured."""
    return Figure(-int(-value // 1), source, measured=True)
