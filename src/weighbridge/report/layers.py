"""The layers of a network as a comparison has them, and those that differ where names are sure to be the same."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from weighbridge.counts import NodeFacts
from weighbridge.graph import Shape
from weighbridge.named_tuple import NamedTuple

__all__ = [
    "FIGURES",
    "NAME",
    "OF",
    "Layer",
    "LayerChange",
    "LayerFigures",
    "layer_changes",
    "layers_of",
    "lengths",
    "plain_operator",
]

NAME: Final = "name"
"""How two layers were matched that have one name."""
FIGURES: Final[Mapping[str, str]] = {
    "weights": "weights",
    "nonzero_weights": "weights that are not zero",
    "weight_bytes": "bytes of weights",
    "macs": "MACs",
    "output_bytes": "bytes of output",
}
"""The numbers of a layer, and what they are called."""
OF: Final[Mapping[str, str]] = {"nonzero_weights": "weights", "weight_bytes": "weights", "output_bytes": "output"}
"""What these are of: a change of them says something where that is as it was."""
_FUSED: Final = " + "
"""Stands before each function that is fused into an operator."""


class LayerFigures(NamedTuple):
    """A layer on one side; None is unknown."""

    operator: str
    output: Shape | None
    weights: int | None
    nonzero_weights: int | None
    weight_bytes: int | None
    macs: int | None
    output_bytes: int | None


class LayerChange(NamedTuple):
    """A layer that differs; ``before`` is None of one that is new, ``after`` of one that is gone.

    ``name`` is that after, or of what is gone that before; ``before_name`` what it was called before, where that was something else.
    ``matched_by`` says what shows that the two are one layer: ``name``, ``shape`` or ``position``; None where there are no two.
    """

    name: str
    before: LayerFigures | None
    after: LayerFigures | None
    before_name: str | None = None
    matched_by: str | None = None


class Layer(NamedTuple):
    """A layer by its name, and what it is."""

    name: str
    figures: LayerFigures


def layers_of(nodes: Iterable[NodeFacts]) -> tuple[Layer, ...]:
    """The layers of a report, in the order in which they run; behind the operator stand the functions fused into it."""
    return tuple(
        Layer(
            node.name,
            LayerFigures(
                _FUSED.join((node.operator, *node.fused)),
                node.output,
                node.weights,
                node.nonzero_weights,
                node.weight_bytes,
                node.macs,
                node.output_bytes,
            ),
        )
        for node in nodes
    )


def plain_operator(figures: LayerFigures) -> str:
    """The operator, without what is fused into it."""
    return figures.operator.partition(_FUSED)[0]


def lengths(figures: LayerFigures) -> tuple[int, ...] | None:
    """The lengths of the output without their order, as channels may come first or last; None where the output is unknown."""
    return None if figures.output is None else tuple(sorted(figures.output))


def layer_changes(before: Sequence[NodeFacts], after: Sequence[NodeFacts]) -> tuple[LayerChange, ...]:
    """The layers whose figures differ, by name, in the order in which they run; what is gone stands where it was, and its parts
    behind it.
    """
    old, new = dict(layers_of(before)), dict(layers_of(after))
    parts = _parts(new, old.keys() - new.keys())
    names: list[str] = []
    places = iter(new)
    for name in old:
        if name in new:
            for other in places:
                names.append(other)
                if other == name:
                    break
        else:
            names += (name, *parts[name])
    names += places
    return tuple(
        LayerChange(name, old.get(name), new.get(name), None, NAME if name in old and name in new else None)
        for name in dict.fromkeys(names)
        if old.get(name) != new.get(name)
    )


def _parts(names: Iterable[str], gone: Collection[str]) -> Mapping[str, list[str]]:
    """Of each layer that is gone the names that begin with its own and a dot, in their order."""
    places = {name: place for place, name in enumerate(names)}
    ordered = sorted(places)  # where they stand together, in front of what goes on with the character behind the dot
    return {
        name: sorted(
            ordered[bisect_left(ordered, f"{name}.") : bisect_left(ordered, f"{name}/")], key=places.__getitem__
        )
        for name in gone
    }
