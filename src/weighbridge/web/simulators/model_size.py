"""Model size: weights times their bit widths, which layers hold them, and which of them a larger image adds to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from weighbridge.api import weigh
from weighbridge.compressing import compress
from weighbridge.compression import Compression
from weighbridge.counts import NodeFacts
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.passes.what_if.applied import applied
from weighbridge.passes.what_if.language import changes_of
from weighbridge.report.charts.theme import PALETTE
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.headlines import lower_bound
from weighbridge.report.record import Report
from weighbridge.units import as_number, exact, in_full, significant
from weighbridge.web.controls import Control, Number, State, Switch
from weighbridge.web.figures import UNKNOWN, count, size, sized, words
from weighbridge.web.networks import graph_of, network_choice
from weighbridge.web.simulator import Answer, Figure, Plot, Preset, Readout, Simulator

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
_PLAN: Final = "deep-compression"
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
            Preset("AlexNet at 256 pixels: fc6 grows", {"resolution": 256}),
            Preset("AlexNet at 256 pixels, averaged before fc6", {"resolution": 256, "pool": True}),
            Preset("AlexNet after Deep Compression", {"compressed": True}),
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
    yield Number(
        "resolution", "resolution", 224, 64, 2048, 512, unit="pixels", meaning="Height and width of the image."
    )
    yield Switch("pool", "global average pooling", False, "Whether the last map is averaged in place of flattened.")
    meaning = "Whether to add what the published ratios of Deep Compression leave of it; it begins at 32 bits."
    yield Switch("compressed", "Deep Compression (AlexNet)", False, meaning)


def _answer(state: State) -> Answer:
    name, resolution, pooled = str(state["network"]), int(state["resolution"]), bool(state["pool"])
    report = _weighed(name, resolution, pooled, _widths(state))
    layers = tuple(one for one in report.nodes if one.weights)
    unused = [] if state["mixed"] else ["first_bits", "last_bits"]
    readouts = [*_stored(report), *_by_kind(layers, report.facts.weights), *_first_linear(layers)]
    notes = list(report.notes)
    if name != _PLANNED:
        unused.append("compressed")
    elif state["compressed"]:
        found = _compressed(resolution, pooled)
        readouts += [*_steps(found), *_as_published(found)]
        notes += found.notes
    return Answer(
        tuple(readouts),
        tuple(_sentences(layers, report.facts.weights)),
        (_bars(layers),),
        (_table(layers, report.facts.weights),),
        unused=tuple(unused),
        notes=tuple(notes),
    )


def _widths(state: State) -> tuple[str, ...]:
    rest = f"rest={state['bits']}"
    return (rest, f"first={state['first_bits']}", f"last={state['last_bits']}") if state["mixed"] else (rest,)


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
def _weighed(name: str, resolution: int, pooled: bool, widths: tuple[str, ...]) -> Report:
    return weigh(_changed(name, resolution, pooled), weight_bits=widths)


@lru_cache(maxsize=4)
def _compressed(resolution: int, pooled: bool) -> Compression:
    return compress(_changed(_PLANNED, resolution, pooled), plan=_PLAN)


def _stored(report: Report) -> Iterator[Readout]:
    group, facts = "Of the network", report.facts
    yield count("weights", "weights", facts.weights, group, "those that are multiplied")
    yield size("weight_bytes", "weights, in bytes", facts.weight_bytes, group, "each tensor at its own bit width")
    yield count("parameters", "parameters", facts.parameters, group, "biases and normalisation too")
    yield size("parameter_bytes", "parameters, in bytes", facts.parameter_bytes, group, "what a file has to hold")


def _by_kind(layers: tuple[NodeFacts, ...], weights: int) -> Iterator[Readout]:
    group = "Where the weights are"
    for kind, title in _KINDS.items():
        held = sum(one.weights or 0 for one in layers if one.operator == kind)
        yield count(f"{kind}_weights", title, held, group, _share(held, weights))
    most = max(layers, key=lambda one: one.weights or 0)
    yield words("largest_layer", "most in", most.name, group, _share(most.weights or 0, weights))


def _first_linear(layers: tuple[NodeFacts, ...]) -> Iterator[Readout]:
    first = next((one for one in layers if one.operator == "linear"), None)
    if first is None:
        return
    group = "The first linear layer"
    yield words("first_linear", "layer", first.name, group)
    yield count("first_linear_inputs", "values that go in", first.loops[0].k, group)
    yield count("first_linear_weights", "weights", first.weights, group)


def _steps(found: Compression) -> Iterator[Readout]:
    group, total = "Deep Compression, by its published ratios", found.total
    yield size("dense_bytes", "dense", total.dense_bytes, group, "32 bits a weight, biases too")
    kept = Fraction(total.kept)
    shown = exact(round(kept)) if kept.denominator != 1 else in_full(kept)
    yield Readout("kept", "weights kept", as_number(kept), shown, f"pruned {_times(total.pruned_ratio)}", group)
    for name, label, value, ratio in (
        ("before_huffman_bytes", "pruned and shared", total.before_huffman_bytes, total.before_huffman_ratio),
        ("bytes", "and Huffman coded", total.bytes, total.ratio),
    ):
        smaller = f"{'' if total.exact else 'at most '}{_times(ratio)} smaller"
        yield Readout(name, label, value, lower_bound(sized(value), total.exact), smaller, group)
    if total.bytes_with_expected_fillers is not None and not total.exact:
        said = "an estimate: fillers of positions that are independent of each other"
        expected = total.bytes_with_expected_fillers
        yield size("bytes_with_expected_fillers", "with expected fillers", expected, group, said)


def _as_published(found: Compression) -> Iterator[Readout]:
    published = found.compared_total.published if found.compared_total else None
    if published is not None and published.compressed_mb is not None:
        shown = f"{in_full(published.compressed_mb)} MB"
        group, megabytes = "Deep Compression, as published", float(published.compressed_mb)
        yield Readout("published_mb", "Huffman coded", megabytes, shown, published.source, group)


def _times(ratio: Fraction | None) -> str:
    return UNKNOWN if ratio is None else f"{significant(float(ratio))} times"


def _share(part: int, whole: int) -> str:
    return f"{significant(float(Fraction(100 * part, whole)))} % of the weights" if whole else ""


def _sentences(layers: tuple[NodeFacts, ...], weights: int) -> Iterator[str]:
    most = max(layers, key=lambda one: one.weights or 0)
    yield f"{most.name} holds {exact(most.weights or 0)} of {exact(weights)} weights"
    first = next((one for one in layers if one.operator == "linear"), None)
    if first is not None:
        yield f"{first.name}, the first linear layer, takes {exact(first.loops[0].k)} values"


def _table(layers: tuple[NodeFacts, ...], weights: int) -> Grid:
    titles = ("layer", "weights", "bytes", "% of the weights")
    columns = tuple(Column(title, is_number=place > 0) for place, title in enumerate(titles))
    rows = tuple(
        GridRow(
            (
                one.name,
                exact(one.weights or 0),
                UNKNOWN if one.weight_bytes is None else exact(one.weight_bytes),
                significant(float(Fraction(100 * (one.weights or 0), weights))),
            )
        )
        for one in layers
    )
    return Grid("Layer by layer", columns, rows)


def _bars(layers: tuple[NodeFacts, ...]) -> Plot:
    rows: tuple[Mapping[str, Figure], ...] = tuple(
        {
            "layer": one.name,
            "kind": _KINDS.get(one.operator, one.operator),
            "weights": one.weights,
            "weight_bytes": one.weight_bytes,
        }
        for one in layers
    )
    most = max(layers, key=lambda one: one.weights or 0)
    shown = UNKNOWN if most.weight_bytes is None else sized(most.weight_bytes)
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
            {"field": "weight_bytes", "type": "quantitative", "title": "B", "format": ","},
        ],
    },
}
