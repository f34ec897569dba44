"""A call of a PyTorch operator as every reader of PyTorch programs records it, and how a rule translates it.

A program comes from a running module (``torch_capture``) or from an exported file (``aten_archive``).  Both give calls of
ATen operators with arguments by the names of the operators' schemas, and the type of every tensor, as PyTorch made it.
Nothing here needs PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from weighbridge.errors import GraphError
from weighbridge.frontends.foreign import Step, asked_step, whole_numbers
from weighbridge.graph import Allocation, Attribute, FileNode, Role, TensorType
from weighbridge.named_tuple import NamedTuple

__all__ = ["Argument", "As", "AtenCall", "AtenTensor", "Program", "Ref", "Rule", "refs", "translate"]


class Ref(NamedTuple):
    """A tensor among the arguments of a call, by the id it has in the program."""

    id: str


Argument = Ref | bool | int | float | str | None | tuple["Argument", ...]
"""What a call was given: tensors as ``Ref``, element types by our names, lists as tuples; devices and layouts are left out."""


def refs(arguments: Iterable[Argument]) -> Iterator[str]:
    """The ids of all tensors among arguments, in order."""
    for argument in arguments:
        if isinstance(argument, Ref):
            yield argument.id
        elif isinstance(argument, tuple):
            yield from refs(argument)


class AtenTensor(NamedTuple):
    """A tensor of a program: ``role`` says whether it is stored, an input, or made by a call."""

    id: str
    type: TensorType
    role: Role = Role.ACTIVATION


class AtenCall(NamedTuple):
    """One call: ``op`` is ``"aten.add"``, ``overload`` ``"Tensor"``, ``arguments`` by the names in the schema.

    Arguments that have their default may be missing, so rules state the default of the schema.  A number in the place of
    a tensor stands as a ``Ref`` to a constant without dimensions.  ``outputs`` are ids, "" for a result that nobody
    reads, in the order of the schema (the elements of a list one by one); ``types`` says of every tensor of the call what
    PyTorch made it.  In-place forms (``add_``) have the name of the operator, and give their result a new id.  ``file_node`` is
    the node of the file that the call was read from.
    """

    name: str
    op: str
    overload: str
    arguments: Mapping[str, Argument]
    outputs: tuple[str, ...]
    made: tuple[TensorType, ...]
    types: Mapping[str, TensorType]
    scope: str = ""
    file_node: FileNode | None = None

    def get(self, name: str, default: Argument = None) -> Argument:
        """An argument, or ``default``, the one in the schema, where it is missing."""
        return self.arguments.get(name, default)

    def has(self, name: str) -> bool:
        """Whether a tensor was given for an optional argument."""
        return isinstance(self.arguments.get(name), Ref)

    def operand(self, name: str) -> str:
        """The id of a tensor argument.  Raises ``GraphError`` where it is missing."""
        found = self.arguments.get(name)
        if not isinstance(found, Ref):
            raise GraphError(f"{self.op} lacks its argument {name}", where=self.name)
        return found.id

    def operands(self, name: str) -> tuple[str, ...]:
        """The ids of the tensors in a list argument; elements that are None are left out."""
        found = self.arguments.get(name)
        if isinstance(found, Ref):
            return (found.id,)
        return tuple(one.id for one in found if isinstance(one, Ref)) if isinstance(found, tuple) else ()

    def type(self, name: str) -> TensorType:
        """The type of a tensor argument."""
        return self.types[self.operand(name)]

    def rank(self, name: str) -> int:
        """The number of dimensions of a tensor argument."""
        return len(self.type(name).shape)

    def integer(self, name: str, default: int = 0) -> int:
        """A whole number.  Raises ``GraphError`` for anything else."""
        found = self.arguments.get(name)
        if found is None:
            return default
        if not isinstance(found, int):
            raise GraphError(f"{name} of {self.op} must be a whole number, not {found!r}", where=self.name)
        return int(found)

    def number(self, name: str, default: float = 0.0) -> int | float:
        """A number.  Raises ``GraphError`` for anything else."""
        found = self.arguments.get(name)
        if found is None:
            return default
        if not isinstance(found, int | float):
            raise GraphError(f"{name} of {self.op} must be a number, not {found!r}", where=self.name)
        return found

    def integers(self, name: str, default: tuple[int, ...] = ()) -> tuple[int, ...]:
        """Whole numbers; a lone one is a tuple of one.  Raises ``GraphError`` for anything else."""
        found = self.arguments.get(name)
        if found is None:
            return default
        numbers = whole_numbers(found if isinstance(found, tuple) and not isinstance(found, Ref) else (found,))
        if numbers is None:
            raise GraphError(f"{name} of {self.op} must be whole numbers, not {found!r}", where=self.name)
        return numbers

    def has_output(self, position: int) -> bool:
        """Whether the result is read by somebody."""
        return position < len(self.outputs) and self.outputs[position] != ""

    def inner(self, suffix: str) -> str:
        """An id for a tensor between the steps of one call."""
        return f"{self.name}.{suffix}"


class Program(NamedTuple):
    """What a reader found: tensors that exist before the first call, calls in order, and what comes out.

    ``capture`` says how the program was obtained and what that means for the counts; ``allocations`` are what PyTorch held;
    ``blocks`` as in a graph.
    """

    name: str
    tensors: tuple[AtenTensor, ...]
    calls: tuple[AtenCall, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    capture: str
    notes: tuple[str, ...] = ()
    allocations: tuple[Allocation, ...] = ()
    blocks: frozenset[str] | None = None


class As(NamedTuple):
    """A PyTorch operator that is one of ours.

    ``operands`` pairs our operands with arguments of the schema: ``"x=input w=weight b=bias"``; an argument that is absent
    is left out, and ``*xs=tensors`` takes a list.  ``attributes`` returns our attributes.  ``results`` names the results
    of an operator that makes only those that are asked for, in PyTorch's order.
    """

    operator: str
    operands: str
    attributes: Callable[[AtenCall], Mapping[str, Attribute]] | None = None
    results: str = ""


Rule = As | Callable[[AtenCall], Sequence[Step]]
"""A rule that is a function gives the steps itself; none at all says that the results are the call's first operand."""


def translate(call: AtenCall, rule: Rule) -> Sequence[Step]:
    """The steps that a call is in our vocabulary."""
    if not isinstance(rule, As):
        return rule(call)
    attributes = rule.attributes(call) if rule.attributes is not None else {}
    return (asked_step(rule.operator, list(bind(call, rule.operands)), attributes, rule.results, call.outputs),)


def bind(call: AtenCall, names: str) -> Iterator[tuple[str, str]]:
    """The call's operands under our names, absent ones left out."""
    for ours, theirs, is_list in _pairs(names):
        if is_list:
            for tensor in call.operands(theirs):
                yield ours, tensor
        else:
            found = call.arguments.get(theirs)
            if isinstance(found, Ref):
                yield ours, found.id


@cache
def _pairs(names: str) -> tuple[tuple[str, str, bool], ...]:
    pairs = []
    for word in names.split():
        ours, _, theirs = word.partition("=")
        pairs.append((ours.lstrip("*"), theirs, ours.startswith("*")))
    return tuple(pairs)
