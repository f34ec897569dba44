"""Training: what is kept for the backward pass beside the weights, their gradients and the optimiser's states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Final

from weighbridge.api import load
from weighbridge.choices import training_asked
from weighbridge.errors import BadSpec
from weighbridge.memory.training.optimisers import OPTIMISERS
from weighbridge.memory.training.plan import plan_training
from weighbridge.memory.training.records import TrainingLayer, TrainingPlan
from weighbridge.memory.training.request import PAPER
from weighbridge.operators.record import Keeps
from weighbridge.operators.table import OPERATORS
from weighbridge.report.charts.theme import PALETTE
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.headlines import lower_bound
from weighbridge.units import exact, in_full, significant, stated
from weighbridge.web.controls import Choice, Control, Number, State, Switch
from weighbridge.web.demands import device, device_choices
from weighbridge.web.figures import UNKNOWN, count, size, sized, words
from weighbridge.web.simulator import Answer, Figure, Plot, Preset, Readout, Simulator
from weighbridge.web.simulators.training_curve import LARGEST_BATCH, Curve, chart, curve, notes, readouts, sentences

__all__ = ["training"]

_NETWORKS: Final = (
    "alexnet",
    "lenet5",
    "mcunet_in4",
    "mlp",
    "mobilenet_v1",
    "mobilenet_v2",
    "resnet18",
    "resnet34",
    "resnet50",
    "squeezenet",
    "vgg16",
)
_WITH_WIDTH: Final = ("mobilenet_v1", "mobilenet_v2")
_NO_DEVICE: Final = "none"
_PLANS: Final = 128
"""Plans that are kept: a curve looks for the batches at which it crosses something."""
_ALL, _BIASES, _LAST = "all", "biases", "last"
_UPDATES: Final = {_ALL: "all parameters", _BIASES: "biases only", _LAST: "the last layers only"}
_KEPT: Final[Mapping[str, str]] = {
    Keeps.NOTHING: "nothing",
    Keeps.BITS: "a bit a value: which side of the bend",
    Keeps.INPUT: "its input",
    Keeps.OTHERS: "its input: for dW, not for db",
    Keeps.SECOND: "what it divides by",
    Keeps.OPERANDS: "all that it reads",
}
"""What an operator keeps where its weight is trained, by the rule of its record."""


def training() -> Simulator:
    """The simulator; its presets are the source material's two networks, trained whole and by their biases alone."""
    return Simulator(
        "training",
        "Training: weights against activations",
        "What does training hold that inference does not, and which of it grows with the batch?",
        "The gradient of a weight is made of the layer's input, so every input is kept until the backward pass comes by: that grows "
        "with the batch, and the weights do not. The gradient of a bias is the gradient that arrives, summed up: nothing is kept for it.",
        tuple(_controls()),
        _answer,
        (
            Preset("ResNet-50, batch 8", {"network": "resnet50", "batch": 8}),
            Preset("MobileNetV2 in width 1.4, batch 8", {"network": "mobilenet_v2", "width": 1.4, "batch": 8}),
            Preset("ResNet-50, biases only", {"network": "resnet50", "batch": 8, "update": _BIASES}),
            Preset("ResNet-50, the last two layers", {"network": "resnet50", "batch": 8, "update": _LAST, "last": 2}),
            Preset("ResNet-50 on a Jetson Nano: which batch fits", {"network": "resnet50", "on": "jetson-nano"}),
            Preset("AlexNet: from which batch on activations weigh more", {"network": "alexnet", "batch": 64}),
            Preset("AlexNet with Adam: its states outweigh what is kept", {"network": "alexnet", "optimiser": "adam"}),
        ),
    )


def _controls() -> Iterator[Control]:
    yield Choice("network", "network", "resnet50", {name: name for name in _NETWORKS}, "A textbook network.")
    yield Number("width", "width", 1.0, 0.1, 4, 2, step=0.05, meaning="The factor on the channels of a MobileNet.")
    yield Number("batch", "batch", 8, 1, LARGEST_BATCH, 64, meaning="Inputs at once: each is kept by itself.")
    optimisers = {name: f"{one.title}: keeps {one.keeps}" for name, one in OPTIMISERS.items()}
    yield Choice("optimiser", "optimiser", "sgd", optimisers, "What it keeps of each parameter that is trained.")
    yield Choice("update", "what is trained", _ALL, _UPDATES, "All else is frozen.")
    yield Number("last", "last layers", 2, 1, 200, 20, meaning="Of the layers with weights, counted from the end.")
    yield Switch("mixed", "mixed precision", False, "Whether to compute in 16 bits, with a copy of the weights in 32.")
    devices = {_NO_DEVICE: "no device", **device_choices()}
    yield Choice("on", "device", _NO_DEVICE, devices, "Whose memory has to hold what training writes.")


