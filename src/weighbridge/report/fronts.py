"""Which of several models no other beats: in what a network weighs, in what it takes on a device, in what was published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.figures import NOTHING, PEAK, Value, label, values_of
from weighbridge.report.published_figures import PUBLISHED, conditions_of, published_values
from weighbridge.report.record import OnDevice, Report, by_device

if TYPE_CHECKING:
    from weighbridge.published import Conditions, Published
    from weighbridge.report.comparison import Model

__all__ = ["Beaten", "Front", "Unplaced", "fronts_of", "other_batch"]

_LIVE: Final = f"{PEAK}live"
_NETWORK: Final = ("parameter_bytes", "macs", _LIVE)
_PUBLISHED: Final = tuple(f"{PUBLISHED}{name}" for name in ("quality", "latency_s", "macs"))
_MORE_IS_BETTER: Final = f"{PUBLISHED}quality"


class Beaten(NamedTuple):
    """A model that each of ``by`` beats: they are no worse in any of the metrics, and better in one."""

    model: str
    by: tuple[str, ...]


class Unplaced(NamedTuple):
    """A model that is not on a front and not beaten, and why."""

    model: str
    reason: str


class Front(NamedTuple):
    """The models that no other beats in all ``metrics`` at once: ``best``, in their order.

    ``on`` is None for the network itself, else a device, or the conditions of published times.  Less is better in every metric but
    ``published.quality``.  Models that are equal in all do not beat each other.
    """

    on: str | None
    metrics: tuple[str, ...]
    best: tuple[str, ...]
    beaten: tuple[Beaten, ...]
    unplaced: tuple[Unplaced, ...]


class _Candidate(NamedTuple):
    """A model, its figures in the order of a front's metrics, and what keeps it from being placed, "" if nothing does."""

    name: str
    figures: tuple[Value, ...]
    reason: str = ""


class _Weighed(NamedTuple):
    """A model that is weighed, its figures, and what its report says of each device: found once for all fronts."""

    name: str
    report: Report
    values: Mapping[tuple[str, str | None], Value]
    on: Mapping[str, OnDevice]


def fronts_of(models: Sequence[Model]) -> Iterator[Front]:
    """A front of the networks, one of each device, and one of the times published under the same conditions; each of two models or more.

    A model is placed where it can be compared at all: its figures are exact, it fits the device, and it is of the batch of the first.
    """
    weighed = [
        _Weighed(model.name, model.report, values_of(model.report), by_device(model.report))
        for model in models
        if model.report is not None
    ]
    if len(weighed) > 1:
        yield _front(None, _NETWORK, _of_networks(weighed))
        for device in dict.fromkeys(device for one in weighed for device in one.on):
            metrics = _on_device(device, weighed)
            yield _front(device, metrics, _of_device(device, metrics, weighed))
    by_conditions: dict[Conditions, list[tuple[str, Published]]] = {}
    for model in models:
        if model.published is not None and model.published.conditions is not None:
            by_conditions.setdefault(model.published.conditions, []).append((model.name, model.published))
    for conditions, rows in by_conditions.items():
        if len(rows) > 1:
            yield _front(conditions_of(conditions), _PUBLISHED, _of_published(rows))


def _of_networks(weighed: Sequence[_Weighed]) -> Iterator[_Candidate]:
    for one in weighed:
        figures = tuple(one.values.get((metric, None), NOTHING) for metric in _NETWORK)
        yield _Candidate(one.name, figures, other_batch(weighed[0].report, one.report))


def _on_device(device: str, weighed: Sequence[_Weighed]) -> tuple[str, ...]:
    """The metrics of a device, with the peak by the policy that its runtime follows with every model, else what is live."""
    regions = [region for one in weighed if (on := one.on.get(device)) for region in on.fit.regions]
    policies = {region.policy for region in regions if "activations" in region.holds}
    policy = policies.pop() if len(policies) == 1 else None
    return "deployed_bytes", f"{PEAK}{policy}" if policy else _LIVE, "floor_s"


def _of_device(device: str, metrics: Sequence[str], weighed: Sequence[_Weighed]) -> Iterator[_Candidate]:
    for one in weighed:
        on, values = one.on.get(device), one.values
        if on is None:
            yield _Candidate(one.name, (), "not weighed there")
            continue
        figures = tuple(values.get((metric, None)) or values.get((metric, device), NOTHING) for metric in metrics)
        yield _Candidate(one.name, figures, _misfit(on.fit.verdict) or other_batch(weighed[0].report, one.report))


def _misfit(verdict: str) -> str:
    """Why a verdict keeps a model from being placed on a device; "" where it fits."""
    if verdict == "fits":
        return ""
    return "too large for the device" if verdict == "does not fit" else "whether it fits is unknown"


def _of_published(rows: Sequence[tuple[str, Published]]) -> Iterator[_Candidate]:
    quality = next((row.quality_metric for _, row in rows if row.quality is not None), "")
    for name, row in rows:
        values = {metric: value for (metric, _), value in published_values(row).items()}
        figures = tuple(values.get(metric, NOTHING) for metric in _PUBLISHED)
        other = row.quality is not None and row.quality_metric != quality
        yield _Candidate(name, figures, f"of a quality in {row.quality_metric}, not in {quality}" if other else "")


def other_batch(first: Report, report: Report) -> str:
    """How the inputs of two reports show that they are of different batches, or "" where they do not."""
    pairs = list(zip(first.network.inputs, report.network.inputs, strict=False))
    if len(first.network.inputs) != len(report.network.inputs):
        return ""
    shapes = [(one.shape, other.shape) for one, other in pairs if one.shape != other.shape]
    if not shapes or any(not one or not other or len(one) < 2 or one[1:] != other[1:] for one, other in shapes):
        return ""
    one, other = ("x".join(map(str, shape or ())) for shape in shapes[0])
    return f"of another batch than the first: {other}, not {one}"


def _front(on: str | None, metrics: tuple[str, ...], candidates: Iterable[_Candidate]) -> Front:
    placed: list[tuple[str, tuple[float, ...]]] = []
    unplaced: list[Unplaced] = []
    for one in candidates:
        reason = one.reason or _unknown(metrics, one.figures)
        if reason:
            unplaced.append(Unplaced(one.name, reason))
        else:
            placed.append((one.name, tuple(_costs(metrics, one.figures))))
    by_model = {name: tuple(other for other, less in placed if _beats(less, costs)) for name, costs in placed}
    return Front(
        on,
        metrics,
        tuple(name for name, by in by_model.items() if not by),
        tuple(Beaten(name, by) for name, by in by_model.items() if by),
        tuple(unplaced),
    )


def _unknown(metrics: Sequence[str], figures: Sequence[Value]) -> str:
    """Which figures keep a model from being placed."""
    pairs = list(zip(metrics, figures, strict=True))
    unknown = [label(metric) for metric, figure in pairs if figure.value is None]
    bounds = [label(metric) for metric, figure in pairs if figure.value is not None and not figure.exact]
    parts = (f"{' and '.join(found)} {what}" for found, what in ((unknown, "unknown"), (bounds, "not exact")) if found)
    return "; ".join(parts)


def _costs(metrics: Sequence[str], figures: Sequence[Value]) -> Iterator[float]:
    """The figures such that less is better."""
    for metric, figure in zip(metrics, figures, strict=True):
        assert isinstance(figure.value, (int, float))
        yield -figure.value if metric == _MORE_IS_BETTER else figure.value


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))
