"""The scratch buffers that the reference kernels of TensorFlow Lite Micro request when they are prepared.

Each formula is that of the kernel's file in tensorflow/lite/micro/kernels, rfft.cc in signal/micro/kernels
(tensorflow/tflite-micro).  The order is that of the requests: it decides between buffers of one size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from weighbridge.frontends.tflm_call import Call, count_of, dimension_of
from weighbridge.named_tuple import NamedTuple

__all__ = ["POINTER_BYTES", "Scratch", "scratch_of"]

POINTER_BYTES: Final = 8
"""Of the machine whose arena is planned: the scratch of ADD_N is the one that depends on it."""
_INT: Final = 4
_LSTM_BUFFERS: Final = 4


class Scratch(NamedTuple):
    """What a buffer is for, and its bytes."""

    what: str
    bytes: int


_Buffers = tuple[Scratch, ...]


def scratch_of(call: Call) -> _Buffers:
    """The scratch of an operator, in the order in which it is requested."""
    operator = call.operator
    rule = _SCRATCH.get(operator.custom if operator.op == "CUSTOM" else operator.op)
    return rule(call) if rule is not None else ()


def _type(call: Call, place: int) -> str:
    tensor = call.input(place)
    return "" if tensor is None else tensor.dtype.name


def _unpacked_filter(call: Call) -> _Buffers:
    """conv_common.cc, depthwise_conv_common.cc, fully_connected.cc: weights of four bits get a byte each."""
    return (Scratch("unpacked weights", count_of(call.input(1))),) if _type(call, 1) == "int4" else ()


def _transpose_conv(call: Call) -> _Buffers:
    """transpose_conv.cc: sums of every output value; 16-bit biases are widened."""
    activations, outputs = _type(call, 2), count_of(call.output(0))
    if activations == "int8":
        return (Scratch("sums", 4 * outputs),)
    if activations != "int16":
        return ()
    bias = (Scratch("wide bias", 8 * count_of(call.input(3))),) if _type(call, 3) == "int16" else ()
    return Scratch("sums", 8 * outputs), *bias


def _svdf(call: Call) -> _Buffers:
    """svdf_common.cc: a value for every filter, and in integers one for every unit."""
    batch, filters = dimension_of(call.input(0), 0), dimension_of(call.input(1), 0)
    first = Scratch("filtered", 4 * batch * filters)
    if _type(call, 0) != "int8":
        return (first,)
    return first, Scratch("sums", 4 * batch * (filters // (call.operator.options.get("rank") or 1)))


def _lstm(call: Call) -> _Buffers:
    """unidirectional_sequence_lstm.cc: four buffers of the cell state's size and type."""
    batch = dimension_of(call.input(0), 1 if call.operator.options.get("time_major") else 0)
    state, width = dimension_of(call.input(18), 1), 4 if _type(call, 19) == "float32" else 2
    return tuple(Scratch(f"gate {place}", batch * state * width) for place in range(_LSTM_BUFFERS))


def _indices(call: Call) -> _Buffers:
    return (
        Scratch("position", _INT * len(_shape(call, 0))),
        Scratch("resolved axes", _INT * count_of(call.input(1))),
    )


def _shape(call: Call, place: int) -> tuple[int, ...]:
    tensor = call.input(place)
    return () if tensor is None else tensor.shape or ()


def _mean_or_sum(call: Call) -> _Buffers:
    """reduce_common.cc: positions and axes, and in integers a sum for every output value."""
    sums = (Scratch("sums", 4 * count_of(call.output(0))),) if _type(call, 0) in ("int8", "int16") else ()
    return *sums, *_indices(call)


def _mirror_pad(call: Call) -> _Buffers:
    """mirror_pad.cc: how many values a step of each output axis passes, in output and input."""
    axes = len(_shape(call, 0))
    return Scratch("output strides", _INT * axes), Scratch("input strides", _INT * axes)


def _add_n(call: Call) -> _Buffers:
    """add_n.cc: the addresses of its inputs."""
    return (Scratch("addresses", POINTER_BYTES * len(call.operator.inputs)),)


def _detection_postprocess(call: Call) -> _Buffers:
    """detection_postprocess.cc."""
    boxes, classes = dimension_of(call.input(0), 1), call.custom_number("num_classes")
    most, scores = (
        call.custom_number("max_detections"),
        dimension_of(call.input(1), 1) * dimension_of(call.input(1), 2),
    )
    return (
        Scratch("candidates", boxes),
        Scratch("decoded boxes", 16 * boxes),
        Scratch("scores", 4 * scores),
        Scratch("scores of a class", 4 * boxes),
        Scratch("kept scores", 4 * boxes),
        Scratch("scores after suppression", 4 * most * boxes),
        Scratch("sorted scores", 4 * most * boxes),
        Scratch("kept indices", 4 * boxes),
        Scratch("sorted indices", 4 * most * boxes),
        Scratch("indices", 4 * max(classes, most) * boxes),
        Scratch("selected", 4 * min(boxes, most) * boxes),
    )


_FFT_TYPES: Final[Mapping[int, int]] = {0: 4, 2: 4, 7: 2}
"""Bytes of a value by the number of its type in the schema: FLOAT32, INT32, INT16."""


def _rfft(call: Call) -> _Buffers:
    """rfft.cc: the samples, filled up to the length of the transform."""
    return (Scratch("samples", call.custom_number("fft_length") * _FFT_TYPES.get(call.custom_number("T"), 4)),)


_SCRATCH: Final[Mapping[str, Callable[[Call], _Buffers]]] = {
    "ADD_N": _add_n,
    "CONV_2D": _unpacked_filter,
    "DEPTHWISE_CONV_2D": _unpacked_filter,
    "FULLY_CONNECTED": _unpacked_filter,
    "MEAN": _mean_or_sum,
    "MIRROR_PAD": _mirror_pad,
    "REDUCE_ALL": _indices,
    "REDUCE_MAX": _indices,
    "REDUCE_MIN": _indices,
    "SUM": _mean_or_sum,
    "SVDF": _svdf,
    "SignalRfft": _rfft,
    "TFLite_Detection_PostProcess": _detection_postprocess,
    "TRANSPOSE_CONV": _transpose_conv,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _lstm,
}
