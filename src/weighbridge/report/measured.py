"""What was measured: every measurement with its conditions, and what follows of several: ratios, curves over the batch, deadlines.

A floor stands beside a measured time, never in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from weighbridge.errors import BadSpec
from weighbridge.estimates.deadline import frames_missed
from weighbridge.measure.conditions import NAMES, Conditions, Difference, differences
from weighbridge.measure.paired import ratio
from weighbridge.measure.record import Measurement, Profile, ProfiledClass
from weighbridge.measure.summary import Interval
from weighbridge.named_tuple import NamedTuple
from weighbridge.units import stated

__all__ = [
    "COVERS",
    "KNEE_SHARE",
    "Against",
    "ClassFloor",
    "Curve",
    "CurvePoint",
    "FloorBeside",
    "FramesMissed",
    "Measured",
    "against",
    "beside_profile",
    "check_although",
    "check_comparable",
    "curve",
    "missed",
]

SCHEMA: Final = 1
KNEE_SHARE: Final = 0.9
"""The knee is the smallest batch with so much of the best throughput."""
COVERS: Final = {"runtime": ("runtime", "version", "mode", "libraries"), "batch": ("batch", "inputs")}
"""What cannot be the same where this differs."""


_SAME: Final = {
    "Conv": "conv",
    "FusedConv": "conv",
    "Gemm": "linear",
    "FusedGemm": "linear",
    "MaxPool": "max_pool",
    "aten::add": "add",
    "aten::add_": "add",
    "aten::conv2d": "conv",
    "aten::linear": "linear",
    "aten::max_pool2d": "max_pool",
}
"""Names of runtimes that stand for one of our operators, alone or with an activation behind it."""


class Against(NamedTuple):
    """How many times the time of the first one the measurement at ``place`` takes: the median of the ratios of the rounds.

    It lies from ``low`` to ``high`` at ``confidence``, None of rounds too few to say.  ``of_medians`` is the ratio of the two medians, in
    which is also what the machine did to one and not to the other.  ``differences`` are the conditions that are not the same, all of
    which were agreed to.
    """

    place: int
    ratio: float
    low: float | None
    high: float | None
    confidence: float
    of_medians: float
    differences: tuple[Difference, ...] = ()

    @property
    def is_told_apart(self) -> bool:
        """Whether one of the two is faster, for all that is known."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


class CurvePoint(NamedTuple):
    """A batch: the median of a run with its interval, and inferences a second, which are ``batch`` times one over the median.

    Of several streams at once a run takes the median, and the inferences are those of all streams.
    """

    batch: int
    streams: int
    latency_s: float
    interval: Interval | None
    runs_per_s: float
    per_s: float


class Curve(NamedTuple):
    """Latency and throughput over the batch.

    ``knee`` is the smallest batch with ``KNEE_SHARE`` of the best throughput; None where that is the largest one, as throughput may go on
    growing beyond.
    """

    points: tuple[CurvePoint, ...]
    knee: int | None


class FramesMissed(NamedTuple):
    """``fps`` frames a second, a frame each ``deadline_s``: the frames that pass during a run of the measurement at ``place``.

    At the median, at the 90th and 99th percentile (None of samples too few) and in the longest sample; ``late`` samples took longer than a
    frame.  Each is ceil(latency x fps) - 1, as the estimates have it.
    """

    place: int
    fps: float
    deadline_s: float
    median: int
    p90: int | None
    p99: int | None
    longest: int
    late: int


class ClassFloor(NamedTuple):
    """The floor of all nodes of an ``operator``, each by itself; None where the device has no rate for one of them.

    Where the runtime's profiler has operators that are sure to be these, ``profiled_s`` is what they take, and ``profiled_as`` the names
    that it has for them: names that stand for this operator and no other, called as often as there are ``nodes``.
    """

    operator: str
    floor_s: float | None
    nodes: int
    profiled_s: float | None = None
    profiled_as: tuple[str, ...] = ()


class FloorBeside(NamedTuple):
    """What nothing beats on a ``device``, beside the measurement at ``place``: ``utilisation`` is ``floor_s`` over the median.

    The floor is an estimate from the device's figures, at ``precision``, and None where they do not say.  ``layerwise_s`` is the sum
    of all nodes' own floors, ``classes`` by operator.  ``is_exact`` where no count behind it is a lower bound, ``is_verified`` where every
    figure of the device is verified.
    """

    place: int
    device: str
    hardware: str
    precision: str | None
    floor_s: float | None
    layerwise_s: float | None
    utilisation: float | None
    classes: tuple[ClassFloor, ...]
    is_exact: bool
    is_verified: bool

    @property
    def is_broken(self) -> bool:
        """Whether the measurement is below what nothing beats."""
        return self.utilisation is not None and self.utilisation > 1


