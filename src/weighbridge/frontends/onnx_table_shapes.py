"""ONNX operators that move, select, reduce and sample, as ours: sizes that were attributes in old opsets are operands in new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind
from weighbridge.frontends.onnx_steps import number_in
from weighbridge.frontends.onnx_tensors import dtype_of
from weighbridge.graph import UNKNOWN, Attribute, TensorType

__all__ = ["SHAPE_RULES"]


def _ints(call: Foreign, name: str, position: int, absent: Attribute = UNKNOWN) -> Attribute:
    """Whole numbers from an attribute or operand: ``absent`` where there is neither, unknown where the value is not."""
    if call.get(name) is None and not call.has(position):
        return absent
    found = call.ints(name, position)
    return UNKNOWN if found is None else found


def _number(call: Foreign, position: int, default: Any) -> Any:
    """The one value of an operand: ``default`` where it is absent, unknown where its value is."""
    if not call.has(position):
        return default
    values = call.values(position)
    return values[0] if values is not None and len(values) == 1 else UNKNOWN


def _dtype(call: Foreign, name: str, default: str = "") -> str:
    number = call.get(name, 0)
    return dtype_of(number).name if number else default


def _reshape(call: Foreign) -> Sequence[Step]:
    """A shape without a 0 or a -1 holds whatever the operand's shape is."""
    shape = _ints(call, "shape", 1)
    attributes = {"shape": shape, "allow_zero": bool(call.get("allowzero", 0))}
    declared: tuple[TensorType, ...] = ()
    if call.type(0) is None and isinstance(shape, tuple) and all(isinstance(size, int) and size > 0 for size in shape):
        sizes = tuple(size for size in shape if isinstance(size, int))
        declared = (TensorType(sizes, DTYPES[call.services.dtype_name(call.operand(0))]),)
    return (Step("reshape", bind(call, "x shape"), attributes, call.outputs, declared),)


def _split(call: Foreign) -> dict[str, Attribute]:
    parts = call.get("num_outputs") or len(call.outputs)
    return {"axis": call.get("axis", 0), "sizes": _ints(call, "split", 1, "equal"), "parts": parts}


def _slice(call: Foreign) -> dict[str, Attribute]:
    return {
        "starts": _ints(call, "starts", 1),
        "ends": _ints(call, "ends", 2),
        "axes": _ints(call, "axes", 3, "all"),
        "steps": _ints(call, "steps", 4, 1),
    }


def _pad(call: Foreign) -> dict[str, Attribute]:
    return {"pads": _ints(call, "pads", 1), "axes": _ints(call, "axes", 3, "all"), "mode": call.get("mode", "constant")}


def _gather(call: Foreign) -> Sequence[Step]:
    """Rows of a stored table of numbers, chosen while the network runs, are an embedding."""
    axis, table = call.get("axis", 0), call.type(0)
    services = call.services
    is_table = table is not None and len(table.shape) == 2 and (table.dtype.is_learnable or _is_dequantised(call))
    if is_table and axis in (0, -2) and services.is_static(call.operand(0)) and not services.is_static(call.operand(1)):
        return (Step("embedding", bind(call, "w indices"), {}, call.outputs),)
    return (Step("gather", bind(call, "x indices"), {"axis": axis}, call.outputs),)


def _is_dequantised(call: Foreign) -> bool:
    """Whether a table of small integers is looked up: quantised embeddings are dequantised behind the lookup."""
    return call.services.dtype_name(call.operand(0)) in ("int8", "uint8", "int4", "uint4")


def _reduction(name: str) -> Rule:
    def rule(call: Foreign) -> Sequence[Step]:
        axes = _ints(call, "axes", 1, ())
        if axes == ():
            if call.get("noop_with_empty_axes", 0):
                return (Step("identity", bind(call, "x"), {}, call.outputs),)
            axes = "all"
        attributes = {"axes": axes, "keep_dims": bool(call.get("keepdims", 1))}
        return (Step(name, bind(call, "x axes"), attributes, call.outputs),)

    return rule


def _position(call: Foreign) -> dict[str, Attribute]:
    return {"axis": call.get("axis", 0), "keep_dims": bool(call.get("keepdims", 1))}


def _running(call: Foreign) -> dict[str, Attribute]:
    return {"axis": _number(call, 1, UNKNOWN)}


