"""The kinds of layers: their symbols as frozen records, and each as a graph of one node.

Nothing is computed here: shapes, sizes and counts are those of the operator that the node calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Final

from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec, GraphError
from weighbridge.graph import Attribute, Graph, Node, Shape, Tensor

from .symbols import SYMBOLS, Sizes, axes, checked, checked_flag

__all__ = ["Conv", "Depthwise", "LayerSpec", "Linear", "Matmul", "Operation", "Transposed"]

_FLOAT: Final = DTYPES["float32"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Symbols:
    """Checks every symbol when a layer is described; lists and NumPy's numbers become Python's own."""

    activation_bits: int = 32

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            check = checked if field.name in SYMBOLS else checked_flag
            object.__setattr__(self, field.name, check(field.name, value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear(_Symbols):
    """``n`` vectors of ``c_i`` values through ``c_o`` neurons: a weight of c_o x c_i.

    Raises ``BadSpec``, located at the symbol, for one that is no whole number in its range.
    """

    c_i: int
    c_o: int
    n: int = 1
    bias: bool = False
    weight_bits: int = 32

    @property
    def kind(self) -> str:
        return "linear"

    def graph(self) -> Graph:
        """The layer as a graph of one node."""
        return _layer("linear", (self.n, self.c_i), (self.c_o, self.c_i), self.c_o if self.bias else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matmul(_Symbols):
    """An ``m`` x ``k`` by a ``k`` x ``n`` matrix.  Both are activations; where one is a weight, the layer is ``Linear``.

    Raises ``BadSpec`` as ``Linear`` does.
    """

    m: int
    n: int
    k: int

    @property
    def kind(self) -> str:
        return "matmul"

    def graph(self) -> Graph:
        """The product as a graph of one node."""
        if not isinstance(self.k, int):
            raise BadSpec("must be one number in a matmul", where="k")
        builder = Builder("matmul")
        operands = [builder.input("a", (self.m, self.k), _FLOAT), builder.input("b", (self.k, self.n), _FLOAT)]
        # The loops of an einsum have m, n and k where the symbols have them; those of a matmul follow a linear layer.
        made = builder.add("einsum", [("xs", one) for one in operands], {"equation": "mk,kn->mn"}, name="matmul")
        return builder.graph(made)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window(_Symbols):
    """What all layers with a sliding kernel have.

    The size of the output is given or that of the input, and the other follows; a width that is not given is the height.
    Where the output is given, the input is the smallest that makes it.
    """

    c_i: int
    k: Sizes
    h_o: int | None = None
    w_o: int | None = None
    h_i: int | None = None
    w_i: int | None = None
    n: int = 1
    stride: Sizes = 1
    padding: Sizes = 0
    dilation: Sizes = 1
    bias: bool = False
    weight_bits: int = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Conv(_Window):
    """A convolution of two dimensions in ``g`` groups: a weight of c_o x c_i/g x k_h x k_w.

    Raises ``BadSpec`` as ``Linear`` does.
    """

    c_o: int
    g: int = 1

    @property
    def kind(self) -> str:
        return "conv" if self.g == 1 else "grouped"

    def graph(self) -> Graph:
        """The layer as a graph of one node.  Raises ``BadSpec`` where the symbols do not fit each other."""
        _check_groups(self.g, c_i=self.c_i, c_o=self.c_o)
        return _convolution(self, self.c_o, self.g)


@dataclass(frozen=True, slots=True, kw_only=True)
class Depthwise(_Window):
    """A convolution with a group for every channel: a weight of c_o x 1 x k_h x k_w; ``c_o`` is ``c_i`` or a multiple of it.

    Raises ``BadSpec`` as ``Linear`` does.
    """

    c_o: int | None = None

    @classmethod
    def like(cls, conv: Conv, c_o: int | None = None) -> Depthwise:
        """A depthwise layer with the input, the kernel and the widths of ``conv``."""
        shared = {field.name: getattr(conv, field.name) for field in fields(cls) if field.name != "c_o"}
        return cls(**shared, c_o=c_o)

    @property
    def kind(self) -> str:
        return "depthwise"

    def graph(self) -> Graph:
        """The layer as a graph of one node.  Raises ``BadSpec`` where the symbols do not fit each other."""
        c_o = self.c_i if self.c_o is None else self.c_o
        if c_o % self.c_i:
            what = f"a depthwise layer makes a multiple of its {self.c_i:,} channels, not {c_o:,}"
            raise BadSpec(what, where="c_o")
        return _convolution(self, c_o, self.c_i)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transposed(_Window):
    """A transposed convolution of two dimensions: a weight of c_i x c_o/g x k_h x k_w; ``padding`` crops the result.

    Raises ``BadSpec`` as ``Linear`` does.
    """

    c_o: int
    g: int = 1
    output_padding: Sizes = 0

    @property
    def kind(self) -> str:
        return "transposed"

    def graph(self) -> Graph:
        """The layer as a graph of one node.  Raises ``BadSpec`` where the symbols do not fit each other."""
        _check_groups(self.g, c_i=self.c_i, c_o=self.c_o)
        _check_padding(self)
        extra = _output_padding(self)
        sizes, is_output = _sizes(self)
        wanted = sizes
        if is_output:
            sizes = _other_end(self, "conv", tuple(size - more for size, more in zip(wanted, extra, strict=True)))
        weight = (self.c_i, self.c_o // self.g, *axes(self.k))
        attributes = {**_attributes(self, self.g), "output_padding": extra}
        with _located("padding"):
            graph = _layer("conv_transpose", (self.n, self.c_i, *sizes), weight, self.c_o * self.bias, attributes)
        made = (graph.tensors[graph.outputs[0]].shape or ())[2:]
        if is_output and made != wanted:
            what = f"no input makes {_by(wanted)}: {_by(sizes)} makes {_by(made)}, and one more adds a stride"
            raise BadSpec(what, where="h_o", hint="give another size or an output padding")
        return graph


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of any operator, as a network makes it: ``node`` and the tensors that it reads.

    Bits of None leave the tensors at their widths.
    """

    node: Node
    tensors: tuple[Tensor, ...]
    weight_bits: int | None = None
    activation_bits: int | None = None

    def __post_init__(self) -> None:
        for name in ("weight_bits", "activation_bits"):
            if getattr(self, name) is not None:
                checked(name, getattr(self, name))

    @property
    def kind(self) -> str:
        return self.node.operator

    def graph(self) -> Graph:
        """The call as a graph of one node."""
        node, builder = self.node, Builder(self.node.operator)
        for tensor in self.tensors:
            if tensor.role.is_stored:
                builder.stored(tensor.id, tensor.shape or (), tensor.dtype, tensor.role)
            else:
                builder.input(tensor.id, tensor.shape, tensor.dtype)
        return builder.graph(builder.add(node.operator, node.operands, node.attributes, name=node.name))


