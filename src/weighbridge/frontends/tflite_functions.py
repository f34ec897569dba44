"""What a subgraph that an operator applies to pairs of values does to them: a sum, a product, an extreme, or nobody knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from weighbridge.frontends.tflite_model import Operator, TfliteModel
from weighbridge.graph import UNKNOWN

__all__ = ["APPLYING", "applied"]

APPLYING: Final[Mapping[str, str]] = {
    "STABLEHLO_REDUCE": "body_subgraph_index",
    "STABLEHLO_REDUCE_WINDOW": "body_subgraph_index",
    "STABLEHLO_SCATTER": "update_computation_subgraph_index",
    "STABLEHLO_SORT": "comparator_subgraph_index",
}
"""The options that name such a subgraph, by operator."""

_FUNCTIONS: Final[Mapping[str, str]] = {
    "ADD": "add",
    "STABLEHLO_ADD": "add",
    "MUL": "mul",
    "STABLEHLO_MULTIPLY": "mul",
    "MAXIMUM": "max",
    "STABLEHLO_MAXIMUM": "max",
    "LOGICAL_OR": "or",
    "STABLEHLO_OR": "or",
    "MINIMUM": "min",
    "STABLEHLO_MINIMUM": "min",
    "LOGICAL_AND": "and",
    "STABLEHLO_AND": "and",
}


def applied(model: TfliteModel, operator: Operator) -> tuple[int, str] | None:
    """(subgraph, function) of an operator that applies one, None of another.

    The function is ``add``, ``mul``, ``max``, ``min``, ``and`` or ``or``; ``second`` where the result is the second value;
    ``"unknown"`` where it is something else.  The subgraph is -1 where the file has none of that number.
    """
    option = APPLYING.get(operator.op)
    if option is None:
        return None
    number: Any = operator.options.get(option, -1)
    if not isinstance(number, int) or not 0 <= number < len(model.subgraphs):
        return -1, UNKNOWN
    return number, _function(model, number)


def _function(model: TfliteModel, number: int) -> str:
    """Two values in, one out, and one operator or none between them."""
    graph = model.subgraphs[number]
    if len(graph.inputs) != 2 or len(graph.outputs) != 1:
        return UNKNOWN
    if not graph.operators:
        return "second" if graph.outputs[0] == graph.inputs[1] else UNKNOWN
    last = graph.operators[-1]
    is_alone = len(graph.operators) == 1 and not last.options.get("fused_activation_function")
    if is_alone and last.outputs == graph.outputs and sorted(last.inputs) == sorted(graph.inputs):
        return _FUNCTIONS.get(last.op, UNKNOWN)
    return UNKNOWN
