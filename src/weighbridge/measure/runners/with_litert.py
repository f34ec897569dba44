"""TensorFlow Lite files in LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from weighbridge.errors import BadSpec, MeasureError, WeighbridgeError
from weighbridge.measure.conditions import InputShape
from weighbridge.measure.runners.filled import filled
from weighbridge.measure.runners.refusal import fixed, refusal
from weighbridge.measure.runners.runner import About, Order, libraries, timed

__all__ = ["LiteRT", "ready"]

_MODES: Final = {"xnnpack": OpResolverType.AUTO, "builtin": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES}
"""By mode which kernels run: those of XNNPACK, where it takes an operator, which is LiteRT's own choice; or LiteRT's alone."""
_NO_PROFILE: Final = "LiteRT's package for Python has no profiler"
_COPIES: Final = "each run copies the inputs and outputs of the signature, as its call does in Python"


class LiteRT:
    """An interpreter with its inputs."""

    def __init__(self, order: Order) -> None:
        mode = order.mode or "xnnpack"
        if mode not in _MODES:
            raise BadSpec(f"litert has no mode {mode}", where="mode", hint=f"there is {', '.join(_MODES)}")
        path, signature = _file(order.source)
        try:
            resolver = _MODES[mode]
            self._interpreter = Interpreter(path, num_threads=order.threads, experimental_op_resolver_type=resolver)
            prepare = _of_signature if signature else _of_graph
            self._run, shapes = prepare(self._interpreter, order, signature)
            self._run()
        except WeighbridgeError:
            raise
        except Exception as error:
            raise refusal("litert", error, order.source) from None
        self.about = About(
            version=version("ai-edge-litert"),
            mode=mode,
            inputs=shapes,
            libraries=libraries(numpy=np.__version__),
            notes=(*_left_out(self._interpreter, mode), *((_COPIES,) if signature else ()), _NO_PROFILE),
        )

    def samples(self, count: int, runs: int) -> Sequence[float]:
        return timed(self._run, None, count, runs)

    def profile(self, runs: int) -> None:
        """None: the package has no profiler."""


def ready(order: Order) -> LiteRT:
    """Raises ``BadSpec`` for a mode that does not exist, and ``MeasureError`` where the runtime refuses the model."""
    return LiteRT(order)


def _file(source: str) -> tuple[str, str]:
    """The path, and the name of a signature behind a colon."""
    if Path(source).is_file():
        return source, ""
    path, _, signature = source.rpartition(":")
    return path, signature


def _of_graph(interpreter: Any, order: Order, _: str) -> tuple[Callable[[], None], tuple[InputShape, ...]]:
    """Runs the main graph of the file: nothing is copied."""
    details = interpreter.get_input_details()
    wanted = _wanted({one["name"]: one for one in details}, order)
    for one in details:
        shape = wanted[one["name"]][0]
        if tuple(one["shape"]) != shape:
            _check(one, shape, order.source)
            interpreter.resize_tensor_input(one["index"], shape, strict=False)
    interpreter.allocate_tensors()
    shapes = []
    for one in details:
        name, (shape, dtype) = one["name"], wanted[one["name"]]
        array, how = filled(name, shape, dtype, order.values)
        interpreter.set_tensor(one["index"], array)
        shapes.append(InputShape(name, shape, dtype, how))
    return interpreter.invoke, tuple(shapes)


def _of_signature(interpreter: Any, order: Order, signature: str) -> tuple[Callable[[], None], tuple[InputShape, ...]]:
    runner = interpreter.get_signature_runner(signature)
    details = runner.get_input_details()
    by_tensor = {one["name"]: one for one in details.values()}
    wanted = _wanted(by_tensor, order)
    feeds, shapes = {}, []
    for label, one in details.items():
        shape, dtype = wanted[one["name"]]
        _check(one, shape, order.source)
        feeds[label], how = filled(label, shape, dtype, order.values)
        shapes.append(InputShape(label, shape, dtype, how))
    return lambda: runner(**feeds), tuple(shapes)


def _wanted(details: Mapping[str, Any], order: Order) -> dict[str, tuple[tuple[int, ...], str]]:
    """By the name of a tensor its shape and type: as asked for by name, or in order where names are others; else the file's own."""
    if len(order.inputs) == len(details) and not set(order.inputs) <= set(details):
        given = dict(zip(details, order.inputs.values(), strict=True))
    else:
        given = dict(order.inputs)
    return {
        name: (tuple(given[name][0]) if name in given else tuple(map(int, one["shape"])), _dtype(one, order.source))
        for name, one in details.items()
    }


def _dtype(one: Mapping[str, Any], source: str) -> str:
    kind = np.dtype(one["dtype"])
    if kind.kind not in "fiub":
        raise MeasureError(f"its input {one['name']} is {kind.name}, which cannot be filled", where=source)
    name: str = kind.name
    return name


def _check(one: Mapping[str, Any], shape: tuple[int, ...], source: str) -> None:
    """Raises ``MeasureError`` where the file fixes a size that was asked for otherwise."""
    signed = tuple(map(int, one.get("shape_signature", ())))
    own = signed if len(signed) == len(one["shape"]) else tuple(map(int, one["shape"]))
    if len(own) != len(shape) or any(size not in (-1, asked) for size, asked in zip(own, shape, strict=True)):
        raise fixed(one["name"], [None if size == -1 else size for size in own], shape, source)


def _left_out(interpreter: Any, mode: str) -> tuple[str, ...]:
    """How many operators XNNPACK leaves to LiteRT's own kernels, where the interpreter says so."""
    details = getattr(interpreter, "_get_ops_details", None)
    if mode != "xnnpack" or details is None:
        return ()
    names = [one["op_name"] for one in details()]
    taken = names.count("DELEGATE")
    if not taken:
        return ("XNNPACK takes none of its operators: LiteRT's own kernels run",)
    return (f"XNNPACK takes the operators in {taken:,} group{'s' if taken > 1 else ''}",)
