"""Recurrent layers that keep their states from one inference to the next, a matrix for every gate: those of TensorFlow Lite.

x is (batch, features) for a single step, or has the steps in front, behind the batch where ``batch_first``.  Of a direction there
are, a gate each, w (hidden, features) and r (hidden, state), or where r is ``diagonal`` a vector (hidden,), b (hidden,), peepholes
p (hidden,) and the scales of a layer normalisation norm (hidden,).  An LSTM has the gates in the order input, forget, cell, output;
without an input gate that is 1 less the forget gate.  A projection makes the state shorter than the hidden values.  h and c are the
states, read and written.  A second direction has the same operands under names that begin with ``backward_``; its values lie
beside the first one's in the last axis of y, or are a result of their own.  A second input ``aux`` has weights aux_w in both
directions, or is what the second direction reads in the place of x.  (tensorflow/lite/kernels/lstm_eval.cc)

An SVDF layer (Nakkiran et al. 2015) filters x (batch, features) by w_features (filters, features), keeps what comes out of the last
steps in its state (batch, filters x memory), filters that by w_time (filters, memory), and adds up ``rank`` filters a unit.

Work follows the equations: a gate 1 add to join two products and 1 for a bias, 1 mul and 1 add for a peephole, and of a layer
normalisation what ours counts.  ``quantisation`` is that of contractions, applied to every product: ``in_tensors`` 1 mul and 2
compare a result, 1 add a value that goes in, and 1 mul, 1 add, 2 compare a value that comes out of a step or goes into its
projection; ``dynamic`` 1 mul a result, and a dynamic quantisation of x, and in every step of the state and of what is projected.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final

from weighbridge.dtypes import DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Shape, TensorType
from weighbridge.named_tuple import NamedTuple

from .quantisation import dynamic_quantisation
from .record import Call, Keeps, Kind, Loops, Op, Traffic, Work, known_total, types_of
from .recurrent import activation
from .rules import dtype_of, number
from .time_class import TimeClass

__all__ = ["STATEFUL_OPERATORS"]

_DIRECTIONS: Final = ("", "backward_")
_QUANTISATIONS: Final = ("by_operands", "in_tensors", "dynamic")


class _Direction(NamedTuple):
    """One direction: ``rows`` are all steps of the batch, ``state`` the length of h, ``aux`` the features of a second input."""

    prefix: str
    gates: int
    rows: int
    batch: int
    features: int
    hidden: int
    state: int
    aux: int
    diagonal: bool
    projected: bool

    @property
    def products(self) -> tuple[tuple[str, int, int], ...]:
        """(label, rows of the matrix, its columns) of the products of a step."""
        m = self.gates * self.hidden
        found = [(f"{self.prefix}input", m, self.features)]
        if not self.diagonal:
            found.append((f"{self.prefix}recurrent", m, self.state))
        if self.aux:
            found.append((f"{self.prefix}auxiliary", m, self.aux))
        if self.projected:
            found.append((f"{self.prefix}projection", self.state, self.hidden))
        return tuple(found)


def _shared(call: Call, name: str, rank: int | None = None) -> Shape:
    """The shape that all tensors of a slot have."""
    shapes = {one.shape for one in call.all(name)}
    if len(shapes) != 1:
        raise GraphError(f"{name} has tensors of the shapes {sorted(shapes)}")
    shape = shapes.pop()
    if rank is not None and len(shape) != rank:
        raise GraphError(f"{name} has {len(shape)} dimensions, not {rank}")
    return shape


def _expect(call: Call, name: str, counts: tuple[int, ...], shape: Shape) -> None:
    """``name`` has as many tensors as one of ``counts`` says, all of a shape."""
    given = [one.shape for one in call.all(name)]
    if len(given) not in counts or any(one != shape for one in given):
        raise GraphError(f"{name} is {counts[-1]} of {shape}, not {given or 'absent'}")


def _lead(call: Call) -> tuple[int, int, Shape]:
    """(steps of all sequences, sequences, all sizes of x but the features)."""
    shape = call.x.shape
    if len(shape) not in (2, 3):
        raise GraphError(f"x has 2 or 3 dimensions, not {len(shape)}")
    return prod(shape[:-1]), shape[0 if len(shape) == 2 or call.integer("batch_first") else 1], shape[:-1]


def _direction(call: Call, prefix: str) -> _Direction:
    rows, batch, lead = _lead(call)
    has_aux = call.has("aux")
    crossed = has_aux and call.has(f"{prefix}aux_w")
    read = call.aux if has_aux and prefix and not crossed else call.x
    if read.shape[:-1] != lead or (has_aux and call.aux.shape[:-1] != lead):
        raise GraphError(f"inputs of shape {call.x.shape} and {call.aux.shape}")
    hidden, features = _shared(call, f"{prefix}w", 2)
    if read.shape[-1] != features:
        raise GraphError(f"an input of shape {read.shape} under weights for {features} features")
    r = _shared(call, f"{prefix}r")
    projected = call.has(f"{prefix}projection")
    state = _shared(call, f"{prefix}projection", 2)[0] if projected else hidden
    return _Direction(
        prefix,
        len(call.all(f"{prefix}w")),
        rows,
        batch,
        features,
        hidden,
        state,
        _shared(call, f"{prefix}aux_w", 2)[1] if crossed else 0,
        len(r) == 1,
        projected,
    )


def _checked(call: Call, prefix: str, gates: tuple[int, ...]) -> _Direction:
    """A direction whose operands fit each other."""
    one = _direction(call, prefix)
    hidden, state, count = one.hidden, one.state, one.gates
    if count not in gates:
        raise GraphError(f"{count} gates")
    _expect(call, f"{prefix}r", (count,), (hidden,) if one.diagonal else (hidden, state))
    _expect(call, f"{prefix}b", (0, count), (hidden,))
    _expect(call, f"{prefix}h", (1,), (one.batch, state))
    if one.aux:
        _expect(call, f"{prefix}aux_w", (count,), (hidden, one.aux))
        if call.aux.shape[-1] != one.aux:
            raise GraphError(f"a second input of shape {call.aux.shape} under weights for {one.aux} features")
    return one


def _checked_lstm(call: Call, prefix: str) -> _Direction:
    one = _checked(call, prefix, (3, 4))
    hidden, state = one.hidden, one.state
    _expect(call, f"{prefix}p", (0, one.gates - 1), (hidden,))
    _expect(call, f"{prefix}norm", (0, one.gates), (hidden,))
    _expect(call, f"{prefix}projection", (0, 1), (state, hidden))
    _expect(call, f"{prefix}projection_b", (0, 1), (state,))
    _expect(call, f"{prefix}c", (1,), (one.batch, hidden))
    return one


def _checked_rnn(call: Call, prefix: str) -> _Direction:
    return _checked(call, prefix, (1,))


def _directions(call: Call) -> tuple[str, ...]:
    return _DIRECTIONS if call.has("backward_w") else _DIRECTIONS[:1]


def _result(call: Call, check: Callable[[Call, str], _Direction]) -> tuple[TensorType, ...]:
    """One result that holds the directions side by side, or one each."""
    if call.text("quantisation") not in _QUANTISATIONS:
        raise GraphError(f"there is no quantisation {call['quantisation']!r}")
    _function(call)
    states = [check(call, prefix).state for prefix in _directions(call)]
    lead, dtype = call.x.shape[:-1], dtype_of(call, call.x.dtype, "output_dtype")
    lengths = [sum(states)] if call["merged"] else states
    return tuple(TensorType((*lead, length), dtype) for length in lengths)


def _products(call: Call) -> tuple[Loops, ...]:
    """The products of every direction, all rows of a step's gates as one matrix."""
    found = []
    for prefix in _directions(call):
        one = _direction(call, prefix)
        found += [Loops(m, one.rows, k, label=label) for label, m, k in one.products]
    return tuple(found)


