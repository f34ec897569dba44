"""Sizes that a file leaves open: asked for, taken from the user, checked against each other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.onnx.build import graph, load, model, node, shapes, tensor, value, weight
from weighbridge.errors import BadModel, BadSpec, NeedsShape
from weighbridge.graph import Shape


def _adding(*inputs: list[int | str | None] | None, **sizes: Any) -> list[Shape | None]:
    """The shapes of the inputs a, b ... of a model that passes each of them on."""
    names = "abcd"[: len(inputs)]
    made = graph(
        [node("Identity", [name], [f"{name}_out"]) for name in names],
        [value(name, shape) for name, shape in zip(names, inputs, strict=True)],
        [value(f"{name}_out", None) for name in names],
    )
    return shapes(load(model(made), **sizes))


def test_named_dimensions_hold_everywhere() -> None:
    assert _adding(["n", "s"], ["s", 4], dims={"n": 2, "s": 7}) == [(2, 7), (7, 4)]


def test_batch_is_dimension_0_wherever_it_is_open() -> None:
    assert _adding(["n", 3], [None, 5], [7, 2], batch=4) == [(4, 3), (4, 5), (7, 2)]
    assert _adding(["n", "n"], batch=4) == [(4, 4)]
    assert _adding(["n", 3], batch=4, dims={"n": 6}) == [(6, 3)]


def test_batch_replaces_a_fixed_one_where_nothing_is_open() -> None:
    assert _adding([1, 3], [1, 5], [7, 2], batch=4) == [(4, 3), (4, 5), (7, 2)]
    assert _adding([3], [1, 1], batch=3) == [(3,), (1, 1)]


def test_whole_shapes_may_be_given_and_fixed_sizes_replaced() -> None:
    assert _adding([None, None], [1, 3], inputs={"a": (5, 6), "b": (2, 9)}) == [(5, 6), (2, 9)]
    assert _adding(None, inputs={"a": (5, 6, 7)}) == [(5, 6, 7)]
    assert _adding(["n", "s"], ["s", "n"], inputs={"a": (5, 6)}) == [(5, 6), (6, 5)]


def test_formulas_follow_from_what_they_are_made_of() -> None:
    assert _adding(["batch", "past"], ["batch", "past + 1"], dims={"batch": 2, "past": 8}) == [(2, 8), (2, 9)]
    # What they are made of need not be a dimension itself.
    assert _adding([3, "past + new"], [3, "new"], dims={"past": 8, "new": 2}) == [(3, 10), (3, 2)]
    with pytest.raises(BadSpec, match=r"called 'last'; its named dimensions are past \+ 1, past$"):
        _adding([3, "past + 1"], [1, "past + 1"], dims={"last": 8})
    with pytest.raises(NeedsShape, match=r"give it: --dim new=128 --dim past=128$"):
        _adding([3, "past + new"])


@pytest.mark.parametrize(
    ("inputs", "sizes", "message"),
    [
        ([["N", 3, 8, 8]], {}, r"dimension 0 \(N\) of the input 'a' \(N x 3 x 8 x 8\) is open; give it: --batch 4$"),
        ([["bytes"]], {}, r"dimension 0 \(bytes\) of the input 'a' \(bytes\) is open; give it: --dim bytes=128$"),
        ([["batch_size"]], {}, r"give it: --batch 4$"),
        ([["n"]], {}, r"give it: --batch 4$"),
        ([[2, "seq"]], {}, r"dimension 1 \(seq\) of the input 'a' \(2 x seq\) is open; give it: --dim seq=128$"),
        ([[2, None]], {}, r"dimension 1 of the input 'a' \(2 x \?\) is open; give it: --input a=2x128$"),
        ([None], {}, r"the input 'a' has no shape; give it: --input a=1x3x224x224$"),
        ([["n", "s"], ["n", "s + 1"]], {}, r"give it: --batch 4 --dim s=128$"),
        ([["n", "s"], [2, "n", "s"]], {}, r"give it: --batch 4 --dim s=128$"),
        ([["n", "s"]], {"batch": 2}, r"dimension 1 \(s\).*give it: --dim s=128$"),
    ],
)
def test_what_is_open_is_a_question(inputs: list[Any], sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(NeedsShape, match=message):
        _adding(*inputs, **sizes)


@pytest.mark.parametrize(
    ("inputs", "sizes", "message"),
    [
        ([["n", 3]], {"dims": {"m": 4}}, "no input has a dimension called 'm'; its named dimensions are n$"),
        ([[2, 3]], {"dims": {"m": 4}}, "no input has a dimension called 'm'; it has no named dimensions$"),
        ([[2, 3], [1]], {"inputs": {"x": (4,)}}, "the model has no input 'x'; its inputs are a, b$"),
        ([["n", 3]], {"inputs": {"a": (4,)}}, "1 dimensions for the input 'a'; it is n x 3$"),
        ([["n", "n"]], {"inputs": {"a": (4, 5)}}, "the dimension 'n' of the input 'a' is both 4 and 5$"),
        (
            [["n", "m"]],
            {"inputs": {"a": (4, 5)}, "dims": {"m": 6}},
            "the dimension 'm' of the input 'a' is both 6 and 5$",
        ),
        ([["n", 3]], {"batch": 0}, "a size of 0 for batch"),
        ([["n", 3]], {"dims": {"n": -1}}, "a size of -1 for n"),
        ([["n", 3]], {"inputs": {"a": (1 << 50, 3)}}, "a size of 1125899906842624 for the input 'a'"),
        ([[]], {"batch": 2}, "no input has a dimension that could be the batch"),
    ],
)
def test_sizes_that_do_not_fit_the_model_are_refused(inputs: list[Any], sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadSpec, match=message):
        _adding(*inputs, **sizes)


def test_a_model_that_was_made_for_one_size_says_so() -> None:
    """Its first reshape has the batch of the export written into it."""
    made = graph(
        [node("Reshape", ["x", "s"], ["y"])], [value("x", [1, 8])], [value("y", None)], [tensor("s", [1, 2, 4])]
    )
    assert shapes(load(model(made))) == [(1, 2, 4)]
    with pytest.raises(
        BadModel, match="the file was made for other sizes: give those, or export it with open dimensions"
    ):
        load(model(made), batch=4)


# Types that the file states


def _odd(shape: list[int | str | None], **sizes: Any) -> Any:
    """An operator without a rule, whose result the file states as having this shape."""
    made = graph(
        [node("Odd", ["x"], ["h"], domain="elsewhere"), node("Relu", ["h"], ["y"])],
        [value("x", ["n", 3])],
        [value("y", None)],
        value_info=[value("h", shape)],
    )
    return load(model(made), **sizes)


def test_stated_types_serve_where_there_is_no_rule() -> None:
    assert shapes(_odd([5, 7], batch=2)) == [(5, 7)]
    assert shapes(_odd(["n", 7], batch=2)) == [(2, 7)]
    assert shapes(_odd(["m", 7], batch=2)) == [None]


def test_stated_types_are_not_trusted_once_a_fixed_size_is_replaced() -> None:
    assert shapes(_odd([5, 7], inputs={"x": (2, 4)})) == [None]


def test_a_stated_shape_that_the_operators_contradict_is_noted() -> None:
    made = graph([node("Relu", ["x"], ["y"])], [value("x", [2, 3])], [value("y", [2, 4])])
    assert load(model(made)).notes == (
        "shapes that the file states and its operators contradict: y is 2x3, the file says 2 x 4",
    )
    assert load(model(made), inputs={"x": (5, 5)}).notes == ()


def test_stored_tensors_do_not_wait_for_sizes() -> None:
    made = graph(
        [node("Add", ["w", "v"], ["y"])],
        [value("w", ["n"])],
        [value("y", None)],
        [weight("w", 3), tensor("v", 1.0, "float32")],
    )
    assert shapes(load(model(made))) == [(3,)]
