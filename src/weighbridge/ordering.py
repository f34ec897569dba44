"""Order: the layers of a source run in the order in which the least is alive at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from weighbridge import __version__
from weighbridge.api import Inputs, Module, deployed_of
from weighbridge.choices import WeightBits
from weighbridge.errors import BadSpec
from weighbridge.exporting import Peaks, arena_in, arena_of, check_export, exported
from weighbridge.graph import Graph
from weighbridge.memory import plan
from weighbridge.memory.in_place import savings
from weighbridge.memory.lifetimes import Lifetimes, lifetimes
from weighbridge.memory.order import MOST_STATES, UNKNOWN_SIZES, least_peak
from weighbridge.memory.records import ARENA, MemoryPlan
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.reordered import NOT_KNOWN, reordered
from weighbridge.patches.stage import sizes_unknown
from weighbridge.report.ordered import Moved, Ordered, OrderStep, Overwrite
from weighbridge.sources import Given, Source, check, quietly, read

__all__ = ["best_order"]


def best_order(
    source: Source | Graph | Module,
    *,
    batch: int | None = None,
    sequence: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Inputs = None,
    kwargs: Mapping[str, Any] | None = None,
    weight_bits: WeightBits | None = None,
    activation_bits: int | None = None,
    precision: str | None = None,
    most_states: int = MOST_STATES,
    export: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Ordered:
    """The order of execution with the smallest peak under the policy ``live``, with the lower bound that no order goes below, and what
    each kernel that may write its result over an operand would save.

    The search is exact where the branches between two layers that every order has in one place have no more than ``most_states``
    states; beyond it a beam finds an order.  ``source``, the sizes and widths are as in ``weigh``.  ``export`` names a file that an
    ONNX or TensorFlow Lite source is written to in that order, never the source itself.

    Raises what ``weigh`` does, and ``BadSpec`` where the size of a tensor is unknown and where nothing can be exported so.
    """
    given = Given(batch, sequence, dims, inputs, kwargs)
    tell = progress or quietly
    check(source, given)
    asked = None if export is None else check_export(source, export)
    graph, _, origin, _ = read(source, given, tell)
    deployed = deployed_of(graph, weight_bits, activation_bits, precision)
    tell("looking for the best order")
    found = least_peak(deployed, OPERATORS, most_states)
    if isinstance(found, str):
        why, hint = sizes_unknown(deployed) if found == UNKNOWN_SIZES else (found, "")
        raise BadSpec(f"no order can be told: {why}", where=graph.name, hint=hint)
    spans, before = lifetimes(deployed, OPERATORS), plan(deployed)
    is_same = found.places == tuple(range(len(spans.nodes)))
    after = before if is_same else plan(reordered(deployed, found.places, OPERATORS))
    names = [node.name for node in spans.nodes]

    def weighed(path: str) -> Graph:
        return deployed_of(read(path, given, quietly).graph, weight_bits, activation_bits, precision)

    peaks = Peaks(found.before_bytes, found.peak_bytes, before.peak_bytes.get(ARENA))
    written, notes = None, deployed.notes
    if asked is not None:
        tell(f"writing {asked.name}")
        written = exported(asked, spans.nodes, found.places, peaks, weighed)
    policies = {name: (before.peak_bytes[name], after.peak_bytes.get(name)) for name in before.peak_bytes}
    if after.inapplicable.get(ARENA) == NOT_KNOWN:
        arena = arena_in(written) if written else arena_of(source, spans.nodes, found.places, peaks, weighed)
        policies[ARENA] = peaks.arena, arena
        notes = notes if arena is not None else (*notes, f"{ARENA} of the new order is left out: {NOT_KNOWN}")
    return Ordered(
        tool=f"weighbridge {__version__}",
        source=origin,
        name=graph.name,
        before_bytes=found.before_bytes,
        peak_bytes=found.peak_bytes,
        bound_bytes=found.bound_bytes,
        is_least=found.is_least,
        states=found.states,
        order=tuple(names[place] for place in found.places),
        moved=tuple(
            Moved(names[place], spans.nodes[place].operator, place, time)
            for time, place in enumerate(found.places)
            if place != time
        ),
        profile=tuple(_profile(names, found.places, before, after)),
        policies=policies,
        overwrites=tuple(_overwrites(deployed, spans, before)),
        notes=notes,
        exported=written,
    )


def _profile(names: Sequence[str], places: Sequence[int], before: MemoryPlan, after: MemoryPlan) -> Iterator[OrderStep]:
    """What runs at each time in the one order and in the other, and what is alive then."""
    rows = zip(places, before.profile["live"], after.profile["live"], strict=True)
    for time, (place, was, now) in enumerate(rows):
        yield OrderStep(names[time], was, names[place], now)


def _overwrites(deployed: Graph, spans: Lifetimes, memory: MemoryPlan) -> Iterator[Overwrite]:
    """What each kernel that may write over an operand saves where it runs, and of the peak."""
    profile = memory.profile["live"]
    peak, second = (*sorted((size or 0 for size in profile), reverse=True)[:2], 0, 0)[:2]
    for place, found in enumerate(savings(deployed, spans, OPERATORS)):
        for saving in sorted(found, key=lambda one: -one.bytes)[:1]:
            others = second if profile[place] == peak else peak
            left = max(others, (profile[place] or 0) - saving.bytes)
            node = spans.nodes[place]
            yield Overwrite(node.name, node.operator, saving.storage, saving.bytes, peak - min(peak, left))
