"""A GELU that is written out is one function, whatever the order of its sums and products."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.passes.written_out import Written, exposed, in_a_loop, recognised
from weighbridge.graph import Graph
from weighbridge.passes import deploy
from weighbridge.passes.recognition import recognise_functions

SHAPE = (2, 3, 4)
ROOT = math.sqrt(2 / math.pi)


class Gelu(Written):
    """Spellings of GELU; whatever commutes is in an order that is drawn."""

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__()
        self.draw = draw
        self.x = self.input("x", SHAPE)

    def times(self, a: str, b: str | float) -> str:
        return self._with("mul", a, b)

    def plus(self, a: str, b: str | float) -> str:
        return self._with("add", a, b)

    def _with(self, operator: str, a: str, b: str | float) -> str:
        other = b if isinstance(b, str) else self.number(b, self.draw(st.sampled_from([(), (1,), (1, 1)])))
        return self.add(operator, a, other, swapped=self.draw(st.booleans()))

    def scaled(self, x: str, factor: float) -> str:
        """A product with a number, or a division by its inverse."""
        return self.times(x, factor) if self.draw(st.booleans()) else self.add("div", x, self.number(1 / factor))

    def gated(self, value: str) -> str:
        """x / 2 (1 + value)."""
        order = self.draw(st.integers(0, 2))
        gate = self.plus(value, 1)
        if order == 0:
            return self.times(self.scaled(self.x, 0.5), gate)
        if order == 1:
            return self.times(self.x, self.scaled(gate, 0.5))
        return self.scaled(self.times(self.x, gate), 0.5)

    def cube(self) -> str:
        if self.draw(st.booleans()):
            return self.add("pow", self.x, self.number(3))
        return self.times(self.square(), self.x)

    def square(self) -> str:
        how = self.draw(st.sampled_from(["mul", "pow", "square"]))
        if how == "pow":
            return self.add("pow", self.x, self.number(2))
        return self.add("square", self.x) if how == "square" else self.add("mul", self.x, self.x)

    def cubic(self) -> str:
        how = self.draw(st.integers(0, 2))
        if how == 0:
            return self.scaled(self.plus(self.x, self.scaled(self.cube(), 0.044715)), ROOT)
        if how == 1:
            return self.times(self.x, self.plus(self.scaled(self.square(), 0.044715 * ROOT), ROOT))
        inner = self.plus(self.times(self.scaled(self.x, 0.044715), self.x), 1)
        return self.times(self.scaled(self.x, ROOT), inner)

    def written(self, form: str) -> Graph:
        if form == "none":
            y = self.gated(self.add("erf", self.scaled(self.x, math.sqrt(0.5))))
        elif form == "tanh":
            y = self.gated(self.add("tanh", self.cubic()))
        else:
            y = self.times(self.x, self.add("sigmoid", self.scaled(self.x, 1.702)))
        return self.graph(y)


@pytest.mark.parametrize("form", ["none", "tanh", "sigmoid"])
@given(data=st.data())
def test_every_spelling_is_the_function(form: str, data: st.DataObject) -> None:
    gelu = Gelu(data.draw)
    graph = gelu.written(form)
    whole = recognised(graph, gelu.values)
    (node,) = whole.nodes
    assert (node.operator, node.attributes, node.operands) == ("gelu", {"approximate": form}, (("x", "x"),))
    assert (node.name, node.scope, node.outputs) == (graph.nodes[-1].name, "block", graph.outputs)


@pytest.mark.parametrize("form", ["none", "tanh", "sigmoid"])
@given(data=st.data())
def test_with_another_reader_inside_it_stays(form: str, data: st.DataObject) -> None:
    graph = Gelu(data.draw).written(form)
    inner = data.draw(st.sampled_from(graph.nodes[:-1])).outputs[0]
    read = exposed(graph, inner, to_a_node=data.draw(st.booleans()))
    assert recognise_functions(read) is read


def written(*, factor: str = "number", gate: str = "add", outer: str = "x", power: int = 1, half: bool = True) -> Graph:
    """x / 2 (1 + erf(x c)) with one thing changed."""
    one = Written()
    x, other = one.input("x", SHAPE), one.input("other", SHAPE)
    vector = one.stored("vector", SHAPE[-1:])
    numbers = {"vector": vector, "running": one.input("s", ()), "deeper": one.number(0.7, (1, 1, 1, 1))}
    numbers["learned"] = one.stored("learned", ())
    scale = numbers.get(factor) or one.number(0.7)
    inside = one.add("pow", x, one.number(3)) if power == 3 else x
    value = one.add("erf", one.add("mul", inside, scale) if factor != "none" else inside)
    y = one.add("mul", {"x": x, "other": other}[outer], one.add(gate, value, one.number(1)))
    return one.graph(one.add("mul", y, one.number(0.5)) if half else y)


@pytest.mark.parametrize(
    "graph",
    [
        written(factor="vector"),
        written(factor="running"),
        written(factor="deeper"),
        written(factor="learned"),
        written(factor="none"),
        written(gate="sub"),
        written(gate="mul"),
        written(outer="other"),
        written(power=3),
        written(half=False),
    ],
    ids=[
        "the argument is scaled by a vector",
        "by a number that is computed",
        "by a number of more dimensions",
        "by a number that is learned",
        "not scaled",
        "a difference",
        "a product",
        "of another tensor",
        "of a cube",
        "without the half",
    ],
)
def test_what_is_no_gelu_stays(graph: Graph) -> None:
    assert recognise_functions(graph) is graph


def test_it_is_fused_into_the_layer_before_it_and_found_in_a_body() -> None:
    one = Written()
    x, w = one.input("x", (2, 4)), one.stored("w", (4, 4))
    h = one.add("add", one.add("linear", x, w), one.stored("b", (4,)))
    value = one.add("erf", one.add("div", h, one.number(math.sqrt(2))))
    y = one.add("mul", one.add("mul", h, one.add("add", value, one.number(1))), one.number(0.5))
    graph = one.graph(y)
    (layer,) = deploy(graph).nodes
    assert (layer.operator, [function.operator for function in layer.fused]) == ("linear", ["gelu"])
    (loop,) = recognise_functions(in_a_loop(graph)).nodes
    assert [node.operator for node in loop.bodies[0].graph.nodes] == ["linear", "add", "gelu"]


def test_a_long_chain_of_arithmetic_is_no_gelu() -> None:
    one = Written()
    x = y = one.input("x", SHAPE)
    for _ in range(3000):
        y = one.add("mul", y, one.number(0.5))
    y = one.add("erf", y)
    for _ in range(3000):
        y = one.add("add", y, one.number(0.5))
    graph = one.graph(one.add("mul", y, x))
    assert recognise_functions(graph) is graph
