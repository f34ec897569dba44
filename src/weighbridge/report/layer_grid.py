"""The layers that differ, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weighbridge.counts import NetworkFacts
from weighbridge.errors import printable
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.layers import FIGURES, OF, LayerChange, LayerFigures
from weighbridge.report.spans import ARROW
from weighbridge.units import exact

__all__ = ["ROWS", "layer_grid"]

ROWS: Final = 12
"""Of a table that does not show all layers."""
_UNKNOWN: Final = "?"
_PAIRS: Final = tuple((name, words) for name, words in FIGURES.items() if name != "nonzero_weights")
"""Figures of layers with a column of both sides; of weights that are not zero there is one of what is."""


def layer_grid(title: str, layers: Sequence[LayerChange], whole: NetworkFacts, most: int | None) -> Grid:
    """The layers that differ; of more than ``most`` those that differ most in the figures of ``whole``, in their order.

    ``title`` stands before their number.
    """
    changed = layers
    if most is not None and len(layers) > most:
        weight = [_difference(layer, whole) for layer in layers]
        largest = sorted(range(len(layers)), key=lambda place: -weight[place])[:most]
        changed = [layers[place] for place in sorted(largest)]
    pairs = [(name, title) for name, title in _PAIRS if _differs(layers, name)]
    zeros = any(_has_zeros(layer.after) for layer in layers)
    rows = tuple(_layer_row(layer, [name for name, _ in pairs], zeros) for layer in changed)
    of = "" if len(changed) == len(layers) else f", the {len(changed)} that differ most"
    columns = (
        Column("layer"),
        Column("", rank=1),
        Column("operator", rank=3),
        *(Column(title, is_number=True) for _, title in pairs),
        *([Column("not zero", is_number=True)] if zeros else []),
        Column("output", rank=2),
    )
    notes = ("--all shows every layer, and the JSON has them",) if of else ()
    return Grid(f"{title}: {len(layers):,}{of}", columns, rows, notes)


def _differs(layers: Sequence[LayerChange], name: str) -> bool:
    """Whether a figure of layers has something to say: bytes alone where what they are of is as it was."""
    of = OF.get(name)
    if of is None:
        return any(getattr(one.before, name, None) != getattr(one.after, name, None) for one in layers)
    both = [(one.before, one.after) for one in layers if one.before is not None and one.after is not None]
    return any(getattr(a, name) != getattr(b, name) and getattr(a, of) == getattr(b, of) for a, b in both)


def _difference(layer: LayerChange, whole: NetworkFacts) -> float:
    """How much of the network's weights, in bytes and not zero, and of its MACs a layer gained or lost."""
    figures = (("weight_bytes", whole.weight_bytes), ("nonzero_weights", whole.weights), ("macs", whole.macs))
    return sum(abs(_figure(layer.before, name) - _figure(layer.after, name)) / of for name, of in figures if of)


def _figure(side: LayerFigures | None, name: str) -> int:
    """A figure of a layer; 0 where there is no such layer or nobody knows it."""
    return 0 if side is None else getattr(side, name) or 0


def _layer_row(layer: LayerChange, names: Sequence[str], zeros: bool) -> GridRow:
    old, new = layer.before, layer.after
    return GridRow(
        (
            printable(layer.name if layer.before_name is None else f"{layer.before_name}{ARROW}{layer.name}"),
            "new" if old is None else "gone" if new is None else "",
            printable(_change(old, new, "operator")),
            *(_change(old, new, name) for name in names),
            *([_change(None, new, "nonzero_weights") if _has_zeros(new) else ""] if zeros else []),
            _change(old, new, "output"),
        )
    )


def _change(old: LayerFigures | None, new: LayerFigures | None, name: str) -> str:
    """``before -> after``, or the one of them that there is or that both are."""
    sides = [_shown(getattr(side, name)) for side in (old, new) if side is not None]
    return ARROW.join(dict.fromkeys(sides))


def _shown(value: int | str | tuple[int, ...] | None) -> str:
    if value is None:
        return _UNKNOWN
    if isinstance(value, tuple):
        return "x".join(map(str, value)) or "scalar"
    return value if isinstance(value, str) else exact(value)


def _has_zeros(side: LayerFigures | None) -> bool:
    return side is not None and side.nonzero_weights != side.weights
