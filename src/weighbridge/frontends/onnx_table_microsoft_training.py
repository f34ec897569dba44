"""Steps of training that ONNX Runtime writes into a graph (com.microsoft): derivatives, sums of them, and what goes with these.

Source: ONNX Runtime, orttraining/orttraining/core/graph/training_op_defs.cc.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind
from weighbridge.frontends.onnx_fold import broadcast_axes
from weighbridge.frontends.onnx_steps import Steps
from weighbridge.frontends.onnx_tensors import dtype_of
from weighbridge.graph import UNKNOWN, Attribute

__all__ = ["TRAINING_RULES"]


def _biased_gelu(approximate: str) -> Rule:
    """The derivative of a function of a sum with a bias, by the sum."""

    def rule(call: Foreign) -> Sequence[Step]:
        steps = Steps(call)
        x = steps.make("add", [("a", call.operand(1)), ("b", call.operand(2))])
        return steps.done("gelu_gradient", [("dy", call.operand(0)), ("x", x)], {"approximate": approximate})

    return rule


def _gelu(approximate: str) -> Rule:
    return As("gelu_gradient", "dy x", lambda call: {"approximate": approximate})


def _row(call: Foreign) -> dict[str, Attribute]:
    return {"axis": call.get("axis", -1)}


def _flat_rows(call: Foreign) -> dict[str, Attribute]:
    """As before opset 13, everything from the axis on is one row."""
    return {"axis": call.get("axis", 1), "flatten": True}


def _norm(call: Foreign) -> dict[str, Attribute]:
    return {"axis": call.get("axis", -1)}


def _root_mean_square(call: Foreign) -> dict[str, Attribute]:
    return {"axis": call.get("axis", -1), "centred": False}


def _output_type(call: Foreign) -> str:
    """The type of a result where an attribute sets one."""
    number = call.get("output_type", 0)
    return dtype_of(number).name if number else ""


def _cross_entropy(call: Foreign) -> Sequence[Step]:
    """The loss in a type of its own, and the logarithms of the probabilities."""
    steps, dtype = Steps(call), _output_type(call)
    changes = bool(dtype) and call.has_output(0) and dtype != call.services.dtype_name(call.operand(0))
    loss = call.inner("loss") if changes else call.outputs[0]
    attributes: dict[str, Attribute] = {"reduction": call.get("reduction", "mean")}
    pairs = bind(call, "x targets weight")
    steps.ask("softmax_cross_entropy_loss", pairs, attributes, "loss log_probabilities", (loss, *call.outputs[1:]))
    if changes:
        steps.make("cast", [("x", loss)], {"dtype": dtype}, into=call.outputs[0])
    return steps.steps


def _cross_entropy_gradient(call: Foreign) -> dict[str, Attribute]:
    return {"reduction": call.get("reduction", "mean"), "dtype": _output_type(call)}


def _slice(call: Foreign) -> dict[str, Attribute]:
    shape = call.sizes(1)
    return {"shape": UNKNOWN if shape is None else shape}


def _axes(call: Foreign) -> dict[str, Attribute]:
    """How many axes of either operand were stretched, where both shapes are known."""
    a, b = call.sizes(0), call.sizes(1)
    return {"lengths": UNKNOWN if a is None or b is None else tuple(map(len, broadcast_axes(a, b)))}


def _joined(call: Foreign) -> Sequence[Step]:
    """Tensors joined, and how long each was: known before anything runs."""
    steps = Steps(call)
    if call.has_output(1):
        lengths: dict[str, Attribute] = {"shape": (len(call.inputs),), "dtype": "int64"}
        steps.make("constant_of_shape", [], lengths, into=call.outputs[1])
    steps.make("concat", bind(call, "*xs"), {"axis": call.get("axis", 1)}, into=call.outputs[0])
    return steps.steps


def _yielded(call: Foreign) -> Sequence[Step]:
    """The program around the model takes each operand, and hands the loss's derivative by it back.

    One that is not differentiable has none; one that may be smaller than the operand has no known shape.
    """
    without = set(call.get("non_differentiable_outputs") or ())
    whole = set(call.get("full_shape_outputs") or ())
    given = [position for position in range(len(call.inputs)) if position not in without]
    if len(given) < len(call.outputs):
        raise BadModel(f"{len(call.outputs)} derivatives of {len(given)} tensors", where=call.name)
    attributes = [{"same_shape": position in whole} for position in given]
    return [
        Step("yield", [("x", call.operand(position))], known, [output])
        for position, known, output in zip(given, attributes, call.outputs, strict=False)
        if output
    ]


TRAINING_RULES: Final[Mapping[str, Rule]] = {
    "ReluGrad": As("relu_gradient", "dy y"),
    "SigmoidGrad": As("sigmoid_gradient", "dy y"),
    "TanhGrad": As("tanh_gradient", "dy y"),
    "GeluGrad": _gelu("none"),
    "FastGeluGrad": _gelu("tanh"),
    "QuickGeluGrad": _gelu("sigmoid"),
    "BiasGeluGrad_dX": _biased_gelu("none"),
    "BiasFastGeluGrad_dX": _biased_gelu("tanh"),
    "SoftmaxGrad": As("softmax_gradient", "dy y", _flat_rows),
    "SoftmaxGrad_13": As("softmax_gradient", "dy y", _row),
    "LogSoftmaxGrad": As("log_softmax_gradient", "dy y", _flat_rows),
    "LogSoftmaxGrad_13": As("log_softmax_gradient", "dy y", _row),
    "DropoutGrad": As("dropout_gradient", "dy mask ratio training"),
    "BitmaskDropoutGrad": As("dropout_gradient", "dy mask ratio training"),
    "LayerNormalizationGrad": As("layer_norm_gradient", "dy x scale mean inverse_deviation", _norm, "dx dscale dbias"),
    "SimplifiedLayerNormalizationGrad": As(
        "layer_norm_gradient", "dy x scale inverse_deviation", _root_mean_square, "dx dscale"
    ),
    "SoftmaxCrossEntropyLossInternal": _cross_entropy,
    "SoftmaxCrossEntropyLossGrad": As(
        "softmax_cross_entropy_gradient", "dy log_probabilities targets weight", _cross_entropy_gradient
    ),
    "SoftmaxCrossEntropyLossInternalGrad": As(
        "softmax_cross_entropy_gradient", "dy log_probabilities targets weight", _cross_entropy_gradient
    ),
    "SliceGrad": As("slice_gradient", "dy shape starts ends axes steps", _slice),
    "BroadcastGradientArgs": As("broadcast_axes", "a b", _axes),
    "ConcatTraining": _joined,
    "YieldOp": _yielded,
    "InPlaceAccumulatorV2": As("accumulate", "total x overwrite", None, "done y"),
}
"""By the operators' names."""
