"""Calibrating: this machine, its runtimes and networks are measured, and become a device that says what other networks take."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from weighbridge import __version__
from weighbridge.api import load, node_works_of
from weighbridge.calibration.compared import groups_of, singles_of
from weighbridge.calibration.efficiencies import FEWEST, fit_efficiencies
from weighbridge.calibration.entry import Runs, with_efficiencies, with_rates
from weighbridge.calibration.left_out import expected_left_out, interval_of
from weighbridge.calibration.machine import device_of_machine, near_bytes
from weighbridge.calibration.rates import Limits, Rates, fit_rates
from weighbridge.calibration.rows import Row
from weighbridge.calibration.solve import check_there
from weighbridge.devices.device import Device
from weighbridge.devices.timed import LANES, Timed
from weighbridge.devices.values import name as device_name
from weighbridge.errors import BadSpec, MissingExtra, NeedsShape, WeighbridgeError, printable
from weighbridge.estimates.class_work import NodeWork, class_work
from weighbridge.measure.harness import Asked
from weighbridge.measure.micro.rates import machine_rates
from weighbridge.measure.micro.record import Bandwidth, Rate, Spec, SuiteTimes
from weighbridge.measure.micro.specs import SPECS
from weighbridge.measure.micro.suite import RUNTIMES as OF_OPERATORS
from weighbridge.measure.micro.suite import suite
from weighbridge.measure.record import Measurement
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.calibrated import Calibration, RuntimeFit, runtime_fit
from weighbridge.report.measured_records import append, check_place
from weighbridge.report.predicted import LeftAside, NetworkTime, distributions
from weighbridge.reweighing import (
    FUSES,
    Reweighed,
    contradictions,
    network_of,
    network_times,
    records_of,
    reweighed,
    runtime_of,
    why_not,
)
from weighbridge.running import Runnable, run_beside
from weighbridge.sources import Given, Source, check, is_named_model, quietly
from weighbridge.sources import read as read_source
from weighbridge.units import exact
from weighbridge.written import shown, whole

__all__ = ["calibrated"]

_MOST_S: Final = 86_400.0
_MOST_THREADS: Final = 4_096
_PACKAGES: Final = {"onnxruntime": "onnxruntime", "pytorch": "torch"}
_INSTALLS: Final = {"onnxruntime": "pip install 'weighbridge[measure]'", "pytorch": "pip install 'weighbridge[torch]'"}
_EXTRAS: Final = "pip install 'weighbridge[measure]' for ONNX Runtime, 'weighbridge[torch]' for PyTorch"
_NEEDED: Final = ("onnx", "psutil", "tomli_w")
"""What single operators are written with, what reads the machine, and what writes the device."""
_SIZES: Final = "give --batch; sizes beside it are given to `weighbridge measure --record`, whose records --from takes"
_Tell = Callable[[str], None]


def calibrated(
    *networks: Source,
    runtime: str | Sequence[str] = (),
    threads: int | None = None,
    batch: int | None = None,
    seconds: float = 20.0,
    operator_seconds: float = 30.0,
    records: Iterable[str | os.PathLike[str]] = (),
    name: str = "",
    record: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Calibration:
    """A device of this machine: what it computes and moves at most, rates by class of operators in each runtime, and how much of them
    networks reach.

    ``networks`` are measured first, in turns, those of one runtime together, at ``batch`` if it is given, for at most ``seconds`` each;
    ``records`` are files and folders of earlier measurements, of which those on this machine, with as many threads, count as well.
    Single operators are measured for ``operator_seconds`` in each ``runtime``: by default those of the networks, or all that are
    installed.  ``threads`` are those of one run, by default as many as there are processors to use.  Measurements of networks are
    added to the file (.jsonl) or folder ``record`` as soon as those of a runtime are made.  ``name`` is that of the device, by default
    one made of the processor's.

    Of fewer than four networks of a runtime its rates stand alone: how far off what is expected by them is, nobody knows.

    Raises what reading a source does, ``MissingExtra`` for a library or a runtime that is not installed, ``MeasureError`` for a model that
    its runtime refuses, and ``BadSpec`` for an option that cannot be followed, and for records where there is none.
    """
    check_there()
    tell = progress or quietly
    if record is not None:
        check_place(record)
    count = _threads(threads)
    _check_options(seconds, operator_seconds, name)
    by_runtime = _by_runtime(networks)
    recorded, aside = records_of(records)
    runtimes = _runtimes(runtime, [*by_runtime, *(one.conditions.runtime for one in recorded)])
    _check_covered(by_runtime, runtimes)
    _check_networks(networks, batch, tell)
    taken_at = datetime.now(UTC).isoformat(timespec="seconds")
    # networks come first: what a runtime refuses is told at once, and records are kept whatever comes after
    made = _measured(by_runtime, runtimes, count, batch, seconds, record, tell)
    machine = machine_rates(count, progress=tell)
    suites = [_operators(one, count, operator_seconds, tell) for one in runtimes]
    device = device_of_machine(machine, name, taken_at[:10], [best for one in suites for best in _reached(one)])
    source = f"measured on this machine by weighbridge {__version__}, {taken_at[:10]}"
    near = near_bytes(machine.bandwidths)
    entries = [_entry(one, device, source, near) for one in suites]
    found = _Found(device, (*recorded, *made), source, tell)
    fits = [_with_networks(entry, found) for entry in entries]
    times = tuple(time for fit in fits for time in fit.networks)
    return Calibration(
        tool=f"weighbridge {__version__}",
        taken_at=taken_at,
        device=replace(device, timed=tuple(fit.timed for fit in fits)),
        hardware=machine.hardware,
        threads=count,
        rates=machine.rates,
        bandwidths=machine.bandwidths,
        runtimes=tuple(fit.shown for fit in fits),
        networks=times,
        errors=distributions(times),
        measurements=made,
        aside=(*aside, *_unused(recorded, runtimes), *(one for fit in fits for one in fit.aside)),
        notes=(*machine.noise, *machine.notes, *(note for fit in fits for note in fit.notes)),
    )


class _Operator(NamedTuple):
    """A single operator: its class, what it asks for, and what it took."""

    name: str
    operators: str
    work: tuple[NodeWork, ...]
    time_s: float


class _Operators(NamedTuple):
    """The single operators of a runtime, and whether the runtime merges some of them."""

    taken: SuiteTimes
    each: tuple[_Operator, ...]
    fuses: bool

    def rows(self, near_bytes: int | None, lanes: int) -> list[Row]:
        """What is fitted, told with such a nearest memory and so many lanes."""
        return [Row(one.name, one.operators, class_work(one.work, near_bytes, lanes), one.time_s) for one in self.each]


class _Entry(NamedTuple):
    """A runtime with the rates of single operators."""

    timed: Timed
    rates: Rates
    notes: tuple[str, ...]


class _Found(NamedTuple):
    """All measurements of networks, and what they are weighed on."""

    device: Device
    measurements: tuple[Measurement, ...]
    source: str
    tell: _Tell


class _Fit(NamedTuple):
    """A runtime with what networks say of it."""

    timed: Timed
    shown: RuntimeFit
    networks: tuple[NetworkTime, ...]
    aside: tuple[LeftAside, ...]
    notes: tuple[str, ...]


def _threads(threads: int | None) -> int:
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = whole(threads)
    if count is None or not 1 <= count <= _MOST_THREADS:
        raise BadSpec(f"must be from 1 to {_MOST_THREADS:,}, not {shown(threads)}", where="threads")
    return count


def _check_options(seconds: float, operator_seconds: float, name: str) -> None:
    """Raises ``BadSpec`` for a time that is none, and for a name that no device file may have."""
    for value, where in ((seconds, "seconds"), (operator_seconds, "operator_seconds")):
        if not 0 < value <= _MOST_S:
            raise BadSpec(f"{shown(value)} is no time to measure for", where=where, hint="give up to 86,400 seconds")
    try:
        device_name(name or "any", str)
    except ValueError as error:
        raise BadSpec(str(error), where="name", hint="such as my-machine") from None


def _check_networks(networks: Iterable[Source], batch: int | None, tell: _Tell) -> None:
    """Raises what reading the files does, which takes a moment; a model by name is built where it is run."""
    for one in networks:
        check(one, Given(batch=batch))
        if is_named_model(os.fspath(one)):
            continue
        try:
            read_source(one, Given(batch=batch), tell)
        except NeedsShape as error:
            raise NeedsShape(error.what, where=error.where, hint=_SIZES) from None


def _by_runtime(networks: Iterable[Source]) -> dict[str, list[Source]]:
    found: dict[str, list[Source]] = {}
    for one in networks:
        name = runtime_of(one)
        if name not in OF_OPERATORS:
            hint = f"there is {', '.join(OF_OPERATORS)}"
            raise BadSpec(f"{name} runs no single operators to calibrate with", where=str(one), hint=hint)
        found.setdefault(name, []).append(one)
    return found


def _runtimes(asked: str | Sequence[str], needed: Iterable[str]) -> tuple[str, ...]:
    """Those to measure, each once.  Raises ``BadSpec`` for one that is none, and ``MissingExtra`` where none is installed."""
    wanted = (asked,) if isinstance(asked, str) else tuple(asked)
    unknown = next((one for one in wanted if one not in OF_OPERATORS), None)
    if unknown is not None:
        hint = f"there is {', '.join(OF_OPERATORS)}"
        raise BadSpec(f"{shown(unknown)} runs no single operators", where="runtime", hint=hint)
    every = set(needed)
    wanted = wanted or tuple(one for one in OF_OPERATORS if one in every)
    wanted = wanted or tuple(one for one in OF_OPERATORS if find_spec(_PACKAGES[one]) is not None)
    if not wanted:
        raise MissingExtra("no runtime is installed that runs single operators", hint=_EXTRAS)
    missing = next((one for one in wanted if find_spec(_PACKAGES[one]) is None), None)
    if missing is not None:
        raise MissingExtra(f"{missing} is not installed", hint=_INSTALLS[missing])
    lacking = next((one for one in _NEEDED if find_spec(one) is None), None)
    if lacking is not None:
        raise MissingExtra(f"calibrating needs {lacking}", hint=_INSTALLS["onnxruntime"])
    return tuple(dict.fromkeys(wanted))


def _check_covered(by_runtime: Mapping[str, Sequence[Source]], runtimes: Sequence[str]) -> None:
    for name, sources in by_runtime.items():
        if name not in runtimes:
            hint = f"add --runtime {name}, or leave the network out"
            raise BadSpec(f"{name} runs this, and is not among the runtimes", where=str(sources[0]), hint=hint)


def _unused(recorded: Iterable[Measurement], runtimes: Sequence[str]) -> Iterator[LeftAside]:
    for one in recorded:
        if one.conditions.runtime not in runtimes:
            yield LeftAside(one.source, f"its runtime {one.conditions.runtime} is not calibrated here")


def _operators(runtime: str, threads: int, seconds: float, tell: _Tell) -> _Operators:
    """What each operator asks for is that of its ONNX file, whatever runs it.

    The fastest sample counts: what else runs makes an operator slower, and never faster.
    """
    from weighbridge.measure.micro.onnx_file import written

    taken = suite(runtime, threads, seconds=seconds, progress=tell)
    fuses = FUSES.get((runtime, taken.mode), FUSES.get((runtime, ""), False))
    specs: Mapping[str, Spec] = {one.name: one for one in SPECS}
    with TemporaryDirectory() as folder:
        each = []
        for one in taken.times:
            graph = load(written(specs[one.name], Path(folder)))
            spec = specs[one.name]
            each.append(_Operator(one.name, spec.operators, node_works_of(graph, fuses), one.least_s))
    return _Operators(taken, tuple(each), fuses)


def _reached(found: _Operators) -> Iterator[Rate | Bandwidth]:
    """What single operators reached: no peak is below, however a kernel saves work.

    All bytes of one that is in no chain are others, so that they are its working set.
    """
    alone = {one.name for one in SPECS if one.chain == 1}
    for one in found.each:
        how = f"{one.name} in {found.taken.runtime}"
        macs = sum(each.macs for each in one.work)
        moved = sum(each.running_bytes + each.stored_bytes for each in one.work)
        if macs:
            yield Rate(found.taken.precision, 2 * macs / one.time_s, how)
        if moved and one.name in alone:
            yield Bandwidth(moved, moved / one.time_s, how)


def _entry(found: _Operators, device: Device, source: str, near: int | None) -> _Entry:
    """The runtime's rates, from its single operators: none is above what the machine reached in anything.

    ``near`` is what the nearest memory holds; of the numbers of lanes that one is taken which tells the operators' times best.
    """
    taken = found.taken
    peak = device.peak(taken.precision)
    moved = [one.bandwidth_bytes_per_s.value for one in device.memories if one.bandwidth_bytes_per_s is not None]
    limits = Limits(None if peak is None else peak.ops_per_s.value / 2, max(moved, default=None))
    fits = {lanes: fit_rates(found.rows(near, lanes), limits) for lanes in LANES}
    lanes = min(LANES, key=lambda one: round(fits[one].error, 4))
    rates = fits[lanes]
    where = printable(f"{taken.hardware.processor or 'an unknown processor'}, {taken.hardware.system}", 200)
    runs = Runs(
        taken.runtime,
        taken.version,
        taken.mode,
        taken.precision,
        taken.threads,
        found.fuses,
        where,
        source,
        near,
        lanes,
    )
    notes = tuple(f"{taken.runtime}: {one}" for one in (*taken.noise, *taken.notes, *rates.notes))
    return _Entry(with_rates(runs, rates), rates, notes)


def _measured(
    by_runtime: Mapping[str, Sequence[Source]],
    runtimes: Sequence[str],
    threads: int,
    batch: int | None,
    seconds: float,
    record: str | os.PathLike[str] | None,
    tell: _Tell,
) -> tuple[Measurement, ...]:
    """All networks of a runtime in turns, so that what happens to the machine happens to all of them; recorded as soon as they are."""
    asked = Asked(most_s=seconds, warm_up_s=min(Asked().warm_up_s, seconds))
    made: list[Measurement] = []
    for name in runtimes:
        whats = [Runnable(one, Given(batch=batch), threads=threads) for one in by_runtime.get(name, ())]
        if not whats:
            continue
        tell(f"measuring {exact(len(whats))} network{'s' if len(whats) > 1 else ''} in {name}")
        found = run_beside(whats, asked, progress=tell)
        if record is not None:
            append(record, found)
        made += found
    return tuple(made)


def _with_networks(entry: _Entry, found: _Found) -> _Fit:
    """The entry with efficiencies by its networks, where there are enough."""
    timed, name = entry.timed, entry.timed.runtime
    weighed, aside = _weighed(timed, found)
    notes = [*entry.notes, *contradictions(weighed)]
    networks = [network_of(one) for one in weighed]
    count = groups_of(networks)
    if count < FEWEST:
        notes.append(
            f"{name}: {exact(count)} network{' is' if count == 1 else 's are'} too few for efficiencies, which take {FEWEST}: times are "
            "expected by the rates of single operators alone, and nobody knows how far off that is"
        )
        shown_fit = runtime_fit(timed, entry.rates.residuals, None, None, frozenset())
        return _Fit(timed, shown_fit, network_times(weighed, timed), aside, tuple(notes))
    found.tell(f"fitting the efficiencies of {name}")
    singles = [one for one in singles_of(networks, timed) if one.by]
    fit = fit_efficiencies(singles)
    interval = interval_of(expected_left_out(singles))
    timed = with_efficiencies(timed, fit, interval, count, [one.macs for one in networks], found.source)
    shown_fit = runtime_fit(timed, entry.rates.residuals, fit.common, fit.strength, frozenset(fit.classes))
    times = network_times(weighed, timed)
    notes += (
        f"{one.name} has operators without a rate ({', '.join(one.missing)}): their time is in no expected one"
        for one in times
        if one.missing
    )
    return _Fit(timed, shown_fit, times, aside, tuple(notes))


def _weighed(timed: Timed, found: _Found) -> tuple[list[Reweighed], tuple[LeftAside, ...]]:
    """The measurements that say something of this entry, weighed again; the others with the reason."""
    weighed, aside = [], []
    for one in found.measurements:
        if one.conditions.runtime != timed.runtime:
            continue
        why = why_not(one, timed, (timed.conditions,))
        try:
            if why:
                aside.append(LeftAside(one.source, why))
            else:
                weighed.append(reweighed(one, found.device, timed.fuses, found.tell))
        except WeighbridgeError as error:
            aside.append(LeftAside(one.source, error.what))
    return weighed, tuple(aside)
