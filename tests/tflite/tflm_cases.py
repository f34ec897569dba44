"""Small graphs, one or more for every kernel of TensorFlow Lite Micro, for the tests of its arena."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.tflite.tflm_models import Graph, Op, Tensor, ints


def one(op: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], name: str = "", **options: Any) -> Graph:
    """A graph of one operator; the inputs that are neither stored nor variables are the graph's."""
    tensors = [*inputs, *outputs]
    places = range(len(inputs))
    given = [place for place in places if not inputs[place].data and not inputs[place].variable]
    made = list(range(len(inputs), len(tensors)))
    return Graph(tensors, [Op(op, list(places), made, (name, options) if name else None)], given, made)


def q(shape: Sequence[int], kind: str = "INT8", **more: Any) -> Tensor:
    """A quantised tensor."""
    return Tensor(shape, kind, scales=more.pop("scales", 1), **more)


def f(*shape: int) -> Tensor:
    return Tensor(shape)


def stored(shape: Sequence[int], kind: str = "FLOAT32", **more: Any) -> Tensor:
    return Tensor(shape, kind, data=True, **more)


def i32(*numbers: int) -> Tensor:
    return Tensor([len(numbers)], "INT32", data=ints(*numbers))


def scalar(number: int) -> Tensor:
    return Tensor([], "INT32", data=ints(number))


def _unary() -> dict[str, Graph]:
    found = {}
    for op in ("ABS", "SIN", "COS", "LOG", "SQRT", "RSQRT", "SQUARE", "CEIL", "FLOOR", "ROUND", "EXP", "NEG"):
        found[f"{op} float"] = one(op, [f(2, 9)], [f(2, 9)])
    for op in ("RELU", "RELU6", "TANH", "LOGISTIC", "ELU", "HARD_SWISH", "ZEROS_LIKE", "CAST"):
        found[f"{op} float"] = one(op, [f(2, 9)], [f(2, 9)], *(["CastOptions"] if op == "CAST" else []))
    for op in ("ABS", "RSQRT", "RELU", "RELU6", "ELU", "HARD_SWISH"):
        found[f"{op} int8"] = one(op, [q([2, 9])], [q([2, 9])])
    found["LOGISTIC int8"] = one("LOGISTIC", [q([2, 9])], [q([2, 9], scale=1 / 256, zero=-128)])
    found["LOGICAL_NOT bool"] = one("LOGICAL_NOT", [Tensor([2, 9], "BOOL")], [Tensor([2, 9], "BOOL")])
    found["LEAKY_RELU float"] = one("LEAKY_RELU", [f(2, 9)], [f(2, 9)], "LeakyReluOptions", alpha=0.1)
    found["LEAKY_RELU int8"] = one("LEAKY_RELU", [q([2, 9])], [q([2, 9])], "LeakyReluOptions", alpha=0.1)
    found["SOFTMAX float"] = one("SOFTMAX", [f(2, 9)], [f(2, 9)], "SoftmaxOptions", beta=1.0)
    found["SOFTMAX int16"] = one(
        "SOFTMAX", [q([2, 9], "INT16")], [q([2, 9], "INT16", scale=2**-15)], "SoftmaxOptions", beta=1.0
    )
    found["LOG_SOFTMAX float"] = one("LOG_SOFTMAX", [f(2, 9)], [f(2, 9)])
    found["L2_NORMALIZATION float"] = one("L2_NORMALIZATION", [f(2, 9)], [f(2, 9)], "L2NormOptions")
    found["DEQUANTIZE int8"] = one("DEQUANTIZE", [q([2, 9])], [f(2, 9)])
    found["QUANTIZE float"] = one("QUANTIZE", [f(2, 9)], [q([2, 9])])
    found["SHAPE float"] = one("SHAPE", [f(2, 9)], [Tensor([2], "INT32")], "ShapeOptions", outType=2)
    return found


