"""The layer calculator: every symbol a slider, every readout at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from weighbridge.calculators import KINDS, SYMBOLS, Layer, LayerTime, Operation, named, preset
from weighbridge.calculators import layer as weighed
from weighbridge.calculators.readouts import Symbols
from weighbridge.devices.catalogue import find, names
from weighbridge.graph import Shape
from weighbridge.textbook import find as network
from weighbridge.units import binary_bytes, decimal_bytes, exact, in_full, seconds, significant
from weighbridge.web.controls import Choice, Control, Number, State, Switch
from weighbridge.web.simulator import Answer, Preset, Readout, Simulator

__all__ = ["layer"]

_NO_DEVICE: Final = "none"
_REACH: Final[Mapping[str, int]] = {
    **dict.fromkeys(("c_i", "c_o", "m", "n"), 10_000),
    **dict.fromkeys(("h_o",), 256),
    **dict.fromkeys(("k", "stride", "padding", "dilation"), 11),
    "g": 512,
}
"""Where the slider of a symbol ends; the box beside it takes more."""
_STARTS: Final = {"c_i": 256, "c_o": 384, "k": 3, "h_o": 13, "padding": 1, "m": 384, "n": 1, "g": 2}
"""The third convolution of AlexNet."""
_KINDS: Final = ("conv", "linear", "depthwise", "grouped", "matmul")
_NUMBERS: Final = ("n", "c_i", "c_o", "k", "h_o", "stride", "padding", "dilation", "g", "m")
_WIDTHS: Final = ("weight_bits", "activation_bits")
_MEANINGS: Final[Mapping[str, str]] = {
    "n": "Images or vectors at once. Of a matmul the columns of the second matrix.",
    "c_o": "Channels that come out. The outputs of a linear layer.",
    "k": "Height and width of the kernel. Of a matmul the inner dimension.",
    "h_o": "Height and width of the output.",
    "stride": "Step of the kernel, down and across.",
    "padding": "Rows and columns of zeros at each side of the input.",
    "dilation": "Distance between the taps of the kernel: 1 is none left out.",
    "weight_bits": "Of each weight.",
    "activation_bits": "Of each value that goes in or comes out.",
}
"""Where one number stands for both axes and every symbol has a value, a meaning says less than that of the symbol itself."""
_NETWORK: Final = "alexnet"
_UNKNOWN: Final = "?"


def layer() -> Simulator:
    """The simulator; its presets are the layers of AlexNet that have weights."""
    return Simulator(
        "layer",
        "One layer",
        "What does a layer weigh, and what does it compute?",
        "Move a symbol and see which readouts move with it: the height of the output moves the MACs and leaves the parameters "
        "where they are; the batch never touches the weights.",
        tuple(_controls()),
        _answer,
        tuple(_presets()),
    )


def _controls() -> Iterator[Control]:
    yield Choice("kind", "kind of layer", "conv", {kind: f"{kind}: {KINDS[kind].meaning}" for kind in _KINDS})
    for name in _NUMBERS:
        symbol = SYMBOLS[name]
        yield Number(
            name,
            name,
            _STARTS.get(name, symbol.minimum),
            symbol.minimum,
            symbol.maximum,
            _REACH[name],
            is_log=_REACH[name] > 1000,
            meaning=_MEANINGS.get(name) or f"{symbol.meaning} {symbol.also}".strip(),
        )
    yield Switch("bias", "bias", False, "Whether the layer adds a bias; without it the weights alone are counted.")
    for name in _WIDTHS:
        yield Number(name, name, 32, 1, 64, unit="bits", meaning=_MEANINGS[name])
    devices = {_NO_DEVICE: "no device", **{name: name for name in names()}}
    yield Choice("on", "device", _NO_DEVICE, devices, "Time the layer on this device of the catalogue.")


def _presets() -> Iterator[Preset]:
    for node in network(_NETWORK).nodes:
        spec = preset(f"{_NETWORK}.{node.name}")
        if not isinstance(spec, Operation):
            symbols = weighed(spec).symbols
            yield Preset(f"{_NETWORK}, {node.name}", {"kind": spec.kind, **_square(symbols)})


def _square(symbols: Symbols) -> dict[str, int]:
    """The symbols that are controls; of a kernel and what goes with it one number stands for both axes."""
    found = {name: symbols[name] for name in _NUMBERS if name in symbols}
    return {name: value[0] if isinstance(value, tuple) else int(value) for name, value in found.items()}


def _answer(state: State) -> Answer:
    kind = str(state["kind"])
    own = [name for name in KINDS[kind].symbols if name != "g" or kind == "grouped"]
    given: dict[str, object] = {name: state[name] for name in (*_NUMBERS, *_WIDTHS, "bias") if name in own}
    device = None if state["on"] == _NO_DEVICE else find(str(state["on"]))
    found = weighed(named(kind, given), [] if device is None else [device])
    times = [readout for time in found.on for readout in _time(time)]
    notes = (*found.notes, *(note for time in found.on for note in time.notes))
    unused = tuple(name for name in (*_NUMBERS, *_WIDTHS, "bias") if name not in own)
    return Answer((*_storage(found), *_work(found), *times), (_sentence(found),), unused=unused, notes=notes)


def _sentence(found: Layer) -> str:
    uses = "" if found.uses_per_weight is None else f": each weight is used {significant(found.uses_per_weight)} times"
    return f"{exact(found.parameters)} parameters and {exact(found.macs)} MACs{uses}"


def _storage(found: Layer) -> Iterator[Readout]:
    group = "Stored"
    yield _count("parameters", "parameters", found.parameters, "every learned element", group)
    yield _count("weights", "weights", found.weights, "those that are multiplied", group)
    yield _count("biases", "biases", found.biases, "those that are added", group)
    yield Readout(
        "parameter_bits", "size in bits", _plain(found.parameter_bits), _number(found.parameter_bits), "", group
    )
    yield _bytes("parameter_bytes", "size", found.parameter_bytes, "rounded up to a byte a tensor", group)
    for name, label, unit in (
        ("parameter_kilobytes", "size in kB", 1000),
        ("parameter_megabytes", "size in MB", 1000**2),
    ):
        size = None if found.parameter_bytes is None else Fraction(found.parameter_bytes, unit)
        shown = _UNKNOWN if size is None else f"{in_full(size)} {label[-2:]}"
        yield Readout(name, label, None if size is None else float(size), shown, f"of {unit:,} B", group)
    group = "Activations"
    yield _count("input_values", "values that go in", found.input_values, _shape(found.input_shapes[0]), group)
    yield _count("output_values", "values that come out", found.output_values, _shape(found.output_shape), group)
    yield _bytes("activation_bytes", "activations", found.activation_bytes, "what goes in and what comes out", group)


def _work(found: Layer) -> Iterator[Readout]:
    group = "Computed"
    yield _count("macs", "MACs", found.macs, "multiply-accumulates", group)
    yield _count("flops", "FLOPs = OPs", found.flops, "2 x MACs exactly", group)
    uses = found.uses_per_weight
    shown = _UNKNOWN if uses is None else significant(uses)
    yield Readout("uses_per_weight", "uses of each weight", uses, shown, "MACs over weights", group)
    for gemm in found.gemm[:1]:
        size = f"{exact(gemm.m)} x {exact(gemm.k)} by {exact(gemm.k)} x {exact(gemm.n)}"
        times = f"{exact(gemm.products)} products of " if gemm.products > 1 else ""
        yield Readout("gemm", "as a matrix product", size, f"{times}{size}", "weights by inputs: m x k by k x n", group)
        yield _count("im2col_values", "unrolled input", gemm.im2col_values, "values of the k x n matrix", group)
    group = "Moved"
    yield _bytes("moved_bytes", "bytes moved", found.moved_bytes, "everything read or written once", group)
    intensity = found.intensity_ops_per_byte
    shown = _UNKNOWN if intensity is None else f"{significant(intensity)} ops/byte"
    yield Readout("intensity_ops_per_byte", "operational intensity", intensity, shown, "OPs over bytes moved", group)


def _time(time: LayerTime) -> Iterator[Readout]:
    group = f"On {time.hardware}"
    doubt = "" if time.verified else "~"
    said = {
        "compute_s": ("computing", "operations over the peak rate at this precision"),
        "memory_s": ("moving bytes", "bytes moved over the bandwidth"),
        "time_s": ("time", "the longer of the two: a floor from the data sheet, not a measurement"),
    }
    for name, (label, meaning) in said.items():
        value = getattr(time, name)
        shown = _UNKNOWN if value is None else f"{doubt}{seconds(value)}"
        yield Readout(name, label, value, shown, meaning, group)
    yield Readout("bound", "bound by", time.bound, time.bound or _UNKNOWN, "which of the two is longer", group)


def _count(name: str, label: str, value: int, meaning: str, group: str) -> Readout:
    return Readout(name, label, value, exact(value), meaning, group)


def _bytes(name: str, label: str, value: int | None, meaning: str, group: str) -> Readout:
    if value is None:
        return Readout(name, label, None, _UNKNOWN, meaning, group)
    in_units = f"{exact(value)} B = {decimal_bytes(value)} = {binary_bytes(value)}"
    return Readout(name, label, value, in_units if value >= 1000 else f"{exact(value)} B", meaning, group)


def _plain(value: int | Fraction) -> int | float:
    return value if isinstance(value, int) else float(value)


def _number(value: int | Fraction) -> str:
    return exact(value) if isinstance(value, int) else in_full(value)


def _shape(shape: Shape) -> str:
    return "x".join(map(str, shape))