def _answer(state: State) -> Answer:
    asked = (_source(state), str(state["optimiser"]), _update(state), bool(state["mixed"]))
    batch, on = int(state["batch"]), str(state["on"])
    plan, found = _planned(*asked, batch), _curve(*asked, batch, on)
    unused = [] if state["network"] in _WITH_WIDTH else ["width"]
    unused += [] if state["update"] == _LAST else ["last"]
    return Answer(
        (*_activations(plan), *_parameters(plan), *readouts(found)),
        (_sentence(plan), *sentences(found)),
        (_parts(plan), chart(found)),
        (_kinds(plan), _layers(plan)),
        unused=tuple(unused),
        notes=(
            f"by the rule {PAPER!r}: in {'16' if plan.mixed_precision else '32'} bits a value, the graph as written",
            *plan.notes,
            *notes(found),
        ),
    )


def _source(state: State) -> str:
    name = str(state["network"])
    return f"{name}:width={in_full(stated(float(state['width'])))}" if name in _WITH_WIDTH else name


def _update(state: State) -> str:
    return {_ALL: "", _BIASES: _BIASES, _LAST: f"last-{state['last']}"}[str(state["update"])]


@lru_cache(maxsize=32)
def _curve(source: str, optimiser: str, update: str, mixed: bool, batch: int, on: str) -> Curve:
    plan_at = partial(_planned, source, optimiser, update, mixed)
    return curve(batch, plan_at, None if on == _NO_DEVICE else device(on))


@lru_cache(_PLANS)
def _planned(source: str, optimiser: str, update: str, mixed: bool, batch: int) -> TrainingPlan:
    """Raises ``BadSpec`` at the number of layers where the network has fewer."""
    asked = training_asked(
        {"optimiser": optimiser, "rule": PAPER, "update": (update,) if update else (), "mixed_precision": mixed}
    )
    assert asked is not None
    try:
        return plan_training(load(source, batch=batch), asked)
    except BadSpec as error:
        raise BadSpec(error.what, where="last" if update.startswith(_LAST) else "update", hint=error.hint) from None


def _activations(plan: TrainingPlan) -> Iterator[Readout]:
    group = "Activations"
    yield _at_least("saved_bytes", "kept", plan.saved_bytes, plan, group, "until the backward pass comes by")
    yield _at_least(
        "peak_activation_bytes", "kept and in use", plan.peak_activation_bytes, plan, group, "at most, at once"
    )
    yield words("peak_node", "set by", plan.peak_node, group)
    ratio = _ratio(plan)
    shown = UNKNOWN if ratio is None else f"{lower_bound(significant(ratio), plan.exact)} times"
    yield Readout(
        "saved_ratio", "kept, to parameters", ratio, shown, "the bytes of the one over those of the other", group
    )


def _parameters(plan: TrainingPlan) -> Iterator[Readout]:
    group, optimiser = "Parameters", OPTIMISERS[plan.optimiser]
    yield count("trained_parameters", "trained", plan.trained_parameters, group)
    yield size("parameter_bytes", "parameters", plan.parameter_bytes, group, "biases and normalisation too")
    yield size("gradient_bytes", "gradients", plan.gradient_bytes, group, "of those that are trained")
    yield size(
        "optimiser_bytes",
        "optimiser",
        plan.optimiser_bytes,
        group,
        f"{optimiser.title} keeps {optimiser.keeps}",
    )
    yield size("master_bytes", "copy in 32 bits", plan.master_bytes, group, "under mixed precision")
    yield size("buffer_bytes", "statistics", plan.buffer_bytes, group, "running means and variances, and constants")
    group = "Altogether"
    total = plan.total_bytes
    shown = UNKNOWN if total is None else lower_bound(sized(total), plan.exact)
    yield Readout(
        "total_bytes", "training holds", total, shown, "parameters and what goes with them, and the peak", group
    )


