"""What the recurrent kernels of TensorFlow Lite Micro demand (svdf_common.cc and lstm_eval_common.cc in
tensorflow/lite/micro/kernels, tensorflow/tflite-micro).
"""

from __future__ import annotations

from typing import Final

from weighbridge.frontends.tflite_model import TfliteTensor
from weighbridge.frontends.tflm_call import Call, count_of, dimension_of
from weighbridge.frontends.tflm_rules import is_quantised
from weighbridge.graph import Shape

__all__ = ["lstm", "svdf"]


def svdf(call: Call) -> str:
    """svdf_common.cc."""
    types = [one.dtype.name for place in range(5) if (one := call.input(place)) is not None]
    output, state = call.output(0), call.input(4)
    if types[0] == "int8":
        wanted = (
            all(kind in ("int8", "int16") for kind in (types[2], types[4]))
            and types[1] == "int8"
            and types[3] == "int32"
        )
    else:
        wanted = set(types) == {"float32"}
    if not wanted or output is None or output.dtype.name != types[0]:
        return f"operands of {', '.join(types)} are not supported"
    if state is not None and not state.is_variable:
        return "its state is no variable"
    if types[0] == "int8" and not all(is_quantised(call.input(place)) for place in (2, 3, 4)):
        return "some of its operands have no scale and zero point"
    return _svdf_shapes(call)


def _svdf_shapes(call: Call) -> str:
    shapes = [_shape(call.input(place)) for place in (0, 1, 2, 4)]
    if any(len(shape) != 2 for shape in (*shapes, _shape(call.output(0)))):
        return "its operands need two dimensions"
    (batch, size), (filters, _), (_, memory), _ = shapes
    units = filters // (call.operator.options.get("rank") or filters or 1)
    wanted = (batch, size), (filters, size), (filters, memory), (batch, memory * filters)
    if tuple(shapes) != wanted or dimension_of(call.input(3), 0) != units or _shape(call.output(0)) != (batch, units):
        return "the shapes of its operands do not go together"
    return ""


def _shape(tensor: TfliteTensor | None) -> tuple[int, ...]:
    return () if tensor is None else tensor.shape or ()


_UNSUPPORTED: Final = (9, 10, 11, 16, 17, 20, 21, 22, 23)
"""The inputs of peepholes, of a projection and of layer normalisation (lstm_shared.h)."""
_GIVEN: Final = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15, 18, 19)
_STATES: Final = (18, 19)


def lstm(call: Call) -> str:
    """lstm_eval_common.cc: the plain cell alone, its two states variables."""
    for place in _UNSUPPORTED:
        if call.input(place) is not None:
            return f"input {place} is not supported: a cell with peepholes, a projection or layer normalisation"
    for place in _GIVEN:
        if call.input(place) is None:
            return f"input {place} is left out"
    for place in _STATES:
        state = call.input(place)
        if state is not None and not state.is_variable:
            return f"its state, input {place}, is no variable"
    cell = call.input(19)
    if cell is not None and cell.dtype.name not in ("float32", "int16"):
        return f"a cell state of {cell.dtype.name} is not supported"
    return _lstm_types(call)


def _lstm_types(call: Call) -> str:
    def types(places: range | tuple[int, ...]) -> set[str]:
        return {one.dtype.name for place in places if (one := call.input(place)) is not None}

    output = call.output(0)
    activations = types((0, 18)) | ({output.dtype.name} if output is not None else set())
    for what, found in (("data", activations), ("weights", types(range(1, 9))), ("biases", types(range(12, 16)))):
        if len(found) > 1:
            return f"{what} of {' and '.join(sorted(found))} are mixed"
    return _lstm_shapes(call)


def _lstm_shapes(call: Call) -> str:
    data = _shape(call.input(0))
    if len(data) < 3:
        return "its input needs three dimensions"
    cells, batch = dimension_of(call.input(18), 1), data[1 if call.operator.options.get("time_major") else 0]
    wanted: dict[int, Shape] = {
        **dict.fromkeys(range(1, 5), (cells, data[2])),
        **dict.fromkeys(range(5, 9), (cells, cells)),
        **dict.fromkeys(range(12, 16), (cells,)),
    }
    wrong = next((place for place, shape in wanted.items() if _shape(call.input(place)) != shape), None)
    if wrong is not None:
        return f"input {wrong} has the shape {list(_shape(call.input(wrong)))} instead of {list(wanted[wrong])}"
    if _shape(call.output(0)) != (*data[:2], cells) or any(
        count_of(call.input(place)) != batch * cells for place in _STATES
    ):
        return "its output or a state has another size than its input and cells ask for"
    return ""
