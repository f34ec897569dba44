"""What the calculators print: figures below each other, and tables where there are several layers, devices or designs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from weighbridge.calculators import Batching, Gemm, Layer, LayerTime, Separable
from weighbridge.errors import printable
from weighbridge.operators.record import known_total
from weighbridge.report.grid import Column, Grid, GridRow, grid_lines
from weighbridge.report.headlines import NOT_VERIFIED, bytes_headline, count_headline, learned_parts, rate_sentence
from weighbridge.report.page import Headline, Quantity
from weighbridge.report.spans import Line, Style, in_ascii, wrap
from weighbridge.report.terminal import Look, headline_lines
from weighbridge.units import binary_bytes, exact, seconds, significant

__all__ = ["batching_lines", "layer_lines", "separable_lines"]

_UNKNOWN = "?"
_NOT_MEASURED = "a bound from the figures of the device, not a measurement"


def layer_lines(name: str, layer: Layer, look: Look) -> Iterator[Line]:
    """The readouts of one layer, its time on each device, and notes."""
    return _as_shown(_layer_lines(name, layer, look), look)


def separable_lines(found: Separable, look: Look) -> Iterator[Line]:
    """A row a layer, the ratios, and the time of each layer on each device."""
    return _as_shown(_separable_lines(found, look), look)


def batching_lines(found: Batching, look: Look) -> Iterator[Line]:
    """A row a design."""
    return _as_shown(_batching_lines(found, look), look)


def _as_shown(lines: Iterator[Line], look: Look) -> Iterator[Line]:
    return lines if look.unicode else (in_ascii(line) for line in lines)


def _layer_lines(name: str, layer: Layer, look: Look) -> Iterator[Line]:
    yield from wrap(printable(name), look.measure, Style.STRONG)
    yield from wrap(f"{layer.kind}: {_symbols(layer) or 'no symbols'}", look.measure, Style.QUIET, hanging=2)
    yield Line()
    yield from headline_lines(tuple(_headlines(layer)), look)
    yield from _times(layer.on, layer.intensity_ops_per_byte, look)
    yield from _notes(layer.notes, look)


def _symbols(layer: Layer) -> str:
    return ", ".join(f"{name} {_value(name, value)}" for name, value in layer.symbols.items())


def _value(name: str, value: bool | int | tuple[int, ...]) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return exact(value)
    return "x".join(map(str, value if name == "k" or len(set(value)) > 1 else value[:1]))


def _headlines(layer: Layer) -> Iterator[Headline]:
    parts = learned_parts(layer.weights, layer.biases, layer.other_parameters)
    yield count_headline("parameters", layer.parameters, ", ".join(parts) or "nothing is learned")
    if layer.parameters:
        at = f" at {layer.weight_dtype}" if layer.weight_dtype else ""
        bits = _exactly(layer.parameter_bits)
        yield bytes_headline(
            "model size", layer.parameter_bytes, f"{bits} bits{at}{' (weights)' if layer.biases else ''}"
        )
    yield _values("input", layer.input_values, layer.input_bytes, " and ".join(map(_shape, layer.input_shapes)))
    yield _values("output", layer.output_values, layer.output_bytes, _shape(layer.output_shape))
    yield _values("input + output", layer.activation_values, layer.activation_bytes, layer.activation_dtype)
    padded = ", padded taps included" if "padding" in layer.symbols else ""
    yield count_headline("MACs", layer.macs, f"multiply-accumulates{padded}")
    yield count_headline("FLOPs = OPs", layer.flops, f"2 x MACs exactly{_others(layer)}")
    if layer.uses_per_weight is not None:
        yield _figure("uses per weight", _exactly(layer.uses_per_weight), "MACs / weights")
    for product in layer.gemm:
        yield _figure("matrix products", exact(product.products), _product(product))
    yield bytes_headline("bytes moved", layer.moved_bytes, "every tensor read or written once")
    if layer.intensity_ops_per_byte is not None:
        yield _figure("intensity", significant(layer.intensity_ops_per_byte), "operations a byte moved")


def _figure(label: str, text: str, convention: str) -> Headline:
    return Headline(label, Quantity(text, text), convention)


def _values(label: str, values: int, size: int | None, what: str) -> Headline:
    if size is None:
        return count_headline(label, values, f"{what}; of unknown size")
    shorter = f" = {binary_bytes(size)}" if size >= 1000 else ""
    return count_headline(label, values, f"{what}; {exact(size)} B{shorter}")


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def _exactly(value: int | float | Fraction) -> str:
    return exact(value) if isinstance(value, int) else significant(float(value))


def _others(layer: Layer) -> str:
    if layer.work is None:
        return "; other operations are unknown"
    parts = [f"{exact(number)} {kind}" for kind, number in layer.work._asdict().items() if number and kind != "macs"]
    return f"; beside them {', '.join(parts)}" if parts else ""


def _product(product: Gemm) -> str:
    unrolled = f"; im2col {exact(product.im2col_values)} values" if product.im2col_values else ""
    return f"m x k by k x n: {product.m}x{product.k} by {product.k}x{product.n}{unrolled}"


def _notes(notes: Sequence[str], look: Look) -> Iterator[Line]:
    if notes:
        yield Line()
    for note in notes:
        yield from wrap(f"note: {printable(note, 400)}", look.measure, Style.QUIET, hanging=6)


def _times(on: Sequence[LayerTime], intensity: float | None, look: Look) -> Iterator[Line]:
    """A device in sentences, several as a table."""
    if len(on) == 1:
        yield Line()
        yield from _on_one(on[0], intensity, look)
    elif on:
        yield Line()
        yield from grid_lines(_on_several([(time.device, time) for time in on], "device"), look.measure)


def _on_one(time: LayerTime, intensity: float | None, look: Look) -> Iterator[Line]:
    bound = f", bound by {time.bound}" if time.bound else ""
    yield from wrap(f"{printable(time.device)}: {_seconds(time.time_s)}{bound}", look.measure, Style.STRONG, hanging=2)
    if time.compute_s and time.peak_ops_per_s is not None:
        rate = rate_sentence(time.peak_ops_per_s, time.unit)
        yield from wrap(f"compute {seconds(time.compute_s)}: {rate}", look.measure, Style.PLAIN, indent=2, hanging=2)
    if time.memory_s:
        yield from wrap(f"memory {seconds(time.memory_s)}: the bytes moved", look.measure, Style.PLAIN, indent=2)
    if time.ridge_ops_per_byte is not None and intensity is not None:
        ridge = f"ridge point {significant(time.ridge_ops_per_byte)} operations a byte; the layer has {significant(intensity)}"
        yield from wrap(ridge, look.measure, Style.PLAIN, indent=2, hanging=2)
    conditions = f"{printable(time.hardware)}, {time.precision or 'precision unknown'}: {_NOT_MEASURED}"
    yield from wrap(conditions, look.measure, Style.QUIET, indent=2, hanging=2)
    for note in time.notes:
        yield from wrap(f"note: {printable(note, 400)}", look.measure, Style.QUIET, indent=2, hanging=6)


def _seconds(value: float | None, doubt: str = "") -> str:
    return _UNKNOWN if value is None else f"{doubt}{seconds(value)}"


def _on_several(times: Sequence[tuple[str, LayerTime]], what: str) -> Grid:
    columns = (
        Column(what),
        Column("time", True),
        Column("bound by"),
        Column("compute", True),
        Column("memory", True),
        Column("ridge, ops/byte", True, rank=1),
    )
    rows = []
    for name, time in times:
        ridge = _UNKNOWN if time.ridge_ops_per_byte is None else significant(time.ridge_ops_per_byte)
        total = _seconds(time.time_s, "" if time.verified else "~")
        bound = time.bound or _UNKNOWN
        rows.append(
            GridRow((printable(name, 40), total, bound, _seconds(time.compute_s), _seconds(time.memory_s), ridge))
        )
    precisions = dict.fromkeys(time.precision or "unknown precision" for _, time in times)
    notes = [f"{_NOT_MEASURED}; ? is unknown, and the JSON says why"]
    if not all(time.verified for _, time in times):
        notes.append(NOT_VERIFIED)
    return Grid(f"time at {', '.join(precisions)}", columns, tuple(rows), tuple(notes))


def _separable_lines(found: Separable, look: Look) -> Iterator[Line]:
    standard = found.standard
    yield from grid_lines(_layers(found), look.measure)
    yield from wrap(f"standard: {_symbols(standard)}", look.measure, Style.QUIET, hanging=2)
    yield Line()
    c_o, taps = standard.output_shape[1], _value("k", standard.symbols["k"])
    formula = f"1/N + 1/D_K^2 with N = c_o = {c_o:,} and a kernel of {taps}"
    ratios = (
        _ratio("MACs", found.macs_ratio, f"of the standard: {significant(float(1 / found.macs_ratio))} times fewer"),
        _ratio("weights", found.weights_ratio, "of the standard, biases left out"),
        _ratio("formula", found.formula_ratio, formula),
    )
    yield from headline_lines(ratios, look)
    for one, two, whole in zip(found.depthwise.on, found.pointwise.on, standard.on, strict=True):
        yield Line()
        times = (("depthwise", one), ("pointwise", two), ("standard", whole))
        yield from grid_lines(_on_several(times, printable(whole.device, 40)), look.measure)
    yield from _notes(standard.notes, look)


def _layers(found: Separable) -> Grid:
    """A row a layer; both in place of the standard one, with the values between them written and read again."""
    parts = (("depthwise", found.depthwise), ("pointwise", found.pointwise), ("standard", found.standard))
    depthwise, pointwise, standard = (
        GridRow((name, exact(one.weights), exact(one.macs), _size(one.moved_bytes), _shape(one.output_shape)))
        for name, one in parts
    )
    moved = known_total((found.depthwise.moved_bytes, found.pointwise.moved_bytes))
    both = GridRow(
        ("both", exact(found.weights), exact(found.macs), _size(moved), _shape(found.pointwise.output_shape))
    )
    columns = (
        Column("layer"),
        Column("weights", True),
        Column("MACs", True),
        Column("bytes moved", True, rank=1),
        Column("output", rank=2),
    )
    title = "a standard convolution, and the depthwise and the pointwise one in its place"
    return Grid(title, columns, (depthwise, pointwise, both, standard))


def _size(value: int | None) -> str:
    return _UNKNOWN if value is None else f"{exact(value)} B"


def _ratio(label: str, value: Fraction, convention: str) -> Headline:
    return Headline(label, Quantity(str(value), significant(float(value))), convention)


def _batching_lines(found: Batching, look: Look) -> Iterator[Line]:
    columns = (
        Column("design"),
        Column("batch", True),
        Column("latency", True),
        Column("per s", True),
        Column("x latency", True),
        Column("x per s", True),
        *([Column("frames missed", True)] if found.fps is not None else []),
    )
    rows = tuple(
        GridRow(
            (
                printable(design.name, 40),
                exact(design.batch),
                seconds(float(design.latency_s)),
                _fraction(design.throughput_per_s),
                _fraction(design.latency_ratio),
                _fraction(design.throughput_ratio),
                *([] if design.frames_missed is None else [exact(design.frames_missed)]),
            )
        )
        for design in found.designs
    )
    notes = ["per s = batch / latency, exactly; x: times that of the first design"]
    if found.fps is not None and found.deadline_s is not None:
        deadline = f"at {_fraction(found.fps)} frames a second a frame takes {seconds(float(found.deadline_s))}"
        notes.append(f"{deadline}; missed: latency x frames a second, rounded up, less the frame itself")
    yield from grid_lines(Grid("latency in, throughput out", columns, rows, tuple(notes)), look.measure)


def _fraction(value: Fraction) -> str:
    """A whole number as it is, any other with four significant digits."""
    return exact(value.numerator) if value.denominator == 1 else significant(float(value))
