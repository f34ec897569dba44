"""Rules of TensorFlow Lite's operators that reduce over axes, windows and spectra, and of positions of extremes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind
from weighbridge.frontends.onnx_steps import number_in
from weighbridge.graph import UNKNOWN, Attribute

__all__ = ["REDUCTION_RULES"]


def _reduction(operator: str) -> Rule:
    """No axes reduce nothing, and an axis may be named twice (tensorflow/lite/kernels/internal/reference/reduce.h)."""

    def rule(call: Foreign) -> Sequence[Step]:
        axes, rank = call.sizes(1), call.rank(0)
        found: Attribute = UNKNOWN
        if axes is not None and rank is not None:
            if any(not -rank <= axis < rank for axis in axes):
                raise GraphError(f"{axes} are no axes of {rank} dimensions", where=call.name)
            found = tuple(dict.fromkeys(axis % rank for axis in axes))
        attributes = {"axes": found, "keep_dims": bool(call.get("keep_dims", False))}
        return (Step(operator, bind(call, "x axes"), attributes, call.outputs),)

    return rule


def _position(call: Foreign) -> Mapping[str, Attribute]:
    return {"axis": number_in(call, 1), "keep_dims": False}


def _sizes(call: Foreign, position: int) -> Attribute:
    values = call.sizes(position)
    return UNKNOWN if values is None else values


_FUNCTIONS: Final = (UNKNOWN, "add", "mul", "min", "max", "min", "max")
"""ReduceWindowFunction of the schema; that all or any hold are the smallest and the largest truth value."""


def _window(call: Foreign) -> Mapping[str, Attribute]:
    function = call.get("reduce_function", 0)
    if function not in range(len(_FUNCTIONS)):
        raise GraphError(f"the function {function} of a window is not known", where=call.name)
    kernel, stride, dilation = (_sizes(call, position) for position in (2, 3, 4))
    return {"kernel": kernel, "stride": stride, "dilation": dilation, "reduction": _FUNCTIONS[function]}


def _spectrum(call: Foreign) -> Mapping[str, Attribute]:
    return {"axes": (-2, -1), "sizes": _sizes(call, 1), "form": "real_to_half"}


REDUCTION_RULES: Final[Mapping[str, Rule]] = {
    "SUM": _reduction("reduce_sum"),
    "MEAN": _reduction("reduce_mean"),
    "REDUCE_PROD": _reduction("reduce_prod"),
    "REDUCE_MAX": _reduction("reduce_max"),
    "REDUCE_MIN": _reduction("reduce_min"),
    "REDUCE_ANY": _reduction("reduce_max"),
    "REDUCE_ALL": _reduction("reduce_min"),
    "ARG_MAX": As("arg_max", "x", _position),
    "ARG_MIN": As("arg_min", "x", _position),
    "CUMSUM": As("cumsum", "x axis", lambda call: {"axis": number_in(call, 1)}),
    "REDUCE_WINDOW": As("reduce_window", "x initial kernel stride dilation", _window),
    "RFFT2D": As("fourier_transform", "x", _spectrum),
}
