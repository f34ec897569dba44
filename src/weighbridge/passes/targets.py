"""What a user calls the parameters of a network: by layer, by scope, by use, by name, by pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Final, TypeVar

from weighbridge.errors import BadSpec
from weighbridge.graph import Graph, Node
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.deployment import deploy
from weighbridge.passes.static import parameter_uses, runs, static_sources, static_tensors, uses_in_both

__all__ = ["EVERY", "REST", "Layer", "Targets", "in_force", "is_meant", "targets_of"]

REST: Final = "rest"
"""The target of everything that no other rule names."""
EVERY: Final = ("", "all", REST)
"""Names for that target where it is that of every rule."""
_Rule = TypeVar("_Rule")
_GROUPS: Final = {"biases": "bias", "other": "other"}
_COUNTED: Final = re.compile(r"(first|last)-([1-9][0-9]{0,5})")


class Layer(NamedTuple):
    """A node that weights reach: its name, its scope, and these weights (parameters), sorted."""

    name: str
    scope: str
    weights: tuple[str, ...]


@dataclass(frozen=True)
class Targets:
    """The layers of a graph in execution order, bodies where they run, and what each parameter is for.

    ``uses`` are those of the graph as it stands, by which a parameter is a ``weight``, a ``bias`` or ``other``.
    """

    graph: Graph
    operators: Mapping[str, Op]
    layers: tuple[Layer, ...]
    uses: Mapping[str, str]

    @cached_property
    def _uses_in_groups(self) -> Mapping[str, str]:
        """With what is a bias in the deployed graph alone, as what an addition behind a layer adds."""
        deployed = parameter_uses(deploy(self.graph, self.operators), self.operators)
        return uses_in_both(self.graph, deployed, self.operators)

    def named(self, target: str, *, has_rest: bool = True) -> tuple[str, ...]:
        """The ids of the parameters that ``target`` stands for; those of layers are their weights.

        A target is ``first``, ``last``, ``first-3`` or ``last-3`` (weighted layers in execution order), ``biases``, ``other``
        (normalisation, positions), or the name of a node, of a scope or of a parameter, or a pattern for one of these with
        ``*``, ``?`` and ``[…]``.  Raises ``BadSpec`` for one that is not in the graph; ``has_rest`` says whether its hint may
        name ``rest``, which is the caller's.
        """
        if target in _GROUPS:
            return tuple(name for name, use in self._uses_in_groups.items() if use == _GROUPS[target])
        if target in self.uses:
            return (target,)
        found = [name for layer in self.layers_named(target) for name in layer.weights]
        found = found or [name for name in self.uses if fnmatchcase(name, target)]
        if not found:
            raise self._unknown(target, has_rest)
        return tuple(dict.fromkeys(found))

    def layers_named(self, target: str) -> tuple[Layer, ...]:
        """The layers that ``target`` stands for: by number, name, scope or pattern; empty where there is none.

        Raises ``BadSpec`` for a number of layers where there is none or not so many.
        """
        counted = self.layers_counted(target)
        called = counted or tuple(layer for layer in self.layers if _is_called(target, layer))
        return called or tuple(layer for layer in self.layers if is_meant(target, layer))

    def layers_counted(self, target: str) -> tuple[Layer, ...]:
        """Those that ``first``, ``last-3`` and their like stand for; empty for every other target.  Raises ``BadSpec``."""
        counted = _COUNTED.fullmatch(target)
        if target not in ("first", "last") and counted is None:
            return ()
        which, number = (counted[1], int(counted[2])) if counted else (target, 1)
        if not self.layers:
            raise BadSpec(f"no layer has weights, so there is no {which} one", where=target)
        if number > len(self.layers):
            raise BadSpec(f"there are {len(self.layers):,} layers with weights", where=target)
        return self.layers[:number] if which == "first" else self.layers[-number:]

    def _unknown(self, target: str, has_rest: bool) -> BadSpec:
        from difflib import get_close_matches

        names = [layer.name for layer in self.layers]
        near = get_close_matches(target, names, 3) or names[:8]
        named = ", ".join(["biases", "other", *near, *(["…"] if len(near) < len(names) else [])])
        return BadSpec(
            f"no layer, scope or parameter is called {target!r}",
            hint=f"there are first, last, {'rest, ' if has_rest else ''}{named}",
        )


def in_force(rules: Iterable[_Rule], target_of: Callable[[_Rule], str]) -> list[_Rule]:
    """Rules in the order in which they override each other: what is for the rest first, wherever it stands, then as they come."""
    return sorted(rules, key=lambda rule: target_of(rule) not in EVERY)


def targets_of(graph: Graph, operators: Mapping[str, Op] = OPERATORS) -> Targets:
    """What can be named in ``graph``."""
    uses = parameter_uses(graph, operators)
    return Targets(graph, operators, tuple(_layers(graph, uses, operators)), uses)


def _layers(graph: Graph, uses: Mapping[str, str], operators: Mapping[str, Op]) -> list[Layer]:
    static = static_tensors(graph, operators)
    sources = static_sources(graph, static, operators)
    layers: list[Layer] = []
    for node in graph.nodes:
        for body in node.bodies:
            layers.extend(_layers(body.graph, uses, operators))
        if runs(node, static):
            held = dict.fromkeys(
                source for tensor in node.inputs for source in sources.get(tensor, ()) if uses[source] == "weight"
            )
            if held:
                layers.append(Layer(node.name, node.scope, tuple(sorted(held))))
    return layers


def is_meant(target: str, one: Layer | Node) -> bool:
    """Whether a name, a scope or a pattern is that of ``one`` or of a scope around it."""
    return _is_called(target, one) or fnmatchcase(one.name, target) or fnmatchcase(one.scope, target)


def _is_called(target: str, one: Layer | Node) -> bool:
    """Whether it is the name itself, which may have the signs of a pattern in it: ``conv[1]``."""
    return one.name == target or f"{one.scope}.".startswith(f"{target}.")
