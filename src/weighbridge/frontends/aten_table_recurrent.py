"""PyTorch's recurrent layers as ours: a stacked layer is one of ours for each layer, a cell is a sequence of one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.aten_call import AtenCall, Rule
from weighbridge.frontends.foreign import Step
from weighbridge.graph import Attribute
from weighbridge.named_tuple import NamedTuple

__all__ = ["RULES_RECURRENT"]

_STATES: Final = ("initial_h", "initial_c")


class _Kind(NamedTuple):
    """Our operator, how many states a step hands on, and the functions that are not the default ones."""

    operator: str
    states: int = 1
    activations: tuple[str, ...] = ()

    @property
    def results(self) -> tuple[str, ...]:
        return ("y", "y_h", "y_c")[: 1 + self.states]


_LSTM: Final = _Kind("lstm", 2)
_GRU: Final = _Kind("gru")
_TANH: Final = _Kind("rnn")
_RELU: Final = _Kind("rnn", activations=("relu",))


class _Stack(NamedTuple):
    """A recurrent layer of several layers as PyTorch calls it: the arguments that the forms have under different names."""

    kind: _Kind
    x: str
    states: tuple[str, ...]
    parameters: tuple[tuple[str, ...], ...]
    layers: int
    directions: int
    batch_first: bool
    packed: bool


def _parameters(call: AtenCall, tensors: Sequence[str], cells: int) -> tuple[tuple[str, ...], ...]:
    """The parameters of each cell: layers from below, and in a layer first the forward direction."""
    if not tensors:
        raise GraphError("its parameters are packed in objects that nobody opened", where=call.name)
    each, rest = divmod(len(tensors), max(cells, 1))
    if rest or not 2 <= each <= 5:
        raise GraphError(f"{len(tensors)} parameters are not those of {cells} cells", where=call.name)
    return tuple(tuple(tensors[place : place + each]) for place in range(0, len(tensors), each))


def _slots(cells: Sequence[tuple[str, ...]], *, has_biases: bool) -> list[tuple[str, str]]:
    """The operands of one layer, of one or two directions: w, r, two biases if there are any, and the projection."""
    names = ("w", "r", "b", "b", "projection") if has_biases else ("w", "r", "projection")
    pairs = [pair for cell in cells for pair in zip(names, cell, strict=False)]
    return sorted(pairs, key=lambda pair: names.index(pair[0]))


def _layer(stack: _Stack, number: int, x: str, states: Sequence[str], has_biases: bool, made: Sequence[str]) -> Step:
    """One layer; ``made`` are the ids of y and the last states, "" for those that nobody reads."""
    cells = stack.parameters[number * stack.directions : (number + 1) * stack.directions]
    pairs = [("x", x), *_slots(cells, has_biases=has_biases), *zip(_STATES, states, strict=False)]
    asked = [place for place, tensor in enumerate(made) if tensor]
    attributes: dict[str, Attribute] = {
        "batch_first": stack.batch_first,
        "joined": True,
        "packed": stack.packed,
        "activations": stack.kind.activations,
        "outputs": tuple(stack.kind.results[place] for place in asked),
    }
    return Step(stack.kind.operator, pairs, attributes, [made[place] for place in asked])


def _stacked(call: AtenCall, stack: _Stack) -> Sequence[Step]:
    """One step for each layer; states of several layers are taken apart before, and put together behind."""
    has_biases, layers = bool(call.get("has_biases", True)), stack.layers
    count = len(stack.states)
    if layers == 1:
        return (_layer(stack, 0, stack.x, stack.states, has_biases, call.outputs[: 1 + count]),)
    steps: list[Step] = []
    for name, state in zip(_STATES, stack.states, strict=False):
        parts = [call.inner(f"{name}.{number}") for number in range(layers)]
        steps.append(Step("split", [("x", state)], {"axis": 0, "parts": layers}, parts))
    x = stack.x
    for number in range(layers):
        states = [call.inner(f"{name}.{number}") for name in _STATES[:count]]
        last = [
            call.inner(f"{name}.{number}") if call.has_output(place) else ""
            for place, name in enumerate(stack.kind.results[1:], 1)
        ]
        y = call.outputs[0] if number == layers - 1 else call.inner(f"y.{number}")
        steps.append(_layer(stack, number, x, states, has_biases, [y, *last]))
        x = y
    for place, name in enumerate(stack.kind.results[1:], 1):
        if call.has_output(place):
            parts = [call.inner(f"{name}.{number}") for number in range(layers)]
            steps.append(Step("concat", [("xs", part) for part in parts], {"axis": 0}, [call.outputs[place]]))
    return steps


def _whole(kind: _Kind) -> Rule:
    """lstm.input and lstm.data (packed sequences), and the like.

    The parameters of quantised ones arrive in the same order, each unpacked: w_ih, w_hh, b_ih, b_hh.
    """

    def rule(call: AtenCall) -> Sequence[Step]:
        packed = call.has("data")
        layers, directions = call.integer("num_layers", 1), 2 if call.get("bidirectional", False) else 1
        stack = _Stack(
            kind=kind,
            x=call.operand("data" if packed else "input"),
            states=call.operands("hx")[: kind.states],
            parameters=_parameters(call, call.operands("params"), layers * directions),
            layers=layers,
            directions=directions,
            batch_first=bool(call.get("batch_first", False)),
            packed=packed,
        )
        return _stacked(call, stack)

    return rule


def _one_direction(call: AtenCall) -> Sequence[Step]:
    """mkldnn_rnn_layer: one layer in one direction, the last two weights its biases."""
    kind = dict(enumerate((_RELU, _TANH, _LSTM, _GRU))).get(call.integer("mode"))
    if kind is None:
        raise GraphError(f"there is no recurrent layer of mode {call.get('mode')}", where=call.name)
    has_biases = bool(call.get("has_biases", True))
    names = ("weight0", "weight1", "weight2", "weight3")[: 4 if has_biases else 2]
    states = (call.operand("hx_"), call.operand("cx_"))[: kind.states]
    stack = _Stack(
        kind=kind,
        x=call.operand("input"),
        states=states,
        parameters=(tuple(call.operand(name) for name in names),),
        layers=1,
        directions=1,
        batch_first=bool(call.get("batch_first", False)),
        packed=False,
    )
    return _stacked(call, stack)


def _cell(kind: _Kind) -> Rule:
    """A cell, quantised or not: its input and states get an axis for the one step, or direction, which their results lose."""

    def rule(call: AtenCall) -> Sequence[Step]:
        given = {"x": call.operand("input"), **dict(zip(_STATES, call.operands("hx"), strict=False))}
        biases = [("b", call.operand(name)) for name in ("b_ih", "b_hh", "bias_ih", "bias_hh") if call.has(name)]
        weights = [("w", call.operand("w_ih")), ("r", call.operand("w_hh")), *biases]
        front: dict[str, Attribute] = {"axes": (0,)}
        steps = [Step("unsqueeze", [("x", tensor)], front, [call.inner(name)]) for name, tensor in given.items()]
        asked = [place for place in range(kind.states) if place < 1 or call.has_output(place)]
        names = [kind.results[1 + place] for place in asked]
        attributes: dict[str, Attribute] = {
            "joined": True,
            "activations": kind.activations,
            "outputs": tuple(names),
        }
        operands = [("x", call.inner("x")), *weights]
        operands += [(name, call.inner(name)) for name in _STATES if name in given]
        steps.append(Step(kind.operator, operands, attributes, [call.inner(name) for name in names]))
        for place, name in zip(asked, names, strict=True):
            steps.append(Step("squeeze", [("x", call.inner(name))], front, [call.outputs[place]]))
        return steps

    return rule


def _asked(call: AtenCall, *names: str) -> dict[str, Attribute]:
    return {"outputs": tuple(name for place, name in enumerate(names) if place == 0 or call.has_output(place))}


def _pack(call: AtenCall) -> Sequence[Step]:
    """How many steps are real depends on values; PyTorch knows them."""
    attributes = {
        "batch_first": bool(call.get("batch_first", False)),
        "steps": call.made[0].shape[0],
        "longest": call.made[1].shape[0],
        **_asked(call, "y", "batch_sizes"),
    }
    pairs = [("x", call.operand("input")), ("lengths", call.operand("lengths"))]
    return (Step("pack_sequences", pairs, attributes, [tensor for tensor in call.outputs if tensor]),)


def _unpack(call: AtenCall) -> Sequence[Step]:
    batch_first = bool(call.get("batch_first", False))
    first, second = call.made[0].shape[:2]
    attributes = {
        "batch_first": batch_first,
        "steps": second if batch_first else first,
        "batch": first if batch_first else second,
        **_asked(call, "y", "lengths"),
    }
    pairs = [("x", call.operand("data")), ("batch_sizes", call.operand("batch_sizes"))]
    return (Step("unpack_sequences", pairs, attributes, [tensor for tensor in call.outputs if tensor]),)


_KINDS: Final = {"lstm": _LSTM, "gru": _GRU, "rnn_tanh": _TANH, "rnn_relu": _RELU}


def _forms(make: Callable[[_Kind], Rule], pattern: str) -> dict[str, Rule]:
    return {pattern.format(name): make(kind) for name, kind in _KINDS.items()}


RULES_RECURRENT: Final[Mapping[str, Rule]] = {
    **_forms(_whole, "aten.{}"),
    **_forms(_cell, "aten.{}_cell"),
    **_forms(_cell, "quantized.quantized_{}_cell_dynamic"),
    "aten.quantized_lstm": _whole(_LSTM),
    "aten.quantized_gru": _whole(_GRU),
    "aten.mkldnn_rnn_layer": _one_direction,
    "aten._pack_padded_sequence": _pack,
    "aten._pad_packed_sequence": _unpack,
}
