"""The operators of ai.onnx.ml: types against ONNX Runtime's results, MACs and parameters against loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.onnx import ml_calls
from tests.onnx.build import graph, load, model, node, value
from tests.onnx.execute import Single, execute, model_of, types_of
from tests.onnx.files import onnx_files, report_of
from tests.onnx.known_operators import HOW
from weighbridge import weigh
from weighbridge.frontends.onnx_table import RULES
from weighbridge.frontends.onnx_table_ml import ML_KINDS
from weighbridge.graph import Role

DOMAIN = "ai.onnx.ml"


@pytest.mark.parametrize("name", ml_calls.MAKERS)
@pytest.mark.parametrize("seed", range(12))
def test_types_are_those_that_onnx_runtime_computes(name: str, seed: int) -> None:
    call = ml_calls.MAKERS[name](Random(f"{name} {seed}"))
    results, found = execute(call), load(model_of(call))
    ours = [(found.tensors[one].shape, found.tensors[one].dtype) for one in found.outputs]
    expected = types_of(results)
    assert ours == expected, call.attributes
    facts = weigh(found).facts
    assert facts.exact, facts.uncounted


def test_every_operator_of_the_domain_has_a_rule() -> None:
    known = {one.name for one in onnx.defs.get_all_schemas_with_history() if one.domain == DOMAIN}
    assert set(RULES[DOMAIN]) == known, HOW


def test_every_attribute_is_what_its_name_says() -> None:
    kinds = {
        "INT": "a whole number",
        "FLOAT": "a number",
        "STRING": "text",
        "INTS": "whole numbers",
        "FLOATS": "numbers",
        "STRINGS": "texts",
        "TENSOR": "a tensor",
    }
    seen = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == DOMAIN and schema.name != "TreeEnsemble":
            seen |= {name: kinds[one.type.name] for name, one in schema.attributes.items()}
    rooted = set(onnx.defs.get_schema("TreeEnsemble", 5, DOMAIN).attributes)
    assert {name: kind for name, kind in ML_KINDS.items() if name in seen} == seen
    assert set(ML_KINDS) - set(seen) <= rooted


# Counts


@pytest.mark.parametrize("seed", range(8))
def test_a_linear_model_has_a_product_a_coefficient_and_row(seed: int) -> None:
    for make in (ml_calls.linear_classifier, ml_calls.linear_regressor):
        call = make(Random(seed))
        x, attributes = call.arrays[0], call.attributes
        rows = np.atleast_2d(x)
        scores = np.zeros((len(rows), len(attributes["coefficients"]) // rows.shape[1]))
        macs = 0
        for row, score, feature in np.ndindex(*scores.shape, rows.shape[1]):
            scores[row, score] += rows[row, feature] * attributes["coefficients"][score * rows.shape[1] + feature]
            macs += 1
        facts = weigh(load(model_of(call))).facts
        assert facts.macs == macs
        assert facts.weights == len(attributes["coefficients"])
        assert facts.biases == len(attributes.get("intercepts", ()))
        assert facts.parameters == facts.weights + facts.biases


def _kernel_macs(call: Single, rows: int, vectors: int, width: int) -> int:
    return 0 if call.attributes["kernel_type"] == "RBF" else rows * vectors * width


@pytest.mark.parametrize("seed", range(8))
def test_a_support_vector_machine_has_those_of_libsvm(seed: int) -> None:
    """One kernel value a vector, then for every two classes the vectors of both, each with a coefficient."""
    call = ml_calls.svm_classifier(Random(seed))
    rows, width = np.atleast_2d(call.arrays[0]).shape
    sizes = call.attributes["vectors_per_class"]
    macs = _kernel_macs(call, rows, sum(sizes), width)
    for _ in range(rows):
        for one in range(len(sizes)):
            for other in range(one + 1, len(sizes)):
                macs += sum(1 for _ in range(sizes[one])) + sum(1 for _ in range(sizes[other]))
    facts = weigh(load(model_of(call))).facts
    assert facts.macs == macs
    learned = ("support_vectors", "coefficients", "rho", "prob_a", "prob_b")
    assert facts.parameters == sum(len(call.attributes.get(name, ())) for name in learned)
    is_radial = call.attributes["kernel_type"] == "RBF"
    weights = len(call.attributes["coefficients"]) + (0 if is_radial else len(call.attributes["support_vectors"]))
    assert facts.weights == weights


@pytest.mark.parametrize("seed", range(8))
def test_a_support_vector_regressor(seed: int) -> None:
    call = ml_calls.svm_regressor(Random(seed))
    rows, width = np.atleast_2d(call.arrays[0]).shape
    vectors = call.attributes["n_supports"]
    facts = weigh(load(model_of(call))).facts
    expected = _kernel_macs(call, rows, vectors, width) + rows * vectors if vectors else rows * width
    assert facts.macs == expected
    assert facts.parameters == vectors * width + len(call.attributes["coefficients"]) + 1


@pytest.mark.parametrize("seed", range(8))
def test_trees_have_at_least_their_shortest_paths_and_no_products(seed: int) -> None:
    random = Random(seed)
    trees = ml_calls.Trees(random, 3)
    attributes = {**trees.attributes(3, 2, "target"), "n_targets": 2}
    graph_of = load(model_of(Single("TreeEnsembleRegressor", [ml_calls.floats(random, 5, 3)], attributes)))
    facts = weigh(graph_of).facts
    values = Counter((tree, place) for tree, place, *_ in trees.leaves)
    sizes = [[values[one[:2]] for one in trees.nodes if one[0] == tree and one[4] == "LEAF"] for tree in range(3)]
    assert facts.macs == 0
    assert facts.exact
    least = 5 * sum(trees.shortest), 5 * sum(map(min, sizes))
    most = 5 * sum(trees.longest), 5 * sum(map(max, sizes))
    assert (facts.work.compare, facts.work.add) == least
    assert facts.work_exact == (least == most)
    assert facts.parameters == facts.other_parameters == trees.asked + len(trees.leaves)
    (node_of,) = graph_of.nodes
    held = [graph_of.tensors[tensor] for name, tensor in node_of.operands if name == "structure"]
    assert {one.role for one in held} == {Role.CONSTANT}
    lists = [one for name, one in attributes.items() if name.endswith(("ids", "modes"))]
    assert facts.constant_bytes == sum(len(one) * (1 if isinstance(one[0], str) else 8) for one in lists)


@pytest.mark.parametrize("aggregate", ["MIN", "MAX", "SUM", "AVERAGE"])
def test_the_values_of_leaves_are_joined_as_the_attribute_says(aggregate: str) -> None:
    random = Random(3)
    trees = ml_calls.Trees(random, 3).attributes(2, 1, "target")
    call = Single(
        "TreeEnsembleRegressor",
        [ml_calls.floats(random, 4, 3)],
        {**trees, "n_targets": 1, "aggregate_function": aggregate},
    )
    work = weigh(load(model_of(call))).facts.work
    paths = weigh(load(model_of(call._replace(attributes={**trees, "n_targets": 1})))).facts.work.compare
    assert work.div == (4 if aggregate == "AVERAGE" else 0)
    assert work.add == (8 if aggregate in ("SUM", "AVERAGE") else 0)
    assert work.compare == paths + (8 if aggregate in ("MIN", "MAX") else 0)


def test_rooted_trees() -> None:
    call = ml_calls.rooted_trees(Random(1))
    facts = weigh(load(model_of(call))).facts
    assert facts.parameters == 2 + 3
    assert facts.exact
    member = {**call.attributes, "membership_values": numpy_helper.from_array(np.array([1, 2, np.nan], "float32"))}
    facts = weigh(load(model_of(call._replace(attributes=member)))).facts
    assert facts.parameters == 2 + 3 + 3
    assert (facts.exact, facts.work_exact) == (True, False)


def test_trees_that_are_none_have_work_that_nobody_knows() -> None:
    attributes = ml_calls.Trees(Random(5), 3).attributes(1, 1, "target")
    attributes = {**attributes, "n_targets": 1}
    inner = attributes["nodes_modes"].index("BRANCH_LEQ")
    for child in (attributes["nodes_nodeids"][inner], 99):
        attributes["nodes_truenodeids"] = [child] * len(attributes["nodes_modes"])
        facts = weigh(
            load(model_of(Single("TreeEnsembleRegressor", [ml_calls.floats(Random(1), 2, 3)], attributes)))
        ).facts
        assert (facts.exact, facts.work_exact) == (True, False)


def test_statistics_and_tables_are_nobodys_parameters() -> None:
    for make in (
        ml_calls.scaler,
        ml_calls.imputer,
        ml_calls.label_encoder,
        ml_calls.one_hot_encoder,
        ml_calls.category_mapper,
    ):
        call = make(Random(2))
        found = load(model_of(call))
        assert weigh(found).facts.parameters == 0
        assert {one.role for one in found.stored()} <= {Role.BUFFER, Role.CONSTANT}
        assert list(found.stored())


def test_the_reference_agrees_on_linear_models() -> None:
    call = ml_calls.linear_regressor(Random(11))._replace(
        attributes={"coefficients": [1.0] * 6, "targets": 2, "intercepts": [0.0, 1.0]}
    )
    call = call._replace(arrays=[np.ones((2, 3), "float32")])
    (expected,) = ReferenceEvaluator(model_of(call)).run(None, {"i0": call.arrays[0]})
    found = load(model_of(call))
    assert found.tensors[found.outputs[0]].shape == expected.shape


# Maps


def _map_input(values: int, key: int = onnx.TensorProto.STRING) -> onnx.ValueInfoProto:
    element = helper.make_tensor_type_proto(values, [])
    return helper.make_value_info("x", helper.make_map_type_proto(key, element))


@pytest.mark.parametrize(
    ("op", "kind", "attributes", "shape", "dtype"),
    [
        ("DictVectorizer", onnx.TensorProto.FLOAT, {"string_vocabulary": ["a", "b", "c"]}, (1, 3), "float32"),
        ("DictVectorizer", onnx.TensorProto.INT64, {"string_vocabulary": ["a", "b"]}, (1, 2), "int64"),
        ("CastMap", onnx.TensorProto.FLOAT, {"map_form": "SPARSE", "max_map": 5}, (1, 5), "float32"),
        ("CastMap", onnx.TensorProto.FLOAT, {"cast_to": "TO_INT64", "map_form": "DENSE"}, None, "int64"),
    ],
)
def test_maps(op: str, kind: int, attributes: Mapping[str, Any], shape: tuple[int, ...] | None, dtype: str) -> None:
    nodes = [node(op, ["x"], ["y"], domain=DOMAIN, **attributes)]
    made = model(graph(nodes, [_map_input(kind)], [value("y", None)]), opset_imports=[helper.make_opsetid(DOMAIN, 1)])
    made.graph.output[0].ClearField("type")
    found = load(made)
    result = found.tensors[found.outputs[0]]
    assert (result.shape, result.dtype.name) == (shape, dtype)
    assert weigh(found).facts.exact


def test_a_call_inside_a_function_holds_its_numbers_once() -> None:
    body = helper.make_node("LinearRegressor", ["a"], ["b"], domain=DOMAIN, coefficients=[1.0, 2.0], intercepts=[3.0])
    function = helper.make_function("mine", "Twice", ["a"], ["b"], [body], [helper.make_opsetid(DOMAIN, 3)])
    nodes = [node("Twice", ["x"], ["y"], domain="mine"), node("Twice", ["x"], ["z"], domain="mine")]
    made = model(
        graph(nodes, [value("x", [4, 2])], [value("y", None), value("z", None)]),
        functions=[function],
        opset_imports=[helper.make_opsetid("mine", 1), helper.make_opsetid(DOMAIN, 3)],
    )
    facts = weigh(load(made)).facts
    assert (facts.macs, facts.parameters) == (16, 3)


def test_real_models(shared: Path) -> None:
    files = onnx_files(shared)
    name = "op_cover/model_181031_12.onnx"
    report, proto = report_of(name, files[name]), onnx.load(files[name])
    (trees,) = [one for one in proto.graph.node if one.op_type == "TreeEnsembleClassifier"]
    lists = {one.name: one for one in trees.attribute}
    asked = sum(one != b"LEAF" for one in lists["nodes_modes"].strings)
    assert report.facts.exact
    assert report.facts.macs == 0
    assert report.facts.parameters == asked + len(lists["class_weights"].floats)
    report = report_of(
        "ort_odd/sklearn_bin_voting_classifier_soft.onnx", files["ort_odd/sklearn_bin_voting_classifier_soft.onnx"]
    )
    assert (report.facts.macs, report.facts.exact) == (2 * 4, True)
