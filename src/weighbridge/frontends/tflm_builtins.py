"""The kernels of TensorFlow Lite Micro for builtin operators, and what each demands.

The list is that of python_ops_resolver.cc, the demands those of the Prepare functions in tensorflow/lite/micro/kernels
(tensorflow/tflite-micro).  Types that a kernel takes when it is prepared and refuses when it runs are not listed apart: the
arena of such a model is planned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.frontends.tflm_layers import (
    convolution,
    depthwise,
    embedded,
    fully_connected,
    matmul,
    prelu,
    softmax,
    transposed,
)
from weighbridge.frontends.tflm_moves import (
    broadcast_to,
    chosen,
    deeper,
    expanded,
    filled,
    gathered,
    gathered_by_index,
    mirrored,
    padded,
    reshaped,
    resized,
    squeezed,
    strided,
    turned,
    updated,
)
from weighbridge.frontends.tflm_recurrent import lstm, svdf
from weighbridge.frontends.tflm_rules import (
    ANY,
    Kernel,
    alike,
    broadcast,
    kinds,
    one_scale,
    pairs,
    present,
    quantised,
    ranks,
    same,
    same_inputs,
    same_rank,
    same_shape,
    single,
    stored,
    unquantised,
)

__all__ = ["BUILTIN"]

_ONE: Final = (1, 1)
_TWO: Final = (2, 2)
_NONE: Final = (0, 0)

_UNCHECKED: Final = Kernel(ANY, ANY)
_UNARY: Final = Kernel(_ONE, _ONE, (present("i0"),))
_ALIKE: Final = Kernel(_ONE, _ONE, (present("i0"), same("i0 o0")))
_FLOAT: Final = Kernel(_ONE, _ONE, (present("i0"), same("i0 o0"), kinds("i0", "float32")))
_ROUNDING: Final = Kernel(_ONE, _ONE, (present("i0"), same("i0 o0"), kinds("i0", "float32"), same_shape("i0 o0")))
_COMPARISON: Final = Kernel(ANY, ANY, (present("i0 i1"), quantised("i0 i1", "i0", "int8")))
_DIVISION: Final = Kernel(_TWO, _ONE, (present("i0 i1"), same("i0 i1 o0")))
_REDUCED: Final = Kernel(_TWO, _ONE, (present("i0 i1"), kinds("i1", "int32")))
_POOLED: Final = Kernel(ANY, ANY, (present("i0 o0"), kinds("i0", "float32 int8 int16"), one_scale("i0", "int8 int16")))
_BLOCKS: Final = Kernel((3, 3), _ONE, (present("i0"), same("i0 o0"), ranks("i0 o0", 3, 4)))
_PADDED: Final = Kernel(
    (2, 3), _ONE, (present("i0 i1"), same("i0 i2 o0"), stored("i1"), kinds("i1", "int32 int64"), padded)
)

BUILTIN: Final[Mapping[str, Kernel]] = {
    "ABS": Kernel(
        _ONE,
        _ONE,
        (present("i0"), same("i0 o0"), kinds("i0", "float32 int8 int16"), quantised("i0 o0", "i0", "int8 int16")),
    ),
    "ADD": Kernel(
        ANY,
        ANY,
        (present("i0 i1 o0"), quantised("o0 i0 i1", "o0", "int8 int16"), unquantised("i0 i1", "o0", "int32")),
    ),
    "ADD_N": Kernel(
        (2, 1 << 30), _ONE, (alike, same("i0 o0"), kinds("i0", "float32 int8"), one_scale("i0", "int8"), same_inputs)
    ),
    "ARG_MAX": _UNCHECKED,
    "ARG_MIN": _UNCHECKED,
    "ASSIGN_VARIABLE": Kernel(_TWO, _NONE, (present("i0 i1"), kinds("i0", "opaque int32"), single("i0"))),
    "AVERAGE_POOL_2D": _POOLED,
    "BATCH_MATMUL": Kernel(_TWO, _ONE, (present("i0 i1"), matmul)),
    "BATCH_TO_SPACE_ND": _BLOCKS,
    "BROADCAST_ARGS": Kernel(
        _TWO, _ONE, (present("i0 i1"), kinds("i0", "int32 int64"), same("i0 i1 o0"), ranks("i0 i1 o0", 1, 1))
    ),
    "BROADCAST_TO": Kernel(
        _TWO,
        _ONE,
        (
            present("i0 i1"),
            ranks("i0", 0, 5),
            kinds("i1", "int32 int64"),
            same("i0 o0"),
            stored("i1"),
            ranks("i1", 1, 1),
            broadcast_to,
        ),
    ),
    "CALL_ONCE": Kernel(_NONE, _NONE),
    "CAST": _UNARY,
    "CEIL": _ROUNDING,
    "CONCATENATION": Kernel(
        (1, 10),  # kMaxInputNum of concatenation.cc
        ANY,
        (
            present("i0 o0"),
            kinds("i0", "float32 int8 int16 int32 int64 bool"),
            alike,
            same("i0 o0"),
            one_scale("i0", "int8"),
        ),
    ),
    "CONV_2D": Kernel((2, 3), _ONE, (present("i0 i1"), convolution)),
    "COS": _FLOAT,
    "CUMSUM": Kernel(
        _TWO,
        _ONE,
        (
            present("i0 i1"),
            kinds("i0", "float32 int8"),
            same("i0 o0"),
            kinds("i1", "int32"),
            single("i1"),
            ranks("i0", 1, 1 << 30),
            same_shape("i0 o0"),
            quantised("i0 o0", "i0", "int8"),
        ),
    ),
    "DEPTH_TO_SPACE": Kernel(
        _ONE, _ONE, (present("i0"), ranks("i0", 4, 4), kinds("i0", "float32 int8"), same("i0 o0"), deeper)
    ),
    "DEPTHWISE_CONV_2D": Kernel((2, 3), _ONE, (present("i0 i1"), depthwise)),
    "DEQUANTIZE": Kernel(_ONE, _ONE, (present("i0"), kinds("i0", "int8 int16 uint8"), kinds("o0", "float32"))),
    "DIV": Kernel(ANY, ANY, (present("i0 i1 o0"), same("i0 i1 o0"), unquantised("i0 i1", "i0", "int32"))),
    "DYNAMIC_UPDATE_SLICE": Kernel(
        (3, 3),
        _ONE,
        (
            present("i0 i1 i2"),
            same("i0 i1"),
            kinds("i2", "int32 int64"),
            ranks("i2", 1, 1),
            same_rank("i0 i1"),
            updated,
        ),
    ),
    "ELU": _ALIKE,
    "EMBEDDING_LOOKUP": Kernel(
        _TWO,
        _ONE,
        (
            present("i0 i1"),
            kinds("i0", "int32"),
            ranks("i0", 1, 1),
            pairs("i1 o0", "float32/float32 int8/float32 int8/int8"),
            ranks("i1", 2, 1 << 30),
            embedded,
        ),
    ),
    "EQUAL": _COMPARISON,
    "EXP": _ROUNDING,
    "EXPAND_DIMS": Kernel(_TWO, _ONE, (present("i0 i1"), stored("i1"), kinds("i1", "int32"), expanded)),
    "FILL": Kernel(
        ANY,
        ANY,
        (
            present("i0 i1 o0"),
            ranks("i1", 0, 0),
            same("i1 o0"),
            stored("i0"),
            kinds("i0", "int8 int16 int32 int64"),
            filled,
        ),
    ),
    "FLOOR": _UNCHECKED,
    "FLOOR_DIV": _DIVISION,
    "FLOOR_MOD": _DIVISION,
    "FULLY_CONNECTED": Kernel(ANY, ANY, (present("i0 i1 o0"), same("i0 o0"), fully_connected)),
    "GATHER": Kernel(_TWO, _ONE, (present("i0 i1"), kinds("i1", "int32"), kinds("i0", "float32 int8"), gathered)),
    "GATHER_ND": Kernel(
        _TWO,
        _ONE,
        (
            present("i0 i1"),
            kinds("i0", "float32 int8"),
            kinds("i1", "int32"),
            ranks("i0 i1", 1, 1 << 30),
            gathered_by_index,
        ),
    ),
    "GREATER": _COMPARISON,
    "GREATER_EQUAL": _COMPARISON,
    "HARD_SWISH": _UNARY,
    "IF": Kernel((1, 1 << 30), ANY, (present("i0"), kinds("i0", "bool"), single("i0"))),
    "L2_NORMALIZATION": Kernel(
        _ONE, _ONE, (present("i0"), ranks("i0", 0, 4), kinds("o0", "float32 int8"), same("i0 o0"))
    ),
    "L2_POOL_2D": Kernel(_ONE, _ONE, (present("i0"), ranks("i0 o0", 4, 4), same("i0 o0"), kinds("i0", "float32"))),
    "LEAKY_RELU": _ALIKE,
    "LESS": _COMPARISON,
    "LESS_EQUAL": _COMPARISON,
    "LOG": _FLOAT,
    "LOGICAL_AND": _UNCHECKED,
    "LOGICAL_NOT": Kernel(_ONE, _ONE, (present("i0"), same("i0 o0"), kinds("i0", "bool"))),
    "LOGICAL_OR": _UNCHECKED,
    "LOGISTIC": Kernel(ANY, ANY, (present("i0 o0"), same("i0 o0"), quantised("o0", "i0", "int8"))),
    "LOG_SOFTMAX": Kernel(_ONE, _ONE, (present("i0"), same("i0 o0"), same_shape("i0 o0"))),
    "MAX_POOL_2D": _POOLED,
    "MAXIMUM": _UNCHECKED,
    "MEAN": _REDUCED,
    "MINIMUM": _UNCHECKED,
    "MIRROR_PAD": Kernel(ANY, ANY, (present("i0 i1"), ranks("i1", 2, 2), mirrored)),
    "MUL": Kernel(_TWO, _ONE, (present("i0 i1"), same("i0 i1"))),
    "NEG": _UNCHECKED,
    "NOT_EQUAL": _COMPARISON,
    "PACK": _UNCHECKED,
    "PAD": _PADDED,
    "PADV2": _PADDED,
    "PRELU": Kernel(ANY, ANY, (present("i0 i1 o0"), prelu)),
    "QUANTIZE": Kernel(
        _ONE,
        _ONE,
        (
            present("i0"),
            kinds("i0", "float32 int32 int16 int8 uint8"),
            kinds("o0", "int8 int16 int32 uint8"),
            quantised("o0", "o0", "int8 int16 int32 uint8"),
        ),
    ),
    "READ_VARIABLE": Kernel(_ONE, _ONE, (present("i0"), kinds("i0", "opaque int32"), single("i0"))),
    "REDUCE_ALL": Kernel(_TWO, _ONE, (present("i0 i1"), kinds("i1", "int32"), kinds("i0", "bool"))),
    "REDUCE_MAX": _REDUCED,
    "REDUCE_MIN": _REDUCED,
    "RELU": Kernel(ANY, ANY, (present("i0 o0"),)),
    "RELU6": Kernel(ANY, ANY, (present("i0"),)),
    "RESHAPE": Kernel((1, 2), _ONE, (present("i0"), same("i0 o0"), reshaped)),
    "RESIZE_BILINEAR": Kernel(_TWO, _ONE, (present("i0 i1"), resized)),
    "RESIZE_NEAREST_NEIGHBOR": Kernel(_TWO, _ONE, (present("i0 i1"), resized)),
    "REVERSE_V2": Kernel(_TWO, _ONE, (present("i0 i1"), kinds("i1", "int32"), ranks("i1", 1, 1), same("i0 o0"))),
    "ROUND": _ROUNDING,
    "RSQRT": Kernel(
        _ONE,
        _ONE,
        (present("i0"), same("i0 o0"), kinds("i0", "float32 int8 int16"), quantised("i0 o0", "i0", "int8 int16")),
    ),
    "SELECT_V2": Kernel(
        (3, 3), _ONE, (present("i0 i1 i2"), kinds("i0", "bool"), same("i1 i2"), broadcast("i0 i1 i2"), chosen)
    ),
    "SHAPE": Kernel(_ONE, _ONE),
    "SIN": _FLOAT,
    "SLICE": Kernel((3, 3), _ONE, (present("i0 i1 i2"),)),
    "SOFTMAX": Kernel(_ONE, _ONE, (present("i0"), ranks("i0", 1, 1 << 30), softmax)),
    "SPACE_TO_BATCH_ND": _BLOCKS,
    "SPACE_TO_DEPTH": Kernel(
        _ONE, _ONE, (present("i0"), ranks("i0", 4, 4), kinds("i0", "float32 int8"), same("i0 o0"))
    ),
    "SPLIT": Kernel(ANY, ANY, (present("i0"), stored("i0"))),
    "SPLIT_V": Kernel((3, 3), ANY, (present("i2"), stored("i2"))),
    "SQRT": _FLOAT,
    "SQUARE": _FLOAT,
    "SQUARED_DIFFERENCE": Kernel(_TWO, _ONE, (present("i0 i1"), same("i0 i1"), quantised("i0 i1", "i0", "int8 int16"))),
    "SQUEEZE": Kernel(_ONE, _ONE, (present("i0"), squeezed)),
    "STRIDED_SLICE": Kernel(
        (4, 4),
        _ONE,
        (present("i0 i1 i2 i3"), stored("i1 i2 i3"), kinds("i1 i2 i3", "int32"), ranks("i0", 0, 4), strided),
    ),
    "SUB": Kernel(
        ANY,
        ANY,
        (
            present("i0 i1 o0"),
            quantised("o0 i0 i1", "o0", "int8 int16"),
            unquantised("i0 i1 o0", "o0", "int32"),
        ),
    ),
    "SUM": _REDUCED,
    "SVDF": Kernel((5, 5), _ONE, (present("i0 i1 i2 i3 i4"), svdf)),
    "TANH": _ALIKE,
    "TRANSPOSE": Kernel(_TWO, _ONE, (present("i0 i1"), ranks("i0", 1, 5), same("i0 o0"), stored("i1"), turned)),
    "TRANSPOSE_CONV": Kernel((3, 4), _ONE, (present("i1 i2"), transposed)),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Kernel((24, 24), _ONE, (lstm,)),
    "UNPACK": _UNCHECKED,
    "VAR_HANDLE": _UNCHECKED,
    "WHILE": _UNCHECKED,
    "ZEROS_LIKE": _UNARY,
}
"""By the operator's name in the schema."""
