"""One small network as ONNX, and as a TensorFlow Lite file: a residual, a depthwise layer, a join, a channel shuffle, an upsampling.

All windows lie alike in both: an odd image, so that SAME of TensorFlow pads both sides by one.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tests.onnx import build as onnx_build
from tests.tflite import build as tflite_build
from weighbridge.graph import Graph
from weighbridge.patching import in_patches

__all__ = ["as_onnx", "as_tflite", "figures"]

SIZE = 33


def as_onnx() -> Graph:
    weights = {
        "stem_w": (8, 3, 3, 3),
        "deep_w": (8, 1, 3, 3),
        "point_w": (8, 8, 1, 1),
        "branch_w": (8, 8, 1, 1),
        "end_w": (8, 16, 2, 2),
        "behind_w": (4, 8, 1, 1),
    }
    node = onnx_build.node
    nodes = [
        node("Conv", ["x", "stem_w"], ["stem"], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Conv", ["stem", "deep_w"], ["deep"], group=8, pads=[1, 1, 1, 1]),
        node("Conv", ["deep", "point_w"], ["point"]),
        node("Add", ["stem", "point"], ["added"]),
        node("Conv", ["added", "branch_w"], ["branch"]),
        node("Concat", ["added", "branch"], ["joined"], axis=1),
        node("Reshape", ["joined", "apart"], ["groups"]),
        node("Transpose", ["groups"], ["turned"], perm=[0, 2, 1, 3, 4]),
        node("Reshape", ["turned", "together"], ["shuffled"]),
        node(
            "Resize",
            ["shuffled", "", "", "sizes"],
            ["upsampled"],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        ),
        node("Conv", ["upsampled", "end_w"], ["end"], strides=[2, 2], name="end"),
        node("Conv", ["end", "behind_w"], ["y"], name="behind"),
    ]
    stored = [onnx_build.weight(name, *shape) for name, shape in weights.items()]
    shapes = {"apart": [1, 2, 8, 17, 17], "together": [1, 16, 17, 17], "sizes": [1, 16, 34, 34]}
    stored += [onnx_build.tensor(name, shape) for name, shape in shapes.items()]
    given, made = onnx_build.value("x", [1, 3, SIZE, SIZE]), onnx_build.value("y", [1, 4, 17, 17])
    return onnx_build.load(onnx_build.model(onnx_build.graph(nodes, [given], [made], stored)))


def as_tflite() -> Graph:
    tensor, op = tflite_build.tensor, tflite_build.op
    maps = {
        "x": (SIZE, SIZE, 3),
        **dict.fromkeys(("stem", "deep", "point", "added", "branch"), (17, 17, 8)),
        "joined": (17, 17, 16),
        "groups": (17, 17, 2, 8),
        "turned": (17, 17, 8, 2),
        "shuffled": (17, 17, 16),
        "upsampled": (34, 34, 16),
        "end": (17, 17, 8),
        "y": (17, 17, 4),
    }
    weights = {
        "stem_w": (8, 3, 3, 3),
        "deep_w": (1, 3, 3, 8),
        "point_w": (8, 1, 1, 8),
        "branch_w": (8, 1, 1, 8),
        "end_w": (8, 2, 2, 16),
        "behind_w": (4, 1, 1, 8),
    }
    numbers = {"apart": (1, 17, 17, 2, 8), "order": (0, 1, 2, 4, 3), "together": (1, 17, 17, 16), "sizes": (34, 34)}
    tensors = [tensor(name, (1, *shape)) for name, shape in maps.items()]
    for place, (name, shape) in enumerate(weights.items()):
        values = np.full(prod(shape), place + 1, "float32").tobytes()
        tensors.append(tensor(name, shape, data=values))
    tensors += [
        tensor(name, (len(values),), "INT32", data=np.array(values, "int32").tobytes())
        for name, values in numbers.items()
    ]
    window = {"padding": 0, "stride_h": 1, "stride_w": 1}
    two = {**window, "stride_h": 2, "stride_w": 2}
    operators = [
        op("CONV_2D", "x stem_w -", "stem", two),
        op("DEPTHWISE_CONV_2D", "stem deep_w -", "deep", {**window, "depth_multiplier": 1}),
        op("CONV_2D", "deep point_w -", "point", window),
        op("ADD", "stem point", "added", {}),
        op("CONV_2D", "added branch_w -", "branch", window),
        op("CONCATENATION", "added branch", "joined", {"axis": 3}),
        op("RESHAPE", "joined apart", "groups", {}),
        op("TRANSPOSE", "groups order", "turned", {}),
        op("RESHAPE", "turned together", "shuffled", {}),
        op("RESIZE_NEAREST_NEIGHBOR", "shuffled sizes", "upsampled", {}),
        op("CONV_2D", "upsampled end_w -", "end", {**two, "padding": 1}),
        op("CONV_2D", "end behind_w -", "y", window),
    ]
    return tflite_build.load(tflite_build.model(tflite_build.graph(tensors, operators, "x", "y")))


def figures(graph: Graph) -> dict[str, object]:
    """What patches of 3 x 2 up to the last layer but one take, without names and layouts."""
    last = [node.name for node in graph.nodes if node.operator == "conv"][-2]
    plan = in_patches(graph, last=last, grid="3x2").plan
    assert plan is not None
    (name,) = plan.patches[0].inputs
    axes = (2, 3) if graph.tensors[name].shape[1] == 3 else (1, 2)
    return {
        "patches": [
            (one.rows, one.columns, *(one.inputs[name][axis] for axis in axes), one.macs, dict(one.peak_bytes))
            for one in plan.patches
        ],
        "peaks": (dict(plan.patch_bytes), plan.buffer_bytes, plan.input_bytes, dict(plan.rest_bytes)),
        "all": (dict(plan.before_bytes), dict(plan.peak_bytes), dict(plan.with_input_bytes)),
        "macs": (plan.stage_macs, plan.clipped_macs, plan.full_macs, plan.network_macs),
    }
