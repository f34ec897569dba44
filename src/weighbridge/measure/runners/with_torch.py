"""PyTorch models by name and exported programs in PyTorch: eager or compiled, on the processor or a graphics processor."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, Final

import numpy as np
import torch

from weighbridge.errors import BadSpec, MeasureError, WeighbridgeError
from weighbridge.measure.conditions import Accelerator, InputShape
from weighbridge.measure.record import Profile, ProfiledClass
from weighbridge.measure.runners.filled import filled
from weighbridge.measure.runners.nvidia import processor
from weighbridge.measure.runners.refusal import refusal
from weighbridge.measure.runners.runner import About, Order, libraries, timed
from weighbridge.measure.runners.torch_models import Model, model_of

__all__ = ["PyTorch", "ready"]

_MODES: Final[Mapping[str, tuple[bool, str]]] = {
    "eager": (False, "cpu"),
    "compile": (True, "cpu"),
    "eager cuda": (False, "cuda"),
    "compile cuda": (True, "cuda"),
}
"""By mode whether the model is compiled, and the device that it is on."""
_UNNAMED: Final = (
    "torch.profiler, which names no loop that was compiled for the processor: those are in the total alone"
)


class PyTorch:
    """A model with its inputs, in evaluation mode, no gradients followed."""

    def __init__(self, order: Order) -> None:
        mode = order.mode or "eager"
        self._is_compiled, self._device = _mode(mode)
        torch.set_num_threads(order.threads)
        self._source = order.source
        model = model_of(order)
        try:
            module = model.module.to(self._device)
            self._tensors, shapes = _inputs(model, order, self._device)
            self._call = torch.compile(module) if self._is_compiled else module
            compiled_s = _seconds(self._run)
        except WeighbridgeError:
            raise
        except Exception as error:
            raise refusal("pytorch", error, order.source) from None
        compiled = f"compiling and the first run took {compiled_s:.1f} s, which are in no sample"
        self.about = About(
            version=torch.__version__,
            mode=mode,
            inputs=shapes,
            libraries=_libraries(order.source, self._device),
            accelerator=_accelerator() if self._device == "cuda" else None,
            notes=(*model.notes, *((compiled,) if self._is_compiled else ())),
        )

    def samples(self, count: int, runs: int) -> Sequence[float]:
        """A graphics processor has ended its work at the end of each sample, and before the first."""
        wait = torch.cuda.synchronize if self._device == "cuda" else None
        with torch.inference_mode():
            if wait is not None:
                wait()
            return timed(self._unguarded, wait, count, runs)

    def profile(self, runs: int) -> Profile:
        """By operator, as the model called them: what an operator calls is in its time."""
        seen = [_profiled(self._run, self._device) for _ in range(runs + 1)][1:]
        return summed(seen, _UNNAMED if self._is_compiled else "torch.profiler")

    def _run(self) -> None:
        with torch.inference_mode():
            self._unguarded()
            if self._device == "cuda":
                torch.cuda.synchronize()

    def _unguarded(self) -> None:
        args, kwargs = self._tensors
        self._call(*args, **kwargs)


def ready(order: Order) -> PyTorch:
    """Raises ``BadSpec`` for a mode that does not exist here, and ``MeasureError`` where PyTorch refuses the model."""
    return PyTorch(order)


def _mode(mode: str) -> tuple[bool, str]:
    here = [name for name, (_, device) in _MODES.items() if device == "cpu" or torch.cuda.is_available()]
    if mode not in here:
        raise BadSpec(f"pytorch has no mode {mode} here", where="mode", hint=f"there is {', '.join(here)}")
    return _MODES[mode]


def _inputs(model: Model, order: Order, device: str) -> tuple[Any, tuple[InputShape, ...]]:
    """What the model is called with, and the shapes of it."""
    shapes, tensors = [], []
    for one in model.inputs:
        array, how = _filled(one.name, one.shape, one.dtype, order)
        tensors.append(array.to(device))
        shapes.append(InputShape(one.name, one.shape, one.dtype, how))
    return model.call(tensors), tuple(shapes)


def _filled(name: str, shape: tuple[int, ...], dtype: str, order: Order) -> tuple[Any, str]:
    """PyTorch takes arrays of NumPy's own types alone: what a library adds to these (bfloat16, complex32) is not among them."""
    is_numpys = dtype in np.sctypeDict and np.dtype(dtype).isbuiltin == 1
    known = dtype if is_numpys else "float32"
    if known != dtype and dtype not in ("bfloat16", "float16"):
        raise MeasureError(f"its input {name} is {dtype}, which cannot be filled", where=order.source)
    array, how = filled(name, shape, known, order.values)
    return torch.from_numpy(np.asarray(array)).to(getattr(torch, dtype)), how


def _seconds(run: Callable[[], None]) -> float:
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def _libraries(source: str, device: str) -> Mapping[str, str]:
    import importlib.metadata

    found = {"numpy": np.__version__}
    package = source.partition(":")[0]
    if package in ("torchvision", "timm", "transformers"):
        found[package] = importlib.metadata.version(package)
    if device == "cuda":
        found |= {"cuda": str(torch.version.cuda), "cudnn": str(torch.backends.cudnn.version())}
    else:
        found["onednn"] = "used" if torch.backends.mkldnn.is_available() else "not used"
    return libraries(**found)


def _accelerator() -> Accelerator:
    """The graphics processor that CUDA uses, by its own name and memory; the driver is NVIDIA's to say."""
    number = torch.cuda.current_device()
    there = torch.cuda.get_device_properties(number)
    return Accelerator(there.name, there.total_memory, processor(number).driver)


def _profiled(run: Callable[[], None], device: str) -> tuple[float, Mapping[str, tuple[float, int]]]:
    """The seconds of a run under the profiler, and by operator its seconds and calls."""
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
    with profile(activities=activities) as seen:
        total = _seconds(run)
    field = "device_time_total" if device == "cuda" else "cpu_time_total"
    return total, outermost(seen.events(), field)


def outermost(events: Sequence[Any], field: str) -> Mapping[str, tuple[float, int]]:
    """Seconds and calls of the operators that no other operator called."""
    times: dict[str, float] = defaultdict(float)
    calls: Counter[str] = Counter()
    for one in events:
        above = one.cpu_parent
        while above is not None and not _is_operator(above):
            above = above.cpu_parent
        if _is_operator(one) and above is None:
            times[one.name] += getattr(one, field) / 1e6
            calls[one.name] += 1
    return {name: (seconds, calls[name]) for name, seconds in times.items()}


def _is_operator(event: Any) -> bool:
    """An operator has a namespace and a name; compiled code shows as a call of a graph or a kernel."""
    return "::" in event.name or event.name.startswith(("graph_", "triton_", "cpp_"))


def summed(seen: Sequence[tuple[float, Mapping[str, tuple[float, int]]]], method: str) -> Profile:
    """The median of each operator over several runs."""
    names = sorted({name for _, classes in seen for name in classes})
    found = [
        ProfiledClass(
            name,
            median(classes.get(name, (0.0, 0))[0] for _, classes in seen),
            max(classes.get(name, (0.0, 0))[1] for _, classes in seen),
        )
        for name in names
    ]
    total = median(total for total, _ in seen) if seen else 0.0
    return Profile(method, len(seen), total, tuple(sorted(found, key=lambda one: -one.time_s)))
