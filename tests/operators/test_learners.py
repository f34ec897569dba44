"""Learners that are no neural networks, executed: support vector machines, trees, scores and labels, encoded features."""

from __future__ import annotations

import bisect
import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, least_of, macs_of, shape_of, typed, work_of
from weighbridge.errors import GraphError
from weighbridge.frontends.onnx_trees import paths_of
from weighbridge.operators.table import OPERATORS

SIZES = st.integers(1, 4)


@given(SIZES, SIZES, SIZES)
def test_radial_kernel(rows, vectors, features):
    t, x, v = Tally(), np.ones((rows, features)), np.full((vectors, features), 0.5)
    values = np.zeros((rows, vectors))
    for i, j in np.ndindex(*values.shape):
        differences = [t.sub(x[i, k], v[j, k]) for k in range(features)]
        squares = [t.mul(difference, difference) for difference in differences]
        distance = squares[0]
        for square in squares[1:]:
            distance = t.add(distance, square)
        values[i, j] = t.special(math.exp, t.mul(-0.5, distance))
    found = call("radial_kernel", {}, x=x.shape, vectors=v.shape)
    assert shape_of(found) == values.shape
    assert work_of("radial_kernel", found) == t.work
    assert macs_of("radial_kernel", found) == 0
    with pytest.raises(GraphError, match="support vectors of shape"):
        call("radial_kernel", {}, x=x.shape, vectors=(vectors, features + 1))


@given(SIZES, st.lists(SIZES, min_size=2, max_size=4), st.booleans())
def test_decisions_between_pairs_and_the_vote(rows, sizes, biased):
    """As libsvm decides: for two classes the vectors of both, each with its coefficient against the other class."""
    t, classes = Tally(), len(sizes)
    starts = np.cumsum([0, *sizes])
    coefficients, kernel = np.ones((classes - 1, sum(sizes))), np.ones((rows, sum(sizes)))
    pairs, winners = [], []
    for row in range(rows):
        decisions, votes = [], [0] * classes
        for one in range(classes):
            for other in range(one + 1, classes):
                total = 0.0
                for position in range(starts[one], starts[one + 1]):
                    total = t.mac(total, kernel[row, position], coefficients[other - 1, position])
                for position in range(starts[other], starts[other + 1]):
                    total = t.mac(total, kernel[row, position], coefficients[one, position])
                decisions.append(t.add(total, 0.5) if biased else total)
        position = 0
        for one in range(classes):
            for other in range(one + 1, classes):
                winner = t.select(decisions[position] > 0, one, other)
                votes[winner] = t.add(votes[winner], 1)
                position += 1
        best = votes[0]
        for count in votes[1:]:
            best = t.maximum(best, count)
        winners.append(votes.index(best))
        pairs.append(decisions)
    bias = {"b": (len(pairs[0]),)} if biased else {}
    found = call("pair_scores", {}, x=kernel.shape, w=coefficients.shape, **bias)
    assert shape_of(found) == np.shape(pairs)
    assert macs_of("pair_scores", found) == t.macs
    vote = call("vote", {"classes": classes}, x=shape_of(found), labels=typed((classes,), "string"))
    assert vote.outputs == (typed((rows,), "string"),)
    assert work_of("pair_scores", found).plus(work_of("vote", vote)) == t.work


@given(SIZES, st.integers(1, 5))
def test_label(rows, classes):
    t, scores = Tally(), np.ones((rows, classes))
    for row in scores:
        best = row[0]
        for score in row[1:]:
            best = t.maximum(best, score)
        if classes == 1:
            t.select(best > 0, 1, 0)
    found = call("label", {}, x=scores.shape)
    assert found.outputs == (typed((rows,), "int64"),)
    assert work_of("label", found) == t.work
    assert call("label", {}, x=scores.shape, labels=typed((classes,), "string")).outputs == (typed((rows,), "string"),)


