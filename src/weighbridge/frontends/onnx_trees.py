"""The tree ensembles of ai.onnx.ml: what their attributes hold, and how long the paths through the trees are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.frontends.foreign import Foreign, Held, Rule, Step
from weighbridge.frontends.onnx_ml import TRANSFORMS, Chain, Listed, fault, labels_of, listed, one_of
from weighbridge.graph import UNKNOWN, Attribute
from weighbridge.named_tuple import NamedTuple

__all__ = ["FOREST_RULES", "Paths", "paths_of"]

_NUMBERED_TRANSFORMS: Final = dict(enumerate(TRANSFORMS.values()))
_AGGREGATES: Final = {"SUM": "sum", "AVERAGE": "average", "MIN": "min", "MAX": "max"}
_NUMBERED_AGGREGATES: Final = {0: "average", 1: "sum", 2: "min", 3: "max"}
_NODES: Final = (
    *("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids", "nodes_modes"),
)
_OPTIONAL: Final = ("nodes_missing_value_tracks_true", "nodes_hitrates")
_ROOTED: Final = (
    *("nodes_featureids", "nodes_truenodeids", "nodes_trueleafs", "nodes_falsenodeids", "nodes_falseleafs"),
    "nodes_modes",
)
_Children = Sequence[tuple[int, ...]]


class Paths(NamedTuple):
    """The least and the most that a row can meet in all trees together: questions, and values of leaves."""

    questions: tuple[int, int]
    values: tuple[int, int]


def paths_of(children: _Children, terms: Sequence[int]) -> Paths | None:
    """How many questions the shortest and the longest path of every tree have, and how many values its smallest and its largest
    leaf, each added up over the trees.

    ``children`` are positions by node, none for a leaf; ``terms`` how many values a leaf has.  None where they are no trees: a
    child that does not exist, a node of several parents, a ring.  Linear in the number of nodes.
    """
    parents = Counter(child for node in children for child in node)
    if any(not 0 <= child < len(children) or (count > 1 and children[child]) for child, count in parents.items()):
        return None
    trees: list[tuple[int, int, int, int]] = []
    reached = set[int]()
    for root in range(len(children)):
        if root in parents:
            continue
        depths, sizes = set[int](), set[int]()
        pending = [(root, 0)]
        while pending:
            node, depth = pending.pop()
            reached.add(node)
            if children[node]:
                pending += [(child, depth + 1) for child in children[node]]
            else:
                depths.add(depth)
                sizes.add(terms[node])
        if depths:
            trees.append((min(depths), max(depths), min(sizes), max(sizes)))
    if len(reached) < len(children):
        return None
    shortest, longest, fewest, most = (sum(tree[place] for tree in trees) for place in range(4))
    return Paths((shortest, longest), (fewest, most))


def _as_long(call: Foreign, first: Listed, names: Sequence[str], *, optional: bool = False) -> list[Listed]:
    """Lists that have an element for every one of ``first``.  Raises ``BadModel`` where one has not."""
    found = [listed(call, name, f"{name}_as_tensor") for name in names]
    for one in found:
        if one.length != first.length and (one.length or not optional):
            raise fault(call, f"its {one.name} are {one.length} and its {first.name} {first.length}")
    return [one for one in found if one.length]


def _structure(lists: Sequence[Listed]) -> list[Held]:
    """Constants of the trees: whole numbers as the file has them, and a kind of question in a byte."""
    return [(one._replace(dtype="uint8") if one.name == "nodes_modes" else one).held("structure") for one in lists]


def _sizes(paths: Paths | None) -> Mapping[str, Attribute]:
    comparisons, terms = paths or (UNKNOWN, UNKNOWN)
    return {"comparisons": comparisons, "terms": terms}


def _listed_trees(call: Foreign, prefix: str) -> tuple[Mapping[str, Attribute], list[Held]]:
    """The trees of a classifier or regressor: every list has an element a node, or one a value of a leaf."""
    values = listed(call, "nodes_values", "nodes_values_as_tensor")
    nodes = _as_long(call, values, _NODES)
    if not nodes:
        raise fault(call, "its trees have no nodes")
    others = _as_long(call, values, _OPTIONAL, optional=True)
    weights = listed(call, f"{prefix}_weights", f"{prefix}_weights_as_tensor")
    targets = _as_long(call, weights, [f"{prefix}_{name}" for name in ("treeids", "nodeids", "ids")])
    trees, ids, _, true_ids, false_ids, modes = (one.source for one in nodes)
    keys = list(zip(trees, ids, strict=True))
    places = {key: place for place, key in enumerate(keys)}
    children = [
        () if mode == "LEAF" else tuple(dict.fromkeys((places.get((tree, true), -1), places.get((tree, false), -1))))
        for tree, true, false, mode in zip(trees, true_ids, false_ids, modes, strict=True)
    ]
    values_of_leaves = Counter(zip(*(one.source for one in targets[:2]), strict=True))
    paths = paths_of(children, [values_of_leaves[key] for key in keys]) if len(places) == len(keys) else None
    asked = sum(map(bool, children))
    held = [values._replace(length=asked).held("thresholds")] if asked else []
    base = listed(call, "base_values", "base_values_as_tensor")
    held += [one.held(operand) for one, operand in ((weights, "leaves"), (base, "base")) if one.length]
    return _sizes(paths), [*held, *_structure([*nodes, *others, *targets])]


def _classifier(call: Foreign) -> Sequence[Step]:
    """Where two classes have one score the trees add it up alone."""
    attributes, held = _listed_trees(call, "class")
    labels = labels_of(call)
    if not labels.length:
        raise fault(call, "its classes have no labels")
    both = labels.length == 2 and len(set(call.get("class_ids", ()))) == 1 and _bases(held) < 2
    chain = Chain(call, call.operand(0))
    chain.then("tree_ensemble", {**attributes, "targets": 1 if both else labels.length}, held)
    chain.scores(one_of(call, "post_transform", "NONE", TRANSFORMS), 1, both=both)
    return chain.then("label", {}, [labels.held("labels")]).into(0).steps


def _bases(held: Sequence[Held]) -> int:
    return sum(one.kind.elements for one in held if one.operand == "base")


def _regressor(call: Foreign) -> Sequence[Step]:
    attributes, held = _listed_trees(call, "target")
    aggregate = one_of(call, "aggregate_function", "SUM", _AGGREGATES)
    given = {**attributes, "targets": call.get("n_targets", 0), "aggregate": aggregate}
    chain = Chain(call, call.operand(0)).then("tree_ensemble", given, held)
    return chain.scores(one_of(call, "post_transform", "NONE", TRANSFORMS), 0).steps


def _rooted(call: Foreign) -> Sequence[Step]:
    """TreeEnsemble: nodes and leaves are lists of their own, and every tree has a root."""
    splits, weights = listed(call, "nodes_splits"), listed(call, "leaf_weights")
    nodes = _as_long(call, splits, _ROOTED)
    if not nodes:
        raise fault(call, "its trees have no nodes")
    others = _as_long(call, splits, _OPTIONAL, optional=True)
    targets = _as_long(call, weights, ["leaf_targetids"])
    count = splits.length
    _, true_ids, true_leaves, false_ids, false_leaves, _ = (one.source for one in nodes)
    children: list[tuple[int, ...]] = [
        tuple({(count if is_leaf else 0) + one: None for one, is_leaf in ((true, true_leaf), (false, false_leaf))})
        for true, true_leaf, false, false_leaf in zip(true_ids, true_leaves, false_ids, false_leaves, strict=True)
    ]
    members = listed(call, "membership_values")
    children += [()] * weights.length
    # How long a set is that a node asks for cannot be told: the sets stand in a payload that is not read.
    paths = None if members.length else paths_of(children, [0] * count + [1] * weights.length)
    held = [
        one.held(operand)
        for one, operand in ((splits, "thresholds"), (members, "members"), (weights, "leaves"))
        if one.length
    ]
    attributes: dict[str, Attribute] = {
        **_sizes(paths),
        "targets": call.get("n_targets", 0),
        "aggregate": one_of(call, "aggregate_function", 1, _NUMBERED_AGGREGATES),
        "dtype": call.services.dtype_name(call.operand(0)),
    }
    structure = _structure([*nodes, *others, *targets, listed(call, "tree_roots")])
    chain = Chain(call, call.operand(0)).then("tree_ensemble", attributes, [*held, *structure])
    return chain.scores(one_of(call, "post_transform", 0, _NUMBERED_TRANSFORMS), 0).steps


FOREST_RULES: Final[dict[str, Rule]] = {
    "TreeEnsembleClassifier": _classifier,
    "TreeEnsembleRegressor": _regressor,
    "TreeEnsemble": _rooted,
}
