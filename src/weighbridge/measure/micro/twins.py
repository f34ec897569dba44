"""The same networks of one operator in PyTorch, each a module with the values that the ONNX file has; and products of matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch import nn
from torch.nn import functional

from weighbridge.measure.micro.orders import OPERATOR, PRODUCT
from weighbridge.measure.micro.record import Spec
from weighbridge.measure.micro.specs import SPECS
from weighbridge.measure.micro.values import weights

__all__ = ["single", "twin"]

_Step = Callable[..., Any]


class _Layer(nn.Module):  # type: ignore[misc, unused-ignore]
    """One operator, called as a layer is."""

    def __init__(self, step: _Step) -> None:
        super().__init__()
        self._step = step

    def forward(self, *values: Any) -> Any:
        return self._step(*values)


class _Chain(nn.Module):  # type: ignore[misc, unused-ignore]
    def __init__(self, layers: Sequence[_Layer]) -> None:
        super().__init__()
        self._layers = nn.ModuleList(layers)

    def forward(self, value: Any, *others: Any) -> Any:
        for layer in self._layers:
            value = layer(value, *others)
        return value


def single(source: str) -> Any:
    """The module that an order for a single operator or for a product of matrices names; None where it names something else."""
    kind, _, what = source.partition(":")
    if kind == OPERATOR:
        return next((twin(spec) for spec in SPECS if spec.name == what), None)
    if kind == PRODUCT:
        return _Layer(_product_of_int8 if what.startswith("int8") else torch.matmul)
    return None


def _product_of_int8(one: Any, other: Any) -> Any:
    """PyTorch has no public name for it; where a version has it no longer, the precision is left out."""
    return torch._int_mm(one, other)  # noqa: SLF001


def twin(spec: Spec) -> Any:
    """The module of ``spec``, in evaluation mode."""
    make = _MADE[spec.operator]
    layers = [_Layer(make(spec, [torch.from_numpy(array) for array in arrays])) for arrays in weights(spec)]
    return _Chain(layers).eval()


def _convolution(spec: Spec, stored: Sequence[Any]) -> _Step:
    weight, bias = stored
    stride, border, groups = (spec.attributes[key] for key in ("strides", "pads", "group"))
    return lambda x: functional.conv2d(x, weight, bias, stride, border[:2], 1, groups)  # type: ignore[index]


def _linear(_: Spec, stored: Sequence[Any]) -> _Step:
    weight, bias = stored
    return lambda x: functional.linear(x, weight, bias)


def _product(spec: Spec, stored: Sequence[Any]) -> _Step:
    """By stored values as a layer has them, a row for each value put out."""
    if not spec.weights:
        return torch.matmul  # type: ignore[no-any-return, unused-ignore]
    weight = stored[0].T.contiguous()
    return lambda x: functional.linear(x, weight)


def _recurrence(spec: Spec, stored: Sequence[Any]) -> _Step:
    """ONNX has the gates in another order: LSTM's input, output, forget, cell, GRU's update, reset, hidden."""
    kind, order = {"LSTM": (nn.LSTM, (0, 2, 3, 1)), "GRU": (nn.GRU, (1, 0, 2))}[spec.operator]
    hidden = spec.attributes["hidden_size"]
    layer = kind(spec.shape[-1], hidden)

    def ordered(values: Any) -> Any:
        gates = values.chunk(len(order))
        return torch.cat([gates[place] for place in order])

    taken, kept, biases = (one[0] for one in stored)
    values = (taken, kept, *biases.chunk(2))
    with torch.no_grad():
        for parameter, value in zip(layer.parameters(), values, strict=True):
            parameter.copy_(ordered(value))
    return lambda x: layer(x)[0]


def _layer_normalisation(_: Spec, stored: Sequence[Any]) -> _Step:
    scale, bias = stored
    return lambda x: functional.layer_norm(x, scale.shape, scale, bias)


def _batch_normalisation(_: Spec, stored: Sequence[Any]) -> _Step:
    scale, bias, mean, variance = stored
    return lambda x: functional.batch_norm(x, mean, variance, scale, bias)


def _normalisation_of_instances(_: Spec, stored: Sequence[Any]) -> _Step:
    scale, bias = stored
    return lambda x: functional.instance_norm(x, weight=scale, bias=bias)


def _normalisation_of_groups(spec: Spec, stored: Sequence[Any]) -> _Step:
    scale, bias = stored
    groups: Any = spec.attributes["num_groups"]
    return lambda x: functional.group_norm(x, groups, scale, bias)


def _largest(spec: Spec, _: Sequence[Any]) -> _Step:
    kernel, stride, border = (spec.attributes[key][:2] for key in ("kernel_shape", "strides", "pads"))  # type: ignore[index]
    return lambda x: functional.max_pool2d(x, kernel, stride, border)


def _average(spec: Spec, _: Sequence[Any]) -> _Step:
    kernel, stride, border = (spec.attributes[key][:2] for key in ("kernel_shape", "strides", "pads"))  # type: ignore[index]
    return lambda x: functional.avg_pool2d(x, kernel, stride, border, count_include_pad=False)


def _transpose(spec: Spec, _: Sequence[Any]) -> _Step:
    """Views are of no class: moved are the values when the next operator wants them in order."""
    order = spec.attributes["perm"]
    return lambda x: x.permute(order).contiguous()


def _half(spec: Spec, _: Sequence[Any]) -> _Step:
    (begin,), (end,), (axis,) = spec.numbers
    return lambda x: x.narrow(axis, begin, end - begin).contiguous()


def _padded(spec: Spec, _: Sequence[Any]) -> _Step:
    """PyTorch counts the last dimension first, ONNX all before and then all after."""
    (borders,) = spec.numbers
    half = len(borders) // 2
    last_first = [one for pair in zip(borders[:half][::-1], borders[half:][::-1], strict=True) for one in pair]
    return lambda x: functional.pad(x, last_first)


def _lookup(_: Spec, stored: Sequence[Any]) -> _Step:
    (table,) = stored
    return lambda rows: functional.embedding(rows, table)


def _as_it_is(function: _Step) -> Callable[[Spec, Sequence[Any]], _Step]:
    return lambda _, __: function


_MADE: Final[Mapping[str, Callable[[Spec, Sequence[Any]], _Step]]] = {
    "Conv": _convolution,
    "Gemm": _linear,
    "MatMul": _product,
    "Attention": _as_it_is(functional.scaled_dot_product_attention),
    "LSTM": _recurrence,
    "GRU": _recurrence,
    "LayerNormalization": _layer_normalisation,
    "BatchNormalization": _batch_normalisation,
    "InstanceNormalization": _normalisation_of_instances,
    "GroupNormalization": _normalisation_of_groups,
    "Softmax": _as_it_is(lambda x: functional.softmax(x, -1)),
    "MaxPool": _largest,
    "AveragePool": _average,
    "GlobalAveragePool": _as_it_is(lambda x: functional.adaptive_avg_pool2d(x, 1)),
    "Relu": _as_it_is(functional.relu),
    "Add": _as_it_is(torch.add),
    "Mul": _as_it_is(torch.mul),
    "Sigmoid": _as_it_is(torch.sigmoid),
    "HardSwish": _as_it_is(functional.hardswish),
    "Gelu": _as_it_is(functional.gelu),
    "Erf": _as_it_is(torch.erf),
    "Tanh": _as_it_is(torch.tanh),
    "Transpose": _transpose,
    "Concat": _as_it_is(lambda *values: torch.cat(values, 1)),
    "Slice": _half,
    "Pad": _padded,
    "Gather": _lookup,
}