@dataclass(frozen=True, slots=True)
class Measured:
    """``measurements`` in the order of the sources, or of the batches of one source; what follows of them names them by their place.

    ``against`` compares each later source with the first one, ``curve`` is there of several batches, ``frames`` where a frame rate was
    asked for, ``floors`` where devices were.
    """

    tool: str
    measurements: tuple[Measurement, ...]
    against: tuple[Against, ...] = ()
    curve: Curve | None = None
    frames: tuple[FramesMissed, ...] = ()
    floors: tuple[FloorBeside, ...] = ()
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, numbers and strings, as the JSON has them."""
        from weighbridge.report.json import plain
        from weighbridge.report.measured_json import to_plain

        names = ("against", "curve", "frames", "floors", "notes")
        return {
            "schema": self.schema,
            "tool": self.tool,
            "measurements": [to_plain(one) for one in self.measurements],
            **{name: plain(getattr(self, name), []) for name in names},
        }

    def to_json(self) -> str:
        """The JSON text, ending in a newline."""
        from weighbridge.report.json import layout

        return layout(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Measured:
        """What ``to_dict`` made ``data`` of.  Raises ``BadSpec`` with the ``$.path`` of what does not fit."""
        from weighbridge.report.measured_json import page_from_plain

        return page_from_plain(data)

    @classmethod
    def from_json(cls, text: str) -> Measured:
        """What was saved as ``text``.  Raises ``BadSpec``."""
        from weighbridge.report.json_text import parsed
        from weighbridge.report.measured_json import page_from_plain

        return page_from_plain(parsed(text, "saved measurement"))


def check_although(although: Sequence[str]) -> frozenset[str]:
    """The conditions that may differ, by their places in the record.  Raises ``BadSpec`` for a name that is none."""
    by_word = {key.rpartition(".")[2]: key for key in NAMES}
    found = set()
    for word in although:
        if word not in by_word:
            hint = f"the conditions are {', '.join(by_word)}"
            raise BadSpec(f"{word!r} is no condition of a measurement", where="although", hint=hint)
        found |= {by_word[one] for one in COVERS.get(word, (word,))}
    return frozenset(found)


def check_comparable(conditions: Sequence[Conditions], names: Sequence[str], although: frozenset[str]) -> None:
    """Raises ``BadSpec`` where measurements under these conditions are not to be compared."""
    for place, one in enumerate(conditions[1:], 1):
        found = [other for other in differences(conditions[0], one) if other.key not in although]
        if found:
            every = dict.fromkeys(other.key.rpartition(".")[2] for other in found)
            covered = {one for word in every for one in COVERS.get(word, ()) if one != word}
            words = ",".join(word for word in every if word not in covered)
            what = f"conditions differ from those of {names[0]}: {'; '.join(map(str, found))}"
            hint = f"--although {words} compares them all the same, and says so"
            raise BadSpec(what, where=names[place], hint=hint)


def against(measurements: Sequence[Measurement]) -> Iterator[Against]:
    """Each later measurement against the first one, all of them taken in turns."""
    first = measurements[0]
    for place, one in enumerate(measurements[1:], 1):
        found = ratio(first, one, first.summary.confidence)
        unlike = differences(first.conditions, one.conditions)
        yield Against(place, found.ratio, found.low, found.high, found.confidence, found.of_medians, unlike)


def curve(measurements: Sequence[Measurement]) -> Curve:
    """Latency and throughput over the batches of ``measurements``, by size; one of an unknown batch is on no curve."""
    points = sorted(_points(measurements), key=lambda one: one.batch)
    best = max((one.per_s for one in points), default=0.0)
    knee = next((one.batch for one in points[:-1] if one.per_s >= KNEE_SHARE * best), None)
    return Curve(tuple(points), knee)


def _points(measurements: Sequence[Measurement]) -> Iterator[CurvePoint]:
    for one in measurements:
        batch, per_s = one.conditions.batch, one.throughput_per_s
        if batch is not None and per_s is not None:
            streams = one.conditions.streams
            yield CurvePoint(batch, streams, one.latency_s, one.interval, streams / one.latency_s, per_s)


def beside_profile(classes: Iterable[ClassFloor], profile: Profile | None) -> Iterator[ClassFloor]:
    """The classes with what the runtime's profiler says of them, as far as that is sure."""
    named: dict[str, list[ProfiledClass]] = {}
    for one in () if profile is None else profile.classes:
        named.setdefault(_SAME.get(one.operators, ""), []).append(one)
    for each in classes:
        found = named.get(each.operator, ())
        if found and sum(one.calls for one in found) == each.nodes:
            names = tuple(one.operators for one in found)
            yield each._replace(profiled_s=sum(one.time_s for one in found), profiled_as=names)
        else:
            yield each


def missed(measurements: Sequence[Measurement], fps: Fraction) -> Iterator[FramesMissed]:
    """The frames that pass during a run of each."""
    for place, one in enumerate(measurements):
        median, p90, p99, longest = (
            None if time_s is None else frames_missed(stated(time_s), fps)
            for time_s in (one.latency_s, one.summary.p90_s, one.summary.p99_s, one.summary.most_s)
        )
        assert median is not None
        assert longest is not None
        late = sum(stated(sample) > 1 / fps for sample in one.samples_s)
        yield FramesMissed(place, float(fps), float(1 / fps), median, p90, p99, longest, late)
