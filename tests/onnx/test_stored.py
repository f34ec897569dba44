"""What a file stores, in every form that ONNX has for it, and what the stored tensors are for."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from tests.onnx.build import FLOAT, INT64, graph, load, model, node, operators, roles, shapes, tensor, value, weight
from weighbridge import weigh
from weighbridge.errors import BadModel
from weighbridge.graph import Role

X, Y = value("x", [2, 8]), value("y", None)


def _product(first: onnx.NodeProto) -> onnx.ModelProto:
    """x times whatever the first node makes as w."""
    return model(graph([first, node("MatMul", ["x", "w"], ["y"])], [X], [Y]))


def test_a_weight_may_be_a_constant_node() -> None:
    found = load(_product(node("Constant", [], ["w"], value=weight("anything", 8, 4))))
    assert (roles(found), operators(found), shapes(found)) == ({"w": Role.PARAMETER}, ["linear"], [(2, 4)])


@pytest.mark.parametrize("kind", ["float", "double"])
def test_a_weight_may_be_filled_by_a_node(kind: str) -> None:
    number = {"float": FLOAT, "double": TensorProto.DOUBLE}[kind]
    filled = node("ConstantOfShape", ["s"], ["w"], value=helper.make_tensor("v", number, [1], [0.0]))
    x = value("x", [2, 8], number)
    found = load(model(graph([filled, node("MatMul", ["x", "w"], ["y"])], [x], [Y], [tensor("s", [8, 4])])))
    assert roles(found) == {"s": Role.CONSTANT, "w": Role.PARAMETER}
    assert found.tensors["w"].dtype.name == {"float": "float32", "double": "float64"}[kind]


@pytest.mark.parametrize(
    ("name", "given", "shape"),
    [
        ("value_float", 1.5, ()),
        ("value_floats", [1.5, 2.5], (2,)),
        ("value_int", 3, ()),
        ("value_ints", [3, 4, 5], (3,)),
        ("value_string", "a", ()),
        ("value_strings", ["a", "b"], (2,)),
    ],
)
def test_constants_have_many_forms(name: str, given: object, shape: tuple[int, ...]) -> None:
    found = load(model(graph([node("Constant", [], ["y"], **{name: given})], [X], [Y])))
    assert (shapes(found), operators(found)) == ([shape], [])


def test_a_list_of_numbers_in_a_constant_decides_a_shape() -> None:
    nodes = [node("Constant", [], ["s"], value_ints=[4, -1]), node("Reshape", ["x", "s"], ["y"])]
    assert shapes(load(model(graph(nodes, [X], [Y])))) == [(4, 4)]


def test_sparse_tensors_count_with_their_dense_shape() -> None:
    sparse = helper.make_sparse_tensor(weight("w", 3), tensor("", [0, 5, 9]), [8, 4])
    for made in (
        model(graph([node("MatMul", ["x", "w"], ["y"])], [X], [Y], sparse_initializer=[sparse])),
        _product(node("Constant", [], ["w"], sparse_value=sparse)),
    ):
        found = load(made)
        assert roles(found) == {"w": Role.PARAMETER}
        assert found.tensors["w"].shape == (8, 4)
        assert found.notes == ("w is stored sparse: 3 of 32 values; it counts with all of them",)


def test_a_shared_weight_counts_once() -> None:
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("MatMul", ["h", "w"], ["y"])]
    facts = weigh(load(model(graph(nodes, [X], [Y], [weight("w", 8, 8)])))).facts
    assert (facts.parameters, facts.weights, facts.macs) == (64, 64, 2 * 2 * 8 * 8)


@pytest.mark.parametrize("ir_version", [3, 8])
def test_initialisers_that_are_listed_as_inputs_are_none(ir_version: int) -> None:
    made = graph([node("MatMul", ["x", "w"], ["y"])], [X, value("w", [8, 4])], [Y], [weight("w", 8, 4)])
    found = load(model(made, ir_version=ir_version))
    assert (found.inputs, roles(found)) == (("x",), {"w": Role.PARAMETER})


def test_a_payload_that_contradicts_its_shape_is_refused() -> None:
    short = helper.make_tensor("w", FLOAT, [2], [1.0, 2.0])
    short.dims[0] = 5
    with pytest.raises(BadModel, match=r"model\.onnx: w: stores 2 values, but its shape is 5"):
        load(model(graph([node("Add", ["x", "w"], ["y"])], [X], [Y], [short])))


@pytest.mark.parametrize("size", [-4, 1 << 49])
def test_absurd_dimensions_are_refused(size: int) -> None:
    absurd = weight("w", 2)
    absurd.dims[0] = size
    with pytest.raises(BadModel, match=f"w: the stored tensor has a dimension of {size}"):
        load(model(graph([node("Add", ["x", "w"], ["y"])], [X], [Y], [absurd])))


# What a stored tensor is for


def test_roles_follow_the_slots_that_a_tensor_reaches() -> None:
    stored = [weight("w", 4, 3, 3, 3), weight("b", 4), *(weight(name, 4) for name in ("scale", "shift", "mean", "var"))]
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"]),
        node("BatchNormalization", ["c", "scale", "shift", "mean", "var"], ["n"]),
        node("PRelu", ["n", "slope"], ["p"]),
        node("Add", ["p", "position"], ["q"]),
        node("Mul", ["q", "factor"], ["r"]),
        node("Reshape", ["r", "s"], ["y"]),
    ]
    more = [
        weight("slope", 4, 1, 1),
        weight("position", 1, 4, 6, 6),
        tensor("factor", 0.5, "float32"),
        tensor("s", [1, -1]),
    ]
    found = load(model(graph(nodes, [value("x", [1, 3, 8, 8])], [Y], stored + more)))
    expected = {
        **dict.fromkeys(("w", "b", "scale", "shift", "slope", "position"), Role.PARAMETER),
        **dict.fromkeys(("mean", "var"), Role.BUFFER),
        **dict.fromkeys(("factor", "s"), Role.CONSTANT),
    }
    assert roles(found) == expected


def test_a_weight_is_one_however_many_static_nodes_it_passes() -> None:
    nodes = [
        node("DequantizeLinear", ["q", "qs", "qz"], ["f"]),
        node("Transpose", ["f"], ["t"], perm=[1, 0]),
        node("Mul", ["t", "gain"], ["w"]),
        node("MatMul", ["x", "w"], ["h"]),
        node("Add", ["h", "b"], ["y"]),
    ]
    stored = [tensor("q", [[0] * 8] * 4, "int8"), tensor("qs", 0.1, "float32"), tensor("qz", 0, "int8")]
    stored += [weight("gain", 8, 1), tensor("b", [0] * 4, "float32")]
    found = load(model(graph(nodes, [X], [Y], stored)))
    assert operators(found)[-2:] == ["linear", "add"]
    assert roles(found) == {
        "q": Role.PARAMETER,
        "qs": Role.BUFFER,
        "qz": Role.BUFFER,
        "gain": Role.PARAMETER,
        "b": Role.PARAMETER,
    }


def test_constants_of_a_formula_are_no_parameters() -> None:
    nodes = [
        node("Constant", [], ["half"], value_floats=[0.5]),
        node("Constant", [], ["token"], value=weight("t", 8)),
        node("ConstantOfShape", ["s"], ["ones"]),
        node("Mul", ["x", "half"], ["a"]),
        node("Add", ["a", "token"], ["b"]),
        node("Add", ["b", "ones"], ["y"]),
    ]
    found = load(model(graph(nodes, [X], [Y], [tensor("s", [8])])))
    assert roles(found) == {
        "half": Role.CONSTANT,
        "token": Role.PARAMETER,
        "ones": Role.CONSTANT,
        "s": Role.CONSTANT,
    }


@pytest.mark.parametrize("operator", ["Mul", "Div", "Pow", "Add"])
@pytest.mark.parametrize("origin", ["initialiser", "Constant"])
def test_a_scalar_in_the_formula_of_a_weight_is_no_weight(operator: str, origin: str) -> None:
    """Nor where the result is moved before it is used; a vector there is learned, and so is what is moved alone."""
    scalar = weight("s") if origin == "initialiser" else weight("s", 1)
    held = [] if origin == "initialiser" else [node("Constant", [], ["s"], value=scalar)]
    nodes = [
        *held,
        node(operator, ["w", "s"], ["scaled"]),
        node("Mul", ["scaled", "gain"], ["gained"]),
        node("Transpose", ["gained"], ["turned"], perm=[1, 0]),
        node("MatMul", ["x", "turned"], ["y"]),
    ]
    stored = [weight("w", 8, 8), weight("gain", 8), *([scalar] if origin == "initialiser" else [])]
    found = load(model(graph(nodes, [X], [Y], stored)))
    assert roles(found) == {"w": Role.PARAMETER, "gain": Role.PARAMETER, "s": Role.CONSTANT}
    assert weigh(found).facts.weights == 8 * 8 + 8


def test_whole_numbers_are_parameters_only_as_weights() -> None:
    nodes = [node("Gather", ["x", "i"], ["g"], axis=1), node("Add", ["g", "offset"], ["y"])]
    stored = [tensor("i", [0, 1]), tensor("offset", [[1, 2]])]
    found = load(model(graph(nodes, [value("x", [2, 8], INT64)], [Y], stored)))
    assert set(roles(found).values()) == {Role.CONSTANT}


def test_a_table_that_rows_are_looked_up_in_is_an_embedding() -> None:
    made = graph([node("Gather", ["table", "i"], ["y"])], [value("i", [3, 5], INT64)], [Y], [weight("table", 100, 16)])
    found = load(model(made))
    assert (operators(found), shapes(found), roles(found)) == (["embedding"], [(3, 5, 16)], {"table": Role.PARAMETER})
    assert weigh(found).facts.weights == 1_600


def test_initialisers_that_nothing_reads_are_held_and_not_counted() -> None:
    found = load(model(graph([node("Relu", ["x"], ["y"])], [X], [Y], [weight("spare", 4, 4), tensor("s", [1])])))
    assert set(roles(found).values()) == {Role.CONSTANT}
    assert found.notes == ("nothing reads spare: held by the file, not counted as parameters",)


_FLOAT_PRODUCTS = {
    "MatMul": [node("MatMul", ["w", "x"], ["y"])],
    "Gemm": [node("Gemm", ["w", "x"], ["y"])],
    "Gemm, transposed before": [node("Transpose", ["w"], ["t"]), node("Gemm", ["t", "x"], ["y"], transA=1)],
    "Einsum": [node("Einsum", ["w", "x"], ["y"], equation="ij,jk->ik")],
}


@pytest.mark.parametrize("name", _FLOAT_PRODUCTS)
@pytest.mark.parametrize("bits", [None, 4])
def test_a_matrix_on_the_left_of_a_product_is_a_weight_too(name: str, bits: int | None) -> None:
    made = model(graph(_FLOAT_PRODUCTS[name], [value("x", [8, 3])], [Y], [weight("w", 4, 8)]))
    facts = weigh(load(made), weight_bits="32" if bits is None else str(bits)).facts
    assert (facts.macs, facts.parameters, facts.weights) == (4 * 8 * 3, 32, 32)
    assert facts.weight_bytes == 32 * (bits or 32) // 8


@pytest.mark.parametrize("operator", ["MatMul", "Gemm"])
def test_a_quantised_matrix_on_the_left_of_a_product_is_a_weight_too(operator: str) -> None:
    nodes = [
        node("DequantizeLinear", ["w", "scale", "w_zero"], ["wf"]),
        node("DequantizeLinear", ["x", "scale", "zero"], ["xf"]),
        node(operator, ["wf", "xf"], ["yf"]),
        node("QuantizeLinear", ["yf", "scale", "zero"], ["y"]),
    ]
    stored = [tensor("w", [[0] * 8] * 4, "int8"), tensor("w_zero", 0, "int8"), tensor("zero", 0, "uint8")]
    made = graph(nodes, [value("x", [8, 3], TensorProto.UINT8)], [Y], [*stored, tensor("scale", 0.1, "float32")])
    facts = weigh(load(model(made))).facts
    assert (facts.macs, facts.parameters, facts.weights, facts.weight_bytes) == (4 * 8 * 3, 32, 32, 32)
    assert facts.activations.total_bytes == 8 * 3 + 4 * 3


@pytest.mark.parametrize("operator", ["Add", "Mul", "Concat"])
@pytest.mark.parametrize("moved", ["", "before", "behind"])
@pytest.mark.parametrize("kind", ["int8", "uint8", "int32"])
def test_a_quantised_tensor_that_is_dequantised_for_an_addition_is_learned(
    operator: str, moved: str, kind: str
) -> None:
    """A position table, a layer scale, a token: the same as if the file had them in floating point; a scalar is not."""
    nodes = [
        node("DequantizeLinear", ["held", "scale"], ["real"]),
        node("DequantizeLinear", ["one", "scale"], ["half"]),
    ]
    if moved:
        nodes = [node("DequantizeLinear", ["turned" if moved == "before" else "held", "scale"], ["real0"]), *nodes[1:]]
        source, result = ("held", "turned") if moved == "before" else ("real0", "real")
        nodes.append(node("Reshape", [source, "shape"], [result]))
    real = "real0" if moved == "before" else "real"
    axis = {"axis": 0} if operator == "Concat" else {}
    nodes += [node(operator, ["x", real], ["a"], **axis), node("Mul", ["a", "half"], ["y"])]
    stored = [tensor("held", [[0] * 8] * 2, kind), tensor("one", 0, kind), tensor("scale", 0.1, "float32")]
    found = load(model(graph(nodes, [X], [Y], [*stored, tensor("shape", [2, 8])])))
    assert (roles(found)["held"], roles(found)["one"], roles(found)["scale"]) == (
        Role.PARAMETER,
        Role.CONSTANT,
        Role.BUFFER,
    )
    facts = weigh(found).facts
    assert (facts.parameters, facts.other_parameters) == (16, 16)
    assert facts.parameter_bytes == 16 * (4 if kind == "int32" else 1)


def test_a_quantised_vector_that_a_node_of_its_own_adds_is_a_bias() -> None:
    nodes = [
        node("DequantizeLinear", ["w", "scale"], ["real"]),
        node("DequantizeLinear", ["b", "scale"], ["shift"]),
        node("MatMul", ["x", "real"], ["h"]),
        node("Add", ["shift", "h"], ["y"]),
    ]
    stored = [tensor("w", [[0] * 4] * 8, "int8"), tensor("b", [0] * 4, "int32"), tensor("scale", 0.1, "float32")]
    facts = weigh(load(model(graph(nodes, [X], [Y], stored)))).facts
    assert (facts.parameters, facts.weights, facts.biases, facts.parameter_bytes) == (36, 32, 4, 32 + 4 * 4)
