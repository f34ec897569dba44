"""Builds a graph node by node; the one place where operators are looked up and shapes inferred.

Front ends, network files and calculators all build through it, so a rule is applied in the same way everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from .dtypes import DTYPES, DType
from .errors import GraphError
from .graph import UNKNOWN, Attribute, Body, FileNode, Graph, Node, Role, Shape, Tensor, TensorType, check_shape
from .operators.record import REQUIRED, Call, Op, Operand, grouped, parse_operands
from .operators.table import OPERATORS

__all__ = ["Builder"]

Operands = Iterable[tuple[str, str]]
_Results = tuple[TensorType | DType, ...]


class Builder:
    """Collects tensors and nodes in execution order; ``graph()`` freezes them.

    ``operators`` is the table that names are looked up in, ``file_node`` what the nodes that are added next come from.  Ids
    and node names that are taken already get a suffix through ``unused``; everything else that does not fit raises
    ``GraphError`` with the node's name.
    """

    def __init__(self, name: str, operators: Mapping[str, Op] = OPERATORS) -> None:
        self.name = name
        self.operators = operators
        self.tensors: dict[str, Tensor] = {}
        self.nodes: list[Node] = []
        self.inputs: list[str] = []
        self.notes: list[str] = []
        self.file_node: FileNode | None = None
        self._names: set[str] = set()
        self._numbers: dict[str, int] = {}  # where the search for a free number goes on
        self._types: dict[str, TensorType] = {}  # by tensor id; equal ones are one object
        self._kinds: dict[tuple[Shape, str], TensorType] = {}
        self._results: dict[tuple[object, ...], tuple[Mapping[str, Attribute], _Results]] = {}

    def unused(self, name: str) -> str:
        """``name``, or ``name`` with the first free number behind it, reserved as a node name."""
        if name and name not in self._names:
            self._names.add(name)
            return name
        wanted = name or "node"
        candidate, number = wanted, self._numbers.get(wanted, 1)
        while candidate in self._names:
            number += 1
            candidate = f"{wanted}#{number}"
        self._names.add(candidate)
        self._numbers[wanted] = number
        return candidate

    def input(self, tensor_id: str, shape: Shape | None, dtype: DType) -> str:
        """Declare an input of the graph; returns its id."""
        self.inputs.append(self._tensor(Tensor(tensor_id, shape, dtype, Role.INPUT)))
        return tensor_id

    def stored(self, tensor_id: str, shape: Shape, dtype: DType, role: Role = Role.PARAMETER) -> str:
        """Declare a tensor kept with the model; returns its id."""
        return self._tensor(Tensor(tensor_id, shape, dtype, role))

    def state(self, tensor_id: str, shape: Shape | None, dtype: DType) -> str:
        """Declare a variable, which keeps its value from one inference to the next; returns its id."""
        return self._tensor(Tensor(tensor_id, shape, dtype, Role.STATE))

    def add(
        self,
        operator: str,
        operands: Operands,
        attributes: Mapping[str, Attribute] | None = None,
        *,
        name: str = "",
        outputs: Sequence[str] = (),
        declared: Sequence[TensorType | DType | None] = (),
        scope: str = "",
        origin: str = "",
    ) -> tuple[str, ...]:
        """Add one call of an operator and return the ids of its outputs.

        ``operands`` are (operand name, tensor id) pairs.  ``outputs`` are the ids to use, "" for one that is not kept;
        by default the node's name, numbered from the second on.  ``declared`` are types known from elsewhere, or element
        types alone, used only where the rule cannot tell: an operand of unknown shape, or a shape that depends on values.
        """
        op = self.operators.get(operator)
        if op is None:
            raise GraphError(f"there is no operator {operator!r}", where=name)
        node_name = self.unused(name or operator)
        pairs = tuple(operands)
        complete, results = self._inferred(op, node_name, pairs, attributes or {})
        if results is None:
            dtype = self.tensors[pairs[0][1]].dtype
            results = tuple(known if known is not None else dtype for known in declared or (None,))
        elif declared and any(declared):
            results = tuple(
                known if isinstance(result, DType) and known is not None else result
                for result, known in zip(results, (*declared, *([None] * len(results))), strict=False)
            )
        ids = self._outputs(node_name, results, outputs)
        self.nodes.append(Node(node_name, operator, pairs, ids, complete, scope, origin, file_node=self.file_node))
        return ids

    def opaque(
        self,
        operator: str,
        operands: Operands,
        results: Sequence[TensorType | DType | None],
        *,
        name: str = "",
        outputs: Sequence[str] = (),
        attributes: Mapping[str, Attribute] | None = None,
        bodies: Sequence[Body] = (),
        scope: str = "",
        origin: str = "",
        reason: str = "",
    ) -> tuple[str, ...]:
        """Add a node that no rule describes (``UNKNOWN``), or one with bodies.

        ``results`` are the types of its outputs, the element type alone where the shape is not known, or None.
        """
        node_name = self.unused(name or operator)
        types = [result if result is not None else DTYPES["opaque"] for result in results]
        ids = self._outputs(node_name, types, outputs)
        if operator == UNKNOWN and not reason:
            reason = "there is no rule for this operator"
        self.nodes.append(
            Node(
                node_name,
                operator,
                tuple(operands),
                ids,
                attributes or {},
                scope,
                origin,
                tuple(bodies),
                (),
                reason,
                self.file_node,
            )
        )
        return ids

    def merge(self, between: str) -> None:
        """Merge the last node, a unary function of ``between``, into the one before it, if that makes ``between`` alone.

        For a format whose operators apply such functions themselves: the two are one node then, as it is after the pass that
        merges them elsewhere, and ``between`` is no tensor.
        """
        producer, function = self.nodes[-2:]
        if producer.outputs == (between,) and producer.operator != UNKNOWN:
            self.nodes[-2:] = [replace(producer, outputs=function.outputs, fused=(*producer.fused, function))]
            del self.tensors[between]
            self._types.pop(between, None)

    def take_back(self, start: int) -> None:
        """Forget the nodes from position ``start`` on, their outputs and their names."""
        for node in self.nodes[start:]:
            self._names.discard(node.name)
            for tensor in node.outputs:
                del self.tensors[tensor]
                self._types.pop(tensor, None)
        del self.nodes[start:]

    def retype(self, tensor_id: str, dtype: DType) -> None:
        """Give a tensor another element type: that of a framework whose promotion of types is its own."""
        self.tensors[tensor_id] = tensor = replace(self.tensors[tensor_id], dtype=dtype)
        self._learn(tensor)

    def graph(self, outputs: Sequence[str]) -> Graph:
        """The finished graph."""
        return Graph(self.name, self.tensors, tuple(self.nodes), tuple(self.inputs), tuple(outputs), tuple(self.notes))

    def _tensor(self, tensor: Tensor) -> str:
        tensor_id = tensor.id
        if tensor_id in self.tensors:
            raise GraphError(f"there are two tensors called {tensor_id!r}", where=self.name)
        self._learn(tensor)
        self.tensors[tensor_id] = tensor
        return tensor_id

    def _learn(self, tensor: Tensor) -> TensorType | None:
        """The type of a tensor, equal ones as one object; None where its shape is unknown.  A new shape is checked."""
        shape = tensor.shape
        if shape is None:
            return None
        key = shape, tensor.dtype.name
        kind = self._kinds.get(key)
        if kind is None:
            check_shape(tensor, self.name)
            kind = self._kinds[key] = TensorType(shape, tensor.dtype)
        self._types[tensor.id] = kind
        return kind

    def type_of(self, tensor_id: str) -> TensorType | None:
        """The type of a tensor; None where its shape is unknown or it does not exist."""
        tensor = self.tensors.get(tensor_id)
        return None if tensor is None else self._types.get(tensor_id) or self._learn(tensor)

    def _inferred(
        self, op: Op, name: str, pairs: tuple[tuple[str, str], ...], given: Mapping[str, Attribute]
    ) -> tuple[Mapping[str, Attribute], _Results | None]:
        """Complete attributes and what the rule says of a call; None for results where an operand's shape is unknown.

        Networks repeat themselves, so a rule is asked once for equal types and attributes.
        """
        known = self._types
        signature: list[object] = [op.name]
        for operand, tensor in pairs:
            kind = known.get(tensor) or self.type_of(tensor)
            if kind is None:
                return self._call(op, name, pairs, given).attributes, None
            signature += operand, id(kind)
        if given:
            # True, 1 and 1.0 are equal and print differently: the types of the values belong to the key.
            signature += given.items()
            signature += map(type, given.values())
        key = tuple(signature)
        found = self._results.get(key)
        if found is None:
            call = self._call(op, name, pairs, given)
            try:
                found = self._results[key] = call.attributes, op.infer(call)
            except GraphError as error:
                raise error.at(name) from None
        return found

    def _call(self, op: Op, name: str, pairs: tuple[tuple[str, str], ...], given: Mapping[str, Attribute]) -> Call:
        types: list[tuple[str, TensorType]] = []
        slots = _slots(op.operands)
        for operand, tensor_id in pairs:
            if operand not in slots:
                raise GraphError(f"{op.name} has no operand {operand!r}", where=name)
            if tensor_id not in self.tensors:
                raise GraphError(f"the operand {operand} reads {tensor_id!r}, which does not exist", where=name)
            types.append((operand, self.type_of(tensor_id) or _UNKNOWN_TYPE))
        operands = grouped(types)
        for slot in slots.values():
            if len(operands.get(slot.name, ())) > 1 and not slot.variadic:
                raise GraphError(f"{op.name} takes one operand {slot.name}", where=name)
            if slot.name not in operands and not slot.optional and not slot.variadic:
                raise GraphError(f"{op.name} lacks its operand {slot.name}", where=name)
        return Call(operands, _complete(op, name, given))

    def _outputs(self, name: str, results: Sequence[TensorType | DType], ids: Sequence[str]) -> tuple[str, ...]:
        made = []
        for index, result in enumerate(results):
            tensor_id = (ids[index] if index < len(ids) else "") or (name if index == 0 else f"{name}:{index}")
            if isinstance(result, TensorType):
                made.append(self._tensor(Tensor(tensor_id, result.shape, result.dtype)))
            else:
                made.append(self._tensor(Tensor(tensor_id, None, result)))
        return tuple(made)


_UNKNOWN_TYPE = TensorType((), DTYPES["opaque"])


@cache
def _slots(operands: str) -> dict[str, Operand]:
    return {slot.name: slot for slot in parse_operands(operands)}


def _complete(op: Op, name: str, given: Mapping[str, Attribute]) -> dict[str, Attribute]:
    for key in given:
        if key not in op.attributes:
            raise GraphError(f"{op.name} has no attribute {key!r}", where=name)
    complete = {**op.attributes, **given}
    for key, value in complete.items():
        if value == REQUIRED:
            raise GraphError(f"{op.name} needs the attribute {key!r}", where=name)
    return complete
