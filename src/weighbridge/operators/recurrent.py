"""Recurrent layers over a whole sequence: LSTM, GRU and the simple recurrent network.

The shapes of ONNX (LSTM-22, GRU-22, RNN-22): x (steps, batch, features), w (directions, gates x hidden, features), r (directions,
gates x hidden, hidden), b (directions, 2 x gates x hidden), states (directions, batch, hidden), peepholes p (directions,
3 x hidden).  With ``batch_first`` the batch stands in front of steps and directions.  Every step of every sequence counts,
whatever ``sequence_lengths`` says.  Work follows the equations as written, both biases added in every step.

PyTorch's, with ``joined``: a matrix w and r for each direction, two vectors b for each direction, and for an LSTM with
projections a matrix ``projection`` (projected, hidden) for each direction, which makes the state of a step shorter, and with
it r; the directions lie side by side in the last axis of y, (steps, batch, directions x hidden), and ``batch_first`` leaves
states as they are.  ``packed``: x has the real steps of all sequences on one axis, and only these count.  ``dynamic``: weights
are quantised, x and states become so as the layer runs.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Shape, TensorType
from weighbridge.named_tuple import NamedTuple

from .halo import no_halo
from .quantisation import dynamic_quantisation
from .record import REQUIRED, Call, Keeps, Kind, Loops, Op, Work, nothing, types_of
from .rules import INT64, dtype_of, number, selects, sizes_of
from .shapes import asked_outputs
from .time_class import TimeClass
from .unary import UNARY_OPERATORS

__all__ = ["RECURRENT_OPERATORS", "activation"]


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
    """``rows`` are all steps of all sequences of the batch; ``state`` is the length of h, shorter than ``hidden`` if projected."""

    directions: int
    rows: int
    batch: int
    features: int
    hidden: int
    state: int


def _expect(call: Call, name: str, shape: Shape) -> None:
    if call.has(name) and call.all(name)[0].shape != shape:
        raise GraphError(f"{name} has the shape {call.all(name)[0].shape}, not {shape}")


def _stacked(call: Call, name: str) -> Shape:
    """The shape with the directions in front: of one tensor, or if ``joined`` of a matrix for each direction."""
    shapes = [one.shape for one in call.all(name)]
    if call.integer("joined"):
        if shapes and len(shapes[0]) == 2 and len(set(shapes)) == 1:
            return (len(shapes), *shapes[0])
        raise GraphError(f"{name} is a matrix for each direction, not {shapes}")
    if len(shapes) != 1 or len(shapes[0]) != 3:
        raise GraphError(f"{name} is one tensor of 3 dimensions, not {shapes}")
    return shapes[0]


def _check_biases(call: Call, directions: int, rows: int) -> None:
    """One tensor for all biases, or if ``joined`` two vectors for each direction."""
    shapes = [one.shape for one in call.all("b")]
    expected: list[Shape] = [(rows,)] * (2 * directions) if call.integer("joined") else [(directions, 2 * rows)]
    if shapes and shapes != expected:
        raise GraphError(f"b is {expected}, not {shapes}")


def _rows(call: Call) -> tuple[int, int, int]:
    """(steps of all sequences, sequences, features) of x."""
    shape = call.x.shape
    if not call.integer("packed"):
        if len(shape) != 3:
            raise GraphError(f"x has 3 dimensions, not {len(shape)}")
        return shape[0] * shape[1], shape[0 if call.integer("batch_first") else 1], shape[2]
    if len(shape) != 2 or not call.has("initial_h") or len(call.initial_h.shape) != 3:
        raise GraphError("packed sequences have 2 dimensions, and an initial state that tells how many they are")
    return shape[0], call.initial_h.shape[0 if _batch_in_front(call) else 1], shape[1]


def _batch_in_front(call: Call) -> bool:
    """Whether states have the batch in front of the directions."""
    return bool(call.integer("batch_first")) and not call.integer("joined")


def _sizes(cell: _Cell, call: Call) -> _Sizes:
    rows, batch, features = _rows(call)
    directions, gate_rows, state = _stacked(call, "r")
    if directions not in (1, 2):
        raise GraphError(f"a recurrent layer has 1 or 2 directions, not {directions}")
    hidden = _stacked(call, "projection")[2] if call.has("projection") else state
    if gate_rows != cell.gates * hidden:
        raise GraphError(f"r has {gate_rows} rows, not {cell.gates} x {hidden}")
    if _stacked(call, "w") != (directions, gate_rows, features):
        raise GraphError(f"w has the shape {_stacked(call, 'w')}, not {(directions, gate_rows, features)}")
    if call.has("projection") and _stacked(call, "projection")[:2] != (directions, state):
        raise GraphError(f"projections to {_stacked(call, 'projection')[1]} values, where the state has {state}")
    _check_biases(call, directions, gate_rows)
    lead = (batch, directions) if _batch_in_front(call) else (directions, batch)
    _expect(call, "p", (directions, 3 * hidden))
    _expect(call, "sequence_lengths", (batch,))
    _expect(call, "initial_h", (*lead, state))
    _expect(call, "initial_c", (*lead, hidden))
    return _Sizes(directions, rows, batch, features, hidden, state)


def _every(call: Call, sizes: _Sizes) -> Shape:
    """The shape of y."""
    directions, state, lead = sizes.directions, sizes.state, call.x.shape[:-1]
    if call.integer("joined"):
        return (*lead, directions * state)
    if len(lead) == 1 or call.integer("batch_first"):
        return (*lead, directions, state)
    return (lead[0], directions, lead[1], state)


def _result(cell: _Cell, call: Call) -> tuple[TensorType, ...]:
    sizes = _sizes(cell, call)
    directions, batch = sizes.directions, sizes.batch
    _activation_work(cell, call, directions)
    last = (batch, directions) if _batch_in_front(call) else (directions, batch)
    types = {
        "y": TensorType(_every(call, sizes), call.x.dtype),
        "y_h": TensorType((*last, sizes.state), call.x.dtype),
    }
    if cell.has_cell_state:
        types["y_c"] = TensorType((*last, sizes.hidden), call.x.dtype)
    return asked_outputs(call, types)


def _products(cell: _Cell, call: Call) -> tuple[Loops, ...]:
    directions, rows, _, features, hidden, state = _sizes(cell, call)
    m = cell.gates * hidden
    both = Loops(m, rows, features, directions, "input"), Loops(m, rows, state, directions, "recurrent")
    return (*both, Loops(state, rows, hidden, directions, "projection")) if call.has("projection") else both


# Activations of a recurrent layer that are no operators of their own, or not without their bounds.
_OTHER_ACTIVATIONS: Final = {
    "affine": Work(add=1, mul=1),
    "scaled_tanh": Work(mul=2, special=1),
    "clip": Work(compare=2),
}


@cache
def activation(name: str) -> Work:
    """The work of one value of a unary operator, by its own record.  Raises ``GraphError`` where there is none."""
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
        total = total.plus(activation(name).times(uses))
    return total


def _pointwise(cell: _Cell, call: Call) -> Work:
    """Per hidden value and step: the sums of products and biases, peepholes, activations, and what combines the gates."""
    sizes = _sizes(cell, call)
    unit = cell.combine.plus(Work(add=cell.gates * (3 if call.has("b") else 1)))
    if call.has("p"):
        unit = unit.plus(Work(add=3, mul=3))
    both = unit.times(sizes.directions).plus(_activation_work(cell, call, sizes.directions))
    return both.times(sizes.rows * sizes.hidden).plus(_quantising(call, sizes))


def _quantising(call: Call, sizes: _Sizes) -> Work:
    """Where the layer is ``dynamic``, x is quantised by its own range, and the state of every step, for each direction."""
    if not call.integer("dynamic"):
        return Work()
    steps = sizes.rows // sizes.batch if sizes.batch else 0
    states = dynamic_quantisation(sizes.batch * sizes.state).times(steps)
    return dynamic_quantisation(sizes.rows * sizes.features).plus(states).times(sizes.directions)


_OPERANDS: Final = "x *w:weight *r:weight *b:bias? sequence_lengths:control? initial_h?"


def _recurrent(cell: _Cell, operands: str, summary: str) -> Op:
    attributes: dict[str, Attribute] = {
        "batch_first": False,
        "joined": False,
        "packed": False,
        "dynamic": False,
        "activations": (),
        "clip": 0.0,
        "outputs": ("y",),
    }

    def work(call: Call) -> Work:
        """A hidden value and step: 1 add to join the two products, 2 for biases; what the gates' functions and their products take."""
        return _pointwise(cell, call)

    def multiplies(call: Call) -> tuple[DType, ...]:
        """What goes in, the state and the weights; where the layer is ``dynamic``, 8-bit integers."""
        return (
            (DTYPES["int8"],) if call.integer("dynamic") else types_of(call, "x", "w", "r", "initial_h", "projection")
        )

    def loops(call: Call) -> tuple[Loops, ...]:
        """Two products a direction and step: gates x hidden by features, and by the state; where it is projected one more, the
        state by hidden.
        """
        return _products(cell, call)

    def steps(call: Call) -> int:
        """Every step of the sequences in every direction; of packed ones as many as the longest has at least."""
        return passes(call) * _sizes(cell, call).directions

    def passes(call: Call) -> int:
        """The steps of one direction: each reads the weights of that."""
        sizes = _sizes(cell, call)
        return -(-sizes.rows // sizes.batch) if sizes.batch else 0

    return Op(
        cell.name,
        Kind.CONTRACTION,
        operands,
        lambda call: _result(cell, call),
        work,
        loops=loops,
        multiplies=multiplies,
        attributes=attributes,
        summary=summary,
        keeps=Keeps.OPERANDS,
        time=TimeClass.RECURRENCE,
        steps=steps,
        passes=passes,
    )


# LSTM: c = f c' + i g, h = o tanh(c).  GRU: the reset product, and h = (1 - z) g + z h'.
_LSTM: Final = _Cell("lstm", 4, Work(add=1, mul=3), ("sigmoid", "tanh", "tanh"), (3, 1, 1), has_cell_state=True)
_GRU: Final = _Cell("gru", 3, Work(add=2, mul=3), ("sigmoid", "tanh"), (2, 1))
_RNN: Final = _Cell("rnn", 1, Work(), ("tanh",), (1,))


def _size(call: Call, name: str) -> int:
    sizes = sizes_of(call, name)
    if len(sizes) != 1:
        raise GraphError(f"{name} is one number, not {sizes}")
    return sizes[0]


def _pack(call: Call) -> tuple[TensorType, ...]:
    """``steps`` are the real ones of all sequences, ``longest`` those of the longest."""
    if len(call.x.shape) < 2:
        raise GraphError(f"sequences in a batch have at least 2 dimensions, not {len(call.x.shape)}")
    steps, longest = _size(call, "steps"), _size(call, "longest")
    packed = TensorType((steps, *call.x.shape[2:]), call.x.dtype)
    return asked_outputs(call, {"y": packed, "batch_sizes": TensorType((longest,), INT64)})


def _unpack(call: Call) -> tuple[TensorType, ...]:
    if not call.x.shape:
        raise GraphError("packed sequences have at least 1 dimension")
    steps, batch = _size(call, "steps"), _size(call, "batch")
    lead = (batch, steps) if call.integer("batch_first") else (steps, batch)
    padded = TensorType((*lead, *call.x.shape[1:]), call.x.dtype)
    return asked_outputs(call, {"y": padded, "lengths": TensorType((batch,), INT64)})


def _cell(call: Call) -> tuple[TensorType, ...]:
    """The new output and state of one step whose gates' sums are there: gates (batch, 4 x hidden), c (batch, hidden)."""
    gates, c = call.gates.shape, call.c.shape
    if not c or gates != (*c[:-1], 4 * c[-1]):
        raise GraphError(f"gates of shape {gates} for a state of shape {c}")
    return TensorType(c, dtype_of(call, call.c.dtype, "output_dtype")), call.c


def _cell_work(call: Call) -> Work:
    """A hidden value: the functions of its gates, 3 mul and 1 add."""
    return _LSTM.combine.plus(activation("sigmoid").times(3)).plus(activation("tanh").times(2)).times(call.c.elements)


RECURRENT_OPERATORS: Final = (
    _recurrent(
        _LSTM,
        f"{_OPERANDS} initial_c? p:affine? *projection:weight?",
        "long short-term memory in one or two directions",
    ),
    _recurrent(_GRU, _OPERANDS, "gated recurrent unit in one or two directions"),
    _recurrent(_RNN, _OPERANDS, "simple recurrent layer in one or two directions"),
    Op(
        "lstm_cell",
        Kind.ELEMENTWISE,
        "gates c",
        _cell,
        _cell_work,
        attributes={"output_dtype": ""},
        summary="the output and state that the sums of an LSTM's gates make in one step",
        keeps=Keeps.OPERANDS,
        halo=no_halo,
    ),
    Op(
        "pack_sequences",
        Kind.MOVE,
        "x lengths:control",
        _pack,
        nothing,
        traffic=selects("x"),
        attributes={"batch_first": False, "steps": REQUIRED, "longest": REQUIRED, "outputs": ("y",)},
        summary="the real steps of padded sequences on one axis, and how many sequences have each step",
    ),
    Op(
        "unpack_sequences",
        Kind.MOVE,
        "x batch_sizes:control",
        _unpack,
        nothing,
        attributes={"batch_first": False, "steps": REQUIRED, "batch": REQUIRED, "outputs": ("y",)},
        summary="packed sequences as padded ones, and their lengths",
    ),
)
