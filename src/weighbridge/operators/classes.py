"""Scores of classes, the label that they decide, and support vector machines.

- The label of k scores takes k - 1 compares, that of one score 1: which side of a threshold it is on.
- A machine for k classes decides between every two of them: k (k - 1) / 2 sums over the support vectors of both.  A vector takes
  part in the k - 1 decisions of its class, each time with a coefficient of its own, so they are k - 1 products a vector.
- Kernels: a polynomial or sigmoid one is a function of a matrix product; a radial one of squared distances, which are no
  contraction here as they are none elsewhere.  Support vectors and coefficients are learned; in a radial kernel the vectors are
  no weights.
- Probabilities from pairs of classes are found by iteration, so their work depends on values.
"""

from __future__ import annotations

from typing import Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import Shape, TensorType

from .halo import no_halo
from .record import REQUIRED, Call, Keeps, Kind, Loops, Op, Work, nothing
from .rules import INT64, each, in_its_place, same
from .time_class import TimeClass

__all__ = ["CLASS_OPERATORS"]

_FLOAT = DTYPES["float32"]
_KERNELS: Final = ("polynomial", "sigmoid")


def _rows(x: TensorType) -> tuple[int, int]:
    """Rows and columns of a matrix.  Raises ``GraphError`` for anything else."""
    if len(x.shape) != 2:
        raise GraphError(f"scores are rows of a matrix, not of shape {x.shape}")
    return x.shape[0], x.shape[1]


def _both_scores(call: Call) -> tuple[TensorType, ...]:
    rows, columns = _rows(call.x)
    if columns != 1:
        raise GraphError(f"the score of one class decides between two, not {columns} scores")
    return (TensorType((rows, 2), call.x.dtype),)


def _both_work(call: Call) -> Work:
    """1 add a row: the other class's score is minus it, or 1 minus it."""
    return Work(add=call.x.elements)


def _label_dtype(call: Call) -> DType:
    return call.labels.dtype if call.has("labels") else INT64


def _label(call: Call) -> tuple[TensorType, ...]:
    rows, columns = _rows(call.x)
    if call.has("labels") and columns not in (1, call.labels.elements):
        raise GraphError(f"{columns} scores for {call.labels.elements} labels")
    return (TensorType((rows,), _label_dtype(call)),)


def _label_work(call: Call) -> Work:
    """As many compares a row as it has scores, less one; 1 where it has one score."""
    rows, columns = _rows(call.x)
    return Work(compare=rows * max(columns - 1, 1 if columns else 0))


def _classes(call: Call) -> int:
    """How many classes there are.  Raises ``GraphError`` for fewer than two, and unless every pair has a column of x."""
    classes, columns = call.integer("classes"), _rows(call.x)[1]
    if classes < 2 or classes * (classes - 1) // 2 != columns:
        raise GraphError(f"{columns} decisions between two of {classes} classes")
    return classes


def _vote(call: Call) -> tuple[TensorType, ...]:
    _classes(call)
    return (TensorType(call.x.shape[:1], _label_dtype(call)),)


def _vote_work(call: Call) -> Work:
    """1 add, 1 compare a decision; as many compares a row as there are classes, less one."""
    votes = Work(add=1, compare=1).times(call.x.elements)
    return votes.plus(Work(compare=call.x.shape[0] * (_classes(call) - 1)))


def _decisions(call: Call) -> tuple[int, int, int, Shape]:
    """(rows, support vectors, classes less one, shape of the result)."""
    rows, vectors = _rows(call.x)
    if len(call.w.shape) != 2 or call.w.shape[1] != vectors or not call.w.shape[0]:
        raise GraphError(f"coefficients of shape {call.w.shape} for {vectors} support vectors")
    others = call.w.shape[0]
    pairs = others * (others + 1) // 2
    if call.has("b") and call.b.shape != (pairs,):
        raise GraphError(f"a bias of shape {call.b.shape} for {pairs} decisions")
    return rows, vectors, others, (rows, pairs)


def _pair_scores(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(_decisions(call)[3], _FLOAT),)


def _pair_loops(call: Call) -> tuple[Loops, ...]:
    """A row times a coefficient for every support vector and every class but its own."""
    rows, vectors, others, _ = _decisions(call)
    return (Loops(others, rows, vectors),)


