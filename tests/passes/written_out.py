"""Graphs in which functions are written out, with the values that the graph itself does not hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.passes.running import USUAL, Untold, run
from weighbridge.builder import Builder
from weighbridge.counts import count
from weighbridge.dtypes import DTYPES
from weighbridge.graph import LOOP, Attribute, Body, Graph, Role, TensorType
from weighbridge.passes.recognition import recognise_functions

__all__ = ["Written", "exposed", "in_a_loop", "recognised"]


class Written:
    """A graph under construction, and the values of its inputs and of what it stores."""

    def __init__(self, seed: int = 0) -> None:
        self.builder = Builder("written")
        self.values: dict[str, np.ndarray] = {}
        self.random = np.random.default_rng(seed)
        self.count = 0

    def input(self, name: str, shape: tuple[int, ...], dtype: str = "float32") -> str:
        drawn = self.random.uniform(-2, 2, shape)
        self.values[name] = drawn > -1 if dtype == "bool" else drawn
        return self.builder.input(name, shape, DTYPES[dtype])

    def stored(self, name: str, shape: tuple[int, ...]) -> str:
        self.values[name] = self.random.uniform(0.5, 2, shape)
        return self.builder.stored(name, shape, DTYPES["float32"])

    def number(self, value: float, shape: tuple[int, ...] = ()) -> str:
        self.count += 1
        name = f"number{self.count}"
        self.values[name] = np.full(shape, float(value))
        return self.builder.stored(name, shape, DTYPES["float32"], Role.CONSTANT)

    def add(self, operator: str, *operands: str, swapped: bool = False, **attributes: Attribute) -> str:
        """One node; ``operands`` in the operator's order, or where ``swapped`` the first two exchanged."""
        slots = [slot.name for slot in self.builder.operators[operator].slots]
        order = [operands[1], operands[0], *operands[2:]] if swapped else list(operands)
        self.count += 1
        pairs = list(zip(slots, order, strict=False))
        return self.builder.add(operator, pairs, attributes, name=f"{operator}{self.count}", scope="block")[0]

    def graph(self, *outputs: str) -> Graph:
        return self.builder.graph(list(outputs))


def recognised(graph: Graph, values: dict[str, np.ndarray], untold: Untold = USUAL) -> Graph:
    """What recognition makes of ``graph``, seen to compute the same and to multiply as often."""
    whole = recognise_functions(graph)
    for before, after in zip(run(graph, values, untold), run(whole, values, untold), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-9)
    was, now = count(graph, graph), count(whole, whole)
    assert now.exact and now.work_exact and (now.macs, now.parameters) == (was.macs, was.parameters)
    assert [whole.tensors[one].type for one in whole.outputs] == [graph.tensors[one].type for one in graph.outputs]
    assert recognise_functions(whole) is whole
    return whole


def exposed(graph: Graph, tensor: str, *, to_a_node: bool) -> Graph:
    """``graph`` with one of its tensors read once more: by a new node, or as an output."""
    if not to_a_node:
        return replace(graph, outputs=(*graph.outputs, tensor))
    builder = Builder(graph.name)
    builder.tensors, builder.nodes, builder.inputs = dict(graph.tensors), list(graph.nodes), list(graph.inputs)
    (more,) = builder.add("relu", [("x", tensor)], name="another reader")
    return builder.graph([*graph.outputs, more])


def in_a_loop(graph: Graph) -> Graph:
    """A graph that repeats ``graph`` in a loop of three trips."""
    builder = Builder("outer")
    inputs = [builder.input(one, graph.tensors[one].shape, graph.tensors[one].dtype) for one in graph.inputs]
    kind = graph.tensors[graph.outputs[0]]
    body = Body("body", graph, 3)
    captures = [("captures", one) for one in inputs]
    made = builder.opaque(LOOP, captures, [TensorType(kind.shape, kind.dtype)], name="loop", bodies=[body])
    return builder.graph(made)