def _resize(call: Foreign) -> Sequence[Step]:
    """Resize, and Upsample before it: by scales or to sizes; an empty operand stands for one that is absent."""
    words = {1: "scales"} if call.version < 11 or call.op == "Upsample" else {1: "roi", 2: "scales", 3: "sizes"}
    attributes: dict[str, Attribute] = {
        "axes": call.get("axes") or "all",
        "policy": call.get("keep_aspect_ratio_policy", "stretch"),
        "antialias": bool(call.get("antialias", 0)),
        "mode": _MODES.get(call.get("mode", "nearest"), call.get("mode", "nearest")),
        "scales": call.get("scales") or "none",
        **_coordinates(call),
    }
    pairs = [("x", call.operand(0))]
    for position, word in words.items():
        kind = call.type(position)
        if not call.has(position) or (kind is not None and kind.elements == 0):
            continue
        pairs.append((word, call.operand(position)))
        if word == "sizes":
            sizes = call.sizes(position)
            attributes[word] = UNKNOWN if sizes is None else sizes
        elif word == "scales":
            values = call.values(position)
            is_cropped = call.get("coordinate_transformation_mode") == "tf_crop_and_resize"
            attributes[word] = UNKNOWN if values is None or is_cropped else tuple(values)
    if attributes.get("sizes", "none") != "none":
        attributes["scales"] = "none"
    return (Step("resize", pairs, attributes, call.outputs),)


def _coordinates(call: Foreign) -> dict[str, Attribute]:
    """Before opset 11 places of the result were those of x by the scale, rounded down."""
    if call.version < 11 or call.op == "Upsample":
        return {"coordinates": "asymmetric", "rounding": "floor"}
    return {
        "coordinates": call.get("coordinate_transformation_mode", "half_pixel"),
        "rounding": call.get("nearest_mode", "round_prefer_floor"),
    }


_MODES: Final = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}


def _grid_sample(call: Foreign) -> dict[str, Attribute]:
    mode = call.get("mode", "linear")
    return {"mode": _MODES.get(mode, mode)}


def _roi_align(call: Foreign) -> dict[str, Attribute]:
    return {
        "size": (call.get("output_height", 1), call.get("output_width", 1)),
        "samples": call.get("sampling_ratio", 0),
        "mode": "max" if call.get("mode", "avg") == "max" else "average",
    }


def _top_k(call: Foreign) -> dict[str, Attribute]:
    k = call.get("k", _number(call, 1, UNKNOWN))
    return {
        "k": k,
        "axis": call.get("axis", -1),
        "largest": bool(call.get("largest", 1)),
        "sorted": bool(call.get("sorted", 1)),
    }


def _one_hot(call: Foreign) -> dict[str, Attribute]:
    return {"depth": number_in(call, 1), "axis": call.get("axis", -1)}


def _range(call: Foreign) -> dict[str, Attribute]:
    start, limit, step = (_number(call, position, UNKNOWN) for position in range(3))
    return {"start": start, "limit": limit, "step": step, "dtype": call.services.dtype_name(call.operand(0))}


def _shape(call: Foreign) -> dict[str, Attribute]:
    return {"start": call.get("start", 0), "end": call.get("end", "last")}


def _constant_of_shape(call: Foreign) -> dict[str, Attribute]:
    value = call.get("value")
    return {"shape": UNKNOWN, "dtype": "float32" if value is None else dtype_of(value.data_type).name}


def _random(call: Foreign) -> dict[str, Attribute]:
    return {"shape": call.get("shape", ()), "dtype": _dtype(call, "dtype", "float32")}


def _random_like(call: Foreign) -> dict[str, Attribute]:
    return {"dtype": _dtype(call, "dtype")}


def _multinomial(call: Foreign) -> dict[str, Attribute]:
    return {"sample_size": call.get("sample_size", 1), "dtype": _dtype(call, "dtype", "int32")}


def _eye_like(call: Foreign) -> dict[str, Attribute]:
    return {"dtype": _dtype(call, "dtype"), "diagonal": call.get("k", 0)}


def _window(call: Foreign) -> dict[str, Attribute]:
    return {"size": _number(call, 0, UNKNOWN), "dtype": _dtype(call, "output_datatype", "float32")}


def _cast(call: Foreign) -> dict[str, Attribute]:
    dtype = _dtype(call, "to")
    if not dtype:
        raise BadModel("a cast to no type", where=call.name)
    return {"dtype": dtype}


def _col2im(call: Foreign) -> dict[str, Attribute]:
    return {
        "image_shape": _ints(call, "image_shape", 1),
        "block_shape": _ints(call, "block_shape", 2),
        "stride": call.get("strides") or 1,
        "padding": call.get("pads") or 0,
        "dilation": call.get("dilations") or 1,
    }


def _axis_of(name: str, default: Attribute) -> Callable[[Foreign], dict[str, Attribute]]:
    """One attribute under its own name."""

    def attributes(call: Foreign) -> dict[str, Attribute]:
        return {name: call.get(name, default)}

    return attributes


def _sized(name: str, position: int) -> Callable[[Foreign], dict[str, Attribute]]:
    """One attribute of ours that ONNX has as an operand, or had as an attribute."""

    def attributes(call: Foreign) -> dict[str, Attribute]:
        return {name: _ints(call, name, position)}

    return attributes