def _summed(call: Call, one: _Direction) -> Work:
    """The sums of a gate's products, its bias, and a diagonal product, of all gates and steps; quantisation."""
    joins = 1 + bool(one.aux) + bool(call.all(f"{one.prefix}b"))
    values = one.rows * one.gates * one.hidden
    diagonal = values if one.diagonal else 0
    return Work(add=joins * values, mul=diagonal).plus(_quantising(call, one))


def _quantising(call: Call, one: _Direction) -> Work:
    where = call.text("quantisation")
    if where == "by_operands":
        return Work()
    results = one.rows * sum(m for _, m, _ in one.products)
    between = one.hidden if one.projected else 0
    if where == "in_tensors":
        made = one.rows * (one.state + between)
        work = Work(add=one.rows * (one.features + one.aux) + made, mul=results, compare=2 * results)
        return work.plus(Work(add=made, mul=made, compare=2 * made))
    work = Work(mul=results)
    for features in filter(None, (one.features, one.aux)):
        work = work.plus(dynamic_quantisation(one.rows * features))
    steps = one.rows // one.batch if one.batch else 0
    for length in filter(None, (one.state, between)):
        work = work.plus(dynamic_quantisation(one.batch * length).times(steps))
    return work


def _function(call: Call) -> Work:
    return activation(call.text("activation")) if call["activation"] else Work()


