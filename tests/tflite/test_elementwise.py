"""Operators that compute element by element, their types, and what stands between real and quantised values."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tflite.build import graph, load, model, one, op, roles, shapes, tensor
from tests.tflite.single import operand, result, runs, single, work
from weighbridge import weigh
from weighbridge.frontends.tflite_table_elementwise import ELEMENTWISE_RULES
from weighbridge.graph import Role
from weighbridge.operators.record import Work

# What an element takes, by the formula of each function as the schema names it.
UNARY = {
    "ABS": Work(compare=1),
    "CEIL": Work(add=1),
    "COS": Work(special=1),
    "EXP": Work(special=1),
    "FLOOR": Work(add=1),
    "HARD_SWISH": Work(mul=2, add=1, compare=2),
    "LOG": Work(special=1),
    "LOGISTIC": Work(special=1, add=1, div=1),
    "NEG": Work(add=1),
    "RELU": Work(compare=1),
    "RELU6": Work(compare=2),
    "RELU_N1_TO_1": Work(compare=2),
    "RELU_0_TO_1": Work(compare=2),
    "ROUND": Work(add=1),
    "RSQRT": Work(special=1, div=1),
    "SIGN": Work(compare=2),
    "SIN": Work(special=1),
    "SQRT": Work(special=1),
    "SQUARE": Work(mul=1),
    "TANH": Work(special=1),
    "ELU": Work(compare=1, special=1, add=1, mul=1),
    "LEAKY_RELU": Work(compare=1, mul=1),
    "FAKE_QUANT": Work(add=3, mul=1, div=1, compare=2),
}
PAIRS = {
    "ADD": Work(add=1),
    "ATAN2": Work(special=1),
    "DIV": Work(div=1),
    "FLOOR_DIV": Work(add=1, div=1),
    "FLOOR_MOD": Work(div=1),
    "MAXIMUM": Work(compare=1),
    "MINIMUM": Work(compare=1),
    "MUL": Work(mul=1),
    "POW": Work(special=1),
    "SQUARED_DIFFERENCE": Work(add=1, mul=1),
    "SUB": Work(add=1),
    "BITWISE_XOR": Work(compare=1),
    "RIGHT_SHIFT": Work(compare=1),
}
TESTS = ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL")


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor(name):
    found = single(name, [operand("x", (2, 5))])
    assert (result(found), work(found), len(runs(found))) == (((2, 5), "float32"), UNARY[name].times(10), 1)


@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two_tensors_stretch_them_to_each_other(name):
    dtype = "INT32" if name in ("BITWISE_XOR", "RIGHT_SHIFT") else "INT8"
    found = single(name, [operand("a", (3, 1, 4), dtype), operand("b", (2, 1), dtype)], types=[dtype])
    assert (result(found), work(found), len(runs(found))) == (((3, 2, 4), dtype.lower()), PAIRS[name].times(24), 1)


@pytest.mark.parametrize("name", [*TESTS, "LOGICAL_AND", "LOGICAL_OR"])
def test_comparisons_and_logic(name):
    dtype = "FLOAT32" if name in TESTS else "BOOL"
    found = single(name, [operand("a", (3, 4), dtype), operand("b", (), dtype)], types=["BOOL"])
    assert (result(found), work(found)) == (((3, 4), "bool"), Work(compare=12))


def test_the_rest():
    cases = {
        "LOGICAL_NOT": ([operand("x", (4,), "BOOL")], "BOOL", Work(compare=4)),
        "ADD_N": ([operand(name, (4,)) for name in "abc"], "FLOAT32", Work(add=8)),
        "PRELU": ([operand("x", (2, 4)), operand("a", (4,))], "FLOAT32", Work(compare=8, mul=8)),
        "REAL": ([operand("x", (4,), "COMPLEX64")], "FLOAT32", Work()),
        "IMAG": ([operand("x", (4,), "COMPLEX64")], "FLOAT32", Work()),
        "COMPLEX_ABS": ([operand("x", (4,), "COMPLEX64")], "FLOAT32", Work(add=4, mul=8, special=4)),
        "CAST": ([operand("x", (4,), "INT8")], "FLOAT32", Work()),
    }
    for name, (operands, dtype, done) in cases.items():
        found = single(name, operands, types=[dtype])
        assert (result(found), work(found)) == ((operands[0].shape, dtype.lower()), done), name
    tested = {*UNARY, *PAIRS, *TESTS, *cases, "LOGICAL_AND", "LOGICAL_OR", "GELU", "QUANTIZE", "DEQUANTIZE"}
    assert tested == set(ELEMENTWISE_RULES)


@pytest.mark.parametrize(
    ("approximate", "done"), [(False, Work(add=1, mul=3, special=1)), (True, Work(add=2, mul=6, special=1))]
)
def test_gelu(approximate, done):
    found = single("GELU", [operand("x", (3,))], {"approximate": approximate})
    assert work(found) == done.times(3)


def test_the_bounds_and_slopes_are_those_of_the_file():
    bounds = {"RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0), "RELU_0_TO_1": (0.0, 1.0)}
    for name, (low, high) in bounds.items():
        (node,) = single(name, [operand("x", (3,))]).nodes
        assert (node.attributes["low"], node.attributes["high"]) == (low, high)
    (node,) = single("LEAKY_RELU", [operand("x", (3,))], {"alpha": 0.25}).nodes
    assert node.attributes["alpha"] == 0.25


@pytest.mark.parametrize(
    ("x", "y", "ours", "done"),
    [
        ("FLOAT32", "INT8", "quantize", Work(add=2, div=1, compare=2)),
        ("INT8", "INT8", "requantize", Work(add=3, mul=1, compare=2)),
        ("INT16", "INT32", "requantize", Work(add=3, mul=1, compare=2)),
        ("UINT8", "INT8", "requantize", Work(add=3, mul=1, compare=2)),
    ],
)
def test_quantise(x, y, ours, done):
    tensors = [tensor("x", (2, 3), x, scales=int(x != "FLOAT32")), tensor("y", None, y, scales=1)]
    found = one(tensors, op("QUANTIZE", "x", "y"))
    assert (result(found), runs(found), work(found)) == (((2, 3), y.lower()), [ours], done.times(6))


@pytest.mark.parametrize(
    ("x", "ours", "done"),
    [
        ("INT8", "dequantize", Work(add=6, mul=6)),
        ("FLOAT16", "cast", Work()),
        ("INT4", "dequantize", Work(add=6, mul=6)),
    ],
)
def test_dequantise(x, ours, done):
    tensors = [tensor("x", (2, 3), x, scales=int(x != "FLOAT16")), tensor("y", None)]
    found = one(tensors, op("DEQUANTIZE", "x", "y"))
    assert (result(found), runs(found), work(found)) == (((2, 3), "float32"), [ours], done)


def dequantised(dtype, **more):
    """A layer of 4 x 6 weights that are kept in another type, and dequantised for it."""
    tensors = [
        operand("x", (2, 6)),
        tensor("w", (4, 6), dtype, data=True, **more),
        tensor("real", (4, 6)),
        tensor("y", (2, 4)),
    ]
    operators = [op("DEQUANTIZE", "w", "real"), op("FULLY_CONNECTED", "x real -", "y")]
    return load(model(graph(tensors, operators, "x", "y")))


@pytest.mark.parametrize(("dtype", "held"), [("FLOAT16", 48), ("INT8", 24), ("INT4", 12)])
def test_dequantised_weights_are_parameters_as_they_are_kept(dtype, held):
    found = dequantised(dtype, **({} if dtype == "FLOAT16" else {"scales": 1}))
    assert roles(found) == {"w": Role.PARAMETER}
    report = weigh(found)
    assert (report.facts.macs, report.facts.weights, report.facts.weight_bytes) == (48, 24, held)
    assert [node.operator for node in report.nodes] == ["linear"], "dequantised once, not with every inference"


def test_a_real_operator_between_two_of_quantised_values_runs_on_real_ones():
    """Unlike the pairs of an ONNX file these are no notation: the runtime runs all three."""
    tensors = [
        tensor("q", (2, 8), "INT8", scales=1),
        tensor("r", (2, 8)),
        tensor("e", (2, 8)),
        tensor("y", (2, 8), "INT8", scales=1),
    ]
    operators = [op("DEQUANTIZE", "q", "r"), op("EXP", "r", "e"), op("QUANTIZE", "e", "y")]
    report = weigh(load(model(graph(tensors, operators, "q", "y"))))
    assert [node.operator for node in report.nodes] == ["dequantize", "exp", "quantize"]
    assert report.memory.peak_bytes["pair"] == 2 * 64


def test_sparse_weights_count_with_all_their_values():
    """DENSIFY makes dense what the converter kept sparse; here it is told by the operator alone."""
    tensors = [
        operand("x", (2, 6)),
        tensor("w", (4, 6), data=True),
        tensor("dense", (4, 6)),
        tensor("y", (2, 4)),
    ]
    operators = [op("DENSIFY", "w", "dense"), op("FULLY_CONNECTED", "x dense -", "y")]
    found = load(model(graph(tensors, operators, "x", "y")))
    assert roles(found) == {"w": Role.PARAMETER}
    facts = weigh(found).facts
    assert (facts.macs, facts.weights) == (48, 24)


@pytest.mark.parametrize(
    ("number", "then"), [(1, "relu"), (2, "clip"), (3, "clip"), (4, "tanh")], ids=["relu", "n1_to_1", "relu6", "tanh"]
)
def test_functions_that_operators_apply_to_their_results(number, then):
    for name, ours in (("ADD", "add"), ("SUB", "sub"), ("MUL", "mul"), ("DIV", "div"), ("CONCATENATION", "concat")):
        operands = [tensor(each, (2, 3), "INT8", scales=1) for each in "ab"]
        found = single(name, operands, {"fused_activation_function": number}, ["INT8"])
        assert runs(found) == [ours, then]
        assert result(found)[1] == "int8"
        assert shapes(found)[0] == (np.concatenate if ours == "concat" else np.add)(*_two(ours)).shape


def _two(ours):
    arrays = (np.zeros((2, 3)), np.zeros((2, 3)))
    return (arrays,) if ours == "concat" else arrays
