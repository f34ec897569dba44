"""The single operators that rates of a runtime are told from: of each class some that are tiny, some that compute, some that move bytes.

What is tiny takes what any operator takes.  A chain takes what a run takes once and what an operator takes as often as it is long, which
tells the two apart.  All of one class are not of one size, as fast kernels are fast at their own sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from weighbridge.measure.micro.record import Spec

__all__ = ["SPECS"]

_Shape = tuple[int, ...]


def _in_a_row(chain: int) -> str:
    return f", {chain} in a row" if chain > 1 else ""


def _sized(shape: _Shape) -> str:
    return "x".join(map(str, shape))


def _convolution(
    operators: str, channels: tuple[int, int], size: int, kernel: int, stride: int = 1, groups: int = 1, chain: int = 1
) -> Spec:
    """From so many ``channels`` to so many, ``size`` positions either way, as many put out as there are in ``stride``."""
    taken, made = channels
    stepping = f", stride {stride}" if stride > 1 else ""
    grouped = f", {groups} groups" if 1 < groups < taken else ""
    name = (
        f"{operators} {kernel}x{kernel}, {taken} to {made} channels, {size}x{size}{stepping}{grouped}{_in_a_row(chain)}"
    )
    border = kernel // 2
    return Spec(
        name=name,
        operators=operators,
        operator="Conv",
        shape=(1, taken, size, size),
        weights=((made, taken // groups, kernel, kernel), (made,)),
        attributes={
            "kernel_shape": (kernel, kernel),
            "strides": (stride, stride),
            "pads": (border, border, border, border),
            "group": groups,
        },
        chain=chain,
    )


def _dense(taken: int, made: int, size: int, kernel: int, stride: int = 1, chain: int = 1) -> Spec:
    return _convolution("dense convolution", (taken, made), size, kernel, stride, chain=chain)


def _pointwise(taken: int, made: int, size: int, chain: int = 1) -> Spec:
    return _convolution("pointwise convolution", (taken, made), size, 1, chain=chain)


def _grouped(channels: int, groups: int, size: int, kernel: int = 3, chain: int = 1) -> Spec:
    return _convolution("grouped convolution", (channels, channels), size, kernel, groups=groups, chain=chain)


def _depthwise(channels: int, size: int, kernel: int, stride: int = 1, chain: int = 1) -> Spec:
    return _convolution("depthwise convolution", (channels, channels), size, kernel, stride, channels, chain)


def _linear(rows: int, taken: int, made: int, chain: int = 1) -> Spec:
    name = f"linear, {rows} x {taken} to {made}{_in_a_row(chain)}"
    return Spec(name, "linear", "Gemm", (rows, taken), ((made, taken), (made,)), attributes={"transB": 1}, chain=chain)


def _of_tokens(tokens: int, taken: int, made: int, chain: int = 1) -> Spec:
    """As transformers have it: no bias, the rows of one sequence."""
    name = f"linear, {tokens} tokens of {taken} to {made}{_in_a_row(chain)}"
    return Spec(name, "linear", "MatMul", (1, tokens, taken), ((taken, made),), chain=chain)


def _product(heads: int, rows: int, inner: int, columns: int, chain: int = 1) -> Spec:
    name = f"matrix product, {heads} of {rows} x {inner} x {columns}{_in_a_row(chain)}"
    others = ((1, heads, inner, columns),)
    return Spec(name, "matrix product", "MatMul", (1, heads, rows, inner), others=others, chain=chain)


def _attention(batch: int, heads: int, tokens: int, width: int, chain: int = 1) -> Spec:
    shape = (batch, heads, tokens, width)
    return Spec(
        f"attention, {_sized(shape)}{_in_a_row(chain)}",
        "attention",
        "Attention",
        shape,
        others=(shape, shape),
        chain=chain,
    )


_GATES: Final = {"LSTM": 4, "GRU": 3}


def _recurrence(operator: str, steps: int, taken: int, hidden: int, batch: int = 1) -> Spec:
    """One direction; GRU as PyTorch has it, which adds a bias before it resets."""
    gates = _GATES[operator] * hidden
    beside: dict[str, int] = {"linear_before_reset": 1} if operator == "GRU" else {}
    return Spec(
        name=f"{operator}, {steps} steps of {batch} x {taken}, {hidden} hidden",
        operators="recurrence",
        operator=operator,
        shape=(steps, batch, taken),
        weights=((1, gates, taken), (1, gates, hidden), (1, 2 * gates)),
        attributes={"hidden_size": hidden, **beside},
    )


def _layer_normalisation(shape: _Shape, chain: int = 1) -> Spec:
    stored = ((shape[-1],), (shape[-1],))
    name = f"layer normalisation, {_sized(shape)}{_in_a_row(chain)}"
    return Spec(name, "normalisation", "LayerNormalization", shape, stored, attributes={"axis": -1}, chain=chain)


def _batch_normalisation(shape: _Shape, chain: int = 1) -> Spec:
    name = f"batch normalisation, {_sized(shape)}{_in_a_row(chain)}"
    return Spec(name, "normalisation", "BatchNormalization", shape, ((shape[1],),) * 4, chain=chain)


def _normalisation_of_groups(shape: _Shape, groups: int) -> Spec:
    name = f"group normalisation, {_sized(shape)}, {groups} groups"
    stored, attributes = ((shape[1],), (shape[1],)), {"num_groups": groups}
    return Spec(name, "normalisation", "GroupNormalization", shape, stored, attributes=attributes)


def _normalisation_of_instances(shape: _Shape, chain: int = 1) -> Spec:
    name = f"instance normalisation, {_sized(shape)}{_in_a_row(chain)}"
    return Spec(name, "normalisation", "InstanceNormalization", shape, ((shape[1],), (shape[1],)), chain=chain)


def _softmax(shape: _Shape, chain: int = 1) -> Spec:
    name = f"softmax, {_sized(shape)}{_in_a_row(chain)}"
    return Spec(name, "softmax", "Softmax", shape, attributes={"axis": -1}, chain=chain)


def _pooling(operator: str, shape: _Shape, kernel: int, stride: int, chain: int = 1) -> Spec:
    border = 1 if kernel == 3 else 0
    attributes = {
        "kernel_shape": (kernel, kernel),
        "strides": (stride, stride),
        "pads": (border, border, border, border),
    }
    name = f"{operator} {kernel}x{kernel}, {_sized(shape)}, stride {stride}{_in_a_row(chain)}"
    return Spec(name, "pooling", operator, shape, attributes=attributes, chain=chain)


def _global(shape: _Shape) -> Spec:
    return Spec(f"GlobalAveragePool, {_sized(shape)}", "reduction", "GlobalAveragePool", shape)


def _elementwise(operator: str, shape: _Shape, other: _Shape | None = None, chain: int = 1) -> Spec:
    """``other`` is the shape of a second operand, where there is one."""
    beside = "" if other is None or other == shape else f" and {_sized(other)}"
    name = f"{operator}, {_sized(shape)}{beside}{_in_a_row(chain)}"
    return Spec(name, "elementwise", operator, shape, others=() if other is None else (other,), chain=chain)


def _transpose(shape: _Shape, order: _Shape) -> Spec:
    name = f"Transpose, {_sized(shape)} by {''.join(map(str, order))}"
    return Spec(name, "copy", "Transpose", shape, attributes={"perm": order})


def _joined(shape: _Shape) -> Spec:
    return Spec(f"Concat, {_sized(shape)} twice", "copy", "Concat", shape, others=(shape,), attributes={"axis": 1})


def _half(shape: _Shape) -> Spec:
    """The upper half of every channel, which lies in pieces: what lies in one piece a runtime need not copy."""
    name = f"Slice, upper half of {_sized(shape)}"
    return Spec(name, "copy", "Slice", shape, numbers=((0,), (shape[2] // 2,), (2,)))


def _padded(shape: _Shape, chain: int = 1) -> Spec:
    """By one position on every side."""
    name = f"Pad, {_sized(shape)}{_in_a_row(chain)}"
    return Spec(name, "copy", "Pad", shape, numbers=((0, 0, 1, 1, 0, 0, 1, 1),), chain=chain)


def _lookup(picks: int, rows: int, width: int) -> Spec:
    name = f"lookup, {picks} of {rows} rows of {width}"
    return Spec(name, "lookup", "Gather", (1, picks), ((rows, width),), rows=rows)


def _convolutions() -> Iterator[Spec]:
    yield _dense(16, 16, 7, 3)
    yield _dense(16, 16, 7, 3, chain=8)
    yield _dense(3, 32, 224, 3, 2)
    yield _dense(3, 64, 224, 7, 2)
    yield _dense(32, 32, 112, 3, chain=2)
    yield _dense(64, 64, 56, 3, chain=4)
    yield _dense(64, 64, 56, 3, 2, chain=3)
    yield _dense(64, 64, 28, 5, chain=2)
    yield _dense(24, 24, 28, 3, chain=4)
    yield _dense(256, 256, 14, 3, chain=4)
    yield _dense(512, 512, 7, 3, chain=2)
    yield _pointwise(8, 8, 7)
    yield _pointwise(8, 8, 7, chain=8)
    yield _pointwise(16, 96, 112)
    yield _pointwise(144, 24, 56)
    yield _pointwise(64, 64, 56, chain=4)
    yield _pointwise(512, 512, 28)
    yield _pointwise(256, 256, 14, chain=4)
    yield _pointwise(960, 160, 7)
    yield _pointwise(1024, 1024, 7, chain=4)
    yield _grouped(32, 4, 7)
    yield _grouped(32, 4, 7, chain=8)
    yield _grouped(64, 8, 56, chain=2)
    yield _grouped(240, 3, 28, 1, chain=2)
    yield _grouped(256, 32, 14, chain=4)
    yield _grouped(128, 8, 28, chain=2)
    yield _depthwise(16, 7, 3)
    yield _depthwise(16, 7, 3, chain=8)
    yield _depthwise(32, 112, 3, chain=2)
    yield _depthwise(96, 112, 3, 2)
    yield _depthwise(144, 56, 3, chain=4)
    yield _depthwise(240, 28, 5, chain=2)
    yield _depthwise(240, 28, 5, 2)
    yield _depthwise(96, 56, 7)
    yield _depthwise(576, 14, 3, chain=4)
    yield _depthwise(960, 7, 5, chain=2)


def _products() -> Iterator[Spec]:
    yield _linear(1, 16, 16)
    yield _linear(1, 16, 16, chain=8)
    yield _linear(1, 256, 256, chain=8)
    yield _linear(1, 1280, 1000)
    yield _linear(1, 4096, 4096)
    yield _linear(32, 512, 512, chain=4)
    yield _of_tokens(128, 256, 256, chain=4)
    yield _of_tokens(197, 192, 768)
    yield _of_tokens(64, 2048, 2048)
    yield _of_tokens(3136, 96, 384)
    yield _product(1, 8, 8, 8)
    yield _product(1, 8, 8, 8, chain=8)
    yield _product(4, 128, 64, 128)
    yield _product(4, 128, 128, 128, chain=4)
    yield _product(12, 197, 197, 64)
    yield _product(192, 49, 32, 49)
    yield _product(1, 512, 512, 512, chain=2)
    yield _attention(1, 1, 8, 8)
    yield _attention(1, 1, 8, 8, chain=8)
    yield _attention(1, 4, 128, 64, chain=2)
    yield _attention(1, 12, 197, 64)
    yield _attention(64, 3, 49, 32)
    yield _attention(1, 4, 512, 64)
    yield _recurrence("LSTM", 1, 16, 16)
    yield _recurrence("LSTM", 16, 16, 16)
    yield _recurrence("LSTM", 50, 80, 256)
    yield _recurrence("LSTM", 10, 512, 512)
    yield _recurrence("LSTM", 20, 128, 128, 8)
    yield _recurrence("LSTM", 50, 256, 256)
    yield _recurrence("GRU", 1, 16, 16)
    yield _recurrence("GRU", 16, 16, 16)
    yield _recurrence("GRU", 50, 64, 128)
    yield _recurrence("GRU", 20, 256, 256)


def _normalisations_and_pools() -> Iterator[Spec]:
    yield _layer_normalisation((1, 8, 16))
    yield _layer_normalisation((1, 8, 16), chain=8)
    yield _layer_normalisation((1, 197, 768), chain=2)
    yield _batch_normalisation((1, 16, 7, 7))
    yield _batch_normalisation((1, 64, 56, 56), chain=4)
    yield _batch_normalisation((1, 96, 112, 112))
    yield _normalisation_of_instances((1, 32, 64, 64), chain=2)
    yield _normalisation_of_groups((1, 64, 56, 56), 8)
    yield _softmax((1, 16))
    yield _softmax((1, 16), chain=8)
    yield _softmax((1, 4, 128, 128), chain=2)
    yield _softmax((1, 12, 197, 197))
    yield _pooling("MaxPool", (1, 16, 7, 7), 3, 1)
    yield _pooling("MaxPool", (1, 16, 7, 7), 3, 1, chain=8)
    yield _pooling("MaxPool", (1, 64, 112, 112), 3, 2)
    yield _pooling("MaxPool", (1, 192, 28, 28), 3, 1, chain=2)
    yield _pooling("MaxPool", (1, 64, 112, 112), 2, 2)
    yield _pooling("AveragePool", (1, 128, 56, 56), 2, 2)
    yield _pooling("AveragePool", (1, 256, 14, 14), 3, 1, chain=2)
    yield _global((1, 16, 7, 7))
    yield _global((1, 1280, 7, 7))
    yield _global((1, 64, 56, 56))
    yield _global((1, 672, 14, 14))
    yield _global((1, 192, 112, 112))


def _rest() -> Iterator[Spec]:
    yield _elementwise("Relu", (1, 64))
    yield _elementwise("Relu", (1, 64), chain=8)
    yield _elementwise("Relu", (1, 64, 56, 56), chain=2)
    yield _elementwise("Relu", (1, 64, 224, 224))
    yield _elementwise("Add", (1, 64), (1, 64), chain=8)
    yield _elementwise("Add", (1, 64, 56, 56), (1, 64, 56, 56), chain=2)
    yield _elementwise("Mul", (1, 96, 56, 56), (1, 96, 1, 1))
    yield _elementwise("Mul", (1, 128, 28, 28), (1, 128, 28, 28), chain=4)
    yield _elementwise("Sigmoid", (1, 64, 56, 56))
    yield _elementwise("HardSwish", (1, 96, 56, 56))
    yield _elementwise("Gelu", (1, 197, 768))
    yield _elementwise("Erf", (1, 128, 512), chain=2)
    yield _elementwise("Tanh", (1, 64, 28, 28))
    yield _transpose((1, 8, 8), (0, 2, 1))
    yield _transpose((1, 197, 12, 64), (0, 2, 1, 3))
    yield _transpose((1, 64, 56, 56), (0, 2, 3, 1))
    yield _joined((1, 4, 4, 4))
    yield _joined((1, 64, 28, 28))
    yield _joined((1, 128, 112, 112))
    yield _half((1, 8, 4, 4))
    yield _half((1, 128, 56, 56))
    yield _padded((1, 4, 4, 4), chain=8)
    yield _padded((1, 64, 56, 56))
    yield _lookup(1, 16, 16)
    yield _lookup(16, 1024, 64)
    yield _lookup(128, 8192, 256)
    yield _lookup(4096, 8192, 64)


SPECS: Final[tuple[Spec, ...]] = (*_convolutions(), *_products(), *_normalisations_and_pools(), *_rest())
"""Of distinct names."""
