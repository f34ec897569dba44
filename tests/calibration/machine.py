"""A machine that needs no time: what operators and networks take on it is a rule of what they ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.measure.recorded import CONDITIONS, measurement, write_network
from weighbridge import calibrating, load
from weighbridge.api import node_works_of
from weighbridge.estimates.class_work import ClassWork, class_work
from weighbridge.measure.conditions import InputShape
from weighbridge.measure.micro.onnx_file import written
from weighbridge.measure.micro.record import Bandwidth, MachineTimes, OperatorTime, Rate, SuiteTimes
from weighbridge.measure.micro.specs import SPECS
from weighbridge.measure.record import Measurement
from weighbridge.measure.summary import summary
from weighbridge.running import Runnable, sha256_of

CALL_S, STEP_S, MAC_S, BYTE_S = 5e-6, 2e-6, 2e-11, 1e-10
EFFICIENCY = 0.5
"""Networks take twice as long as their single operators."""
CLASSES = ("dense convolution", "elementwise", "linear", "pooling")
FEW = tuple(spec for name in CLASSES for spec in [one for one in SPECS if one.operators == name][:7])
MACHINE = MachineTimes(
    rates=(Rate("float32", 1.2e11, "256 x 256 x 256, a library"),),
    bandwidths=(Bandwidth(2**16, 4e10, "copied, a library"), Bandwidth(2**26, 2e10, "copied, a library")),
    hardware=CONDITIONS.hardware,
    threads=1,
    libraries={},
)


def seconds(work: Sequence[ClassWork]) -> float:
    """Of single operators, beside the call."""
    return sum(one.macs * MAC_S + one.bytes * BYTE_S + one.steps * STEP_S for one in work)


@cache
def _takes(name: str) -> float:
    spec = next(one for one in FEW if one.name == name)
    with TemporaryDirectory() as folder:
        return CALL_S + seconds(class_work(node_works_of(load(written(spec, Path(folder))), fuses=True)))


def suite_times(runtime: str, threads: int = 1, **_: Any) -> SuiteTimes:
    """Every operator takes what the rule says."""
    times = []
    for spec in FEW:
        took = _takes(spec.name)
        times.append(OperatorTime(spec.name, took * 1.1, took, (took, took * 1.1, took * 1.2)))
    mode = {"onnxruntime": "CPUExecutionProvider", "pytorch": "eager"}[runtime]
    return SuiteTimes(
        runtime, "1.20.0", mode, "float32", threads, CONDITIONS.hardware, {}, tuple(times), notes=("a note",)
    )


def measured(source: str, factor: float = 1.0, **conditions: Any) -> Measurement:
    """A network of a file as it takes on this machine, ``factor`` times that."""
    graph = load(source)
    took = factor * (CALL_S + seconds(class_work(node_works_of(graph, fuses=True))) / EFFICIENCY)
    inputs = tuple(
        InputShape(name, graph.tensors[name].shape or (), "float32", "normal numbers") for name in graph.inputs
    )
    samples = tuple(took * (1 + 0.0001 * (place % 7 - 3)) for place in range(60))
    made = measurement(conditions={"inputs": inputs, **conditions})
    return replace(
        made,
        name=Path(source).stem,
        source=source,
        sha256=sha256_of(source),
        samples_s=samples,
        summary=summary(samples),
    )


def networks(count: int = 5) -> list[str]:
    """Files of so many networks, all of another size."""
    return [write_network(f"net{place}.onnx", 4 + 8 * place, 1, 1 + place % 3) for place in range(count)]


def run_beside(whats: Sequence[Runnable], *_: Any, **__: Any) -> tuple[Measurement, ...]:
    """In place of running them."""
    return tuple(
        measured(str(one.source), 1.0 + 0.02 * (-1) ** place, threads=one.threads) for place, one in enumerate(whats)
    )


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Puts the machine in the place of this one, in a folder of its own; says how often it was measured."""
    asked: list[str] = []

    def rates(*_: Any, **__: Any) -> MachineTimes:
        asked.append("machine")
        return MACHINE

    def suite(runtime: str, *arguments: Any, **options: Any) -> SuiteTimes:
        asked.append(runtime)
        return suite_times(runtime, *arguments, **options)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(calibrating, "SPECS", FEW)
    monkeypatch.setattr(calibrating, "machine_rates", rates)
    monkeypatch.setattr(calibrating, "suite", suite)
    monkeypatch.setattr(calibrating, "run_beside", run_beside)
    monkeypatch.setattr(calibrating, "find_spec", lambda name: name)
    return lambda: list(asked)
