"""onnx's own test cases: some 1,900 models of one operator each, in every version of it, with results that were computed.

The shapes and element types that our rules give are those of the results.  Where onnx also defines an operator as a
function of simpler ones, the simpler ones have the same MACs.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest

from tests.onnx.build import load
from tests.onnx.known_operators import HOW
from weighbridge import weigh
from weighbridge.frontends.onnx_tensors import dtype_of
from weighbridge.graph import UNKNOWN, Shape

DEPENDS_ON_VALUES = (
    *("test_unique_", "test_affine_grid_", "test_nonzero", "test_compress", "test_nonmaxsuppression"),
    *("test_string_split", "test_strnormalizer", "test_loop11", "test_image_decoder"),
)
"""Starts of names: cases whose results have shapes that values decide, values that the cases feed as inputs."""

DECIDING = frozenset({"scales", "roi", "start", "limit", "delta", "depth"})
"""Operands of real numbers that decide shapes."""


@pytest.fixture(scope="module")
def cases() -> Mapping[str, Any]:
    with warnings.catch_warnings():
        # The cases are computed with overflows and divisions by zero on purpose.
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        return {case.name: case for case in collect_testcases(None)}


def _shape(value: Any) -> Shape:
    return tuple(value.dims) if isinstance(value, onnx.TensorProto) else np.shape(value)


def _inputs(case: Any) -> dict[str, Shape]:
    """The shapes of what a case feeds, where it feeds tensors; an empty one has its shape from the file."""
    fed = zip(case.model.graph.input, case.data_sets[0][0], strict=False)
    shapes = {one.name: _shape(data) for one, data in fed if one.type.HasField("tensor_type")}
    return {name: shape for name, shape in shapes.items() if 0 not in shape}


def _stating_nothing(case: Any) -> tuple[onnx.ModelProto, dict[str, Shape]]:
    """The model of a case without the shapes of its results, small integers that it feeds stored in it; and its inputs."""
    model, inputs = onnx.ModelProto(), _inputs(case)
    model.CopyFrom(case.model)
    for one in model.graph.output:
        if one.type.HasField("tensor_type"):
            one.type.tensor_type.ClearField("shape")
    for one, data in zip(list(model.graph.input), case.data_sets[0][0], strict=False):
        decides = one.name in DECIDING or (isinstance(data, np.ndarray | np.generic) and data.dtype.kind in "iu")
        if decides and isinstance(data, np.ndarray | np.generic) and data.size <= 64:
            model.graph.input.remove(one)
            model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(data), one.name))
            inputs.pop(one.name, None)
    return model, inputs


def test_the_rules_give_the_shapes_of_the_results(cases: Mapping[str, Any]) -> None:
    same, wrong, unknown, without_rule = 0, {}, set(), set()
    for name, case in cases.items():
        if case.model.opset_import[0].version < 6 and not case.model.opset_import[0].domain:
            continue
        model, inputs = _stating_nothing(case)
        graph = load(model, inputs=inputs)
        missing = {node.origin for node in graph.nodes if node.operator == UNKNOWN}
        without_rule |= missing
        for one, tensor, data in zip(case.model.graph.output, graph.outputs, case.data_sets[0][1], strict=True):
            if missing or not one.type.HasField("tensor_type"):
                continue
            found = graph.tensors[tensor]
            if found.shape is None:
                unknown.add(name)
            elif (found.shape, found.dtype) != (_shape(data), dtype_of(one.type.tensor_type.elem_type)):
                wrong[name] = (found.shape, found.dtype.name, _shape(data))
            else:
                same += 1
    assert not wrong
    assert {name for name in unknown if not name.startswith(DEPENDS_ON_VALUES)} == set()
    assert same > 2_100
    assert {origin for origin in without_rule if "." not in origin} == set(), HOW


def test_an_operator_has_the_macs_of_the_function_that_defines_it(cases: Mapping[str, Any]) -> None:
    compared, with_macs = 0, 0
    for name, case in cases.items():
        for version in ("", "_ver13", "_ver18"):
            expanded = cases.get(f"{name}_expanded{version}")
            if expanded is None:
                continue
            whole, parts = (weigh(load(one.model, inputs=_inputs(one))).facts for one in (case, expanded))
            if not (whole.exact and parts.exact):
                continue
            assert whole.macs == parts.macs, expanded.name
            compared += 1
            with_macs += whole.macs > 0
    assert compared > 400
    assert with_macs > 50
