"""What a comparison comes to, in sentences that are true when they are read aloud."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from weighbridge.errors import printable
from weighbridge.report.comparison import Comparison, Difference, Metric, Model
from weighbridge.report.figures import EXPECTED_S, quotient
from weighbridge.report.fronts import other_batch
from weighbridge.report.layers import OF, LayerChange, LayerFigures, lengths, plain_operator
from weighbridge.report.metric_rows import Side, side_of
from weighbridge.report.published_sentences import of_published
from weighbridge.report.record import NetworkInput, OnDevice, Report
from weighbridge.report.verdicts import DETAILED
from weighbridge.report.view import without_folders
from weighbridge.units import exact, rough_ratio, significant

__all__ = ["ends_of", "names_of", "sentences"]

_ROOM: Final = 48
"""Characters that the columns have for all names: there must be room for figures and ratios in 80."""
_HEADLINES: Final = (
    ("weights", "the weights", "as many weights"),
    ("parameters", "the parameters", "as many parameters"),
    ("parameter_bytes", "the model size", "the same model size"),
    ("macs", "the MACs", "as many MACs"),
    ("peak_bytes.live", "the live peak", "the same live peak"),
)
"""A metric, what it is called in a sentence, and what is said where both are equal."""
_PARTS: Final = (
    ("operator", "operator"),
    ("output", "shape of output"),
    ("weights", "weights"),
    ("macs", "MACs"),
)
"""What layers may differ in, and how it is called; bytes and zeros stand beside it where these are equal."""


def names_of(found: Comparison) -> Mapping[str, str]:
    """Of each model's name what a page calls it: the name, or the end of it, or a letter where one of both is too long."""
    names = [model.name for model in found.models]
    shown, ends = [printable(_plain_name(model), 80) for model in found.models], ends_of(found)
    letters = [chr(ord("A") + place) if place < 26 else f"no. {place + 1}" for place in range(len(names))]
    fitting = (
        kind
        for kind in (shown, ends)
        if len({*kind}) == len(kind) and max(map(len, kind), default=0) <= _ROOM // len(kind)
    )
    return dict(zip(names, next(fitting, letters), strict=True))


def ends_of(found: Comparison) -> list[str]:
    """Of each model its name without folders, or the name that a published row has by itself."""
    return [_end(model) for model in found.models]


def _end(model: Model) -> str:
    return printable(without_folders(_plain_name(model)), 80)


def _plain_name(model: Model) -> str:
    """The name, that of a published row without what marks it as one."""
    return model.name if model.published is None else model.published.name


def _joined(words: Sequence[str], last: str = "and") -> str:
    """``a, b and c``."""
    return f" {last} ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def sentences(found: Comparison) -> Iterator[str]:
    """First what makes the sides no equals, then figures, layers and verdicts, then what was published."""
    called = names_of(found)
    sides = [side_of(called[model.name], model.report) for model in found.models if model.report is not None]
    if len(sides) > 1:
        yield from _unlike(sides)
        for place, side in enumerate(sides[1:], 1):
            yield _totals(found, sides[0].name, side.name, place)
        for one in found.differences:
            yield _layers(one, called[one.against], called[one.name])
    yield from _fits(sides)
    yield from of_published(found, called)


def _unlike(sides: Sequence[Side]) -> Iterator[str]:
    """Why figures of the sides may not be compared as if they were of the same kind."""
    for side in sides[1:]:
        yield from _other_inputs(sides[0], side)
        yield from _weighed_otherwise(sides[0], side)
    for name, report, _ in sides:
        if not report.facts.exact:
            yield f"careful: {name} is not counted in full: its MACs and parameters are lower bounds"
        elif not report.is_exact:
            yield f"careful: the memory of {name} is not known in full"
    yield from _precisions(sides)


def _other_inputs(first: Side, later: Side) -> Iterator[str]:
    base, report = first.report, later.report
    both = f"{first.name} takes {_inputs(base)} and {later.name} takes {_inputs(report)}"
    if other_batch(base, report):
        yield f"careful: {both}: MACs, activations and times are of another batch, not of another network alone"
    elif _shapes(base) != _shapes(report):
        yield f"careful: the inputs differ: {both}"
    elif _types(base) != _types(report):
        yield both


def _weighed_otherwise(first: Side, later: Side) -> Iterator[str]:
    names, reports = (first.name, later.name), (first.report, later.report)
    graphs = [printable(report.network.graph, 40) for report in reports]
    if graphs[0] != graphs[1]:
        yield f"careful: {names[0]} is weighed {graphs[0]} and {names[1]} {graphs[1]}"
    plans = [report.memory.training for report in reports]
    how = [printable(f"by the rule {plan.rule} with {plan.optimiser}", 80) for plan in plans if plan is not None]
    if len(how) == 2 and how[0] != how[1]:
        yield f"careful: training is {how[0]} for {names[0]} and {how[1]} for {names[1]}"
    stored = [report.has_stored_widths for report in reports]
    if stored[0] != stored[1]:
        asked, as_stored = (names[1], names[0]) if stored[0] else names
        yield f"careful: the weights of {asked} are at the widths asked for, those of {as_stored} as they are stored"


