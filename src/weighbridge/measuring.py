"""Measuring: how long a source takes where it runs, several of them in turns, one at several batches; beside it what nothing beats."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from weighbridge import __version__
from weighbridge.api import Inputs, weigh
from weighbridge.choices import devices_of, fps_of
from weighbridge.devices.device import Device
from weighbridge.errors import BadSpec, WeighbridgeError
from weighbridge.measure.conditions import Conditions
from weighbridge.measure.harness import Asked
from weighbridge.measure.record import Measurement
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.measured import (
    ClassFloor,
    FloorBeside,
    Measured,
    against,
    beside_profile,
    check_although,
    check_comparable,
    curve,
    missed,
)
from weighbridge.report.measured_records import append, check_place
from weighbridge.report.record import OnDevice, Report, by_device
from weighbridge.running import Runnable, run_beside
from weighbridge.sources import USER_FILE, Given, Source, quietly
from weighbridge.written import shown, whole

__all__ = ["measured"]

_MOST_THREADS: Final = 16
"""Of one run, on each logical processor: thousands that wait for each other halt the machine."""
_MOST_STREAMS: Final = 64
_MOST_S: Final = 86_400.0


def measured(  # noqa: PLR0913 - the options are those of the command
    source: Source,
    *others: Source,
    batch: int | None = None,
    sequence: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Inputs = None,
    kwargs: Mapping[str, Any] | None = None,
    values: Mapping[str, str | os.PathLike[str]] | None = None,
    runtime: str | Sequence[str] = "",
    mode: str | Sequence[str] = "",
    threads: int | Sequence[int] = 1,
    pin: Iterable[int] = (),
    streams: int = 1,
    batches: Iterable[int] = (),
    width: float = 0.01,
    seconds: float = 20.0,
    profile: bool = False,
    energy: bool = False,
    fps: float | str | None = None,
    on: Source | Device | Iterable[Source | Device] = (),
    precision: str | None = None,
    although: Iterable[str] = (),
    record: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Measured:
    """How long one run of ``source`` takes here, in its runtime: an ONNX or TensorFlow Lite file, or a PyTorch model by name.

    ``others`` are measured in turns with it, a round each, and compared with it; where a condition differs between them that ``although``
    does not name ("threads", "precision", "batch"), that is refused.  ``batches`` measures one source at each of these batch sizes.

    The sizes and ``inputs`` are as in ``load``; ``values`` are paths of .npy files by input, of which others are made up.  ``runtime`` is
    that of the format unless it is named, ``mode`` the runtime's own word for how it runs (an execution provider, "compile"); ``threads``
    those of one run.  Each of the three may be a list with an entry a source.  ``pin`` are the logical processors that a run may use,
    ``streams`` that many runs at once, each in a process of its own.

    Runs are taken until the median is known to ``width``, a half width over the median, or for ``seconds``.  ``profile`` adds what the
    runtime's own profiler says by operator, ``energy`` the joules of a run where the machine counts them.  ``fps`` adds how many frames
    a run misses, ``on`` the floor of devices, at ``precision`` where that is given.  Each measurement is added to the file (.jsonl) or
    folder ``record`` as soon as it is made.

    Raises what ``load`` does, ``MissingExtra`` for a runtime that is not installed, ``MeasureError`` for a model that the runtime refuses
    or that ends it, and ``BadSpec`` for an option that cannot be followed.
    """
    given = Given(batch, sequence, dims, inputs, kwargs)
    asked = _asked(width, seconds)
    allowed = check_although(tuple(although))
    rate = None if fps is None else fps_of(fps)
    devices = devices_of(on)
    if precision is not None and not devices:
        hint = "name a device; the network runs in the precision that it has"
        raise BadSpec("a precision is that of a floor", where="precision", hint=hint)
    if record is not None:
        check_place(record)
    runnables = _runnables((source, *others), given, _How(values or {}, runtime, mode, threads, pin, streams))
    sizes = _sizes(batches, runnables, batch)
    tell = progress or quietly
    together = [runnables] if not sizes else [[_at_batch(runnables[0], size)] for size in sizes]
    weighed = [_weighed(one, devices, precision, tell) for row in together for one in row] if devices else []
    made: list[Measurement] = []
    for row in together:
        names = [str(one.source) for one in row]
        try:
            found = run_beside(
                row, asked, profile=profile, joules=energy, agreed=_agreed(names, allowed), progress=tell
            )
        except WeighbridgeError as error:
            raise _placed(error, row[0] if sizes else None) from None
        if record is not None:
            append(record, found)
        made += found
    return Measured(
        tool=f"weighbridge {__version__}",
        measurements=tuple(made),
        against=tuple(against(made)) if others else (),
        curve=curve(made) if sizes else None,
        frames=() if rate is None else tuple(missed(made, rate)),
        floors=tuple(_floors(weighed, made)),
    )


class _How(NamedTuple):
    """How all sources are to be run; some of it source by source."""

    values: Mapping[str, str | os.PathLike[str]]
    runtime: str | Sequence[str]
    mode: str | Sequence[str]
    threads: int | Sequence[int]
    pin: Iterable[int]
    streams: int


def _asked(width: float, seconds: float) -> Asked:
    if not 0 < width < 1:
        hint = "give the half width over the median, such as 0.01"
        raise BadSpec(f"{shown(width)} is no width of an interval", where="width", hint=hint)
    if not 0 < seconds <= _MOST_S:
        raise BadSpec(f"{shown(seconds)} is no time to measure for", where="seconds", hint="give up to 86,400 seconds")
    return Asked(width=float(width), most_s=float(seconds), warm_up_s=min(Asked().warm_up_s, float(seconds)))


def _runnables(sources: Sequence[Source], given: Given, how: _How) -> list[Runnable]:
    pinned = tuple(sorted({_processor(one) for one in how.pin}))
    values = {name: os.fspath(path) for name, path in how.values.items()}
    streams = _counted(how.streams, "streams", _MOST_STREAMS)
    made = next((one for one in sources if isinstance(one, str) and USER_FILE.fullmatch(one)), None)
    if made is not None:
        hint = "export it: torch.export.save writes a .pt2, torch.onnx.export an .onnx"
        raise BadSpec("what a Python file makes cannot be run in a process of its own", where=made, hint=hint)
    most = _MOST_THREADS * (os.cpu_count() or 1)
    each = [_each(getattr(how, name), len(sources), name) for name in ("runtime", "mode", "threads")]
    return [
        Runnable(source, given, str(runtime), str(mode), _counted(count, "threads", most), pinned, values, streams)
        for source, runtime, mode, count in zip(sources, *each, strict=True)
    ]


def _each(value: Any, sources: int, where: str) -> Sequence[Any]:
    """An entry for each source."""
    found = [value] if isinstance(value, (str, int)) else list(value)
    if len(found) == 1:
        return found * sources
    if len(found) != sources:
        hint = "give one for all, or one for each"
        raise BadSpec(f"{len(found):,} for {sources:,} sources", where=where, hint=hint)
    return found


def _counted(value: object, where: str, most: int) -> int:
    count = whole(value)
    if count is None or not 1 <= count <= most:
        raise BadSpec(f"must be from 1 to {most:,}, not {shown(value)}", where=where)
    return count


def _processor(value: object) -> int:
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    if allowed is None:
        raise BadSpec("this system holds no process to processors", where="pin", hint="leave it out")
    number = whole(value)
    if number not in allowed:
        hint = f"there are {', '.join(map(str, sorted(allowed)[:64]))}"
        raise BadSpec(f"there is no processor {shown(value)} to use", where="pin", hint=hint)
    return number


def _sizes(batches: Iterable[int], runnables: Sequence[Runnable], batch: int | None) -> list[int]:
    """The batch sizes in their order.  Raises ``BadSpec`` for none, and where there is more than one thing to vary."""
    sizes = [whole(one) for one in batches]
    if not sizes:
        return []
    if len(runnables) > 1 or batch is not None:
        what = "several sources" if len(runnables) > 1 else "a batch"
        raise BadSpec(f"batches to go through, and {what} as well", where="batches", hint="give one of the two")
    if any(size is None or size < 1 for size in sizes) or len(set(sizes)) < len(sizes):
        raise BadSpec("these are no different batch sizes from 1 on", where="batches", hint="such as 1,4,16")
    return sorted(size for size in sizes if size is not None)


def _at_batch(what: Runnable, size: int) -> Runnable:
    return what._replace(given=what.given._replace(batch=size))


def _agreed(names: Sequence[str], allowed: frozenset[str]) -> Callable[[Sequence[Conditions]], None]:
    return lambda conditions: check_comparable(conditions, names, allowed)


def _weighed(what: Runnable, devices: Sequence[Device], precision: str | None, tell: Callable[[str], None]) -> Report:
    """What the network is estimated to take on each device, looked at before anything is measured."""
    tell(f"weighing {what.source}")
    given: Mapping[str, Any] = what.given._asdict()
    try:
        return weigh(what.source, on=devices, precision=precision, **given)
    except WeighbridgeError as error:
        raise _placed(error, what) from None


def _placed(error: WeighbridgeError, what: Runnable | None) -> WeighbridgeError:
    """The error with the batch that it is of, where there is one."""
    return error if what is None or what.given.batch is None else error.at(f"batch {what.given.batch}")


def _floors(weighed: Sequence[Report], made: Sequence[Measurement]) -> Iterator[FloorBeside]:
    for place, report in enumerate(weighed):
        for name, on in by_device(report).items():
            yield _floor(place, name, report, on, made[place])


def _floor(place: int, name: str, report: Report, on: OnDevice, one: Measurement) -> FloorBeside:
    floor_s = on.latency.floor_s
    return FloorBeside(
        place=place,
        device=name,
        hardware=on.conditions.hardware,
        precision=on.conditions.precision,
        floor_s=floor_s,
        layerwise_s=on.latency.layerwise_s,
        utilisation=None if floor_s is None else floor_s / one.latency_s,
        classes=tuple(beside_profile(_classes(report, on), one.profile)),
        is_exact=on.latency.exact,
        is_verified=on.latency.verified,
    )


def _classes(report: Report, on: OnDevice) -> Iterator[ClassFloor]:
    """By operator, the largest first; one of which a node's time is not known has none, and comes last."""
    times: dict[str, list[float | None]] = {}
    for node, found in zip(report.nodes, on.nodes or (), strict=False):
        times.setdefault(node.operator, []).append(found.time_s)
    for operator, each in sorted(times.items(), key=lambda item: -sum(one or 0 for one in item[1])):
        known = [one for one in each if one is not None]
        yield ClassFloor(operator, sum(known) if len(known) == len(each) else None, len(each))
