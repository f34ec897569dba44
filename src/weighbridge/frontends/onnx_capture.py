"""Walks the nodes of an ONNX model and builds ours.

What the file stores (initialisers, Constant nodes, ConstantOfShape nodes whose shape is known) becomes stored tensors; the
shape of a tensor with known sizes is a constant too.  Everything else becomes the steps that the table says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from math import prod
from typing import Any

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import BadModel
from weighbridge.frontends import onnx_constants, onnx_control, onnx_generation, onnx_sequences, onnx_training
from weighbridge.frontends.declared import Declared
from weighbridge.frontends.foreign import Foreign, Held, Step, translate
from weighbridge.frontends.fresh_names import MAX_NAME, Names
from weighbridge.frontends.onnx_arrays import Array
from weighbridge.frontends.onnx_attributes import Attributes, attributes_of
from weighbridge.frontends.onnx_expansion import Expansion, functions_of, key_of
from weighbridge.frontends.onnx_model import OnnxModel
from weighbridge.frontends.onnx_names import scope_of, told_apart
from weighbridge.frontends.onnx_scope import (
    Record,
    Scope,
    graphs_of,
    in_order,
    records_of,
    stored_elements,
)
from weighbridge.frontends.onnx_table import RULES
from weighbridge.frontends.onnx_tensors import check_payload, dtype_of, type_of
from weighbridge.frontends.onnx_types import declared_type
from weighbridge.frontends.onnx_values import Asker, Values
from weighbridge.graph import MAX_DIMENSION, UNKNOWN, FileNode, Role, TensorType

__all__ = ["MAX_EXPANDED", "Capture"]

MAX_EXPANDED = 200_000
"""Nodes that functions and repeated bodies may grow to: functions that call functions can double at every level."""
NEWEST_OPSET = 28
_CHECKED = frozenset({"", "com.microsoft"})
"""Domains whose operators have attributes of one kind by name (onnx_attributes)."""


class Capture:
    """One model while it is read.  Tensor ids are unique over the graph and all bodies.

    ``origins`` says of stored tensors where they came from: "" for an initialiser, else the operator that held them.
    """

    def __init__(self, model: OnnxModel, symbols: Mapping[str, int], *, trusts_shapes: bool) -> None:
        self.model = model
        self.symbols = symbols
        self.trusts_shapes = trusts_shapes
        self.names = Names()
        self.values = Values(model)
        self.attributes = Attributes()
        self.notes: list[str] = []
        self.static: set[str] = set()
        self.read: set[str] = set()
        self.origins: dict[str, str] = {}
        self.sequences: dict[str, tuple[onnx_control.Shaped, ...]] = {}  # what is in one that the graph puts together
        self.walks = onnx_training.Walks()
        self._storages: dict[Any, tuple[Any, str]] = {}
        self._kinds: dict[tuple[Any, int], TensorType] = {}
        self.functions = functions_of(model.proto.functions)
        self.expansion = Expansion(self.functions)
        self.expanded = 0
        self.contradictions: list[str] = []
        names = enumerate(told_apart(model.proto.graph.node, graphs_of))
        self.file_nodes = [FileNode(model.proto.graph.name or "<main>", position, name) for position, name in names]

    # What a graph stores and declares

    def open(self, scope: Scope, graph: Any) -> None:
        """Take in what a graph stores and what it says about the types of its tensors."""
        for tensor in graph.initializer:
            self.store(scope, tensor.name, tensor)
        for sparse in graph.sparse_initializer:
            self.store_sparse(scope, sparse)
        scope.declared.update((one.name, one.type) for one in graph.value_info)
        scope.declared.update((one.name, one.type) for one in graph.output)

    def store(self, scope: Scope, name: str, tensor: Any, origin: str = "") -> None:
        """Bind ``name`` to a TensorProto."""
        key = tuple(tensor.dims), tensor.data_type
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = type_of(tensor)
        check_payload(tensor, kind)
        self.values.store(self.place(scope, name, kind, origin, tensor), tensor)

    def hold(self, scope: Scope, name: str, array: Array, origin: str, held: Any = None) -> None:
        """Bind ``name`` to a tensor whose value is known."""
        kind = TensorType(array.shape, DTYPES[array.dtype])
        self.values.set(self.place(scope, name, kind, origin, held, array.values), array)

    def place(self, scope: Scope, name: str, kind: TensorType, origin: str, held: Any = None, values: Any = ()) -> str:
        """Bind ``name`` to a stored tensor of a type, as ``_storage`` has it; returns its id."""
        stored = self._storage(scope, name, kind, origin, held, values)
        scope.bind(name, stored, origin)
        return stored

    def _storage(self, scope: Scope, name: str, kind: TensorType, origin: str, held: Any, values: Any) -> str:
        """A stored tensor of a type; returns its id.

        ``held`` is the message of the file that it stands in, ``values`` what the caller of a function put there: where
        a function is called again, the file still holds it once, and it is the same storage.
        """
        if held is None:
            stored = self.names.fresh(name)
        else:
            key = id(held), values
            if key not in self._storages:
                # The message is kept, too: only while it lives does nothing else have its identity.
                self._storages[key] = held, self.names.fresh(name)
            stored = self._storages[key][1]
        if stored not in scope.frame.builder.tensors:
            # The role is decided by what reads it, once everything is there (onnx_roles).
            scope.frame.builder.stored(stored, kind.shape, kind.dtype, Role.CONSTANT)
        self.static.add(stored)
        self.origins[stored] = origin
        return stored

    def messages(self) -> Mapping[str, Any]:
        """The messages of the file that stored tensors stand in, by the ids of these."""
        return {stored: held for held, stored in self._storages.values()}

    def store_sparse(self, scope: Scope, sparse: Any, name: str = "", origin: str = "") -> None:
        """Bind a SparseTensorProto under its own name or another; it counts with its dense shape."""
        shape = tuple(sparse.dims)
        name = name or sparse.values.name
        if any(not 0 <= size <= MAX_DIMENSION for size in shape):
            raise BadModel(f"the sparse tensor has the shape {shape}", where=name)
        self.place(scope, name, TensorType(shape, dtype_of(sparse.values.data_type)), origin, sparse)
        held = prod(sparse.values.dims)
        self.notes.append(
            f"{name[:MAX_NAME]} is stored sparse: {held:,} of {prod(shape):,} values; it counts with all of them"
        )

    # Nodes

    def nodes(self, scope: Scope, protos: Iterable[Any], results: Iterable[str]) -> None:
        """Add a list of nodes; ``results`` are the names of what comes out."""
        # Only the outermost list looks inside its nodes, so that deep nesting is walked once and not once a level.
        scope.records = in_order(records_of(protos, looks_inside=scope.frame.depth == 0))
        scope.results = tuple(results)
        for record in scope.records:
            self.node(scope, record)

    def node(self, scope: Scope, record: Record) -> None:
        name = self.names.node(scope.path, record.name, record.op)
        if not scope.depth:
            scope.frame.builder.file_node = self.file_nodes[record.position]
        if scope.path or scope.frame.depth:
            self.expanded += 1
            self.expect(name, 0)
        inputs = tuple([scope.find(one, name) if one else "" for one in record.inputs])
        self.read.update(inputs)
        call = self._call(scope, record, name, inputs)
        function = self.functions.get(key_of(record.proto)) if self.functions else None
        if function is not None:
            onnx_control.inline(self, scope, call, record, function)
        elif (special := _SPECIAL.get(record.domain, {}).get(record.op)) is not None:
            special(self, scope, call, record)
        else:
            self.translate(scope, call, record)

    def expect(self, where: str, nodes: int) -> None:
        """Raises ``BadModel`` where this many more nodes of functions and bodies are too many."""
        if self.expanded + nodes > MAX_EXPANDED:
            what = f"functions and bodies expand to more than {MAX_EXPANDED:,} nodes"
            raise BadModel(what, where=where, hint="no known network needs that: check where the file comes from")

    def _call(self, scope: Scope, record: Record, name: str, inputs: tuple[str, ...]) -> Foreign:
        domain = record.domain
        attributes: Mapping[str, Any]
        version = scope.opsets.get(domain, 1 if domain else NEWEST_OPSET)
        if domain in _CHECKED:
            try:
                attributes = self.attributes.of(record.op, record.attributes, scope.given)
            except BadModel as error:
                raise error.at(name) from None
        else:
            attributes = attributes_of(record.attributes, scope.given)
        return Foreign(
            name,
            domain,
            record.op,
            inputs,
            (),
            attributes,
            version,
            Asker(scope.frame.builder, self.values, self.static),
        )

    def name_outputs(self, scope: Scope, call: Foreign, record: Record) -> None:
        """Give the results of a call their ids, and bind their names to them."""
        self.reserve_outputs(scope, call, record)
        self.bind_outputs(scope, call, record)

    def reserve_outputs(self, scope: Scope, call: Foreign, record: Record) -> None:
        """Give the results of a call their ids before something else takes them, such as a tensor in its body."""
        fresh, path = self.names.fresh, scope.path
        call.outputs = tuple([fresh(path + name) if name else "" for name in record.outputs])

    def bind_outputs(self, scope: Scope, call: Foreign, record: Record) -> None:
        for name, tensor in zip(record.outputs, call.outputs, strict=True):
            if name:
                scope.bind(name, tensor, call.name)

    def translate(self, scope: Scope, call: Foreign, record: Record) -> None:
        """Add what the table says a call is; without a rule it stays, unknown and named."""
        self.name_outputs(scope, call, record)
        rule = RULES.get(record.domain, {}).get(record.op)
        if rule is None:
            self.unknown(scope, call, record)
            return
        for step in translate(call, rule):
            if step.operator == UNKNOWN:
                self._set_aside(scope, call, record, step)
            else:
                self._add(scope, call, record, step)
        tensors = scope.frame.builder.tensors
        for index, tensor in enumerate(call.outputs):
            if tensor and tensor not in tensors and scope.reads(record.outputs[index]):
                self._leftover(scope, call, record, index, tensor)
        self.values.make(call, tensors)

    def _add(self, scope: Scope, call: Foreign, record: Record, step: Step) -> None:
        builder = scope.frame.builder
        is_last = step.outputs is call.outputs or call.outputs[:1] == tuple(step.outputs[:1])
        name = call.name if is_last else self.names.fresh(f"{call.name}.{step.operator}")
        # As many as there are results, which the operator's rule cannot tell of operands without a shape.
        declared = step.declared or (is_last and self.declared(scope, record)) or (None,) * len(step.outputs)
        outputs, operands = step.outputs, step.operands
        if "" in outputs:
            outputs = [one or self.names.fresh(f"{name}:{index}") for index, one in enumerate(outputs)]
        if step.held:
            operands = [*operands, *((one.operand, self._held(scope, call, record, one)) for one in step.held)]
        made = builder.add(
            step.operator,
            operands,
            step.attributes,
            name=name,
            outputs=outputs,
            declared=declared,
            scope=self.module(scope, record),
            origin=origin_of(record),
        )
        for _, tensor in operands:
            if tensor not in self.static:
                break
        else:
            if not builder.operators[step.operator].random:
                self.static.update(made)
        if is_last:
            self.check(scope, record, made)

    def _set_aside(self, scope: Scope, call: Foreign, record: Record, step: Step) -> None:
        """Add what the rule of a call says that nobody can count."""
        types: list[TensorType | DType | None] = list(step.declared)
        if step.outputs is call.outputs:
            stated = self.result_types(scope, record)
            types = [known or said for known, said in zip_longest(types, stated)]
        scope.frame.builder.opaque(
            UNKNOWN,
            step.operands,
            types,
            name=call.name if step.outputs is call.outputs else self.names.fresh(f"{call.name}.{record.op}"),
            outputs=[one or self.names.fresh(f"{call.name}:{index}") for index, one in enumerate(step.outputs)],
            scope=self.module(scope, record),
            origin=origin_of(record),
            reason=step.reason,
        )

    def _held(self, scope: Scope, call: Foreign, record: Record, one: Held) -> str:
        """What a call holds in an attribute, as a stored tensor: numbers of its own, or a tensor of the file."""
        is_message = not isinstance(one.source, tuple)
        held, values = (one.source, one.kind) if is_message else (record.proto, (one.kind, one.name, one.source))
        return self._storage(scope, f"{call.name}.{one.name}", one.kind, origin_of(record), held, values)

    def unknown(self, scope: Scope, call: Foreign, record: Record) -> None:
        """Keep a node that no rule describes, with the types that the file declares for its results.

        What its subgraphs take from outside are operands, too; what they store themselves is left out, and said so.
        """
        captures = [scope.find(name, call.name) for name in sorted(record.outer) if scope.has(name)]
        self.read.update(captures)
        stored = sum(map(stored_elements, graphs_of(record.attributes)))
        left_out = f", and its subgraphs store {stored:,} values that are not counted" if stored else ""
        outputs = [one or self.names.fresh(f"{call.name}:{index}") for index, one in enumerate(call.outputs)]
        scope.frame.builder.opaque(
            UNKNOWN,
            [("inputs", tensor) for tensor in call.inputs if tensor] + [("captures", tensor) for tensor in captures],
            self.result_types(scope, record),
            name=call.name,
            outputs=outputs,
            scope=self.module(scope, record),
            origin=origin_of(record),
            reason=f"there is no rule for {origin_of(record)}{left_out}",
        )

    def _leftover(self, scope: Scope, call: Foreign, record: Record, index: int, tensor: str) -> None:
        """A result that the operator's rule does not have, and that is read, stays as what nobody counts."""
        scope.frame.builder.opaque(
            UNKNOWN,
            [("inputs", one) for one in call.inputs if one],
            [self.result_types(scope, record)[index]],
            name=self.names.fresh(f"{call.name}.{index}"),
            outputs=[tensor],
            scope=self.module(scope, record),
            origin=origin_of(record),
            reason=f"there is no rule for result {index} of {origin_of(record)}",
        )

    def module(self, scope: Scope, record: Record) -> str:
        """The module path of a node; inside a function that of its call."""
        return scope.module or scope_of(record.name, record.proto.metadata_props)

    # Declared types

    def stated(self, scope: Scope, name: str) -> Declared | None:
        """The type that the file states for a tensor."""
        found = scope.stated.get(name)
        if found is None and name in scope.declared:
            found = scope.stated[name] = declared_type(scope.declared[name], name)
        return found

    def declared(self, scope: Scope, record: Record) -> Sequence[TensorType | None]:
        """Stated types of a node's results where they can be trusted: not once the user changed a size that the file fixes."""
        if not self.trusts_shapes:
            return ()
        if scope.declared.keys().isdisjoint(record.outputs):
            return (None,) * len(record.outputs)
        stated = [self.stated(scope, name) for name in record.outputs]
        return [None if one is None else one.type(self.symbols) for one in stated]

    def result_types(self, scope: Scope, record: Record) -> list[TensorType | DType | None]:
        """Stated types of a node's results, or the element type alone where the shape is not known."""
        stated = [self.stated(scope, name) for name in record.outputs]
        whole = self.declared(scope, record) or [None] * len(stated)
        return [None if one is None else known or one.dtype for one, known in zip(stated, whole, strict=True)]

    def check(self, scope: Scope, record: Record, made: Sequence[str]) -> None:
        """Compare our shapes with those that the file states."""
        tensors, declared = scope.frame.builder.tensors, scope.declared
        if not self.trusts_shapes or declared.keys().isdisjoint(record.outputs):
            return
        for name, tensor in zip(record.outputs, made, strict=False):
            if name not in declared:
                continue
            shape, stated = tensors[tensor].shape, self.stated(scope, name)
            if shape is not None and stated is not None and stated.contradicts(shape):
                self.contradictions.append(f"{name} is {'x'.join(map(str, shape))}, the file says {stated.text()}")


def origin_of(record: Record) -> str:
    """What the file calls the operator."""
    return (f"{record.domain}.{record.op}" if record.domain else record.op)[:MAX_NAME]


_SPECIAL: Mapping[str, Mapping[str, Any]] = {
    "": {
        "Constant": onnx_constants.constant,
        "ConstantOfShape": onnx_constants.constant_of_shape,
        **dict.fromkeys(("Shape", "Size"), onnx_constants.known_shape),
        "If": onnx_control.branch,
        "Loop": onnx_control.loop,
        "Scan": onnx_control.scan,
        **onnx_sequences.SPECIAL,
    },
    onnx_training.TRAINING_DOMAIN: onnx_training.TRAINING_SPECIAL,
    "com.microsoft": onnx_generation.SPECIAL,
}
