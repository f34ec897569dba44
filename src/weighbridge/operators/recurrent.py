"""Recurrent layers over a whole sequence, as ONNX defines them: LSTM, GRU and the simple recurrent network.

The shapes of LSTM-22, GRU-22 and RNN-22: x (steps, batch, features), w (directions, gates x hidden, features), r (directions,
gates x hidden, hidden), b (directions, 2 x gates x hidden), states (directions, batch, hidden), peepholes p (directions,
3 x hidden).  With ``batch_first`` the batch stands in front of steps and directions.  Every step of every sequence counts,
whatever ``sequence_lengths`` says.  Work follows the equations as written, both biases added in every step.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Shape, TensorType

from .record import Call, Kind, Loops, Op, Work
from .rules import number
from .shapes import asked_outputs
from .unary import UNARY_OPERATORS

__all__ = ["RECURRENT_OPERATORS"]


class _Cell(NamedTuple):
    """A kind of cell: how its hidden values are made, one step.

    ``combine`` is the work beyond summing products and biases; ``activations`` are the default functions and ``uses`` how
    often a step applies each of them.
    """

    name: str
    gates: int
    combine: Work
    activations: tuple[str, ...]
    uses: tuple[int, ...]
    has_cell_state: bool = False


class _Sizes(NamedTuple):
    directions: int
    steps: int
    batch: int
    features: int
    hidden: int


def _expect(call: Call, name: str, shape: Shape) -> None:
    if call.has(name) and call.all(name)[0].shape != shape:
        raise GraphError(f"{name} has the shape {call.all(name)[0].shape}, not {shape}")


def _sizes(cell: _Cell, call: Call) -> _Sizes:
    if len(call.x.shape) != 3 or len(call.r.shape) != 3:
        raise GraphError(f"x and r have 3 dimensions, not {len(call.x.shape)} and {len(call.r.shape)}")
    steps, batch, features = call.x.shape
    if call.integer("batch_first"):
        steps, batch = batch, steps
    directions, _, hidden = call.r.shape
    if directions not in (1, 2):
        raise GraphError(f"a recurrent layer has 1 or 2 directions, not {directions}")
    rows = cell.gates * hidden
    state = (batch, directions, hidden) if call.integer("batch_first") else (directions, batch, hidden)
    _expect(call, "w", (directions, rows, features))
    _expect(call, "r", (directions, rows, hidden))
    _expect(call, "b", (directions, 2 * rows))
    _expect(call, "p", (directions, 3 * hidden))
    _expect(call, "sequence_lengths", (batch,))
    _expect(call, "initial_h", state)
    _expect(call, "initial_c", state)
    return _Sizes(directions, steps, batch, features, hidden)


def _result(cell: _Cell, call: Call) -> tuple[TensorType, ...]:
    directions, steps, batch, _, hidden = _sizes(cell, call)
    if call.integer("batch_first"):
        every, last = (batch, steps, directions, hidden), (batch, directions, hidden)
    else:
        every, last = (steps, directions, batch, hidden), (directions, batch, hidden)
    _activation_work(cell, call, directions)
    types = {"y": TensorType(every, call.x.dtype), "y_h": TensorType(last, call.x.dtype)}
    if cell.has_cell_state:
        types["y_c"] = TensorType(last, call.x.dtype)
    return asked_outputs(call, types)


def _products(cell: _Cell, call: Call) -> tuple[Loops, ...]:
    directions, steps, batch, features, hidden = _sizes(cell, call)
    m, n = cell.gates * hidden, steps * batch
    return Loops(m, n, features, directions, "input"), Loops(m, n, hidden, directions, "recurrent")


# Activations of a recurrent layer that are no operators of their own.
_OTHER_ACTIVATIONS: Final = {"affine": Work(add=1, mul=1), "scaled_tanh": Work(mul=2, special=1)}


@cache
def _activation(name: str) -> Work:
    """The work of one value of a unary operator, by its own record."""
    if name in _OTHER_ACTIVATIONS:
        return _OTHER_ACTIVATIONS[name]
    one = TensorType((1,), DTYPES["float32"])
    for op in UNARY_OPERATORS:
        if op.name == name:
            return op.work(Call({"x": (one,)}, op.attributes, (one,))) or Work()
    raise GraphError(f"there is no activation function {name!r}")


def _activation_work(cell: _Cell, call: Call, directions: int) -> Work:
    """The activation functions of one step's hidden value, in all directions."""
    value = call["activations"]
    names = value if isinstance(value, tuple) else (value,)
    names = names or cell.activations
    if len(names) == len(cell.activations):
        names *= directions
    if len(names) != len(cell.activations) * directions:
        raise GraphError(f"{cell.name} takes {len(cell.activations)} activations a direction, not {len(names)}")
    total = Work(compare=2 * directions * sum(cell.uses) if number(call, "clip") else 0)
    for name, uses in zip(names, cell.uses * directions, strict=True):
        if not isinstance(name, str):
            raise GraphError(f"an activation is named by text, not {name!r}")
        total = total.plus(_activation(name).times(uses))
    return total


def _pointwise(cell: _Cell, call: Call) -> Work:
    """Per hidden value and step: the sums of products and biases, peepholes, activations, and what combines the gates."""
    sizes = _sizes(cell, call)
    unit = cell.combine.plus(Work(add=cell.gates * (3 if call.has("b") else 1)))
    if call.has("p"):
        unit = unit.plus(Work(add=3, mul=3))
    both = unit.times(sizes.directions).plus(_activation_work(cell, call, sizes.directions))
    return both.times(sizes.steps * sizes.batch * sizes.hidden)


_OPERANDS: Final = "x w:weight r:weight b:bias? sequence_lengths:control? initial_h?"


def _recurrent(cell: _Cell, operands: str, summary: str) -> Op:
    attributes: dict[str, Attribute] = {"batch_first": False, "activations": (), "clip": 0.0, "outputs": ("y",)}

    def work(call: Call) -> Work:
        """A hidden value and step: 1 add to join the two products, 2 for biases; what the gates' functions and their products take."""
        return _pointwise(cell, call)

    def loops(call: Call) -> tuple[Loops, ...]:
        """Two products a direction: gates x hidden by features over all steps, and gates x hidden by hidden."""
        return _products(cell, call)

    return Op(
        cell.name,
        Kind.CONTRACTION,
        operands,
        lambda call: _result(cell, call),
        work,
        loops=loops,
        attributes=attributes,
        summary=summary,
    )


# LSTM: c = f c' + i g, h = o tanh(c).  GRU: the reset product, and h = (1 - z) g + z h'.
_LSTM: Final = _Cell("lstm", 4, Work(add=1, mul=3), ("sigmoid", "tanh", "tanh"), (3, 1, 1), has_cell_state=True)
_GRU: Final = _Cell("gru", 3, Work(add=2, mul=3), ("sigmoid", "tanh"), (2, 1))
_RNN: Final = _Cell("rnn", 1, Work(), ("tanh",), (1,))

RECURRENT_OPERATORS: Final = (
    _recurrent(_LSTM, f"{_OPERANDS} initial_c? p:affine?", "long short-term memory in one or two directions"),
    _recurrent(_GRU, _OPERANDS, "gated recurrent unit in one or two directions"),
    _recurrent(_RNN, _OPERANDS, "simple recurrent layer in one or two directions"),
)
