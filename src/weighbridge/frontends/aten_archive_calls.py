"""The nodes of an exported program as calls of PyTorch's operators.

Names, scopes and the treatment of numbers are those of ``torch_capture``, so that a module and its export give the same
program.  Nodes that compute sizes alone are gone: their values follow from the sizes of the inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from weighbridge.dtypes import DTYPES
from weighbridge.frontends.aten_archive_arguments import (
    MAX_NESTED,
    NOT_READ,
    NUMBERS,
    Frame,
    argument,
    given_tensors,
    open_size,
    result_tensors,
)
from weighbridge.frontends.aten_archive_formulas import UnknownSymbolError
from weighbridge.frontends.aten_archive_json import Place
from weighbridge.frontends.aten_archive_values import Symbols
from weighbridge.frontends.aten_call import Argument, AtenCall, AtenTensor, Ref, refs
from weighbridge.frontends.aten_recording import NUMBER_ARGUMENTS, Recording, base_name
from weighbridge.graph import FileNode, Role, TensorType
from weighbridge.named_tuple import NamedTuple

__all__ = ["Reading"]

_INLINED: Final = frozenset(
    {
        "higher_order.wrap_with_set_grad_enabled",
        "higher_order.wrap_with_autocast",
        "higher_order.invoke_subgraph",
        "higher_order.wrap",
    }
)
"""Operators that run their one graph once, as if its nodes stood in their place."""
_NOTHING: Final = TensorType((), DTYPES["opaque"])


class _Operator(NamedTuple):
    """What a node calls: ``aten.add`` in its form ``Tensor``."""

    op: str
    overload: str = ""
    is_in_place: bool = False

    @property
    def word(self) -> str:
        """Its name alone, as part of a node's name."""
        return self.op.rpartition(".")[2].strip("_")

    @property
    def makes_only_values(self) -> bool:
        """Whether a call without a tensor among its results does nothing: ATen's checks, and Python's arithmetic on sizes."""
        return self.op.startswith("aten.") or self.op.partition(".")[0] in ("_operator", "math", "torch")


def _operator(target: str) -> _Operator:
    name = target.removeprefix("torch.ops.")
    if name == target or name.startswith("higher_order."):
        return _Operator(name)
    op, _, overload = name.rpartition(".")
    if not op:
        return _Operator(name)
    return _Operator(base_name(op), overload, base_name(op) != op)


def _name(node: Place) -> str:
    """What PyTorch calls a node when it loads the program; older ones say so only where the result is one tensor.

    Nothing depends on it, so no file is refused for an odd one.
    """
    stated = node.members().get("name")
    if isinstance(stated, str):
        return stated
    results = [output.union() for output in node["outputs"].items()]
    return results[0][1]["name"].text() if [kind for kind, _ in results] == ["as_tensor"] else ""


