"""Runs sources: each in a process of its own, several in turns; what comes back is how long that took, under which conditions."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

from weighbridge import __version__
from weighbridge.counts.batch import batch_of
from weighbridge.errors import BadSpec, UnsupportedFormat
from weighbridge.graph import Graph
from weighbridge.measure.apart import Apart
from weighbridge.measure.conditions import Conditions
from weighbridge.measure.energy import energy, meter_of_graphics, meter_of_processor
from weighbridge.measure.harness import Asked, Taken, alternate
from weighbridge.measure.machine import governor, hardware, watching
from weighbridge.measure.noise import noises, together
from weighbridge.measure.record import EnergyRead, Measurement, Profile
from weighbridge.measure.runners.runner import Order
from weighbridge.measure.summary import summary
from weighbridge.named_tuple import NamedTuple
from weighbridge.run_precision import precision_of_run
from weighbridge.sources import Given, Loaded, Source, check, quietly, read

__all__ = ["RUNTIMES", "Runnable", "run_beside", "sha256_of"]

RUNTIMES: Final = {"onnx": "onnxruntime", "tflite": "litert", "torch": "pytorch", "pt2": "pytorch"}
"""By the format of a source the runtime that runs it."""
_RUN: Final = "give an ONNX or TensorFlow Lite file, or a PyTorch model: torchvision:resnet18"
_PROFILED: Final = 20
"""Runs under the runtime's profiler."""
_ASKED: Final = Asked()


class Runnable(NamedTuple):
    """A source as it is to be run: so many ``streams`` of it at once, each in a process of its own.

    ``mode`` is the runtime's own word for how, "" for its first choice; ``values`` are .npy files by input.
    """

    source: Source
    given: Given = Given()
    runtime: str = ""
    mode: str = ""
    threads: int = 1
    pinned: tuple[int, ...] = ()
    values: Mapping[str, str] = {}
    streams: int = 1


class _Ready(NamedTuple):
    """A source in its processes, ready to run, and the conditions under which that is."""

    what: Runnable
    loaded: Loaded
    streams: tuple[Apart, ...]
    conditions: Conditions

    def samples(self, count: int, runs: int) -> Sequence[float]:
        """The seconds of one run in each of ``count`` samples of each stream, of all streams in turn."""
        first, *others = self.streams
        if not others:
            return first.samples(count, runs)
        with ThreadPoolExecutor(len(self.streams)) as pool:
            found = list(pool.map(lambda one: one.samples(count, runs), self.streams))
        return [one for at_once in zip(*found, strict=True) for one in at_once]


class _More(NamedTuple):
    """What there is beside the samples."""

    taken_at: str
    profile: Profile | None
    energy: EnergyRead | None
    notes: tuple[str, ...] = ()


