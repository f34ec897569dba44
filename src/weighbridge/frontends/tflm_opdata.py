"""What the kernels of TensorFlow Lite Micro keep for each operator beside the arena's plan.

The sizes are those of the structures that Init and Prepare allocate in tensorflow/lite/micro/kernels and signal/micro/kernels, and of
the options in builtin_op_data.h (tensorflow/tflite-micro).  Where a structure holds pointers it has two: with pointers of 8 bytes
as the package ``tflite_micro`` is built, which keeps four bytes more for each operand that may be compressed, and of 4 bytes as
boards are built, without compression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Final

from weighbridge.frontends.tflm_call import Call, bytes_of, dimension_of
from weighbridge.graph import Shape

__all__ = ["Options", "Rows", "cmsis_nn_extra", "kernel_buffers", "options_of"]


Rows = tuple[int, int]
"""As many buffers as an input has rows, and the bytes of each."""
Options = tuple[int, int]
"""Bytes and alignment of an operator's options, as the runtime keeps them."""
_Buffers = tuple[int | Rows, ...]


_WORD: Final = 4
_OPTIONS: Final[Mapping[str, Options]] = {
    "ADD": (8, 4),
    "ARG_MAX": (4, 4),
    "ARG_MIN": (4, 4),
    "AVERAGE_POOL_2D": (40, 4),
    "BATCH_MATMUL": (3, 1),
    "CALL_ONCE": (4, 4),
    "CAST": (8, 4),
    "CONCATENATION": (8, 4),
    "CONV_2D": (28, 4),
    "CUMSUM": (2, 1),
    "DEPTH_TO_SPACE": (4, 4),
    "DEPTHWISE_CONV_2D": (28, 4),
    "DIV": (4, 4),
    "GATHER": (8, 4),
    "IF": (8, 4),
    "L2_NORMALIZATION": (4, 4),
    "L2_POOL_2D": (40, 4),
    "LEAKY_RELU": (4, 4),
    "MAX_POOL_2D": (40, 4),
    "MEAN": (1, 1),
    "MIRROR_PAD": (4, 4),
    "MUL": (4, 4),
    "PACK": (8, 4),
    "REDUCE_ALL": (1, 1),
    "REDUCE_MAX": (1, 1),
    "REDUCE_MIN": (1, 1),
    "RESHAPE": (36, 4),
    "RESIZE_BILINEAR": (2, 1),
    "RESIZE_NEAREST_NEIGHBOR": (2, 1),
    "SHAPE": (4, 4),
    "SOFTMAX": (4, 4),
    "SPACE_TO_DEPTH": (4, 4),
    "SPLIT": (4, 4),
    "SPLIT_V": (4, 4),
    "SQUEEZE": (36, 4),
    "STRIDED_SLICE": (24, 4),
    "SUB": (8, 4),
    "SUM": (1, 1),
    "SVDF": (12, 4),
    "TRANSPOSE_CONV": (20, 4),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (16, 4),
    "UNPACK": (8, 4),
    "WHILE": (8, 4),
}


def options_of(call: Call, pointer: int) -> Options | None:
    """What the runtime keeps of an operator's options, None where it keeps none.

    Those of FULLY_CONNECTED have grown: the wide size is that of the package, the narrow one that of the boards measured.
    """
    if call.operator.op == "VAR_HANDLE":
        return (2 * pointer, pointer)
    if call.operator.op == "FULLY_CONNECTED":
        return (32, 8) if pointer == 8 else (16, 4)
    return _OPTIONS.get(call.operator.op)


