"""The graph that every front end makes and every count reads.

Frozen, verified when built, free of weight values, framework objects and symbols: a shape is a tuple of plain ints, or
None where it depends on values or on an operator without a rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import prod

from .arena import Arena
from .dtypes import DType
from .errors import GraphError
from .named_tuple import NamedTuple

__all__ = [
    "BRANCH",
    "CONTROL",
    "LOOP",
    "MAX_DIMENSION",
    "MAX_RANK",
    "SCAN",
    "UNKNOWN",
    "Allocation",
    "Attribute",
    "Body",
    "FileNode",
    "Graph",
    "Node",
    "Role",
    "Shape",
    "Tensor",
    "TensorType",
    "check_shape",
]

Shape = tuple[int, ...]
Attribute = bool | int | float | str | tuple["Attribute", ...]

UNKNOWN = "unknown"
"""The operator of a node for which there is no rule: kept, named, never counted as nothing."""

BRANCH, LOOP, SCAN = "if", "loop", "scan"
CONTROL = frozenset({BRANCH, LOOP, SCAN})
"""Operators whose work is in their bodies: one branch of an ``if``, the one body of a ``loop`` or ``scan`` times its trips."""

MAX_DIMENSION = 1 << 48
"""A larger dimension is no network but a damaged or hostile file; no memory that exists holds 2^48 of anything."""

MAX_RANK = 64
"""More dimensions than this (numpy's limit) have no use; with it the sizes that follow stay numbers that can be printed."""


class Role(StrEnum):
    """What a tensor is for.  Parameters, buffers and constants are *stored* with the model; the rest exist while it runs."""

    INPUT = "input"
    PARAMETER = "parameter"
    BUFFER = "buffer"
    CONSTANT = "constant"
    ACTIVATION = "activation"
    STATE = "state"

    @property
    def is_stored(self) -> bool:
        return self in _STORED


_STORED = frozenset({Role.PARAMETER, Role.BUFFER, Role.CONSTANT})


@dataclass(frozen=True, slots=True)
class TensorType:
    """A known shape and an element type: all that an operator's rules may see of an operand."""

    shape: Shape
    dtype: DType

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int | None:
        return self.dtype.bytes_of(self.elements)


@dataclass(frozen=True, slots=True)
class Tensor:
    """One storage, however many names a model has for it.  ``id`` is unique in its graph and shared with the bodies of its nodes.

    ``nonzeros``: of a parameter with zeros that a format could leave out, and of what only moves or scales its values, how many
    values are not zero; None: nobody said, all count.
    """

    id: str
    shape: Shape | None
    dtype: DType
    role: Role = Role.ACTIVATION
    nonzeros: int | None = None

    @property
    def type(self) -> TensorType | None:
        """The type that rules see; None where the shape is unknown."""
        return None if self.shape is None else TensorType(self.shape, self.dtype)

    @property
    def elements(self) -> int | None:
        return None if self.shape is None else prod(self.shape)

    @property
    def bytes(self) -> int | None:
        return None if self.shape is None else self.dtype.bytes_of(prod(self.shape))


@dataclass(frozen=True, slots=True)
class Body:
    """A graph inside a node: a branch, or what a loop repeats.

    Tensors that the body takes from outside keep their id: stored ones appear in the body with the same role (they count
    once), running ones are inputs of the body and operands (named ``captures``) of the node.  ``trips`` is None where
    nobody can know how often it runs; a branch has 1, and what runs before the first inference alone 0.
    """

    name: str
    graph: Graph
    trips: int | None = 1


class FileNode(NamedTuple):
    """The node of the model's file that a node of the graph comes from: the name of its graph there (where it has none, what
    Model Explorer calls it), its position among that graph's nodes, and a name that no other node of it has, "" without one.

    What functions and called graphs take the place of comes from the call in the graph that is weighed, and a node with bodies
    from the one that holds them.
    """

    graph: str
    position: int
    name: str


@dataclass(frozen=True, slots=True)
class Node:
    """One call of an operator.

    ``operands`` are pairs (operand name, tensor id) in the operator's order; a variadic operand repeats its name, an
    absent optional one is left out.  ``scope`` is the module path the user wrote, with dots; ``origin`` is what the file
    called the operator; ``fused`` are the unary functions that a pass merged into it, applied to its output in order;
    ``reason`` says why an ``UNKNOWN`` node, or one whose MACs cannot be known, is not counted; ``file_node`` is where it comes
    from, None where that is no node of a file.
    """

    name: str
    operator: str
    operands: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    scope: str = ""
    origin: str = ""
    bodies: tuple[Body, ...] = ()
    fused: tuple[Node, ...] = ()
    reason: str = ""
    file_node: FileNode | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The ids of all operands, in order."""
        return tuple([tensor for _, tensor in self.operands])


class Allocation(NamedTuple):
    """A storage as the framework that ran the model held it: ``bytes`` from moment ``first`` to moment ``last``, both included.

    A moment is a call that the framework made.  ``node`` is the node of the graph as written in which the storage was made,
    "" for an input of the network; a node that makes none has an allocation of 0 bytes, which says when it ran.
    """

    bytes: int
    first: int
    last: int
    node: str = ""


@dataclass(frozen=True, slots=True)
class Graph:
    """Tensors by id, nodes in an order that can be executed, and what goes in and out.

    ``capture`` says how a running model was turned into this graph; "" where a file already was one.  ``allocations`` are
    what the framework held while it ran, in the order of their making; empty where nothing ran or that is not known.
    ``blocks`` are the scopes of modules with parts and a computation of their own, unlike a mere list of layers; None where
    nobody knows which those are.  ``arena`` are the requests of the runtime that the file was made for; None without one.

    Raises ``GraphError`` when built from parts that do not fit: an operand that nothing makes or that is made later, a
    tensor made twice, a stored tensor that a node writes, a name used twice, dimensions that are negative, absurd or too many,
    more values that are not zero than there are.
    """

    name: str
    tensors: Mapping[str, Tensor]
    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    notes: tuple[str, ...] = ()
    capture: str = ""
    allocations: tuple[Allocation, ...] = ()
    blocks: frozenset[str] | None = None
    arena: Arena | None = None

    def __post_init__(self) -> None:
        _verify(self)

    @property
    def recomputes(self) -> bool:
        """Whether contractions of stored tensors alone run at every inference, as a framework that runs a program does."""
        return bool(self.capture)

    def stored(self) -> Iterator[Tensor]:
        """The tensors kept with the model, in the order the front end met them."""
        return iter([tensor for tensor in self.tensors.values() if tensor.role in _STORED])

    def stored_everywhere(self) -> Iterator[Tensor]:
        """Those of the graph and of all bodies in it, each storage once: a body names what it shares with its surroundings alike."""
        seen: set[str] = set()
        graphs = [self]
        while graphs:
            current = graphs.pop()
            for tensor in current.stored():
                if tensor.id not in seen:
                    seen.add(tensor.id)
                    yield tensor
            graphs.extend(body.graph for node in current.nodes for body in node.bodies)

    def readers(self) -> dict[str, list[int]]:
        """For each tensor read by a node, the positions of the nodes that read it, ascending, a node once."""
        readers: dict[str, list[int]] = {}
        for index, node in enumerate(self.nodes):
            for _, tensor in node.operands:
                found = readers.setdefault(tensor, [])
                if not found or found[-1] != index:
                    found.append(index)
        return readers


def _verify(graph: Graph) -> None:
    ready = _verify_tensors(graph)
    for tensor_id in graph.inputs:
        if tensor_id not in graph.tensors:
            raise GraphError(f"the input {tensor_id!r} is not among the tensors", where=graph.name)
        ready.add(tensor_id)
    _verify_nodes(graph, ready)
    for tensor_id in graph.outputs:
        if tensor_id not in ready:
            raise GraphError(f"nothing makes the output {tensor_id!r}", where=graph.name)


def _verify_tensors(graph: Graph) -> set[str]:
    """Returns the ids of those that exist before a node runs."""
    shapes: set[Shape | None] = set()
    ready: set[str] = set()
    for key, tensor in graph.tensors.items():
        if key != tensor.id:
            raise GraphError(f"the tensor {tensor.id!r} is filed under {key!r}", where=graph.name)
        if tensor.shape not in shapes:
            check_shape(tensor, graph.name)
            shapes.add(tensor.shape)
        if tensor.nonzeros is not None and not 0 <= tensor.nonzeros <= (tensor.elements or 0):
            raise GraphError(
                f"the tensor {key!r} cannot have {tensor.nonzeros} values that are not zero", where=graph.name
            )
        if tensor.role in _STORED or tensor.role is Role.STATE:
            ready.add(key)
    return ready


def _verify_nodes(graph: Graph, ready: set[str]) -> None:
    tensors = graph.tensors
    names: set[str] = set()
    for node in graph.nodes:
        if node.name in names:
            raise GraphError("two nodes have this name", where=node.name)
        names.add(node.name)
        for operand, tensor_id in node.operands:
            if tensor_id not in ready:
                problem = "is made later" if tensor_id in tensors else "does not exist"
                raise GraphError(f"the operand {operand} reads {tensor_id!r}, which {problem}", where=node.name)
        for tensor_id in node.outputs:
            if tensor_id not in tensors:
                raise GraphError(f"writes {tensor_id!r}, which is not among the tensors", where=node.name)
            if tensor_id in ready:
                raise GraphError(f"writes {tensor_id!r}, which exists already", where=node.name)
            ready.add(tensor_id)


def check_shape(tensor: Tensor, where: str) -> None:
    """Raises ``GraphError`` for a shape that no network has: see ``MAX_DIMENSION`` and ``MAX_RANK``."""
    shape = tensor.shape or ()
    if len(shape) > MAX_RANK:
        raise GraphError(f"the tensor {tensor.id!r} has {len(shape)} dimensions, more than {MAX_RANK}", where=where)
    for size in shape:
        if not 0 <= size <= MAX_DIMENSION:
            raise GraphError(f"the tensor {tensor.id!r} has a dimension of {size}", where=where)
