"""The same operation in old and new operator sets: attributes that became operands, defaults that changed."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import TensorProto

from tests.onnx.build import FLOAT, graph, load, model, node, operators, shapes, tensor, value, weight
from tests.onnx.known_operators import HOW, described, known_to_onnx
from weighbridge import weigh
from weighbridge.errors import BadModel, UnsupportedFormat
from weighbridge.frontends.onnx_table import RULES
from weighbridge.graph import Shape
from weighbridge.operators.table import OPERATORS

X = [2, 3, 4, 6]


def _one(op: str, opset: int, operands: dict[str, Any], outputs: int = 1, kind: int = FLOAT, **attributes: Any) -> Any:
    """The graph of one node on x and stored operands; a None is an operand that is left out."""
    names = ["x", *(name if data is not None else "" for name, data in operands.items())]
    stored = [
        tensor(name, *data) if isinstance(data, tuple) else tensor(name, data)
        for name, data in operands.items()
        if data is not None
    ]
    results = [f"y{index}" for index in range(outputs)]
    made = graph(
        [node(op, names, results, **attributes)], [value("x", X, kind)], [value(one, None) for one in results], stored
    )
    return load(model(made, opset=opset))


@pytest.mark.parametrize(
    ("op", "opset", "operands", "attributes", "expected"),
    [
        ("Unsqueeze", 11, {}, {"axes": [0, 4]}, (1, 2, 3, 4, 1, 6)),
        ("Unsqueeze", 13, {"a": [0, -2]}, {}, (1, 2, 3, 4, 1, 6)),
        ("ReduceSum", 11, {}, {"axes": [1, -1], "keepdims": 0}, (2, 4)),
        ("ReduceSum", 13, {"a": [1, -1]}, {"keepdims": 0}, (2, 4)),
        ("ReduceMean", 13, {}, {"axes": [1]}, (2, 1, 4, 6)),
        ("ReduceMean", 18, {"a": [1]}, {}, (2, 1, 4, 6)),
        ("ReduceMax", 18, {}, {"keepdims": 0}, ()),
        ("ReduceMax", 18, {}, {"noop_with_empty_axes": 1}, (2, 3, 4, 6)),
        ("ReduceSum", 13, {"a": ([], "int64")}, {"noop_with_empty_axes": 1}, (2, 3, 4, 6)),
        ("ReduceSum", 13, {"a": ([], "int64")}, {}, (1, 1, 1, 1)),
        ("Slice", 9, {}, {"starts": [1, -5], "ends": [3, 1 << 40], "axes": [1, 3]}, (2, 2, 4, 5)),
        ("Slice", 10, {"s": [1, -5], "e": [3, 1 << 40], "a": [1, 3], "t": [1, 2]}, {}, (2, 2, 4, 3)),
        ("Slice", 13, {"s": [1], "e": [2]}, {}, (1, 3, 4, 6)),
        ("Slice", 13, {"s": [-1], "e": [-99], "a": [3], "t": [-1]}, {}, (2, 3, 4, 6)),
        ("Pad", 10, {}, {"pads": [0, 0, 1, 2, 0, 0, 1, 2], "mode": "reflect"}, (2, 3, 6, 10)),
        ("Pad", 11, {"p": [0, 0, 1, 2, 0, 0, 1, 2]}, {}, (2, 3, 6, 10)),
        ("Pad", 18, {"p": [1, 2, 3, -1], "v": (0.0, "float32"), "a": [2, 3]}, {}, (2, 3, 8, 7)),
        ("Tile", 6, {"r": [1, 2, 1, 3]}, {}, (2, 6, 4, 18)),
        ("Expand", 8, {"s": [5, 1, 1, 1, 1]}, {}, (5, 2, 3, 4, 6)),
        ("Upsample", 7, {}, {"scales": [1.0, 1.0, 2.0, 1.5]}, (2, 3, 8, 9)),
        ("Upsample", 9, {"f": ([1, 1, 2, 1.5], "float32")}, {"mode": "linear"}, (2, 3, 8, 9)),
        ("Resize", 10, {"f": ([1, 1, 2, 1.5], "float32")}, {}, (2, 3, 8, 9)),
        ("Resize", 11, {"r": ([], "float32"), "f": ([1, 1, 2, 1.5], "float32")}, {}, (2, 3, 8, 9)),
        ("Resize", 11, {"r": ([], "float32"), "f": ([], "float32"), "s": [2, 3, 5, 7]}, {}, (2, 3, 5, 7)),
        ("Resize", 13, {"r": None, "f": None, "s": [2, 3, 5, 7]}, {"mode": "cubic"}, (2, 3, 5, 7)),
        ("Resize", 18, {"r": None, "f": ([2, 1.5], "float32")}, {"axes": [2, 3], "antialias": 1}, (2, 3, 8, 9)),
        (
            "Resize",
            18,
            {"r": None, "f": None, "s": [8, 8]},
            {"axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"},
            (2, 3, 5, 8),
        ),
        ("Softmax", 11, {}, {}, (2, 3, 4, 6)),
        ("Softmax", 13, {}, {}, (2, 3, 4, 6)),
        ("Clip", 6, {}, {"min": 0.0, "max": 6.0}, (2, 3, 4, 6)),
        ("Clip", 11, {"l": (0.0, "float32"), "h": (6.0, "float32")}, {}, (2, 3, 4, 6)),
        ("ArgMax", 11, {}, {"axis": -1, "keepdims": 0}, (2, 3, 4)),
        ("Cast", 6, {}, {"to": TensorProto.FLOAT16}, (2, 3, 4, 6)),
        ("Reshape", 5 + 1, {"s": [0, -1]}, {}, (2, 72)),
        ("Flatten", 9, {}, {"axis": 2}, (6, 24)),
        ("DepthToSpace", 11, {}, {"blocksize": 1, "mode": "CRD"}, (2, 3, 4, 6)),
        ("CumSum", 11, {"a": 1}, {}, (2, 3, 4, 6)),
        ("OneHot", 11, {"d": 10, "v": ([0, 1], "float32")}, {"axis": 1}, (2, 10, 3, 4, 6)),
        ("Trilu", 14, {}, {"upper": 0}, (2, 3, 4, 6)),
        ("CenterCropPad", 18, {"s": [2, 9]}, {"axes": [2, 3]}, (2, 3, 2, 9)),
        ("BatchNormalization", 7, {n: ([0.0] * 3, "float32") for n in "abcd"}, {"spatial": 1}, (2, 3, 4, 6)),
        ("MaxPool", 8, {}, {"kernel_shape": [2, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"}, (2, 3, 2, 3)),
        ("MaxPool", 12, {}, {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}, (2, 3, 2, 3)),
        ("AveragePool", 19, {}, {"kernel_shape": [2, 2], "dilations": [2, 2]}, (2, 3, 2, 4)),
    ],
)
def test_shapes(op: str, opset: int, operands: dict[str, Any], attributes: dict[str, Any], expected: Shape) -> None:
    assert shapes(_one(op, opset, operands, **attributes)) == [expected]


@pytest.mark.parametrize(
    ("opset", "operands", "attributes", "expected"),
    [
        (7, {}, {"split": [2, 4]}, [2, 4]),
        (11, {}, {}, [3, 3]),
        (13, {"s": [2, 4]}, {}, [2, 4]),
        (13, {}, {}, [3, 3]),
        (18, {}, {"num_outputs": 2}, [3, 3]),
    ],
)
def test_splits(opset: int, operands: dict[str, Any], attributes: dict[str, Any], expected: list[int]) -> None:
    found = _one("Split", opset, operands, outputs=2, axis=3, **attributes)
    assert shapes(found) == [(2, 3, 4, size) for size in expected]


def test_a_split_since_18_may_leave_a_smaller_last_part() -> None:
    found = _one("Split", 18, {}, outputs=4, axis=3, num_outputs=4)
    assert shapes(found) == [(2, 3, 4, 2), (2, 3, 4, 2), (2, 3, 4, 2), (2, 3, 4, 0)]


@pytest.mark.parametrize(
    ("opset", "operands", "attributes"), [(9, {}, {"k": 2}), (10, {"k": [2]}, {}), (11, {"k": [2]}, {})]
)
def test_the_largest_values(opset: int, operands: dict[str, Any], attributes: dict[str, Any]) -> None:
    assert shapes(_one("TopK", opset, operands, outputs=2, axis=2, **attributes)) == [(2, 3, 2, 6)] * 2


@pytest.mark.parametrize(("opset", "axis", "flatten"), [(6, 1, True), (11, 1, True), (13, -1, False)])
def test_softmax_changed_its_default_axis(opset: int, axis: int, flatten: bool) -> None:
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        (only,) = _one(op, opset, {}).nodes
        assert (only.attributes["axis"], only.attributes["flatten"]) == (axis, flatten)


@pytest.mark.parametrize(("opset", "operands"), [(6, {}), (11, {"l": (0.0, "float32"), "h": (6.0, "float32")})])
def test_a_clip_between_0_and_6_is_the_same_in_every_version(opset: int, operands: dict[str, Any]) -> None:
    attributes = {"min": 0.0, "max": 6.0} if opset == 6 else {}
    (only,) = _one("Clip", opset, operands, **attributes).nodes
    assert (only.operator, dict(only.attributes)) == ("clip", {"low": 0.0, "high": 6.0})


def test_a_clip_without_bounds_has_none() -> None:
    assert dict(_one("Clip", 6, {}, max=6.0).nodes[0].attributes) == {"low": "none", "high": 6.0}
    assert dict(_one("Clip", 6, {}, min=-3.4028234663852886e38, max=6.0).nodes[0].attributes)["low"] == "none"


def test_bounds_that_come_with_the_data_are_operands() -> None:
    made = graph([node("Clip", ["x", "low"], ["y"])], [value("x", X), value("low", [])], [value("y", None)])
    assert operators(load(model(made))) == ["clip_by_tensor"]


def test_broadcasting_of_opset_6_is_aligned_where_it_says() -> None:
    added = _one("Add", 6, {"b": ([0.0] * 3, "float32")}, broadcast=1, axis=1)
    assert operators(added) == ["unsqueeze", "add"]
    assert shapes(added) == [tuple(X)]
    assert operators(_one("Add", 6, {"b": ([0.0] * 6, "float32")}, broadcast=1)) == ["add"]
    with pytest.raises(BadModel, match="do not broadcast"):
        _one("Add", 7, {"b": ([0.0] * 3, "float32")})


def test_slopes_of_opset_6_are_one_a_channel() -> None:
    found = _one("PRelu", 6, {"slope": ([0.0] * 3, "float32")})
    assert operators(found) == ["unsqueeze", "prelu"]
    assert weigh(found).facts.parameters == 3


def test_dropout_is_nothing_at_inference() -> None:
    for opset, operands, attributes in ((7, {}, {"ratio": 0.5}), (12, {"r": (0.5, "float32")}, {})):
        found = _one("Dropout", opset, operands, outputs=2, **attributes)
        assert shapes(found) == [tuple(X), tuple(X)]
        assert found.tensors[found.outputs[1]].dtype.name == "bool"


def test_training_mode_of_batch_norm_has_more_results() -> None:
    operands = {name: ([0.0] * 3, "float32") for name in "abcd"}
    found = _one("BatchNormalization", 15, operands, outputs=3, training_mode=1)
    assert shapes(found) == [tuple(X), (3,), (3,)]
    assert found.nodes[0].attributes["training"] is True


def test_products_with_a_stored_matrix_are_linear_layers() -> None:
    stored, w = [weight("w", 8, 4)], value("w", [8, 4])
    x, y = value("x", [2, 8]), value("y", None)
    assert operators(load(model(graph([node("MatMul", ["x", "w"], ["y"])], [x], [y], stored)))) == ["linear"]
    assert operators(load(model(graph([node("MatMul", ["x", "w"], ["y"])], [x, w], [y])))) == ["matmul"]
    swapped = graph([node("MatMul", ["w", "x"], ["y"])], [value("x", [4, 2])], [y], stored)
    assert operators(load(model(swapped))) == ["matmul"]
    assert weigh(load(model(swapped))).facts.weights == 32


@pytest.mark.parametrize(("trans_a", "trans_b"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_gemm_in_all_its_orientations(trans_a: int, trans_b: int) -> None:
    x, w = ([8, 2] if trans_a else [2, 8]), ((5, 8) if trans_b else (8, 5))
    made = graph(
        [node("Gemm", ["x", "w", "b"], ["y"], transA=trans_a, transB=trans_b, alpha=0.5)],
        [value("x", x)],
        [value("y", None)],
        [weight("w", *w), weight("b", 5)],
    )
    found = load(model(made))
    facts = weigh(found).facts
    assert (shapes(found), facts.macs, facts.weights, facts.biases) == ([(2, 5)], 80, 40, 5)


def test_quantised_layers_are_the_ordinary_ones_with_scales() -> None:
    stored = [
        *(tensor(f"{one}s", 0.1, "float32") for one in "xwy"),
        *(tensor(f"{one}z", 0, "uint8") for one in "xy"),
        tensor("wz", 0, "int8"),
        tensor("w", [[0] * 5] * 8, "int8"),
    ]
    x, y = value("x", [2, 8], TensorProto.UINT8), value("y", None)
    nodes = [node("QLinearMatMul", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"])]
    found = load(model(graph(nodes, [x], [y], stored)))
    assert (operators(found), shapes(found)) == (["linear"], [(2, 5)])
    assert found.tensors["y"].dtype.name == "uint8"
    integer = load(model(graph([node("MatMulInteger", ["x", "w", "xz", "wz"], ["y"])], [x], [y], stored)))
    assert integer.tensors["y"].dtype.name == "int32"
    assert weigh(found).facts.macs == weigh(integer).facts.macs == 80
    assert weigh(found).facts.parameters == 40


def test_recurrent_layers_make_the_results_that_are_asked_for() -> None:
    stored = [weight("w", 1, 80, 10), weight("r", 1, 80, 20)]
    for names, expected in (
        (["y"], [(5, 1, 3, 20)]),
        (["", "h"], [(1, 3, 20)]),
        (["y", "", "c"], [(5, 1, 3, 20), (1, 3, 20)]),
    ):
        made = graph(
            [node("LSTM", ["x", "w", "r"], names, hidden_size=20)],
            [value("x", [5, 3, 10])],
            [value(name, None) for name in names if name],
            stored,
        )
        assert shapes(load(model(made))) == expected


def test_kernel_shape_and_weight_must_agree() -> None:
    made = graph(
        [node("Conv", ["x", "w"], ["y"], kernel_shape=[5, 5], name="odd")],
        [value("x", [1, 3, 8, 8])],
        [value("y", None)],
        [weight("w", 4, 3, 3, 3)],
    )
    with pytest.raises(BadModel, match=r"odd: kernel_shape is \(5, 5\)"):
        load(model(made))


def test_old_operator_sets_are_not_guessed() -> None:
    made = model(graph([node("Relu", ["x"], ["y"])], [value("x", X)], [value("y", None)]), opset=5)
    with pytest.raises(
        UnsupportedFormat, match=r"operator set 5 is older than 6; convert it with onnx\.version_converter"
    ):
        load(made)


def test_newer_operator_sets_are_read_and_said_so() -> None:
    made = model(graph([node("Relu", ["x"], ["y"])], [value("x", X)], [value("y", None)]), opset=99)
    assert load(made).notes == ("operator set 99 is newer than 28, the newest known here",)


def test_every_operator_of_the_table_exists() -> None:
    """What rules name exists; what onnx defines has a rule."""
    from weighbridge.frontends.foreign import As

    for rule in RULES[""].values():
        if isinstance(rule, As):
            slots = {slot.name for slot in OPERATORS[rule.operator].slots}
            assert {word.lstrip("*") for word in rule.operands.split()} - {"-"} <= slots, rule
    assert known_to_onnx() - described() == set(), HOW