_Pair = tuple[int, int]
"""Bytes with pointers of 8 and of 4 bytes."""
_CONVOLUTION: Final = (80, 56)
_DATA: Final[Mapping[str, int | _Pair]] = {
    "ABS": 28,
    "ADD": 60,
    "ASSIGN_VARIABLE": 4,
    "AVERAGE_POOL_2D": 32,
    "BATCH_MATMUL": (32, 16),
    "CALL_ONCE": 8,
    "CIRCULAR_BUFFER": 8,
    "CONCATENATION": (80, 24),
    "CONV_2D": _CONVOLUTION,
    "DEPTHWISE_CONV_2D": _CONVOLUTION,
    "DEQUANTIZE": 32,
    "DIV": 28,
    "ELU": 256,
    "EMBEDDING_LOOKUP": 16,
    "EQUAL": 32,
    "FULLY_CONNECTED": (72, 48),
    "GREATER": 32,
    "GREATER_EQUAL": 32,
    "HARD_SWISH": 20,
    "IF": 8,
    "L2_NORMALIZATION": 4,
    "LEAKY_RELU": 24,
    "LESS": 32,
    "LESS_EQUAL": 32,
    "LOGISTIC": 16,
    "MAX_POOL_2D": 32,
    "MEAN": 44,
    "MIRROR_PAD": 20,
    "MUL": 36,
    "NOT_EQUAL": 32,
    "PAD": 56,
    "PADV2": 56,
    "PRELU": 28,
    "QUANTIZE": 32,
    "REDUCE_ALL": 44,
    "REDUCE_MAX": 44,
    "REDUCE_MIN": 44,
    "RELU": 28,
    "RELU6": 8,
    "RSQRT": 28,
    "SELECT_V2": 1,
    "SOFTMAX": (80, 56),
    "SPACE_TO_BATCH_ND": 4,
    "SQUARED_DIFFERENCE": 112,
    "STRIDED_SLICE": 84,
    "SUB": 52,
    "SUM": 44,
    "SVDF": 36,
    "SignalDelay": (32, 20),
    "SignalEnergy": 8,
    "SignalFilterBank": (64, 40),
    "SignalFilterBankLog": 8,
    "SignalFilterBankSpectralSubtraction": (56, 48),
    "SignalFramer": (40, 28),
    "SignalIrfft": (32, 24),
    "SignalOverlapAdd": (32, 24),
    "SignalPCAN": 4,
    "SignalRfft": (48, 32),
    "SignalStacker": (56, 40),
    "SignalWindow": 8,
    "TANH": 16,
    "TFLite_Detection_PostProcess": 112,
    "TRANSPOSE_CONV": (88, 72),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": 688,
    "VAR_HANDLE": 4,
    "WHILE": 8,
}
"""What Init allocates; what stands only here as one number holds no pointer."""


def cmsis_nn_extra(call: Call) -> int:
    """Bytes that a kernel of CMSIS-NN keeps beyond the reference kernel's, pointers being 4 bytes.

    FULLY_CONNECTED has four numbers and three addresses more, pooling the number of a buffer; what asks for scratch has a
    handle (tensorflow/lite/micro/kernels/cmsis_nn).  Other structures grow within their alignment.
    """
    if not _is(call, 0, "int8", "int16"):
        return 0
    op, weights = call.operator.op, call.input(1)
    if op == "CONV_2D":
        return 0 if dimension_of(weights, 1) == dimension_of(weights, 2) == 1 else _WORD
    return {"AVERAGE_POOL_2D": 16 + _WORD, "DEPTHWISE_CONV_2D": _WORD, "FULLY_CONNECTED": 32}.get(op, 0)


def kernel_buffers(call: Call, pointer: int, written: Shape) -> tuple[int | Rows, ...]:
    """The bytes of every buffer that the reference kernel of an operator keeps; its output's shape is ``written`` in the file."""
    name = call.operator.custom or call.operator.op
    kept = _DATA.get(name)
    first = () if kept is None else (kept if isinstance(kept, int) else kept[0] if pointer == 8 else kept[1],)
    more = _PREPARED.get(name)
    own = (_dims(written),) if name in _OWN_SHAPE or (name == "RESHAPE" and -1 in written) else ()
    return (*first, *(more(call, pointer) if more is not None else ()), *own)


def _is(call: Call, place: int, *types: str) -> bool:
    tensor = call.input(place)
    return tensor is not None and tensor.dtype.name in types


def _channels(axis: int) -> Callable[[Call, int], _Buffers]:
    """A multiplier and a shift for every output channel, in floating point, too."""

    def rule(call: Call, pointer: int) -> _Buffers:
        return (_WORD * dimension_of(call.input(1), axis),) * 2

    return rule


def _fully_connected(call: Call, pointer: int) -> _Buffers:
    weights = call.input(1)
    found = None if weights is None else weights.quantisation
    if found is None or found.scales < 2 or found.zero_points < 1 or _is(call, 0, "float32"):
        return ()
    return (_WORD * found.scales,) * 2