def _at_least(name: str, label: str, value: int, plan: TrainingPlan, group: str, meaning: str) -> Readout:
    return Readout(name, label, value, lower_bound(sized(value), plan.exact), meaning, group)


def _ratio(plan: TrainingPlan) -> float | None:
    return float(Fraction(plan.saved_bytes, plan.parameter_bytes)) if plan.parameter_bytes else None


def _sentence(plan: TrainingPlan) -> str:
    ratio = _ratio(plan)
    times = UNKNOWN if ratio is None else significant(ratio)
    least = "" if plan.exact else "at least "
    return f"what is kept for the backward pass is {least}{times} times the bytes of the parameters"


def _kinds(plan: TrainingPlan) -> Grid:
    """What the layers of each operator keep, and why."""
    by_operator: dict[str, list[TrainingLayer]] = {}
    for layer in plan.layers:
        by_operator.setdefault(layer.operator, []).append(layer)
    titles = ("operator", "layers", "kept, B", "gradients, B", "what a layer keeps")
    columns = tuple(Column(title, is_number=0 < place < len(titles) - 1) for place, title in enumerate(titles))
    rows = tuple(
        GridRow(
            (
                operator,
                exact(len(layers)),
                lower_bound(exact(sum(one.saved_bytes for one in layers)), all(one.exact for one in layers)),
                exact(sum(one.gradient_bytes for one in layers)),
                _why(operator, layers),
            )
        )
        for operator, layers in by_operator.items()
    )
    return Grid("What each kind of layer keeps", columns, rows, ("layers that keep and learn nothing have no row",))


def _layers(plan: TrainingPlan) -> Grid:
    """Each layer's own: what it keeps for the gradient of its weight, and what it learns."""
    titles = ("layer", "operator", "kept, B", "gradients, B", "what is kept")
    columns = tuple(Column(title, is_number=1 < place < len(titles) - 1) for place, title in enumerate(titles))
    rows = tuple(
        GridRow(
            (
                one.name,
                one.operator,
                lower_bound(exact(one.saved_bytes), one.exact),
                exact(one.gradient_bytes),
                _why(one.operator, [one]),
            )
        )
        for one in plan.layers
    )
    said = (
        "dW is made of the layer's input and of the gradient that arrives, so the input is kept",
        "db is the sum of the gradient that arrives: nothing is kept for it",
        "an input that two layers read is kept once, at the first of them",
    )
    return Grid("What each layer keeps", columns, rows, said)


def _why(operator: str, layers: list[TrainingLayer]) -> str:
    op = OPERATORS.get(operator)
    if not any(one.saved_bytes for one in layers):
        return "nothing: no dW is asked for"
    return UNKNOWN if op is None else _KEPT[op.kept]


def _parts(plan: TrainingPlan) -> Plot:
    parts = {
        "activations kept": plan.saved_bytes,
        "parameters": plan.parameter_bytes,
        "gradients": plan.gradient_bytes,
        "optimiser": plan.optimiser_bytes,
        "copy in 32 bits": plan.master_bytes,
    }
    rows: tuple[Mapping[str, Figure], ...] = tuple(
        {
            "part": part,
            "bytes": value,
            "kind": "grows with the batch" if place == 0 else "does not",
        }
        for place, (part, value) in enumerate(parts.items())
    )
    said = [f"{part} {UNKNOWN if value is None else sized(value)}" for part, value in parts.items() if value != 0]
    return Plot("parts", "What training holds", _PARTS, rows, "; ".join(said))


_PARTS: Final[Mapping[str, Any]] = {
    "data": {"name": "parts"},
    "width": 600,
    "height": {"step": 30},
    "mark": {"type": "bar"},
    "encoding": {
        "y": {"field": "part", "type": "nominal", "sort": None, "title": None},
        "x": {"field": "bytes", "type": "quantitative", "title": "bytes", "axis": {"format": "~s", "tickCount": 8}},
        "color": {
            "field": "kind",
            "type": "nominal",
            "scale": {"domain": ["grows with the batch", "does not"], "range": list(PALETTE[:2])},
            "legend": {"title": None, "orient": "bottom"},
        },
        "tooltip": [
            {"field": "part", "type": "nominal"},
            {"field": "bytes", "type": "quantitative", "title": "B", "format": ","},
        ],
    },
}