def _binary() -> dict[str, Graph]:
    found = {}
    names = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions"}
    for op, name in names.items():
        found[f"{op} float"] = one(op, [f(2, 9), f(9)], [f(2, 9)], name)
        found[f"{op} int8"] = one(op, [q([2, 9]), q([2, 9])], [q([2, 9])], name)
        found[f"{op} int32"] = one(op, [Tensor([2, 9], "INT32")] * 2, [Tensor([2, 9], "INT32")], name)
    for op in ("MAXIMUM", "MINIMUM", "FLOOR_DIV", "FLOOR_MOD", "SQUARED_DIFFERENCE"):
        found[f"{op} float"] = one(op, [f(2, 9), f(2, 9)], [f(2, 9)])
    found["SQUARED_DIFFERENCE int8"] = one("SQUARED_DIFFERENCE", [q([2, 9])] * 2, [q([2, 9])])
    found["PRELU float"] = one("PRELU", [f(2, 9), stored([9])], [f(2, 9)])
    found["PRELU int8"] = one("PRELU", [q([2, 9]), stored([9], "INT8", scales=1)], [q([2, 9])])
    for op in ("LOGICAL_OR", "LOGICAL_AND"):
        found[f"{op} bool"] = one(op, [Tensor([2, 9], "BOOL")] * 2, [Tensor([2, 9], "BOOL")])
    for op in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"):
        found[f"{op} float"] = one(op, [f(2, 9), f(2, 9)], [Tensor([2, 9], "BOOL")])
    found["EQUAL int8"] = one("EQUAL", [q([2, 9])] * 2, [Tensor([2, 9], "BOOL")])
    for count in (2, 3, 5):
        found[f"ADD_N {count}"] = one("ADD_N", [f(2, 9)] * count, [f(2, 9)])
    found["ADD_N int8"] = one("ADD_N", [q([2, 9])] * 3, [q([2, 9])])
    found["SELECT_V2 float"] = one("SELECT_V2", [Tensor([2, 9], "BOOL"), f(2, 9), f(9)], [f(2, 9)])
    return found


def _contractions() -> dict[str, Graph]:
    found = {}
    conv, depthwise = {"strideW": 1, "strideH": 1}, {"strideW": 1, "strideH": 1, "depthMultiplier": 2}
    kinds = {
        "float": ("FLOAT32", "FLOAT32"),
        "int8": ("INT8", "INT8"),
        "int4": ("INT8", "INT4"),
        "int16": ("INT16", "INT8"),
    }
    for kind, (data, weights) in kinds.items():
        scales = 0 if kind == "float" else 1
        bias_type = "FLOAT32" if kind == "float" else "INT64" if kind == "int16" else "INT32"
        x, y = Tensor([1, 8, 8, 3], data, scales=scales), Tensor([1, 8, 8, 6], data, scales=scales)
        filters = stored([6, 3, 3, 3], weights, scales=6 * scales)
        found[f"CONV_2D {kind}"] = one(
            "CONV_2D", [x, filters, stored([6], bias_type, scales=scales, scale=0.25)], [y], "Conv2DOptions", **conv
        )
        found[f"CONV_2D {kind} without bias"] = one("CONV_2D", [x, filters], [y], "Conv2DOptions", **conv)
        filters = stored([1, 3, 3, 6], weights, scales=6 * scales, axis=3)
        found[f"DEPTHWISE_CONV_2D {kind}"] = one(
            "DEPTHWISE_CONV_2D",
            [x, filters, stored([6], bias_type, scales=scales, scale=0.25)],
            [y],
            "DepthwiseConv2DOptions",
            **depthwise,
        )
        for rows in (1, 7):
            weight = stored([7, 9], weights, scales=scales * rows)
            found[f"FULLY_CONNECTED {kind} {rows} scales"] = one(
                "FULLY_CONNECTED",
                [Tensor([2, 9], data, scales=scales), weight, stored([7], bias_type, scales=scales, scale=0.25)],
                [Tensor([2, 7], data, scales=scales)],
                "FullyConnectedOptions",
            )
        if kind != "int4":
            filters = stored([6, 3, 3, 3], weights, scales=6 * scales)
            found[f"TRANSPOSE_CONV {kind}"] = one(
                "TRANSPOSE_CONV", [i32(1, 8, 8, 6), filters, x], [y], "TransposeConvOptions", **conv
            )
            found[f"TRANSPOSE_CONV {kind} with bias"] = one(
                "TRANSPOSE_CONV",
                [i32(1, 8, 8, 6), filters, x, stored([6], bias_type, scales=scales, scale=0.25)],
                [y],
                "TransposeConvOptions",
                **conv,
            )
            for adjoint in range(4):
                left = [2, 9, 5] if adjoint & 1 else [2, 5, 9]
                right = [2, 7, 9] if adjoint & 2 else [2, 9, 7]
                found[f"BATCH_MATMUL {kind} {adjoint}"] = one(
                    "BATCH_MATMUL",
                    [Tensor(left, data, scales=scales), Tensor(right, data, scales=scales)],
                    [Tensor([2, 5, 7], data, scales=scales)],
                    "BatchMatMulOptions",
                    adjX=bool(adjoint & 1),
                    adjY=bool(adjoint & 2),
                )
    weights = stored([6, 3, 3, 3], "INT8", scales=6)
    found["TRANSPOSE_CONV int16 with 16-bit bias"] = one(
        "TRANSPOSE_CONV",
        [i32(1, 8, 8, 6), weights, q([1, 8, 8, 3], "INT16"), stored([6], "INT16", scales=1)],
        [q([1, 8, 8, 6], "INT16")],
        "TransposeConvOptions",
        **conv,
    )
    found["BATCH_MATMUL stored"] = one(
        "BATCH_MATMUL", [f(2, 5, 9), stored([2, 9, 7])], [f(2, 5, 7)], "BatchMatMulOptions"
    )
    found["EMBEDDING_LOOKUP float"] = one("EMBEDDING_LOOKUP", [Tensor([3], "INT32"), stored([10, 4])], [f(3, 4)])
    found["EMBEDDING_LOOKUP int8"] = one(
        "EMBEDDING_LOOKUP", [Tensor([3], "INT32"), stored([10, 4], "INT8", scales=1)], [f(3, 4)]
    )
    return found


