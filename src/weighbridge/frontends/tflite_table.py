"""The TensorFlow Lite operator table: which of our operators each of theirs is, by name.

What is not in here stays in the graph as an unknown operator with the types that the file states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from weighbridge.frontends.foreign import Rule
from weighbridge.frontends.tflite_table_custom import custom_rule
from weighbridge.frontends.tflite_table_elementwise import ELEMENTWISE_RULES
from weighbridge.frontends.tflite_table_layers import LAYER_RULES
from weighbridge.frontends.tflite_table_shapes import SHAPE_RULES
from weighbridge.graph import Attribute

__all__ = ["ACTIVATIONS", "OWN_ACTIVATION", "RULES", "custom_rule"]

ACTIVATIONS: Final[Mapping[int, tuple[str, Mapping[str, Attribute]]]] = {
    1: ("relu", {}),
    2: ("clip", {"low": -1.0, "high": 1.0}),
    3: ("clip", {"low": 0.0, "high": 6.0}),
    4: ("tanh", {}),
    5: ("sign_bit", {}),
}
"""ActivationFunctionType of the schema: our operator and its attributes.  0 is none."""

OWN_ACTIVATION: Final = frozenset(
    {
        "RNN",
        "UNIDIRECTIONAL_SEQUENCE_RNN",
        "BIDIRECTIONAL_SEQUENCE_RNN",
        "LSTM",
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        "BIDIRECTIONAL_SEQUENCE_LSTM",
    }
)
"""Operators that apply their activation function inside, at every step."""

_PLAIN: Final[Mapping[str, Rule]] = {**LAYER_RULES, **SHAPE_RULES, **ELEMENTWISE_RULES}
_STABLEHLO: Final = "STABLEHLO_"


class _Rules(Mapping[str, Rule]):
    """Those of StableHLO are imported when one of them is looked up: few files have any."""

    def __getitem__(self, name: str) -> Rule:
        return (_stablehlo() if name.startswith(_STABLEHLO) else _PLAIN)[name]

    def __iter__(self) -> Iterator[str]:
        return chain(_PLAIN, _stablehlo())

    def __len__(self) -> int:
        return len(_PLAIN) + len(_stablehlo())


def _stablehlo() -> Mapping[str, Rule]:
    from weighbridge.frontends.tflite_table_stablehlo import STABLEHLO_RULES

    return STABLEHLO_RULES


RULES: Final[Mapping[str, Rule]] = _Rules()
"""Rules of the builtin operators."""
