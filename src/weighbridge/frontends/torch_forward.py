"""What ``forward`` takes and gives, and what is said where it fails."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Coroutine, Generator, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

import torch
from torch import nn

from weighbridge.errors import BadModel, NeedsShape, WeighbridgeError, said_by
from weighbridge.frontends.torch_inputs import shown

__all__ = [
    "Failed",
    "check_arguments",
    "check_result",
    "explained",
    "first_line",
    "parameters_of_forward",
    "tensors_in",
]

_GENERATOR: Final = "weigh a module whose forward returns what the generator gives: list(super().forward(x))"
_DEPTH: Final = 8
"""How deep results are looked into: deeper than any structure of outputs, and an object may hold itself."""


class Failed(Exception):
    """A run that ended in an error of the module's: where, and with which arguments."""

    def __init__(
        self, error: BaseException, path: str = "", arguments: tuple[Any, ...] = (), *, while_copying: bool = False
    ) -> None:
        super().__init__(error)
        self.while_copying = while_copying
        self.error = error
        self.path = path
        self.arguments = arguments


def tensors_in(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """The tensors in a structure of inputs or results, also in objects such as a cache of keys and values."""
    if isinstance(value, torch.Tensor):
        yield value
        return
    if depth > _DEPTH or isinstance(value, str | bytes | type | nn.Module):
        return
    if isinstance(value, Mapping):
        inner: Iterable[Any] = value.values()
    elif isinstance(value, list | tuple | set):
        inner = value
    else:
        inner = getattr(value, "__dict__", {}).values()
    for one in inner:
        yield from tensors_in(one, depth + 1)


def parameters_of_forward(model: nn.Module) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(model.forward).parameters
    except (AttributeError, TypeError, ValueError):
        return {}


def check_arguments(model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    try:
        signature = inspect.signature(model.forward)
    except (AttributeError, TypeError, ValueError):
        return  # a scripted module may have forms of forward that no signature describes
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        what, hint = f"forward was not given what it needs ({error})", f"forward takes {shown(signature.parameters)}"
        strange = [name for name in kwargs if name not in signature.parameters]
        if strange and not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in signature.parameters.values()):
            what = f"forward has no argument {strange[0]!r}"
            near = get_close_matches(strange[0], signature.parameters, 1)
            hint = f"did you mean {near[0]}? {hint}" if near else hint
        raise NeedsShape(what, where=type(model).__name__, hint=hint) from None


def check_result(result: Any) -> None:
    """Raises ``BadModel`` for a result that stands for work which is still to be done."""
    if isinstance(result, Generator | AsyncGenerator | Coroutine):
        raise BadModel("forward returns a generator, which computes nothing yet", hint=_GENERATOR)


def explained(model: nn.Module, failed: Failed) -> BadModel:
    """The error of a run in one line: which module, what it was given, what PyTorch said."""
    if isinstance(failed.error, WeighbridgeError):
        return BadModel(failed.error.what, where=failed.path or type(model).__name__, hint=failed.error.hint)
    if failed.while_copying:
        what = f"the module cannot be copied: {type(failed.error).__name__}: {first_line(failed.error)}"
        hint = "a deep copy is what runs, so that yours stays as it is: copy.deepcopy(model) has to work"
        return BadModel(what, where=type(model).__name__, hint=hint)
    shapes = ", ".join(_shape(one) for one in failed.arguments)
    where = failed.path or type(model).__name__
    saw = f" when called with {shapes}" if shapes else ""
    what = f"the module raised {type(failed.error).__name__}{saw}: {first_line(failed.error)}"
    hint = "check the number of the inputs, their shapes (with the batch) and element types (a shape alone: float32)"
    if any(type(one).__name__ == "ndarray" for one in failed.arguments):
        hint = "if the NumPy array is to be a tensor, give torch.from_numpy(array), or its shape"
    return BadModel(what, where=where, hint=hint)


def _shape(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{'x'.join(map(str, value.shape)) or 'scalar'} {str(value.dtype).removeprefix('torch.')}"
    return type(value).__name__


def first_line(error: BaseException) -> str:
    said = next(iter(said_by(error).strip().splitlines()), type(error).__name__)[:300]
    return said.removesuffix(", but expected one of:")  # what would follow are C++ signatures
