"""How large the local functions of an ONNX model grow, told before anything is put in the place of a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weighbridge.frontends.onnx_names import plain_domain

__all__ = ["Expansion", "FunctionKey", "functions_of", "key_of"]

FunctionKey = tuple[str, str, str]
"""Domain, name and overload."""


class Expansion:
    """The least number of nodes that a call of each function becomes, functions that it calls included.

    Calls inside branches and loops are left out, as a branch may never be taken.  Each function is looked at once, however
    often it is called: ten functions that call the next ten times each are ten steps here, and ten billion nodes.
    """

    def __init__(self, functions: Mapping[FunctionKey, Any]) -> None:
        self._functions = functions
        self._nodes: dict[FunctionKey, int] = {}

    def nodes(self, key: FunctionKey) -> int:
        """Nodes that a call of this function becomes, at least; a function that calls itself counts as one node inside."""
        pending, opened = [key], set[FunctionKey]()
        while pending:
            current = pending[-1]
            if current in self._nodes:
                pending.pop()
                continue
            calls = [key_of(node) for node in self._functions[current].node]
            waiting = [one for one in calls if one in self._functions and one not in self._nodes and one not in opened]
            if waiting and current not in opened:
                opened.add(current)
                pending.extend(waiting)
                continue
            self._nodes[current] = sum(self._nodes.get(one, 1) for one in calls)
        return self._nodes[key]


def functions_of(protos: Iterable[Any]) -> dict[FunctionKey, Any]:
    """The local functions of a model by what calls them."""
    return {(plain_domain(one.domain), one.name, _overload(one)): one for one in protos}


def key_of(node: Any) -> FunctionKey:
    """What a NodeProto calls, if it calls a function."""
    return plain_domain(node.domain), node.op_type, _overload(node)


def _overload(proto: Any) -> str:
    """Several functions of one name are told apart by this, since IR version 10."""
    return getattr(proto, "overload", "")