def _matmul(call: Call, pointer: int) -> _Buffers:
    """The scales of whole numbers, and copies of the operands that are turned round."""
    options, buffers = call.operator.options, list[int | tuple[int, int]]()
    if _is(call, 0, "int8", "int16"):
        buffers.append(28)
    for place, is_turned in ((0, options.get("adj_x")), (1, not options.get("adj_y"))):
        tensor = call.input(place)
        if tensor is not None and is_turned:
            buffers += [3 * pointer, _dims(tensor.shape or ()), bytes_of(tensor) or 0]
    return tuple(buffers)


def _dims(shape: tuple[int, ...]) -> int:
    return _WORD * (1 + len(shape))


def _in_int8(size: int) -> Callable[[Call, int], _Buffers]:
    def rule(call: Call, pointer: int) -> _Buffers:
        return (size,) if _is(call, 0, "int8") else ()

    return rule


def _softmax(call: Call, pointer: int) -> _Buffers:
    """Tables of 513 values for the exponential and the reciprocal of 16-bit numbers."""
    return (1026, 1026) if _is(call, 0, "int16") else ()


def _spectrum(call: Call, pointer: int) -> _Buffers:
    """The state of a transform of real numbers in the library KISS FFT: factors, twiddles and a work area."""
    width, half = (4 if _is(call, 0, "int16") else 8), call.custom_number("fft_length") // 2
    back = 16 if call.operator.custom == "SignalIrfft" and _is(call, 0, "float32") else 0
    return (3 * pointer + 264 + width * half + width * (half * 3 // 2) + back,)


def _ring(pointer: int, capacity: int) -> int:
    """A circular buffer of 16-bit numbers, which has room for each of them twice."""
    return 5 * pointer + 4 * capacity


def _rings(call: Call, pointer: int, capacity: int, rows: int) -> _Buffers:
    """The addresses of as many circular buffers as there are rows and those of their values, and the buffers."""
    return pointer * rows, pointer * rows, (rows, _ring(pointer, capacity))


def _rows(call: Call, kept: int) -> int:
    """How many rows the input has, if the last ``kept`` axes are one."""
    first = call.input(0)
    return prod((() if first is None else first.shape or ())[:-kept])


def _delay(call: Call, pointer: int) -> _Buffers:
    return _rings(call, pointer, dimension_of(call.input(0), -1) + call.custom_number("delay_length"), _rows(call, 1))


def _framer(call: Call, pointer: int) -> _Buffers:
    step = call.custom_number("frame_step") or 1
    return _rings(call, pointer, -(-call.custom_number("frame_size") // step) * step, _rows(call, 1))


def _stacker(call: Call, pointer: int) -> _Buffers:
    stacked = call.custom_number("stacker_left_context") + 1 + call.custom_number("stacker_right_context")
    return (_ring(pointer, call.custom_number("num_channels") * stacked),)


def _overlap_add(call: Call, pointer: int) -> _Buffers:
    rows, width = _rows(call, 2), 2 if _is(call, 0, "int16") else 4
    return pointer * rows, (rows, width * dimension_of(call.input(0), -1))


def _filter_bank(call: Call, pointer: int) -> _Buffers:
    return (8 * (call.custom_number("num_channels") + 1),)


def _noise_estimate(call: Call, pointer: int) -> _Buffers:
    return (_WORD * call.custom_number("num_channels"),)


_OWN_SHAPE: Final = (
    "BATCH_MATMUL",
    "DEPTH_TO_SPACE",
    "EMBEDDING_LOOKUP",
    "GATHER",
    "GATHER_ND",
    "L2_POOL_2D",
    "SPACE_TO_DEPTH",
)
"""What keeps a copy of its output's shape, to write into it; RESHAPE does where one of the sizes is -1."""
_PREPARED: Final[Mapping[str, Callable[[Call, int], _Buffers]]] = {
    "ADD_N": _in_int8(40),
    "BATCH_MATMUL": _matmul,
    "CONV_2D": _channels(0),
    "CUMSUM": _in_int8(36),
    "DEPTHWISE_CONV_2D": _channels(3),
    "FULLY_CONNECTED": _fully_connected,
    "LOG_SOFTMAX": _in_int8(40),
    "SOFTMAX": _softmax,
    "SignalDelay": _delay,
    "SignalFilterBank": _filter_bank,
    "SignalFilterBankSpectralSubtraction": _noise_estimate,
    "SignalFramer": _framer,
    "SignalIrfft": _spectrum,
    "SignalOverlapAdd": _overlap_add,
    "SignalRfft": _spectrum,
    "SignalStacker": _stacker,
    "TRANSPOSE_CONV": _channels(0),
}
"""What Prepare allocates on top."""
