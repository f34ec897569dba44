"""ONNX's conformance suite: every operator's result types against the arrays that its authors' own executions gave."""

from __future__ import annotations

import warnings

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.onnx.known_operators import HOW
from weighbridge.frontends.foreign import As
from weighbridge.frontends.from_onnx import load_onnx
from weighbridge.frontends.onnx_table import RULES
from weighbridge.frontends.onnx_tensors import dtype_of
from weighbridge.graph import UNKNOWN
from weighbridge.operators.table import OPERATORS

# Whose result's shape only the values decide.
OPEN = {
    "Compress",
    "NonMaxSuppression",
    "NonZero",
    "Unique",
    "StringSplit",
    "StringNormalizer",
    "OptionalGetElement",
    "Loop",
    "ImageDecoder",
}


def decides_only(rule):
    """Whether the first operand of an ONNX operator is a control slot of ours: it only decides what comes out."""
    words = rule.operands.split() if isinstance(rule, As) else []
    return bool(words) and any(
        slot.name == words[0].lstrip("*") and slot.use == "control" for slot in OPERATORS[rule.operator].slots
    )


SHAPES_ONLY = {name for name, rule in RULES[""].items() if decides_only(rule)}


@pytest.fixture(scope="module")
def cases():
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = load_model_tests(kind="node")
    return [case for case in found if not case.name.endswith(("_expanded", "_expanded_ver18", "_expanded_ver21"))]


def is_array(value):
    return isinstance(value, np.ndarray | np.generic)


def model_of(case, arrays):
    """The case's model with its values known where a file would have them stored, and its results' shapes left out."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    graph = model.graph
    first = 0 if graph.node[0].op_type in SHAPES_ONLY else 1
    stored = []
    for position, (info, array) in enumerate(zip(graph.input, arrays, strict=True)):
        shape = info.type.tensor_type.shape
        shape.ClearField("dim")
        for size in array.shape:
            shape.dim.add().dim_value = size
        if (
            position >= first
            and array.ndim <= 1
            and array.size <= 64
            and (array.dtype.kind in "iuf" or array.dtype.name == "bfloat16")
        ):
            stored.append(info.name)
            graph.initializer.append(numpy_helper.from_array(np.asarray(array), info.name))
    kept = [info for info in graph.input if info.name not in stored]
    del graph.input[:], graph.value_info[:]
    graph.input.extend(kept)
    for output in graph.output:
        output.type.tensor_type.ClearField("shape")
    return model


def is_plain(case):
    """Whether a case has tensors alone, of an operator set that is read."""
    arrays, results = case.data_sets[0]
    opset = next((one.version for one in case.model.opset_import if one.domain == ""), 0)
    tensors = all(info.type.HasField("tensor_type") for info in (*case.model.graph.input, *case.model.graph.output))
    return tensors and all(map(is_array, [*arrays, *results])) and opset >= 6


def faults_of(case, path):
    """(What is wrong, what has no rule) of one case; (None, none) where it holds no plain arrays."""
    arrays, results = case.data_sets[0]
    if not is_plain(case):
        return None, set()
    onnx.save(model_of(case, arrays), path)
    graph = load_onnx(path)
    unknown = {node.origin for node in graph.nodes if node.operator == UNKNOWN}
    if unknown:
        return None, unknown
    operators = {node.op_type for node in case.model.graph.node}
    faults = []
    for name, result, stated in zip(graph.outputs, results, case.model.graph.output, strict=True):
        tensor, dtype = graph.tensors[name], dtype_of(stated.type.tensor_type.elem_type)
        if tensor.shape != result.shape and not (tensor.shape is None and operators & OPEN):
            faults.append(f"{case.name}: {name} is {tensor.shape}, executed {result.shape}")
        if tensor.dtype != dtype:
            faults.append(f"{case.name}: {name} is {tensor.dtype.name}, executed {dtype.name}")
    return faults, set()


def test_types_are_those_of_the_executed_arrays(cases, tmp_path):
    faults, unknown, compared = [], set(), 0
    for case in cases:
        found, without_rule = faults_of(case, tmp_path / "one.onnx")
        unknown |= without_rule
        compared += found is not None
        faults += found or ()
    assert faults == []
    assert {name for name in unknown if "." not in name} == set(), HOW
    assert compared > 900, compared
