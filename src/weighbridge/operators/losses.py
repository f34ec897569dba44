"""Losses, and the few operators that belong to no other family.

The work: negative log likelihood takes 1 mul (a class weight) and 1 add (a sum) a target, and 1 div for a mean; the
cross-entropy takes a log-softmax over the classes before it.  A rotated pair takes 4 mul and 2 add.  A determinant is an
elimination: for n x n, n (n - 1) / 2 div, (n - 1) n (2 n - 1) / 6 mul and as many add, and n - 1 mul for the diagonal.
"""

from __future__ import annotations

from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, TensorType

from .normalisation import log_softmax
from .record import Call, Kind, Op, Work
from .shapes import asked_outputs

__all__ = ["LOSS_OPERATORS"]


def _loss_type(call: Call) -> TensorType:
    """x: batch x classes x positions; targets: batch x positions."""
    scores, targets, reduction = call.x.shape, call.targets.shape, call.text("reduction")
    if len(scores) < 2 or targets != (scores[0], *scores[2:]):
        raise GraphError(f"targets of shape {targets} for scores of shape {scores}")
    if call.has("weight") and call.weight.shape != (scores[1],):
        raise GraphError(f"weights of shape {call.weight.shape} for {scores[1]} classes")
    if reduction not in ("none", "sum", "mean"):
        raise GraphError(f"a loss has no reduction {reduction!r}")
    return TensorType(targets if reduction == "none" else (), call.x.dtype)


def _negative_log_likelihood(call: Call) -> tuple[TensorType, ...]:
    return (_loss_type(call),)


def _cross_entropy(call: Call) -> tuple[TensorType, ...]:
    return asked_outputs(call, {"loss": _loss_type(call), "log_probabilities": call.x})


def _negative_log_likelihood_work(call: Call) -> Work:
    """1 mul a target for a weight, 1 add for a sum, 1 div for a mean; a weighted mean 1 add more, as it sums the weights."""
    targets, weighted, reduction = call.targets.elements, int(call.has("weight")), call["reduction"]
    adds = 0 if reduction == "none" else targets
    if reduction == "mean" and weighted:
        adds *= 2
    return Work(add=adds, mul=weighted * targets, div=int(reduction == "mean"))


def _cross_entropy_work(call: Call) -> Work:
    """A log-softmax over the classes, then the negative log likelihood."""
    return log_softmax(call.x.elements, call.targets.elements).plus(_negative_log_likelihood_work(call))


def _rotary(call: Call) -> tuple[TensorType, ...]:
    """x: batch x heads x sequence x head, or batch x sequence x hidden with ``heads`` given; rotated: the first ``size`` of a head."""
    _rotated(call)
    return (call.x,)


def _rotated(call: Call) -> int:
    """Elements that are rotated."""
    shape, heads, size = call.x.shape, call.integer("heads"), call.integer("size")
    if len(shape) not in (3, 4) or (len(shape) == 3 and (heads < 1 or shape[2] % heads)):
        raise GraphError(f"x of shape {shape} for {heads} heads")
    head = shape[3] if len(shape) == 4 else shape[2] // heads
    size = size or head
    if not 0 <= size <= head or size % 2:
        raise GraphError(f"{size} of {head} elements do not rotate in pairs")
    return call.x.elements // head * size if head else 0


def _rotary_work(call: Call) -> Work:
    """2 add, 4 mul a pair."""
    return Work(add=2, mul=4).times(_rotated(call) // 2)


def _determinant(call: Call) -> tuple[TensorType, ...]:
    if len(call.x.shape) < 2 or call.x.shape[-1] != call.x.shape[-2]:
        raise GraphError(f"a tensor of shape {call.x.shape} holds no square matrices")
    return (TensorType(call.x.shape[:-2], call.x.dtype),)


def _determinant_work(call: Call) -> Work:
    """N (n - 1) / 2 div, (n - 1) n (2 n - 1) / 6 add and mul, and n - 1 mul a matrix of n x n."""
    n = call.x.shape[-1]
    products = (n - 1) * n * (2 * n - 1) // 6 if n else 0
    one = Work(add=products, mul=products + max(n - 1, 0), div=n * (n - 1) // 2)
    return one.times(call.outputs[0].elements)


_REDUCTION: Final[dict[str, Attribute]] = {"reduction": "mean"}

LOSS_OPERATORS: Final = (
    Op(
        "negative_log_likelihood_loss",
        Kind.REDUCTION,
        "x targets weight:statistic?",
        _negative_log_likelihood,
        _negative_log_likelihood_work,
        attributes=_REDUCTION,
        summary="minus the log probability of the target class",
    ),
    Op(
        "softmax_cross_entropy_loss",
        Kind.REDUCTION,
        "x targets weight:statistic?",
        _cross_entropy,
        _cross_entropy_work,
        attributes={**_REDUCTION, "outputs": ("loss",)},
        summary="minus the log softmax of the target class",
    ),
    Op(
        "rotary_embedding",
        Kind.ELEMENTWISE,
        "x cos:statistic sin:statistic positions:control?",
        _rotary,
        _rotary_work,
        attributes={"heads": 0, "size": 0, "interleaved": False},
        summary="pairs of elements rotated by an angle that their position sets",
    ),
    Op(
        "determinant",
        Kind.REDUCTION,
        "x",
        _determinant,
        _determinant_work,
        summary="determinants of square matrices",
    ),
)
