"""Low-rank adapters (LoRA): beside a linear layer a narrow one and a wide one, whose result is added to the layer's.

Hu et al. (2021): y = W x + B A x, with A of rank x features and B of outputs x rank; W stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from weighbridge.errors import BadSpec
from weighbridge.graph import Graph, Node, Role, Tensor
from weighbridge.operators.record import Op
from weighbridge.passes.rewrite import rebuilt, unused_id
from weighbridge.passes.targets import is_meant

__all__ = ["with_adapters"]


def with_adapters(
    graph: Graph, ranks: Sequence[tuple[str, int]], operators: Mapping[str, Op]
) -> tuple[Graph, frozenset[str]]:
    """``graph`` with adapters beside the linear layers that the targets in ``ranks`` name, and their parameters.

    The layers are linear ones, and products with a stored matrix, outside of control flow; of two targets the later one holds.
    Raises ``BadSpec`` for a target without such a layer.
    """
    if not ranks:
        return graph, frozenset()
    wanted: dict[str, int] = {}
    linear = {node.name: node for node in graph.nodes if _is_linear(node, graph)}
    for target, rank in ranks:
        found = [name for name, node in linear.items() if target == "all" or is_meant(target, node)]
        if not found:
            hint = f"there are {', '.join(list(linear)[:8])}" if linear else "it takes a linear layer"
            raise BadSpec(f"no linear layer is called {target!r}", where="a low-rank adapter", hint=hint)
        wanted.update(dict.fromkeys(found, rank))
    tensors = dict(graph.tensors)
    nodes: list[Node] = []
    adapters: list[str] = []
    for node in graph.nodes:
        if node.name in wanted:
            nodes += _adapted(node, wanted[node.name], tensors, adapters, operators)
        else:
            nodes.append(node)
    return replace(rebuilt(graph, nodes, tensors=tensors), allocations=(), arena=None), frozenset(adapters)


def _is_linear(node: Node, graph: Graph) -> bool:
    weight = next((graph.tensors[tensor] for operand, tensor in node.operands if operand == "w"), None)
    if weight is None or not weight.role.is_stored or weight.shape is None or len(weight.shape) != 2:
        return False
    known = all(graph.tensors[one].shape for one in (*node.inputs[:1], *node.outputs))
    return node.operator in ("linear", "matmul") and known and not node.attributes.get("transpose_x")


def _adapted(
    node: Node, rank: int, tensors: dict[str, Tensor], adapters: list[str], operators: Mapping[str, Op]
) -> Iterator[Node]:
    """The layer with its result under another name, the adapter's two layers, and the sum under the old name."""
    x, result = tensors[node.inputs[0]], tensors[node.outputs[0]]
    assert x.shape and result.shape
    *rows, outputs = result.shape

    def tensor(wanted: str, shape: tuple[int, ...], role: Role = Role.ACTIVATION) -> str:
        name = unused_id(tensors, wanted)
        tensors[name] = Tensor(name, shape, result.dtype, role)
        return name

    down = tensor(f"{node.name}.lora_a", (rank, x.shape[-1]), Role.PARAMETER)
    up = tensor(f"{node.name}.lora_b", (outputs, rank), Role.PARAMETER)
    adapters += (down, up)
    plain = tensor(f"{result.id}.plain", result.shape)
    narrow, wide = tensor(f"{result.id}.lora_a", (*rows, rank)), tensor(f"{result.id}.lora_b", result.shape)
    yield replace(node, outputs=(plain,))
    for name, given, weight, made in (("lora_a", x.id, down, narrow), ("lora_b", narrow, up, wide)):
        attributes = operators["linear"].attributes
        yield Node(f"{node.name}.{name}", "linear", (("x", given), ("w", weight)), (made,), attributes, node.scope)
    yield Node(f"{node.name}.lora", "add", (("a", plain), ("b", wide)), (result.id,), {}, node.scope)
