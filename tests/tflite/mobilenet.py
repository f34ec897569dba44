"""MobileNetV2 as a TensorFlow Lite file, written layer by layer from the paper's table (Sandler et al. 2018, table 2)."""

from __future__ import annotations

from math import prod

from .build import Op, Tensor, graph, model, op, tensor

__all__ = ["mobilenet_v2"]

_BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""Expansion, channels, repetitions, first stride."""
_RELU6 = 3


class _Net:
    """The tensors and operators so far, and the feature map that the next layer reads."""

    def __init__(self, resolution: int, dtype: str) -> None:
        self.dtype = dtype
        self.scales = 1 if dtype == "INT8" else 0
        self.tensors: list[Tensor] = []
        self.operators: list[Op] = []
        self.size, self.channels = resolution, 3
        self.x = self.make("image", (1, resolution, resolution, 3))

    def make(self, name: str, shape: tuple[int, ...]) -> str:
        self.tensors.append(tensor(name, shape, self.dtype, scales=self.scales))
        return name

    def stored(self, name: str, shape: tuple[int, ...], dtype: str, axis: int = 0) -> str:
        # Values that differ from buffer to buffer, as weights do: a writer may keep equal ones once.
        width = 1 if dtype == "INT8" else 4
        data = len(self.tensors).to_bytes(4, "little") * (prod(shape) * width // 4 + 1)
        scales = shape[axis] if self.scales else 0
        self.tensors.append(tensor(name, shape, dtype, data=data[: prod(shape) * width], scales=scales, axis=axis))
        return name

    def layer(self, kind: str, name: str, weight: tuple[int, ...], axis: int, stride: int, activation: int) -> None:
        outputs = weight[axis]
        w = self.stored(f"{name}/weight", weight, self.dtype, axis)
        b = self.stored(f"{name}/bias", (outputs,), "INT32" if self.scales else self.dtype)
        self.size = -(-self.size // stride)
        y = self.make(name, (1, self.size, self.size, outputs))
        options = {"padding": 0, "stride_h": stride, "stride_w": stride, "fused_activation_function": activation}
        if kind == "DEPTHWISE_CONV_2D":
            options["depth_multiplier"] = 1
        self.operators.append(op(kind, [self.x, w, b], [y], options))
        self.x, self.channels = y, outputs

    def conv(self, name: str, outputs: int, kernel: int = 1, stride: int = 1, activation: int = _RELU6) -> None:
        self.layer("CONV_2D", name, (outputs, kernel, kernel, self.channels), 0, stride, activation)

    def block(self, name: str, expansion: int, outputs: int, stride: int) -> None:
        entry, channels = self.x, self.channels
        if expansion > 1:
            self.conv(f"{name}/expand", expansion * channels)
        self.layer("DEPTHWISE_CONV_2D", f"{name}/depthwise", (1, 3, 3, self.channels), 3, stride, _RELU6)
        self.conv(f"{name}/project", outputs, activation=0)
        if stride == 1 and channels == outputs:
            y = self.make(f"{name}/add", (1, self.size, self.size, outputs))
            self.operators.append(op("ADD", [entry, self.x], [y], {}))
            self.x = y

    def head(self) -> None:
        pooled = self.make("pool", (1, 1, 1, self.channels))
        window = {"padding": 1, "stride_h": 1, "stride_w": 1, "filter_width": self.size, "filter_height": self.size}
        self.operators.append(op("AVERAGE_POOL_2D", [self.x], [pooled], window))
        flat = self.make("flat", (1, self.channels))
        shape = self.stored_shape(flat)
        self.operators.append(op("RESHAPE", [pooled, shape], [flat], {"new_shape": [1, self.channels]}))
        w = self.stored("classifier/weight", (1000, self.channels), self.dtype)
        b = self.stored("classifier/bias", (1000,), "INT32" if self.scales else self.dtype)
        self.operators.append(op("FULLY_CONNECTED", [flat, w, b], [self.make("classifier", (1, 1000))], {}))

    def stored_shape(self, name: str) -> str:
        data = b"".join(size.to_bytes(4, "little") for size in (1, self.channels))
        self.tensors.append(tensor(f"{name}/shape", (2,), "INT32", data=data))
        return f"{name}/shape"


def mobilenet_v2(*, resolution: int = 224, dtype: str = "FLOAT32") -> bytes:
    """The file, with or without 8-bit quantisation (``INT8``)."""
    net = _Net(resolution, dtype)
    net.conv("stem", 32, 3, 2)
    for stage, (expansion, channels, count, stride) in enumerate(_BLOCKS):
        for index in range(count):
            net.block(f"stage{stage}/{index}", expansion, channels, stride if index == 0 else 1)
    net.conv("last", 1280)
    net.head()
    return model(graph(net.tensors, net.operators, "image", "classifier"))