@given(SIZES, SIZES)
def test_the_score_of_one_class_becomes_those_of_both(rows, columns):
    t = Tally()
    for _ in range(rows):
        t.sub(1, 0.25)
    found = call("both_scores", {}, x=(rows, 1))
    assert (shape_of(found), work_of("both_scores", found)) == ((rows, 2), t.work)
    with pytest.raises(GraphError, match="decides between two"):
        call("both_scores", {}, x=(rows, columns + 1))


@given(SIZES, SIZES)
def test_softmax_zero(rows, columns):
    """The largest value and the sum start from nothing, as in the softmax of the table."""
    t = Tally()
    for _ in range(rows):
        largest, total, values = 0.0, 0.0, []
        for value in [0.5] * columns:
            largest = t.maximum(largest, value)
        for value in [0.5] * columns:
            power = t.special(math.exp, t.sub(value, largest))
            values.append(t.select(value != 0, power, value))
            total = t.add(total, values[-1])
        for value in values:
            t.div(value, total)
    assert work_of("softmax_zero", call("softmax_zero", {}, x=(rows, columns))) == t.work


@given(SIZES, SIZES)
def test_scaled_and_filled_features(rows, columns):
    t, x = Tally(), np.ones((rows, columns))
    for value in x.ravel():
        t.mul(t.sub(value, 0.5), 2.0)
    found = call("standardise", {}, x=typed(x.shape, "int64"), offset=(columns,), scale=(1,))
    assert found.outputs == (typed(x.shape),)
    assert work_of("standardise", found) == t.work
    t = Tally()
    for value in x.ravel():
        t.select(value != 0.5, value, 1.0)
    found = call("impute", {}, x=x.shape, values=(1,))
    assert (found.outputs, work_of("impute", found)) == ((typed(x.shape),), t.work)


class Compared:
    """A key that counts the comparisons made with it."""

    def __init__(self, value, tally):
        self.value, self.tally = value, tally

    def __lt__(self, other):
        self.tally.compares += 1
        return self.value < other.value


@given(st.integers(1, 20), st.integers(0, 25))
def test_a_table_is_searched_by_halving(size, value):
    t = Tally()
    keys = [Compared(key, t) for key in range(size)]
    bisect.bisect_left(keys, Compared(value, t))
    found = call("lookup", {}, x=typed((1,), "int64"), keys=typed((size,), "int64"), values=typed((size,), "string"))
    assert found.outputs == (typed((1,), "string"),)
    assert t.compares <= work_of("lookup", found).compare == size.bit_length()
    text = call("one_hot_categories", {}, x=typed((3, 2), "string"), keys=typed((size,), "string"))
    assert text.outputs == (typed((3, 2, size)),)
    assert work_of("one_hot_categories", text) == Tally().work


def grown(random, depth):
    """A random tree: a value list for a leaf, or (feature, threshold, below, above)."""
    if not depth or random.random() < 0.25:
        return [random.random() for _ in range(random.randint(1, 3))]
    return (random.randrange(3), random.random(), grown(random, depth - 1), grown(random, depth - 1))


def flat(tree, nodes, terms):
    """The tree's nodes as lists of children, and how many values each leaf has."""
    place = len(nodes)
    nodes.append(())
    terms.append(len(tree) if isinstance(tree, list) else 0)
    if isinstance(tree, tuple):
        nodes[place] = (flat(tree[2], nodes, terms), flat(tree[3], nodes, terms))
    return place


def paths(tree, depth=0):
    """Questions and values of every way through."""
    if isinstance(tree, list):
        return [(depth, len(tree))]
    return paths(tree[2], depth + 1) + paths(tree[3], depth + 1)


