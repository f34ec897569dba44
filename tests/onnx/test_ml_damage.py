"""Calls of ai.onnx.ml whose attributes contradict each other: an error that says which."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tests.onnx.build import load
from tests.onnx.execute import Single, model_of
from tests.onnx.ml_calls import Trees
from weighbridge.errors import BadModel


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
