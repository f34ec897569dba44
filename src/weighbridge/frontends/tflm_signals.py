"""The kernels of TensorFlow Lite Micro for custom operators, and what each demands (signal/micro/kernels and
tensorflow/lite/micro/kernels in tensorflow/tflite-micro).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.frontends.tflite_model import TfliteTensor
from weighbridge.frontends.tflm_call import Call, dimension_of
from weighbridge.frontends.tflm_rules import Kernel, kinds, pairs, present, ranks, same, same_rank, stored

__all__ = ["CUSTOM"]

_ONE: Final = (1, 1)
_TWO: Final = (2, 2)
_THREE: Final = (3, 3)


def _framed(call: Call) -> str:
    """framer.cc."""
    rank, step = len(_shape(call.input(0))), call.custom_number("frame_step")
    if len(_shape(call.output(0))) != rank + 1:
        return "its output needs one dimension more than its input"
    samples = dimension_of(call.input(0), -1)
    return (
        ""
        if step and samples >= step and samples % step == 0
        else f"{samples} values are no multiple of a step of {step}"
    )


def _overlapped(call: Call) -> str:
    """overlap_add.cc."""
    fits = len(_shape(call.input(0))) == len(_shape(call.output(0))) + 1
    return "" if fits else "its input needs one dimension more than its output"


def _circular(call: Call) -> str:
    """circular_buffer_common.cc."""
    before, after = _shape(call.input(0)), _shape(call.output(0))
    fits = len(before) == len(after) == 4 and before[1] == 1 and (before[0], *before[2:]) == (after[0], *after[2:])
    return "" if fits else f"the shapes {list(before)} and {list(after)} do not go together"


def _shape(tensor: TfliteTensor | None) -> tuple[int, ...]:
    return () if tensor is None else tensor.shape or ()


_SAMPLES: Final = Kernel(
    _ONE, _ONE, (present("i0"), kinds("i0 o0", "int16 int32 float32"), same("i0 o0"), same_rank("i0 o0"))
)

CUSTOM: Final[Mapping[str, Kernel]] = {
    "BasicClassifier": Kernel(_THREE, _TWO, (present("i0 i1 i2"), kinds("i0 i1 i2 o1", "int32"), kinds("o0", "bool"))),
    "CIRCULAR_BUFFER": Kernel(
        _ONE, (1, 2), (present("i0"), same("i0 o0"), kinds("i0", "int8"), kinds("o1", "bool"), _circular)
    ),
    "SignalDelay": Kernel(_ONE, _ONE, (present("i0"), kinds("i0 o0", "int16"))),
    "SignalEnergy": Kernel(
        _ONE, _ONE, (present("i0"), ranks("i0 o0", 1, 1), kinds("i0", "int16"), kinds("o0", "uint32"))
    ),
    "SignalFftAutoScale": Kernel(
        _ONE,
        _TWO,
        (present("i0"), ranks("i0 o0", 1, 1), ranks("o1", 0, 0), kinds("i0 o0", "int16"), kinds("o1", "int32")),
    ),
    "SignalFilterBank": Kernel(
        (6, 6),
        _ONE,
        (
            present("i0 i1 i2 i3 i4 i5"),
            ranks("i0 i1 i2 i3 i4 i5 o0", 1, 1),
            kinds("i0", "uint32"),
            kinds("i1 i2 i3 i4 i5", "int16"),
            kinds("o0", "uint64"),
        ),
    ),
    "SignalFilterBankLog": Kernel(
        _ONE, _ONE, (present("i0"), ranks("i0 o0", 1, 1), kinds("i0", "uint32"), kinds("o0", "int16"))
    ),
    "SignalFilterBankSpectralSubtraction": Kernel(
        _ONE, _TWO, (present("i0"), ranks("i0 o0 o1", 1, 1), kinds("i0 o0 o1", "uint32"))
    ),
    "SignalFilterBankSquareRoot": Kernel(
        _TWO,
        _ONE,
        (present("i0 i1"), ranks("i0 o0", 1, 1), ranks("i1", 0, 0), pairs("i0 i1 o0", "uint64/int32/uint32")),
    ),
    "SignalFramer": Kernel(
        _ONE, _TWO, (present("i0"), ranks("o1", 0, 0), kinds("i0 o0", "int16"), kinds("o1", "bool"), _framed)
    ),
    "SignalIrfft": _SAMPLES,
    "SignalOverlapAdd": Kernel(
        _ONE, _ONE, (present("i0"), kinds("i0 o0", "int16 float32"), same("i0 o0"), ranks("i0", 2, 8), _overlapped)
    ),
    "SignalPCAN": Kernel(
        _THREE,
        _ONE,
        (present("i0 i1 i2"), ranks("i0 i1 i2 o0", 1, 1), kinds("i0 i1 o0", "uint32"), kinds("i2", "int16")),
    ),
    "SignalRfft": _SAMPLES,
    "SignalStacker": Kernel(
        _ONE,
        _TWO,
        (present("i0"), ranks("i0 o0", 1, 1), ranks("o1", 0, 0), kinds("i0 o0", "int16"), kinds("o1", "bool")),
    ),
    "SignalWindow": Kernel(
        _TWO, _ONE, (present("i0 i1"), ranks("i1", 1, 1), same_rank("i0 o0"), kinds("i0 i1 o0", "int16"))
    ),
    "TFLM_DECODE": Kernel((2, 1 << 30), (1, 1 << 30), (present("i0 i1"), stored("i0 i1"))),
    "TFLite_Detection_PostProcess": Kernel(_THREE, (4, 4), (ranks("i0 i1", 3, 3), ranks("i2", 2, 2))),
}
"""By the name of the custom operator."""
