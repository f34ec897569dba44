"""Model size: weights times their bit widths, which layers hold them, and which of them a larger image adds to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from weighbridge.api import weigh
from weighbridge.counts import NodeFacts
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph, Tensor
from weighbridge.named_tuple import NamedTuple
from weighbridge.passes import bit_rules, set_bits
from weighbridge.passes.targets import targets_of
from weighbridge.passes.what_if.applied import applied
from weighbridge.passes.what_if.language import changes_of
from weighbridge.report.charts.theme import PALETTE
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.record import Report
from weighbridge.units import exact, in_full, significant
from weighbridge.web.controls import Control, Number, State, Switch, Words
from weighbridge.web.figures import UNKNOWN, count, size, sized, words
from weighbridge.web.networks import graph_of, network_choice
from weighbridge.web.simulator import Answer, Figure, Plot, Preset, Readout, Simulator
from weighbridge.web.simulators import deep_compression

__all__ = ["model_size"]

_NETWORKS: Final = (
    "alexnet",
    "mobilenet_v1",
    "mobilenet_v2",
    "resnet18",
    "resnet34",
    "resnet50",
    "squeezenet",
    "vgg16",
)
"""The textbook networks for an image of 224 pixels that have its resolution as a parameter."""
_PLANNED: Final = "alexnet"
"""The network that there is a plan of compression for."""
_MOST_LAYERS: Final = 54
"""With weights, of these networks: in ResNet-50."""
_KINDS: Final = {"conv": "convolutions", "linear": "linear layers"}


def model_size() -> Simulator:
    """The simulator; its presets are the source material's sizes of AlexNet, its leak, and what closes it."""
    return Simulator(
        "size",
        "Model size",
        "How many bytes are the weights, and which of them does a larger image add to?",
        "The size is the sum over layers of weights times their bit width. A convolution has as many weights at any resolution; the "
        "first linear layer behind a flattened map has one for every pixel, and none of them when the map is averaged first.",
        tuple(_controls()),
        _answer,
        (
            Preset("AlexNet in 32 bits", {"bits": 32}),
            Preset("AlexNet in 8 bits", {"bits": 8}),
            Preset("AlexNet, first and last in 8 bits, the rest in 4", {"bits": 4, "mixed": True}),
            Preset("AlexNet, fc6 alone in 4 bits", {"bits": 8, "layer": 6, "layer_bits": 4}),
            Preset(
                "AlexNet, convolutions in 8 bits, linear layers in 4, fc7 in 2", {"bits": 8, "widths": "fc*=4 fc7=2"}
            ),
            Preset("AlexNet at 256 pixels: fc6 grows", {"resolution": 256}),
            Preset("AlexNet at 256 pixels, averaged before fc6", {"resolution": 256, "pool": True}),
            Preset("Deep Compression of AlexNet: pruned", {"step": 1}),
            Preset("Deep Compression of AlexNet: Huffman coded", {"step": 3}),
            Preset("ResNet-50: no resolution adds to it", {"network": "resnet50", "resolution": 448}),
        ),
    )


def _controls() -> Iterator[Control]:
    yield network_choice("alexnet", _NETWORKS)
    yield Number(
        "bits", "bit width", 32, 1, 64, 32, unit="bits", meaning="Of every weight; biases and normalisation stay at 32."
    )
    yield Switch("mixed", "mixed precision", False, "Whether the first and the last layer have widths of their own.")
    yield Number("first_bits", "width of the first layer", 8, 1, 64, 32, unit="bits")
    yield Number("last_bits", "width of the last layer", 8, 1, 64, 32, unit="bits")
    meaning = "One layer of those that have weights, in a width of its own: 0 is none, and beyond the last one it is the last."
    yield Number("layer", "a layer by itself", 0, 0, _MOST_LAYERS, meaning=meaning)
    yield Number("layer_bits", "width of that layer", 4, 1, 64, 32, unit="bits")
    meaning = (
        "Layers by name, or patterns of names, as weigh takes them with --weight-bits: conv2=4 fc*=2. The later holds."
    )
    yield Words("widths", "widths of single layers", meaning=meaning)
    yield Number(
        "resolution", "resolution", 224, 64, 2048, 512, unit="pixels", meaning="Height and width of the image."
    )
    yield Switch("pool", "global average pooling", False, "Whether the last map is averaged in place of flattened.")
    meaning = "0 is none: then pruned, shared, Huffman coded, by the published ratios of AlexNet. It begins at 32 bits."
    yield Number("step", "Deep Compression, step", 0, 0, deep_compression.LAST, meaning=meaning, plays=True)


