"""Deep copies of a module and its inputs, mostly without values: nothing that is done to them reaches the originals."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode

from weighbridge.frontends.torch_aliases import mark
from weighbridge.frontends.torch_closures import Closures
from weighbridge.frontends.torch_inputs import MAX_ZEROS_BYTES

__all__ = ["fake_copy", "meta_copy", "real_copy"]

_DEEPCOPY: Final = torch.Tensor.__deepcopy__


def meta_copy(model: nn.Module, *others: Any) -> tuple[Any, ...]:
    """Deep copies of a model and of what it is given, on the meta device.

    Tensors that are one stay one; what shares a storage shares one again.  Raises what ``copy.deepcopy`` raises for
    something that cannot be copied.
    """
    storages: dict[int, torch.UntypedStorage] = {}
    memo: dict[int, Any] = {}
    for tensor in _tensors(model):
        if id(tensor) not in memo:
            memo[id(tensor)] = twin(tensor, storages)
    return _copied((model, *others), memo, lambda tensor: twin(tensor, storages))


def fake_copy(
    mode: FakeTensorMode, model: nn.Module, *others: Any, dtype: torch.dtype | None = None
) -> tuple[Any, ...]:
    """As ``meta_copy``, but of tensors that say they are on the processor, so that PyTorch picks its kernels for that.

    They may be used inside ``mode``.  With ``dtype``, the floating parameters and buffers of the model and the floating
    tensors among ``others`` are of that element type, as ``model.to(dtype)`` makes them.
    """
    storages: dict[Any, torch.UntypedStorage] = {}
    memo: dict[int, Any] = {}
    for tensor in _tensors(model):
        if id(tensor) not in memo:
            memo[id(tensor)] = _fake(mode, tensor, storages, dtype)
    (copied,) = _copied((model,), memo, lambda tensor: _fake(mode, tensor, storages))
    given = _copied((model, *others), memo, lambda tensor: _fake(mode, tensor, storages, dtype))[1:]
    return copied, *given


def _fake(
    mode: FakeTensorMode,
    tensor: torch.Tensor,
    storages: dict[Any, torch.UntypedStorage],
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    made = twin(tensor, storages)
    if not made.is_meta or type(made) not in _PLAIN or is_lazy(made):
        return made
    if dtype is not None and made.dtype.is_floating_point:
        made = made.detach().to(dtype)
    fake: torch.Tensor = FakeTensor(mode, made.detach(), torch.device("cpu"))
    if isinstance(tensor, nn.Parameter):
        fake = nn.Parameter(fake, requires_grad=tensor.requires_grad)
    elif tensor.is_leaf:
        fake.requires_grad_(tensor.requires_grad)
    fake.__dict__.update(tensor.__dict__)
    return fake


def real_copy(model: nn.Module, *others: Any) -> tuple[Any, ...]:
    """Deep copies of a model and of what it is given, with their values; tensors without values are zeros.

    Raises ``MemoryError`` for a model whose zeros would take more than 4 GiB, and what ``copy.deepcopy`` raises for
    something that cannot be copied.
    """
    memo: dict[int, Any] = {}

    def with_values(tensor: torch.Tensor) -> torch.Tensor:
        return _zeros(tensor) if tensor.is_meta else copy.deepcopy(tensor if tensor.is_leaf else tensor.detach(), memo)

    room = MAX_ZEROS_BYTES
    for tensor in _tensors(model):
        if is_lazy(tensor):
            memo[id(tensor)] = _lazy(tensor, "cpu")
        elif tensor.is_meta and id(tensor) not in memo:
            room -= tensor.nbytes
            if room < 0:
                raise MemoryError(f"the model has no values, and zeros would take more than {MAX_ZEROS_BYTES:,} B")
            memo[id(tensor)] = _zeros(tensor)
    return _copied((model, *others), memo, with_values)


def _zeros(tensor: torch.Tensor) -> torch.Tensor:
    made = torch.zeros(tensor.shape, dtype=tensor.dtype)
    return nn.Parameter(made, requires_grad=False) if isinstance(tensor, nn.Parameter) else made


def _copied(
    values: tuple[Any, ...], memo: dict[int, Any], one: Callable[[torch.Tensor], torch.Tensor]
) -> tuple[Any, ...]:
    closures = Closures(values[0], memo)
    with _Tensors(one):
        copied = tuple(copy.deepcopy(value, memo) for value in values)
        closures.complete()
    return copied


def _tensors(model: nn.Module) -> Iterable[torch.Tensor]:
    for module in model.modules():
        yield from (tensor for tensor in module._parameters.values() if tensor is not None)  # noqa: SLF001
        yield from (tensor for tensor in module._buffers.values() if tensor is not None)  # noqa: SLF001


def twin(tensor: torch.Tensor, storages: dict[int, torch.UntypedStorage]) -> torch.Tensor:
    """A tensor without values: same sizes, strides and element type, and one storage for what shares one.

    Wrapper subclasses and tensors without strides are copied as they are.
    """
    if is_lazy(tensor):
        return _lazy(tensor, "meta")
    if type(tensor) not in _PLAIN or tensor.layout is not torch.strided:
        return copy.deepcopy(tensor)
    theirs = tensor.untyped_storage()
    key = theirs._cdata  # noqa: SLF001 - the one identity a storage has
    if key not in storages:
        storages[key] = torch.UntypedStorage(theirs.nbytes(), device="meta")
    made = torch.empty(0, dtype=tensor.dtype, device="meta")
    made.set_(storages[key], tensor.storage_offset(), tensor.size(), tensor.stride())
    if isinstance(tensor, nn.Parameter):
        made = nn.Parameter(made, requires_grad=tensor.requires_grad)  # products choose their way by it
    made.__dict__.update(tensor.__dict__)  # marks that models put on their parameters
    return mark(made)


def _lazy(tensor: Any, device: str) -> torch.Tensor:
    """A tensor that gets its size at the first call; PyTorch copies the parameters among them and not the buffers."""
    made: torch.Tensor = type(tensor)(requires_grad=False, device=device, dtype=tensor.data.dtype)
    return made


_PLAIN: Final = (torch.Tensor, nn.Parameter, nn.Buffer)


class _Tensors(TorchFunctionMode):
    """Copies plain tensors with a function of ours, wherever ``copy.deepcopy`` meets them."""

    def __init__(self, one: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self._one = one

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is _DEEPCOPY and type(args[0]) in _PLAIN:
            tensor, memo = args[0], args[1]
            if id(tensor) not in memo:
                memo[id(tensor)] = self._one(tensor)
            return memo[id(tensor)]
        return func(*args, **(kwargs or {}))
