"""Recorded measurements and what the networks asked for: each is weighed again at the shapes that it was measured with."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from weighbridge.api import node_works_of, weigh
from weighbridge.calibration.compared import Compared, Network, compared
from weighbridge.devices.device import Device
from weighbridge.devices.timed import Timed
from weighbridge.errors import BadSpec, UnsupportedFormat, WeighbridgeError
from weighbridge.estimates.class_work import NodeWork
from weighbridge.frontends.sniff import identify
from weighbridge.graph import Graph
from weighbridge.measure.record import Measurement
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.measured_records import read
from weighbridge.report.predicted import LeftAside, NetworkTime
from weighbridge.running import RUNTIMES, sha256_of
from weighbridge.sources import Given, Source, check_there, file_of, is_named_model, quietly
from weighbridge.sources import read as read_source
from weighbridge.units import seconds

__all__ = [
    "FUSES",
    "Reweighed",
    "contradictions",
    "network_of",
    "network_times",
    "records_of",
    "reweighed",
    "runtime_of",
    "why_not",
]

FUSES: Final = {
    ("onnxruntime", ""): True,
    ("litert", ""): True,
    ("pytorch", "eager"): False,
    ("pytorch", "compile"): True,
}
"""By runtime and mode, "" for any other, whether normalisations and functions are merged into what they follow."""
_CONTRADICTION: Final = 0.1
"""By so much more than the least the most of one network is told."""


class Reweighed(NamedTuple):
    """A measurement, what its network asks of kernels, its MACs, and its floor on the device; None is not known."""

    measurement: Measurement
    work: tuple[NodeWork, ...]
    macs: int
    floor_s: float | None

    @property
    def group(self) -> str:
        """What is the same network, however often and at however many batches it was measured."""
        return self.measurement.sha256 or self.measurement.source


def records_of(places: Iterable[str | os.PathLike[str]]) -> tuple[list[Measurement], list[LeftAside]]:
    """Everything that is recorded at ``places``, and the lines that are no measurements.  Raises ``BadSpec`` where there is nothing."""
    measurements: list[Measurement] = []
    aside: list[LeftAside] = []
    for place in places:
        found = read(place)
        if not found.measurements and not found.faults:
            hint = "`weighbridge measure --record` adds to it"
            raise BadSpec("there is no measurement in it", where=os.fspath(place), hint=hint)
        measurements += found.measurements
        aside += (LeftAside(f"{os.fspath(place)}: {one.where}", one.what) for one in found.faults)
    return measurements, aside


def runtime_of(source: Source) -> str:
    """The runtime of a source's format, before it is read.  Raises ``BadSpec`` and ``UnsupportedFormat`` for one that none runs."""
    path = os.fspath(source)
    if is_named_model(path):
        return RUNTIMES["torch"]
    check_there(path)
    found = file_of(path)
    kind = "textbook" if found is None else identify(found[0])
    if kind not in RUNTIMES:
        what = f"no runtime runs a network of the format {kind}: it has no weights"
        raise UnsupportedFormat(what, where=path, hint="give an ONNX file, or a PyTorch model: torchvision:resnet18")
    return RUNTIMES[kind]


def reweighed(one: Measurement, device: Device, fuses: bool, tell: Callable[[str], None] = quietly) -> Reweighed:
    """The measurement with what its network asks for.

    Raises ``BadSpec`` for a source that is gone, that is another file by now, or that has other shapes, and what reading it raises.
    """
    tell(f"weighing {one.source}")
    _check_same(one)
    graph = _graph(one)
    report = weigh(graph, on=device)
    (on,) = report.on
    return Reweighed(one, node_works_of(graph, fuses), report.facts.macs, on.latency.floor_s)


def _check_same(one: Measurement) -> None:
    if one.sha256 is None:
        check_there(one.source)
        return
    try:
        now = sha256_of(one.source)
    except OSError as error:
        raise BadSpec(f"its file cannot be read: {error.strerror or error}", where=one.source) from None
    if now is None:
        raise BadSpec("its file is gone", where=one.source)
    if now != one.sha256:
        raise BadSpec("its file is another one by now", where=one.source, hint="measure it again")


