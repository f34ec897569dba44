"""Rules of StableHLO's reductions, over axes and over windows, by a function that is a subgraph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from weighbridge.dtypes import DType
from weighbridge.errors import GraphError
from weighbridge.frontends.foreign import Foreign, Rule, Step
from weighbridge.frontends.tflite_table_stablehlo_options import axes, numbers
from weighbridge.graph import UNKNOWN, Attribute, Shape, TensorType

__all__ = ["STABLEHLO_REDUCTION_RULES"]

_OVER_AXES: Final[Mapping[str, str]] = {
    "add": "reduce_sum",
    "mul": "reduce_prod",
    "max": "reduce_max",
    "or": "reduce_max",
    "min": "reduce_min",
    "and": "reduce_min",
}
_OVER_WINDOWS: Final[Mapping[str, str]] = {"and": "min", "or": "max"}
"""Names of our reductions where they are others than the function's."""
_PAIRS: Final[Mapping[str, tuple[str, tuple[str, str]]]] = {
    "add": ("add", ("a", "b")),
    "mul": ("mul", ("a", "b")),
    "max": ("max", ("xs", "xs")),
    "or": ("max", ("xs", "xs")),
    "min": ("min", ("xs", "xs")),
    "and": ("min", ("xs", "xs")),
}
_LARGEST: Final[Mapping[str, float]] = {
    "float16": 65504.0,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}


def _operands(call: Foreign) -> list[tuple[str, str, str]]:
    """(tensor, first value, result) of every tensor that is reduced."""
    count = len(call.outputs)
    if len(call.inputs) != 2 * count:
        raise GraphError(f"{len(call.inputs)} operands for {count} results", where=call.name)
    return [(call.operand(place), call.operand(count + place), one) for place, one in enumerate(call.outputs)]


def _reduced(call: Foreign) -> Sequence[Step]:
    """Values of two tensors at once, such as numbers with their positions, are reduced by nobody knows what."""
    function, steps = call.get("function", UNKNOWN), list[Step]()
    for place, (x, initial, result) in enumerate(_operands(call)):
        kind = call.services.type_of(x)
        if function in _OVER_AXES:
            along = numbers(call, "dimensions") if kind is None else axes(call, "dimensions", len(kind.shape))
            attributes: dict[str, Attribute] = {"axes": along, "keep_dims": False}
            steps += _with_first(call, Step(_OVER_AXES[function], [("x", x)], attributes, (result,)), initial)
        elif kind is None:
            raise GraphError(f"the shape of {x} is unknown", where=call.name)
        else:
            steps += _by_another(call, place, kind, x, result)
    return steps


def _by_another(call: Foreign, place: int, kind: TensorType, x: str, result: str) -> Sequence[Step]:
    """As a window over whole axes, of which no more is known than that nothing is multiplied and accumulated."""
    along = axes(call, "dimensions", len(kind.shape))
    kernel = tuple(size if axis in along else 1 for axis, size in enumerate(kind.shape))
    rest = tuple(size for axis, size in enumerate(kind.shape) if axis not in along)
    window: dict[str, Attribute] = {"kernel": kernel, "reduction": UNKNOWN}
    shape: dict[str, Attribute] = {"shape": rest, "allow_zero": True}
    whole = call.inner(f"whole.{place}")
    return (
        Step("reduce_window", [("x", x)], window, (whole,)),
        Step("reshape", [("x", whole)], shape, (result,)),
    )


def _with_first(call: Foreign, step: Step, initial: str) -> Sequence[Step]:
    """A reduction, and where its first value is another than that of no elements this value taken in."""
    function = call.get("function", UNKNOWN)
    values, dtype = call.services.values_of(initial), call.stated[0].dtype
    if function not in _PAIRS or (values is not None and all(_is_neutral(function, one, dtype) for one in values)):
        return (step,)
    (result,), bare = step.outputs, call.inner(f"bare.{call.outputs.index(step.outputs[0])}")
    operator, (one, other) = _PAIRS[function]
    return (step._replace(outputs=(bare,)), Step(operator, [(one, bare), (other, initial)], {}, (result,)))


def _is_neutral(function: str, value: Any, dtype: DType) -> bool:
    """Whether a value changes nothing: 0 of a sum, 1 of a product, the smallest there is of a maximum."""
    if function in ("add", "mul"):
        return bool(value == (function == "mul"))
    if dtype.kind == "bool":
        return bool(value) == (function in ("and", "min"))
    if function in ("and", "or"):
        return bool(value == (0 if function == "or" else _extremes(dtype)[1] if dtype.kind == "uint" else -1))
    low, high = _extremes(dtype)
    return bool(value <= low if function == "max" else value >= high)


def _extremes(dtype: DType) -> tuple[float, float]:
    """The smallest and the largest value of a type."""
    if dtype.kind not in ("int", "uint"):
        largest = _LARGEST.get(dtype.name, float("inf"))
        return -largest, largest
    bits = int(dtype.bits or 1)
    return (0, (1 << bits) - 1) if dtype.kind == "uint" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def _windows(call: Foreign) -> Sequence[Step]:
    """Padding and spreading put in the first value, as what a window holds beside elements."""
    steps = list[Step]()
    for place, (x, initial, result) in enumerate(_operands(call)):
        kind = call.services.type_of(x)
        if kind is None:
            raise GraphError(f"the shape of {x} is unknown", where=call.name)
        more, tensor, attributes = _window(call, place, x, len(kind.shape))
        operands = [("x", tensor), ("initial", initial)]
        steps += [*more, *_with_first(call, Step("reduce_window", operands, attributes, (result,)), initial)]
    return steps


def _window(call: Foreign, place: int, x: str, rank: int) -> tuple[list[Step], str, dict[str, Attribute]]:
    """(steps before, tensor, attributes) of a window; a negative padding crops before."""
    function, ones = call.get("function", UNKNOWN), (1,) * rank
    pads = numbers(call, "padding", (0,) * 2 * rank, 2 * rank)
    low, high = pads[::2], pads[1::2]
    spread = numbers(call, "base_dilations", ones, rank)
    before, tensor = list[Step](), x
    if min(pads, default=0) < 0:
        before, tensor, spread = _cropped(call, place, x, spread, low, high)
        low, high = (tuple(max(one, 0) for one in side) for side in (low, high))
    return (
        before,
        tensor,
        {
            "kernel": numbers(call, "window_dimensions", None, rank),
            "stride": numbers(call, "window_strides", ones, rank),
            "dilation": numbers(call, "window_dilations", ones, rank),
            "x_dilation": spread,
            "padding": (*low, *high),
            "reduction": _OVER_WINDOWS.get(function, function),
        },
    )


def _cropped(
    call: Foreign, place: int, x: str, spread: Shape, low: Shape, high: Shape
) -> tuple[list[Step], str, Shape]:
    """What is left of a tensor where its padding is negative; spread out before, as the spaces are cropped, too."""
    steps, tensor = list[Step](), x
    if any(step != 1 for step in spread):
        steps.append(Step("dilate", [("x", x)], {"dilations": spread}, (tensor := call.inner(f"spread.{place}"),)))
    pads = tuple(min(one, 0) for one in (*low, *high))
    steps.append(Step("pad", [("x", tensor)], {"pads": pads}, (tensor := call.inner(f"cropped.{place}"),)))
    return steps, tensor, (1,) * len(spread)


STABLEHLO_REDUCTION_RULES: Final[Mapping[str, Rule]] = {
    "STABLEHLO_REDUCE": _reduced,
    "STABLEHLO_REDUCE_WINDOW": _windows,
}