def _lstm_work(call: Call) -> Work:
    """A hidden value and step: the sums of its gates, their functions, 3 mul and 1 add to make the new states, 1 add where the input
    gate is 1 less the forget gate; 2 compare a value that is clipped.
    """
    done = Work()
    for prefix in _directions(call):
        one = _direction(call, prefix)
        values = one.rows * one.hidden
        gates = activation("sigmoid").times(one.gates - 1).plus(_function(call).times(2))
        combined = Work(add=1 + (one.gates == 3), mul=3, compare=2 if number(call, "clip") else 0)
        peepholes = len(call.all(f"{prefix}p"))
        unit = gates.plus(combined).plus(Work(add=peepholes, mul=peepholes))
        done = done.plus(_summed(call, one)).plus(unit.times(values))
        done = done.plus(_normalised(call, one)).plus(_projected(call, one))
    return done


def _normalised(call: Call, one: _Direction) -> Work:
    """3 add, 3 mul a value of a gate; 1 add, 3 div, 1 special a gate of a step, as a layer normalisation with a scale."""
    gates = len(call.all(f"{one.prefix}norm")) * one.rows
    return Work(add=3, mul=3).times(gates * one.hidden).plus(Work(add=1, div=3, special=1).times(gates))


def _projected(call: Call, one: _Direction) -> Work:
    """1 add a projected value for a bias, 2 compare where it is clipped."""
    if not one.projected:
        return Work()
    biased = int(call.has(f"{one.prefix}projection_b"))
    clipped = 2 if number(call, "projection_clip") else 0
    return Work(add=biased, compare=clipped).times(one.rows * one.state)


def _rnn_work(call: Call) -> Work:
    """A hidden value and step: 1 add to join the two products, 1 for a bias, and its function."""
    done = Work()
    for prefix in _directions(call):
        one = _direction(call, prefix)
        done = done.plus(_summed(call, one)).plus(_function(call).times(one.rows * one.hidden))
    return done


_STATES: Final = ("h", "c", "backward_h", "backward_c", "state")


def _traffic(call: Call) -> Traffic:
    """Every operand is read; results and states are written."""
    reads = known_total(one.bytes for types in call.operands.values() for one in types)
    states = [one.bytes for name in _STATES for one in call.all(name)]
    return Traffic(reads, known_total([*states, *(output.bytes for output in call.outputs)]))


def _multiplied(call: Call) -> tuple[DType, ...]:
    """What goes in, the states and the weights; where these are quantised as the layer runs the weights alone."""
    weights = [f"{prefix}{name}" for prefix in _DIRECTIONS for name in ("w", "r", "projection", "aux_w")]
    data = [] if call.text("quantisation") == "dynamic" else ["x", "aux", "h", "backward_h"]
    return types_of(call, *data, *weights, "w_features", "w_time")


class _Filters(NamedTuple):
    batch: int
    features: int
    filters: int
    memory: int
    units: int


