"""What ONNX Runtime writes into graphs of a training step: types by its definitions, values of shapes, and a whole step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from tests.onnx.build import graph, load, model, node, shapes, tensor, value
from tests.onnx.execute import model_of
from tests.onnx.files import onnx_files, report_of
from tests.onnx.microsoft_cases import MICROSOFT, call, f, i64
from tests.onnx.test_microsoft import TRAINING
from weighbridge import weigh
from weighbridge.errors import BadModel
from weighbridge.frontends.onnx_arrays import Array, Question
from weighbridge.frontends.onnx_fold import broadcast_axes, fold
from weighbridge.graph import Graph

X, WIDE = f(2, 3, 16), f(2, 3, 32)
LOGS, TARGETS = f(6, 10), np.zeros(6, "int64")
ROWS = (X, X, f(16), f(2, 3, 1), f(2, 3, 1))

CALLS = [
    *((call(op, X, X), [X.shape]) for op in ("ReluGrad", "SigmoidGrad", "TanhGrad", "GeluGrad", "FastGeluGrad", "QuickGeluGrad")),
    *((call(op, X, X, f(16)), [X.shape]) for op in ("BiasGeluGrad_dX", "BiasFastGeluGrad_dX")),
    *((call(op, X, X), [X.shape]) for op in ("SoftmaxGrad", "SoftmaxGrad_13", "LogSoftmaxGrad", "LogSoftmaxGrad_13")),
    (call("DropoutGrad", X, np.ones((2, 3, 16), bool)), [X.shape]),
    (call("BitmaskDropoutGrad", X, np.zeros(3, "uint32")), [X.shape]),
    (call("LayerNormalizationGrad", *ROWS, results=3, axis=-1), [X.shape, (16,), (16,)]),
    (call("SimplifiedLayerNormalizationGrad", *ROWS[:4], results=2, axis=-1), [X.shape, (16,)]),
    (call("SoftmaxCrossEntropyLossGrad", f(), LOGS, TARGETS, f(10), reduction="mean"), [LOGS.shape]),
    (call("SoftmaxCrossEntropyLossInternal", LOGS, TARGETS, None, i64(1)[0], results=2, reduction="mean"), [(), LOGS.shape]),
    (call("SoftmaxCrossEntropyLossInternal", LOGS, TARGETS, reduction="none"), [(6,)]),
    (call("SoftmaxCrossEntropyLossInternalGrad", f(), LOGS, TARGETS, None, i64(1)[0], output_type=10), [LOGS.shape]),
    (call("SliceGrad", X, i64(2, 8, 16), *(i64(one) for one in (0, 3, 1, 1)), stored=[1]), [(2, 8, 16)]),
    (call("SliceGrad", X, i64(2, 8, 16), *(i64(one) for one in (0, 3, 1, 1))), [None]),
    (call("BroadcastGradientArgs", i64(2, 3, 16), i64(3, 1), stored=[0, 1], results=2), [(0,), (2,)]),
    (call("BroadcastGradientArgs", i64(2, 3, 16), i64(3, 1), results=2), [None, None]),
    (call("ConcatTraining", X, WIDE, axis=2, results=2), [(2, 3, 48), (2,)]),
    (call("YieldOp", X, WIDE, results=2, full_shape_outputs=[0]), [X.shape, None]),
    (call("YieldOp", X, WIDE, full_shape_outputs=[1], non_differentiable_outputs=[0]), [WIDE.shape]),
    (call("InPlaceAccumulatorV2", X, X, np.array([True]), results=2), [(1,), X.shape]),
]  # fmt: skip


@pytest.mark.parametrize(("made", "expected"), [pytest.param(*one, id=one[0].op) for one in CALLS])
def test_shapes_of_derivatives(made: Any, expected: list[Any]) -> None:
    found = load(model_of(made))
    assert shapes(found) == expected
    facts = weigh(found).facts
    assert facts.exact
    assert facts.macs == 0


def test_every_operator_of_training_is_here() -> None:
    assert {one.op for one, _ in CALLS} == TRAINING


def test_a_loss_has_the_type_that_is_asked_for() -> None:
    made = call("SoftmaxCrossEntropyLossInternal", LOGS, TARGETS, results=2, output_type=TensorProto.FLOAT16)
    found = load(model_of(made))
    assert [found.tensors[one].dtype.name for one in found.outputs] == ["float16", "float32"]
    with pytest.raises(BadModel, match="the element type 99 is not in ONNX"):
        load(model_of(call("SoftmaxCrossEntropyLossInternal", LOGS, TARGETS, output_type=99)))


SIZES = st.lists(st.integers(1, 3), max_size=4).map(tuple)


@given(SIZES, SIZES)
def test_axes_of_a_broadcast_are_those_that_numpy_stretches(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        result = np.broadcast_shapes(a, b)
    except ValueError:
        return
    for shape, axes in zip((a, b), broadcast_axes(a, b), strict=True):
        reduced = np.ones(result).sum(axis=axes, keepdims=True).shape
        assert reduced == (1,) * (len(result) - len(shape)) + shape
        assert all(result[axis] > 1 or axis < len(result) - len(shape) for axis in axes)


def test_values_of_shapes_are_followed() -> None:
    """As ONNX Runtime's training graphs have them: shapes joined, and the axes to sum over."""
    first, second = Array("int64", (2,), (2, 3)), Array("int64", (1,), (3,))
    (joined,) = fold(Question("com.microsoft.ConcatTraining", (first, second), {"axis": 0}, (None, None), 1)) or ()
    assert joined == Array("int64", (3,), (2, 3, 3))
    axes = fold(Question("com.microsoft.BroadcastGradientArgs", (first, second), {}, (None, None), 1))
    assert axes == (Array("int64", (0,), ()), Array("int64", (1,), (0,)))
    (expanded,) = fold(Question("com.microsoft.ExpandDims", (first, second), {}, ((1, 2),), 1)) or ()
    assert expanded == Array("int64", (1, 2), (2, 3))
    assert fold(Question("ConcatTraining", (first, second), {"axis": 0}, (None,), 1)) is None


def _reduced(axes_of: str) -> Graph:
    """A derivative summed over the axes along which an operand was stretched."""
    nodes = [
        node("Shape", ["a"], ["sa"]),
        node("Shape", ["b"], ["sb"]),
        node("BroadcastGradientArgs", ["sa", "sb"], ["ra", "rb"], domain=MICROSOFT),
        node("ReduceSum", ["dy", axes_of], ["summed"], keepdims=1, noop_with_empty_axes=1),
        node("ConcatTraining", ["one", "sb"], ["target", "lengths"], axis=0, domain=MICROSOFT),
        node("Reshape", ["summed", "sa" if axes_of == "ra" else "target"], ["y"]),
    ]
    inputs = [value("a", [2, 3, 16]), value("b", [3, 1]), value("dy", [2, 3, 16])]
    made = graph(nodes, inputs, [value("y", None)], [tensor("one", [1])])
    return load(model(made, opset_imports=[helper.make_opsetid(MICROSOFT, 1)]))


def test_sums_over_stretched_axes_have_a_shape() -> None:
    assert shapes(_reduced("ra")) == [(2, 3, 16)]
    assert shapes(_reduced("rb")) == [(1, 3, 1)]


def test_a_whole_step(shared: Path) -> None:
    """Two layers, forward, and backward: the derivative by each weight, and by the hidden values."""
    name = "ort_odd/training_model.onnx"
    facts = report_of(name, onnx_files(shared)[name]).facts
    first, second = 784 * 500, 500 * 10
    assert facts.exact
    assert facts.macs == (first + second) + (first + second) + second
