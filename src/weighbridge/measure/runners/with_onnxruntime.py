"""ONNX files in ONNX Runtime."""

from __future__ import annotations

import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
import onnxruntime as ort

from weighbridge.errors import BadSpec, MeasureError
from weighbridge.measure.conditions import InputShape
from weighbridge.measure.record import Profile, ProfiledClass
from weighbridge.measure.runners.filled import filled
from weighbridge.measure.runners.nvidia import processor
from weighbridge.measure.runners.refusal import fixed, refusal
from weighbridge.measure.runners.runner import About, Order, libraries, timed

__all__ = ["OnnxRuntime", "ready"]

_TYPES: Final = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    "tensor(bool)": "bool",
    **{f"tensor({sign}int{bits})": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_QUIET: Final = 3
_ON_CUDA: Final = frozenset({"CUDAExecutionProvider", "TensorrtExecutionProvider"})
_COPIED: Final = "each run copies its inputs to the graphics processor and its outputs back"


class OnnxRuntime:
    """A session with its inputs."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._session = _session(order, self._options())
        shapes = {one.name: _shape(one, order) for one in self._session.get_inputs()}
        made = {one.name: filled(one.name, *shapes[one.name], order.values) for one in self._session.get_inputs()}
        self._feeds = {name: array for name, (array, _) in made.items()}
        self._names = [one.name for one in self._session.get_outputs()]
        try:
            self._run()
        except Exception as error:
            raise refusal("onnxruntime", error, order.source) from None
        is_cuda = not _ON_CUDA.isdisjoint(self._session.get_providers())
        self.about = About(
            version=ort.__version__,
            mode=", ".join(self._session.get_providers()),
            inputs=tuple(
                InputShape(name, tuple(array.shape), array.dtype.name, how) for name, (array, how) in made.items()
            ),
            libraries=libraries(numpy=np.__version__),
            accelerator=processor(0) if is_cuda else None,
            notes=(_COPIED,) if is_cuda else (),
        )

    def samples(self, count: int, runs: int) -> Sequence[float]:
        return timed(self._run, None, count, runs)

    def profile(self, runs: int) -> Profile:
        """By operator, of a session of its own, which writes down what each kernel takes."""
        with tempfile.TemporaryDirectory() as folder:
            options = self._options()
            options.enable_profiling = True
            options.profile_file_prefix = str(Path(folder, "run"))
            session = _session(self._order, options)
            for _ in range(runs + 1):
                session.run(self._names, self._feeds)
            events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
        return _profile(events, runs)

    def _run(self) -> None:
        self._session.run(self._names, self._feeds)

    def _options(self) -> Any:
        options = ort.SessionOptions()
        options.intra_op_num_threads = self._order.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = _QUIET
        return options


def ready(order: Order) -> OnnxRuntime:
    """Raises ``MeasureError`` with what the runtime says where it refuses the model."""
    return OnnxRuntime(order)


def _session(order: Order, options: Any) -> Any:
    providers = ort.get_available_providers()
    wanted = order.mode or "CPUExecutionProvider"
    if wanted not in providers:
        raise BadSpec(f"onnxruntime has no {wanted} here", where="mode", hint=f"there is {', '.join(providers)}")
    try:
        return ort.InferenceSession(order.source, options, providers=[wanted])
    except Exception as error:
        raise refusal("onnxruntime", error, order.source) from None


def _shape(one: Any, order: Order) -> tuple[tuple[int, ...], str]:
    """The shape and the type of an input: as asked for, else as the file says."""
    dtype = _TYPES.get(one.type)
    if dtype is None:
        raise MeasureError(f"its input {one.name} is a {one.type}, which cannot be filled", where=order.source)
    if one.name in order.inputs:
        shape = tuple(order.inputs[one.name][0])
        _check(one, shape, order.source)
        return shape, dtype
    if not all(isinstance(size, int) for size in one.shape):
        raise BadSpec(f"the size of input {one.name} is open", where=order.source, hint="give its shape with --input")
    return tuple(one.shape), dtype


def _check(one: Any, shape: tuple[int, ...], source: str) -> None:
    """Raises ``MeasureError`` where the file fixes a size that was asked for otherwise."""
    own = [size if isinstance(size, int) else None for size in one.shape]
    if len(own) != len(shape) or any(size not in (None, asked) for size, asked in zip(own, shape, strict=True)):
        raise fixed(one.name, own, shape, source)


def _profile(events: Sequence[Mapping[str, Any]], runs: int) -> Profile:
    """Of all runs but the first one: the median of each operator's seconds in a run."""
    per_run: list[dict[str, float]] = []
    calls: list[Counter[str]] = []
    current: dict[str, float] = defaultdict(float)
    counted: Counter[str] = Counter()
    totals = []
    for event in sorted(events, key=lambda one: int(one.get("ts", 0)) + int(one.get("dur", 0))):
        kind = event.get("args", {}).get("op_name") if event.get("cat") == "Node" else None
        if kind and str(event.get("name", "")).endswith("_kernel_time"):
            current[kind] += event["dur"] / 1e6
            counted[kind] += 1
        elif event.get("cat") == "Session" and event.get("name") == "model_run":
            per_run.append(dict(current))
            calls.append(counted)
            totals.append(event["dur"] / 1e6)
            current, counted = defaultdict(float), Counter()
    kept, counts, totals = per_run[1:], calls[1:], totals[1:]
    names = sorted({name for one in kept for name in one})
    classes = [
        ProfiledClass(name, median(one.get(name, 0.0) for one in kept), max(one[name] for one in counts))
        for name in names
    ]
    total = median(totals) if totals else 0.0
    return Profile("onnxruntime's profiler", len(kept), total, tuple(sorted(classes, key=lambda one: -one.time_s)))
