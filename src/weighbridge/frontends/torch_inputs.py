"""What a PyTorch module is called with: tensors, or shapes with element types in their place.

Nothing here needs PyTorch; a tensor is whatever is none of the things that are looked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Final

from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec, NeedsShape
from weighbridge.graph import MAX_DIMENSION, Shape

__all__ = ["MAX_ZEROS_BYTES", "Arguments", "TensorSpec", "arguments", "needs_inputs", "shown"]

MAX_ZEROS_BYTES: Final = 4 << 30
"""A model without values whose forward needs some is run with zeros up to this size."""
Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""What ``forward`` gets by position and by name: tensors, ``TensorSpec``s, and structures with these inside."""

_ELEMENTS: Final = ("float", "int", "uint", "bool", "complex")
_MOST_SHOWN: Final = 8
_HINT: Final = "give tensors, or shapes: inputs=(1, 3, 224, 224), or weighbridge.TensorSpec((1, 128), 'int64')"


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor of which only the shape and the element type (``"float32"``, ``"int64"`` …) are said.

    Raises ``BadSpec`` for a shape that is no list of whole numbers and for an element type that does not exist.
    """

    shape: Shape
    dtype: str = "float32"

    def __post_init__(self) -> None:
        sizes = self.shape if isinstance(self.shape, (tuple, list)) else None
        if sizes is None or not all(_is_size(size) for size in sizes):
            raise BadSpec(f"{self.shape!r} is no shape", where="TensorSpec", hint="give whole numbers: (1, 128)")
        object.__setattr__(self, "shape", tuple(int(size) for size in sizes))
        if self.dtype not in DTYPES or DTYPES[self.dtype].kind not in _ELEMENTS:
            raise BadSpec(f"there is no element type {self.dtype!r}", where="TensorSpec", hint=_meant(self.dtype))


def _meant(dtype: object) -> str:
    from difflib import get_close_matches

    possible = [name for name, one in DTYPES.items() if one.kind in _ELEMENTS]
    near = get_close_matches(str(dtype).removeprefix("torch."), possible, 1)
    return f"did you mean {near[0]!r}?" if near else "the usual ones are 'float32', 'int64' and 'bool'"


def arguments(inputs: object, kwargs: object = None) -> Arguments:
    """What ``forward`` is called with.

    ``inputs`` is one tensor, one ``TensorSpec``, one shape (a tuple or list of whole numbers: float32), a tuple or list of
    these by position, or a mapping of these by name.  ``kwargs`` are more by name.  Inside, lists, tuples and mappings
    are structures that ``forward`` gets as they are; other values reach it untouched.  Raises ``BadSpec``.
    """
    named = {name: _value(value) for name, value in _mapping(kwargs, "kwargs").items()}
    if inputs is None:
        return (), named
    if isinstance(inputs, Mapping):
        given = {name: _value(value) for name, value in _mapping(inputs, "inputs").items()}
        twice = sorted(given.keys() & named.keys())
        if twice:
            raise BadSpec(f"{twice[0]!r} is in inputs and in kwargs", where="inputs", hint="give it once")
        return (), {**given, **named}
    if _is_shape(inputs) or not isinstance(inputs, (tuple, list)):
        return (_one(inputs),), named
    return tuple(_value(value) for value in inputs), named


def _mapping(given: object, where: str) -> Mapping[str, object]:
    if given is None:
        return {}
    if isinstance(given, Mapping) and all(isinstance(name, str) for name in given):
        return given
    raise BadSpec(f"must be a mapping from arguments of forward, not {given!r:.60}", where=where, hint=_HINT)


def _one(value: object) -> object:
    """A lone input, which must be a tensor or stand for one."""
    if isinstance(value, (str, bytes, int, float, complex, type(...))):
        raise BadSpec(f"{value!r:.60} is no input of a module", where="inputs", hint=_HINT)
    return _value(value)


def _value(value: object) -> object:
    """``value`` with the shapes in it as ``TensorSpec``."""
    if _is_shape(value):
        return TensorSpec(value)  # type: ignore[arg-type]  # that is what was looked at
    if type(value) in (tuple, list):
        assert isinstance(value, (tuple, list))
        if len(value) == 2 and isinstance(value[0], str) and value[0] in DTYPES and _is_shape(value[1]):
            hint = f"write weighbridge.TensorSpec({tuple(value[1])!r}, {value[0]!r})"
            raise BadSpec("a shape with an element type is a TensorSpec", where="inputs", hint=hint)
        return type(value)(_value(item) for item in value)
    if type(value) is dict:
        return {key: _value(item) for key, item in value.items()}
    return value


def _is_shape(value: object) -> bool:
    """Whether this is a plain tuple or list of whole numbers (or PyTorch's own kind of tuple, a ``Size``)."""
    plain = type(value) in (tuple, list) or type(value).__name__ == "Size"
    return plain and isinstance(value, (tuple, list)) and len(value) > 0 and all(_is_size(size) for size in value)


def _is_size(value: object) -> bool:
    # A tensor of one whole number is none of these; NumPy's whole numbers are.
    return isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) <= MAX_DIMENSION


def shown(parameters: Mapping[str, inspect.Parameter]) -> str:
    """What a function takes, in brackets: ``(x, scale=, *others)``."""
    marks: dict[object, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    empty = inspect.Parameter.empty
    takes = [
        f"{marks.get(one.kind, '')}{name}{'' if one.default is empty else '='}" for name, one in parameters.items()
    ]
    return f"({', '.join(takes[:_MOST_SHOWN])}{', …' if len(takes) > _MOST_SHOWN else ''})"


def needs_inputs(forward: Callable[..., object], where: str) -> NeedsShape | None:
    """The question to the user where ``forward`` cannot be called with nothing: what it takes, and how to say it."""
    try:
        parameters = inspect.signature(forward).parameters
    except (TypeError, ValueError):
        return None
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    empty = inspect.Parameter.empty
    needed = [name for name, one in parameters.items() if one.default is empty and one.kind not in several]
    takes_any = bool(parameters) and all(one.kind in several for one in parameters.values())
    if not needed and not takes_any:
        return None
    what = f"the shapes of the inputs are not given: forward takes {shown(parameters)}" + (
        f" and needs {', '.join(needed)}" if needed and len(needed) < len(parameters) else ""
    )
    first = needed[0] if needed else "0"
    hint = (
        f"--input {first}=1x3x224x224 (or {first}=1x128:int64) on the command line, inputs=… in Python"
        if needed
        else "--input 1x3x224x224 (or 1x128:int64) on the command line, inputs=… in Python"
    )
    return NeedsShape(what, where=where, hint=hint)
