"""Names and where they live: one frame for each graph that is built, one scope for each list of nodes in the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

from weighbridge.builder import Builder
from weighbridge.errors import BadModel
from weighbridge.frontends.declared import Declared
from weighbridge.frontends.onnx_names import plain_domain
from weighbridge.graph import Tensor
from weighbridge.named_tuple import NamedTuple

__all__ = ["Frame", "Record", "Scope", "graphs_of", "in_order", "records_of", "stored_elements"]

_GRAPH, _GRAPHS = 5, 10
_NO_NAMES: frozenset[str] = frozenset()


class Record(NamedTuple):
    """A NodeProto, each field read once; ``outer`` are the names that its subgraphs may take from outside, ``position`` is that
    in the file's list of nodes.
    """

    name: str
    domain: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Any
    outer: frozenset[str]
    proto: Any
    position: int


def records_of(protos: Iterable[Any], *, looks_inside: bool = True) -> list[Record]:
    """The nodes of a graph or function.  ``looks_inside`` fills ``outer``, at the price of a walk through all subgraphs."""
    records = []
    for position, proto in enumerate(protos):
        domain, attributes = proto.domain, proto.attribute
        graphs = graphs_of(attributes) if looks_inside else ()
        outer = frozenset[str]().union(*map(_free_names, graphs)) if graphs else _NO_NAMES
        if proto.op_type == "Gradient" and domain == "ai.onnx.preview.training":
            # It differentiates what an attribute names, which comes before it like an operand.
            outer |= {one.s.decode("utf-8", "replace") for one in attributes if one.name == "y"}
        records.append(
            Record(
                proto.name,
                plain_domain(domain),
                proto.op_type,
                tuple(proto.input),
                tuple(proto.output),
                attributes,
                outer,
                proto,
                position,
            )
        )
    return records


def graphs_of(attributes: Iterable[Any]) -> list[Any]:
    """The subgraphs among a node's attributes."""
    graphs = []
    for attribute in attributes:
        if attribute.type == _GRAPH:
            graphs.append(attribute.g)
        elif attribute.type == _GRAPHS:
            graphs.extend(attribute.graphs)
    return graphs


def stored_elements(graph: Any) -> int:
    """Elements that the initialisers of a graph and of the graphs in it have."""
    inside = (inner for node in graph.node for inner in graphs_of(node.attribute))
    own: int = sum(prod(one.dims) for one in graph.initializer)
    return own + sum(map(stored_elements, inside))


def _free_names(graph: Any) -> frozenset[str]:
    """Every name that a subgraph reads and does not make itself."""
    made = {one.name for one in graph.input} | {one.name for one in graph.initializer}
    made |= {one.values.name for one in graph.sparse_initializer}
    read = {one.name for one in graph.output}
    for record in records_of(graph.node):
        made.update(record.outputs)
        read.update(record.inputs)
        read |= record.outer
    return frozenset(read - made - {""})


def in_order(records: list[Record]) -> list[Record]:
    """The same nodes, each behind those whose results it reads.

    ONNX demands that order; files that break it are sorted.  Raises ``BadModel`` where nodes wait for each other, or where
    two make the same tensor.
    """
    makers: dict[str, int] = {}
    for index, record in enumerate(records):
        for output in record.outputs:
            if output and makers.setdefault(output, index) != index:
                raise BadModel(f"makes {output!r}, which another node makes too", where=record.name or record.op)
    for index, record in enumerate(records):
        for name in (*record.inputs, *record.outer) if record.outer else record.inputs:
            if makers.get(name, -1) >= index:
                return _sorted(records, makers)
    return records


