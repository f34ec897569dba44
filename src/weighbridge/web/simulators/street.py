"""Two models on one street: frames keep coming while a published network works on one, at the latency its source measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any, Final

from weighbridge.estimates import frames_missed
from weighbridge.published import Published, find, names
from weighbridge.report.charts.theme import ACCENT, MUTED, PALETTE
from weighbridge.units import exact, in_full, seconds, short, significant, stated
from weighbridge.web.controls import Choice, Control, Number, State
from weighbridge.web.figures import UNKNOWN, count, words
from weighbridge.web.simulator import Answer, Figure, Plot, Preset, Readout, Simulator

__all__ = ["street"]

_MODELS: Final = ("one", "other")
_FPS, _MS = "fps", "ms"
_MOST_FRAMES: Final = 80
"""That are drawn of a model; more are said."""
_WORKED_ON, _MISSED, _NEXT = "worked on", "missed", "the next one taken"


def street() -> Simulator:
    """The simulator; its presets are the pairs of the lecture."""
    return Simulator(
        "street",
        "Two models on one street",
        "How much of the street does a car miss while its network looks at one frame?",
        "A camera sends frames at a steady rate. While a network works on one, those that come are missed: latency times rate, "
        "rounded up, less the frame itself. Every latency here is a measurement that somebody published, and means nothing without "
        "the four conditions beside it.",
        tuple(_controls()),
        _answer,
        (
            Preset(
                "SegFormer-B5 and EfficientViT-L1 at 30 frames a second",
                {"one": "segformer_b5", "other": "efficientvit_l1"},
            ),
            Preset("I3D and TSM: throughput alone is known of both", {"one": "i3d", "other": "tsm_8f_batch_16"}),
            Preset(
                "EfficientViT-B1 on Jetson AGX Orin and on Jetson Nano",
                {"one": "efficientvit_b1_orin", "other": "efficientvit_b1_nano"},
            ),
        ),
    )


def _controls() -> Iterator[Control]:
    rows = {name: _title(_row(name)) for name in names()}
    yield Choice("one", "first model", "segformer_b5", rows)
    yield Choice("other", "second model", "efficientvit_l1", rows)
    ways = {_FPS: "frames a second", _MS: "milliseconds from frame to frame"}
    yield Choice("deadline_in", "deadline in", _FPS, ways)
    yield Number("fps", "frames a second", 30, 0.001, 10**6, 120, step=0.1)
    yield Number("deadline_ms", "from frame to frame", 33.3, 0.001, 10**6, 1000, step=0.1, unit="ms")


@cache
def _row(name: str) -> Published:
    return find(name)


def _title(row: Published) -> str:
    if row.conditions is None:
        return row.title
    return f"{row.title} on {row.conditions.hardware or UNKNOWN}, batch {row.conditions.batch or UNKNOWN}"


def _answer(state: State) -> Answer:
    in_fps = state["deadline_in"] == _FPS
    fps = stated(float(state["fps"])) if in_fps else 1000 / stated(float(state["deadline_ms"]))
    rows = {one: _row(str(state[one])) for one in _MODELS}
    deadline_s = float(1 / fps)
    readouts = [
        Readout("fps", "frames a second", float(fps), significant(float(fps)), "", "The street"),
        Readout("deadline_s", "deadline", deadline_s, seconds(deadline_s), "until the next frame", "The street"),
    ]
    for one, row in rows.items():
        readouts += _figures(one, row, fps)
        readouts += _conditions(one, row)
    notes = dict.fromkeys(f"{row.title}: {note}" for row in rows.values() for note in (row.source, *row.notes))
    sentences = [*(_sentence(row, fps) for row in dict.fromkeys(rows.values())), *_compared(*rows.values())]
    unused = ("deadline_ms",) if in_fps else ("fps",)
    return Answer(tuple(readouts), tuple(sentences), tuple(_plot(rows, fps)), unused=unused, notes=tuple(notes))


def _figures(one: str, row: Published, fps: Fraction) -> Iterator[Readout]:
    group, latency, throughput = _group(one, row), row.latency_s, row.throughput_per_s
    yield Readout(
        f"{one}.latency_s",
        "latency",
        None if latency is None else float(latency),
        UNKNOWN if latency is None else f"{in_full(latency * 1000)} ms",
        "as its source measured it"
        if latency is not None
        else "its source gives none; one over a throughput is no latency",
        group,
    )
    missed = None if latency is None else frames_missed(latency, fps)
    yield count(f"{one}.frames_missed", "frames missed", missed, group, "while one is worked on")
    yield Readout(
        f"{one}.throughput_per_s",
        "throughput",
        None if throughput is None else float(throughput),
        UNKNOWN if throughput is None else f"{in_full(throughput)} a second",
        "as its source measured it" if throughput is not None else "its source gives none under these conditions",
        group,
    )
    for name, label, value in (("macs", "MACs", row.macs), ("flops", "FLOPs", row.flops)):
        if value is not None:
            yield Readout(f"{one}.{name}", label, int(value), short(int(value)), "as its source counts them", group)
    if row.quality is not None:
        shown = f"{in_full(row.quality)} {row.quality_metric}"
        yield Readout(f"{one}.quality", "quality", float(row.quality), shown, "as its source states it", group)


def _conditions(one: str, row: Published) -> Iterator[Readout]:
    """All four of them, also those that the source does not say."""
    group, said = _group(one, row), row.conditions
    for name in ("hardware", "runtime", "precision"):
        value = "" if said is None else getattr(said, name)
        yield words(f"{one}.{name}", name, value or None, group, "" if value else "its source does not say")
    yield count(f"{one}.batch", "batch", None if said is None else said.batch, group)


def _group(one: str, row: Published) -> str:
    return f"{'First' if one == _MODELS[0] else 'Second'}: {row.title}"


def _sentence(row: Published, fps: Fraction) -> str:
    if row.latency_s is None:
        return f"{_title(row)}: no latency is known, so neither are the frames that it misses"
    missed = frames_missed(row.latency_s, fps)
    return f"{_title(row)}: {exact(missed)} {'frame is' if missed == 1 else 'frames are'} missed while one is worked on"


def _compared(one: Published, other: Published) -> Iterator[str]:
    """The ratio of what both have; where conditions differ, which ones do."""
    for name, quantity in (("latency_s", "latency"), ("throughput_per_s", "throughput")):
        first, second = getattr(one, name), getattr(other, name)
        if one == other or first is None or second is None:
            continue
        more, less = (one, other) if first >= second else (other, one)
        times = significant(float(max(first, second) / min(first, second)))
        yield f"the {quantity} of {_title(more)} is {times} times that of {_title(less)}"
    if one.conditions is not None and other.conditions is not None:
        pairs = zip(one.conditions._fields, one.conditions, other.conditions, strict=True)
        differ = [name for name, first, second in pairs if first != second]
        if differ:
            yield f"the conditions differ in {', '.join(differ)}: what is compared is not the networks alone"


def _plot(rows: Mapping[str, Published], fps: Fraction) -> Iterator[Plot]:
    frames = [frame for one, row in rows.items() for frame in _frames(one, row, fps)]
    if not frames:
        return
    cut = any(
        row.latency_s is not None and frames_missed(row.latency_s, fps) + 2 > _MOST_FRAMES for row in rows.values()
    )
    said = f"; of each model the first {_MOST_FRAMES} frames are drawn" if cut else ""
    described = f"a bar is as long as the network works on its first frame, and each mark is a frame that comes{said}"
    yield Plot("frames", "Frames while one is worked on", _FRAMES, tuple(frames), described)


def _frames(one: str, row: Published, fps: Fraction) -> Iterator[Mapping[str, Figure]]:
    if row.latency_s is None:
        return
    missed = frames_missed(row.latency_s, fps)
    for place in range(min(missed + 2, _MOST_FRAMES)):
        yield {
            "model": _group(one, row),
            "at_ms": float(place * 1000 / fps),
            "kind": _WORKED_ON if place == 0 else _MISSED if place <= missed else _NEXT,
            "works_ms": float(row.latency_s * 1000) if place == 0 else None,
        }


_FRAMES: Final[Mapping[str, Any]] = {
    "data": {"name": "frames"},
    "width": 700,
    "height": {"step": 60},
    "encoding": {
        "y": {"field": "model", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 150}},
    },
    "layer": [
        {
            "mark": {"type": "bar", "height": 12, "color": MUTED, "opacity": 0.5},
            "transform": [{"filter": "isValid(datum.works_ms)"}],
            "encoding": {"x": {"field": "works_ms", "type": "quantitative", "title": "milliseconds"}},
        },
        {
            "mark": {"type": "tick", "thickness": 4, "size": 34, "opacity": 1},
            "encoding": {
                "x": {"field": "at_ms", "type": "quantitative", "title": "milliseconds"},
                "color": {
                    "field": "kind",
                    "type": "nominal",
                    "title": None,
                    "legend": {"orient": "top"},
                    "scale": {"domain": [_WORKED_ON, _MISSED, _NEXT], "range": [PALETTE[0], ACCENT, PALETTE[1]]},
                },
                "tooltip": [
                    {"field": "kind", "type": "nominal"},
                    {"field": "at_ms", "type": "quantitative", "title": "comes at, ms"},
                ],
            },
        },
    ],
}
