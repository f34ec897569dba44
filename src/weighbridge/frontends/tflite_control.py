"""Subgraphs of TensorFlow Lite: calls and composites, branches, loops, variables.

The operators of a called subgraph take the place of the call, and so do those of the branch that is taken where its condition
is stored.  Other branches, and what a loop repeats, become bodies.  A loop's condition is a subgraph, too: it runs once before
the first pass, and at the end of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from weighbridge.builder import Builder
from weighbridge.errors import BadModel
from weighbridge.frontends.tflite_calls import origin_of, scope_of
from weighbridge.frontends.tflite_model import Operator, Subgraph
from weighbridge.graph import BRANCH, LOOP, Body, TensorType

if TYPE_CHECKING:
    from weighbridge.frontends.tflite_capture import Capture, Frame

__all__ = ["SPECIAL"]

MAX_DEPTH: Final = 100
"""Subgraphs inside each other; Python's own stack ends a little later."""
_UNKNOWN_TRIPS: Final = "how often it runs depends on values: one pass is counted"
_DAMAGED: Final = "the file is damaged: convert the model again"


def _subgraph(capture: Capture, frame: Frame, operator: Operator, name: str, option: str) -> int:
    """The number of the subgraph that an option names.  Raises ``BadModel`` where there is none, or where it calls itself."""
    number = operator.options.get(option, -1)
    if not isinstance(number, int) or not 0 <= number < len(capture.model.subgraphs):
        raise BadModel(f"there is no subgraph {number} ({option})", where=name, hint=_DAMAGED)
    if number in frame.calls:
        raise BadModel(f"subgraph {number} calls itself", where=name, hint="the file is damaged or hostile")
    if frame.depth >= MAX_DEPTH:
        raise BadModel(f"subgraphs are nested more than {MAX_DEPTH} deep", where=name, hint=_DAMAGED)
    return number


def _expect(given: Sequence[object], wanted: Sequence[object], what: str, name: str) -> None:
    if len(given) != len(wanted):
        raise BadModel(f"{what} {len(wanted)} tensors, and there are {len(given)}", where=name, hint=_DAMAGED)


def _inside(
    capture: Capture, frame: Frame, number: int, builder: Builder, path: str, inputs: Sequence[str], name: str
) -> tuple[str, ...]:
    """Add the operators of a subgraph to a builder, its inputs being these tensors there; returns the ids of its outputs."""
    from weighbridge.frontends.tflite_capture import Frame

    graph: Subgraph = capture.model.subgraphs[number]
    _expect(inputs, graph.inputs, f"subgraph {number} takes", name)
    inner = Frame(builder, number, graph, path, scope_of(frame, name), frame)
    for tensor, outer in zip(graph.inputs, inputs, strict=True):
        capture.bind(inner, tensor, outer, name)
    capture.operators(inner)
    return tuple([capture.find(inner, tensor, name) for tensor in graph.outputs])


def _join(capture: Capture, frame: Frame, operator: Operator, name: str, results: Sequence[str]) -> None:
    """The results of an operator are tensors that are there already."""
    _expect(results, operator.outputs, "it has", name)
    for tensor, result in zip(operator.outputs, results, strict=True):
        capture.bind(frame, tensor, result, name)