def _filters(call: Call) -> _Filters:
    x, features, time, rank = call.x.shape, call.w_features.shape, call.w_time.shape, call.integer("rank")
    if len(x) != 2 or len(features) != 2 or len(time) != 2 or x[1] != features[1] or time[0] != features[0]:
        raise GraphError(f"an input of shape {x} under filters of shapes {features} and {time}")
    filters, memory = time
    if rank < 1 or filters % rank:
        raise GraphError(f"{filters} filters are no units of rank {rank}")
    return _Filters(x[0], x[1], filters, memory, filters // rank)


def _svdf(call: Call) -> tuple[TensorType, ...]:
    sizes = _filters(call)
    _expect(call, "state", (1,), (sizes.batch, sizes.filters * sizes.memory))
    _expect(call, "b", (0, 1), (sizes.units,))
    if call.text("quantisation") not in _QUANTISATIONS:
        raise GraphError(f"there is no quantisation {call['quantisation']!r}")
    return (TensorType((sizes.batch, sizes.units), dtype_of(call, call.x.dtype, "output_dtype")),)


def _svdf_loops(call: Call) -> tuple[Loops, ...]:
    """All filters by x; then every filter by what it made of the last steps."""
    batch, features, filters, memory, _ = _filters(call)
    return Loops(filters, batch, features, label="features"), Loops(1, batch, memory, filters, "time")


def _svdf_work(call: Call) -> Work:
    """1 add between two filters of a unit, 1 for a bias; what quantised operands need."""
    batch, _, filters, _, units = _filters(call)
    made, results, where = batch * filters, batch * units, call.text("quantisation")
    work = Work(add=made - results + (results if call.has("b") else 0))
    if where == "in_tensors":
        work = work.plus(Work(add=call.x.elements, mul=made, compare=2 * made))
        return work.plus(Work(add=results, mul=results, compare=2 * results))
    if where == "dynamic":
        return work.plus(dynamic_quantisation(call.x.elements)).plus(Work(mul=made))
    return work


def _steps_of_sides(call: Call) -> list[int]:
    sides = [_direction(call, prefix) for prefix in _directions(call)]
    return [one.rows // one.batch for one in sides if one.batch]


def _steps(call: Call) -> int:
    """Every step of the sequences in every direction."""
    return sum(_steps_of_sides(call))


def _passes(call: Call) -> int:
    """The steps of one direction: each reads the weights of that."""
    return max(_steps_of_sides(call), default=0)


_LSTM: Final = (
    "*{0}w:weight{1} *{0}r:weight{1} *{0}b:bias? *{0}p:affine? *{0}norm:affine? {0}projection:weight? {0}projection_b:bias? "
    "{0}h{1} {0}c{1} *{0}aux_w:weight?"
)
_RNN: Final = "*{0}w:weight{1} *{0}r:weight{1} *{0}b:bias? {0}h{1} *{0}aux_w:weight?"


def _slots(one: str) -> str:
    """Operands of both directions, the second one's all optional."""
    return f"x aux? {one.format('', '')} {one.format('backward_', '?')}"


def _layer_attributes(**more: Attribute) -> dict[str, Attribute]:
    return {
        "batch_first": False,
        "activation": "tanh",
        "merged": True,
        "quantisation": "by_operands",
        "output_dtype": "",
        **more,
    }


STATEFUL_OPERATORS: Final = (
    Op(
        "stateful_lstm",
        Kind.CONTRACTION,
        _slots(_LSTM),
        lambda call: _result(call, _checked_lstm),
        _lstm_work,
        loops=_products,
        traffic=_traffic,
        multiplies=_multiplied,
        keeps=Keeps.OPERANDS,
        attributes=_layer_attributes(clip=0.0, projection_clip=0.0),
        summary="long short-term memory that keeps its states, with weights for every gate, in one or two directions",
        time=TimeClass.RECURRENCE,
        steps=_steps,
        passes=_passes,
    ),
    Op(
        "stateful_rnn",
        Kind.CONTRACTION,
        _slots(_RNN),
        lambda call: _result(call, _checked_rnn),
        _rnn_work,
        loops=_products,
        traffic=_traffic,
        multiplies=_multiplied,
        keeps=Keeps.OPERANDS,
        attributes=_layer_attributes(),
        summary="simple recurrent layer that keeps its state, in one or two directions",
        time=TimeClass.RECURRENCE,
        steps=_steps,
        passes=_passes,
    ),
    Op(
        "svdf",
        Kind.CONTRACTION,
        "x w_features:weight w_time:weight b:bias? state",
        _svdf,
        _svdf_work,
        loops=_svdf_loops,
        traffic=_traffic,
        multiplies=_multiplied,
        attributes={"rank": 1, "quantisation": "by_operands", "output_dtype": ""},
        fuses=True,
        summary="filters over features and then over the last steps, which it keeps; adds up ``rank`` filters a unit",
        time=TimeClass.RECURRENCE,
    ),
)
