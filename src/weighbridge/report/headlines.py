"""The headline figures of a report, each with the sentence of its convention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from weighbridge.counts import NetworkFacts, Uncounted
from weighbridge.errors import printable
from weighbridge.report.asking import SHOWN_DEVICE
from weighbridge.report.page import Headline, Quantity
from weighbridge.report.record import Report
from weighbridge.units import binary_bytes, decimal_bytes, exact, short

__all__ = [
    "NOT_VERIFIED",
    "activations",
    "by_conventions",
    "bytes_headline",
    "computation",
    "count_headline",
    "headlines",
    "learned_parts",
    "lower_bound",
    "missing",
    "rate_sentence",
    "sizes",
]

NOT_VERIFIED = f"~ rests on a figure that is not verified; `{SHOWN_DEVICE}` says which"
"""The note of a table in which ~ stands before a time."""

_STORED = "everything a device has to store: parameters, buffers and constants"
_NO_VALUES = ("textbook", "toml", "graph")
"""Formats that hold no values of parameters, only their types."""


def lower_bound(text: str, is_exact: bool) -> str:
    """``text``, marked if the number misses something."""
    return text if is_exact else f">= {text}"


def missing(facts: NetworkFacts) -> str:
    """``2 nodes not counted: aten.foo x2``, or "" where nothing is missing."""
    return _not_counted(facts.uncounted)


def _not_counted(uncounted: Iterable[Uncounted]) -> str:
    by_operator = Counter(printable(item.operator, 40) for item in uncounted)
    if not by_operator:
        return ""
    named = ", ".join(f"{operator} x{count:,}" for operator, count in by_operator.most_common(4))
    more = f" and {len(by_operator) - 4:,} other operators" if len(by_operator) > 4 else ""
    count = sum(by_operator.values())
    return f"{count:,} {'node' if count == 1 else 'nodes'} not counted: {named}{more}"


def headlines(report: Report) -> tuple[Headline, ...]:
    """Size, computation, activations, figures by other conventions."""
    return (
        *sizes(report),
        *computation(report),
        *activations(report.facts),
        *by_conventions(report.facts),
    )


def count_headline(label: str, value: int, convention: str, is_exact: bool = True) -> Headline:
    """A number of things, in full and short."""
    full, brief = lower_bound(exact(value), is_exact), lower_bound(short(value), is_exact)
    return Headline(label, Quantity(full, brief), convention, is_exact)


def bytes_headline(label: str, value: int | None, convention: str, is_exact: bool = True) -> Headline:
    """A size in bytes, in powers of 1000 and, from 1,000 on, of 1024; ``unknown`` for None."""
    if value is None:
        return Headline(label, Quantity("unknown", "unknown"), convention, is_exact=False)
    full, brief = (lower_bound(text, is_exact) for text in (f"{exact(value)} B", decimal_bytes(value)))
    binary = f"= {binary_bytes(value)}; " if value >= 1000 else ""
    return Headline(label, Quantity(full, brief), f"{binary}{convention}", is_exact)


def learned_parts(weights: int, biases: int, others: int) -> list[str]:
    """``15 weights``, ``3 biases``: those of which there are any."""
    named = ((weights, "weights"), (biases, "biases"), (others, "others"))
    return [f"{exact(number)} {name}" for number, name in named if number]


def rate_sentence(ops_per_s: int, unit: str | None) -> str:
    """``2 x MACs at 432.0 MOPS (cpu)``: what a time of computing is made of."""
    return f"2 x MACs at {short(ops_per_s)}OPS ({printable(unit or '')})"


def sizes(report: Report, *, in_full: bool = False) -> Iterator[Headline]:
    """Parameters, and the bytes that storing them takes; of what is deployed ``in_full``, or where it differs."""
    facts = report.facts
    parts = learned_parts(facts.weights, facts.biases, facts.other_parameters)
    of = f": {', '.join(parts)}" if len(parts) > 1 else f", all of them {parts[0].split()[1]}" if parts else ""
    yield count_headline("parameters", facts.parameters, f"learned elements, each storage once{of}", facts.exact)
    if in_full or facts.deployed_parameters != facts.parameters:
        yield count_headline(
            "deployed params", facts.deployed_parameters, "parameters left after folding, batch norm first", facts.exact
        )
    weights = (
        ""
        if facts.weight_bytes in (None, facts.parameter_bytes)
        else f"; the weights alone {exact(facts.weight_bytes)} B"
    )
    constants = f"; buffers and constants {exact(facts.constant_bytes)} B more" if facts.constant_bytes else ""
    yield bytes_headline(
        "model size", facts.parameter_bytes, f"parameters {_widths(report)}{weights}{constants}", facts.exact
    )
    if in_full or facts.deployed_bytes not in (None, facts.parameter_bytes):
        label = "deployed size" if report.network.graph == "deployed" else "stored size"
        yield bytes_headline(label, facts.deployed_bytes, _STORED, facts.exact)


def _widths(report: Report) -> str:
    if not report.has_stored_widths:
        return "with the weights at the widths asked for"
    if report.network.format == "torch":
        return "as the module holds them"
    return "at their stored widths" if report.network.format in _NO_VALUES else "as the file stores them"


def computation(report: Report) -> Iterator[Headline]:
    """MACs and FLOPs."""
    facts = report.facts
    without = f"{missing(facts)}; " if facts.uncounted else ""
    yield count_headline(
        "MACs", facts.macs, f"{without}multiply-accumulates of contractions, padded taps included", facts.exact
    )
    others = sum(facts.work) - facts.work.macs
    beside = f"; {lower_bound(exact(others), facts.work_exact)} other operations stand beside them" if others else ""
    if not others and not facts.work_exact:
        beside = "; other operations are unknown"
    yield count_headline("FLOPs = OPs", facts.flops, f"2 x MACs exactly{beside}", facts.exact)


def activations(facts: NetworkFacts) -> Iterator[Headline]:
    """Values that exist while the network runs."""
    convention = "values of the inputs and of every node's outputs; views own none"
    total, total_bytes = facts.activations.total, facts.activations.total_bytes
    if total is None:
        yield Headline("activations", Quantity("unknown", "unknown"), convention, is_exact=False)
        return
    size = "" if total_bytes is None else f"{exact(total_bytes)} B: "
    yield count_headline("activations", total, f"{size}{convention}")


def by_conventions(facts: NetworkFacts) -> Iterator[Headline]:
    """A line for the MACs, named after the convention, which it defines; then one for the activations or the weights."""
    if not facts.conventions:
        return
    from weighbridge.counts.conventions import CONVENTIONS

    for name, found in facts.conventions.items():
        convention, shown = CONVENTIONS.get(name), printable(name, 20)
        sentence = "a convention that this version does not know" if convention is None else convention.sentence
        without = f"{_not_counted(found.uncounted)}; " if found.uncounted else ""
        parameters = f"{exact(found.parameters)} parameters"
        figure = "MACs" if convention is None else convention.figure
        yield count_headline(f"{figure}, {shown}", found.macs, f"{without}{sentence}", found.exact)
        if found.activations is None:
            if found.weight_bytes is not None:
                yield bytes_headline(f"weights, {shown}", found.weight_bytes, f"for {parameters}", found.exact)
            continue
        results = "results of convolutions, linear layers and matrix products, attention scores included"
        yield count_headline(
            f"activations, {shown}",
            found.activations,
            f"{results}; {parameters}, {_size(found.weight_bytes)}",
            found.exact,
        )


def _size(size: int | None) -> str:
    return "of unknown size" if size is None else f"{exact(size)} B"
