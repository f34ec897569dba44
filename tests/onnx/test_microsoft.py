"""ONNX Runtime's own operators: types of results against those that it computes, and its schemas against the table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from onnx import helper

from tests.onnx.build import load
from tests.onnx.execute import Single, execute, model_of, types_of
from tests.onnx.microsoft_cases import EXECUTED, MICROSOFT, OTHERS
from weighbridge import weigh
from weighbridge.frontends import onnx_table_microsoft
from weighbridge.frontends.onnx_attributes import KINDS, kind_of
from weighbridge.frontends.onnx_table import RULES
from weighbridge.graph import Shape

TRAINING = frozenset(
    {
        *("BiasFastGeluGrad_dX", "BiasGeluGrad_dX", "BitmaskDropoutGrad", "BroadcastGradientArgs", "ConcatTraining"),
        *("DropoutGrad", "FastGeluGrad", "GeluGrad", "InPlaceAccumulatorV2", "LayerNormalizationGrad"),
        *("LogSoftmaxGrad", "LogSoftmaxGrad_13", "QuickGeluGrad", "ReluGrad", "SigmoidGrad"),
        *("SimplifiedLayerNormalizationGrad", "SliceGrad", "SoftmaxCrossEntropyLossGrad"),
        *("SoftmaxCrossEntropyLossInternal", "SoftmaxCrossEntropyLossInternalGrad", "SoftmaxGrad", "SoftmaxGrad_13"),
        *("TanhGrad", "YieldOp"),
    }
)
"""Operators of builds for training, which define them; tests/onnx/test_microsoft_training.py."""


def named(calls: list[Single]) -> list[object]:
    return [pytest.param(one, id=f"{place}-{one.op}") for place, one in enumerate(calls)]


@pytest.mark.parametrize("call", named(EXECUTED))
def test_results_have_the_types_of_those_computed(call: Single) -> None:
    graph = load(model_of(call))
    found = [(graph.tensors[name].shape, graph.tensors[name].dtype) for name in graph.outputs]
    assert found == types_of(execute(call))
    assert weigh(graph).facts.exact


@pytest.mark.parametrize(("call", "shapes"), [pytest.param(*one, id=one[0].op) for one in OTHERS])
def test_results_have_the_shapes_that_the_documentation_gives(call: Single, shapes: list[Shape | None]) -> None:
    graph = load(model_of(call))
    assert [graph.tensors[name].shape for name in graph.outputs] == shapes
    assert weigh(graph).facts.exact


def test_every_operator_of_the_table_is_here() -> None:
    tried = {one.op for one in EXECUTED if one.domain} | {one.op for one, _ in OTHERS} | TRAINING
    refused = {"EPContext", "LongformerAttention"}
    elsewhere = {"LayerNormalization", "SimplifiedLayerNormalization", "MoE", "QMoE"}
    assert RULES[MICROSOFT].keys() == tried | refused | elsewhere


def test_attributes_are_of_the_kinds_that_the_schemas_say() -> None:
    schemas = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state").get_all_operator_schema()
    kinds = {
        "INT": "a whole number",
        "FLOAT": "a number",
        "STRING": "text",
        "INTS": "whole numbers",
        "FLOATS": "numbers",
        "STRINGS": "texts",
        "GRAPH": "a graph",
    }
    compared = 0
    for schema in schemas:
        if schema.domain != MICROSOFT or schema.name not in RULES[MICROSOFT]:
            continue
        for name, attribute in schema.attributes.items():
            found = kind_of(schema.name, name)
            wanted = kinds[str(attribute.type).rpartition(".")[2]]
            # Only what a rule reads has to be known.
            assert found in (None, wanted) or (found, wanted) == ("a number", "a whole number"), (schema.name, name)
            compared += found is not None
    assert compared > 100


def test_every_attribute_that_a_rule_reads_is_checked() -> None:
    """So that no rule meets text in the place of a number."""
    folder = Path(onnx_table_microsoft.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("onnx_table_microsoft*.py")]
    found = {name for text in texts for name in re.findall(r'(?:\.get|required|_of|_blocks)\((?:call, )?"(\w+)"', text)}
    assert len(found) > 50
    assert found <= KINDS.keys()


def test_the_domain_need_not_be_imported() -> None:
    """Some files of ONNX Runtime's own tests leave it out."""
    model = model_of(EXECUTED[0])
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("", 17))
    assert weigh(load(model)).facts.exact
