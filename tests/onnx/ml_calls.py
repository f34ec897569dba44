"""Random calls of the operators of ai.onnx.ml, such as ONNX Runtime executes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from onnx import numpy_helper

from tests.onnx.execute import Single

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
        self.shortest: list[int] = []
        self.longest: list[int] = []

    def grow(self, tree: int, depth: int, targets: int) -> tuple[int, int]:
        """The lengths of the shortest and the longest path; the node is appended with its place in the tree as its id."""
        place = sum(one[0] == tree for one in self.nodes)
        self.nodes.append((tree, place, 0, 0.0, "LEAF", 0, 0))
        index = len(self.nodes) - 1
        if not depth or self.random.random() < 0.3:
            for target in range(self.random.randint(1, targets)):
                self.leaves.append((tree, place, target, self.random.random()))
            return 0, 0
        first = sum(one[0] == tree for one in self.nodes)
        left = self.grow(tree, depth - 1, targets)
        second = sum(one[0] == tree for one in self.nodes)
        right = self.grow(tree, depth - 1, targets)
        feature = self.random.randrange(self.width)
        self.nodes[index] = (tree, place, feature, self.random.random(), "BRANCH_LEQ", first, second)
        return 1 + min(left[0], right[0]), 1 + max(left[1], right[1])

    def attributes(self, count: int, targets: int, prefix: str) -> dict[str, Any]:
        lengths = [self.grow(tree, 3, targets) for tree in range(count)]
        self.shortest, self.longest = ([pair[place] for pair in lengths] for place in (0, 1))
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
