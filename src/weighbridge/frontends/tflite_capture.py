"""Walks the operators of a TensorFlow Lite model and builds ours.

A tensor is named as the file names it.  Operators have no names there: a node has that of its first result.  Buffers that
several tensors share are one storage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from weighbridge.builder import Builder
from weighbridge.dtypes import DType
from weighbridge.errors import BadModel, GraphError
from weighbridge.frontends import tflite_control
from weighbridge.frontends.foreign import Foreign, Held, Rule, Step
from weighbridge.frontends.fresh_names import MAX_NAME, Names
from weighbridge.frontends.tflite_calls import (
    DAMAGED,
    Asker,
    activated,
    agrees,
    called,
    every_operand,
    handed_over,
    in_words,
    is_static,
    opaque_types,
    origin_of,
    scope_of,
    stated_type,
    stated_types,
)
from weighbridge.frontends.tflite_expansion import Expansion
from weighbridge.frontends.tflite_frame import Frame
from weighbridge.frontends.tflite_functions import applied
from weighbridge.frontends.tflite_loops import Loops
from weighbridge.frontends.tflite_model import Operator, Quantisation, TfliteModel, TfliteTensor
from weighbridge.frontends.tflite_table import RULES, custom_rule
from weighbridge.frontends.tflite_values import Values
from weighbridge.graph import UNKNOWN, Attribute, Role, Shape, Tensor, TensorType

__all__ = ["Capture"]


class Capture:
    """One model while it is read.  Tensor ids are unique over the graph and all bodies.

    ``nodes`` has the name of the node of each operator, by (subgraph, operator), and ``tensors`` the ids of tensors by (subgraph,
    tensor), of the first call where a subgraph is called several times.
    """

    def __init__(self, model: TfliteModel, *, trusts_shapes: bool) -> None:
        self.model = model
        self.trusts_shapes = trusts_shapes
        self.names = Names()
        self.node_names = Names()
        self.notes: list[str] = []
        self.contradictions: list[str] = []
        self.static: set[str] = set()
        self.quantised: set[str] = set()
        self.stored: dict[str, TfliteTensor] = {}
        self.values = Values(model, self.quantised)
        self.loops = Loops(model)
        self.variables: dict[tuple[str, ...], str] = {}
        self.handles: set[str] = set()
        self.nodes: dict[tuple[int, int], str] = {}
        self.tensors: dict[tuple[int, int], str] = {}
        self.reached: set[int] = set()
        self.root: Builder | None = None
        self.scales: dict[
            str, list[tuple[str, str]]
        ] = {}  # operands, by the id of the tensor that they are the scales of
        self.equal_bytes: list[tuple[str, int]] = []
        self._buffers: set[int] = set()
        self._storages: dict[tuple[int, int, str, Quantisation | None], Tensor] = {}
        self._states: dict[str, Tensor] = {}
        self._holds: dict[tuple[int, int, str], str] = {}
        self.expansion = Expansion(model)

    # Tensors

    def find(self, frame: Frame, number: int, where: str) -> str:
        """The id of a tensor, "" for one that is absent.  Raises ``BadModel`` where nothing has made it yet."""
        if number < 0:
            return ""
        found = frame.ids.get(number)
        if found is not None:
            return found
        tensor = frame.graph.tensors[number]
        if tensor.is_stored or 0 in (tensor.shape or ()):
            return self._bind(frame, number, self._store(frame, tensor))
        if tensor.is_variable:
            # However often a subgraph is called, its variables are the same.
            state, kind = self.tensors.get((frame.subgraph, number)), self.type_of(tensor)
            return self._bind(
                frame, number, self.state(frame, state or self.fresh(frame, tensor), kind.shape, kind.dtype)
            )
        what = f"reads tensor {number} ({tensor.name[:MAX_NAME]!r}), which no operator before it makes"
        hint = "its operators are out of order, or in a circle: convert the model again"
        raise BadModel(what, where=where, hint=hint)

    def type_of(self, tensor: TfliteTensor) -> TensorType:
        """The type that the file states.  Raises ``BadModel`` where it leaves a size open."""
        kind = TensorType(tensor.shape or (), tensor.dtype)
        if -1 in kind.shape:
            what = f"the tensor {tensor.number} ({tensor.name[:MAX_NAME]!r}) has the shape {in_words(kind.shape)}"
            raise BadModel(what, hint=DAMAGED)
        return kind

    def stated(self, frame: Frame, operator: Operator) -> list[TensorType]:
        """The types that the file states of the results of an operator, with -1 for sizes that it leaves open."""
        return [stated_type(frame.graph.tensors[number]) for number in operator.outputs]

    def fresh(self, frame: Frame, tensor: TfliteTensor) -> str:
        """A new id for a tensor."""
        return self.names.fresh((frame.path + (tensor.name or f"tensor_{tensor.number}"))[:MAX_NAME])

    def _bind(self, frame: Frame, number: int, tensor_id: str) -> str:
        frame.ids[number] = tensor_id
        self.tensors.setdefault((frame.subgraph, number), tensor_id)
        if frame.graph.tensors[number].quantisation is not None:
            self.quantised.add(tensor_id)
        return tensor_id

    def bind(self, frame: Frame, number: int, tensor_id: str, where: str) -> None:
        """State that a tensor is ``tensor_id`` from here on.  Raises ``BadModel`` where it has been made already."""
        if number in frame.ids:
            what = f"makes tensor {number} ({frame.graph.tensors[number].name[:MAX_NAME]!r}), which exists already"
            raise BadModel(what, where=where, hint=DAMAGED)
        self._bind(frame, number, tensor_id)

    def _store(self, frame: Frame, tensor: TfliteTensor) -> str:
        """A stored tensor, made visible in the frame; tensors of one buffer and type are one, and views of it.

        Equal whole numbers of other scales are other values, even where a converter keeps their bytes once, as it does with
        biases that are all zero.
        """
        kind = self.type_of(tensor)
        key = tensor.buffer, kind.elements, kind.dtype.name, tensor.quantisation
        first = self._storages.get(key)
        if first is None:
            self._note_equal_bytes(tensor, kind)
            first = self._storages[key] = Tensor(self.fresh(frame, tensor), kind.shape, kind.dtype, Role.CONSTANT)
            self.stored[first.id] = tensor
            self.values.store(first.id, tensor)
            self._check_size(tensor, kind)
            self._store_scales(frame, tensor, first.id)
        stored = first.id
        if stored not in frame.builder.tensors:
            # The role is decided by what reads it, once everything is there (onnx_roles).
            frame.builder.stored(stored, first.shape or (), first.dtype, Role.CONSTANT)
        if first.shape != kind.shape:
            view = self.fresh(frame, tensor)
            self.stored[view] = tensor
            self.values.store(view, tensor)
            same: dict[str, Attribute] = {"shape": kind.shape, "allow_zero": True}
            (stored,) = frame.builder.add("reshape", [("x", stored)], same, name=view, outputs=(view,))
        self.static.update((first.id, stored))
        return stored

    def _note_equal_bytes(self, tensor: TfliteTensor, kind: TensorType) -> None:
        """Remember a tensor whose bytes another has, too, with other scales."""
        if tensor.buffer in self._buffers:
            self.equal_bytes.append((tensor.name[:MAX_NAME], kind.bytes or 0))
        self._buffers.add(tensor.buffer)

    def _store_scales(self, frame: Frame, tensor: TfliteTensor, stored: str) -> None:
        """Scales and zero points that are tensors of their own: operands of what multiplies by the tensor."""
        quantisation = tensor.quantisation
        if quantisation is not None and quantisation.kind == "blockwise":
            for name, number in (("w_scale", quantisation.scales), ("w_zero_point", quantisation.zero_points)):
                if number >= 0 and frame.graph.tensors[number].is_stored:
                    scale = self.find(frame, number, tensor.name[:MAX_NAME])
                    self.scales.setdefault(stored, []).append((name, scale))

    def _check_size(self, tensor: TfliteTensor, kind: TensorType) -> None:
        if tensor.sparse_values is not None:
            stored = f"{tensor.sparse_values:,} of {kind.elements:,} values"
            self.notes.append(f"{tensor.name[:MAX_NAME]} is stored sparse: {stored}; it counts with all of them")
            return
        held, needed = tensor.data[1] if tensor.data is not None else tensor.external_bytes, kind.bytes
        if needed is not None and held < needed:
            what = f"the tensor {tensor.number} ({tensor.name[:MAX_NAME]!r}) has {held:,} bytes where its shape needs {needed:,}"
            raise BadModel(what, hint=DAMAGED)

    def state(self, frame: Frame, state: str, shape: Shape | None, dtype: DType) -> str:
        """A variable, of this type unless it is known already, made visible in the frame."""
        known = self._states.setdefault(state, Tensor(state, shape, dtype, Role.STATE))
        if state not in frame.builder.tensors:
            frame.builder.state(state, known.shape, known.dtype)
        return state

    def value_of(self, tensor_id: str) -> tuple[Any, ...] | None:
        """The values of a tensor; None where they are not known before inference."""
        return self.values.operand(tensor_id)

    def expose(self, frame: Frame, builder: Builder, tensor_id: str) -> bool:
        """Make a tensor visible in the builder of a body; True where it runs, so that it is an input of the body."""
        tensor = frame.builder.tensors.get(tensor_id)
        if tensor is None:
            return False  # absent, or a handle
        if tensor_id not in builder.tensors:
            if tensor.role.is_stored:
                builder.stored(tensor_id, tensor.shape or (), tensor.dtype, tensor.role)
            elif tensor.role is Role.STATE:
                builder.state(tensor_id, tensor.shape, tensor.dtype)
            else:
                builder.input(tensor_id, tensor.shape, tensor.dtype)
        return builder.tensors[tensor_id].role is Role.INPUT

    # Operators

    def operators(self, frame: Frame) -> None:
        """Add all operators of a subgraph."""
        self.reached.add(frame.subgraph)
        if not frame.depth:
            self.root = frame.builder
        for operator in frame.graph.operators:
            self.operator(frame, operator)

    def operator(self, frame: Frame, operator: Operator) -> None:
        name = self.node_name(frame, operator)
        self.nodes.setdefault((frame.subgraph, operator.number), name)
        if frame.file_nodes:
            frame.builder.file_node = frame.file_nodes[operator.number]
        if frame.depth:
            self.expansion.add(operator, name)
        special = tflite_control.SPECIAL.get(operator.op)
        if special is not None:
            special(self, frame, operator, name)
            return
        self.translate(frame, operator, self.call(frame, operator, name))

    def node_name(self, frame: Frame, operator: Operator) -> str:
        """That of its first result, up to the first of several names that a converter joined."""
        first = frame.graph.tensors[operator.outputs[0]].name if operator.outputs else ""
        return self.node_names.node(f"{frame.path}", first.partition(";")[0], called(operator))

    def inputs(self, frame: Frame, operator: Operator, name: str) -> tuple[str, ...]:
        for number in handed_over(frame, operator) if frame.builder is self.root else ():
            tensor_id, kind = self.fresh(frame, frame.graph.tensors[number]), self.type_of(frame.graph.tensors[number])
            self.notes.append(f"nothing makes {tensor_id}, which {called(operator)} reads: it counts as an input")
            self._bind(frame, number, frame.builder.input(tensor_id, kind.shape, kind.dtype))
        return tuple([self.find(frame, number, name) for number in operator.inputs])

    def outputs(self, frame: Frame, operator: Operator, name: str) -> tuple[str, ...]:
        """New ids for the results of an operator."""
        made = []
        for number in operator.outputs:
            made.append(self.fresh(frame, frame.graph.tensors[number]))
            self.bind(frame, number, made[-1], name)
        return tuple(made)

    def call(self, frame: Frame, operator: Operator, name: str) -> Foreign:
        inputs = tuple([one if one in frame.builder.tensors else "" for one in self.inputs(frame, operator, name)])
        attributes: dict[str, Any] = dict(operator.options)
        if operator.custom_options is not None:
            start, count = operator.custom_options
            attributes["custom_options"] = self.model.data[start : start + count]
        function = applied(self.model, operator)
        if function is not None:
            self.reached.add(function[0])
            attributes["function"] = function[1]
        return Foreign(
            name,
            "",
            operator.custom or operator.op,
            inputs,
            self.outputs(frame, operator, name),
            attributes,
            operator.version,
            Asker(self, frame),
            self.stated(frame, operator),
        )

    def translate(self, frame: Frame, operator: Operator, call: Foreign) -> None:
        """Add what the table says a call is; without a rule, or where the file's shapes do not fit it, it stays, unknown and named."""
        rule = custom_rule(operator.custom) if operator.op == "CUSTOM" else RULES.get(operator.op)
        start = len(frame.builder.nodes)
        try:
            if rule is None:
                raise GraphError(f"there is no rule for {origin_of(operator)}")
            self._steps(frame, operator, call, rule)
        except GraphError as error:
            if rule is not None and not self.trusts_shapes:
                raise  # the sizes are the user's: it is for him to give others
            frame.builder.take_back(start)
            self.static.difference_update(call.outputs)
            self._set_aside(
                frame, operator, call, Step(UNKNOWN, every_operand(call), {}, call.outputs, reason=error.what)
            )

    def _steps(self, frame: Frame, operator: Operator, call: Foreign, rule: Rule) -> None:
        steps, before = activated(call, rule)
        types = dict(zip(call.outputs, stated_types(self, frame, operator), strict=True))
        for step in steps:
            if step.operator == UNKNOWN:
                self._set_aside(frame, operator, call, step, before)
            else:
                self._add(frame, operator, call, step, before, types)
        if before:
            frame.builder.merge(before)
        self._leftovers(frame, operator, call)
        for stated, tensor in zip(call.stated, call.outputs, strict=True):
            if frame.builder.tensors[tensor].dtype != stated.dtype:
                frame.builder.retype(tensor, stated.dtype)
        self.check(frame, operator, call.outputs)
        self.values.make(call, frame.builder.tensors)

    def _add(
        self,
        frame: Frame,
        operator: Operator,
        call: Foreign,
        step: Step,
        before: str,
        types: Mapping[str, TensorType | DType],
    ) -> None:
        builder = frame.builder
        is_last = step.outputs is call.outputs or call.outputs[:1] == tuple(step.outputs[:1])
        # The node has the operator's name, the function that it applies to its result one of its own.
        is_main = before in step.outputs if before else is_last
        name = call.name if is_main else self.node_names.fresh(f"{call.name}.{step.operator}")
        declared = step.declared or [types.get(one) for one in step.outputs]
        outputs = [one or self.names.fresh(f"{name}:{index}") for index, one in enumerate(step.outputs)]
        operands = [*step.operands, *((one.operand, self._held(frame, operator, one)) for one in step.held)]
        operands += [
            scale for operand, tensor in step.operands if operand == "w" for scale in self.scales.get(tensor, ())
        ]
        made = builder.add(
            step.operator,
            operands,
            step.attributes,
            name=name,
            outputs=outputs,
            declared=declared,
            scope=scope_of(frame, call.name),
            origin=origin_of(operator),
        )
        if is_static(builder, step.operator, operands, made, self.static):
            self.static.update(made)

    def _held(self, frame: Frame, operator: Operator, one: Held) -> str:
        """What a call holds in its options, as a stored tensor; however often its subgraph is called, it is the same."""
        key = frame.subgraph, operator.number, one.name
        stored = self._holds.get(key)
        if stored is None:
            stored = self._holds[key] = self.names.fresh(f"{self.nodes[key[:2]]}.{one.name}")
        if stored not in frame.builder.tensors:
            frame.builder.stored(stored, one.kind.shape, one.kind.dtype, Role.CONSTANT)
        self.static.add(stored)
        return stored

    def _set_aside(self, frame: Frame, operator: Operator, call: Foreign, step: Step, before: str = "") -> None:
        """Add what nobody can count, with the types that its rule knows, or that the file states of its results."""
        is_whole = step.outputs is call.outputs or before in step.outputs
        stated = opaque_types(self, frame, operator) if is_whole else ()
        known = [*step.declared, *[None] * (len(step.outputs) - len(step.declared))]
        frame.builder.opaque(
            UNKNOWN,
            step.operands,
            [one or said for one, said in zip_longest(known, stated[: len(known)])],
            name=call.name if is_whole else self.node_names.fresh(f"{call.name}.{operator.op}"),
            outputs=[one or self.names.fresh(f"{call.name}:{index}") for index, one in enumerate(step.outputs)],
            scope=scope_of(frame, call.name),
            origin=origin_of(operator),
            reason=step.reason,
        )

    def _leftovers(self, frame: Frame, operator: Operator, call: Foreign) -> None:
        """Results that the rule does not have stay as what nobody counts."""
        left = [index for index, tensor in enumerate(call.outputs) if tensor not in frame.builder.tensors]
        if not left:
            return
        types = opaque_types(self, frame, operator)
        which = f"result {left[0]}" if len(left) == 1 else f"results {left[0]} to {left[-1]}"
        frame.builder.opaque(
            UNKNOWN,
            every_operand(call),
            [types[index] for index in left],
            name=self.node_names.fresh(f"{call.name}.{left[0]}"),
            outputs=[call.outputs[index] for index in left],
            scope=scope_of(frame, call.name),
            origin=origin_of(operator),
            reason=f"there is no rule for {which} of {origin_of(operator)}",
        )

    def check(self, frame: Frame, operator: Operator, made: Sequence[str]) -> None:
        """Compare our shapes with those that the file states."""
        if not self.trusts_shapes:
            return
        for number, tensor_id in zip(operator.outputs, made, strict=False):
            tensor = frame.graph.tensors[number]
            ours = frame.builder.tensors[tensor_id].shape if tensor_id in frame.builder.tensors else None
            if ours is not None and not agrees(tensor, ours):
                said = in_words(stated_type(tensor).shape)
                self.contradictions.append(f"{tensor_id} is {in_words(ours)}, the file says {said}")
