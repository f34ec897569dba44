"""The ids of one run's tensors, and which of them share a storage: what is written through one is read through the others."""

from __future__ import annotations

import gc
from typing import Any, Final
from weakref import ref

import torch

from weighbridge.named_tuple import NamedTuple

__all__ = ["Aliases", "Before", "mark", "storage_of"]

_LABEL: Final = "_weighbridge_label"
"""The attribute that carries a tensor's id: it lives exactly as long as the tensor."""


_PLAIN: Final = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


class _Label(NamedTuple):
    """An id, the run in which it was given, and how many of the writes to the tensor's storage it stands for."""

    run: object
    name: str
    writes: int


def storage_of(tensor: torch.Tensor) -> int | None:
    """The identity of a tensor's storage while that lives; None for sparse and wrapped tensors, which have none of their own."""
    try:
        return int(tensor.untyped_storage()._cdata)  # noqa: SLF001 - the one identity that a storage has
    except (NotImplementedError, RuntimeError):
        return None


def mark(tensor: torch.Tensor) -> torch.Tensor:
    """Note of a copied tensor that it exists before the run."""
    setattr(tensor, _LABEL, _Label(None, "", 0))
    return tensor


class Before:
    """What existed before a run: all else that nobody saw being made comes from another thread, or from NumPy.

    Tensors without values are there because they are marked or were seen in an earlier run; the others are looked up
    among all objects of the process, which takes a tenth of a second, so only a run with values does it.
    """

    def __init__(self, *, is_meta: bool) -> None:
        self._tensors: dict[int, Any] | None = None
        if not is_meta:
            self._tensors = {id(one): ref(one) for one in gc.get_objects() if type(one) in _PLAIN}

    def has(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor that no call gave existed before."""
        if tensor.dim() == 0 or type(tensor) not in _PLAIN or _LABEL in tensor.__dict__:
            return True
        if self._tensors is None:
            return not tensor.is_meta
        known = self._tensors.get(id(tensor))
        return known is not None and known() is tensor

    def gave_numbers(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor that Python has just made is made of numbers, and not of an array that NumPy may have computed.

        In a run without values no array comes from the inputs, so that all are constants.
        """
        return self._tensors is None or tensor.dim() == 0 or tensor.untyped_storage().resizable()


class Aliases:
    """The tensors and storages of one run: who lies in them, and what was written into them.

    A tensor may outlive the run, in a cache of the model's file or because it was the user's all along, and be met by the
    next: a label counts in its own run alone, and ``forget`` takes it off what is not of our making.
    A storage that died leaves its identity to a new one, so that the storage is remembered, too, by a weak reference.
    """

    def __init__(self) -> None:
        self._owners: dict[int, tuple[Any, str]] = {}
        self._written: dict[int, list[tuple[str, Any]]] = {}
        self._run = object()
        self._foreign: list[Any] = []

    def name(self, tensor: torch.Tensor) -> str | None:
        """The id of a tensor in this run; None for one that has none yet."""
        label = tensor.__dict__.get(_LABEL)
        return label.name if label is not None and label.run is self._run else None

    def label(self, tensor: torch.Tensor, name: str, *, foreign: bool = False) -> None:
        """Note the id of a tensor, which stands for all that was written into its storage so far.

        ``foreign`` says that the tensor is neither of the copy nor made in the run.
        """
        if foreign:
            self._foreign.append(ref(tensor))
        storage = storage_of(tensor)
        writes = 0
        if storage is not None:
            if not self._is_same(storage, tensor):
                self._written.pop(storage, None)
            self._owners[storage] = ref(tensor.untyped_storage()), name
            writes = len(self._written.get(storage, ()))
        setattr(tensor, _LABEL, _Label(self._run, name, writes))

    def forget(self) -> None:
        """Take the ids off the tensors that are somebody else's."""
        for one in self._foreign:
            tensor = one()
            if tensor is not None:
                tensor.__dict__.pop(_LABEL, None)

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
        label = tensor.__dict__.get(_LABEL)
        later = writes[label.writes if label is not None and label.run is self._run else 0 :]
        return tuple(name for name, (start, end) in later if start < last and first < end)


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    """The first byte of a tensor in its storage, and the one behind its last."""
    start = tensor.storage_offset()
    steps = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    end = start + steps + 1 if tensor.numel() else start
    return start * tensor.element_size(), end * tensor.element_size()