SHAPE_RULES: Final[dict[str, Rule]] = {
    "Reshape": _reshape,
    "Flatten": As("flatten", "x", _axis_of("axis", 1)),
    "Squeeze": As("squeeze", "x axes", lambda call: {"axes": _ints(call, "axes", 1, "ones")}),
    "Unsqueeze": As("unsqueeze", "x axes", _sized("axes", 1)),
    "Transpose": As("transpose", "x", lambda call: {"permutation": call.get("perm", "reversed")}),
    "Concat": As("concat", "*xs", _axis_of("axis", 1)),
    "Split": As("split", "x sizes", _split),
    "Slice": As("slice", "x starts ends axes steps", _slice),
    "Expand": As("expand", "x shape", _sized("shape", 1)),
    "Tile": As("tile", "x repeats", _sized("repeats", 1)),
    "Pad": As("pad", "x pads value axes", _pad),
    "DepthToSpace": As("depth_to_space", "x", lambda call: {"block_size": call.get("blocksize", 0)}),
    "SpaceToDepth": As("space_to_depth", "x", lambda call: {"block_size": call.get("blocksize", 0)}),
    "ReverseSequence": As(
        "reverse_sequence",
        "x lengths",
        lambda call: {"batch_axis": call.get("batch_axis", 1), "time_axis": call.get("time_axis", 0)},
    ),
    "Trilu": As("trilu", "x diagonal", lambda call: {"upper": bool(call.get("upper", 1))}),
    "CenterCropPad": As(
        "center_crop_pad", "x shape", lambda call: {"shape": _ints(call, "shape", 1), "axes": call.get("axes", "all")}
    ),
    "BitCast": As("bit_cast", "x", _cast),
    "Cast": As("cast", "x", _cast),
    "CastLike": As("cast_like", "x like"),
    "Col2Im": As("col2im", "x image_shape block_shape", _col2im),
    "Gather": _gather,
    "GatherElements": As("gather_elements", "x indices", _axis_of("axis", 0)),
    "GatherND": As("gather_nd", "x indices", _axis_of("batch_dims", 0)),
    **dict.fromkeys(
        ("Scatter", "ScatterElements"),
        As(
            "scatter_elements",
            "x indices updates",
            lambda call: {"axis": call.get("axis", 0), "reduction": call.get("reduction", "none")},
        ),
    ),
    "ScatterND": As("scatter_nd", "x indices updates", _axis_of("reduction", "none")),
    "TensorScatter": As("tensor_scatter", "x updates indices", _axis_of("axis", -2)),
    "OneHot": As("one_hot", "indices depth values", _one_hot),
    **{
        f"Reduce{name}": _reduction(f"reduce_{ours}")
        for name, ours in (
            *(("Sum", "sum"), ("Mean", "mean"), ("Max", "max"), ("Min", "min"), ("Prod", "prod"), ("L1", "l1")),
            *(("L2", "l2"), ("SumSquare", "sum_square"), ("LogSum", "log_sum"), ("LogSumExp", "log_sum_exp")),
        )
    },
    "ArgMax": As("arg_max", "x", _position),
    "ArgMin": As("arg_min", "x", _position),
    "CumSum": As("cumsum", "x axis", _running),
    "CumProd": As("cumprod", "x axis", _running),
    "Resize": _resize,
    "Upsample": _resize,
    "GridSample": As("grid_sample", "x grid", _grid_sample),
    "AffineGrid": As("affine_grid", "theta size", _sized("size", 1)),
    "RoiAlign": As("roi_align", "x regions batches", _roi_align),
    "MaxRoiPool": As("max_roi_pool", "x regions", lambda call: {"size": call.get("pooled_shape", ())}),
    "TopK": As("top_k", "x k", _top_k),
    "NonZero": As("non_zero", "x"),
    "Compress": As("compress", "x condition", _axis_of("axis", "flat")),
    "Unique": As(
        "unique",
        "x",
        lambda call: {"axis": call.get("axis", "flat"), "sorted": bool(call.get("sorted", 1))},
        "y indices inverse counts",
    ),
    "NonMaxSuppression": As(
        "non_max_suppression",
        "boxes scores count overlap threshold",
        lambda call: {"box_format": "centers" if call.get("center_point_box", 0) else "corners"},
    ),
    "Shape": As("shape", "x", _shape),
    "Size": As("size", "x"),
    "ConstantOfShape": As("constant_of_shape", "shape", _constant_of_shape),
    "Range": As("range", "start limit step", _range),
    "EyeLike": As("eye_like", "x", _eye_like),
    "HannWindow": As("hann_window", "size", _window),
    "HammingWindow": As("hamming_window", "size", _window),
    "BlackmanWindow": As("blackman_window", "size", _window),
    "RandomUniform": As("random_uniform", "", _random),
    "RandomNormal": As("random_normal", "", _random),
    "RandomUniformLike": As("random_uniform_like", "x", _random_like),
    "RandomNormalLike": As("random_normal_like", "x", _random_like),
    "Bernoulli": As("bernoulli", "x", _random_like),
    "Multinomial": As("multinomial", "x", _multinomial),
}