def _inline(option: str) -> Callable[[Capture, Frame, Operator, str], None]:
    """A subgraph in the place of its call."""

    def special(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
        number = _subgraph(capture, frame, operator, name, option)
        inputs = capture.inputs(frame, operator, name)
        results = _inside(capture, frame, number, frame.builder, f"{name}/", inputs, name)
        _join(capture, frame, operator, name, results)

    return special


def _branch(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """``IF``: the branch that is taken where its condition is stored, else both as bodies."""
    options = ("then_subgraph_index", "else_subgraph_index")
    numbers = [_subgraph(capture, frame, operator, name, option) for option in options]
    inputs = capture.inputs(frame, operator, name)
    if not inputs:
        raise BadModel("a branch needs a condition", where=name, hint=_DAMAGED)
    condition = capture.value_of(inputs[0])
    if condition is not None and len(condition) == 1:
        number = numbers[0] if condition[0] else numbers[1]
        results = _inside(capture, frame, number, frame.builder, f"{name}/", inputs[1:], name)
        _join(capture, frame, operator, name, results)
        return
    bodies = []
    for number, label in zip(numbers, ("then", "else"), strict=True):
        builder = Builder(label)
        captured = dict.fromkeys(one for one in inputs[1:] if capture.expose(frame, builder, one))
        results = _inside(capture, frame, number, builder, f"{name}/{label}/", inputs[1:], name)
        builder.inputs[:] = list(captured)
        bodies.append(Body(label, builder.graph(results)))
    operands = [("condition", inputs[0])]
    operands += [("captures", one) for one in dict.fromkeys(inputs[1:]) if one not in capture.static]
    _finish(capture, frame, operator, name, BRANCH, operands, bodies, "")


def _loop(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """``WHILE``: what it carries goes through the body as often as the condition says."""
    condition = _subgraph(capture, frame, operator, name, "cond_subgraph_index")
    number = _subgraph(capture, frame, operator, name, "body_subgraph_index")
    inputs = capture.inputs(frame, operator, name)
    first = _inside(capture, frame, condition, frame.builder, f"{name}/cond/", inputs, name)
    builder = Builder("body")
    carried = [capture.carry(frame, builder, f"{name}/{index}", one) for index, one in enumerate(inputs)]
    results = _inside(capture, frame, number, builder, f"{name}/body/", carried, name)
    goes_on = _inside(capture, frame, condition, builder, f"{name}/body/cond/", results, name)
    _expect(goes_on, (name,), "a condition is one of", name)
    bodies = [Body("body", builder.graph((*goes_on, *results)), None)]
    operands = [*(("condition", one) for one in first), *(("carried", one) for one in inputs)]
    _finish(capture, frame, operator, name, LOOP, operands, bodies, _UNKNOWN_TRIPS)


def _finish(
    capture: Capture,
    frame: Frame,
    operator: Operator,
    name: str,
    kind: str,
    operands: Sequence[tuple[str, str]],
    bodies: Sequence[Body],
    reason: str,
) -> None:
    """Add the node that holds bodies."""
    stated = capture.stated(frame, operator)
    is_known = capture.trusts_shapes and not any(-1 in one.shape for one in stated)
    types: list[TensorType | None] = list(stated) if is_known else _returned(bodies[0], len(stated))
    made = frame.builder.opaque(
        kind,
        operands,
        types,
        name=name,
        outputs=capture.outputs(frame, operator, name),
        bodies=bodies,
        scope=scope_of(frame, name),
        origin=origin_of(operator),
        reason=reason,
    )
    capture.check(frame, operator, made)


def _returned(body: Body, count: int) -> list[TensorType | None]:
    """The types of the last results of a body."""
    outputs = body.graph.outputs
    return [body.graph.tensors[tensor].type for tensor in outputs[len(outputs) - count :]]


def _call_once(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """A subgraph that runs before the first inference only: what it does costs no inference anything."""
    number = _subgraph(capture, frame, operator, name, "init_subgraph_index")
    capture.reached.add(number)
    capture.notes.append(f"subgraph {number} runs once, before the first inference (CALL_ONCE), and is not counted")


def _variable(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """``VAR_HANDLE``: a name for a variable, whose type is known where it is read or written."""
    tensor = capture.outputs(frame, operator, name)[0]
    container, shared = operator.options.get("container", ""), operator.options.get("shared_name", "")
    capture.handles[tensor] = "/".join(part for part in (container, shared) if part) or tensor


def _read(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """``READ_VARIABLE``: a copy of a variable."""
    kind = capture.type_of(frame.graph.tensors[operator.outputs[0]])
    state = _state(capture, frame, operator, name, kind)
    outputs = capture.outputs(frame, operator, name)
    frame.builder.add("read_variable", [("state", state)], name=name, outputs=outputs, origin=operator.op)


def _assign(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """``ASSIGN_VARIABLE``: a variable takes a value."""
    value = capture.find(frame, operator.inputs[1], name) if len(operator.inputs) == 2 else ""
    kind = frame.builder.type_of(value)
    if kind is None:
        raise BadModel("what is assigned has no shape", where=name, hint=_DAMAGED)
    state = _state(capture, frame, operator, name, kind)
    frame.builder.add("assign_variable", [("state", state), ("x", value)], name=name, origin=operator.op)


def _state(capture: Capture, frame: Frame, operator: Operator, name: str, kind: TensorType) -> str:
    handle = capture.find(frame, operator.inputs[0], name) if operator.inputs else ""
    if handle not in capture.handles:
        raise BadModel("reads a variable that no VAR_HANDLE names", where=name, hint=_DAMAGED)
    return capture.state(frame, capture.handles[handle], kind)


SPECIAL: Final[Mapping[str, Callable[[Capture, Frame, Operator, str], None]]] = {
    "CALL": _inline("subgraph"),
    "STABLEHLO_COMPOSITE": _inline("decomposition_subgraph_index"),
    "IF": _branch,
    "WHILE": _loop,
    "STABLEHLO_WHILE": _loop,
    "CALL_ONCE": _call_once,
    "VAR_HANDLE": _variable,
    "READ_VARIABLE": _read,
    "ASSIGN_VARIABLE": _assign,
}
"""Operators that are no call of one of ours, by name."""
