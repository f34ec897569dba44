"""The charts of the peak sweep: a bar a step, and from when to when each tensor is alive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from weighbridge.memory import TensorSpan
from weighbridge.report.charts.theme import ACCENT, MUTED, PALETTE
from weighbridge.report.peaks import LIVE
from weighbridge.units import exact
from weighbridge.web.figures import UNKNOWN, sized
from weighbridge.web.simulator import Figure, Plot
from weighbridge.web.sweep import Sweep

__all__ = ["bars", "lives"]

_DRAWN: Final = 120
"""Lives of tensors that are drawn: of more those around the step."""
_NAMED: Final = 12
"""Tensors that a description names."""

_STATES: Final = {"this step": ACCENT, "other steps": PALETTE[0], "peak so far": PALETTE[1], "room": MUTED}
_COLOURS: Final = {
    "type": "nominal",
    "scale": {"domain": list(_STATES), "range": list(_STATES.values())},
    "legend": {"title": None, "orient": "bottom"},
}
_STEPS: Final = {
    "field": "step",
    "type": "ordinal",
    "title": "step",
    "axis": {"labelAngle": 0, "labelOverlap": "greedy", "labelSeparation": 8, "ticks": False},
}


def bars(sweep: Sweep) -> Plot:
    running = sweep.running
    rows: tuple[Mapping[str, Figure], ...] = tuple(
        {
            "step": place + 1,
            "node": node.name,
            "alive_bytes": sweep.profile[place],
            "state": "this step" if place == sweep.place else "other steps",
            "running_peak_bytes": running[place] if place <= sweep.place else None,
            "room_bytes": sweep.budget.available_bytes,
        }
        for place, node in enumerate(sweep.steps)
    )
    top, at = sweep.memory.peak_bytes[sweep.policy], sweep.memory.peak_node[sweep.policy]
    said = "the peak is not known" if top is None else f"the peak is {sized(top)}, at {at}"
    here = sweep.profile[sweep.place]
    shown = UNKNOWN if here is None else exact(here)
    return Plot(
        "alive",
        "Bytes alive at each step",
        _BARS,
        rows,
        f"a bar a step; {sweep.name(sweep.place)} has {shown} B, {said}; the line is at {exact(sweep.budget.available_bytes)} B",
    )


_BARS: Final[Mapping[str, Any]] = {
    "data": {"name": "alive"},
    "width": 700,
    "height": 240,
    "layer": [
        {
            "mark": {"type": "bar"},
            "encoding": {
                "x": _STEPS,
                "y": {
                    "field": "alive_bytes",
                    "type": "quantitative",
                    "title": "bytes alive",
                    "axis": {"format": "~s"},
                },
                "color": {"field": "state", **_COLOURS},
                "tooltip": [
                    {"field": "step", "type": "ordinal"},
                    {"field": "node", "type": "nominal", "title": "layer"},
                    {"field": "alive_bytes", "type": "quantitative", "title": "alive (B)", "format": ","},
                    {"field": "running_peak_bytes", "type": "quantitative", "title": "peak so far (B)", "format": ","},
                ],
            },
        },
        {  # among a thousand bars that of this step is thinner than a pixel
            "transform": [{"filter": "datum.state === 'this step'"}],
            "mark": {"type": "rule", "strokeWidth": 1},
            "encoding": {"x": _STEPS, "color": {"field": "state", **_COLOURS}},
        },
        {
            "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2},
            "encoding": {
                "x": _STEPS,
                "y": {"field": "running_peak_bytes", "type": "quantitative"},
                "color": {"datum": "peak so far", **_COLOURS},
            },
        },
        {
            "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 2},
            "encoding": {
                "y": {"aggregate": "max", "field": "room_bytes", "type": "quantitative"},
                "color": {"datum": "room", **_COLOURS},
            },
        },
    ],
}


def lives(sweep: Sweep) -> Plot:
    """A bar for each tensor, from the step that makes it to the last that reads it."""
    alive = {one.name for one in sweep.alive}
    drawn = _drawn(sweep)
    rows: tuple[Mapping[str, Figure], ...] = tuple(
        {
            "tensor": one.name,
            "begin": one.first + 0.5,
            "end": one.last + 1.5,
            "bytes": one.bytes,
            "state": "this step" if one.name in alive else "other steps",
        }
        for one in drawn
    )
    every = len(sweep.memory.tensors)
    cut = "" if len(drawn) == every else f"; drawn are {len(drawn)} of {exact(every)}, those around the step"
    named = ", ".join([one.name for one in sweep.alive[:_NAMED]] + ["…"] * (len(sweep.alive) > _NAMED))
    return Plot(
        "lives",
        "From when to when each tensor is alive",
        _LIVES,
        rows,
        f"a bar a tensor, under the policy {LIVE}, from the step that makes it to the last that reads it; at step "
        f"{sweep.place + 1}: {named}{cut}",
    )


def _drawn(sweep: Sweep) -> tuple[TensorSpan, ...]:
    """All tensors, or of many those whose making is nearest to the step, and what is alive there, in their order."""
    every = sweep.memory.tensors
    if len(every) <= _DRAWN:
        return every
    alive = {one.name for one in sweep.alive}
    near = sorted(every, key=lambda one: (one.name not in alive, abs(one.first - sweep.place)))[:_DRAWN]
    kept = {one.name for one in near}
    return tuple(one for one in every if one.name in kept)


_LIVES: Final[Mapping[str, Any]] = {
    "data": {"name": "lives"},
    "width": 600,
    "height": {"step": 13},
    "mark": {"type": "bar"},
    "encoding": {
        "x": {
            "field": "begin",
            "type": "quantitative",
            "title": "step",
            "scale": {"zero": False, "nice": False},
            "axis": {"tickMinStep": 1, "format": "d"},
        },
        "x2": {"field": "end"},
        "y": {"field": "tensor", "type": "nominal", "sort": None, "title": None},
        "color": {
            "field": "state",
            "type": "nominal",
            "scale": {"domain": ["this step", "other steps"], "range": [ACCENT, PALETTE[0]]},
            "legend": None,
        },
        "tooltip": [
            {"field": "tensor", "type": "nominal"},
            {"field": "bytes", "type": "quantitative", "title": "B", "format": ","},
        ],
    },
}