def _answer(state: State) -> Answer:
    name, resolution, pooled = str(state["network"]), int(state["resolution"]), bool(state["pool"])
    graph = _changed(name, resolution, pooled)
    report, widths = _weighed(name, resolution, pooled, _rules(state, graph))
    layers = tuple(_Layer(one, widths.get(one.name, UNKNOWN)) for one in report.nodes if one.weights)
    readouts = [*_stored(report), *_by_kind(layers, report.facts.weights), *_first_linear(layers)]
    plots, tables = [_bars(layers)], [_table(layers, report.facts.weights)]
    notes = list(report.notes)
    if name == _PLANNED:
        steps, step = _steps(resolution, pooled), int(state["step"])
        readouts += deep_compression.readouts(steps, step)
        if step:
            plots.append(deep_compression.chart(steps, step))
            tables.append(deep_compression.grid(steps, step))
            notes += steps[step].found.notes
    return Answer(
        tuple(readouts),
        tuple(_sentences(layers, report.facts.weights)),
        tuple(plots),
        tuple(tables),
        unused=tuple(_unused(state)),
        notes=tuple(notes),
    )


def _unused(state: State) -> Iterator[str]:
    if not state["mixed"]:
        yield from ("first_bits", "last_bits")
    if not state["layer"]:
        yield "layer_bits"
    if state["network"] != _PLANNED:
        yield "step"


class _Layer(NamedTuple):
    """A layer that has weights, and the bits of each."""

    facts: NodeFacts
    bits: str

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def weights(self) -> int:
        return self.facts.weights or 0

    @property
    def bytes_shown(self) -> str:
        return UNKNOWN if self.facts.weight_bytes is None else exact(self.facts.weight_bytes)


def _rules(state: State, graph: Graph) -> tuple[str, ...]:
    """The widths as ``weigh`` takes them; the one by itself, and what is written, override the others."""
    rules = [f"rest={state['bits']}"]
    if state["mixed"]:
        rules += [f"first={state['first_bits']}", f"last={state['last_bits']}"]
    if state["layer"]:
        layers = targets_of(graph).layers
        rules.append(f"{layers[min(int(state['layer']), len(layers)) - 1].name}={state['layer_bits']}")
    return (*rules, *(one.rstrip(",;") for one in str(state["widths"]).split()))


@lru_cache(maxsize=32)
def _changed(name: str, resolution: int, pooled: bool) -> Graph:
    """The network at a resolution.  Raises ``BadSpec`` at the switch where no map is flattened that could be averaged."""
    graph = graph_of(f"{name}:resolution={resolution}")
    if not pooled:
        return graph
    try:
        return applied(graph, changes_of("global-pool"))
    except BadSpec as error:
        raise BadSpec(error.what, where="pool", hint=error.hint) from None


@lru_cache(maxsize=32)
def _weighed(name: str, resolution: int, pooled: bool, rules: tuple[str, ...]) -> tuple[Report, Mapping[str, str]]:
    """The report, and the bits of each layer's weights by its name.  Raises ``BadSpec`` at the text for rules that do not hold."""
    graph = _changed(name, resolution, pooled)
    try:
        held = set_bits(graph, bit_rules(rules))
    except BadSpec as error:
        raise BadSpec(error.what, where="widths", hint=error.hint or "write conv2=4 fc6=2") from None
    widths = {
        layer.name: " and ".join(sorted({_bits(held.tensors[one]) for one in layer.weights}))
        for layer in targets_of(held).layers
    }
    return weigh(graph, weight_bits=rules), widths


def _bits(tensor: Tensor) -> str:
    return UNKNOWN if tensor.dtype.bits is None else in_full(Fraction(tensor.dtype.bits))


@lru_cache(maxsize=4)
def _steps(resolution: int, pooled: bool) -> tuple[deep_compression.Step, ...]:
    return deep_compression.steps(_changed(_PLANNED, resolution, pooled))


