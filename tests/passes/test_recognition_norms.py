"""A layer norm or RMS norm that is written out is one operator."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.passes.running import EPSILON
from tests.passes.written_out import Written, exposed, in_a_loop, recognised
from weighbridge.graph import Graph
from weighbridge.passes.recognition import recognise_functions

SHAPE = (2, 3, 4)


class Norm(Written):
    """Spellings of the two; whatever commutes is in an order that is drawn."""

    def __init__(self, draw: st.DrawFn, name: str) -> None:
        super().__init__()
        self.draw = draw
        self.name = name
        self.axes = draw(st.sampled_from([(-1,), (2,), (-2, -1), (1, 2), (2, 1)]))
        tail = SHAPE[-len(self.axes) :]
        self.x = self.input("x", SHAPE)
        self.scale = self.stored("scale", tail) if self.choose() else ""
        self.bias = self.stored("bias", tail) if self.scale and name == "layer_norm" and self.choose() else ""
        self.affine = [one for one in (self.scale, self.bias) if one]

    def choose(self) -> bool:
        return self.draw(st.booleans())

    def both(self, operator: str, a: str, b: str) -> str:
        return self.add(operator, a, b, swapped=self.choose())

    def mean(self, x: str) -> str:
        return self.add("reduce_mean", x, axes=self.axes)

    def square(self, x: str) -> str:
        how = self.draw(st.sampled_from(["mul", "pow", "square"]))
        return self.add("square", x) if how == "square" else self.add(how, x, x if how == "mul" else self.number(2))

    def divided(self, x: str, mean_square: str) -> str:
        """``x`` by the root, or times its inverse, which may meet the scale first."""
        total = self.both("add", mean_square, self.number(EPSILON))
        how = self.draw(st.integers(0, 3))
        root = self.add("rsqrt" if how == 0 else "sqrt", total)
        if how == 3:
            return self.add("div", x, root)
        inverse = (
            root if how == 0 else self.add("reciprocal", root) if how == 1 else self.add("div", self.number(1), root)
        )
        if self.scale and self.choose():
            inverse, self.scale = self.both("mul", inverse, self.scale), ""
        return self.both("mul", x, inverse)

    def written(self) -> Graph:
        centred = self.x
        if self.name == "layer_norm":
            mean = self.mean(self.x)
            centred = self.add("sub", self.x, mean)
        square = self.mean(self.square(centred))
        if self.name == "layer_norm" and self.choose():
            centred = self.add("sub", self.x, mean)
        y = self.divided(centred, square)
        y = self.both("mul", y, self.scale) if self.scale else y
        return self.graph(self.both("add", y, self.bias) if self.bias else y)


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
@given(data=st.data())
def test_every_spelling_is_the_operator(name: str, data: st.DataObject) -> None:
    norm = Norm(data.draw, name)
    graph = norm.written()
    (node,) = recognised(graph, norm.values).nodes
    assert (node.operator, node.attributes["axis"]) == (name, -len(norm.axes))
    assert node.operands == tuple(zip(("x", "scale", "bias"), ["x", *norm.affine], strict=False))
    assert (node.name, node.scope, node.outputs) == (graph.nodes[-1].name, "block", graph.outputs)


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
@given(data=st.data())
def test_with_another_reader_inside_it_stays(name: str, data: st.DataObject) -> None:
    norm = Norm(data.draw, name)
    graph = norm.written()
    core = graph.nodes[: -len(norm.affine) or None]
    inner = data.draw(st.sampled_from(core[:-1])).outputs[0]
    read = exposed(graph, inner, to_a_node=data.draw(st.booleans()))
    assert recognise_functions(read) is read


def test_what_is_read_before_scale_and_bias_is_a_norm_without_them() -> None:
    one = Written()
    x = one.input("x", SHAPE)
    y = normalised(one, x)
    graph = one.graph(y, one.add("mul", y, one.stored("scale", (4,))))
    assert [node.operator for node in recognised(graph, one.values).nodes] == ["rms_norm", "mul"]


def normalised(one: Written, x: str, numerator: str = "") -> str:
    square = one.add("reduce_mean", one.add("mul", x, x), axes=(-1,))
    inverse = one.add("rsqrt", one.add("add", square, one.number(EPSILON)))
    return one.add("mul", numerator or x, inverse)


@pytest.mark.parametrize("scaled", ["wide", "narrow", ""])
@pytest.mark.parametrize("casts", [1, 2])
def test_a_norm_in_a_wider_type_takes_x_as_it_comes_if_the_result_goes_back(casts: int, scaled: str) -> None:
    one = Written()
    x, scale = one.input("x", SHAPE, "float16"), one.stored("scale", (4,))
    wide = one.add("cast", x, dtype="float32")
    y = normalised(one, wide, one.add("cast", x, dtype="float32") if casts == 2 else "")
    y = one.add("mul", y, scale) if scaled == "wide" else y
    y = one.add("cast", y, dtype="float16")
    y = one.add("mul", y, scale) if scaled == "narrow" else y
    (node,) = recognised(one.graph(y), one.values).nodes
    assert node.operands == (("x", "x"), *([("scale", "scale")] if scaled else []))


def test_a_layer_norm_may_take_off_the_mean_before_it_goes_to_a_wider_type() -> None:
    one = Written()
    x, scale = one.input("x", SHAPE, "float16"), one.stored("scale", (4,))
    centred = one.add("cast", one.add("sub", x, one.add("reduce_mean", x, axes=(-1,))), dtype="float64")
    y = one.add("cast", normalised(one, centred), dtype="float16")
    (node,) = recognised(one.graph(one.add("mul", y, scale)), one.values).nodes
    assert (node.operator, node.operands) == ("layer_norm", (("x", "x"), ("scale", "scale")))


def test_a_norm_in_a_wider_type_that_does_not_go_back_takes_what_was_cast() -> None:
    one = Written()
    wide = one.add("cast", one.input("x", SHAPE, "float16"), dtype="float32")
    whole = recognised(one.graph(normalised(one, wide)), one.values)
    assert [(node.operator, node.inputs) for node in whole.nodes] == [("cast", ("x",)), ("rms_norm", (wide,))]


@pytest.mark.parametrize("swapped", [False, True])
def test_tensorflow_adds_the_bias_less_the_scaled_mean(swapped: bool) -> None:
    one = Written()
    x, scale, bias = one.input("x", SHAPE), one.stored("scale", (4,)), one.stored("bias", (4,))
    mean = one.add("reduce_mean", x, axes=(2,))
    centred = one.add("sub", x, mean)
    square = one.add("reduce_mean", one.add("mul", centred, centred), axes=(2,))
    root = one.add("sqrt", one.add("add", square, one.number(EPSILON)))
    factor = one.add("mul", one.add("reciprocal", root), scale)
    products = [one.add("mul", x, factor), one.add("mul", mean, factor)]
    y = one.add("add", products[0], one.add("sub", bias, products[1]), swapped=swapped)
    (node,) = recognised(one.graph(y), one.values).nodes
    assert (node.operator, node.operands) == ("layer_norm", (("x", "x"), ("scale", "scale"), ("bias", "bias")))


def written(**changes: object) -> Graph:
    """(x - mean) / sqrt(mean((x - mean)^2) + c) scale with one thing changed."""
    one = Written()
    x, other = one.input("x", (3, 4, 4)), one.input("other", (3, 4, 4))
    axes = changes.get("axes", (2,))
    mean = one.add("reduce_mean", changes.get("mean_of") or x, axes=changes.get("mean_axes", axes))
    centred = one.add("sub", x, mean, swapped="mirrored" in changes)
    square = one.add("mul", centred, other if "product" in changes else centred)
    numbers = {"running": one.input("c", ()), "vector": one.stored("vector", (4, 1))}
    total = one.add("add", one.add("reduce_mean", square, axes=axes), numbers.get(changes.get("c")) or one.number(1e-5))
    root = one.add("sqrt", total)
    y = one.add(
        "div", {"root": other, "numerator": other}.get(changes.get("of"), centred), root, swapped="upside" in changes
    )
    return one.graph(y)


@pytest.mark.parametrize(
    "graph",
    [
        written(axes=(1,)),
        written(axes=(0, 2)),
        written(product=True),
        written(c="running"),
        written(c="vector"),
        written(of="numerator"),
        written(upside=True),
    ],
    ids=[
        "along another axis",
        "along the first axis, too",
        "the mean of a product",
        "a constant that is computed",
        "a vector in its place",
        "of another tensor",
        "the root by the difference",
    ],
)
def test_what_is_no_norm_stays(graph: Graph) -> None:
    assert recognise_functions(graph) is graph


@pytest.mark.parametrize("changes", [{"mean_of": "other"}, {"mean_axes": (1, 2)}, {"mirrored": True}])
def test_with_another_mean_it_is_the_rms_norm_of_the_difference(changes: dict[str, object]) -> None:
    assert [node.operator for node in recognise_functions(written(**changes)).nodes] == [
        "reduce_mean",
        "sub",
        "rms_norm",
    ]


def test_a_norm_in_a_narrower_type_takes_what_was_cast() -> None:
    """What is lost on the way to it is no part of the norm."""
    one = Written()
    narrow = one.add("cast", one.input("x", SHAPE), dtype="float16")
    y = one.add("cast", normalised(one, narrow), dtype="float32")
    whole = recognised(one.graph(y), one.values)
    assert [(node.operator, node.inputs[0]) for node in whole.nodes[:2]] == [("cast", "x"), ("rms_norm", narrow)]


def test_a_number_that_multiplies_the_inverse_is_no_scale() -> None:
    one = Written()
    x = one.input("x", SHAPE)
    square = one.add("reduce_mean", one.add("mul", x, x), axes=(-1,))
    inverse = one.add("rsqrt", one.add("add", square, one.number(EPSILON)))
    graph = one.graph(one.add("mul", x, one.add("mul", inverse, one.number(2))))
    assert recognise_functions(graph) is graph


def test_a_scale_that_is_computed_is_no_part_of_it() -> None:
    one = Written()
    y = one.add("mul", normalised(one, one.input("x", SHAPE)), one.input("scale", (4,)))
    assert [node.operator for node in recognised(one.graph(y), one.values).nodes] == ["rms_norm", "mul"]


def test_a_scale_for_every_row_is_no_part_of_it() -> None:
    one = Written()
    y = one.add("mul", normalised(one, one.input("x", SHAPE)), one.stored("scale", (3, 1)))
    assert [node.operator for node in recognised(one.graph(y), one.values).nodes] == ["rms_norm", "mul"]


def test_it_is_found_in_a_body() -> None:
    one = Written()
    graph = one.graph(normalised(one, one.input("x", SHAPE)))
    (loop,) = recognise_functions(in_a_loop(graph)).nodes
    assert [node.operator for node in loop.bodies[0].graph.nodes] == ["rms_norm"]
