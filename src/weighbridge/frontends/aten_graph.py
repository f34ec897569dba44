"""A PyTorch program as a graph: calls become nodes through the table, and our shapes are compared with PyTorch's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from weighbridge.builder import Builder
from weighbridge.errors import GraphError
from weighbridge.frontends.aten_call import AtenCall, Program, refs, translate
from weighbridge.frontends.aten_table import rule_of
from weighbridge.frontends.foreign import Step
from weighbridge.graph import UNKNOWN, Graph, Role

__all__ = ["build"]

_MOST_NAMES = 5


def build(program: Program) -> Graph:
    """The graph of a program.  What no rule describes stays as an ``UNKNOWN`` node with the types that PyTorch made."""
    builder = Builder(program.name)
    for tensor in program.tensors:
        if tensor.role is Role.INPUT:
            builder.input(tensor.id, tensor.type.shape, tensor.type.dtype)
        else:
            builder.stored(tensor.id, tensor.type.shape, tensor.type.dtype, tensor.role)
    translation = _Translation(builder)
    for call in program.calls:
        translation.add(call)
    graph = builder.graph([translation.found(tensor) for tensor in program.outputs])
    notes = (*program.notes, *_unused(program), *_training(graph), *graph.notes)
    return replace(graph, capture=program.capture, notes=notes, allocations=program.allocations, blocks=program.blocks)


def _unused(program: Program) -> Iterator[str]:
    """Says which parameters no call reads."""
    read = {tensor for call in program.calls for tensor in refs(call.arguments.values())}
    unread = [tensor for tensor in program.tensors if tensor.role is Role.PARAMETER and tensor.id not in read]
    unread = [tensor for tensor in unread if tensor.id not in program.outputs]
    if unread:
        names = ", ".join(tensor.id for tensor in unread[:_MOST_NAMES])
        more = f" and {len(unread) - _MOST_NAMES} more" if len(unread) > _MOST_NAMES else ""
        elements = sum(tensor.type.elements for tensor in unread)
        what = "1 parameter" if len(unread) == 1 else f"{len(unread)} parameters"
        yield f"this forward pass does not use {what} with {elements:,} values: {names}{more}"


def _training(graph: Graph) -> Iterator[str]:
    """Says where a module in training mode costs something else than at inference: its batch norms cannot be folded."""
    in_training = [node for node in graph.nodes if node.attributes.get("training") and "mean" in dict(node.operands)]
    if in_training:
        count = f"{len(in_training)} batch norm{'s' if len(in_training) > 1 else ''} in training mode"
        yield f"{count}: with the statistics of the batch, so that nothing is folded; call eval() on the module for inference"


class _Translation:
    """The calls of one program, one after the other; ``aliases`` are tensors that are another under a second id."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.aliases: dict[str, str] = {}

    def found(self, tensor: str) -> str:
        """The id in the graph of a tensor of the program."""
        return self.aliases.get(tensor, tensor)

    def add(self, call: AtenCall) -> None:
        """Add the nodes of a call: all that its rule says, or one unknown node."""
        self.builder.file_node = call.file_node
        rule = rule_of(call.op, call.overload)
        if rule is None:
            self._unknown(call, f"there is no rule for {call.op}")
            return
        start = len(self.builder.nodes)
        try:
            steps = translate(call, rule)
            if not steps:
                self._alias(call)
                return
            for step in steps:
                self._step(call, step)
            self._compare(call)
        except GraphError as error:
            self.builder.take_back(start)
            self._unknown(call, error.what)

    def _alias(self, call: AtenCall) -> None:
        first = next(refs(call.arguments.values()), None)
        if first is None:
            raise GraphError(f"{call.op} has no operand that its result could be", where=call.name)
        for tensor in call.outputs:
            if tensor:
                self.aliases[tensor] = self.found(first)

    def _step(self, call: AtenCall, step: Step) -> None:
        ours = set(call.outputs)
        is_last = any(tensor and tensor in ours for tensor in step.outputs) or step.outputs is call.outputs
        made = dict(zip(call.outputs, call.made, strict=False))
        self.builder.add(
            step.operator,
            [(operand, self.found(tensor)) for operand, tensor in step.operands],
            step.attributes,
            name=call.name if is_last else f"{call.name}.{step.operator}",
            outputs=[tensor or call.inner(f"unread.{place}") for place, tensor in enumerate(step.outputs)],
            declared=step.declared or tuple(made.get(tensor) for tensor in step.outputs),
            scope=call.scope,
            origin=call.op,
        )

    def _compare(self, call: AtenCall) -> None:
        """Hold our shapes against PyTorch's; the element types are PyTorch's, whose promotion is its own."""
        tensors = self.builder.tensors
        for tensor, made in zip(call.outputs, call.made, strict=True):
            if not tensor:
                continue
            ours = tensors.get(tensor)
            if ours is None:
                raise GraphError(f"the rule for {call.op} does not make all of its results", where=call.name)
            if ours.shape != made.shape:
                raise GraphError(f"our rule for {call.op} gives {_text(ours.shape)}, PyTorch {_text(made.shape)}")
            if ours.dtype is not made.dtype:
                self.builder.retype(tensor, made.dtype)

    def _unknown(self, call: AtenCall, reason: str) -> None:
        operands = dict.fromkeys(map(self.found, refs(call.arguments.values())))
        self.builder.opaque(
            UNKNOWN,
            [("inputs", tensor) for tensor in operands],
            call.made,
            name=call.name,
            outputs=[tensor or call.inner(f"unread.{place}") for place, tensor in enumerate(call.outputs)],
            scope=call.scope,
            origin=call.op,
            reason=reason,
        )


def _text(shape: tuple[int, ...] | None) -> str:
    return "an unknown shape" if shape is None else "x".join(map(str, shape)) or "a scalar"
