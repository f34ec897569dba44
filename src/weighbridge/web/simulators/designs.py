"""Latency against throughput: two designs that take other numbers of inputs at once, and the frames that each misses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from weighbridge.calculators import Batching, Design, DesignFacts, batching
from weighbridge.units import exact, seconds, significant, stated
from weighbridge.web.controls import Number, State
from weighbridge.web.simulator import Answer, Figure, Plot, Preset, Readout, Simulator

__all__ = ["designs"]

_ONE, _OTHER = "one", "other"
_NAMES: Final = {_ONE: "Design 1", _OTHER: "Design 2"}
_MOST_BLOCKS: Final = 60
_STRIP: Final = 4
"""The strip shows as long as so many batches of the slower design take."""


def designs() -> Simulator:
    """The simulator; its presets are the lecture's designs and server, and two networks on one board."""
    return Simulator(
        "designs",
        "Latency against throughput",
        "Is the design that answers sooner also the one that answers more?",
        "A batch is as many inputs as are taken at once. A larger one takes longer and does more in the time: latency goes up, and so "
        "does throughput. At a frame rate, frames that come while one is worked on are missed.",
        tuple(_controls()),
        _answer,
        (
            Preset(
                "Design 1 and Design 2", {"one_batch": 1, "one_ms": 50, "other_batch": 4, "other_ms": 100, "fps": 30}
            ),
            Preset(
                "a server at batch 1 and 32", {"one_batch": 1, "one_ms": 2, "other_batch": 32, "other_ms": 8, "fps": 30}
            ),
            Preset(
                "SegFormer-B5 and EfficientViT-L1 (Jetson AGX Orin, TensorRT, fp16, batch 1)",
                {"one_batch": 1, "one_ms": 638, "other_batch": 1, "other_ms": 45.9, "fps": 30},
            ),
        ),
    )


def _controls() -> Iterator[Number]:
    for design, batch, latency_ms in ((_ONE, 1, 50), (_OTHER, 4, 100)):
        name = _NAMES[design]
        yield Number(
            f"{design}_batch", f"batch of {name}", batch, 1, 10**6, 64, meaning="Inputs that it takes at once."
        )
        yield Number(
            f"{design}_ms",
            f"latency of {name}",
            latency_ms,
            0.001,
            10**9,
            1000,
            step=0.1,
            unit="ms",
            meaning="From the first input of a batch to its results.",
        )
    yield Number("fps", "frames a second", 30, 0.001, 10**6, 120, step=0.1, meaning="How often a new input comes.")


def _answer(state: State) -> Answer:
    given = [
        Design(int(state[f"{one}_batch"]), stated(float(state[f"{one}_ms"])) / 1000, name)
        for one, name in _NAMES.items()
    ]
    found = batching(given, fps=str(state["fps"]))
    readouts = [readout for one, facts in zip(_NAMES, found.designs, strict=True) for readout in _of(one, facts)]
    return Answer(tuple(readouts), (_sentence(found),), (_strip(found),))


def _of(design: str, facts: DesignFacts) -> Iterator[Readout]:
    group = _NAMES[design]
    latency, throughput = facts.latency_s, facts.throughput_per_s
    yield Readout(f"{design}.latency_s", "latency", float(latency), seconds(float(latency)), "", group)
    yield Readout(
        f"{design}.throughput_per_s",
        "throughput",
        float(throughput),
        f"{significant(float(throughput))} a second",
        "batch over latency",
        group,
    )
    missed = facts.frames_missed
    yield Readout(
        f"{design}.frames_missed",
        "frames missed",
        missed,
        "?" if missed is None else exact(missed),
        "latency x rate, rounded up, less the frame itself",
        group,
    )


def _sentence(found: Batching) -> str:
    one, other = found.designs
    more = significant(float(other.throughput_ratio))
    longer = significant(float(other.latency_ratio))
    return f"{other.name} takes {longer} times as long as {one.name} and does {more} times as much in the time"


def _strip(found: Batching) -> Plot:
    """Batches through time, a row a design: each block is as long as a batch takes, and as high as all others."""
    end = _STRIP * max(facts.latency_s for facts in found.designs)
    rows = tuple(_blocks(found, end))
    counts = [
        f"{facts.name} answers {exact(int(end / facts.latency_s) * facts.batch)} inputs" for facts in found.designs
    ]
    return Plot(
        "strip",
        "Batches through time",
        _STRIP_SPEC,
        rows,
        f"in {seconds(float(end))} {' and '.join(counts)}",
    )


def _blocks(found: Batching, end: Fraction) -> Iterator[Mapping[str, Figure]]:
    for facts in found.designs:
        for place in range(min(int(end / facts.latency_s), _MOST_BLOCKS)):
            begin = place * facts.latency_s
            yield {
                "design": facts.name,
                "begin_ms": float(begin * 1000),
                "end_ms": float((begin + facts.latency_s) * 1000),
                "inputs": facts.batch,
                "shade": place % 2 == 0,
            }


_STRIP_SPEC: Final[Mapping[str, Any]] = {
    "data": {"name": "strip"},
    "width": 700,
    "height": {"step": 44},
    "encoding": {
        "x": {"field": "begin_ms", "type": "quantitative", "title": "milliseconds", "axis": {"tickCount": 8}},
        "x2": {"field": "end_ms"},
        "y": {"field": "design", "type": "nominal", "title": None},
    },
    "layer": [
        {
            "mark": {"type": "bar", "height": 30, "stroke": "currentColor", "strokeWidth": 0.5},
            "encoding": {
                "color": {"field": "design", "type": "nominal", "legend": None},
                "opacity": {"condition": {"test": "datum.shade", "value": 0.8}, "value": 0.45},
                "tooltip": [
                    {"field": "design", "type": "nominal"},
                    {"field": "inputs", "type": "quantitative", "title": "inputs"},
                    {"field": "begin_ms", "type": "quantitative", "title": "from, ms"},
                    {"field": "end_ms", "type": "quantitative", "title": "to, ms"},
                ],
            },
        },
    ],
}