def _stored(report: Report) -> Iterator[Readout]:
    group, facts = "Of the network", report.facts
    yield count("weights", "weights", facts.weights, group, "those that are multiplied")
    yield size("weight_bytes", "weights, in bytes", facts.weight_bytes, group, "each tensor at its own bit width")
    yield count("parameters", "parameters", facts.parameters, group, "biases and normalisation too")
    yield size("parameter_bytes", "parameters, in bytes", facts.parameter_bytes, group, "what a file has to hold")


def _by_kind(layers: tuple[_Layer, ...], weights: int) -> Iterator[Readout]:
    group = "Where the weights are"
    for kind, title in _KINDS.items():
        held = sum(one.weights for one in layers if one.facts.operator == kind)
        yield count(f"{kind}_weights", title, held, group, _share(held, weights))
    most = max(layers, key=lambda one: one.weights)
    yield words("largest_layer", "most in", most.name, group, _share(most.weights, weights))


def _first_linear(layers: tuple[_Layer, ...]) -> Iterator[Readout]:
    first = next((one for one in layers if one.facts.operator == "linear"), None)
    if first is None:
        return
    group = "The first linear layer"
    yield words("first_linear", "layer", first.name, group)
    yield count("first_linear_inputs", "values that go in", first.facts.loops[0].k, group)
    yield count("first_linear_weights", "weights", first.weights, group)


def _share(part: int, whole: int) -> str:
    return f"{significant(float(Fraction(100 * part, whole)))} % of the weights" if whole else ""


def _sentences(layers: tuple[_Layer, ...], weights: int) -> Iterator[str]:
    most = max(layers, key=lambda one: one.weights)
    yield f"{most.name} holds {exact(most.weights)} of {exact(weights)} weights"
    first = next((one for one in layers if one.facts.operator == "linear"), None)
    if first is not None:
        yield f"{first.name}, the first linear layer, takes {exact(first.facts.loops[0].k)} values"


def _table(layers: tuple[_Layer, ...], weights: int) -> Grid:
    titles = ("layer", "weights", "bits each", "bytes", "% of the weights")
    columns = tuple(Column(title, is_number=place > 0) for place, title in enumerate(titles))
    rows = tuple(
        GridRow(
            (
                one.name,
                exact(one.weights),
                one.bits,
                one.bytes_shown,
                significant(float(Fraction(100 * one.weights, weights))),
            )
        )
        for one in layers
    )
    return Grid("Layer by layer", columns, rows)


def _bars(layers: tuple[_Layer, ...]) -> Plot:
    rows: tuple[Mapping[str, Figure], ...] = tuple(
        {
            "layer": one.name,
            "kind": _KINDS.get(one.facts.operator, one.facts.operator),
            "weights": one.weights,
            "bits": one.bits,
            "weight_bytes": one.facts.weight_bytes,
        }
        for one in layers
    )
    most = max(layers, key=lambda one: one.weights)
    shown = UNKNOWN if most.facts.weight_bytes is None else sized(most.facts.weight_bytes)
    return Plot(
        "layers", "Bytes of weights by layer", _BARS, rows, f"a bar a layer; the longest is {most.name} with {shown}"
    )


_BARS: Final[Mapping[str, Any]] = {
    "data": {"name": "layers"},
    "width": 560,
    "height": {"step": 16},
    "mark": {"type": "bar"},
    "encoding": {
        "y": {"field": "layer", "type": "nominal", "sort": None, "title": None},
        "x": {"field": "weight_bytes", "type": "quantitative", "title": "bytes of weights", "axis": {"format": "~s"}},
        "color": {
            "field": "kind",
            "type": "nominal",
            "scale": {"domain": list(_KINDS.values()), "range": list(PALETTE[:2])},
            "legend": {"title": None, "orient": "bottom"},
        },
        "tooltip": [
            {"field": "layer", "type": "nominal"},
            {"field": "weights", "type": "quantitative", "format": ","},
            {"field": "bits", "type": "nominal", "title": "bits each"},
            {"field": "weight_bytes", "type": "quantitative", "title": "B", "format": ","},
        ],
    },
}
