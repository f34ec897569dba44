"""Drawings of a small layer: its weights as arrows, and as a matrix beside those that it multiplies and makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import atan2, degrees
from typing import Any, Final

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.charts.theme import ACCENT, MUTED, PALETTE
from weighbridge.web.simulator import Figure, Plot

__all__ = ["ARROWS", "FOLLOWED", "NOW", "REST", "Matrix", "arrows", "matrices"]

NOW, FOLLOWED, REST = "now", "followed", "rest"
"""How much a cell or an arrow stands out."""
ARROWS: Final = "arrows"
_COLOURS: Final = {"W": PALETTE[0], "X": PALETTE[1], "Y": ACCENT}
"""Weights, what goes in, what comes out: the same in every drawing."""
_CELL: Final = 26
"""Width and height of a cell, and of the place of a neuron, in pixels."""
_WIDE: Final = 360
_HEAD_AT: Final = 0.86
"""Where on an arrow its head is: not at the end, where those of all inputs meet."""
_GAP: Final = 1.5
"""Between two matrices, in cells."""

_Row = Mapping[str, Figure]
_Part = Callable[[int, int], str]


class Matrix(NamedTuple):
    """``cells`` row by row.  ``colour`` is "W", "X" or "Y"; ``part`` says by row and column how much a cell stands out.

    ``sign`` stands before it, ``title`` above it.
    """

    colour: str
    title: str
    cells: Sequence[Sequence[int]]
    part: _Part
    sign: str = ""


def arrows(inputs: int, outputs: int, part: _Part, weights: Sequence[Sequence[int]], title: str, said: str) -> Plot:
    """An arrow a weight, from each input to each neuron; ``part`` says by neuron and input how much it stands out."""
    height = _CELL * max(inputs, outputs)
    rows = (
        *_lines(inputs, outputs, part, weights, height),
        *_dots("X", inputs, 0, "x"),
        *_dots("Y", outputs, 1, "y"),
    )
    return Plot(ARROWS, title, _arrow_spec(height), tuple(rows), said)


def _at(place: int, count: int) -> float:
    return (place + 0.5) / count


def _lines(inputs: int, outputs: int, part: _Part, weights: Sequence[Sequence[int]], height: int) -> Iterator[_Row]:
    for neuron in range(outputs):
        for place in range(inputs):
            begin, end = _at(place, inputs), _at(neuron, outputs)
            yield {
                "kind": "arrow",
                "x": 0,
                "y": begin,
                "x2": 1,
                "y2": end,
                "head_x": _HEAD_AT,
                "head_y": begin + _HEAD_AT * (end - begin),
                "angle": 90 + degrees(atan2((end - begin) * height, _WIDE)),
                "part": part(neuron, place),
                "text": str(weights[neuron][place]),
                "what": f"from x{place + 1} to y{neuron + 1}: row {neuron + 1}, column {place + 1} of W",
            }


def _dots(colour: str, count: int, at: int, letter: str) -> Iterator[_Row]:
    for place in range(count):
        yield {
            "kind": "dot",
            "x": at,
            "y": _at(place, count),
            "colour": colour,
            "text": f"{letter}{place + 1}",
            "what": f"{'input' if at == 0 else 'neuron'} {place + 1}",
        }


def matrices(name: str, title: str, shown: Sequence[Matrix], said: str) -> Plot:
    """Matrices beside each other, cell by cell."""
    rows: list[_Row] = []
    left = 0.0
    for one in shown:
        if one.sign:
            rows.append({"kind": "sign", "x": left + _GAP / 2, "y": 1.5, "text": one.sign})
            left += _GAP
        width = len(one.cells[0])
        rows.append({"kind": "title", "x": left, "y": 0.5, "text": one.title})
        rows += _cells(one, left)
        left += max(width, len(one.title) / 3)
    return Plot(name, title, _matrix_spec(name, left, 1 + max(len(one.cells) for one in shown)), tuple(rows), said)


def _cells(matrix: Matrix, left: float) -> Iterator[_Row]:
    for row, values in enumerate(matrix.cells):
        for column, value in enumerate(values):
            yield {
                "kind": "cell",
                "x": left + column,
                "x2": left + column + 1,
                "y": row + 1,
                "y2": row + 2,
                "middle_x": left + column + 0.5,
                "middle_y": row + 1.5,
                "colour": matrix.colour,
                "part": matrix.part(row, column),
                "text": str(value),
                "what": f"{matrix.title}: row {row + 1}, column {column + 1}",
            }


def _only(kind: str) -> list[Mapping[str, Any]]:
    return [{"filter": f"datum.kind == '{kind}'"}]


def _axis(field: str, domain: Sequence[float], *, reverse: bool = False) -> Mapping[str, Any]:
    scale = {"domain": list(domain), "nice": False, "zero": False, "reverse": reverse}
    return {"field": field, "type": "quantitative", "axis": None, "scale": scale}


def _by_part(now: float, followed: float, rest: float) -> Mapping[str, Any]:
    tests = ((NOW, now), (FOLLOWED, followed))
    return {"condition": [{"test": f"datum.part == '{part}'", "value": one} for part, one in tests], "value": rest}


_COLOUR: Final[Mapping[str, Any]] = {
    "field": "colour",
    "type": "nominal",
    "legend": None,
    "scale": {"domain": list(_COLOURS), "range": list(_COLOURS.values())},
}
_TOOLTIP: Final[list[Mapping[str, Any]]] = [
    {"field": "what", "type": "nominal", "title": "place"},
    {"field": "text", "type": "nominal", "title": "value"},
]


def _arrow_spec(height: int) -> Mapping[str, Any]:
    x, y = _axis("x", (-0.12, 1.12)), _axis("y", (0, 1), reverse=True)
    opacity = _by_part(1, 0.85, 0.35)
    return {
        "data": {"name": ARROWS},
        "width": _WIDE,
        "height": height,
        "layer": [
            {
                "transform": _only("arrow"),
                "mark": {"type": "rule", "color": _COLOURS["W"], "aria": False},
                "encoding": {
                    "x": x,
                    "y": y,
                    "x2": {"field": "x2"},
                    "y2": {"field": "y2"},
                    "opacity": opacity,
                    "size": _by_part(3.5, 1.8, 1),
                    "tooltip": _TOOLTIP,
                },
            },
            {
                "transform": _only("arrow"),
                "mark": {
                    "type": "point",
                    "shape": "triangle",
                    "filled": True,
                    "size": 60,
                    "color": _COLOURS["W"],
                    "aria": False,
                },
                "encoding": {
                    "x": {**x, "field": "head_x"},
                    "y": {**y, "field": "head_y"},
                    "angle": {"field": "angle", "type": "quantitative", "scale": None},
                    "opacity": opacity,
                },
            },
            {
                "transform": _only("dot"),
                "mark": {"type": "point", "filled": True, "size": 190, "opacity": 1, "aria": False},
                "encoding": {"x": x, "y": y, "color": _COLOUR, "tooltip": _TOOLTIP[:1]},
            },
            *(
                {
                    "transform": [{"filter": f"datum.kind == 'dot' && datum.x == {at}"}],
                    "mark": {"type": "text", "fill": "currentColor", "align": align, "dx": shift, "aria": False},
                    "encoding": {"x": x, "y": y, "text": {"field": "text", "type": "nominal"}},
                }
                for at, align, shift in ((0, "right", -11), (1, "left", 11))
            ),
        ],
    }


def _matrix_spec(name: str, columns: float, rows: int) -> Mapping[str, Any]:
    x, y = _axis("x", (0, columns)), _axis("y", (0, rows), reverse=True)
    text = {"field": "text", "type": "nominal"}
    return {
        "data": {"name": name},
        "width": round(_CELL * columns),
        "height": _CELL * rows,
        "layer": [
            {
                "transform": _only("cell"),
                "mark": {"type": "rect", "stroke": MUTED, "strokeWidth": 0.7, "aria": False},
                "encoding": {
                    "x": x,
                    "x2": {"field": "x2"},
                    "y": y,
                    "y2": {"field": "y2"},
                    "fill": _COLOUR,
                    "fillOpacity": _by_part(0.6, 0.28, 0.04),
                    "tooltip": _TOOLTIP,
                },
            },
            {
                "transform": _only("cell"),
                "mark": {"type": "text", "fill": "currentColor", "fontSize": 11, "aria": False},
                "encoding": {"x": {**x, "field": "middle_x"}, "y": {**y, "field": "middle_y"}, "text": text},
            },
            *(
                {
                    "transform": _only(kind),
                    "mark": {"type": "text", "fill": "currentColor", "fontSize": size, "align": align, "aria": False},
                    "encoding": {"x": x, "y": y, "text": text},
                }
                for kind, size, align in (("title", 12, "left"), ("sign", 16, "center"))
            ),
        ],
    }
