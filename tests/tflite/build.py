"""Small TensorFlow Lite models for tests, written through the ``tflite`` package, and the graph that comes of them.

Tensors are called by name, several at once in one text, ``-`` for an optional one that is absent::

    model(
        graph(
            [tensor("x", (1, 8), "INT8"), tensor("w", (4, 8), "INT8", data=True), tensor("y", (1, 4), "INT8")],
            [op("FULLY_CONNECTED", "x w -", "y", {"keep_num_dims": True})],
            "x",
            "y",
        )
    )
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weighbridge.frontends.from_tflite import load_tflite
from weighbridge.graph import Graph, Role, Shape

from .writer import Op, Signature, Subgraph, Tensor, Writer

tensor = Tensor


def _names(names: str | Sequence[str]) -> Sequence[str]:
    return names.split() if isinstance(names, str) else names


def op(
    name: str,
    inputs: str | Sequence[str],
    outputs: str | Sequence[str],
    options: Mapping[str, Any] | None = None,
    **more: Any,
) -> Op:
    """An operator; ``options`` by the schema's names, those of its own options table."""
    if "intermediates" in more:
        more["intermediates"] = _names(more["intermediates"])
    return Op(name, _names(inputs), _names(outputs), options, **more)


def graph(
    tensors: Sequence[Tensor],
    operators: Sequence[Op],
    inputs: str | Sequence[str],
    outputs: str | Sequence[str],
    name: str = "main",
) -> Subgraph:
    return Subgraph(tensors, operators, _names(inputs), _names(outputs), name)


def model(
    *graphs: Subgraph,
    signatures: Mapping[str, Signature] | None = None,
    metadata: Mapping[str, bytes] | None = None,
    outside: bool = False,
) -> bytes:
    """The bytes of a model; ``signatures`` are subgraphs by key, or subgraphs with the tensors behind the names of inputs;
    ``outside`` keeps values behind the flatbuffer.
    """
    if not outside:
        return Writer(graphs, signatures or {}, metadata or {}).finish()
    # Once to learn how long the flatbuffer is, and once more with where the values then stand.
    length = -(-len(Writer(graphs, signatures or {}, metadata or {}, 1 << 40).finish()) // 16) * 16
    writer = Writer(graphs, signatures or {}, metadata or {}, length)
    return writer.finish().ljust(length, b"\0") + writer.outside


def load(made: bytes, **sizes: Any) -> Graph:
    """The graph of a model, written to a file and read back as a user's would be."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.tflite")
        path.write_bytes(made)
        return load_tflite(path, **sizes)


def one(tensors: Sequence[Tensor], operator: Op, **more: Any) -> Graph:
    """The graph of a model of one operator: it reads what is neither stored nor a variable, and all its results are outputs."""
    absent = {"-"} | {each.name for each in tensors if each.data is not None or each.variable}
    inputs = [name for name in dict.fromkeys(operator.inputs) if name not in absent]
    return load(model(graph(tensors, [operator], inputs, operator.outputs)), **more)


def shapes(found: Graph) -> list[Shape | None]:
    """The shapes of the outputs."""
    return [found.tensors[name].shape for name in found.outputs]


def roles(found: Graph) -> Mapping[str, Role]:
    """The roles of the stored tensors by name."""
    return {each.id: each.role for each in found.stored()}


def operators(found: Graph) -> list[str]:
    return [each.operator for each in found.nodes]
