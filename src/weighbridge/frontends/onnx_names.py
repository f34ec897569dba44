"""Names in ONNX files: operator domains, and the module path that exporters leave in the names and metadata of nodes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["plain_domain", "scope_of", "told_apart"]

_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")


def plain_domain(domain: str) -> str:
    """The domain of an operator, "" for ONNX's own, which has two names."""
    return "" if domain == "ai.onnx" else domain


def scope_of(name: str, metadata: Any) -> str:
    """The dotted path of the module that a node came from; "" where the file does not say.

    The newer PyTorch exporter writes a list of enclosing scopes into ``pkg.torch.onnx.name_scopes`` (the last is the
    node's own name); the older one names a node ``/layer1/layer1.0/conv1/Conv``, where an element that starts with the
    one before it and a dot replaces that one.
    """
    for entry in metadata:
        if entry.key == "pkg.torch.onnx.name_scopes":
            scopes = [part for part in _QUOTED.findall(entry.value) if part]
            return scopes[-2] if len(scopes) > 1 else ""
    if not name.startswith("/"):
        return ""
    path: list[str] = []
    for part in name.split("/")[1:-1]:
        if path and part.startswith(path[-1] + "."):
            path.pop()
        if part:
            path.append(part)
    return ".".join(path)


def told_apart(nodes: Iterable[Any], inside: Callable[[Any], Iterable[Any]]) -> list[str]:
    """The names of a graph's nodes, in the order of the file, each once; ``inside`` gives the graphs in a node's attributes.

    A node without a name, or with one that is taken, is called what onnx-ir's NameFixPass calls it, as tools that show a model
    run that first: ``node`` or its own name, and the first free number behind it.  Numbers go on through the graphs inside.
    """
    return _told_apart(nodes, inside, Counter())


def _told_apart(nodes: Iterable[Any], inside: Callable[[Any], Iterable[Any]], numbers: Counter[str]) -> list[str]:
    names: dict[str, None] = {}
    for node in nodes:
        wanted = name = node.name or "node"
        while name in names:
            numbers[wanted] += 1
            name = f"{wanted}_{numbers[wanted]}"
        names[name] = None
        for graph in inside(node.attribute):
            _told_apart(graph.node, inside, numbers)
    return list(names)
