"""Whether TensorFlow Lite Micro loads a model: it has a kernel for every operator, and each takes its operands."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from weighbridge.frontends.tflite_model import TfliteModel, TfliteTensor
from weighbridge.frontends.tflm_builtins import BUILTIN
from weighbridge.frontends.tflm_call import Call, bytes_of, calls_of
from weighbridge.frontends.tflm_rules import Kernel, between
from weighbridge.frontends.tflm_signals import CUSTOM

__all__ = ["CALLED", "refusal"]

CALLED: Final[Mapping[str, tuple[tuple[str, int | None, bool], ...]]] = {
    "CALL_ONCE": (("init_subgraph_index", None, False),),
    "IF": (("then_subgraph_index", -1, True), ("else_subgraph_index", None, False)),
    "WHILE": (("cond_subgraph_index", 0, False), ("body_subgraph_index", 0, True)),
}
"""The options that name the graphs which an operator calls, in the order in which they are planned.

With each how many more inputs than the operator the graph must have, None where nobody looks, and whether its outputs must be as many.
"""


def refusal(model: TfliteModel) -> str:
    """Why TensorFlow Lite Micro does not load a model, "" where it does."""
    calls = [(number, call) for number, subgraph in enumerate(model.subgraphs) for call in calls_of(model, subgraph)]
    for test in (_without_kernel, _refused, partial(_called_wrongly, model)):
        for number, call in calls:
            reason = test(call)
            if reason:
                where = f" of subgraph {number}" if number else ""
                return f"TensorFlow Lite Micro {reason} (operator {call.operator.number}{where})"
    return _unplannable(model)


def _name(call: Call) -> str:
    return call.operator.custom or call.operator.op


def _kernel(call: Call) -> Kernel | None:
    if call.operator.op == "CUSTOM":
        return CUSTOM.get(call.operator.custom)
    return BUILTIN.get(call.operator.op)


def _without_kernel(call: Call) -> str:
    return "" if _kernel(call) is not None else f"has no kernel for {_name(call)}"


def _refused(call: Call) -> str:
    kernel = _kernel(call)
    if kernel is None:
        return ""
    reason = _wrong_count("inputs", len(call.operator.inputs), kernel.inputs)
    reason = reason or _wrong_count("outputs", len(call.operator.outputs), kernel.outputs)
    reason = reason or next(filter(None, (rule(call) for rule in kernel.rules)), "") or _of_no_size(call)
    return f"does not take this {_name(call)}: {reason}" if reason else ""


def _called_wrongly(model: TfliteModel, call: Call) -> str:
    """if.cc, while.cc, call_once.cc: the graphs that an operator calls take what it hands over."""
    given, wanted = len(call.operator.inputs), len(call.operator.outputs)
    for option, inputs, outputs in CALLED.get(call.operator.op, ()):
        number = call.operator.options.get(option, -1)
        if not 0 <= number < len(model.subgraphs):
            return f"is told to call subgraph {number}, which the file does not have"
        subgraph = model.subgraphs[number]
        if inputs is not None and len(subgraph.inputs) != given + inputs:
            return f"would hand {given + inputs} to subgraph {number}, which takes {len(subgraph.inputs)}"
        if outputs and len(subgraph.outputs) != wanted:
            return f"wants {wanted} from subgraph {number}, which makes {len(subgraph.outputs)}"
    return ""


def _wrong_count(what: str, count: int, bounds: tuple[int, int]) -> str:
    least, most = bounds
    return "" if least <= count <= most else f"it has {count} {what} instead of {between(least, most)}"


def _of_no_size(call: Call) -> str:
    """What an operator makes has a size, or the shape (0,), an old way to write a scalar."""
    for place in range(len(call.operator.outputs)):
        output = call.output(place)
        shape = () if output is None else output.shape or ()
        if shape != (0,) and any(size <= 0 for size in shape):
            return f"output {place} has the shape {list(shape)}"
    return ""


def _unplannable(model: TfliteModel) -> str:
    for number, subgraph in enumerate(model.subgraphs):
        for tensor in subgraph.tensors:
            reason = _without_place(tensor) or ("values behind the flatbuffer" if tensor.buffer in model.behind else "")
            if reason:
                return f"TensorFlow Lite Micro has no place for {reason} (tensor {tensor.number} of subgraph {number})"
        for operator in subgraph.operators:
            if any(bytes_of(subgraph.tensors[place]) for place in operator.intermediates):
                return f"TensorFlow Lite Micro takes no intermediate tensors with a size (operator {operator.number})"
    return ""


def _without_place(tensor: TfliteTensor) -> str:
    if tensor.external_bytes:
        return "values in another file"
    if any(size < 0 for size in tensor.shape or ()):
        return f"a tensor of no fixed shape, {list(tensor.shape or ())}"
    return "" if bytes_of(tensor) is not None else f"values of the type {tensor.dtype.name}"