class Reading:
    """Tensors and calls of one program.  ``paths`` are the paths of all modules, to tell those that have none inside."""

    def __init__(self, symbols: Symbols, paths: Iterable[str]) -> None:
        self.recording = Recording()
        self._symbols = symbols
        self._types: dict[str, TensorType] = {}
        self._kinds: dict[TensorType, TensorType] = {}
        self._file_node: FileNode | None = None
        names = list(paths)
        outer = {name.rpartition(".")[0] for name in names}
        self._leaves = {name for name in names if name and name not in outer}

    def frame(self, graph: Place) -> Frame:
        """The outermost frame."""
        return Frame.of(self._symbols, graph)

    def declare(self, frame: Frame, name: Place, known_as: str, role: Role) -> str:
        """A tensor that exists before the first call; returns its id."""
        kind = self._type(frame, name)
        tensor = self.recording.unused(known_as)
        self.recording.tensors[tensor] = AtenTensor(tensor, kind, role)
        self._types[tensor] = kind
        frame.ids[name.text()] = tensor
        return tensor

    def nodes(self, frame: Frame, graph: Place) -> None:
        """Read all nodes of a graph."""
        for index, node in enumerate(graph["nodes"].items()):
            if not frame.depth:
                self._file_node = FileNode("graph", index, _name(node))
            self._node(frame, node)

    def _type(self, frame: Frame, name: Place) -> TensorType:
        meta = frame.metas.get(name.text())
        if meta is None:
            raise name.fault(f"nothing is said about the tensor {name.text()!r}")
        try:
            kind = self._symbols.type(meta)
        except UnknownSymbolError as error:
            raise open_size(error.name, f"of the tensor {name.text()!r}") from None
        return self._kinds.setdefault(kind, kind)

    # Nodes

    def _node(self, frame: Frame, node: Place) -> None:
        operator = _operator(node["target"].text())
        if operator.op in _INLINED and self._inline(frame, operator, node):
            return
        results = [tensor for output in node["outputs"].items() for tensor in result_tensors(output)]
        if operator.makes_only_values and not any(results):
            return
        scope = self._scope(frame, node)
        arguments = dict(self._arguments(frame, node["inputs"]))
        read = {tensor: self._types[tensor] for tensor in refs(arguments.values())}
        name = self.recording.call_name(scope, operator.word, is_leaf=scope in self._leaves)
        outputs = [self._made(frame, name, place, result) for place, result in enumerate(results)]
        made = tuple(self._types.get(tensor, _NOTHING) for tensor in outputs)
        self.recording.calls.append(
            AtenCall(
                name, operator.op, operator.overload, arguments, tuple(outputs), made, read, scope, self._file_node
            )
        )
        if operator.is_in_place and outputs:
            self._overwrite(frame, node, outputs[0])

    def _made(self, frame: Frame, name: str, place: int, result: Place | None) -> str:
        """The id of a result; "" for one that was not made."""
        if result is None:
            return ""
        kind = self._type(frame, result)
        tensor = name if place == 0 else self.recording.unused(f"{name}:{place}")
        self._types[tensor] = kind
        frame.ids[result.text()] = tensor
        return tensor

    def _overwrite(self, frame: Frame, node: Place, output: str) -> None:
        """Later calls that read what this one wrote to read its result."""
        for one in node["inputs"].items():
            kind, value = one["arg"].union()
            if kind == "as_tensor":
                frame.ids[value["name"].text()] = output
            return

    def _scope(self, frame: Frame, node: Place) -> str:
        """The path of the innermost module: the last entry (``key,path,class``) of the node's module stack."""
        stack = node["metadata"].get("nn_module_stack")
        if stack is None:
            return frame.scope
        fields = _fields(stack.text().rpartition(";")[2])
        path = fields[1] if len(fields) > 1 else ""
        if path.startswith("_empty_nn_module_stack"):
            return frame.scope
        return path.partition("@")[0]

    def _inline(self, frame: Frame, operator: _Operator, node: Place) -> bool:
        """Read the graph inside a node in its place; false where it is not of the one kind for which that is right."""
        values = [one["arg"] for one in node["inputs"].items()]
        kinds = [value.union()[0] for value in values]
        if kinds.count("as_graph") != 1:
            return False
        at = kinds.index("as_graph")
        graph = values[at].union()[1]["graph"]
        if frame.depth >= MAX_NESTED:
            raise node.fault("graphs are nested too deeply")
        given = [tensor for value in values[at + 1 :] for tensor in given_tensors(value)]
        formal = [tensor for value in graph["inputs"].items() for tensor in given_tensors(value)]
        if len(given) != len(formal):
            return False
        inner = Frame.of(self._symbols, graph, frame.depth + 1, self._scope(frame, node))
        for outside, inside in zip(given, formal, strict=True):
            inner.ids[inside.text()] = frame.tensor(outside)
        self.nodes(inner, graph)
        results = [tensor for output in node["outputs"].items() for tensor in result_tensors(output)]
        returned = [tensor for output in graph["outputs"].items() for tensor in result_tensors(output)]
        if len(results) != len(returned):
            raise node.fault(f"{operator.op} has {len(results)} results, its graph {len(returned)}")
        for result, inside_result in zip(results, returned, strict=True):
            if result is not None and inside_result is not None:
                frame.ids[result.text()] = inner.tensor(inside_result)
        return True

    # Arguments

    def _arguments(self, frame: Frame, inputs: Place) -> Iterator[tuple[str, Argument]]:
        for index, one in enumerate(inputs.items()):
            name = one["name"].text() or f"argument{index}"
            kind, value = one["arg"].union()
            if kind in NOT_READ:
                continue
            if kind == "as_complex":
                if name in NUMBER_ARGUMENTS:
                    yield name, self._number(complex(value["real"].number(), value["imag"].number()))
            elif name in NUMBER_ARGUMENTS and kind in NUMBERS:
                yield name, self._number(NUMBERS[kind](frame, value))
            else:
                yield name, argument(frame, kind, value)

    def _number(self, number: complex | str) -> Ref:
        """A number in the place of a tensor; one that depends on data is known by its name alone."""
        ref = self.recording.number(number)
        self._types[ref.id] = self.recording.tensors[ref.id].type
        return ref


def _fields(entry: str) -> list[str]:
    """The fields of an entry between commas; those inside brackets do not count."""
    fields, start, depth = [], 0, 0
    for at, character in enumerate(entry):
        depth += (character in "[(") - (character in ")]")
        if character == "," and depth == 0:
            fields.append(entry[start:at])
            start = at + 1
    return [*fields, entry[start:]]
