"""What tests of pruning ask of a graph, first that its shapes are those of the operators' own rules; and small networks."""

from __future__ import annotations

from fractions import Fraction

from weighbridge import counts
from weighbridge.builder import Builder
from weighbridge.counts import NetworkFacts
from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Graph, Role, Shape, TensorType
from weighbridge.operators.record import Call
from weighbridge.operators.table import OPERATORS
from weighbridge.passes import deploy
from weighbridge.passes.rewrite import call_of
from weighbridge.passes.what_if.prune import prune_channels

__all__ = ["FLOAT", "Net", "check", "facts_of", "note_of", "of", "pruned_by", "shapes_that_differ"]

FLOAT = DTYPES["float32"]


def pruned_by(graph: Graph, percent: int, target: str = "") -> Graph:
    return prune_channels(graph, [(target, Fraction(percent, 100))])


def facts_of(graph: Graph) -> NetworkFacts:
    return counts.count(graph, deploy(graph))


def shapes_that_differ(graph: Graph, *, beside: Graph | None = None) -> list[str]:
    """The nodes whose stated result is not what their operator's rule infers; of a graph made from another, ``beside``, less
    those that had another shape there already, or none.
    """
    known = set() if beside is None else set(shapes_that_differ(beside))
    wrong = []
    for node in graph.nodes:
        op = OPERATORS.get(node.operator)
        if op is None or node.bodies or node.name in known:
            continue
        try:
            call = call_of(node, graph)
            made = op.infer(Call(call.operands, call.attributes))
            shapes = [one.shape if isinstance(one, TensorType) else None for one in made]
        except GraphError as error:
            wrong.append(node.name)
            assert beside is None, f"{node.name}: {error}"
            continue
        if shapes != [one.shape for one in call.outputs]:
            wrong.append(node.name)
    return wrong


class Net:
    """A network written step by step; a step's name is that of its result."""

    def __init__(self, *shape: int) -> None:
        self.builder = Builder("net")
        self.x = self.builder.input("x", shape or (1, 3, 8, 8), FLOAT)

    def shape(self, tensor: str) -> Shape:
        return self.builder.tensors[tensor].shape or ()

    def stored(self, name: str, *shape: int, role: Role = Role.PARAMETER) -> str:
        return self.builder.stored(name, shape, FLOAT, role)

    def add(self, operator: str, name: str, *operands: tuple[str, str], **attributes: Attribute) -> str:
        return self.builder.add(operator, operands, attributes, name=name)[0]

    def conv(self, name: str, x: str, width: int, kernel: int = 1, **attributes: Attribute) -> str:
        groups = attributes.get("groups", 1)
        assert isinstance(groups, int)
        last = attributes.get("layout") == "channels_last"
        c_i = self.shape(x)[-1 if last else 1] // groups
        taps = (kernel, kernel)
        w = self.stored(f"{name}.w", *((width, *taps, c_i) if last else (width, c_i, *taps)))
        if last:
            attributes["weight_layout"] = "o_spatial_i"
        operands = [("x", x), ("w", w), ("b", self.stored(f"{name}.b", width))]
        return self.add("conv", name, *operands, padding=kernel // 2, **attributes)

    def linear(self, name: str, x: str, width: int) -> str:
        return self.add("linear", name, ("x", x), ("w", self.stored(f"{name}.w", width, self.shape(x)[-1])))

    def graph(self, *outputs: str) -> Graph:
        """The network, its results made into three values each, by a layer that nobody prunes."""
        last = []
        for number, y in enumerate(outputs):
            flat = self.add("flatten", f"flat{number}", ("x", y))
            last.append(self.linear(f"last{number}", flat, 3))
        return self.builder.graph(last)


def check(graph: Graph, ratio: Fraction = Fraction(1, 2), target: str = "", **shapes: Shape) -> Graph:
    """Prune, and look at the shapes of these tensors."""
    pruned = prune_channels(graph, [(target, ratio)])
    assert not shapes_that_differ(pruned)
    assert {name: pruned.tensors[name].shape for name in shapes} == shapes
    return pruned


def of(graph: Graph, tensor: str) -> Shape:
    return graph.tensors[tensor].shape or ()


def note_of(graph: Graph) -> str:
    return next((note for note in graph.notes if note.startswith("prune:")), "")
