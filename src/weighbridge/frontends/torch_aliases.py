"""Tensors that share a storage: what is written through one of them is read through the others."""

from __future__ import annotations

from typing import Any, Final
from weakref import ref

import torch

__all__ = ["Aliases", "storage_of"]

_SEEN: Final = "_weighbridge_seen"
"""The attribute that says how many of its storage's writes a tensor's id stands for."""


def storage_of(tensor: torch.Tensor) -> int | None:
    """The identity of a tensor's storage while that lives; None for sparse and wrapped tensors, which have none of their own."""
    try:
        return int(tensor.untyped_storage()._cdata)  # noqa: SLF001 - the one identity that a storage has
    except (NotImplementedError, RuntimeError):
        return None


class Aliases:
    """The storages of one run: who lies in them, and what was written into them.

    A storage that died leaves its identity to a new one, so that the storage is remembered, too, by a weak reference.
    """

    def __init__(self) -> None:
        self._owners: dict[int, tuple[Any, str]] = {}
        self._written: dict[int, list[tuple[str, Any]]] = {}

    def label(self, tensor: torch.Tensor, name: str) -> None:
        """Note the id of a tensor, which stands for all that was written into its storage so far."""
        storage = storage_of(tensor)
        if storage is None:
            return
        if not self._is_same(storage, tensor):
            self._written.pop(storage, None)
        self._owners[storage] = ref(tensor.untyped_storage()), name
        writes = self._written.get(storage)
        if writes:
            setattr(tensor, _SEEN, len(writes))

    def _is_same(self, storage: int, tensor: torch.Tensor) -> bool:
        """Whether the storage that is known under this identity is the tensor's."""
        known = self._owners.get(storage)
        return known is not None and known[0]() is tensor.untyped_storage()

    def owner(self, tensor: torch.Tensor) -> str | None:
        """The id that was last given to a tensor in this storage."""
        storage = storage_of(tensor)
        return self._owners[storage][1] if storage is not None and self._is_same(storage, tensor) else None

    def write(self, tensor: torch.Tensor, name: str) -> None:
        """Note that a tensor was written in place, and that the result has the id ``name``."""
        storage = storage_of(tensor)
        if storage is not None:
            if not self._is_same(storage, tensor):
                self._written.pop(storage, None)
            self._written.setdefault(storage, []).append((name, _extent(tensor)))

    def written(self, tensor: torch.Tensor) -> tuple[str, ...]:
        """The ids of what was written into a tensor through others since it got its own id."""
        if not self._written:
            return ()
        storage = storage_of(tensor)
        writes = self._written.get(storage) if storage is not None else None
        if storage is None or not writes or not self._is_same(storage, tensor):
            return ()
        first, last = _extent(tensor)
        later = writes[tensor.__dict__.get(_SEEN, 0) :]
        return tuple(name for name, (start, end) in later if start < last and first < end)


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    """The first byte of a tensor in its storage, and the one behind its last."""
    start = tensor.storage_offset()
    steps = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    end = start + steps + 1 if tensor.numel() else start
    return start * tensor.element_size(), end * tensor.element_size()