def _pair_work(call: Call) -> Work:
    """1 add a decision where there is a bias."""
    return Work(add=call.outputs[0].elements if call.has("b") else 0)


def _pair_probabilities(call: Call) -> tuple[TensorType, ...]:
    classes, pairs = _classes(call), call.x.shape[1]
    if call.slope.elements != pairs or call.shift.elements != pairs:
        raise GraphError(f"{call.slope.elements} slopes and {call.shift.elements} shifts for {pairs} decisions")
    return (TensorType((call.x.shape[0], classes), _FLOAT),)


def _iterated(call: Call) -> None:
    """Depends on how soon the iteration ends."""


def _kernel(call: Call) -> tuple[TensorType, ...]:
    if call.text("kernel") not in _KERNELS:
        raise GraphError(f"there is no kernel {call['kernel']!r}", hint=f"it is {' or '.join(_KERNELS)}")
    return (call.x,)


def _radial(call: Call) -> tuple[TensorType, ...]:
    rows, features = _rows(call.x)
    if len(call.vectors.shape) != 2 or call.vectors.shape[1] != features:
        raise GraphError(f"rows of {features} features and support vectors of shape {call.vectors.shape}")
    return (TensorType((rows, call.vectors.shape[0]), _FLOAT),)


def _radial_work(call: Call) -> Work:
    """A coordinate of a pair 1 add for the difference, 1 mul, and 1 add between two; a pair 1 mul, 1 special."""
    features = call.x.shape[1]
    pair = Work(add=features + max(features - 1, 0), mul=features + 1, special=1)
    return pair.times(call.outputs[0].elements)


def _map(call: Call) -> tuple[DType, ...]:
    return (DTYPES["opaque"],)


CLASS_OPERATORS: Final = (
    Op(
        "pair_scores",
        Kind.CONTRACTION,
        "x w:weight b:bias?",
        _pair_scores,
        _pair_work,
        loops=_pair_loops,
        summary="decision between every two classes, of the kernel values x by the coefficients of a support vector machine",
    ),
    Op(
        "radial_kernel",
        Kind.ELEMENTWISE,
        "x vectors:affine",
        _radial,
        _radial_work,
        summary="exp(-gamma d) of the squared distance d of every row to every support vector",
        keeps=Keeps.OPERANDS,
        halo=no_halo,
        time=TimeClass.OTHER,
    ),
    Op(
        "kernel_function",
        Kind.UNARY,
        "x",
        _kernel,
        each(mul=1, add=1, special=1),
        attributes={"kernel": REQUIRED},
        summary="a power, or the hyperbolic tangent, of gamma x + shift",
        may_overwrite=in_its_place,
    ),
    Op(
        "both_scores",
        Kind.ELEMENTWISE,
        "x",
        _both_scores,
        _both_work,
        summary="scores of two classes from one",
        halo=no_halo,
    ),
    Op(
        "pair_probabilities",
        Kind.NORMALISATION,
        "x slope:affine shift:affine",
        _pair_probabilities,
        _iterated,
        attributes={"classes": REQUIRED},
        summary="probabilities of classes that agree best with those of every two",
        time=TimeClass.OTHER,
    ),
    Op(
        "softmax_zero",
        Kind.NORMALISATION,
        "x",
        same,
        each(add=2, compare=2, special=1, div=1),
        summary="softmax along the last axis in which a 0 stays one",
        time=TimeClass.SOFTMAX,
    ),
    Op(
        "probit",
        Kind.UNARY,
        "x",
        same,
        each(mul=2, add=1, special=1),
        summary="the y below which x of a normal distribution lies",
        may_overwrite=in_its_place,
    ),
    Op(
        "label", Kind.INDEX, "x labels:control?", _label, _label_work, summary="the label of the largest score of a row"
    ),
    Op(
        "vote",
        Kind.INDEX,
        "x labels:control?",
        _vote,
        _vote_work,
        attributes={"classes": REQUIRED},
        summary="the label that wins most decisions between two classes",
    ),
    Op("zip_map", Kind.SEQUENCE, "x labels:control", _map, nothing, summary="a map from label to score for every row"),
)
