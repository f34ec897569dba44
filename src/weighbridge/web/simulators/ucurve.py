"""The U-curve: over the depth of a network activations fall and weights grow, and training holds both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, Final

from weighbridge.choices import training_asked
from weighbridge.counts import NodeFacts
from weighbridge.memory.training.plan import plan_training
from weighbridge.memory.training.records import TrainingLayer
from weighbridge.memory.training.request import PAPER
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.charts.theme import PALETTE
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.headlines import lower_bound
from weighbridge.units import exact, significant
from weighbridge.web.controls import Control, Number, State, Switch
from weighbridge.web.figures import UNKNOWN, count, size, sized, words
from weighbridge.web.networks import graph_of, network_choice, weighed
from weighbridge.web.simulator import Answer, Figure, Plot, Preset, Readout, Simulator

__all__ = ["ucurve"]

_BITS: Final = 32
_MOST_LAYERS: Final = 55
"""Of all textbook networks, in MCUNet-in3: those that have weights."""


def ucurve() -> Simulator:
    """The simulator; its presets are AlexNet's first and third convolution, and networks with stages."""
    return Simulator(
        "ucurve",
        "The U-curve",
        "Where in a network are the activations, and where are the weights?",
        "Maps are large at the front and get smaller by stages; channels are few at the front and get more, so weights grow. A layer "
        "that is trained holds its input, its weights and their gradient: together a U over the depth, which "
        "the preset of ResNet-50 shows.",
        tuple(_controls()),
        _answer,
        (
            Preset("AlexNet at conv1: more outputs than weights", {"network": "alexnet", "layer": 1}),
            Preset("AlexNet at conv3: more weights than outputs", {"network": "alexnet", "layer": 3}),
            Preset("ResNet-18 by stages", {"network": "resnet18", "layer": 5}),
            Preset("the U of ResNet-50, in a batch of 8", {"network": "resnet50", "layer": 20, "batch": 8}),
        ),
    )


def _controls() -> Iterator[Control]:
    yield network_choice("alexnet")
    meaning = "Of those that have weights; beyond the last one the last is shown."
    yield Number("layer", "layer", 1, 1, _MOST_LAYERS, meaning=meaning)
    yield Number("batch", "batch", 1, 1, 65_536, 64, meaning="Inputs at once: it multiplies the activations alone.")
    yield Switch("log", "logarithmic axis", True, "Whether the first chart rises by powers of ten.")


class _Layer(NamedTuple):
    """A layer with weights, of one input and in ``batch`` of them, as it runs and as it is trained."""

    facts: NodeFacts
    training: TrainingLayer

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def output_values(self) -> int | None:
        return None if self.facts.output is None else prod(self.facts.output)

    @property
    def outputs_per_weight(self) -> Fraction | None:
        values, weights = self.output_values, self.facts.weights
        return None if values is None or not weights else Fraction(values, weights)


@lru_cache(maxsize=32)
def _layers(network: str, batch: int) -> tuple[_Layer, ...]:
    """The layers with weights in the order in which they run."""
    asked = training_asked({"optimiser": "sgd", "rule": PAPER})
    assert asked is not None
    trained = {one.name: one for one in plan_training(graph_of(network, batch), asked).layers}
    return tuple(_Layer(one, trained[one.name]) for one in weighed(network, _BITS, batch=batch).nodes if one.weights)


def _answer(state: State) -> Answer:
    layers = _layers(str(state["network"]), int(state["batch"]))
    place = min(int(state["layer"]), len(layers)) - 1
    is_log = bool(state["log"])
    return Answer(
        (*_here(layers, place), *_whole(layers)),
        tuple(_sentences(layers, place)),
        (_sides(layers, place, is_log=is_log), _trained(layers, place)),
        (_table(layers),),
        notes=tuple(_notes(layers)),
    )


def _here(layers: tuple[_Layer, ...], place: int) -> Iterator[Readout]:
    one, group = layers[place], "This layer"
    trained = one.training
    yield words("name", "layer", one.name, group, f"{one.facts.operator}, {place + 1} of {len(layers)} with weights")
    yield count("output_values", "values that come out", one.output_values, group)
    yield count("weights", "weights", one.facts.weights, group)
    ratio = one.outputs_per_weight
    shown = UNKNOWN if ratio is None else significant(float(ratio))
    yield Readout("outputs_per_weight", "outputs to weights", None if ratio is None else float(ratio), shown, "", group)
    group = "This layer, trained"
    saved = lower_bound(sized(trained.saved_bytes), trained.exact)
    yield Readout("saved_bytes", "input kept", trained.saved_bytes, saved, "until the backward pass comes by", group)
    yield size("parameter_bytes", "parameters", trained.parameter_bytes, group, "weights and biases")
    yield size("gradient_bytes", "gradients", trained.gradient_bytes, group)
    together = lower_bound(sized(trained.training_bytes), trained.exact)
    yield Readout("training_bytes", "together", trained.training_bytes, together, "", group)


def _whole(layers: tuple[_Layer, ...]) -> Iterator[Readout]:
    group = "Of all layers"
    most = {
        "most_outputs": ("most outputs", max(layers, key=lambda one: one.output_values or 0)),
        "most_weights": ("most weights", max(layers, key=lambda one: one.facts.weights or 0)),
        "most_training": ("most to train", max(layers, key=lambda one: one.training.training_bytes)),
        "least_training": ("least to train", min(layers, key=lambda one: one.training.training_bytes)),
    }
    for name, (label, one) in most.items():
        yield words(name, label, one.name, group)
    more = sum(one.outputs_per_weight is not None and one.outputs_per_weight > 1 for one in layers)
    yield count("more_outputs", "more outputs than weights", more, group, f"of {len(layers)} layers")


