"""Depthwise separable convolutions: what is left of a convolution's cost, against its filters and against its kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from weighbridge.calculators import SYMBOLS, Conv, Layer
from weighbridge.calculators import separable as weighed
from weighbridge.calculators.separation import Separable, formula
from weighbridge.operators.record import known_total
from weighbridge.report.charts.theme import ACCENT, MUTED, PALETTE
from weighbridge.units import exact, significant
from weighbridge.web.controls import Control, Number, State, Switch
from weighbridge.web.figures import UNKNOWN, count, size
from weighbridge.web.simulator import Answer, Figure, Plot, Preset, Readout, Simulator

__all__ = ["separable"]

_STARTS: Final = {"c_o": 64, "k": 3, "c_i": 32, "h_o": 112, "stride": 1, "n": 1}
_REACH: Final = {"c_o": 1024, "k": 11, "c_i": 1024, "h_o": 224, "stride": 4, "n": 64}
_LABELS: Final = {"c_o": "N, filters (c_o)", "k": "D_K, kernel (k)", "c_i": "M, channels (c_i)"}
"""Those that the paper has a symbol for as well."""
_MEANINGS: Final = {
    "c_o": "Channels that come out.",
    "k": "Height and width of the kernel; the input is padded by half of it.",
    "c_i": "Channels that go in.",
    "h_o": "Height and width of the output.",
    "stride": "Step of the kernel, down and across.",
    "n": "Images at once.",
}
_KERNELS: Final = tuple(range(1, 12))
_LARGEST_KERNEL: Final = 101
_FILTERS: Final = tuple(sorted({2**power for power in range(11)} | {3 * 2**power for power in range(9)}))


def separable() -> Simulator:
    """The simulator; its presets are layers of MobileNetV1 as they would be without the split, and two at the ends."""
    return Simulator(
        "separable",
        "Depthwise separable convolutions",
        "How much of a convolution is left when a depthwise and a pointwise one stand in its place?",
        "A depthwise convolution has one filter a channel and mixes none; a pointwise one, 1x1, only mixes. Together they take "
        "1/N + 1/D_K² of the MACs and of the weights: with many filters the kernel decides, with few the filters do.",
        tuple(_controls()),
        _answer,
        (
            Preset("MobileNetV1, second block", {"c_i": 32, "c_o": 64, "k": 3, "h_o": 112}),
            Preset("MobileNetV1, a block at 14 x 14", {"c_i": 512, "c_o": 512, "k": 3, "h_o": 14}),
            Preset("a kernel of 7 x 7", {"c_i": 512, "c_o": 512, "k": 7, "h_o": 14}),
            Preset("a kernel of 1 x 1: nothing is won", {"c_i": 512, "c_o": 512, "k": 1, "h_o": 14}),
            Preset("a single filter: nothing is won", {"c_i": 512, "c_o": 1, "k": 3, "h_o": 14}),
        ),
    )


def _controls() -> Iterator[Control]:
    for name, start in _STARTS.items():
        symbol = SYMBOLS[name]
        maximum = _LARGEST_KERNEL if name == "k" else symbol.maximum
        label = _LABELS.get(name, name)
        yield Number(
            name,
            label,
            start,
            1,
            maximum,
            _REACH[name],
            is_log=_REACH[name] > 1000,
            meaning=_MEANINGS[name],
        )
    yield Switch("bias", "bias", False, "Both layers have one then, where the one that they replace has one.")


def _answer(state: State) -> Answer:
    found = weighed(_conv(state))
    ratio = found.macs_ratio
    c_o, k = int(state["c_o"]), int(state["k"])
    return Answer(
        tuple(_readouts(found)),
        (_sentence(c_o, k, ratio), *_bytes(found)),
        (_by_filters(c_o, k, ratio), _by_kernel(c_o, k, ratio)),
    )


def _conv(state: State) -> Conv:
    given = {name: int(state[name]) for name in _STARTS}
    return Conv(**given, padding=(given["k"] - 1) // 2, bias=bool(state["bias"]))


def _readouts(found: Separable) -> Iterator[Readout]:
    group = "What is left"
    yield _ratio("macs_ratio", "of the MACs", found.macs_ratio, "separable over standard", group)
    yield _ratio("weights_ratio", "of the weights", found.weights_ratio, "separable over standard", group)
    yield _ratio("formula_ratio", "1/N + 1/D_K²", found.formula_ratio, "as the paper states it", group)
    fewer = 1 / found.macs_ratio
    yield Readout(
        "times_fewer", "times fewer MACs", float(fewer), significant(float(fewer)), "the ratio upside down", group
    )
    parts = {"standard": found.standard, "depthwise": found.depthwise, "pointwise": found.pointwise}
    titles = {
        "standard": "Standard convolution",
        "depthwise": "Depthwise: a filter a channel",
        "pointwise": "Pointwise: 1 x 1 over all channels",
    }
    for name, layer in parts.items():
        yield from _of(name, titles[name], layer)
    group = "Depthwise and pointwise together"
    yield count("macs", "MACs", found.macs, group)
    yield count("weights", "weights", found.weights, group)
    moved = known_total((found.depthwise.moved_bytes, found.pointwise.moved_bytes))
    yield size("moved_bytes", "bytes moved", moved, group, "what lies between the two is written and read")


def _of(name: str, group: str, layer: Layer) -> Iterator[Readout]:
    yield count(f"{name}.macs", "MACs", layer.macs, group)
    yield count(f"{name}.weights", "weights", layer.weights, group)
    if layer.biases:
        yield count(f"{name}.biases", "biases", layer.biases, group)
    yield size(f"{name}.moved_bytes", "bytes moved", layer.moved_bytes, group, "all read or written once, fp32")
    intensity = layer.intensity_ops_per_byte
    shown = UNKNOWN if intensity is None else f"{significant(intensity)} ops/byte"
    yield Readout(f"{name}.intensity_ops_per_byte", "operational intensity", intensity, shown, "", group)


def _ratio(name: str, label: str, value: Fraction, meaning: str, group: str) -> Readout:
    whole = value.denominator == 1
    shown = (
        exact(int(value))
        if whole
        else f"{significant(float(value))} = {exact(value.numerator)}/{exact(value.denominator)}"
    )
    return Readout(name, label, float(value), shown, meaning, group)


def _sentence(c_o: int, k: int, ratio: Fraction) -> str:
    said = f"1/{exact(c_o)} + 1/{exact(k)}² = {significant(float(ratio))}"
    if ratio < 1:
        return f"{said}: {significant(float(1 / ratio))} times fewer MACs and weights"
    return f"{said}: {'as many MACs and weights' if ratio == 1 else 'nothing is won, the two take more than the one'}"


def _bytes(found: Separable) -> Iterator[str]:
    """Whether the bytes fall as the MACs do."""
    one, other = found.standard.moved_bytes, known_total((found.depthwise.moved_bytes, found.pointwise.moved_bytes))
    if one and other:
        said = f"{significant(other / one)} times as many" if other > one else f"{significant(one / other)} times fewer"
        yield f"bytes moved: {'as many' if one == other else said}"


def _by_filters(c_o: int, k: int, ratio: Fraction) -> Plot:
    rows = _rows("filters", {one: formula(one, k, k) for one in sorted({*_FILTERS, c_o})}, c_o)
    floor = Fraction(1, k * k)
    rows += tuple({"filters": end, "floor": float(floor)} for end in (min(*_FILTERS, c_o), max(*_FILTERS, c_o)))
    said = _rest(ratio, "with ever more filters", "1/D_K²", floor)
    return Plot(
        "by_filters",
        f"Against the filters, kernel {exact(k)} x {exact(k)}",
        _spec("by_filters", "filters", "N", {"type": "log", "nice": False}),
        rows,
        said,
    )


def _by_kernel(c_o: int, k: int, ratio: Fraction) -> Plot:
    rows = _rows("kernel", {one: formula(c_o, one, one) for one in sorted({*_KERNELS, k})}, k)
    floor = Fraction(1, c_o)
    rows += tuple({"kernel": end, "floor": float(floor)} for end in (1, max(*_KERNELS, k)))
    said = _rest(ratio, "with ever larger kernels", "1/N", floor)
    return Plot(
        "by_kernel",
        f"Against the kernel, {exact(c_o)} filters",
        _spec("by_kernel", "kernel", "D_K", {"zero": False}),
        rows,
        said,
    )


def _rest(ratio: Fraction, when: str, towards: str, floor: Fraction) -> str:
    left = f"{significant(float(ratio))} is left"
    return f"{left}; {when} it would near {towards} = {significant(float(floor))}, the grey line"


def _rows(field: str, ratios: Mapping[int, Fraction], now: int) -> tuple[Mapping[str, Figure], ...]:
    return tuple(
        {field: at, "ratio": float(ratio), "said": significant(float(ratio)), "now": at == now}
        for at, ratio in ratios.items()
    )


def _spec(name: str, field: str, title: str, scale: Mapping[str, Any]) -> Mapping[str, Any]:
    """The ratio on a logarithmic axis: a point for what can be chosen, the one of now larger, and where it comes to rest."""
    ratio = {"field": "ratio", "type": "quantitative", "title": "part that is left", "scale": {"type": "log"}}
    x: dict[str, Any] = {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": dict(scale),
    }
    tooltip = [
        {"field": field, "type": "quantitative", "title": title},
        {"field": "said", "type": "nominal", "title": "ratio"},
    ]
    of_ratio = [{"filter": "isValid(datum.ratio)"}]
    return {
        "data": {"name": name},
        "width": 560,
        "height": 180,
        "encoding": {"x": x},
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.floor)"}],
                "mark": {"type": "line", "color": MUTED, "strokeDash": [5, 4], "aria": False},
                "encoding": {"y": {**ratio, "field": "floor"}},
            },
            {
                "transform": of_ratio,
                "mark": {"type": "line", "color": PALETTE[0], "aria": False},
                "encoding": {"y": ratio},
            },
            {
                "transform": of_ratio,
                "mark": {"type": "point", "filled": True, "opacity": 1, "aria": False},
                "encoding": {
                    "y": ratio,
                    "color": {"condition": {"test": "datum.now", "value": ACCENT}, "value": PALETTE[0]},
                    "size": {"condition": {"test": "datum.now", "value": 170}, "value": 30},
                    "tooltip": tooltip,
                },
            },
        ],
    }
