"""TensorFlow Lite Micro's operators of signals as ours (tensorflow/tflite-micro signal/micro/kernels)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.flexbuffer import read_map
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind
from weighbridge.frontends.tflite_table_contractions import result_type
from weighbridge.graph import Attribute

__all__ = ["SIGNAL_RULES", "option"]


def option(call: Foreign, name: str) -> int:
    """A whole number among the options of a custom operator.  Raises ``GraphError`` where there is none."""
    given = call.get("custom_options", b"")
    value = read_map(given).get(name) if len(given) else None
    if not isinstance(value, int):
        raise GraphError(f"{call.op} lacks its option {name}")
    return int(value)


def _asked(**names: str) -> Callable[[Foreign], Mapping[str, Attribute]]:
    """Our attributes that are options of theirs."""
    return lambda call: {ours: option(call, theirs) for ours, theirs in names.items()}


def _typed(call: Foreign) -> Mapping[str, Attribute]:
    return {"dtype": result_type(call)}


def _transform(form: str) -> Rule:
    """A Fourier transform along the last axis, the parts of its complex numbers side by side there."""

    def rule(call: Foreign) -> Sequence[Step]:
        x, size = call.type(0), option(call, "fft_length")
        if x is None or not x.shape or size < 1:
            raise GraphError(f"{call.op} of {size} values")
        forward = form == "real_to_half"
        *rest, last = x.shape
        pairs = (*rest, last, 1) if forward else (*rest, last // 2, 2)
        made = (*rest, 2 * (size // 2 + 1)) if forward else (*rest, size)
        before, behind = call.inner("pairs"), call.inner("transformed")
        attributes: dict[str, Attribute] = {"axes": (-1,), "sizes": (size,), "form": form, "pairs": True}
        return (
            Step("reshape", [("x", call.operand(0))], {"shape": pairs}, [before]),
            Step("fourier_transform", [("x", before)], attributes, [behind]),
            Step("reshape", [("x", behind)], {"shape": made}, call.outputs),
        )

    return rule


def _energy(call: Foreign) -> Mapping[str, Attribute]:
    return {"range": (option(call, "start_index"), option(call, "end_index")), **_typed(call)}


def _bank(call: Foreign) -> Sequence[Step]:
    """Operands are the spectrum, weights and what is left of them, then where channels begin among frequencies and weights, and how
    wide they are; weights may be padded, so that the widths tell how many there are.
    """
    widths = call.sizes(5)
    attributes: dict[str, Attribute] = {"channels": option(call, "num_channels"), **_typed(call)}
    if widths is not None and widths and min(widths) >= 0 and sum(widths):
        attributes["taps"] = sum(widths)
    pairs = bind(call, "x weights complements *places")
    return (Step("filter_bank", pairs, attributes, call.outputs),)


def _stack(call: Foreign) -> Mapping[str, Attribute]:
    return {"frames": option(call, "stacker_left_context") + option(call, "stacker_right_context") + 1}


SIGNAL_RULES: Final[Mapping[str, Rule]] = {
    "SignalWindow": As("mul", "a b"),
    "SignalFftAutoScale": As("auto_scale", "x"),
    "SignalRfft": _transform("real_to_half"),
    "SignalIrfft": _transform("half_to_real"),
    "SignalEnergy": As("spectrum_energy", "x", _energy),
    "SignalFilterBank": _bank,
    "SignalFilterBankSquareRoot": As("channel_root", "x shift", _typed),
    "SignalFilterBankSpectralSubtraction": As("spectral_subtraction", "x"),
    "SignalPCAN": As("gain_control", "x noise gains"),
    "SignalFilterBankLog": As("channel_log", "x", _typed),
    "SignalFramer": As("frames", "x", _asked(size="frame_size", step="frame_step")),
    "SignalStacker": As("frame_stack", "x", _stack),
    "SignalDelay": As("delay", "x", _asked(samples="delay_length")),
    "SignalOverlapAdd": As("overlap_add", "x", _asked(step="frame_step")),
}
