"""Functions that hang on a module, copied with what they write to.

``copy.deepcopy`` takes functions as they are.  A hook that collects features in a dictionary, or a ``forward`` that
was replaced by a function around the model, would reach the user's own objects through its closure, its defaults or its
module's globals.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, Final

from torch import nn

__all__ = ["Closures"]

_HOOKS: Final = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_CONTAINERS: Final = (dict, list, set, deque)


class Closures:
    """The functions on the modules of a model: known to a memo of ``deepcopy`` before the copy, complete after it."""

    def __init__(self, model: nn.Module, memo: dict[int, Any]) -> None:
        self._memo = memo
        self._pairs: list[tuple[FunctionType, FunctionType]] = []
        for function in _functions(model):
            if id(function) not in memo and _reaches_out(function):
                memo[id(function)] = made = _like(function)
                self._pairs.append((function, made))

    def complete(self) -> None:
        """Give the copied functions copies of what the originals refer to: the model's copy where they mean the model."""
        for function, made in self._pairs:
            for cell, empty in zip(function.__closure__ or (), made.__closure__ or (), strict=True):
                with_value = _content(cell)
                if with_value:
                    empty.cell_contents = self._copied(with_value[0])
            made.__defaults__ = self._copied(function.__defaults__)
            made.__kwdefaults__ = self._copied(function.__kwdefaults__)
            for name in _names(function.__code__):
                value = function.__globals__.get(name)
                if type(value) in _CONTAINERS or id(value) in self._memo or _is_method(value):
                    made.__globals__[name] = self._copied(value)

    def _copied(self, value: Any) -> Any:
        try:
            return copy.deepcopy(value, self._memo)
        except Exception:  # what cannot be copied (a file, a lock) is used as it is
            return value


def _functions(model: nn.Module) -> Iterator[FunctionType]:
    for module in model.modules():
        members = vars(module)
        for owner in (members, *(members.get(hooks) or {} for hooks in _HOOKS)):
            yield from (value for value in owner.values() if type(value) is FunctionType)


def _reaches_out(function: FunctionType) -> bool:
    """Whether it refers to anything but the names of its module that are no containers and no modules."""
    if function.__closure__ or function.__defaults__ or function.__kwdefaults__:
        return True
    found = (function.__globals__.get(name) for name in _names(function.__code__))
    return any(type(value) in _CONTAINERS or isinstance(value, nn.Module) or _is_method(value) for value in found)


def _is_method(value: Any) -> bool:
    """Whether this is a method of a module, such as the ``forward`` that another one was put around."""
    return isinstance(value, MethodType) and isinstance(value.__self__, nn.Module)


def _like(function: FunctionType) -> FunctionType:
    """The same code with cells of its own, empty as yet, and its own view of the module's names."""
    cells = tuple(CellType() for _ in function.__closure__ or ())
    made = FunctionType(function.__code__, dict(function.__globals__), function.__name__, None, cells or None)
    made.__dict__.update(function.__dict__)
    made.__qualname__ = function.__qualname__
    return made


def _content(cell: CellType) -> tuple[Any, ...]:
    """What is in a cell; nothing where the variable has no value yet."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _names(code: CodeType) -> Iterator[str]:
    """The global names that a function uses, those in its inner functions included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
