"""The operators of ai.onnx.ml as ours: learners that are no neural networks, and what stands before and behind them.

Their learned numbers stand in attributes; as operands they are stored tensors like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import Foreign, Held, Rule, Step, bind, translate
from weighbridge.frontends.onnx_attributes import check_kinds
from weighbridge.frontends.onnx_ml import (
    TRANSFORMS,
    Chain,
    Listed,
    fault,
    labels_of,
    listed,
    matrix,
    one_of,
    rows_of,
)
from weighbridge.frontends.onnx_trees import FOREST_RULES
from weighbridge.graph import UNKNOWN, Attribute, TensorType

__all__ = ["ML_KINDS", "ML_RULES"]

_FLOAT: Final[dict[str, Attribute]] = {"output_dtype": "float32"}
_KERNELS: Final = {"LINEAR": "", "POLY": "polynomial", "SIGMOID": "sigmoid", "RBF": "radial"}
_NORMS: Final[dict[str, Attribute]] = {"MAX": "max", "L1": 1, "L2": 2}


# Linear models


def _linear(chain: Chain, w: Held, b: Listed) -> Chain:
    return chain.then("linear", _FLOAT, [w, *([b.held("b")] if b.length else [])])


def _classes_by_rows(call: Foreign, coefficients: Listed, features: int | None, rows: int) -> Held:
    """The coefficients of a linear model: ``rows`` of them, or as many as the features of x say."""
    if features is None and rows and not coefficients.length % rows:
        features = coefficients.length // rows
    return matrix(call, coefficients, "w", features or coefficients.length)


def _linear_classifier(call: Foreign) -> Sequence[Step]:
    chain, features = rows_of(call)
    labels, intercepts = labels_of(call), listed(call, "intercepts")
    w = _classes_by_rows(call, listed(call, "coefficients"), features, intercepts.length or labels.length)
    classes = w.kind.shape[0]
    _linear(chain, w, intercepts)
    both = classes == 1 and labels.length == 2
    chain.scores(one_of(call, "post_transform", "NONE", TRANSFORMS), 1, both=both)
    return chain.then("label", {}, [labels.held("labels")] if labels.length else []).into(0).steps


def _linear_regressor(call: Foreign) -> Sequence[Step]:
    chain, features = rows_of(call)
    targets, coefficients = call.get("targets", 1), listed(call, "coefficients")
    w = _classes_by_rows(call, coefficients, features, targets if targets > 0 else 0)
    if w.kind.shape[0] != targets:
        raise fault(call, f"has {targets} targets and {coefficients.length} coefficients of {features} features")
    _linear(chain, w, listed(call, "intercepts"))
    return chain.scores(one_of(call, "post_transform", "NONE", TRANSFORMS), 0).steps


# Support vector machines


def _kernel(call: Foreign, chain: Chain, features: int | None, vectors: int) -> Chain:
    """The value that the kernel has for a row and each support vector."""
    supports = listed(call, "support_vectors")
    if features is None:
        features = supports.length // vectors
    kernel = one_of(call, "kernel_type", "LINEAR", _KERNELS)
    held = matrix(call, supports, "vectors" if kernel == "radial" else "w", features)
    if held.kind.shape[0] != vectors:
        raise fault(call, f"has {supports.length} numbers of support vectors where {vectors} have {features} each")
    if kernel == "radial":
        return chain.then("radial_kernel", {}, [held])
    chain.then("linear", _FLOAT, [held])
    return chain.then("kernel_function", {"kernel": kernel}) if kernel else chain


def _svm_regressor(call: Foreign) -> Sequence[Step]:
    """Without support vectors a linear model."""
    chain, features = rows_of(call)
    coefficients, vectors = listed(call, "coefficients"), call.get("n_supports", 0)
    if vectors > 0:
        _kernel(call, chain, features, vectors)
        features = vectors
    w = _classes_by_rows(call, coefficients, features, 1)
    if w.kind.shape[0] != 1:
        raise fault(call, f"has {coefficients.length} coefficients of {features} values")
    _linear(chain, w, _first(listed(call, "rho")))
    if call.get("one_class", 0):
        chain.then("binarise")
    return chain.scores(one_of(call, "post_transform", "NONE", TRANSFORMS), 0).steps


def _first(rho: Listed) -> Listed:
    """Of several shifts a linear model uses the first."""
    return rho._replace(length=min(rho.length, 1))


def _svm_classifier(call: Foreign) -> Sequence[Step]:
    """Decisions between two classes each; without support vectors a linear model, with a score for every label."""
    chain, features = rows_of(call)
    labels, coefficients, rho = labels_of(call), listed(call, "coefficients"), listed(call, "rho")
    sizes = call.get("vectors_per_class", ())
    transform = one_of(call, "post_transform", "NONE", TRANSFORMS)
    given = [labels.held("labels")] if labels.length else []
    if any(size < 0 for size in sizes):
        raise fault(call, f"has {min(sizes)} support vectors of a class")
    if not sum(sizes):
        w = _classes_by_rows(call, coefficients, features, labels.length or 1)
        if w.kind.shape[0] != max(labels.length, 1):
            raise fault(
                call, f"has {coefficients.length} coefficients of {features} features for {labels.length} labels"
            )
        _linear(chain, w, _first(rho)).scores(transform, 1)
        return chain.then("label", {}, given).into(0).steps
    classes = len(sizes)
    if labels.length not in (0, classes):
        raise fault(call, f"has {labels.length} labels and support vectors of {classes} classes")
    _kernel(call, chain, features, sum(sizes))
    w = matrix(call, coefficients, "w", sum(sizes))
    if w.kind.shape[0] != classes - 1:
        raise fault(call, f"has {coefficients.length} coefficients for {sum(sizes)} vectors of {classes} classes")
    chain.then("pair_scores", {}, [w, *([rho.held("b")] if rho.length else [])])
    decisions = len(chain.steps) - 1
    slopes, shifts = listed(call, "prob_a"), listed(call, "prob_b")
    if slopes.length:
        chain.then("pair_probabilities", {"classes": classes}, [slopes.held("slope"), shifts.held("shift")])
    chain.scores(transform, 1, both=not slopes.length and classes == 2)
    decided = [("x", chain.steps[decisions].outputs[0])]
    return (*chain.steps, Step("vote", decided, {"classes": classes}, call.outputs[:1], (), given))


# Features


def _scaler(call: Foreign) -> Sequence[Step]:
    offset, scale = listed(call, "offset"), listed(call, "scale")
    if not offset.length or not scale.length:
        raise fault(call, f"has {offset.length} offsets and {scale.length} scales")
    held = [offset.held("offset"), scale.held("scale")]
    return Chain(call, call.operand(0)).then("standardise", {}, held).into(0).steps


def _imputer(call: Foreign) -> Sequence[Step]:
    values = listed(call, "imputed_value_floats", "imputed_value_int64s")
    if not values.length:
        raise fault(call, "has no values for what is missing")
    return Chain(call, call.operand(0)).then("impute", {}, [values.held("values")]).into(0).steps


def _normalizer(call: Foreign) -> Sequence[Step]:
    kind = call.type(0)
    if kind is not None and len(kind.shape) not in (1, 2):
        raise fault(call, f"takes rows of features, not a tensor of {len(kind.shape)} dimensions")
    chain = Chain(call, call.operand(0))
    norm = call.get("norm", "MAX")
    if norm not in _NORMS:
        raise fault(call, f"its norm is {norm!r}, none of {', '.join(_NORMS)}")
    return chain.then("lp_norm", {"p": _NORMS[norm], "axis": -1, "dtype": "float32"}).into(0).steps


def _feature_vectorizer(call: Foreign) -> Sequence[Step]:
    attributes: dict[str, Attribute] = {"sizes": call.get("inputdimensions", ())}
    return (Step("feature_vector", bind(call, "*xs"), attributes, call.outputs),)


def _array_feature_extractor(call: Foreign) -> Sequence[Step]:
    """Elements of the last axis; the indices in a row, whatever their shape, and a vector as one row."""
    x, indices = Chain(call, call.operand(0)), Chain(call, call.operand(1))
    if call.rank(0) == 1:
        x.then("unsqueeze", {"axes": (0,)})
    kind = call.type(1)
    if kind is None or len(kind.shape) != 1:
        indices.then("reshape", {"shape": UNKNOWN if kind is None else (kind.elements,)})
    pairs = [("x", x.tensor), ("indices", indices.tensor)]
    return (*x.steps, *indices.steps, Step("gather", pairs, {"axis": -1}, call.outputs))


# Categories


def _lookup(call: Foreign, keys: Listed, values: Listed) -> Sequence[Step]:
    if not keys.length or keys.length != values.length:
        raise fault(call, f"has {keys.length} keys and {values.length} values")
    held = [keys.held("keys"), values.held("values")]
    return Chain(call, call.operand(0)).then("lookup", {}, held).into(0).steps


def _label_encoder(call: Foreign) -> Sequence[Step]:
    """Before version 2 a text becomes its position in the list, and a number the text there."""
    if call.get("classes_strings") is None:
        kinds = ("floats", "int64s", "strings", "tensor")
        keys, values = (listed(call, *(f"{name}_{kind}" for kind in kinds)) for name in ("keys", "values"))
        return _lookup(call, keys, values)
    return _either_way(call, listed(call, "classes_strings"), listed(call, "classes_strings")._replace(dtype="int64"))


def _either_way(call: Foreign, texts: Listed, numbers: Listed) -> Sequence[Step]:
    """From text to number or from number to text, as the operand is."""
    if call.services.dtype_name(call.operand(0)) == "string":
        return _lookup(call, texts, numbers)
    return _lookup(call, numbers, texts)


def _category_mapper(call: Foreign) -> Sequence[Step]:
    return _either_way(call, listed(call, "cats_strings"), listed(call, "cats_int64s"))


def _one_hot_encoder(call: Foreign) -> Sequence[Step]:
    keys = listed(call, "cats_int64s", "cats_strings")
    if not keys.length:
        raise fault(call, "has no categories")
    return Chain(call, call.operand(0)).then("one_hot_categories", {}, [keys.held("keys")]).into(0).steps


# Maps


def _dict_vectorizer(call: Foreign) -> Sequence[Step]:
    """One row: a map has a value for each key of the vocabulary."""
    keys = listed(call, "int64_vocabulary", "string_vocabulary")
    if not keys.length:
        raise fault(call, "has no vocabulary")
    declared = TensorType((1, keys.length), DTYPES[call.services.dtype_name(call.operand(0))])
    pairs = [("x", call.operand(0))]
    return (Step("dictionary_vector", pairs, {}, call.outputs, (declared,), [keys.held("keys")]),)


def _cast_map(call: Foreign) -> Sequence[Step]:
    """One row, of as many values as the map has or, where it is sparse, as it may have."""
    dtype = one_of(call, "cast_to", "TO_FLOAT", {"TO_FLOAT": "float32", "TO_STRING": "string", "TO_INT64": "int64"})
    form, size = one_of(call, "map_form", "DENSE", {"DENSE": "dense", "SPARSE": "sparse"}), call.get("max_map", 1)
    declared = TensorType((1, size), DTYPES[dtype]) if form == "sparse" and size > 0 else DTYPES[dtype]
    return (Step("map_values", [("x", call.operand(0))], {"dtype": dtype}, call.outputs, (declared,)),)


def _zip_map(call: Foreign) -> Sequence[Step]:
    labels = labels_of(call)
    if not labels.length:
        raise fault(call, "its scores have no labels")
    return Chain(call, call.operand(0)).then("zip_map", {}, [labels.held("labels")]).into(0).steps


# Attributes

ML_KINDS: Final = {
    name: kind
    for kind, names in {
        "a whole number": "default_int64 max_map multi_class n_supports n_targets one_class replaced_value_int64 targets zeros",
        "a number": "default_float replaced_value_float threshold",
        "text": "aggregate_function cast_to default_string kernel_type map_form norm post_transform",
        "whole numbers": "cats_int64s class_ids class_nodeids class_treeids classlabels_int64s classlabels_ints"
        " imputed_value_int64s inputdimensions int64_vocabulary keys_int64s leaf_targetids nodes_falseleafs"
        " nodes_falsenodeids nodes_featureids nodes_missing_value_tracks_true nodes_nodeids nodes_treeids nodes_trueleafs"
        " nodes_truenodeids target_ids target_nodeids target_treeids tree_roots values_int64s vectors_per_class",
        "numbers": "base_values class_weights coefficients imputed_value_floats intercepts kernel_params keys_floats"
        " nodes_hitrates nodes_values offset prob_a prob_b rho scale support_vectors target_weights values_floats",
        "texts": "cats_strings classes_strings classlabels_strings keys_strings nodes_modes string_vocabulary values_strings",
        "a tensor": "base_values_as_tensor class_weights_as_tensor default_tensor keys_tensor leaf_weights membership_values"
        " nodes_hitrates_as_tensor nodes_splits nodes_values_as_tensor target_weights_as_tensor values_tensor",
    }.items()
    for name in names.split()
}
"""What an attribute of this name is in every operator of ai.onnx.ml but TreeEnsemble."""
_ROOTED_KINDS: Final = {
    **ML_KINDS,
    **dict.fromkeys(("aggregate_function", "post_transform"), "a whole number"),
    **dict.fromkeys(("nodes_modes", "nodes_hitrates"), "a tensor"),
}


def _checked(rule: Rule) -> Callable[[Foreign], Sequence[Step]]:
    """The rule, where the attributes are of the kinds that their names say."""

    def checked(call: Foreign) -> Sequence[Step]:
        try:
            check_kinds(call.op, call.attributes, _ROOTED_KINDS if call.op == "TreeEnsemble" else ML_KINDS)
        except BadModel as error:
            raise error.at(call.name) from None
        return translate(call, rule)

    return checked


_RULES: Final[dict[str, Rule]] = {
    "ArrayFeatureExtractor": _array_feature_extractor,
    "Binarizer": lambda call: (Step("binarise", bind(call, "x"), {}, call.outputs),),
    "CastMap": _cast_map,
    "CategoryMapper": _category_mapper,
    "DictVectorizer": _dict_vectorizer,
    "FeatureVectorizer": _feature_vectorizer,
    "Imputer": _imputer,
    "LabelEncoder": _label_encoder,
    "LinearClassifier": _linear_classifier,
    "LinearRegressor": _linear_regressor,
    "Normalizer": _normalizer,
    "OneHotEncoder": _one_hot_encoder,
    "SVMClassifier": _svm_classifier,
    "SVMRegressor": _svm_regressor,
    "Scaler": _scaler,
    "ZipMap": _zip_map,
    **FOREST_RULES,
}
ML_RULES: Final[dict[str, Rule]] = {name: _checked(rule) for name, rule in _RULES.items()}
