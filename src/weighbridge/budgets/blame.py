"""Which layers a figure is due to: those that grew since the baseline, or without one, or where none did, the largest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from weighbridge.budgets.metrics import VERDICT
from weighbridge.budgets.record import Blame, Budget
from weighbridge.devices.device import ACTIVATIONS, WEIGHTS
from weighbridge.errors import printable
from weighbridge.memory import TensorSpan
from weighbridge.report.figures import PEAK
from weighbridge.report.layers import Layer, LayerFigures
from weighbridge.report.matching import Differences
from weighbridge.report.peaks import LIVE, place_of_peak
from weighbridge.report.record import Report, by_device

__all__ = ["Blamed"]

_MOST: Final = 5
_OF_WEIGHTS: Final = 3
"""Of the layers of a memory: few enough that those of another one that is too small are named as well."""
_TIME: Final = "time_s"
_SHARES: Final[Mapping[str, tuple[str, ...]]] = {
    "parameters": ("weights",),
    "weights": ("weights",),
    "nonzero_parameters": ("nonzero_weights",),
    "deployed_parameters": ("weights",),
    "parameter_bytes": ("weight_bytes",),
    "weight_bytes": ("weight_bytes",),
    "deployed_bytes": ("weight_bytes",),
    "macs": ("macs",),
    "flops": ("macs",),
    "nonzero_macs": ("macs",),
    "other_operations": ("output_bytes",),
    "activations.total": ("output_bytes",),
    "activations.total_bytes": ("output_bytes",),
    "training.saved_bytes": ("output_bytes",),
    "training.peak_activation_bytes": ("output_bytes",),
    "training.gradient_bytes": ("weight_bytes",),
    "training.optimiser_bytes": ("weight_bytes",),
    "training.total_bytes": ("weight_bytes", "output_bytes"),
    "energy.arithmetic_j": ("macs",),
}
"""The figures of a layer that a figure of the network grows with; what is not here grows with the bytes that are moved."""
_MOVED: Final = ("weight_bytes", "output_bytes")


class Blamed:
    """The layers of a report, how they differ from the baseline's (None without one), and the nodes that set its peaks."""

    def __init__(
        self,
        report: Report,
        layers: Sequence[Layer],
        found: Differences | None,
        peak_nodes: Mapping[str, str],
    ) -> None:
        self._report = report
        self._layers = layers
        self.differences = found
        self._peak_nodes = peak_nodes
        changes = () if found is None else found.layers
        self._before = {change.name: change.before for change in changes if change.after is not None}

    def layers(self, budget: Budget) -> tuple[Blame, ...]:
        """The layers that a budget broke at, those of most first, a handful at most."""
        found: dict[str, Blame] = {}
        for blame in self._found(budget):
            found.setdefault(blame.name, blame)
        return tuple(found.values())[:_MOST]

    def notes(self, budget: Budget) -> tuple[str, ...]:
        """What is to be said about them: where the peak is set now and was before, and what is alive there."""
        if not budget.metric.startswith(PEAK):
            return ()
        return tuple(self._on_peak(budget.metric.removeprefix(PEAK)))

    def _found(self, budget: Budget) -> Iterator[Blame]:
        metric = budget.metric
        if metric.startswith(PEAK):
            yield from self._at_peak(metric.removeprefix(PEAK))
        elif metric == VERDICT or metric.startswith(("needed_bytes.", "short_bytes.")):
            yield from self._in_memory(budget)
        elif metric == "layerwise_s":
            yield from self._by_time(budget.device or "")
        elif metric != "variable_bytes":
            yield from self._by_share(self._share(budget))

    def _share(self, budget: Budget) -> tuple[str, ...]:
        """What the figure grows with: of a time, and of the energy in it, what bounds it."""
        if budget.device is None:
            return _SHARES.get(budget.metric, _MOVED)
        return _MOVED if by_device(self._report)[budget.device].latency.bound == "memory" else ("macs",)

    def _by_share(self, names: Sequence[str]) -> Iterator[Blame]:
        """The layers by the growth of that of these figures which grew most; the largest where none did."""
        grown = [blame for layer in self._layers if (blame := self._grown(layer, names)) is not None]
        if grown:
            yield from sorted(grown, key=_growth, reverse=True)
            return
        sizes = ((*_most((_of(layer.figures, name), name) for name in names), layer) for layer in self._layers)
        for size, by, layer in sorted(sizes, key=_first, reverse=True)[:_MOST]:
            if size:
                yield Blame(layer.name, self._was(layer), layer.figures, by)

    def _was(self, layer: Layer) -> LayerFigures | None:
        """What it was in the baseline; layers that are not among the differences are as they were."""
        return None if self.differences is None else self._before.get(layer.name, layer.figures)

    def _grown(self, layer: Layer, names: Sequence[str]) -> Blame | None:
        """The blame of a layer that has more of one of these figures than in the baseline, None of any other."""
        if layer.name not in self._before:
            return None
        before = self._before[layer.name]
        growth, by = _most((_of(layer.figures, name) - _of(before, name), name) for name in names)
        return Blame(layer.name, before, layer.figures, by, growth) if growth > 0 else None

    def _by_time(self, device: str) -> Iterator[Blame]:
        """The layers that take longest, of those that grew where some did: the baseline knows no times."""
        times = by_device(self._report)[device].nodes or ()
        timed = [(time.time_s or 0.0, layer) for time, layer in zip(times, self._layers, strict=False)]
        grown = [one for one in timed if self._grown(one[1], ("macs", *_MOVED)) is not None]
        for time, layer in sorted(grown or timed, key=_first, reverse=True)[:_MOST]:
            if time:
                yield Blame(layer.name, self._was(layer), layer.figures, _TIME)

    def _in_memory(self, budget: Budget) -> Iterator[Blame]:
        """What fills the memories of a device: of a verdict those that are too small."""
        _, _, name = budget.metric.partition(".")
        for region in by_device(self._report)[budget.device or ""].fit.regions:
            if region.name != name and not (budget.metric == VERDICT and region.short_bytes):
                continue
            if ACTIVATIONS in region.holds:
                yield from self._at_peak(region.policy or LIVE)
            if WEIGHTS in region.holds:
                yield from islice(self._by_share(("weight_bytes",)), _OF_WEIGHTS)

    def _at_peak(self, policy: str) -> Iterator[Blame]:
        """The layers whose outputs grew and are alive when the peak is reached, and the layer that sets it."""
        place = place_of_peak(self._report, policy)
        if place is None or place >= len(self._layers):
            return
        made = {tensor.first for tensor in self._alive(place)}
        makers = (layer for at, layer in enumerate(self._layers) if at in made)
        grown = (blame for layer in makers if (blame := self._grown(layer, ("output_bytes",))) is not None)
        yield from sorted(grown, key=_growth, reverse=True)
        setter = self._layers[place]
        yield Blame(setter.name, self._was(setter), setter.figures)

    def _alive(self, place: int) -> Iterator[TensorSpan]:
        """The tensors that layers made and that are alive while the node at ``place`` runs, by their lifetimes alone."""
        inputs = {given.name for given in self._report.network.inputs}
        for tensor in self._report.memory.tensors:
            if tensor.first <= place <= tensor.last and tensor.name not in inputs:
                yield tensor

    def _on_peak(self, policy: str) -> Iterator[str]:
        place = place_of_peak(self._report, policy)
        if place is None:
            return
        name, before = self._report.memory.peak_node[policy], self._peak_nodes.get(policy)
        renamed = dict(self.differences.renamed) if self.differences else {}
        if before is not None and renamed.get(before, before) != name:
            yield printable(f"the peak is set at {name}, and was at {before} in the baseline")
        else:
            yield printable(f"the peak is set at {name}")
        spans = [one for one in self._report.memory.tensors if one.first <= place <= one.last]
        alive = sorted(spans, key=lambda one: one.bytes or 0, reverse=True)
        named = [
            f"{printable(one.name, 40)} ({'?' if one.bytes is None else f'{one.bytes:,}'} B)" for one in alive[:_MOST]
        ]
        more = f" and {len(alive) - _MOST:,} more" if len(alive) > _MOST else ""
        yield f"alive there: {', '.join(named)}{more}"


def _of(figures: LayerFigures | None, name: str) -> int:
    """A figure of a layer; 0 of one that is not there, or not known, which nothing can be blamed for."""
    found = None if figures is None else getattr(figures, name)
    return found if isinstance(found, int) else 0


def _most(found: Iterable[tuple[int, str]]) -> tuple[int, str]:
    return max(found, key=_first)


def _first(one: tuple[Any, ...]) -> Any:
    return one[0]


def _growth(blame: Blame) -> int:
    return blame.growth or 0
