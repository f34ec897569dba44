"""The charts that there are, by the names that `weighbridge plot` takes.

The modules that draw them are imported where one is drawn: help and completion name all of them and wait for no library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

from weighbridge.report.charts.panel import Kind, NoPanel, Panel, Subject

__all__ = ["KINDS"]


def _drawn_by(name: str) -> Callable[[Subject], Panel | NoPanel]:
    """The function ``name`` of the module of that name in this package."""

    def panel(subject: Subject) -> Panel | NoPanel:
        drawn: Panel | NoPanel = getattr(import_module(f"weighbridge.report.charts.{name}"), name)(subject)
        return drawn

    return panel


KINDS: Final[Mapping[str, Kind]] = {
    "inversion": Kind(
        "Parameters and MACs by layer",
        "Above what each layer stores, below what it computes: where a network is heavy is seldom where it works.",
        _drawn_by("inversion"),
        shared=(),
    ),
    "activations-weights": Kind(
        "Activations and weights by layer",
        "Above the bytes of what comes out of each layer, below those of its weights: the first layers are heavy in the one, "
        "the last in the other.",
        _drawn_by("activations_weights"),
        shared=(),
    ),
    "memory": Kind(
        "Memory over time",
        "The bytes that are alive while each layer runs; the dashed line is the peak, which has to fit.",
        _drawn_by("memory"),
    ),
    "arena": Kind(
        "Arena map",
        "Every buffer at its offset, for the steps at which it is alive, counted from 0. The dashed line is the step of the peak, "
        "and dark are the buffers that are alive there.",
        _drawn_by("arena"),
    ),
    "peaks": Kind(
        "Peak memory by policy",
        "One network, and what different rules of what is alive make of its peak.",
        _drawn_by("peaks"),
        shared=("x",),
    ),
    "training": Kind(
        "Training by layer",
        "What each layer keeps for the backward pass, its parameters and their gradients: activations fall over the depth of a "
        "network and weights grow, so that both ends are heavy. Layers are those of the graph as written, by the rule autograd modules.",
        _drawn_by("training"),
        shared=(),
    ),
    "roofline": Kind(
        "Roofline",
        "To the right a layer computes more with each byte that it moves, upwards it computes faster. No layer is above the "
        "roofs: the slanted one is what memory delivers, the flat one what the units compute. Left of the ridge memory binds, "
        "right of it computing.",
        _drawn_by("roofline"),
        of_device=True,
        shared=("x", "y"),
    ),
    "latency": Kind(
        "Time of each layer",
        "The longer of computing and moving bytes, layer by layer; the colour says which of the two it is.",
        _drawn_by("latency"),
        of_device=True,
    ),
    "throughput": Kind(
        "Throughput against batch",
        "Inferences a second that the floor and the sum over the layers allow: a larger batch reads the weights once for more "
        "inputs, until computing binds.",
        _drawn_by("throughput"),
        of_device=True,
        shared=("x", "y"),
    ),
    "energy": Kind(
        "Energy by component and level",
        "What the arithmetic takes, and what fetching everything once takes from each level of memory. The axis is logarithmic: "
        "each power of ten has the same length.",
        _drawn_by("energy"),
        shared=("x",),
    ),
}