def _sorted(records: list[Record], makers: Mapping[str, int]) -> list[Record]:
    """Depth first in file order, so that what is in order stays where it is."""
    done: dict[int, bool] = {}
    ordered = []
    for root in range(len(records)):
        pending = [root]
        while pending:
            index = pending[-1]
            if done.get(index):
                pending.pop()
                continue
            record = records[index]
            before = {makers[name] for name in (*record.inputs, *record.outer) if name in makers}
            waiting = sorted((one for one in before if not done.get(one)), reverse=True)
            if not waiting:
                done[index] = True
                ordered.append(record)
                continue
            if index in done:
                raise BadModel("waits for its own result: the graph has a cycle", where=record.name or record.op)
            done[index] = False
            pending.extend(waiting)
    return ordered


class Frame:
    """One graph being built: the model's, or the body of a node in ``parent``.

    ``captured`` are the running tensors that the body takes from outside, in the order it met them.
    """

    def __init__(self, builder: Builder, parent: Frame | None = None) -> None:
        self.builder = builder
        self.parent = parent
        self.captured: list[str] = []
        self.depth: int = 0 if parent is None else parent.depth + 1

    def reach(self, tensor: str) -> Tensor:
        """The tensor, made visible in this frame: stored ones as they are, running ones as inputs of every body on the way."""
        chain: list[Frame] = []
        frame: Frame | None = self
        while frame is not None and tensor not in frame.builder.tensors:
            chain.append(frame)
            frame = frame.parent
        assert frame is not None, tensor
        found = frame.builder.tensors[tensor]
        for inner in reversed(chain):
            if found.role.is_stored:
                assert found.shape is not None
                inner.builder.stored(tensor, found.shape, found.dtype, found.role)
            else:
                inner.builder.input(tensor, found.shape, found.dtype)
                inner.captured.append(tensor)
        return found


class Scope:
    """What names mean while a list of nodes is read.

    ``parent`` is the scope around a body, from which it may take names (a function has none); ``given`` are the attributes
    that the caller of a function passed, ``path`` is what node names inside get in front.  ``declared`` are the types that
    the file states, as messages; ``stated`` those of them that were asked for.  ``depth`` counts the functions and bodies around.
    """

    def __init__(
        self,
        frame: Frame,
        opsets: Mapping[str, int],
        parent: Scope | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        path: str = "",
        calls: frozenset[tuple[str, str, str]] = frozenset(),
        module: str = "",
        depth: int = 0,
    ) -> None:
        self.frame = frame
        self.opsets = opsets
        self.parent = parent
        self.given = given
        self.path = path
        self.calls = calls
        self.module = module
        self.depth = depth
        self.names: dict[str, str] = {}
        self.declared: dict[str, Any] = {}
        self.stated: dict[str, Declared] = {}
        self.records: list[Record] = []
        self.results: tuple[str, ...] = ()
        self._read: set[str] | None = None

    def reads(self, name: str) -> bool:
        """Whether a node of the list that is being read, or who called for it, reads the tensor; in a body, whether it may."""
        if self.frame.depth:
            return True
        if self._read is None:
            self._read = set(self.results).union(*((*record.inputs, *record.outer) for record in self.records))
        return name in self._read

    def find(self, name: str, where: str) -> str:
        """The id of the tensor called ``name``, made visible in this frame.  Raises ``BadModel`` where there is none."""
        tensor = self.names.get(name)
        if tensor is not None:
            return tensor
        scope = self.parent
        while scope is not None:
            tensor = scope.names.get(name)
            if tensor is not None:
                if scope.frame is not self.frame:
                    self.frame.reach(tensor)
                return tensor
            scope = scope.parent
        raise BadModel(f"reads {name!r}, which nothing makes", where=where, hint="the file is incomplete or damaged")

    def has(self, name: str) -> bool:
        """Whether ``find`` finds the name."""
        return name in self.names or (self.parent is not None and self.parent.has(name))

    def bind(self, name: str, tensor: str, where: str) -> None:
        """State that ``name`` is a tensor from here on.  Raises ``BadModel`` where this list of nodes has it already."""
        if name in self.names:
            raise BadModel(f"there are two tensors called {name!r}", where=where, hint="the file is damaged")
        self.names[name] = tensor
