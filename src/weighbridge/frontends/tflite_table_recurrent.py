"""TensorFlow Lite's recurrent layers as ours.

Their operands stand in fixed places, absent ones -1 in the file: of an LSTM the weights of the gates input, forget, cell, output
for the input and for the state, peepholes, biases, a projection, the states and the scales of a layer normalisation
(tensorflow/lite/kernels/lstm.cc, bidirectional_sequence_lstm.cc).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import As, Foreign, Rule, Step
from weighbridge.frontends.tflite_table_contractions import finite, quantisation_of, result_type
from weighbridge.graph import Attribute

__all__ = ["RECURRENT_RULES"]

_FUNCTIONS: Final = {0: "", 1: "relu", 2: "clip", 3: "clip", 4: "tanh"}
"""ActivationFunctionType of the schema, by the name of our function."""
_BASIC: Final = 1
"""The kernel of an LSTM whose gates are one matrix."""
_Places = Mapping[str, Iterable[int]]

_GATES: Final[_Places] = {"w": range(1, 5), "r": range(5, 9), "p": range(9, 12), "b": range(12, 16)}
_LSTM: Final[_Places] = {
    "x": (0,),
    **_GATES,
    "projection": (16,),
    "projection_b": (17,),
    "h": (18,),
    "c": (19,),
    "norm": range(20, 24),
}
_BOTH_LSTM: Final[_Places] = {
    "x": (0,),
    "aux": (39,),
    **_GATES,
    "projection": (16,),
    "projection_b": (17,),
    "backward_w": range(18, 22),
    "backward_r": range(22, 26),
    "backward_p": range(26, 29),
    "backward_b": range(29, 33),
    "backward_projection": (33,),
    "backward_projection_b": (34,),
    "h": (35,),
    "c": (36,),
    "backward_h": (37,),
    "backward_c": (38,),
    "aux_w": range(40, 44),
    "backward_aux_w": range(44, 48),
}
_RNN: Final[_Places] = {"x": (0,), "w": (1,), "r": (2,), "b": (3,), "h": (4,)}
_BOTH_RNN: Final[_Places] = {
    **_RNN,
    "backward_w": (5,),
    "backward_r": (6,),
    "backward_b": (7,),
    "backward_h": (8,),
    "aux": (9,),
    "aux_w": (10,),
    "backward_aux_w": (11,),
}


def _operands(call: Foreign, places: _Places) -> list[tuple[str, str]]:
    return [
        (name, call.inputs[place])
        for name, all_places in places.items()
        for place in all_places
        if place < len(call.inputs) and call.inputs[place]
    ]


def _function(call: Foreign) -> str:
    number = call.get("fused_activation_function", 0)
    if number not in _FUNCTIONS:
        raise BadModel(f"the activation function {number} is not known in a recurrent layer", where=call.name)
    return _FUNCTIONS[number]


def _attributes(call: Foreign, weight: int) -> dict[str, Attribute]:
    return {
        "batch_first": not call.get("time_major", False),
        "activation": _function(call),
        "merged": len(call.outputs) < 2,
        "quantisation": quantisation_of(call, weight),
        "output_dtype": result_type(call),
    }


_Rule = Callable[[Foreign], Sequence[Step]]


def _layer(operator: str, places: _Places, weight: int) -> _Rule:
    """A layer over all steps, or one step; ``weight`` is the place of a weight that every form of it has."""

    def rule(call: Foreign) -> Sequence[Step]:
        attributes = _attributes(call, weight)
        if operator == "stateful_lstm":
            attributes |= {"clip": finite(call, "cell_clip"), "projection_clip": finite(call, "proj_clip")}
        return (Step(operator, _operands(call, places), attributes, call.outputs),)

    return rule


_FULL: Final = _layer("stateful_lstm", _LSTM, 2)


def _lstm(call: Foreign) -> Sequence[Step]:
    return _cell(call) if call.get("kernel_type", 0) == _BASIC else _FULL(call)


def _cell(call: Foreign) -> Sequence[Step]:
    """One step whose gates are one matrix: input and last output are joined, multiplied, and make the states.

    Operands are input, last output, weights, biases, last state; results are output, state, what was joined and the gates
    (tensorflow/lite/kernels/lstm.cc, the basic kernel).
    """
    joined, gates = (call.outputs[place] if call.has_output(place) else call.inner(str(place)) for place in (2, 3))
    x, h, w, b, c = map(call.operand, range(5))
    product: dict[str, Attribute] = {"quantisation": quantisation_of(call, 2), "output_dtype": result_type(call, 3)}
    return (
        Step("concat", [("xs", x), ("xs", h)], {"axis": -1}, [joined]),
        Step("linear", [("x", joined), ("w", w), ("b", b)], product, [gates]),
        Step("lstm_cell", [("gates", gates), ("c", c)], {"output_dtype": result_type(call)}, call.outputs[:2]),
    )


def _svdf(call: Foreign) -> Mapping[str, Attribute]:
    return {
        "rank": call.get("rank", 1),
        "quantisation": quantisation_of(call),
        "output_dtype": result_type(call),
    }


RECURRENT_RULES: Final[Mapping[str, Rule]] = {
    "LSTM": _lstm,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _FULL,
    "BIDIRECTIONAL_SEQUENCE_LSTM": _layer("stateful_lstm", _BOTH_LSTM, 2),
    "RNN": _layer("stateful_rnn", _RNN, 1),
    "UNIDIRECTIONAL_SEQUENCE_RNN": _layer("stateful_rnn", _RNN, 1),
    "BIDIRECTIONAL_SEQUENCE_RNN": _layer("stateful_rnn", _BOTH_RNN, 1),
    "SVDF": As("svdf", "x w_features w_time b state", _svdf),
}