def _reductions() -> dict[str, Graph]:
    found = {}
    keep = {"keepDims": True}
    for op in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"):
        for kind, scales in (("FLOAT32", 0), ("INT8", 1), ("INT16", 1)):
            x, y = Tensor([1, 8, 8, 12], kind, scales=scales), Tensor([1, 1, 1, 12], kind, scales=scales)
            found[f"{op} {kind}"] = one(op, [x, i32(1, 2)], [y], "ReducerOptions", **keep)
    x, y = Tensor([1, 8, 8, 12], "BOOL"), Tensor([1, 1, 1, 12], "BOOL")
    found["REDUCE_ALL bool"] = one("REDUCE_ALL", [x, i32(1, 2)], [y], "ReducerOptions", **keep)
    found["MEAN of five axes"] = one("MEAN", [f(2, 2, 2, 2, 2), i32(0, 1, 2, 3, 4)], [f(1)], "ReducerOptions")
    found["ARG_MAX float"] = one("ARG_MAX", [f(2, 9), scalar(1)], [Tensor([2], "INT32")], "ArgMaxOptions", outputType=2)
    found["ARG_MIN int8"] = one(
        "ARG_MIN", [q([2, 9]), scalar(1)], [Tensor([2], "INT32")], "ArgMinOptions", outputType=2
    )
    found["CUMSUM float"] = one("CUMSUM", [f(2, 9), scalar(1)], [f(2, 9)], "CumsumOptions")
    found["CUMSUM int8"] = one("CUMSUM", [q([2, 9]), scalar(1)], [q([2, 9])], "CumsumOptions")
    pool = {"strideW": 2, "strideH": 2, "filterWidth": 2, "filterHeight": 2}
    for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        for kind, scales in (("FLOAT32", 0), ("INT8", 1), ("INT16", 1)):
            x, y = Tensor([1, 8, 8, 3], kind, scales=scales), Tensor([1, 4, 4, 3], kind, scales=scales)
            found[f"{op} {kind}"] = one(op, [x], [y], "Pool2DOptions", **pool)
    found["L2_POOL_2D float"] = one("L2_POOL_2D", [f(1, 8, 8, 3)], [f(1, 4, 4, 3)], "Pool2DOptions", **pool)
    return found


