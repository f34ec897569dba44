"""A table of layers with a column to work out: what each figure is made of, and what people come to by the usual mistakes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Final

from weighbridge.counts import NodeFacts
from weighbridge.graph import Shape
from weighbridge.named_tuple import NamedTuple

from .kinds import Conv, Depthwise, LayerSpec, Linear, Operation
from .readouts import Layer, layer
from .symbols import axes

__all__ = ["COLUMNS", "Mistake", "Task", "tasks", "value_of"]

COLUMNS: Final[Mapping[str, str]] = {
    "weights": "weights, without biases",
    "parameters": "parameters, with biases",
    "macs": "MACs",
    "activations": "activations: values that come out",
}
"""The columns that can be worked out, and what is counted in each."""
_POOLS: Final = ("max_pool", "average_pool")


class Mistake(NamedTuple):
    """A value that is not the one asked for, and what whoever comes to it has overlooked."""

    value: int
    hint: str


class Task(NamedTuple):
    """A figure of a layer: ``value`` is that of the counts, ``symbols`` what it is made of, ``worked`` the same in this layer's numbers.

    ``input_shape`` and ``output_shape`` are those of one input, without the batch, and ``window`` says what slides over it: kernel,
    stride, padding and groups, "" where nothing does.  Mistakes that come to one value are one, and none has the value itself.
    """

    name: str
    input_shape: Shape
    output_shape: Shape
    window: str
    value: int
    symbols: str
    worked: str
    mistakes: tuple[Mistake, ...]

    def hint(self, answer: int) -> str:
        """What is to be said of an ``answer``: the mistake that leads to it, or what the figure is made of."""
        found = next((one.hint for one in self.mistakes if one.value == answer), None)
        return found or (f"it is {self.symbols}" if self.symbols else self.worked)


class _Row(NamedTuple):
    """A layer as it is counted in its network and as it stands alone, and what it were if the pool before it were not there."""

    node: NodeFacts
    spec: LayerSpec
    alone: Layer
    unpooled: Layer | None
    pool: str

    @property
    def groups(self) -> int:
        return self.spec.g if isinstance(self.spec, Conv) else 1

    @property
    def batch(self) -> int:
        return self.alone.output_shape[0]


class _Factor(NamedTuple):
    symbol: str
    size: int


def tasks(nodes: Sequence[NodeFacts], specs: Sequence[LayerSpec]) -> Mapping[str, tuple[Task, ...]]:
    """The figures of each of ``COLUMNS`` for layers in the order in which they run: nodes of a network, and each as it stands alone."""
    rows = tuple(_rows(nodes, specs))
    return {column: tuple(_task(row, column) for row in rows) for column in COLUMNS}


def _rows(nodes: Sequence[NodeFacts], specs: Sequence[LayerSpec]) -> Iterator[_Row]:
    before: _Row | None = None
    for node, spec in zip(nodes, specs, strict=True):
        pool = before if before is not None and before.node.operator in _POOLS else None
        unpooled = None if pool is None else _unpooled(spec, pool.alone)
        before = _Row(node, spec, layer(spec), unpooled, "" if pool is None else pool.node.name)
        yield before


def _unpooled(spec: LayerSpec, pool: Layer) -> Layer | None:
    """The layer on the map that the pool before it takes."""
    batch, *_, height, width = pool.input_shapes[0]
    if isinstance(spec, Linear):
        return layer(replace(spec, c_i=pool.input_values // batch))
    if isinstance(spec, (Conv, Depthwise)):
        return layer(replace(spec, h_i=height, w_i=width, h_o=None, w_o=None))
    return None


def _task(row: _Row, column: str) -> Task:
    value = value_of(row.node, column)
    factors, added = tuple(_factors(row, column)), _added(row, column)
    mistakes = tuple(_told_apart(_MISTAKES[column](row), value))
    layer_itself = (row.node.name, row.alone.input_shapes[0][1:], row.alone.output_shape[1:], _window(row.spec))
    if not factors:
        return Task(*layer_itself, value, "", f"{value:,}, as {_NOTHING[column]}", mistakes)
    symbols = " x ".join(one.symbol for one in factors) + (" + c_o" if added else "")
    numbers = " x ".join(f"{one.size:,}" for one in factors) + (f" + {added:,}" if added else "")
    steps = dict.fromkeys((symbols, numbers, f"{value:,}"))
    return Task(*layer_itself, value, symbols, " = ".join(steps), mistakes)


def _told_apart(found: Iterator[Mistake], value: int) -> Iterator[Mistake]:
    """Each value once, with all hints that lead to it."""
    hints: dict[int, dict[str, None]] = {}
    for one in found:
        if one.value != value:
            hints.setdefault(one.value, {})[one.hint] = None
    for wrong, said in hints.items():
        yield Mistake(wrong, "; or ".join(said))


_NOTHING: Final = {
    "weights": "nothing in it is learned",
    "parameters": "nothing in it is learned",
    "macs": "without weights there is nothing to multiply by",
}


def _window(spec: LayerSpec) -> str:
    """A kernel and how it slides, as one says it: ``5x5, padding 2, 2 groups``."""
    if isinstance(spec, Operation):
        found = spec.node.attributes
        given = {name: found.get(name) for name in ("kernel", "stride", "padding")}
        sizes = {name: axes(size) for name, size in given.items() if isinstance(size, int)}
        groups = 1
    elif isinstance(spec, (Conv, Depthwise)):
        sizes = {"kernel": axes(spec.k), "stride": axes(spec.stride), "padding": axes(spec.padding)}
        groups = spec.g if isinstance(spec, Conv) else spec.c_i
    else:
        return ""
    usual = {"stride": (1, 1), "padding": (0, 0)}
    said = [
        _shaped(size) if name == "kernel" else f"{name} {size[0] if len(set(size)) == 1 else _shaped(size)}"
        for name, size in sizes.items()
        if size != usual.get(name)
    ]
    return ", ".join([*said, *([f"{groups:,} groups"] if groups > 1 else [])])


def _shaped(sizes: tuple[int, ...]) -> str:
    return "x".join(map(str, sizes))


def value_of(node: NodeFacts, column: str) -> int:
    """The figure of one of ``COLUMNS`` for a layer with known shapes."""
    outputs = None if node.output is None else prod(node.output)
    found = {"weights": node.weights, "parameters": node.parameters, "macs": node.macs, "activations": outputs}[column]
    assert found is not None, "known of every layer that stands alone"
    return found


def _factors(row: _Row, column: str) -> Iterator[_Factor]:
    """What the figure is a product of; nothing for a layer without weights, unless it is about what comes out."""
    places = [_Factor("batch", row.batch)] if row.batch > 1 else []
    shape = row.alone.output_shape
    places += [_Factor(name, size) for name, size in zip(("h_o", "w_o"), shape[2:], strict=False)]
    if column == "activations":
        yield _Factor("c_o", shape[1])
        yield from places
    elif row.alone.weights:
        yield from _weight(row)
        yield from places if column == "macs" else ()


def _weight(row: _Row) -> Iterator[_Factor]:
    symbols, groups = row.alone.symbols, row.groups
    c_i = int(row.alone.input_shapes[0][1])
    yield _Factor("c_o", row.alone.output_shape[1])
    if isinstance(row.spec, Depthwise):
        yield _Factor("1", 1)
    else:
        yield _Factor(f"c_i/{groups}" if groups > 1 else "c_i", c_i // groups)
    kernel = symbols.get("k")
    if kernel is not None:
        yield from map(_Factor, ("k_h", "k_w"), axes(kernel))


def _added(row: _Row, column: str) -> int:
    """The biases, where they are counted."""
    return (row.node.parameters or 0) - (row.node.weights or 0) if column == "parameters" else 0


def _of_stored(row: _Row) -> Iterator[Mistake]:
    weights, parameters = row.node.weights or 0, row.node.parameters or 0
    biases = parameters - weights
    yield Mistake(row.node.macs or 0, "these are the MACs: a weight is stored once, however often it is used")
    if not weights:
        return
    yield Mistake(weights * row.batch, "the batch multiplies no weights")
    for beside in dict.fromkeys((0, biases)):
        own = f"each filter sees the channels of its own group alone: c_i / {row.groups}"
        yield Mistake(weights * row.groups + beside, own)
        yield from _halved(row, weights, beside)
    kernel = row.alone.symbols.get("k")
    if kernel is not None:
        height, width = axes(kernel)
        yield Mistake(weights // width, "a kernel has a height and a width: k x k")
        yield Mistake(weights // (height * width), "the kernel is missing: k x k taps for each channel")
    if row.unpooled is not None:
        for beside in (0, biases):
            yield Mistake(
                row.unpooled.weights + beside, f"{row.pool} stands before it, and what it takes is smaller by then"
            )
    yield Mistake(row.node.weight_bytes or 0, "these are bytes, four for each number of 32 bits")


def _of_weights(row: _Row) -> Iterator[Mistake]:
    yield Mistake(row.node.parameters or 0, "biases are not counted in this column")
    yield from _of_stored(row)


def _of_parameters(row: _Row) -> Iterator[Mistake]:
    c_o = row.alone.output_shape[1]
    yield Mistake(row.node.weights or 0, f"the biases are missing: one for each of {c_o:,} outputs")
    yield from _of_stored(row)


def _of_macs(row: _Row) -> Iterator[Mistake]:
    macs, weights = row.node.macs or 0, row.node.weights or 0
    if not macs:
        yield Mistake(row.alone.output_values, "values that come out are no MACs: nothing is multiplied")
        yield Mistake(row.alone.input_values, "values that go in are no MACs: nothing is multiplied")
        return
    yield Mistake(row.node.flops or 0, "these are FLOPs: a MAC is two of them")
    yield Mistake(macs // row.batch, f"this is for one input: the batch is {row.batch}")
    yield Mistake(weights, "each weight is used at every place of the map that comes out: h_o x w_o")
    yield Mistake(
        row.node.parameters or 0, "these are the parameters: a bias is an addition, and each weight has h_o x w_o uses"
    )
    yield Mistake(macs * row.groups, f"each filter sees the channels of its own group alone: c_i / {row.groups}")
    yield from _halved(row, macs, 0)
    yield Mistake(macs + row.alone.output_values, "a bias is an addition, not a MAC")
    places = prod(row.alone.input_shapes[0][2:]) * row.batch
    yield Mistake(weights * places, "count the places of the map that comes out, not of the one that goes in")
    if row.unpooled is not None:
        yield Mistake(row.unpooled.macs, f"{row.pool} stands before it, and the map is smaller by then")


def _of_activations(row: _Row) -> Iterator[Mistake]:
    values, shape = row.alone.output_values, row.alone.output_shape
    yield Mistake(row.alone.input_values, "this is what goes in; the column is what comes out")
    yield Mistake(row.alone.activation_values, "this is what goes in and what comes out; the column is what comes out")
    yield Mistake(values // row.batch, f"this is for one input: the batch is {row.batch}")
    if len(shape) > 2:
        yield Mistake(prod(shape[2:]), f"the channels are missing: {shape[1]:,} maps come out")
        yield Mistake(shape[1] * shape[2], "a map has a height and a width")
    yield Mistake(row.alone.output_bytes or 0, "these are bytes, four for each value of 32 bits")
    if row.groups > 1:
        yield Mistake(values // row.groups, f"all {row.groups} groups put out maps: c_o is of all together")
    stored = row.node.weights or 0
    yield Mistake(
        stored, "these are the weights" if stored else "nothing is stored here, and values come out all the same"
    )
    if row.unpooled is not None:
        yield Mistake(row.unpooled.output_values, f"{row.pool} stands before it, and the map is smaller by then")


def _halved(row: _Row, value: int, beside: int) -> Iterator[Mistake]:
    """Divided by groups once too often."""
    if row.groups > 1:
        yield Mistake(value // row.groups + beside, "the groups divide it once: all filters together are c_o")
    elif isinstance(row.spec, Conv) and not value % 2:
        yield Mistake(value // 2 + beside, "this layer has no groups: each filter sees all channels")


_MISTAKES: Final = {
    "weights": _of_weights,
    "parameters": _of_parameters,
    "macs": _of_macs,
    "activations": _of_activations,
}