def _graph(one: Measurement) -> Graph:
    """At the recorded shapes.  A model by name takes a batch; its inputs have names that nobody can give."""
    shapes = {each.name: each.shape for each in one.conditions.inputs}
    by_name = is_named_model(one.source)
    graph = _read(one, Given(batch=one.conditions.batch) if by_name else Given(inputs=shapes))
    found = {name: graph.tensors[name].shape for name in graph.inputs}
    if list(found.values()) != list(shapes.values()):
        raise BadSpec(f"it has other inputs than those that were measured: {found}", where=one.source)
    return graph


def _read(one: Measurement, given: Given) -> Graph:
    try:
        loaded = read_source(one.source, given, quietly)
    except WeighbridgeError as error:
        raise error if error.where else error.at(one.source) from None
    if RUNTIMES.get(loaded.format) != one.conditions.runtime:
        raise BadSpec(f"{one.conditions.runtime} does not run {loaded.format}", where=one.source)
    return loaded.graph


def why_not(one: Measurement, timed: Timed, machine: Iterable[str]) -> str:
    """Why a measurement says nothing of this entry of a device file, "" where it does; ``machine`` are the names of the machine."""
    where = one.conditions
    named = where.hardware.processor if where.hardware.accelerator is None else where.hardware.accelerator.name
    if not named or not any(_is_in(named, name) for name in machine):
        return f"it was measured on another machine: {named or 'one without a name'}"
    for word, mine, other in (
        ("precision", where.precision, timed.precision),
        ("threads", where.threads, timed.threads),
        ("mode", where.mode, timed.mode),
        ("streams", where.streams, 1),
    ):
        if mine is None:
            return f"its {word} is unknown, and the rates are of {other}"
        if mine != other:
            return f"it has other {word}: {mine}, not {other}"
    if where.pinned and len(where.pinned) < where.threads:
        return f"it was held to fewer processors than it has threads: {len(where.pinned)}, not {where.threads}"
    return ""


def _is_in(named: str, name: str) -> bool:
    """Whether a text names that processor, and no other whose name only begins or ends alike: a Cortex-A7 is no Cortex-A72."""
    return re.search(rf"(?<!\w){re.escape(named)}(?!\w)", name) is not None


def network_of(one: Reweighed) -> Network:
    """What the fit takes of it."""
    return Network(one.measurement.name, one.group, one.work, one.measurement.latency_s, one.macs, one.floor_s)


def network_times(found: Sequence[Reweighed], timed: Timed) -> tuple[NetworkTime, ...]:
    """Each measurement beside what is expected of it."""
    beside = compared([network_of(one) for one in found], timed)
    return tuple(_network_time(one, each) for one, each in zip(found, beside, strict=True))


def _network_time(one: Reweighed, beside: Compared) -> NetworkTime:
    measured, where = one.measurement, one.measurement.conditions
    low, high = (None, None) if measured.interval is None else measured.interval
    return NetworkTime(
        name=measured.name,
        source=measured.source,
        runtime=where.runtime,
        precision=where.precision or "",
        threads=where.threads,
        batch=where.batch,
        macs=one.macs,
        measured_s=measured.latency_s,
        low_s=low,
        high_s=high,
        floor_s=one.floor_s,
        noise=measured.noise,
        **beside._asdict(),
    )


def contradictions(found: Sequence[Reweighed]) -> Iterator[str]:
    """Networks that took other times the other time, beyond the noise of both."""
    by_kind: dict[tuple[str, object], list[Measurement]] = {}
    for one in found:
        by_kind.setdefault((one.group, one.measurement.conditions.inputs), []).append(one.measurement)
    for each in by_kind.values():
        first, last = min(each, key=lambda one: one.latency_s), max(each, key=lambda one: one.latency_s)
        apart = first.interval is None or last.interval is None or not first.interval.meets(last.interval)
        if apart and last.latency_s > (1 + _CONTRADICTION) * first.latency_s:
            took = f"{seconds(first.latency_s)} to {seconds(last.latency_s)}"
            yield f"{len(each):,} measurements of {first.name} contradict each other: {took}; all of them count"