def _moves() -> dict[str, Graph]:
    x = f(1, 4, 4, 8)
    pads = Tensor([4, 2], "INT32", data=ints(0, 0, 1, 1, 1, 1, 0, 0))
    sliced = [x, i32(0, 1, 0, 0), i32(1, 3, 4, 8), i32(1, 1, 1, 1)]
    return {
        "BATCH_TO_SPACE_ND": one(
            "BATCH_TO_SPACE_ND",
            [f(4, 2, 2, 8), i32(2, 2), Tensor([2, 2], "INT32", data=ints(0, 0, 0, 0))],
            [x],
        ),
        "SPACE_TO_BATCH_ND": one(
            "SPACE_TO_BATCH_ND",
            [x, i32(2, 2), Tensor([2, 2], "INT32", data=ints(0, 0, 0, 0))],
            [f(4, 2, 2, 8)],
        ),
        "BROADCAST_ARGS": one("BROADCAST_ARGS", [Tensor([2], "INT32"), Tensor([3], "INT32")], [Tensor([3], "INT32")]),
        "BROADCAST_TO": one("BROADCAST_TO", [f(8), i32(4, 8)], [f(4, 8)]),
        "CONCATENATION": one("CONCATENATION", [x, x], [f(1, 4, 4, 16)], "ConcatenationOptions", axis=3),
        "CONCATENATION int8": one(
            "CONCATENATION", [q([2, 9]), q([2, 9])], [q([2, 18])], "ConcatenationOptions", axis=1
        ),
        "CONCATENATION of 10": one("CONCATENATION", [f(1, 8)] * 10, [f(1, 80)], "ConcatenationOptions", axis=1),
        "CONCATENATION of 11": one("CONCATENATION", [f(1, 8)] * 11, [f(1, 88)], "ConcatenationOptions", axis=1),
        "DEPTH_TO_SPACE": one("DEPTH_TO_SPACE", [x], [f(1, 8, 8, 2)], "DepthToSpaceOptions", blockSize=2),
        "SPACE_TO_DEPTH": one("SPACE_TO_DEPTH", [x], [f(1, 2, 2, 32)], "SpaceToDepthOptions", blockSize=2),
        "DYNAMIC_UPDATE_SLICE": one("DYNAMIC_UPDATE_SLICE", [f(4, 8), f(1, 8), Tensor([2], "INT32")], [f(4, 8)]),
        "EXPAND_DIMS": one("EXPAND_DIMS", [f(4, 8), scalar(0)], [f(1, 4, 8)]),
        "FILL": one("FILL", [i32(4, 8), Tensor([])], [f(4, 8)]),
        "GATHER": one("GATHER", [f(4, 8), Tensor([3], "INT32")], [f(3, 8)], "GatherOptions"),
        "GATHER_ND": one("GATHER_ND", [f(4, 8), Tensor([3, 1], "INT32")], [f(3, 8)]),
        "MIRROR_PAD": one("MIRROR_PAD", [x, pads], [f(1, 6, 6, 8)], "MirrorPadOptions"),
        "PACK": one("PACK", [x, x], [f(2, 1, 4, 4, 8)], "PackOptions", valuesCount=2),
        "PAD": one("PAD", [x, pads], [f(1, 6, 6, 8)]),
        "PAD int8": one("PAD", [q([1, 4, 4, 8]), pads], [q([1, 6, 6, 8])]),
        "PADV2": one("PADV2", [x, pads, stored([1])], [f(1, 6, 6, 8)]),
        "RESHAPE": one("RESHAPE", [x, i32(16, 8)], [f(16, 8)], "ReshapeOptions"),
        "RESHAPE by options": one("RESHAPE", [x], [f(16, 8)], "ReshapeOptions", newShape=[16, 8]),
        "RESIZE_BILINEAR": one("RESIZE_BILINEAR", [x, i32(8, 8)], [f(1, 8, 8, 8)], "ResizeBilinearOptions"),
        "RESIZE_NEAREST_NEIGHBOR": one(
            "RESIZE_NEAREST_NEIGHBOR", [x, i32(8, 8)], [f(1, 8, 8, 8)], "ResizeNearestNeighborOptions"
        ),
        "REVERSE_V2": one("REVERSE_V2", [x, i32(1)], [x]),
        "SLICE": one("SLICE", [x, i32(0, 1, 0, 0), i32(1, 2, 4, 8)], [f(1, 2, 4, 8)]),
        "SPLIT": one("SPLIT", [scalar(3), x], [f(1, 4, 4, 4)] * 2, "SplitOptions", numSplits=2),
        "SPLIT_V": one(
            "SPLIT_V", [x, i32(2, 6), scalar(3)], [f(1, 4, 4, 2), f(1, 4, 4, 6)], "SplitVOptions", numSplits=2
        ),
        "SQUEEZE": one("SQUEEZE", [x], [f(4, 4, 8)], "SqueezeOptions", squeezeDims=[0]),
        "STRIDED_SLICE": one("STRIDED_SLICE", sliced, [f(1, 2, 4, 8)], "StridedSliceOptions"),
        "TRANSPOSE": one("TRANSPOSE", [x, i32(0, 3, 1, 2)], [f(1, 8, 4, 4)]),
        "UNPACK": one("UNPACK", [f(2, 9)], [f(9)] * 2, "UnpackOptions", num=2),
    }


