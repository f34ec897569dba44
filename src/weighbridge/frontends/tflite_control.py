"""Subgraphs of TensorFlow Lite: calls and composites, branches, loops, what runs once.

The operators of a called subgraph take the place of the call, and so do those of the branch that is taken where its condition
is stored.  Other branches, and what a loop repeats, become bodies.  A loop's condition is a subgraph, too: it runs once before
the first pass, and at the end of each.  What a loop hands on unchanged is not carried but taken from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from weighbridge.builder import Builder
from weighbridge.dtypes import DType
from weighbridge.errors import BadModel
from weighbridge.frontends.fresh_names import MAX_NAME
from weighbridge.frontends.tflite_calls import DAMAGED, origin_of, scope_of
from weighbridge.frontends.tflite_hash_tables import HASH_TABLES
from weighbridge.frontends.tflite_loops import MAX_DEPTH
from weighbridge.frontends.tflite_model import Operator
from weighbridge.frontends.tflite_variables import VARIABLES
from weighbridge.graph import BRANCH, LOOP, Body, Node, Tensor, TensorType
from weighbridge.operators.record import known_total

if TYPE_CHECKING:
    from weighbridge.frontends.tflite_capture import Capture
    from weighbridge.frontends.tflite_frame import Frame

__all__ = ["SPECIAL"]

_UNKNOWN_TRIPS: Final = "how often it runs depends on values: one pass is counted"

_Special = Callable[["Capture", "Frame", Operator, str], None]


def _option(capture: Capture, frame: Frame, operator: Operator, name: str, option: str) -> int:
    return _subgraph(capture, frame, operator.options.get(option, -1), name, option)


def _subgraph(capture: Capture, frame: Frame, number: Any, name: str, option: str) -> int:
    """The number of the subgraph that an option names.  Raises ``BadModel`` where there is none, or where it calls itself."""
    if not isinstance(number, int) or not 0 <= number < len(capture.model.subgraphs):
        raise BadModel(f"there is no subgraph {number} ({option})", where=name, hint=DAMAGED)
    if number in frame.calls:
        raise BadModel(f"subgraph {number} calls itself", where=name, hint="the file is damaged or hostile")
    if frame.depth >= MAX_DEPTH:
        raise BadModel(f"subgraphs are nested more than {MAX_DEPTH} deep", where=name, hint=DAMAGED)
    return number


def _expect(given: Sequence[object], wanted: Sequence[object], what: str, name: str) -> None:
    if len(given) != len(wanted):
        raise BadModel(f"{what} {len(wanted)} tensors, and there are {len(given)}", where=name, hint=DAMAGED)


def _inside(
    capture: Capture,
    frame: Frame,
    number: int,
    builder: Builder,
    path: str,
    inputs: Sequence[str],
    name: str,
    segment: str = "",
) -> tuple[str, ...]:
    """The ids of the outputs of a subgraph whose operators are added to a builder."""
    inner = _entered(capture, frame, number, builder, path, inputs, name, segment)
    return _results(capture, inner, name)


def _results(capture: Capture, frame: Frame, name: str) -> tuple[str, ...]:
    return tuple([capture.find(frame, tensor, name) for tensor in frame.graph.outputs])


def _entered(
    capture: Capture,
    frame: Frame,
    number: int,
    builder: Builder,
    path: str,
    inputs: Sequence[str],
    name: str,
    segment: str = "",
) -> Frame:
    """Add the operators of a subgraph to a builder, its inputs being these tensors there.

    Names of its nodes begin with ``path``; those in a body stand below its node and need none.  ``segment`` is what their scope
    has more than that of the call.
    """
    graph = capture.model.subgraphs[number]
    capture.expansion.add(graph, name)
    _expect(inputs, graph.inputs, f"subgraph {number} takes", name)
    scope = ".".join(part for part in (scope_of(frame, name), segment) if part)
    inner = frame.inner(builder, number, graph, path, scope)
    for tensor, outer in zip(graph.inputs, inputs, strict=True):
        capture.bind(inner, tensor, outer, name)
    capture.operators(inner)
    return inner


def _join(capture: Capture, frame: Frame, operator: Operator, name: str, results: Sequence[str]) -> None:
    """The results of an operator are tensors that are there already."""
    _expect(results, operator.outputs, "it has", name)
    for tensor, result in zip(operator.outputs, results, strict=True):
        capture.bind(frame, tensor, result, name)


def _inlined(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """``CALL``: a subgraph in the place of its call."""
    number, inputs = _option(capture, frame, operator, name, "subgraph"), capture.inputs(frame, operator, name)
    _join(capture, frame, operator, name, _inside(capture, frame, number, frame.builder, f"{name}/", inputs, name))


def _composite(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """``STABLEHLO_COMPOSITE``: what it decomposes into in the place of its call, in a scope of its name."""
    number = _option(capture, frame, operator, name, "decomposition_subgraph_index")
    inputs = capture.inputs(frame, operator, name)
    segment = str(operator.options.get("name", ""))[:MAX_NAME].replace(".", "_")
    results = _inside(capture, frame, number, frame.builder, f"{name}/", inputs, name, segment)
    _join(capture, frame, operator, name, results)


def _if(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """``IF``: the second branch where the condition is 0."""
    branches = {label: _option(capture, frame, operator, name, f"{label}_subgraph_index") for label in ("then", "else")}
    _branch(capture, frame, operator, name, branches, lambda condition: 0 if condition else 1)


def _case(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """``STABLEHLO_CASE``: the branch of a number, the last one for a number that no branch has."""
    numbers = operator.options.get("branch_subgraph_indices") or (-1,)
    branches = {
        f"branch{place}": _subgraph(capture, frame, number, name, "branch_subgraph_indices")
        for place, number in enumerate(numbers)
    }
    last = len(branches) - 1
    _branch(capture, frame, operator, name, branches, lambda index: int(index) if 0 <= index <= last else last)


def _branch(
    capture: Capture,
    frame: Frame,
    operator: Operator,
    name: str,
    branches: Mapping[str, int],
    chosen: Callable[[Any], int],
) -> None:
    """The branch that is taken where that is known, else all as bodies."""
    inputs = capture.inputs(frame, operator, name)
    if not inputs or not inputs[0]:
        raise BadModel("a branch needs a condition", where=name, hint=DAMAGED)
    condition, given = capture.value_of(inputs[0]), inputs[1:]
    if condition is not None and len(condition) == 1:
        label, number = list(branches.items())[chosen(condition[0])]
        capture.reached.update(branches.values())
        capture.notes.append(f"{name}: its condition is stored, so the branch {label} runs always and the others never")
        _join(capture, frame, operator, name, _inside(capture, frame, number, frame.builder, f"{name}/", given, name))
        return
    builders, results = [Builder(label) for label in branches], list[tuple[str, ...]]()
    for builder, number in zip(builders, branches.values(), strict=True):
        captured = [one for one in dict.fromkeys(given) if capture.expose(frame, builder, one)]
        results.append(_inside(capture, frame, number, builder, "", given, name))
        _expect(results[-1], operator.outputs, "it has", name)
    operands = [("condition", inputs[0]), *(("captures", one) for one in captured)]
    outside = frozenset(given)
    same = {
        place: one[0] for place, one in enumerate(zip(*results, strict=True)) if len({*one}) == 1 and one[0] in outside
    }
    places = [place for place, one in enumerate(results[0]) if place not in same and one not in capture.handles]
    bodies = [
        Body(builder.name, builder.graph([one[place] for place in places]))
        for builder, one in zip(builders, results, strict=True)
    ]
    handles = {place: one for place, one in enumerate(results[0]) if one in capture.handles}
    outputs = _bind_results(capture, frame, operator, name, {**same, **handles})
    stated = capture.stated(frame, operator)
    types = [_common_type(capture, name, bodies, index, place, stated[place]) for index, place in enumerate(places)]
    _add(capture, frame, operator, name, BRANCH, operands, types, outputs, bodies, "")


def _bind_results(
    capture: Capture, frame: Frame, operator: Operator, name: str, there: Mapping[int, str]
) -> tuple[str, ...]:
    """New ids for the results of an operator, but for those that are ``there`` already, by place."""
    made = []
    for place, number in enumerate(operator.outputs):
        result = there.get(place)
        if result is None:
            made.append(result := capture.fresh(frame, frame.graph.tensors[number]))
        capture.bind(frame, number, result, name)
    return tuple(made)


def _common_type(
    capture: Capture, name: str, bodies: Sequence[Body], index: int, place: int, stated: TensorType
) -> TensorType | DType:
    """The type of a result of all branches; where their shapes differ that which the file states."""
    results = [body.graph.tensors[body.graph.outputs[index]] for body in bodies]
    if len({one.shape for one in results}) == 1:
        return results[0].type or results[0].dtype
    capture.notes.append(f"{name}: the shape of its result {place} depends on the branch that is taken")
    return stated if capture.trusts_shapes and -1 not in stated.shape else stated.dtype


def _loop(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """``WHILE``: what it carries goes through the body as often as the condition says."""
    condition = _option(capture, frame, operator, name, "cond_subgraph_index")
    number = _option(capture, frame, operator, name, "body_subgraph_index")
    inputs = capture.inputs(frame, operator, name)
    _expect(operator.outputs, inputs, "it carries", name)
    _expect(capture.model.subgraphs[condition].outputs, (name,), "its condition is one of", name)
    if "" in inputs:
        raise BadModel("a loop carries a tensor that is absent", where=name, hint=DAMAGED)
    same = capture.loops.unchanged(number)
    there = {place: one for place, one in enumerate(inputs) if place in same or one in capture.handles}
    carried = [place for place in range(len(inputs)) if place not in there]
    first = _entered(capture, frame, condition, frame.builder, f"{name}/cond/", inputs, name)
    builder, inner = Builder("body"), list(inputs)
    for place in carried:
        tensor = frame.builder.tensors[inputs[place]]
        inner[place] = builder.input(capture.names.fresh(f"{name}/{place}"), tensor.shape, tensor.dtype)
    captured = [one for one in dict.fromkeys(there.values()) if capture.expose(frame, builder, one)]
    repeated = _entered(capture, frame, number, builder, "", inner, name)
    results = _results(capture, repeated, name)
    _expect(results, inputs, "its body returns", name)
    tested = _entered(capture, frame, condition, builder, "cond/", results, name)
    goes_on = _results(capture, tested, name)
    grows = _forget_growth(builder, {inner[place]: results[place] for place in carried})
    frames = [] if grows else [first, repeated, tested]
    trips = _trips(capture, condition, number, inputs, frames)
    operands = [("condition", _results(capture, first, name)[0]), *(("carried", inputs[place]) for place in carried)]
    operands += [("captures", one) for one in captured]
    formals = [builder.tensors[inner[place]] for place in carried]
    outputs = _bind_results(capture, frame, operator, name, there)
    body = Body("body", builder.graph((*goes_on, *(results[place] for place in carried))), trips)
    types = [one.type or one.dtype for one in formals]
    reason = _UNKNOWN_TRIPS if trips is None else ""
    _add(capture, frame, operator, name, LOOP, operands, types, outputs, [body], reason)


def _trips(capture: Capture, condition: int, body: int, inputs: Sequence[str], frames: Sequence[Frame]) -> int | None:
    """How often a loop runs, where that follows from values that are known before inference.

    ``frames`` are those of its subgraphs: what is known in all of one is so in every pass, unless shapes change.
    """

    def known(subgraph: int, tensor: int) -> tuple[Any, ...] | None:
        found = {capture.value_of(one.ids.get(tensor, "")) for one in frames if one.subgraph == subgraph}
        return found.pop() if len(found) == 1 else None

    return capture.loops.trips(condition, body, [capture.value_of(one) for one in inputs], known)


def _forget_growth(builder: Builder, carried: Mapping[str, str]) -> bool:
    """Leave shapes open that change from pass to pass, and tell whether one does.

    ``carried`` are results of a body by the inputs that they become.  A shape that changes changes what is computed from it, and
    what that becomes in the next pass.
    """
    ways = [(node.inputs, node.outputs) for node in builder.nodes]
    ways += [((result,), (one,)) for one, result in carried.items() if builder.tensors[one].shape is not None]
    readers: dict[str, list[int]] = {}
    for place, (sources, _) in enumerate(ways):
        for one in sources:
            readers.setdefault(one, []).append(place)
    waiting = [one for one, result in carried.items() if _differs(builder, one, result)]
    lost = set(waiting)
    while waiting:
        for place in readers.pop(waiting.pop(), ()):
            waiting += [one for one in ways[place][1] if one not in lost]
            lost.update(ways[place][1])
            ways[place] = ((), ())
    _forget(builder.tensors, builder.nodes, lost)
    return bool(lost)


def _differs(builder: Builder, one: str, other: str) -> bool:
    return builder.tensors[one].shape != builder.tensors[other].shape


def _forget(tensors: MutableMapping[str, Tensor], nodes: Sequence[Node], lost: set[str]) -> None:
    """Leave the shapes of tensors open, and of all that is computed from them, in bodies too."""
    for node in nodes:
        if lost.isdisjoint(node.inputs):
            continue
        lost.update(node.outputs)
        carried = [tensor for operand, tensor in node.operands if operand == "carried"]
        for body in node.bodies:
            inner = {one for one, outer in zip(body.graph.inputs, carried, strict=False) if outer in lost}
            inner.update(lost.intersection(body.graph.inputs))
            # A body's graph was frozen before what is around it was known.
            _forget(cast("MutableMapping[str, Tensor]", body.graph.tensors), body.graph.nodes, inner)
    for one in lost.intersection(tensors):
        tensors[one] = Tensor(one, None, tensors[one].dtype, tensors[one].role)


def _once(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """``CALL_ONCE``: a subgraph that runs before the first inference only, so that no inference computes it.

    What it stores, such as initial values of variables, is in the file all the same: constants, like all that nothing reads.
    """
    number = _option(capture, frame, operator, name, "init_subgraph_index")
    _expect(operator.outputs, (), "it has", name)
    builder = Builder("init")
    _inside(capture, frame, number, builder, "", capture.inputs(frame, operator, name), name)
    graph = builder.graph(())
    kept = known_total(tensor.bytes for tensor in graph.stored())
    stored = f"; the {kept:,} bytes that it stores are constants" if kept else ""
    capture.notes.append(f"{name}: subgraph {number} runs once, before the first inference, and costs none{stored}")
    _add(capture, frame, operator, name, LOOP, (), (), (), [Body("init", graph, 0)], "")


def _add(
    capture: Capture,
    frame: Frame,
    operator: Operator,
    name: str,
    kind: str,
    operands: Sequence[tuple[str, str]],
    types: Sequence[TensorType | DType],
    outputs: Sequence[str],
    bodies: Sequence[Body],
    reason: str,
) -> None:
    """Add the node that holds bodies."""
    frame.builder.opaque(
        kind,
        operands,
        types,
        name=name,
        outputs=outputs,
        bodies=bodies,
        scope=scope_of(frame, name),
        origin=origin_of(operator),
        reason=reason,
    )
    capture.check(frame, operator, [frame.ids[number] for number in operator.outputs])


SPECIAL: Final[Mapping[str, _Special]] = {
    "CALL": _inlined,
    "STABLEHLO_COMPOSITE": _composite,
    "IF": _if,
    "STABLEHLO_CASE": _case,
    "WHILE": _loop,
    "STABLEHLO_WHILE": _loop,
    "CALL_ONCE": _once,
    **VARIABLES,
    **HASH_TABLES,
}
"""Operators that are no call of one of ours, by name."""
