"""Measures sources: each in a process of its own, several in turns, with the conditions under which that was."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from weighbridge import __version__
from weighbridge.counts import count
from weighbridge.errors import BadSpec, UnsupportedFormat
from weighbridge.graph import Graph
from weighbridge.measure.apart import Apart
from weighbridge.measure.conditions import Conditions
from weighbridge.measure.harness import Asked, Taken, alternate
from weighbridge.measure.machine import Mark, governor, hardware, load_between, mark
from weighbridge.measure.noise import noises
from weighbridge.measure.record import Measurement
from weighbridge.measure.runners.runner import Order
from weighbridge.measure.summary import summary
from weighbridge.named_tuple import NamedTuple
from weighbridge.sources import Given, Loaded, Source, check, read

__all__ = ["Runnable", "measure", "measure_beside"]

RUNTIMES: Final = {"onnx": "onnxruntime", "tflite": "litert", "torch": "pytorch", "pt2": "pytorch"}
"""By the format of a source the runtime that runs it."""
_ASKED: Final = Asked()


class Runnable(NamedTuple):
    """A source as it is to be run.

    ``mode`` is the runtime's own word for how, "" for its first choice; ``values`` are .npy files by input.
    """

    source: Source
    given: Given = Given()
    runtime: str = ""
    mode: str = ""
    threads: int = 1
    pinned: tuple[int, ...] = ()
    values: Mapping[str, str] = {}


def measure(what: Runnable, asked: Asked = _ASKED, *, progress: Callable[[str], None] | None = None) -> Measurement:
    """The time of one run of ``what``, measured until its median is known as well as ``asked`` for.

    Raises what reading the source does, ``MissingExtra`` for a runtime that is not installed, and ``MeasureError`` for a model that the
    runtime refuses or that ends it.
    """
    (found,) = measure_beside([what], asked, progress=progress)
    return found


def measure_beside(
    whats: Sequence[Runnable], asked: Asked = _ASKED, *, progress: Callable[[str], None] | None = None
) -> tuple[Measurement, ...]:
    """The same of several in turns, a round each, so that what the machine does meanwhile happens to all of them alike."""
    tell = progress or _quietly
    read_ones = [_loaded(one, tell) for one in whats]
    with ExitStack() as stack:
        running = []
        for one, loaded in zip(whats, read_ones, strict=True):
            tell(f"making {loaded.origin} ready")
            order = _order(one, loaded)
            running.append(stack.enter_context(Apart(_runtime(one, loaded), order, one.pinned)))
        numbers = [os.getpid(), *(one.number for one in running)]
        tell("measuring")
        before = mark(numbers, time.perf_counter())
        taken = alternate([one.samples for one in running], asked)
        after = mark(numbers, time.perf_counter())
        return tuple(
            _measurement(one, loaded, apart, found, asked, (before, after))
            for one, loaded, apart, found in zip(whats, read_ones, running, taken, strict=True)
        )


def _loaded(what: Runnable, tell: Callable[[str], None]) -> Loaded:
    if isinstance(what.source, Graph):
        raise BadSpec("a graph cannot be run", hint="measure the file or the name that it was read from")
    check(what.source, what.given)
    return read(what.source, what.given, tell)


def _runtime(what: Runnable, loaded: Loaded) -> str:
    """The runtime asked for, or the one of the format.  Raises ``UnsupportedFormat`` and ``BadSpec`` where there is none."""
    own = RUNTIMES.get(loaded.format)
    if own is None:
        raise UnsupportedFormat(
            f"no runtime runs a network of the format {loaded.format}: it has no weights",
            where=loaded.origin,
            hint=_RUN,
        )
    if what.runtime and what.runtime != own:
        raise BadSpec(f"{what.runtime} runs no {loaded.format}", where="runtime", hint=f"{own} does")
    return own


def _order(what: Runnable, loaded: Loaded) -> Order:
    shapes = {}
    for name in loaded.graph.inputs:
        tensor = loaded.graph.tensors[name]
        if tensor.shape is None:
            raise BadSpec(f"the shape of input {name} is not known", where=loaded.origin, hint="give it with --input")
        shapes[name] = (tuple(tensor.shape), tensor.dtype.name)
    sizes = {"batch": what.given.batch, "sequence": what.given.sequence}
    choices = {name: size for name, size in sizes.items() if size is not None}
    return Order(loaded.origin, what.mode, what.threads, shapes, dict(what.values), choices)


def _measurement(
    what: Runnable, loaded: Loaded, apart: Apart, taken: Taken, asked: Asked, marks: tuple[Mark, Mark]
) -> Measurement:
    found, load = summary(taken.samples_s, asked.confidence), load_between(*marks)
    about = apart.about
    processors = what.pinned or range(os.cpu_count() or 1)
    conditions = Conditions(
        hardware=hardware()._replace(accelerator=about.accelerator),
        runtime=_runtime(what, loaded),
        version=about.version,
        mode=about.mode,
        precision=_precision(loaded.graph),
        batch=_batch(loaded.graph),
        inputs=about.inputs,
        threads=what.threads,
        pinned=what.pinned,
        governor=governor(processors),
        libraries=dict(about.libraries),
    )
    return Measurement(
        tool=f"weighbridge {__version__}",
        taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
        name=loaded.graph.name,
        source=loaded.origin,
        sha256=_sha256(loaded.origin),
        conditions=conditions,
        warm_up_s=taken.warm_up_s,
        samples_s=taken.samples_s,
        runs_per_sample=taken.runs_per_sample,
        wanted=asked.width,
        summary=found,
        load=load,
        noise=noises(taken.samples_s, found, load, asked.width),
        notes=about.notes,
    )


def _precision(graph: Graph) -> str | None:
    """What the weights of all nodes with multiply-accumulates are of; None where they differ."""
    kinds = set()
    for node, facts in zip(graph.nodes, count(graph, graph).nodes, strict=False):
        if facts.macs:
            kinds |= {graph.tensors[one].dtype.name for name, one in node.operands if name == "w"}
    return kinds.pop() if len(kinds) == 1 else None


def _batch(graph: Graph) -> int | None:
    """The first size of all inputs, where they agree."""
    sizes = {shape[0] for one in graph.inputs if (shape := graph.tensors[one].shape)}
    return sizes.pop() if len(sizes) == 1 else None


def _sha256(origin: str) -> str | None:
    path = Path(origin)
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_RUN: Final = "give an ONNX or TensorFlow Lite file, or a PyTorch model: torchvision:resnet18"


def _quietly(stage: str) -> None:
    """Tell nobody."""