def _svdf(kind: str, *, rank: int = 1, bias: bool = True) -> Graph:
    batch, size, units, memory = 2, 5, 6, 7
    filters = units * rank
    whole = kind == "INT8"
    scales = int(whole)
    tensors = [
        Tensor([batch, size], kind, scales=scales),
        stored([filters, size], kind, scales=scales),
        stored([filters, memory], "INT16" if whole else kind, scales=scales),
        stored([units], "INT32" if whole else kind, scales=scales, scale=0.25),
        Tensor([batch, filters * memory], "INT16" if whole else kind, variable=True, scales=scales),
        Tensor([batch, units], kind, scales=scales),
    ]
    inputs = [0, 1, 2, 3 if bias else -1, 4]
    return Graph(tensors, [Op("SVDF", inputs, [5], ("SVDFOptions", {"rank": rank}))], [0], [5])


def _lstm(kind: str, *, time_major: bool = False) -> Graph:
    batch, steps, size, cells = 2, 3, 5, 6
    scales = int(kind != "FLOAT32")
    weights = "INT8" if scales else "FLOAT32"
    bias = {"FLOAT32": "FLOAT32", "INT8": "INT32", "INT16": "INT64"}[kind]
    lead = (steps, batch) if time_major else (batch, steps)
    tensors = [Tensor([*lead, size], kind, scales=scales, scale=2**-7)]
    inputs = [0]
    for shape, stored_kind in (((cells, size), weights), ((cells, cells), weights), (None, ""), ((cells,), bias)):
        count = 4 if shape else 3
        for _ in range(count):
            inputs.append(len(tensors) if shape else -1)
            if shape:
                tensors.append(stored(shape, stored_kind, scales=scales, scale=2**-7))
    inputs += [-1, -1]
    for state in (kind, "INT16" if scales else kind):
        inputs.append(len(tensors))
        tensors.append(Tensor([batch, cells], state, variable=True, scales=scales, scale=2**-11))
    inputs += [-1] * 4
    tensors.append(Tensor([*lead, cells], kind, scales=scales, scale=2**-7))
    options = {"timeMajor": time_major, "fusedActivationFunction": 4}
    made = Op(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [len(tensors) - 1], ("UnidirectionalSequenceLSTMOptions", options)
    )
    return Graph(tensors, [made], [0], [len(tensors) - 1])


def _recurrent() -> dict[str, Graph]:
    found = {f"SVDF {kind} rank {rank}": _svdf(kind, rank=rank) for kind in ("FLOAT32", "INT8") for rank in (1, 2)}
    found["SVDF without bias"] = _svdf("FLOAT32", bias=False)
    for kind in ("FLOAT32", "INT8", "INT16"):
        for major in (False, True):
            found[f"LSTM {kind}{' time major' if major else ''}"] = _lstm(kind, time_major=major)
    return found


KERNELS: Mapping[str, Graph] = {
    **_unary(),
    **_binary(),
    **_contractions(),
    **_reductions(),
    **_moves(),
    **_recurrent(),
}
"""A graph for each kernel and each way in which it asks for memory."""