def run_beside(
    whats: Sequence[Runnable],
    asked: Asked = _ASKED,
    *,
    profile: bool = False,
    joules: bool = False,
    agreed: Callable[[Sequence[Conditions]], None] | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[Measurement, ...]:
    """The time of one run of each of ``whats``, measured in turns, a round each, until the medians are known as well as ``asked`` for.

    What the machine does meanwhile then happens to all of them alike.  ``agreed`` is called with the conditions of all before anything
    is measured, and may raise.  When all is measured each runs a few times more under its runtime's profiler with ``profile``, and for
    some seconds with ``joules``, to read what it draws above the idle machine.

    Raises what reading the source does, ``MissingExtra`` for a runtime that is not installed, and ``MeasureError`` for a model that the
    runtime refuses or that ends it.
    """
    tell = progress or quietly
    read_ones = [_loaded(one, tell) for one in whats]
    with ExitStack() as stack:
        ready = [_ready(one, loaded, stack, tell) for one, loaded in zip(whats, read_ones, strict=True)]
        if agreed is not None:
            agreed([one.conditions for one in ready])
        numbers = [os.getpid(), *(stream.number for one in ready for stream in one.streams)]
        tell("measuring")
        most = max((one.what.streams for one in ready), default=1)
        # the time of a run of each stream is added up, while they pass together
        patience = asked._replace(most_s=asked.most_s * most, warm_up_s=asked.warm_up_s * most)
        taken = alternate([one.samples for one in ready], patience, watching(numbers))
        taken_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        more = [_more(one, found, taken_at, tell, profile, joules) for one, found in zip(ready, taken, strict=True)]
        return tuple(
            _measurement(one, found, asked, beside) for one, found, beside in zip(ready, taken, more, strict=True)
        )


def _loaded(what: Runnable, tell: Callable[[str], None]) -> Loaded:
    if isinstance(what.source, Graph):
        raise BadSpec("a graph cannot be run", hint="measure the file or the name that it was read from")
    check(what.source, what.given)
    return read(what.source, what.given, tell)


def _ready(what: Runnable, loaded: Loaded, stack: ExitStack, tell: Callable[[str], None]) -> _Ready:
    runtime, order = _runtime(what, loaded), _order(what, loaded)
    tell(f"making {loaded.origin} ready")
    streams = tuple(stack.enter_context(Apart(runtime, order, what.pinned)) for _ in range(what.streams))
    return _Ready(what, loaded, streams, _conditions(what, loaded, runtime, streams[0]))


def _runtime(what: Runnable, loaded: Loaded) -> str:
    """The runtime asked for, or the one of the format.  Raises ``UnsupportedFormat`` and ``BadSpec`` where there is none."""
    own = RUNTIMES.get(loaded.format)
    if own is None:
        what_is_it = f"no runtime runs a network of the format {loaded.format}: it has no weights"
        raise UnsupportedFormat(what_is_it, where=loaded.origin, hint=_RUN)
    if not loaded.origin:
        raise BadSpec("an object cannot be run in a process of its own", hint=_RUN)
    if what.runtime and what.runtime != own:
        raise BadSpec(f"{what.runtime} runs no {loaded.format}", where="runtime", hint=f"{own} does")
    return own


def _order(what: Runnable, loaded: Loaded) -> Order:
    shapes = dict(_shapes(loaded))
    unknown = next((name for name in what.values if name not in shapes), None)
    if unknown is not None:
        raise BadSpec(f"there is no input {unknown!r}", where="values", hint=f"there is {', '.join(shapes)}")
    sizes = {"batch": what.given.batch, "sequence": what.given.sequence}
    choices = {name: size for name, size in sizes.items() if size is not None}
    return Order(loaded.origin, what.mode, what.threads, shapes, dict(what.values), choices)


def _shapes(loaded: Loaded) -> Iterator[tuple[str, tuple[tuple[int, ...], str]]]:
    for name in loaded.graph.inputs:
        tensor = loaded.graph.tensors[name]
        if tensor.shape is None:
            raise BadSpec(f"the shape of input {name} is not known", where=loaded.origin, hint="give it with --input")
        yield name, (tuple(tensor.shape), tensor.dtype.name)


def _conditions(what: Runnable, loaded: Loaded, runtime: str, apart: Apart) -> Conditions:
    about = apart.about
    return Conditions(
        hardware=hardware()._replace(accelerator=about.accelerator),
        runtime=runtime,
        version=about.version,
        mode=about.mode,
        precision=precision_of_run(loaded.graph)[0],
        batch=batch_of(loaded.graph),
        inputs=about.inputs,
        threads=what.threads,
        pinned=what.pinned,
        governor=governor(what.pinned or range(os.cpu_count() or 1)),
        streams=what.streams,
        libraries=dict(about.libraries),
    )


def _more(
    ready: _Ready, taken: Taken, taken_at: str, tell: Callable[[str], None], profile: bool, joules: bool
) -> _More:
    read = _energy(ready, taken, tell) if joules else None
    if not profile:
        return _More(taken_at, None, read)
    tell("profiling")
    seen = ready.streams[0].profile(_PROFILED)
    without = () if seen is not None else (f"{ready.conditions.runtime} has no profiler that can be read here",)
    return _More(taken_at, seen, read, without)


def _energy(ready: _Ready, taken: Taken, tell: Callable[[str], None]) -> EnergyRead:
    tell("reading the counters of energy")
    meter = meter_of_processor() if ready.conditions.hardware.accelerator is None else meter_of_graphics()
    return energy(ready.samples, median(taken.samples_s), meter)


def _measurement(ready: _Ready, taken: Taken, asked: Asked, more: _More) -> Measurement:
    found, load = summary(taken.samples_s, asked.confidence), together(taken.loads)
    return Measurement(
        tool=f"weighbridge {__version__}",
        taken_at=more.taken_at,
        name=_name(ready.loaded),
        source=ready.loaded.origin,
        sha256=sha256_of(ready.loaded.origin),
        conditions=ready.conditions,
        warm_up_s=taken.warm_up_s,
        samples_s=taken.samples_s,
        runs_per_sample=taken.runs_per_sample,
        wanted=asked.width,
        summary=found,
        load=load,
        noise=noises(taken.samples_s, found, load, asked.width, taken.loads),
        energy=more.energy,
        profile=more.profile,
        notes=(*ready.streams[0].about.notes, *_noted(ready.loaded.graph), *more.notes),
        rounds=taken.rounds,
        round_loads=taken.loads,
    )


def _name(loaded: Loaded) -> str:
    """A file is called as its owner calls it: exporters name the graph inside alike, whatever they export."""
    path = Path(loaded.origin)
    return path.stem if path.is_file() else loaded.graph.name


def _noted(graph: Graph) -> tuple[str, ...]:
    """Why there is no precision, where there is none."""
    _, note = precision_of_run(graph)
    return (note,) if note else ()


def sha256_of(origin: str) -> str | None:
    """That of the file of this name, None where it is none.  Raises ``OSError`` where it cannot be read."""
    path = Path(origin)
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
