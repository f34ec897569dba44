"""ONNX Runtime's own operators (com.microsoft) that move, select, sample and transform.

Source: ONNX Runtime, docs/ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind, set_aside
from weighbridge.frontends.onnx_steps import Steps, number_in, required
from weighbridge.frontends.onnx_table_shapes import SHAPE_RULES
from weighbridge.graph import UNKNOWN, Attribute

__all__ = ["MOVE_RULES"]

_NORMS: Final = {"euclidean": False, "sqeuclidean": True}
"""Whether the distance is left squared, by metric."""


def _expanded(call: Foreign) -> dict[str, Attribute]:
    return {"axes": number_in(call, 1)}


def _range(call: Foreign) -> dict[str, Attribute]:
    """Steps are of 1 where no operand says otherwise."""
    values = [call.values(position) if call.has(position) else (1,) for position in range(3)]
    words = ("start", "limit", "step")
    known = [one[0] if one is not None and len(one) == 1 else UNKNOWN for one in values]
    return {**dict(zip(words, known, strict=True)), "dtype": call.services.dtype_name(call.operand(0))}


def _crop(call: Foreign) -> dict[str, Attribute]:
    size = call.sizes(3)
    mode = call.get("mode", "bilinear")
    return {"size": UNKNOWN if size is None else size, "mode": "linear" if mode == "bilinear" else mode}


def _windows(call: Foreign) -> dict[str, Attribute]:
    return {"axis": call.get("dim", -1), "size": required(call, "size"), "step": call.get("step", 1)}


def _distances(call: Foreign) -> Sequence[Step]:
    metric = call.get("metric", "sqeuclidean")
    if metric not in _NORMS:
        return set_aside(call, f"there is no rule for the metric {metric!r}")
    return (Step("distance_matrix", bind(call, "a b"), {"squared": _NORMS[metric]}, call.outputs),)


def _signal_axes(call: Foreign, behind: int) -> tuple[int, ...] | None:
    """The last axes, which the signal has, in front of ``behind`` others; None where their number is unknown or wrong."""
    rank, count = call.rank(0), call.get("signal_ndim", 1)
    if rank is None or not 1 <= count <= rank - behind:
        return None
    return tuple(range(rank - behind - count, rank - behind))


def _transform(call: Foreign) -> Sequence[Step]:
    """Real values to the half of their spectrum, real and imaginary parts behind each other."""
    axes, steps = _signal_axes(call, 0), Steps(call)
    if axes is None:
        return set_aside(call, "which axes its signal has is unknown")
    spectrum = steps.make("fourier_transform", [("x", call.operand(0))], {"axes": axes, "form": "real_to_half"})
    return steps.done("complex_to_real", [("x", spectrum)])


def _inverse_transform(call: Foreign) -> Sequence[Step]:
    x, axes, steps = call.type(0), _signal_axes(call, 1), Steps(call)
    if axes is None or x is None:
        return set_aside(call, "which axes its signal has is unknown")
    sizes = (*(x.shape[axis] for axis in axes[:-1]), 2 * (x.shape[axes[-1]] - 1))
    spectrum = steps.make("real_to_complex", [("x", call.operand(0))])
    attributes: dict[str, Attribute] = {"axes": axes, "sizes": sizes, "form": "half_to_real", "scaled": True}
    return steps.done("fourier_transform", [("x", spectrum)], attributes)


def _without_padding(call: Foreign) -> dict[str, Attribute]:
    counts = call.sizes(1)
    return {"tokens": UNKNOWN if counts is None else sum(counts)}


def _compiled(call: Foreign) -> Sequence[Step]:
    source = str(call.get("source", "")).removesuffix("ExecutionProvider") or "a device"
    return set_aside(call, f"it holds a network compiled for {source[:40]}: what that computes is not in the file")


MOVE_RULES: Final[Mapping[str, Rule]] = {
    "ExpandDims": As("unsqueeze", "x axes", _expanded),
    "Pad": SHAPE_RULES["Pad"],
    "Trilu": SHAPE_RULES["Trilu"],
    "GatherND": As("gather_nd", "x indices"),
    "Range": As("range", "start limit step", _range),
    "Unique": As("unique", "x", lambda call: {"sorted": False}, "y inverse counts"),
    "UnfoldTensor": As("windows", "x", _windows),
    "GridSample": SHAPE_RULES["GridSample"],
    "CropAndResize": As("crop_and_resize", "x regions batches size", _crop),
    "CDist": _distances,
    "Inverse": As("inverse", "x"),
    "Rfft": _transform,
    "Irfft": _inverse_transform,
    "NGramRepeatBlock": As("barred_repeats", "ids scores", lambda call: {"size": required(call, "ngram_size")}),
    "RemovePadding": As("remove_padding", "x counts", _without_padding, "y offsets ends longest"),
    "RestorePadding": As("restore_padding", "x offsets"),
    "EPContext": _compiled,
}
"""By the operators' names."""