@pytest.mark.parametrize("seed", range(10))
def test_no_row_takes_less_than_the_shortest_paths_or_more_than_the_longest(seed):
    random = Random(seed)
    trees = [grown(random, 4) for _ in range(3)]
    nodes, terms = [], []
    for tree in trees:
        flat(tree, nodes, terms)
    found = paths_of(nodes, terms)
    ways = [list(zip(*paths(tree), strict=True)) for tree in trees]
    assert found.questions == (sum(min(depths) for depths, _ in ways), sum(max(depths) for depths, _ in ways))
    assert found.values == (sum(min(sizes) for _, sizes in ways), sum(max(sizes) for _, sizes in ways))
    ensemble = call(
        "tree_ensemble",
        {"targets": 3, "comparisons": found.questions, "terms": found.values},
        x=(1, 3),
        leaves=(sum(terms),),
    )
    least = least_of("tree_ensemble", ensemble)
    stated = work_of("tree_ensemble", ensemble)
    assert (stated is None) == (found.questions[0] < found.questions[1] or found.values[0] < found.values[1])
    for _ in range(200):
        t, row, scores = Tally(), [random.random() for _ in range(3)], [0.0] * 3
        for tree in trees:
            place = tree
            while isinstance(place, tuple):
                place = t.select(row[place[0]] <= place[1], place[2], place[3])
            for target, value in enumerate(place):
                scores[target] = t.add(scores[target], value)
        assert least.compare <= t.compares <= found.questions[1]
        assert least.add <= t.adds <= found.values[1]
        assert stated in (None, t.work)


@pytest.mark.parametrize(
    "children",
    [
        [(1, 2), (0,), ()],  # a ring
        [(1, 1), (2,), (1,)],  # a ring below a root
        [(1, 3), ()],  # a child that does not exist
        [(1, -1), ()],
        [(2, 3), (2, 3), (3,), ()],  # a node of two parents
    ],
)
def test_what_is_no_tree_has_no_paths(children):
    assert paths_of(children, [1] * len(children)) is None


def test_leaves_may_be_shared():
    assert paths_of([(1, 2), (2, 3), (), ()], [0, 0, 1, 2]) == ((1, 2), (1, 2))


def test_very_deep_trees_are_walked_without_recursion():
    depth = 50_000
    children = [(place + 1,) for place in range(depth)] + [()]
    assert paths_of(children, [0] * depth + [1]) == ((depth, depth), (1, 1))


def test_trees_read_at_least_what_the_shortest_paths_visit():
    traffic = OPERATORS["tree_ensemble"].traffic
    attributes = {"targets": 1, "comparisons": (3, 7), "terms": (1, 2)}
    operands = {"leaves": (1000,), "thresholds": (999,), "structure": typed((999,), "int64")}
    found = call("tree_ensemble", attributes, x=(5, 100), **operands)
    # A value of each of five rows; three thresholds and a leaf that all of them may share.
    assert traffic(found) == (4 * (5 + 3 + 1), 5 * 4)
    assert traffic(call("tree_ensemble", attributes, x=(0, 100), **operands)) == (0, 0)
    unknown = call("tree_ensemble", {"targets": 1}, x=(5, 100), **operands)
    assert traffic(unknown) == (None, 5 * 4)
    assert work_of("tree_ensemble", unknown) is None
    assert least_of("tree_ensemble", unknown) == (0, 0, 0, 0, 0, 0)
    for wrong in ((7, 3), (-1, 2), (1, 2, 3), 3):
        with pytest.raises(GraphError, match="the least and the most"):
            work_of(
                "tree_ensemble", call("tree_ensemble", {**attributes, "comparisons": wrong}, x=(5, 100), **operands)
            )


@given(SIZES, SIZES)
def test_rows_divided_by_their_largest_value(rows, columns):
    t, x = Tally(), np.full((rows, columns), -0.5)
    for row in x:
        largest, sizes = 0.0, [t.select(value < 0, -value, value) for value in row]
        for size in sizes:
            largest = t.maximum(largest, size)
        for value in row:
            t.div(value, largest)
    found = call("lp_norm", {"p": "max", "dtype": "float32"}, x=typed(x.shape, "int64"))
    assert found.outputs == (typed(x.shape),)
    assert work_of("lp_norm", found) == t.work
