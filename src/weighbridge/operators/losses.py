"""Losses, and the few operators that belong to no other family.

The work: negative log likelihood takes 1 mul (a class weight) and 1 add (a sum) a target, and 1 div for a mean; the
cross-entropy takes a log-softmax over the classes before it.  Where its targets are probabilities, an element takes 1 mul and
1 add more, and 1 mul for a class weight; smoothed ones 1 mul and 1 add an element, and smoothed labels 1 add an element (the
sum of all classes), 1 mul for a class weight, and 2 mul and 1 add a target.  The losses of two tensors, element by element,
take 1 mul for a weight, 1 add for a sum and 1 div in all for a mean, and before that what their records say.  A rotated pair
takes 4 mul and 2 add.  A determinant is an elimination: for n x n, n (n - 1) / 2 div, (n - 1) n (2 n - 1) / 6 mul and as
many add, and n - 1 mul for the diagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Shape, TensorType

from .halo import no_halo
from .normalisation import log_softmax
from .record import Call, Keeps, Kind, Op, Work
from .rules import in_words, number
from .shapes import asked_outputs, broadcast
from .time_class import TimeClass

__all__ = ["LOSS_OPERATORS"]


def _rows_and_classes(call: Call) -> tuple[Shape, int]:
    """x: batch x classes x positions, or the classes alone; rows are what is left without the classes."""
    scores = call.x.shape
    if not scores:
        raise GraphError("a loss needs the scores of classes, not a scalar")
    rows, classes = (scores[:1] + scores[2:], scores[1]) if len(scores) > 1 else ((), scores[0])
    if call.has("weight") and call.weight.shape != (classes,):
        raise GraphError(f"weights of shape {call.weight.shape} for {classes} classes")
    return rows, classes


def _reduced(call: Call, shape: Shape) -> TensorType:
    reduction = call.text("reduction")
    if reduction not in ("none", "sum", "mean"):
        raise GraphError(f"a loss has no reduction {reduction!r}")
    return TensorType(shape if reduction == "none" else (), call.x.dtype)


def _reduction_work(call: Call, losses: int) -> Work:
    """1 add a loss for a sum or mean, and 1 div for a mean."""
    reduction = call["reduction"]
    return Work(add=0 if reduction == "none" else losses, div=int(reduction == "mean"))


def _loss_type(call: Call) -> TensorType:
    """A target a row."""
    rows, _ = _rows_and_classes(call)
    if call.targets.shape != rows:
        raise GraphError(f"targets of shape {call.targets.shape} for scores of shape {call.x.shape}")
    return _reduced(call, rows)


def _negative_log_likelihood(call: Call) -> tuple[TensorType, ...]:
    return asked_outputs(call, {"loss": _loss_type(call), "total_weight": TensorType((), call.x.dtype)})


def _has_probabilities(call: Call) -> bool:
    """Whether the targets are a distribution over the classes, not the number of one."""
    return call.targets.shape == call.x.shape and call.targets.dtype.kind == "float"


def _cross_entropy(call: Call) -> tuple[TensorType, ...]:
    loss = _reduced(call, _rows_and_classes(call)[0]) if _has_probabilities(call) else _loss_type(call)
    return asked_outputs(call, {"loss": loss, "log_probabilities": call.x})


def _negative_log_likelihood_work(call: Call) -> Work:
    """1 mul a target for a weight, 1 add for a sum, 1 div for a mean; a weighted mean 1 add more, as it sums the weights."""
    targets, weighted = call.targets.elements, int(call.has("weight"))
    summed = targets if weighted and call["reduction"] == "mean" else 0
    return Work(add=summed, mul=weighted * targets).plus(_reduction_work(call, targets))


def _cross_entropy_work(call: Call) -> Work:
    """A log-softmax over the classes, then the negative log likelihood, or the sum over all classes."""
    elements, smoothed, weighted = call.x.elements, bool(number(call, "label_smoothing")), int(call.has("weight"))
    if _has_probabilities(call):
        rows = prod(_rows_and_classes(call)[0])
        summed = Work(add=1 + smoothed, mul=1 + smoothed + weighted).times(elements)
        return log_softmax(elements, rows).plus(summed).plus(_reduction_work(call, rows))
    targets = call.targets.elements
    work = log_softmax(elements, targets).plus(_negative_log_likelihood_work(call))
    if smoothed:
        work = work.plus(Work(add=1, mul=weighted).times(elements)).plus(Work(add=1, mul=2).times(targets))
    return work


def _pair_losses(call: Call) -> Shape:
    """x, targets and weight stretch to one shape."""
    others = [call.all(name)[0].shape for name in ("weight", "positive_weight") if call.has(name)]
    return broadcast(call.x.shape, call.targets.shape, *others)


def _pair_loss(call: Call) -> tuple[TensorType, ...]:
    return (_reduced(call, _pair_losses(call)),)


def _pair_work(kinds: Mapping[str, int], **positive: int) -> Callable[[Call], Work]:
    unit, more = Work(**kinds), Work(**positive)

    def work(call: Call) -> Work:
        losses, one = prod(_pair_losses(call)), unit
        if call.has("weight"):
            one = one.plus(Work(mul=1))
        if call.has("positive_weight"):
            one = one.plus(more)
        return one.times(losses).plus(_reduction_work(call, losses))

    extra = f"; {in_words(more)} more for a positive weight" if positive else ""
    work.__doc__ = f"{in_words(unit)} an element{extra}; 1 mul for a weight, 1 add for a sum, and 1 div for a mean."
    return work


def _connectionist(call: Call) -> tuple[TensorType, ...]:
    """x: steps x batch x classes, or steps x classes; a loss for every sequence."""
    if len(call.x.shape) not in (2, 3):
        raise GraphError(f"log probabilities of shape {call.x.shape}: steps x batch x classes")
    return asked_outputs(call, {"loss": _reduced(call, call.x.shape[1:-1])})


def _margins(call: Call) -> tuple[TensorType, ...]:
    """x: batch x classes, or the classes alone; a target a row."""
    rows, _ = _rows_and_classes(call)
    if len(call.x.shape) > 2 or call.targets.elements != prod(rows):
        raise GraphError(f"targets of shape {call.targets.shape} for scores of shape {call.x.shape}")
    return (_reduced(call, rows),)


def _margins_work(call: Call) -> Work:
    """2 add, 1 compare a class but the target, 1 mul for a weight and 1 for p = 2; 1 add, 1 div a row."""
    rows, classes = _rows_and_classes(call)
    p = number(call, "p")
    if p not in (1, 2):
        raise GraphError(f"a margin loss has p 1 or 2, not {p}")
    others = Work(add=2, mul=int(p == 2) + call.has("weight"), compare=1).times(max(classes - 1, 0))
    return others.plus(Work(add=1, div=1)).times(prod(rows)).plus(_reduction_work(call, prod(rows)))


def _label_margins(call: Call) -> tuple[TensorType, ...]:
    """Scores and targets: batch x classes, or the classes alone."""
    rows, _ = _rows_and_classes(call)
    if len(call.x.shape) > 2 or call.targets.shape != call.x.shape:
        raise GraphError(f"targets of shape {call.targets.shape} for scores of shape {call.x.shape}")
    return asked_outputs(call, {"loss": _reduced(call, rows), "is_target": call.x})


def _depends_on_values(call: Call) -> None:
    """Unknown: how many labels a row has and which of them repeat, only their values tell."""


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
    """2 add, 4 mul a pair; 1 mul, 2 special more where its angle is computed and no table holds its cosine and sine."""
    unit = Work(add=2, mul=4) if call.has("cos") else Work(add=2, mul=5, special=2)
    return unit.times(_rotated(call) // 2)


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


def _pair(
    name: str,
    summary: str,
    attributes: Mapping[str, Attribute] | None = None,
    keeps: str = Keeps.OPERANDS,
    **kinds: int,
) -> Op:
    """A loss of two tensors, element by element."""
    attributes = {**_REDUCTION, **(attributes or {})}
    return Op(
        name,
        Kind.REDUCTION,
        "x targets weight:statistic?",
        _pair_loss,
        _pair_work(kinds),
        attributes=attributes,
        summary=summary,
        keeps=keeps,
    )


LOSS_OPERATORS: Final = (
    Op(
        "negative_log_likelihood_loss",
        Kind.REDUCTION,
        "x targets weight:statistic?",
        _negative_log_likelihood,
        _negative_log_likelihood_work,
        attributes={**_REDUCTION, "outputs": ("loss",)},
        summary="minus the log probability of the target class",
    ),
    Op(
        "softmax_cross_entropy_loss",
        Kind.REDUCTION,
        "x targets weight:statistic?",
        _cross_entropy,
        _cross_entropy_work,
        attributes={**_REDUCTION, "label_smoothing": 0.0, "outputs": ("loss",)},
        summary="minus the log softmax of the target class, or of all classes by their probabilities",
        keeps=Keeps.INPUT,
    ),
    _pair("mean_squared_error_loss", "(x - target)^2", add=1, mul=1),
    _pair("l1_loss", "|x - target|", keeps=Keeps.BITS, add=1, compare=1),
    _pair(
        "smooth_l1_loss",
        "d^2 / (2 beta) for d = |x - target| below beta, else d - beta / 2",
        {"beta": 1.0},
        add=2,
        mul=2,
        compare=2,
    ),
    _pair(
        "huber_loss",
        "d^2 / 2 for d = |x - target| below delta, else delta (d - delta / 2)",
        {"delta": 1.0},
        add=2,
        mul=3,
        compare=2,
    ),
    _pair(
        "binary_cross_entropy_loss",
        "(target - 1) log(1 - x) - target log(x), logs not below -100",
        add=3,
        mul=2,
        compare=2,
        special=2,
    ),
    Op(
        "binary_cross_entropy_with_logits_loss",
        Kind.REDUCTION,
        "x targets weight:statistic? positive_weight:statistic?",
        _pair_loss,
        _pair_work({"add": 4, "mul": 1, "compare": 2, "special": 2}, add=4, mul=2),
        attributes=_REDUCTION,
        summary="max(x, 0) - x target + log(1 + exp(-|x|)); with a positive weight p"
        " (1 - target) x + (1 + (p - 1) target) (log(1 + exp(-|x|)) + max(-x, 0))",
        keeps=Keeps.OPERANDS,
    ),
    _pair(
        "kl_divergence_loss",
        "target (log(target) - x), or exp(target) (target - x) where targets are logs",
        {"log_targets": False},
        Keeps.SECOND,
        add=1,
        mul=1,
        special=1,
    ),
    _pair("soft_margin_loss", "log(1 + exp(-target x))", add=2, mul=1, special=2),
    Op(
        "multi_margin_loss",
        Kind.REDUCTION,
        "x targets weight:statistic?",
        _margins,
        _margins_work,
        attributes={**_REDUCTION, "p": 1},
        summary="mean over the other classes of max(0, margin - x[target] + x) to the power p",
        keeps=Keeps.INPUT,
    ),
    Op(
        "multilabel_margin_loss",
        Kind.REDUCTION,
        "x targets:control",
        _label_margins,
        _depends_on_values,
        attributes={**_REDUCTION, "outputs": ("loss",)},
        summary="the margins between every class of a row that is a target and every one that is not",
        keeps=Keeps.INPUT,
    ),
    Op(
        "ctc_loss",
        Kind.REDUCTION,
        "x targets:control input_lengths:control? target_lengths:control?",
        _connectionist,
        _depends_on_values,
        attributes={**_REDUCTION, "outputs": ("loss",)},
        summary="connectionist temporal classification: minus the log probability of all alignments of a sequence",
        keeps=Keeps.INPUT,
        time=TimeClass.OTHER,
    ),
    Op(
        "rotary_embedding",
        Kind.ELEMENTWISE,
        "x cos:statistic? sin:statistic? positions:control?",
        _rotary,
        _rotary_work,
        attributes={"heads": 0, "size": 0, "interleaved": False},
        summary="pairs of elements rotated by an angle that their position sets",
        keeps=Keeps.OTHERS,
        halo=no_halo,
    ),
    Op(
        "determinant",
        Kind.REDUCTION,
        "x",
        _determinant,
        _determinant_work,
        summary="determinants of square matrices",
        keeps=Keeps.INPUT,
        time=TimeClass.OTHER,
    ),
)
