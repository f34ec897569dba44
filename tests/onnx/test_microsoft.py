"""ONNX Runtime's own operators: types of results against those that it computes, and its schemas against the table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from onnx import TensorProto, helper

from tests.onnx.build import graph, load, model, node, shapes, tensor, value
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
    made = load(model_of(call))
    found = [(made.tensors[name].shape, made.tensors[name].dtype) for name in made.outputs]
    assert found == types_of(execute(call))
    assert weigh(made).facts.exact


@pytest.mark.parametrize(("call", "expected"), [pytest.param(*one, id=one[0].op) for one in OTHERS])
def test_results_have_the_shapes_that_the_documentation_gives(call: Single, expected: list[Shape | None]) -> None:
    made = load(model_of(call))
    assert shapes(made) == expected
    assert weigh(made).facts.exact


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
    made = model_of(EXECUTED[0])
    del made.opset_import[:]
    made.opset_import.append(helper.make_opsetid("", 17))
    assert weigh(load(made)).facts.exact


def test_the_length_of_a_cache_follows_from_the_mask_as_exporters_compute_it() -> None:
    """A network that generates one word after 5: the mask is as long as all of them."""
    nodes = [
        node("Shape", ["mask"], ["sizes"]),
        node("Gather", ["sizes", "one"], ["length"]),
        node("Cast", ["length"], ["total"], to=TensorProto.INT32),
        node("ReduceSum", ["mask", "axis"], ["counts"], keepdims=0),
        node("Sub", ["counts", "one"], ["last"]),
        node("Cast", ["last"], ["ends"], to=TensorProto.INT32),
        node(
            "GroupQueryAttention",
            ["qkv", "", "", "past_k", "past_v", "ends", "total"],
            ["y", "k", "v"],
            domain=MICROSOFT,
            num_heads=4,
            kv_num_heads=2,
        ),
    ]
    cache = ["n", 2, "past", 16]
    inputs = [value("qkv", ["n", "new", 128]), value("past_k", cache), value("past_v", cache)]
    inputs.append(value("mask", ["n", "past + new"], TensorProto.INT64))
    stored = [tensor("one", 1), tensor("axis", [1])]
    made = model(graph(nodes, inputs, [value(name, None) for name in ("y", "k", "v")], stored))
    found = load(made, dims={"n": 2, "new": 1, "past": 5})
    assert shapes(found) == [(2, 1, 64), (2, 2, 6, 16), (2, 2, 6, 16)]
    facts = weigh(found).facts
    assert facts.exact
    assert facts.macs == 2 * 4 * 6 * 16 * 2