LayerSpec = Linear | Conv | Depthwise | Transposed | Matmul | Operation


def _layer(
    operator: str, x: Shape, weight: Shape, biases: int, attributes: dict[str, Attribute] | None = None
) -> Graph:
    builder = Builder(operator)
    operands = [("x", builder.input("x", x, _FLOAT)), ("w", builder.stored("weight", weight, _FLOAT))]
    if biases:
        operands.append(("b", builder.stored("bias", (biases,), _FLOAT)))
    return builder.graph(builder.add(operator, operands, attributes, name=operator))


def _convolution(spec: _Window, c_o: int, groups: int) -> Graph:
    _check_padding(spec)
    sizes, is_output = _sizes(spec)
    if is_output:
        sizes = _other_end(spec, "conv_transpose", sizes)
    weight = (c_o, spec.c_i // groups, *axes(spec.k))
    with _located("k"):
        return _layer("conv", (spec.n, spec.c_i, *sizes), weight, c_o * spec.bias, _attributes(spec, groups))


def _attributes(spec: _Window, groups: int) -> dict[str, Attribute]:
    return {
        "stride": axes(spec.stride),
        "padding": axes(spec.padding),
        "dilation": axes(spec.dilation),
        "groups": groups,
    }


def _sizes(spec: _Window) -> tuple[Shape, bool]:
    """(height, width) as given, and whether they are those of the output."""
    outer = [size for size in (spec.h_o, spec.w_o) if size is not None]
    inner = [size for size in (spec.h_i, spec.w_i) if size is not None]
    if outer and inner:
        raise BadSpec("the sizes of input and output are both given", where="h_i", hint="one follows from the other")
    sizes = outer or inner
    if not sizes:
        raise BadSpec("the size of the output is missing", where="h_o", hint="give it, or that of the input as h_i")
    return (sizes[0], sizes[-1]), bool(outer)


def _other_end(spec: _Window, operator: str, sizes: Shape) -> Shape:
    """The sizes of the input that makes an output of ``sizes``: the rule of the ``operator`` that leads back gives them.

    That of a convolution is its transpose, and the other way round.
    """
    impossible = BadSpec("no input makes an output as small as this", where="h_o", hint="give a larger one")
    if min(sizes) < 1:
        raise impossible
    builder = Builder("size")
    operands = [
        ("x", builder.input("x", (1, 1, *sizes), _FLOAT)),
        ("w", builder.stored("w", (1, 1, *axes(spec.k)), _FLOAT)),
    ]
    try:
        (made,) = builder.add(operator, operands, _attributes(spec, 1))
    except GraphError:
        raise impossible from None
    return (builder.tensors[made].shape or ())[2:]


def _check_padding(spec: _Window) -> None:
    """A padding as wide as the kernel reaches makes windows that see nothing but zeros."""
    taps, steps, padding = map(axes, (spec.k, spec.dilation, spec.padding))
    for axis, pad in enumerate(padding):
        reach = steps[axis % 2] * (taps[axis % 2] - 1)
        if pad > reach:
            kernel = f"a kernel of {taps[axis % 2]:,} at dilation {steps[axis % 2]:,}"
            raise BadSpec(f"{kernel} takes a padding of at most {reach:,}, not {pad:,}", where="padding")


def _output_padding(spec: Transposed) -> Shape:
    extra, strides, steps = map(axes, (spec.output_padding, spec.stride, spec.dilation))
    if any(more >= max(pair) for more, *pair in zip(extra, strides, steps, strict=True)):
        raise BadSpec("must be less than the stride or the dilation", where="output_padding")
    return extra


def _check_groups(groups: int, **channels: int) -> None:
    for name, number in channels.items():
        if number % groups:
            raise BadSpec(f"{number:,} channels ({name}) cannot be split into {groups:,} groups", where="g")


@contextmanager
def _located(name: str) -> Iterator[None]:
    """What the operator's rule refuses, as a fault of this symbol."""
    try:
        yield
    except GraphError as error:
        raise BadSpec(error.what, where=name, hint=error.hint) from None


def _by(sizes: Shape) -> str:
    return "x".join(map(str, sizes))
