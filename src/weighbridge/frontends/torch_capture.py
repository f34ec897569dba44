"""Records what a module does while it runs: one dispatch mode, below everything that chooses between kernels.

In inference mode PyTorch hands whole operators to a dispatch mode (``aten.linear``, ``aten.lstm``, attention), wherever
they are called from and whichever kernel they would take.  An operator that our table knows is recorded and runs; one that
it does not know and that PyTorch can take apart is taken apart; any other is recorded as it is, and stays uncounted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any, Final

import torch
from torch._ops import HigherOrderOperator
from torch.utils._python_dispatch import TorchDispatchMode

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import BadModel
from weighbridge.frontends.aten_call import Argument, AtenCall, AtenTensor, Ref, refs
from weighbridge.frontends.aten_recording import Recording
from weighbridge.frontends.torch_aliases import Aliases, Before, storage_of
from weighbridge.frontends.torch_operator import Operator, moved
from weighbridge.frontends.torch_overlap import Shared
from weighbridge.frontends.torch_scope import Scopes
from weighbridge.frontends.torch_storage import LIFT, Storages
from weighbridge.graph import Role, TensorType

__all__ = ["Recorder", "ValuesWritten", "dtype_of", "type_of"]

_QUANTISED: Final = {"qint8": "int8", "quint8": "uint8", "qint32": "int32", "quint4x2": "uint4", "quint2x4": "uint2"}
_NAMES: Final = {"float8_e8m0fnu": "float8_e8m0", "float4_e2m1fn_x2": "float4_e2m1", "complex32": "opaque"}
_TENSORS_ONLY: Final = frozenset({torch.ops.aten.item.default, torch.ops.aten.equal.default})
"""Operators that refuse numbers, which is what a mode gets for the sizes that a traced module holds as tensors."""
_FRESH: Final = frozenset({LIFT, torch.ops.aten.detach_.default})
"""What PyTorch calls first on a tensor that Python has just made of numbers: the second for one without values."""
_AUTOCAST: Final = (
    "torch.autocast is on, and a recorded run does not follow it: element types and bytes may be those without it"
)
_WINDOW: Final = ("stride", "padding", "dilation", "groups", "output_padding")
"""What the packed weight of a convolution knows of its window."""


class ValuesWritten(Exception):
    """Something without values was written into a tensor that has some, and would be wrong from there on."""


class Recorder(TorchDispatchMode):
    """Records the calls and tensors of one run in ``recording``.

    ``is_meta`` says that tensors have no values, ``keeps_values`` that whole numbers made from nothing have theirs all
    the same; then a run raises ``ValuesWritten`` where they would become wrong.
    """

    supports_higher_order_operators = True

    def __init__(self, scopes: Scopes, *, is_meta: bool, keeps_values: bool = True) -> None:
        super().__init__()
        self.recording = Recording()
        self.storages = Storages(has_values=not is_meta)
        self._scopes = scopes
        self._is_meta = is_meta
        self._keeps_values = keeps_values
        self._is_autocast = torch._C._is_any_autocast_enabled()  # noqa: SLF001 - PyTorch asks for one device
        self._operators: dict[Any, Operator] = {}
        self._kinds: dict[tuple[Any, ...], TensorType] = {}
        self._types: dict[str, TensorType] = {}
        self._stored: dict[Any, str] = {}
        self._kept: list[Any] = []
        self._aliases = Aliases()
        self._before = Before(is_meta=is_meta)
        self._packed_parameters: dict[tuple[str, str], str] = {}

    # Tensors

    def declare(self, tensor: torch.Tensor, name: str, role: Role, *, keeps: bool = True) -> str:
        """Make a tensor known that no operator made, under a name of its own; returns its id.

        ``keeps`` is for what exists before the run: it is held, so that its other names are known.
        """
        known = self._aliases.name(tensor)
        if known is not None:
            return known
        kind, storage = self.kind(tensor), storage_of(tensor)
        place = (storage, tensor.storage_offset(), kind) if storage is not None and role.is_stored and keeps else None
        found = self._stored.get(place)
        if found is None:
            found = self.recording.unused(name)
            self.recording.tensors[found] = AtenTensor(found, kind, role)
            if place is not None:
                self._stored[place] = found
                self._kept.append(tensor)
        self.storages.exists(tensor, counts=role is Role.INPUT)
        self._label(tensor, found)
        return found

    def declare_shared(self, those: Shared, name: str, role: Role) -> None:
        """Make tensors known that lie on each other: as views of one, named after the first where none has all elements."""
        for tensor in those.tensors:
            self.storages.exists(tensor)
        if those.whole is not None:
            base = self.declare(those.whole, name, role)
        else:
            base = self.recording.unused(name)
            self._types[base] = TensorType((those.elements,), dtype_of(those.tensors[0].dtype))
            self.recording.tensors[base] = AtenTensor(base, self._types[base], role)
        for tensor in those.tensors:
            if self._aliases.name(tensor) is None:
                sizes = tuple(map(int, tensor.shape))
                self._synthetic("aten.as_strided", tensor, {"self": Ref(base), "size": sizes})
                self._kept.append(tensor)

    def _label(self, tensor: torch.Tensor, name: str) -> None:
        self._types[name] = self.kind(tensor)
        self._aliases.label(tensor, name)

    def kind(self, tensor: torch.Tensor) -> TensorType:
        """The type of a tensor; equal types are one object."""
        key = tensor.shape, tensor.dtype
        found = self._kinds.get(key)
        if found is None:
            found = self._kinds[key] = type_of(tensor)
        return found

    def id_of(self, tensor: torch.Tensor) -> str:
        """The id of a tensor that a call reads; one that nobody made here is a constant of the model."""
        known = self._aliases.name(tensor)
        if known is None:
            return self._found(tensor)
        parts = self._aliases.written(tensor)
        if parts:
            return self._synthetic("weighbridge.updated", tensor, {"x": Ref(known), "parts": tuple(map(Ref, parts))})
        return known

    def _found(self, tensor: torch.Tensor) -> str:
        """The id of a tensor object that is new here: ``.data`` of one that is known, or something from outside."""
        owner = self._aliases.owner(tensor)
        if owner is not None and owner not in self.recording.tensors:
            sizes = tuple(map(int, tensor.shape))
            return self._synthetic("aten.view", tensor, {"self": Ref(owner), "size": sizes})
        name, role = "constant", Role.CONSTANT
        if isinstance(tensor, torch.nn.Parameter):
            name, role = self._scopes.parameter(tensor) or "parameter", Role.PARAMETER
        if role is Role.CONSTANT and not self._before.has(tensor):
            found = self._synthetic("weighbridge.unseen", tensor, {})
        else:
            found = self.declare(tensor, name, role)
        self._aliases.label(tensor, found, foreign=True)
        return found

    def finish(self) -> tuple[str, ...]:
        """Leave nothing on tensors that are not of this run; returns what there is to say of it."""
        self._aliases.forget()
        if not self._is_autocast:
            return ()
        self.storages.unknown.append("the element types of torch.autocast")
        return (_AUTOCAST,)

    def _synthetic(self, op: str, tensor: torch.Tensor, arguments: dict[str, Argument]) -> str:
        """Record what no operator did: a new id for a tensor whose values another operator made or changed."""
        read = {tensor_id: self._types[tensor_id] for tensor_id in refs(arguments.values())}
        self._add(op, "default", op.rpartition(".")[2], arguments, read, [tensor])
        return self.recording.calls[-1].outputs[0]

    # Calls

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, HigherOrderOperator):
            return self._higher_order(func, args, kwargs)
        operator = self._operators.get(func)
        if operator is None:
            operator = self._operators[func] = Operator.of(func)
        if func in _TENSORS_ONLY:
            args = tuple(torch.tensor(one) if isinstance(one, bool | int | float) else one for one in args)
        if self._is_meta:
            args, kwargs = self._placed(operator, args, kwargs)
        if self.storages.is_inside:
            return self.storages.run(self, func, args, kwargs, operator.is_composite)
        if not operator.has_rule and operator.is_composite:
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        if func in _FRESH and self._aliases.owner(args[0]) is None and self._before.gave_numbers(args[0]):
            self.declare(args[0], "constant", Role.CONSTANT, keeps=False)
        arguments, read = self._arguments(operator, args, kwargs)
        result = self.storages.run(self, func, args, kwargs, operator.is_composite)
        written = [one for (name, _), one in zip(operator.parameters, args, strict=False) if name in operator.writes]
        self._record(operator, arguments, read, result, list(_tensors((written,))))
        return result

    def _higher_order(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """An operator that takes functions: as one call where there is a rule, else as what its functions do."""
        operator = Operator.higher_order(func)
        if operator.op == "higher_order.cond":
            is_met, one, other, given = args
            branch = one if bool(is_met) else other
            with self:
                return branch(*given)
        kernel = func.py_kernels.get(torch._C.DispatchKey.CompositeExplicitAutograd)  # noqa: SLF001
        if kernel is None:
            raise BadModel(f"nothing says how {operator.op} runs", hint="weigh the model without it")
        if not operator.has_rule or self.storages.is_inside:
            with self:
                return kernel(*args, **kwargs)
        arguments, read = self._arguments(operator, args, kwargs)
        result = kernel(*args, **kwargs)
        self.storages.note(result)
        self._record(operator, arguments, read, result, [])
        return result

    def _placed(
        self, operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        """Arguments with which an operator runs on tensors without values, whatever device the model asks for."""
        if operator.device is not None:
            args, kwargs = moved(operator, args, kwargs, keeps_values=self._keeps_values)
        tensors = list(_tensors((*args, *kwargs.values())))
        if (
            len({tensor.is_meta for tensor in tensors if tensor.dim() or tensor.is_meta}) > 1
            and not operator.wants_values
        ):
            if operator.writes and isinstance(args[0], torch.Tensor) and not args[0].is_meta:
                raise ValuesWritten(operator.op)
            swap = {id(tensor): self._meta(tensor) for tensor in tensors if not tensor.is_meta and tensor.dim()}
            args = _swapped(args, swap)
            kwargs = {name: _swapped(value, swap) for name, value in kwargs.items()}
        return args, kwargs

    def _meta(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor with values as one without, under the same id."""
        made = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")
        self.storages.is_same(made, tensor)
        self._aliases.label(made, self.id_of(tensor))
        return made

    def _arguments(
        self, operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[dict[str, Argument], dict[str, TensorType]]:
        """The arguments by name as plain values, and the types of the tensors among them."""
        arguments: dict[str, Argument] = {}
        read: dict[str, TensorType] = {}
        for (name, takes_tensor), value in zip(operator.parameters, args, strict=False):
            self._argument(name, value, takes_tensor, arguments, read)
        for given, value in kwargs.items():
            name = operator.names.get(given, given)
            self._argument(name, value, operator.takes_tensor.get(name, False), arguments, read)
        return arguments, read

    def _argument(
        self,
        name: str,
        value: Any,
        takes_tensor: bool,
        arguments: dict[str, Argument],
        read: dict[str, TensorType],
    ) -> None:
        if isinstance(value, torch.Tensor):
            found = self.id_of(value)
            read[found] = self.kind(value)
            arguments[name] = Ref(found)
        elif value is None or isinstance(value, str):
            arguments[name] = value
        elif isinstance(value, bool | int | float | complex):
            if takes_tensor:
                ref = arguments[name] = self.recording.number(value)
                read[ref.id] = self.recording.tensors[ref.id].type
            elif not isinstance(value, complex):
                arguments[name] = value
        elif isinstance(value, list | tuple):
            arguments[name] = tuple(self._element(one, read) for one in value)
        elif isinstance(value, torch.dtype):
            arguments[name] = dtype_of(value).name
        elif isinstance(value, FunctionType):
            arguments[name] = value.__name__
        elif isinstance(value, torch.ScriptObject):
            self._packed(value, arguments, read)

    def _element(self, value: Any, read: dict[str, TensorType]) -> Argument:
        if isinstance(value, torch.Tensor):
            found = self.id_of(value)
            read[found] = self.kind(value)
            return Ref(found)
        if isinstance(value, torch.dtype):
            return dtype_of(value).name
        return value if isinstance(value, bool | int | float | str) else None

    def _packed(self, packed: Any, arguments: dict[str, Argument], read: dict[str, TensorType]) -> None:
        """Weights that a quantised operator holds in an object of its own: ``weight`` and ``bias``."""
        if not packed._has_method("unpack"):  # noqa: SLF001 - how a script object is asked
            return
        key = f"packed.{packed.__hash__()}"
        for name, tensor in zip(("weight", "bias"), packed.unpack(), strict=False):
            if isinstance(tensor, torch.Tensor):
                found = self._packed_parameters.get((key, name))
                if found is None:
                    path = self._scopes.current()
                    found = self.recording.unused(f"{path}.{name}" if path else name)
                    self._packed_parameters[key, name] = found
                    self.recording.tensors[found] = AtenTensor(found, self.kind(tensor), Role.PARAMETER)
                read[found] = self.kind(tensor)
                arguments[name] = Ref(found)
        for name in _WINDOW:
            if packed._has_method(name):  # noqa: SLF001
                given = getattr(packed, name)()
                arguments.setdefault(name, tuple(given) if isinstance(given, list) else given)

    def _record(
        self,
        operator: Operator,
        arguments: dict[str, Argument],
        read: dict[str, TensorType],
        result: Any,
        written: list[torch.Tensor],
    ) -> None:
        results = list(_tensors((result,)))
        if not results and (operator.writes or not operator.op.startswith("aten.")):
            results = written  # an operator that fills what it was given (``_foreach_add_``, one of somebody else's)
        elif not results:
            return  # a number for Python, or nothing: no value of the network
        self._add(operator.op, operator.overload, operator.word, arguments, read, results, operator.writes)

    def _add(
        self,
        op: str,
        overload: str,
        word: str,
        arguments: dict[str, Argument],
        read: dict[str, TensorType],
        results: list[torch.Tensor],
        writes: tuple[str, ...] = (),
    ) -> None:
        scope = self._scopes.current()
        name = self.recording.call_name(scope, word, is_leaf=self._scopes.is_leaf(scope))
        outputs = tuple([name if place == 0 else f"{name}:{place}" for place in range(len(results))])
        made = tuple([self.kind(tensor) for tensor in results])
        self.storages.name(name)
        self.recording.calls.append(AtenCall(name, op, overload, arguments, outputs, made, read, scope))
        for tensor, output in zip(results, outputs, strict=True):
            if writes:
                self._aliases.write(tensor, output)
            self._label(tensor, output)


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def _swapped(value: Any, swap: Mapping[int, torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return swap.get(id(value), value)
    if isinstance(value, list | tuple):
        return type(value)(_swapped(one, swap) for one in value)
    return value


def dtype_of(dtype: torch.dtype) -> DType:
    """Our element type for one of PyTorch's."""
    name = str(dtype).removeprefix("torch.")
    return DTYPES.get(_QUANTISED.get(name, _NAMES.get(name, name))) or DTYPES["opaque"]


def type_of(tensor: torch.Tensor) -> TensorType:
    """Sizes and element type of a tensor.  Raises ``BadModel`` for a nested tensor, whose rows have sizes of their own."""
    if tensor.is_nested:
        raise BadModel("nested tensors have no shape to count with", hint="give the model padded tensors")
    return TensorType(tuple(int(size) for size in tensor.shape), dtype_of(tensor.dtype))