def _sentences(layers: tuple[_Layer, ...], place: int) -> Iterator[str]:
    one = layers[place]
    ratio = one.outputs_per_weight
    if ratio is None:
        yield f"how many values come out of {one.name} is unknown"
    elif ratio >= 1:
        yield f"{one.name} has {significant(float(ratio))} times more outputs than weights"
    else:
        yield f"{one.name} has {significant(float(1 / ratio))} times more weights than outputs"


def _notes(layers: tuple[_Layer, ...]) -> Iterator[str]:
    yield f"activations and weights in {_BITS} bits; a trained layer by the rule {PAPER!r}, without states of an optimiser"
    if any(not one.training.exact for one in layers):
        yield "what some layers keep is a lower bound"


def _table(layers: tuple[_Layer, ...]) -> Grid:
    titles = ("layer", "outputs", "weights", "outputs to weights", "to train, B")
    columns = tuple(Column(title, is_number=place > 0) for place, title in enumerate(titles))
    return Grid("Layer by layer", columns, tuple(GridRow(_cells(one)) for one in layers))


def _cells(one: _Layer) -> tuple[str, ...]:
    values, ratio = one.output_values, one.outputs_per_weight
    return (
        one.name,
        UNKNOWN if values is None else exact(values),
        exact(one.facts.weights or 0),
        UNKNOWN if ratio is None else significant(float(ratio)),
        lower_bound(exact(one.training.training_bytes), one.training.exact),
    )


def _sides(layers: tuple[_Layer, ...], place: int, *, is_log: bool) -> Plot:
    """Activations and weights of every layer side by side."""
    rows: list[Mapping[str, Figure]] = []
    for number, one in enumerate(layers, 1):
        for part, value in (("activations", one.facts.output_bytes), ("weights", one.facts.weight_bytes)):
            is_here = number == place + 1
            rows.append({"layer": number, "name": one.name, "part": part, "bytes": value, "here": is_here})
    outputs = max(layers, key=lambda one: one.output_values or 0)
    weights = max(layers, key=lambda one: one.facts.weights or 0)
    said = f"two bars a layer; most activations come out of {outputs.name}, most weights are in {weights.name}"
    return Plot("sides", "Activations and weights by layer", _sides_spec(is_log=is_log), tuple(rows), said)


def _trained(layers: tuple[_Layer, ...], place: int) -> Plot:
    """What each layer takes to train, stacked."""
    rows: list[Mapping[str, Figure]] = []
    for number, one in enumerate(layers, 1):
        begin = 0
        for part, value in zip(_PARTS, _parts(one.training), strict=True):
            span: Mapping[str, Figure] = {"bytes": value, "begin": begin, "end": begin + value}
            together = one.training.training_bytes
            is_here = number == place + 1
            rows.append(
                {"layer": number, "name": one.name, "part": part, **span, "together": together, "here": is_here}
            )
            begin += value
    least, most = (pick(layers, key=lambda one: one.training.training_bytes).name for pick in (min, max))
    said = f"a bar a layer; {most} takes most to train, {least} least"
    return Plot("trained", "Bytes to train a layer", _TRAINED, tuple(rows), said)


_PARTS: Final = ("input kept", "parameters", "gradients")


def _parts(one: TrainingLayer) -> tuple[int, int, int]:
    return one.saved_bytes, one.parameter_bytes, one.gradient_bytes


def _bytes_axis(field: str, *, is_log: bool) -> dict[str, Any]:
    scale = {"type": "log", "domainMin": 1} if is_log else {}
    return {
        "field": field,
        "type": "quantitative",
        "title": "bytes",
        "axis": {"format": "~s", "tickCount": 6},
        "scale": scale,
    }


_HERE: Final = {"condition": {"test": "datum.here", "value": 1}, "value": 0.6}
_LAYER_AXIS: Final = {"field": "layer", "type": "ordinal", "title": "layer with weights", "axis": {"labelAngle": 0}}


def _sides_spec(*, is_log: bool) -> Mapping[str, Any]:
    return {
        "data": {"name": "sides"},
        "width": 700,
        "height": 220,
        "mark": {"type": "bar"},
        "encoding": {
            "x": _LAYER_AXIS,
            "xOffset": {"field": "part", "type": "nominal"},
            "y": _bytes_axis("bytes", is_log=is_log),
            **({"y2": {"datum": 1}} if is_log else {}),
            "color": _colours("activations", "weights"),
            "opacity": _HERE,
            "tooltip": [
                {"field": "name", "type": "nominal", "title": "layer"},
                {"field": "part", "type": "nominal"},
                {"field": "bytes", "type": "quantitative", "title": "B", "format": ","},
            ],
        },
    }


def _colours(*parts: str) -> dict[str, Any]:
    return {
        "field": "part",
        "type": "nominal",
        "scale": {"domain": list(parts), "range": list(PALETTE[: len(parts)])},
        "legend": {"title": None, "orient": "bottom"},
    }


_TRAINED: Final[Mapping[str, Any]] = {
    "data": {"name": "trained"},
    "width": 700,
    "height": 220,
    "mark": {"type": "bar"},
    "encoding": {
        "x": _LAYER_AXIS,
        "y": _bytes_axis("end", is_log=False),
        "y2": {"field": "begin"},
        "color": _colours(*_PARTS),
        "opacity": _HERE,
        "tooltip": [
            {"field": "name", "type": "nominal", "title": "layer"},
            {"field": "part", "type": "nominal"},
            {"field": "bytes", "type": "quantitative", "title": "B", "format": ","},
            {"field": "together", "type": "quantitative", "title": "together (B)", "format": ","},
        ],
    },
}