def _precisions(sides: Sequence[Side]) -> Iterator[str]:
    """Where the times on a device are of different precisions."""
    by_precision: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for device in _devices(sides):
        there = tuple((name, on.conditions.precision or "an unknown precision") for name, on in _on(device, sides))
        if len({precision for _, precision in there}) > 1:
            by_precision.setdefault(there, []).append(device)
    for there, devices in by_precision.items():
        where = _joined(devices) if len(devices) <= DETAILED else f"{len(devices):,} devices"
        yield f"on {where}, {_joined([f'{name} runs at {printable(precision, 40)}' for name, precision in there])}"


def _devices(sides: Iterable[Side]) -> list[str]:
    return list(dict.fromkeys(device for side in sides for device in side.on))


def _on(device: str, sides: Iterable[Side]) -> list[tuple[str, OnDevice]]:
    return [(side.name, on) for side in sides if (on := side.on.get(device)) is not None]


def _shapes(report: Report) -> list[str]:
    """The shapes of the inputs, whatever the order in which they and their channels come."""
    return sorted(repr(None if one.shape is None else sorted(one.shape)) for one in report.network.inputs)


def _types(report: Report) -> list[str]:
    return sorted(one.dtype for one in report.network.inputs)


def _inputs(report: Report) -> str:
    inputs = report.network.inputs
    if len(inputs) == 1:
        return _input(inputs[0])
    return f"{len(inputs):,} inputs{': ' * bool(inputs)}{', '.join(_input(one) for one in inputs[:4])}{', …' * (len(inputs) > 4)}"


def _input(one: NetworkInput) -> str:
    shape = "an unknown shape" if one.shape is None else "x".join(map(str, one.shape)) or "a scalar"
    return f"{shape} of {printable(one.dtype, 20)}"


def _totals(found: Comparison, first: str, name: str, place: int) -> str:
    """How large a later model is against the first, in the figures that matter most."""
    weighed = [at for at, model in enumerate(found.models) if model.report is not None]
    base, other = weighed[0], weighed[place]
    if all(_is_equal(one, base, other) for one in found.metrics):
        return f"{name} and {first} are equal in every figure"
    shown = [line for line in _HEADLINES if not _goes_without_saying(line[0], found, base, other)]
    parts = [_times(found.metric(metric), base, other, what, same) for metric, what, same in shown]
    devices = list(dict.fromkeys(one.device for one in found.metrics if one.device is not None))[:DETAILED]
    for device in devices:
        floor = found.metric("floor_s", device)
        where = f"on {printable(device, 60)}"
        parts.append(_times(floor, base, other, f"the latency floor {where}", f"the same latency floor {where}"))
        parts += (_expected(one, base, other, where) for one in found.metrics if _is_expected(one, device))
    said = _joined([part for part in parts if part])
    return (
        f"against {first}, {name} has {said}"
        if said
        else f"between {name} and {first} no ratio of the main figures is known"
    )


def _is_expected(metric: Metric, device: str) -> bool:
    return metric.device == device and metric.name.startswith(EXPECTED_S)


def _expected(metric: Metric, base: int, other: int, where: str) -> str:
    """``0.48 times the expected time on b with K``: both are estimates, and so is this; "" where one of them is unknown."""
    ratio = quotient(metric.values[other], metric.values[base])
    kernels = printable(metric.name.removeprefix(EXPECTED_S), 40)
    return "" if ratio is None else f"{rough_ratio(ratio)} times the time expected {where} with {kernels}"


def _is_equal(metric: Metric, base: int, other: int) -> bool:
    """Whether a figure is the same on both sides, and sure to be; what both lack is no difference."""
    if metric.values[base] is None and metric.values[other] is None:
        return True
    return metric.exact[base] and metric.exact[other] and metric.values[base] == metric.values[other]


def _goes_without_saying(name: str, found: Comparison, base: int, other: int) -> bool:
    """Whether a figure adds nothing: a size that goes with the number of parameters, and weights unless they are all that stayed.

    They are where an exporter folded batch norm: the parameters beside them are fewer.
    """
    if name == "weights":
        weights, parameters = found.metric("weights"), found.metric("parameters")
        return not _is_equal(weights, base, other) or _is_equal(parameters, base, other)
    ratios = {one: found.metric(one).ratios[other] for one in ("parameters", "parameter_bytes")}
    return name == "parameter_bytes" and ratios["parameters"] is not None and len(set(ratios.values())) == 1


