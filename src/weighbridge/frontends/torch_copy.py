"""A deep copy of a module whose tensors have sizes and no values: nothing that is done to it reaches the original."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

__all__ = ["meta_copy", "twin"]

_DEEPCOPY: Final = torch.Tensor.__deepcopy__


def meta_copy(model: nn.Module) -> nn.Module:
    """A deep copy on the meta device.  Tensors that are one stay one; what shares a storage shares one again.

    Raises what ``copy.deepcopy`` raises for a module that holds something that cannot be copied.
    """
    memo: dict[int, Any] = {}
    storages: dict[int, torch.UntypedStorage] = {}
    for tensor in _tensors(model):
        if id(tensor) not in memo:
            memo[id(tensor)] = twin(tensor, storages)
    with _TwinsOfOthers(storages):
        return copy.deepcopy(model, memo)


def _tensors(model: nn.Module) -> Iterable[torch.Tensor]:
    for module in model.modules():
        yield from (tensor for tensor in module._parameters.values() if tensor is not None)  # noqa: SLF001
        yield from (tensor for tensor in module._buffers.values() if tensor is not None)  # noqa: SLF001


def twin(tensor: torch.Tensor, storages: dict[int, torch.UntypedStorage] | None = None) -> torch.Tensor:
    """A tensor without values: same sizes, strides and element type, and one storage for what ``storages`` knows as one.

    Wrapper subclasses, lazy parameters and tensors without strides are copied as they are.
    """
    if type(tensor) not in _PLAIN or tensor.layout is not torch.strided:
        return copy.deepcopy(tensor)
    if storages is None:
        made = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")
    else:
        theirs = tensor.untyped_storage()
        key = theirs._cdata  # noqa: SLF001 - the one identity a storage has
        if key not in storages:
            storages[key] = torch.UntypedStorage(theirs.nbytes(), device="meta")
        made = torch.empty(0, dtype=tensor.dtype, device="meta")
        made.set_(storages[key], tensor.storage_offset(), tensor.size(), tensor.stride())
    if isinstance(tensor, nn.Parameter):
        return nn.Parameter(made, requires_grad=False)
    return made


_PLAIN: Final = (torch.Tensor, nn.Parameter, nn.Buffer)


class _TwinsOfOthers(TorchFunctionMode):
    """Gives twins to tensors that are no parameters and buffers but hang on modules as attributes."""

    def __init__(self, storages: dict[int, torch.UntypedStorage]) -> None:
        super().__init__()
        self._storages = storages

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is _DEEPCOPY and type(args[0]) in _PLAIN:
            tensor, memo = args[0], args[1]
            if id(tensor) not in memo:
                memo[id(tensor)] = twin(tensor, self._storages)
            return memo[id(tensor)]
        return func(*args, **(kwargs or {}))
