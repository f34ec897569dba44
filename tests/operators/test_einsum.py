"""Einstein sums against their execution: loops over every label, counting the products."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, everywhere, integers, loops_of, macs_of, shape_of, work_of
from weighbridge.errors import GraphError
from weighbridge.operators.record import Work

LETTERS = "abcD"


@st.composite
def equations(draw):
    """(terms, result or None, shapes): terms of letters, repeated ones among them, and perhaps an ellipsis in some."""
    sizes = {letter: draw(st.integers(1, 3)) for letter in LETTERS}
    dots = draw(st.lists(st.integers(1, 3), max_size=2))
    terms, shapes, seen = [], [], []
    for _ in range(draw(st.integers(1, 4))):
        letters = draw(st.lists(st.sampled_from(LETTERS), max_size=3))
        shape = [sizes[letter] for letter in letters]
        term = "".join(letters)
        if draw(st.booleans()):
            at = draw(st.integers(0, len(letters)))
            covered = dots[draw(st.integers(0, len(dots))) :]
            covered = [1 if draw(st.booleans()) and draw(st.booleans()) else size for size in covered]
            term, shape = term[:at] + "..." + term[at:], shape[:at] + covered + shape[at:]
        seen += letters
        terms.append(term)
        shapes.append(tuple(shape))
    result = None
    if draw(st.booleans()):
        kept = draw(st.permutations(sorted(set(seen))))
        result = "".join(kept[: draw(st.integers(0, len(kept)))])
        if any("..." in term for term in terms):
            at = draw(st.integers(0, len(result)))
            result = result[:at] + "..." + result[at:]
    return terms, result, shapes


def spelled(term, rank):
    """The term with its ellipsis written out: one digit an axis, counted from the end."""
    axes = "".join(str(axis) for axis in reversed(range(rank - len(term.replace("...", "")))))
    return term.replace("...", axes)


def contract(first, second, kept, tally):
    """Two (labels, array) pairs into one over ``kept``, by a loop over all labels of both."""
    labels = "".join(dict.fromkeys(first[0] + second[0]))
    sizes = {}
    for term, array in (first, second):
        for label, size in zip(term, np.shape(array), strict=True):
            sizes[label] = max(size, sizes.get(label, 1))
    result = np.zeros([sizes[label] for label in kept], dtype=object)
    for index in everywhere([sizes[label] for label in labels]):
        at = dict(zip(labels, index, strict=True))
        factors = [
            array[tuple(at[label] if size > 1 else 0 for label, size in zip(term, np.shape(array), strict=True))]
            for term, array in (first, second)
        ]
        place = tuple(at[label] for label in kept)
        result[place] = tally.mac(result[place], *factors)
    return kept, result


def execute(terms, output, arrays, tally):
    """The pairs from the left, each keeping what the result or a later operand still needs."""
    current = (terms[0], arrays[0])
    for index in range(1, len(terms)):
        later = set("".join(terms[index + 1 :])) | set(output)
        kept = "".join(label for label in dict.fromkeys(current[0] + terms[index]) if label in later)
        current = contract(current, (terms[index], arrays[index]), kept, tally)
    return current


def summed(term, output, array, tally):
    """One operand: every value that the term can reach goes into its place of the result."""
    sizes = dict(zip(term, array.shape, strict=True))
    result = {}
    for index in everywhere(sizes.values()):
        at = dict(zip(sizes, index, strict=True))
        place = tuple(at[label] for label in output)
        value = array[tuple(at[label] for label in term)]
        result[place] = tally.add(result[place], value) if place in result else value
    return result


@settings(deadline=None, max_examples=150)
@given(equations())
def test_an_einstein_sum_counts_what_its_execution_does(equation):
    terms, result, shapes = equation
    text = ",".join(terms) + ("" if result is None else f"->{result}")
    arrays = [integers(shape, start) for start, shape in enumerate(shapes)]
    found = call("einsum", {"equation": text}, xs=list(shapes))
    expected = np.einsum(text, *arrays)
    assert shape_of(found) == np.shape(expected)

    tally = Tally()
    written = [spelled(term, len(shape)) for term, shape in zip(terms, shapes, strict=True)]
    digits = sorted({c for term in written for c in term if c.isdigit()}, reverse=True)
    if result is None:
        letters = "".join(terms).replace("...", "")
        output = "".join(digits) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    else:
        output = result.replace("...", "".join(digits))
    if len(terms) == 1:
        placed = summed(written[0], output, arrays[0], tally)
        assert all(np.asarray(expected)[place] == value for place, value in placed.items())
        assert work_of("einsum", found) == tally.work
    else:
        labels, value = execute(written, output, arrays, tally)
        assert np.array_equal(np.transpose(value, [labels.index(c) for c in output]), expected)
    assert macs_of("einsum", found) == tally.macs
    assert len(loops_of("einsum", found)) == len(list(pairwise(terms)))


def test_loops_tell_rows_columns_and_inner_sizes():
    (loops,) = loops_of("einsum", call("einsum", {"equation": "bhid,bhjd->bhij"}, xs=[(2, 4, 10, 16), (2, 4, 11, 16)]))
    assert (loops.groups, loops.m, loops.n, loops.k) == (8, 10, 11, 16)


@pytest.mark.parametrize(("equation", "shapes"), [("ij,jk->ik", [(2, 3), (3, 4)]), ("i,i,i->", [(3,)] * 3)])
def test_a_contraction_is_its_multiply_accumulates_and_nothing_else(equation, shapes):
    assert work_of("einsum", call("einsum", {"equation": equation}, xs=shapes)) == Work()


def test_a_label_that_a_later_operand_has_is_kept_until_then():
    first, second = loops_of("einsum", call("einsum", {"equation": "ij,jk,jl->il"}, xs=[(2, 3), (3, 5), (3, 7)]))
    assert (first.label, first.groups, first.m, first.n, first.k) == ("step 1", 3, 2, 1, 5)
    assert (second.label, second.groups, second.m, second.n, second.k) == ("step 2", 1, 2, 7, 3)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk", [(2, 3)]),
        ("ij", [(2, 3), (3, 4)]),
        ("ij,jk->il", [(2, 3), (3, 4)]),
        ("ij,jk->ii", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (4, 5)]),
        ("ii", [(2, 3)]),
        ("i1", [(2, 3)]),
        ("i......", [(2, 3)]),
        ("i->i->i", [(2,)]),
        ("ijk", [(2, 3)]),
        ("i", [(2, 3)]),
        ("", []),
        (7, [(2, 3)]),
        ("i.j", [(2, 3)]),
    ],
)
def test_a_contradiction_is_an_error(equation, shapes):
    with pytest.raises(GraphError):
        call("einsum", {"equation": equation}, xs=shapes)