def _times(metric: Metric, base: int, other: int, what: str, same: str) -> str:
    """``2.02 times the MACs``; "" where the ratio is unknown."""
    ratio, exact_here, exact_there = metric.ratios[other], metric.exact[other], metric.exact[base]
    if ratio is None:
        return ""
    if exact_here and exact_there:
        if metric.values[base] == metric.values[other]:
            return same
        return f"{significant(ratio)} times {what}" if ratio else f"no {what.removeprefix('the ')}"
    bound = {(True, False): "at most ", (False, True): "at least "}.get((exact_here, exact_there))
    if bound is None:
        return f"{significant(ratio)} times {what} as far as they are counted"
    return f"{bound}{significant(ratio)} times {what}"


def _layers(found: Difference, first: str, name: str) -> str:
    """What became of the layers of the first model."""
    new = sum(layer.before is None for layer in found.layers)
    gone = sum(layer.after is None for layer in found.layers)
    changed = [layer for layer in found.layers if layer.before is not None and layer.after is not None]
    return f"{_sides(found.same, changed, new, gone, first, name)}{_renamed(found)}"


def _sides(same: int, changed: Sequence[LayerChange], new: int, gone: int, first: str, name: str) -> str:
    if not (same or changed or new or gone):
        return f"neither {first} nor {name} has a layer"
    if not same and not changed:
        return f"no layer of {name} is one of {first}: {_layers_of(new)} against {exact(gone)}"
    if not changed and not gone:
        return (
            f"{name} has every layer of {first} and {f'{exact(new)} more' if new else f'no other: {_layers_of(same)}'}"
        )
    if not changed and not new:
        return f"{name} has no layer that {first} does not have, and lacks {_layers_of(gone)} of it"
    what = _joined(_what_differs(changed), "or")
    differ = f"{exact(len(changed))} {_differ(len(changed))} in {what}"
    if not new and not gone:
        each = "the only one differs" if len(changed) == 1 else f"all {exact(len(changed))} differ"
        alike = f"{differ}, {exact(same)} {_is(same)} alike" if same else f"{each} in {what}"
        return f"{name} has the layers of {first}, one for one: {alike}"
    parts = [differ] * bool(changed)
    parts += [f"{exact(new)} {_is(new)} new"] * bool(new) + [f"{exact(gone)} of {first} {_is(gone)} gone"] * bool(gone)
    as_before = f"{exact(same)} {_is(same)}" if same else "none is"
    return f"of the layers of {name} {as_before} as in {first}; {_joined(parts)}"


def _renamed(found: Difference) -> str:
    if not found.renamed:
        return ""
    count = len(found.renamed)
    those = "all of those alike are" if count == found.same > 1 else f"{exact(count)} of those alike {_is(count)}"
    return f"; {those} called otherwise"


def _differ(count: int) -> str:
    return "differs" if count == 1 else "differ"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _layers_of(count: int) -> str:
    return f"{exact(count)} {'layer' if count == 1 else 'layers'}"


def _what_differs(layers: Sequence[LayerChange]) -> list[str]:
    """What any of the layers that both sides have differs in."""
    found: dict[str, None] = {}
    for layer in layers:
        assert layer.before is not None
        assert layer.after is not None
        found |= dict.fromkeys(_differences(layer.before, layer.after))
    return list(found)


def _differences(old: LayerFigures, new: LayerFigures) -> Iterator[str]:
    for name, words in _PARTS:
        if _plain(old, name) != _plain(new, name):
            yield words
    if old.operator != new.operator and _plain(old, "operator") == _plain(new, "operator"):
        yield "what is fused into them"
    for name, words in (
        ("nonzero_weights", "zeros"),
        ("weight_bytes", "bytes of the weights"),
        ("output_bytes", "bytes of the output"),
    ):
        if _plain(old, OF[name]) == _plain(new, OF[name]) and getattr(old, name) != getattr(new, name):
            yield words


def _plain(figures: LayerFigures, name: str) -> object:
    """A figure of a layer as layers are matched by: the operator alone, and lengths in any order."""
    if name == "operator":
        return plain_operator(figures)
    return lengths(figures) if name == "output" else getattr(figures, name)


def _fits(sides: Sequence[Side]) -> Iterator[str]:
    """Which models fit: a sentence a device, or how many devices each fits on where there are many."""
    devices = _devices(sides)
    if len(devices) > DETAILED:
        for side in sides:
            verdicts = [on.fit.verdict for on in side.report.on]
            if verdicts:
                yield f"{side.name} fits on {verdicts.count('fits')} of {len(verdicts):,} devices"
        return
    for device in devices:
        there: dict[str, list[str]] = {}
        for name, on in _on(device, sides):
            there.setdefault(on.fit.verdict, []).append(name)
        parts = [_verdict(verdict, names) for verdict, names in there.items()]
        yield f"on {printable(device, 60)}, {_joined(parts)}"


def _verdict(verdict: str, names: Sequence[str]) -> str:
    one = len(names) == 1
    if verdict == "fits":
        return f"{_joined(names)} {'fits' if one else 'fit'}"
    if verdict == "does not fit":
        return f"{_joined(names)} {'does' if one else 'do'} not fit"
    return f"whether {_joined(names)} {'fits' if one else 'fit'} is unknown"
