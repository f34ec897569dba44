"""Strided slices by all their masks against numpy, which takes the same slices of a real array."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tflite.single import operand, result, runs, single, stored
from weighbridge.errors import GraphError
from weighbridge.frontends.tflite_strided_slice import plan_of
from weighbridge.graph import UNKNOWN

BOUNDS = st.integers(-7, 7)
STEPS = st.sampled_from([-3, -2, -1, 1, 1, 1, 2, 3])
WORDS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


@st.composite
def slices(draw):
    """A shape, the entries and masks of a slice, and the same slice as numpy writes it."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    kinds = draw(st.lists(st.sampled_from(["range", "range", "new", "one", "ellipsis"]), min_size=1, max_size=6))
    masks = dict.fromkeys(WORDS, 0)
    index, begins, ends, strides, seen = [], [], [], [], False
    for place, kind in enumerate(kinds):
        if kind == "ellipsis" and seen:
            kind = "range"  # noqa: PLW2901
        begin, end, step = draw(BOUNDS), draw(BOUNDS), draw(STEPS)
        chosen = {word for word in WORDS if draw(st.integers(0, 3)) == 0}
        # Bits that a stronger one overrules may be set or not.
        chosen -= {"range": {"ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}}.get(kind, set())
        chosen -= {"one": {"ellipsis_mask", "new_axis_mask"}, "new": {"ellipsis_mask"}}.get(kind, set())
        chosen |= {"one": {"shrink_axis_mask"}, "new": {"new_axis_mask"}, "ellipsis": {"ellipsis_mask"}}.get(
            kind, set()
        )
        for word in chosen:
            masks[word] |= 1 << place
        seen |= kind == "ellipsis"
        first, last = (None if "begin_mask" in chosen else begin), (None if "end_mask" in chosen else end)
        index.append({"range": slice(first, last, step), "new": None, "one": begin, "ellipsis": ...}[kind])
        begins.append(begin)
        ends.append(end)
        strides.append(step)
    return shape, masks, (begins, ends, strides), tuple(index)


@settings(max_examples=300)
@given(slices())
def test_what_is_taken_is_what_numpy_takes(given_slice):
    shape, masks, (begins, ends, strides), index = given_slice
    x = np.arange(np.prod(shape)).reshape(shape)
    try:
        wanted = x[index]
    except IndexError:
        with pytest.raises(GraphError):
            plan_of(masks, shape, len(begins), begins, ends, strides)
        return
    plan = plan_of(masks, shape, len(begins), begins, ends, strides)
    assert plan.shape == wanted.shape
    assert x[np.ix_(*plan.taken)].reshape(plan.shape).tolist() == wanted.tolist()


@settings(max_examples=60)
@given(slices())
def test_the_rule_gives_that_shape(given_slice):
    shape, masks, entries, index = given_slice
    x = np.zeros(shape)
    operands = [operand("x", shape), *(stored(name, one) for name, one in zip("bes", entries, strict=True))]
    found = single("STRIDED_SLICE", operands, masks)
    try:
        wanted = x[index].shape
    except IndexError:
        assert [node.operator for node in found.nodes] == [UNKNOWN]
        return
    assert result(found) == (wanted, "float32")
    assert set(runs(found)) <= {"slice", "reshape"}


@given(st.integers(1, 6), st.integers(-8, 8), st.integers(0, 5), st.sampled_from([-2, -1, 1, 2, 3]))
def test_an_end_may_be_how_far_a_slice_goes(size, begin, reach, step):
    """Then it is known how many are taken wherever the slice begins; what lies beyond the axis is none of its values."""
    start = begin + size if begin < 0 else begin
    places = range(start, start + (reach if step > 0 else -reach), step)
    entries = stored("e", [reach if step > 0 else -reach]), stored("s", [step])
    moving = [operand("x", (size,)), operand("b", (1,), "INT32"), *entries]
    assert result(single("STRIDED_SLICE", moving, {"offset": True}))[0] == (len(places),)
    found = single("STRIDED_SLICE", [operand("x", (size,)), stored("b", [begin]), *entries], {"offset": True})
    if all(0 <= place < size for place in places):
        assert result(found)[0] == (len(places),)
    else:
        assert [node.operator for node in found.nodes] == [UNKNOWN]


def test_a_position_that_only_runs_tell_has_a_known_shape():
    """A single position is one wherever it is; a range is not known."""
    operands = [operand("x", (4, 5, 6)), operand("b", (2,), "INT32"), operand("e", (2,), "INT32"), stored("s", [1, 1])]
    found = single("STRIDED_SLICE", operands, {"shrink_axis_mask": 1, "begin_mask": 2, "end_mask": 2})
    assert result(found)[0] == (5, 6)
    assert runs(found) == ["slice", "reshape"]
    assert result(single("STRIDED_SLICE", operands, {"shrink_axis_mask": 1}))[0] is None


@pytest.mark.parametrize(
    ("masks", "entries", "message"),
    [
        ({}, ([0], [1], [0]), "stride of 0"),
        ({}, ([0] * 3, [1] * 3, [1] * 3), "3 axes of a tensor of 2"),
        ({"ellipsis_mask": 3}, ([0, 0], [1, 1], [1, 1]), "ellipses"),
        ({}, ([0, 0], [1], [1]), "2 entries"),
        ({}, ([0] * 40, [1] * 40, [1] * 40), "40 entries"),
    ],
)
def test_entries_that_do_not_fit_leave_the_operator_unknown(masks, entries, message):
    operands = [operand("x", (4, 5)), *(stored(name, one) for name, one in zip("bes", entries, strict=True))]
    (node,) = single("STRIDED_SLICE", operands, masks).nodes
    assert node.operator == UNKNOWN
    assert message in node.reason
