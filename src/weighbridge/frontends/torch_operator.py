"""What PyTorch's schema says of an operator, and on which device a recorded run calls it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

import torch

from weighbridge.frontends.aten_recording import NUMBER_ARGUMENTS, base_name
from weighbridge.frontends.aten_table import rule_of
from weighbridge.named_tuple import NamedTuple

__all__ = ["Operator", "moved"]

_MAX_KEPT_ELEMENTS: Final = 65_536
"""Elements up to which whole numbers made from nothing have values, so that sizes computed from them are known."""
_COUNTING: Final = frozenset({"arange", "randperm", "tril_indices", "triu_indices"})
"""Operators that make whole numbers unless they are told otherwise."""
_NEEDS_VALUES: Final = frozenset({"_pack_padded_sequence"})
"""Operators that read lengths from a tensor with values beside one that has none."""


class Operator(NamedTuple):
    """What the schema of an operator says: the names of its arguments, and which of them stand for tensors."""

    op: str
    overload: str
    word: str
    parameters: tuple[tuple[str, bool], ...]
    takes_tensor: Mapping[str, bool]
    names: Mapping[str, str]
    writes: tuple[str, ...]
    device: int | None
    is_factory: bool
    wants_values: bool
    is_composite: bool
    has_rule: bool

    @classmethod
    def higher_order(cls, func: Any) -> Operator:
        """An operator that takes functions, such as flex attention: it has a Python signature in place of a schema."""
        op = f"higher_order.{func.name()}"
        names = inspect.signature(func.__call__).parameters
        return cls(
            op=op,
            overload="",
            word=func.name(),
            parameters=tuple((name, False) for name in names),
            takes_tensor={},
            names={},
            writes=(),
            device=None,
            is_factory=False,
            wants_values=False,
            is_composite=False,
            has_rule=rule_of(op, "") is not None,
        )

    @classmethod
    def of(cls, func: Any) -> Operator:
        schema = func._schema  # noqa: SLF001 - PyTorch gives no other way to a schema
        namespace, _, name = schema.name.partition("::")
        parameters = []
        device, has_tensor = None, False
        writes = []
        for place, argument in enumerate(schema.arguments):
            kind = str(argument.type)
            is_tensor = "Tensor" in kind
            has_tensor = has_tensor or is_tensor
            is_number = kind in ("number", "Scalar", "Optional[number]") and argument.name in NUMBER_ARGUMENTS
            parameters.append((argument.name, kind in ("Tensor", "Optional[Tensor]") or is_number))
            if argument.name == "device":
                device = place
            if argument.alias_info is not None and argument.alias_info.is_write:
                writes.append(argument.name)
        op = f"{namespace}.{base_name(name)}"
        names = _names(func, namespace, name)
        parameters = [(names.get(given, given), is_tensor) for given, is_tensor in parameters]
        return cls(
            op=op,
            overload=func._overloadname,  # noqa: SLF001
            word=name.strip("_"),
            parameters=tuple(parameters),
            takes_tensor=dict(parameters),
            names=names,
            writes=tuple(writes),
            device=device,
            is_factory=not has_tensor,
            wants_values=name in _NEEDS_VALUES,
            is_composite=torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"),  # noqa: SLF001
            has_rule=rule_of(op, func._overloadname) is not None,  # noqa: SLF001
        )


def _names(func: Any, namespace: str, name: str) -> dict[str, str]:
    """What the arguments of an in-place form are called by the operator itself, where it calls them otherwise.

    ``dropout_`` names its first argument ``self``, ``dropout`` names it ``input``.
    """
    base = base_name(name)
    packet = getattr(getattr(torch.ops, namespace), base, None) if base != name else None
    original = getattr(packet, func._overloadname, None)  # noqa: SLF001
    if original is None:
        return {}
    pairs = zip(func._schema.arguments, original._schema.arguments, strict=False)  # noqa: SLF001
    return {theirs.name: ours.name for theirs, ours in pairs if theirs.name != ours.name}


def moved(
    operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, keeps_values: bool
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """Arguments whose device is meta; a few whole numbers made from nothing keep their values on the processor."""
    place = operator.device
    if place is None:
        return args, kwargs
    given = args[place] if place < len(args) else kwargs.get("device")
    if operator.is_factory:
        on_processor = given is None or torch.device(given).type == "cpu"
        if (
            keeps_values
            and on_processor
            and _are_whole(operator, args, kwargs)
            and _elements(args) <= _MAX_KEPT_ELEMENTS
        ):
            return args, kwargs
    elif given is None:
        return args, kwargs
    if place < len(args):
        return (*args[:place], torch.device("meta"), *args[place + 1 :]), kwargs
    return args, {**kwargs, "device": torch.device("meta")}


def _are_whole(operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether an operator makes whole numbers or truth values."""
    dtype = kwargs.get("dtype", next((value for value in args if isinstance(value, torch.dtype)), None))
    if dtype is not None:
        return not (dtype.is_floating_point or dtype.is_complex)
    return operator.word in _COUNTING and not any(isinstance(value, float) for value in args)


def _elements(args: tuple[Any, ...]) -> int:
    """About how many values an operator makes that has no tensor to start from."""
    total = 1
    for value in args:
        for one in value if isinstance(value, list | tuple) else (value,):
            if isinstance(one, int) and not isinstance(one, bool):
                total *= max(abs(one), 1)
    return total
