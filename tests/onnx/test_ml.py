"""The operators of ai.onnx.ml: types against ONNX Runtime's results, MACs and parameters against loops, and damaged files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.onnx.build import graph, load, model, node, value
from tests.onnx.execute import Single, execute, model_of, types_of
from tests.onnx.files import onnx_files, report_of
from tests.onnx.without_rule import HOW
from weighbridge import weigh
from weighbridge.errors import BadModel
from weighbridge.frontends.onnx_table import RULES
from weighbridge.frontends.onnx_table_ml import ML_KINDS
from weighbridge.graph import Role

DOMAIN = "ai.onnx.ml"
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
MAKERS: dict[str, Callable[[Random], Single]] = {}
"""A random call of each operator, one that ONNX Runtime executes."""


def maker(function: Callable[[Random], Single]) -> Callable[[Random], Single]:
    MAKERS[function.__name__] = function
    return function


def floats(random: Random, *shape: int, dtype: str = "float32") -> np.ndarray:
    return np.array([random.random() for _ in range(int(np.prod(shape)))], dtype).reshape(shape)


def numbers(random: Random, count: int) -> list[float]:
    return [random.uniform(-1, 1) for _ in range(count)]


def features(random: Random, *dtypes: str) -> np.ndarray:
    """Rows of features, or a vector that is one row."""
    shape = [random.randint(1, 4) for _ in range(random.randint(1, 2))]
    return floats(random, *shape, dtype=random.choice(dtypes or ("float32",)))


def labels(random: Random, count: int, numbers_are: str = "classlabels_ints") -> dict[str, Any]:
    texts = random.random() < 0.5
    return {"classlabels_strings": [f"class {i}" for i in range(count)]} if texts else {numbers_are: list(range(count))}


@maker
def linear_classifier(random: Random) -> Single:
    x, classes = features(random, "float32", "int64", "float64"), random.randint(2, 4)
    scores = 1 if classes == 2 and random.random() < 0.5 else classes
    attributes = {
        "coefficients": numbers(random, scores * x.shape[-1]),
        "intercepts": numbers(random, scores),
        "post_transform": random.choice(TRANSFORMS[:4]),
        **labels(random, classes),
    }
    return Single("LinearClassifier", [x], attributes, 2)


@maker
def linear_regressor(random: Random) -> Single:
    x, targets = features(random), random.randint(1, 3)
    attributes = {"coefficients": numbers(random, targets * x.shape[-1]), "targets": targets}
    if random.random() < 0.5:
        attributes["intercepts"] = numbers(random, targets)
    return Single("LinearRegressor", [x], {**attributes, "post_transform": random.choice(TRANSFORMS[:4])})


KERNELS = ("LINEAR", "POLY", "SIGMOID", "RBF")


@maker
def svm_classifier(random: Random) -> Single:
    x, classes, kernel = features(random), random.randint(2, 4), random.choice(KERNELS)
    sizes = [random.randint(1, 3) for _ in range(classes)]
    pairs = classes * (classes - 1) // 2
    attributes = {
        "kernel_type": kernel,
        "kernel_params": [0.5, 0.25, 2.0],
        "vectors_per_class": sizes,
        "support_vectors": numbers(random, sum(sizes) * x.shape[-1]),
        "coefficients": numbers(random, (classes - 1) * sum(sizes)),
        "rho": numbers(random, pairs),
        **labels(random, classes),
    }
    if random.random() < 0.5:
        attributes |= {"prob_a": numbers(random, pairs), "prob_b": numbers(random, pairs)}
    return Single("SVMClassifier", [x], attributes, 2)


@maker
def svm_classifier_without_vectors(random: Random) -> Single:
    x, classes = features(random), random.randint(2, 4)
    attributes = {
        "kernel_type": "LINEAR",
        "kernel_params": [0.5, 0.25, 2.0],
        "coefficients": numbers(random, classes * x.shape[-1]),
        "rho": numbers(random, 1),
        **labels(random, classes),
    }
    return Single("SVMClassifier", [x], attributes, 2)


@maker
def svm_regressor(random: Random) -> Single:
    x, vectors = features(random), random.randint(0, 3)
    attributes = {
        "kernel_type": random.choice(KERNELS),
        "kernel_params": [0.5, 0.25, 2.0],
        "n_supports": vectors,
        "coefficients": numbers(random, vectors or x.shape[-1]),
        "rho": [0.5],
        "one_class": random.randint(0, 1),
    }
    if vectors:
        attributes["support_vectors"] = numbers(random, vectors * x.shape[-1])
    return Single("SVMRegressor", [x], attributes)


class Trees:
    """Random trees with everything that their nodes and leaves hold."""

    def __init__(self, random: Random, width: int) -> None:
        self.random, self.width = random, width
        self.nodes: list[tuple[int, int, int, float, str, int, int]] = []
        self.leaves: list[tuple[int, int, int, float]] = []
        self.longest: list[int] = []

    def grow(self, tree: int, depth: int, targets: int) -> int:
        """The length of the longest path; the node is appended with its place in the tree as its id."""
        place = sum(one[0] == tree for one in self.nodes)
        self.nodes.append((tree, place, 0, 0.0, "LEAF", 0, 0))
        index = len(self.nodes) - 1
        if not depth or self.random.random() < 0.3:
            for target in range(self.random.randint(1, targets)):
                self.leaves.append((tree, place, target, self.random.random()))
            return 0
        first = sum(one[0] == tree for one in self.nodes)
        left = self.grow(tree, depth - 1, targets)
        second = sum(one[0] == tree for one in self.nodes)
        right = self.grow(tree, depth - 1, targets)
        feature = self.random.randrange(self.width)
        self.nodes[index] = (tree, place, feature, self.random.random(), "BRANCH_LEQ", first, second)
        return 1 + max(left, right)

    def attributes(self, count: int, targets: int, prefix: str) -> dict[str, Any]:
        self.longest = [self.grow(tree, 3, targets) for tree in range(count)]
        names = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
        columns = zip(names, zip(*self.nodes, strict=True), strict=True)
        leaves = zip(("treeids", "nodeids", "ids", "weights"), zip(*self.leaves, strict=True), strict=True)
        return {
            **{f"nodes_{name}": list(column) for name, column in columns},
            **{f"{prefix}_{name}": list(column) for name, column in leaves},
        }

    @property
    def asked(self) -> int:
        return sum(one[4] != "LEAF" for one in self.nodes)


@maker
def tree_classifier(random: Random) -> Single:
    x = floats(random, random.randint(1, 4), random.randint(1, 4), dtype=random.choice(("float32", "float64")))
    classes = random.randint(2, 4)
    trees = Trees(random, x.shape[1]).attributes(random.randint(1, 3), random.randint(1, classes), "class")
    attributes = {**trees, **labels(random, classes, "classlabels_int64s"), "post_transform": random.choice(TRANSFORMS)}
    if random.random() < 0.5:
        attributes["base_values"] = numbers(random, classes)
    return Single("TreeEnsembleClassifier", [x], attributes, 2)


@maker
def tree_regressor(random: Random) -> Single:
    x = floats(random, random.randint(1, 4), random.randint(1, 4), dtype=random.choice(("float32", "float64")))
    targets = random.randint(1, 3)
    trees = Trees(random, x.shape[1]).attributes(random.randint(1, 3), targets, "target")
    aggregate = random.choice(("SUM", "AVERAGE", "MIN", "MAX"))
    return Single("TreeEnsembleRegressor", [x], {**trees, "n_targets": targets, "aggregate_function": aggregate})


@maker
def rooted_trees(random: Random) -> Single:
    x = floats(random, random.randint(1, 4), 2, dtype=random.choice(("float32", "float64")))
    return Single("TreeEnsemble", [x], rooted_attributes(random, x.dtype), version=5)


def rooted_attributes(random: Random, dtype: Any) -> dict[str, Any]:
    """A tree of two questions and three leaves."""
    targets = random.randint(1, 3)
    return {
        "n_targets": targets,
        "aggregate_function": random.randint(0, 3),
        "post_transform": random.randint(0, 4),
        "tree_roots": [0],
        "nodes_modes": numpy_helper.from_array(np.array([0, 2], "uint8")),
        "nodes_featureids": [0, 1],
        "nodes_splits": numpy_helper.from_array(np.array([0.25, 0.5], dtype)),
        "nodes_truenodeids": [1, 0],
        "nodes_trueleafs": [0, 1],
        "nodes_falsenodeids": [2, 1],
        "nodes_falseleafs": [1, 1],
        "leaf_targetids": [random.randrange(targets) for _ in range(3)],
        "leaf_weights": numpy_helper.from_array(np.array([0.5, 1.5, 2.5], dtype)),
    }


@maker
def scaler(random: Random) -> Single:
    x = features(random, "float32", "int64", "float64")
    count = random.choice((1, x.shape[-1]))
    return Single("Scaler", [x], {"offset": numbers(random, count), "scale": numbers(random, count)})


@maker
def imputer(random: Random) -> Single:
    x = features(random, "float32", "int64")
    name = "floats" if x.dtype == np.float32 else "int64s"
    values = [3] * random.choice((1, x.shape[-1]))
    return Single("Imputer", [x], {f"imputed_value_{name}": [type(x.flat[0].item())(value) for value in values]})


@maker
def normalizer(random: Random) -> Single:
    return Single(
        "Normalizer", [features(random, "float32", "int64", "float64")], {"norm": random.choice(("MAX", "L1", "L2"))}
    )


@maker
def binarizer(random: Random) -> Single:
    return Single("Binarizer", [features(random)], {"threshold": 0.5})


@maker
def feature_vectorizer(random: Random) -> Single:
    rows, dtype = random.randint(1, 3), random.choice(("float32", "int64", "float64"))
    xs = [floats(random, rows, random.randint(1, 3), dtype=dtype) for _ in range(random.randint(1, 3))]
    if random.random() < 0.3:
        xs = [x.ravel() for x in xs]
    return Single("FeatureVectorizer", xs, {"inputdimensions": [random.randint(1, 4) for _ in xs]})


@maker
def array_feature_extractor(random: Random) -> Single:
    x = floats(random, *(random.randint(1, 3) for _ in range(random.randint(1, 3))))
    indices = np.array([random.randrange(x.shape[-1]) for _ in range(random.randint(1, 4))], "int64")
    return Single("ArrayFeatureExtractor", [x, indices[None] if random.random() < 0.5 else indices], {})


def categories(random: Random, kind: str) -> np.ndarray:
    shape = [random.randint(1, 3) for _ in range(random.randint(1, 2))]
    flat = [random.randint(0, 3) for _ in range(int(np.prod(shape)))]
    return np.array(
        [str(one) for one in flat] if kind == "string" else flat, object if kind == "string" else kind
    ).reshape(shape)


@maker
def label_encoder(random: Random) -> Single:
    tables = {
        "strings": (["0", "1", "2"], "string"),
        "int64s": ([0, 1, 2], "int64"),
        "floats": ([0.0, 1.0, 2.0], "float32"),
    }
    (keys, kind), value_name = tables[key_name := random.choice([*tables])], random.choice([*tables])
    attributes = {f"keys_{key_name}": keys, f"values_{value_name}": tables[value_name][0]}
    return Single("LabelEncoder", [categories(random, kind)], attributes)


@maker
def label_encoder_of_tensors(random: Random) -> Single:
    dtype = random.choice(("int64", "float64"))
    keys, values = (numpy_helper.from_array(np.arange(3, dtype=dtype)) for _ in range(2))
    default = numpy_helper.from_array(np.array([7], dtype))
    attributes = {"keys_tensor": keys, "values_tensor": values, "default_tensor": default}
    return Single("LabelEncoder", [categories(random, dtype)], attributes, version=4)


@maker
def label_encoder_of_old(random: Random) -> Single:
    kind = random.choice(("string", "int64"))
    return Single("LabelEncoder", [categories(random, kind)], {"classes_strings": ["0", "1", "2"]}, version=1)


@maker
def category_mapper(random: Random) -> Single:
    kind = random.choice(("string", "int64"))
    return Single("CategoryMapper", [categories(random, kind)], {"cats_strings": ["0", "1"], "cats_int64s": [0, 1]})


@maker
def one_hot_encoder(random: Random) -> Single:
    kind = random.choice(("string", "int64", "float32"))
    name, keys = ("cats_strings", ["0", "1", "2"]) if kind == "string" else ("cats_int64s", [0, 1, 2])
    return Single("OneHotEncoder", [categories(random, kind)], {name: keys, "zeros": 1})


@maker
def zip_map(random: Random) -> Single:
    classes = random.randint(2, 3)
    x = floats(random, *(random.randint(1, 3) for _ in range(random.randint(0, 1))), classes)
    return Single("ZipMap", [x], labels(random, classes, "classlabels_int64s"))


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("seed", range(12))
def test_types_are_those_that_onnx_runtime_computes(name: str, seed: int) -> None:
    call = MAKERS[name](Random(f"{name} {seed}"))
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
    for make in (linear_classifier, linear_regressor):
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
    call = svm_classifier(Random(seed))
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
    call = svm_regressor(Random(seed))
    rows, width = np.atleast_2d(call.arrays[0]).shape
    vectors = call.attributes["n_supports"]
    facts = weigh(load(model_of(call))).facts
    expected = _kernel_macs(call, rows, vectors, width) + rows * vectors if vectors else rows * width
    assert facts.macs == expected
    assert facts.parameters == vectors * width + len(call.attributes["coefficients"]) + 1


@pytest.mark.parametrize("seed", range(8))
def test_trees_have_their_longest_paths_and_no_products(seed: int) -> None:
    random = Random(seed)
    trees = Trees(random, 3)
    attributes = {**trees.attributes(3, 2, "target"), "n_targets": 2}
    graph_of = load(model_of(Single("TreeEnsembleRegressor", [floats(random, 5, 3)], attributes)))
    facts = weigh(graph_of).facts
    most = [
        max(sum(leaf[:2] == node[:2] for leaf in trees.leaves) for node in trees.nodes if node[0] == tree)
        for tree in range(3)
    ]
    assert facts.macs == 0
    assert facts.exact
    assert facts.work_exact
    assert (facts.work.compare, facts.work.add) == (5 * sum(trees.longest), 5 * sum(most))
    assert facts.parameters == facts.other_parameters == trees.asked + len(trees.leaves)
    (node_of,) = graph_of.nodes
    held = [graph_of.tensors[tensor] for name, tensor in node_of.operands if name == "structure"]
    assert {one.role for one in held} == {Role.CONSTANT}
    lists = [one for name, one in attributes.items() if name.endswith(("ids", "modes"))]
    assert facts.constant_bytes == sum(len(one) * (1 if isinstance(one[0], str) else 8) for one in lists)


@pytest.mark.parametrize("aggregate", ["MIN", "MAX", "SUM", "AVERAGE"])
def test_the_values_of_leaves_are_joined_as_the_attribute_says(aggregate: str) -> None:
    random = Random(3)
    trees = Trees(random, 3).attributes(2, 1, "target")
    call = Single(
        "TreeEnsembleRegressor", [floats(random, 4, 3)], {**trees, "n_targets": 1, "aggregate_function": aggregate}
    )
    work = weigh(load(model_of(call))).facts.work
    paths = weigh(load(model_of(call._replace(attributes={**trees, "n_targets": 1})))).facts.work.compare
    assert work.div == (4 if aggregate == "AVERAGE" else 0)
    assert work.add == (8 if aggregate in ("SUM", "AVERAGE") else 0)
    assert work.compare == paths + (8 if aggregate in ("MIN", "MAX") else 0)


def test_rooted_trees() -> None:
    call = rooted_trees(Random(1))
    facts = weigh(load(model_of(call))).facts
    assert facts.parameters == 2 + 3
    assert facts.exact
    member = {**call.attributes, "membership_values": numpy_helper.from_array(np.array([1, 2, np.nan], "float32"))}
    facts = weigh(load(model_of(call._replace(attributes=member)))).facts
    assert facts.parameters == 2 + 3 + 3
    assert (facts.exact, facts.work_exact) == (True, False)


def test_trees_that_are_none_have_work_that_nobody_knows() -> None:
    attributes = Trees(Random(5), 3).attributes(1, 1, "target")
    attributes = {**attributes, "n_targets": 1}
    inner = attributes["nodes_modes"].index("BRANCH_LEQ")
    for child in (attributes["nodes_nodeids"][inner], 99):
        attributes["nodes_truenodeids"] = [child] * len(attributes["nodes_modes"])
        facts = weigh(load(model_of(Single("TreeEnsembleRegressor", [floats(Random(1), 2, 3)], attributes)))).facts
        assert (facts.exact, facts.work_exact) == (True, False)


def test_statistics_and_tables_are_nobodys_parameters() -> None:
    for make in (scaler, imputer, label_encoder, one_hot_encoder, category_mapper):
        call = make(Random(2))
        found = load(model_of(call))
        assert weigh(found).facts.parameters == 0
        assert {one.role for one in found.stored()} <= {Role.BUFFER, Role.CONSTANT}
        assert list(found.stored())


def test_the_reference_agrees_on_linear_models() -> None:
    call = linear_regressor(Random(11))._replace(
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


# Damage


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            Single("LinearClassifier", [np.ones((2, 3))], {"coefficients": [1.0] * 4}, 2),
            "4 coefficients are no rows of 3",
        ),
        (Single("LinearClassifier", [np.ones((2, 3))], {}, 2), "0 coefficients are no rows of 3"),
        (Single("LinearClassifier", [np.ones((2, 3, 1))], {"coefficients": [1.0]}, 2), "not a tensor of 3 dimensions"),
        (
            Single("LinearClassifier", [np.ones((2, 3))], {"coefficients": [1.0] * 9, "classlabels_ints": [1, 2]}, 2),
            "3 scores for 2 labels",
        ),
        (Single("LinearClassifier", [np.ones((2, 3))], {"coefficients": "a"}, 2), "is text, not numbers"),
        (
            Single("LinearClassifier", [np.ones((2, 3))], {"coefficients": [1.0] * 6, "intercepts": [1.0] * 5}, 2),
            "do not broadcast",
        ),
        (Single("LinearRegressor", [np.ones((2, 3))], {"coefficients": [1.0] * 3, "targets": -1}), "has -1 targets"),
        (Single("LinearRegressor", [np.ones((2, 3))], {"coefficients": [1.0] * 3, "targets": 1 << 60}), "targets"),
        (
            Single("LinearRegressor", [np.ones((2, 3))], {"coefficients": [1.0] * 3, "post_transform": "?"}),
            "its post_transform is '\\?', none of NONE",
        ),
        (Single("SVMRegressor", [np.ones((2, 3))], {"n_supports": 4, "coefficients": [1.0] * 4}), "0 support_vectors"),
        (
            Single(
                "SVMRegressor",
                [np.ones((2, 3))],
                {"n_supports": 1 << 60, "support_vectors": [1.0] * 6, "coefficients": [1.0]},
            ),
            "6 numbers of support vectors where",
        ),
        (
            Single("SVMClassifier", [np.ones((2, 3))], {"vectors_per_class": [-1, 2], "coefficients": [1.0]}, 2),
            "has -1 support vectors of a class",
        ),
        (
            Single(
                "SVMClassifier",
                [np.ones((2, 3))],
                {"vectors_per_class": [1, 1], "support_vectors": [1.0] * 6, "coefficients": [1.0] * 4},
                2,
            ),
            "has 4 coefficients for 2 vectors of 2 classes",
        ),
        (Single("TreeEnsembleRegressor", [np.ones((2, 3))], {"n_targets": 1}), "its trees have no nodes"),
        (Single("TreeEnsembleClassifier", [np.ones((2, 3))], {}, 2), "its trees have no nodes"),
        (Single("TreeEnsemble", [np.ones((2, 3))], {}, version=5), "its trees have no nodes"),
        (Single("Scaler", [np.ones((2, 3))], {"scale": [1.0]}), "has 0 offsets and 1 scales"),
        (
            Single("Scaler", [np.ones((2, 3))], {"scale": [1.0], "offset": [1.0, 2.0]}),
            "offset has 2 values for features",
        ),
        (Single("Imputer", [np.ones((2, 3))], {}), "has no values for what is missing"),
        (Single("Normalizer", [np.ones((2, 3))], {"norm": "L3"}), "its norm is 'L3'"),
        (Single("Normalizer", [np.ones((2, 3))], {"norm": [1]}), "is whole numbers, not text"),
        (Single("FeatureVectorizer", [np.ones((2, 3))], {"inputdimensions": [-4]}), "negative dimension"),
        (Single("FeatureVectorizer", [np.ones((2, 3))], {}), "0 numbers of features for 1 operands"),
        (Single("LabelEncoder", [np.ones((2, 3), "int64")], {"keys_int64s": [1]}), "has 1 keys and 0 values"),
        (Single("CategoryMapper", [np.ones(2, "int64")], {"cats_int64s": [1]}), "has 1 keys and 0 values"),
        (Single("OneHotEncoder", [np.ones(2, "int64")], {}), "has no categories"),
        (Single("ZipMap", [np.ones((2, 3))], {}), "its scores have no labels"),
    ],
)
def test_attributes_that_contradict_each_other_are_refused(call: Single, says: str) -> None:
    with pytest.raises(BadModel, match=rf"model\.onnx: node.*{says}"):
        load(model_of(call))


def test_ragged_trees_are_refused() -> None:
    attributes = {**Trees(Random(1), 3).attributes(2, 1, "target"), "n_targets": 1}
    for name in ("nodes_featureids", "nodes_values", "target_ids", "target_weights"):
        ragged = {**attributes, name: attributes[name][1:]}
        with pytest.raises(BadModel, match=r"node: its \w+ are \d+ and its \w+ \d+"):
            load(model_of(Single("TreeEnsembleRegressor", [np.ones((2, 3))], ragged)))


@pytest.mark.parametrize("targets", [0, -1, 1 << 62])
def test_trees_with_absurd_targets_are_refused(targets: int) -> None:
    attributes = {**Trees(Random(1), 3).attributes(2, 1, "target"), "n_targets": targets}
    with pytest.raises(BadModel, match=r"targets of features|has a dimension of"):
        load(model_of(Single("TreeEnsembleRegressor", [np.ones((2, 3))], attributes)))
