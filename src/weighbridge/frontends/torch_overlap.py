"""Stored tensors that share elements without being the same: transposed ties, slices of one table, expanded values.

Each storage counts once, so tensors with elements in common are views of one stored tensor, which has the elements that
they have together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import torch

from weighbridge.frontends.torch_aliases import storage_of
from weighbridge.named_tuple import NamedTuple

__all__ = ["Shared", "shared"]

_MAX_MARKED: Final = 1 << 30
"""Elements of a storage up to which those that tensors have together are marked one by one, a byte each."""

_Place = tuple[int, torch.Size, tuple[int, ...]]


class Shared(NamedTuple):
    """Tensors with elements in common: ``whole`` is one that has them all, None where no tensor has; ``elements`` is their number."""

    tensors: tuple[torch.Tensor, ...]
    whole: torch.Tensor | None
    elements: int


def shared(tensors: Iterable[torch.Tensor]) -> Iterator[Shared]:
    """The groups of tensors that lie on each other in a storage in any way but all being the same."""
    storages: dict[tuple[int, torch.dtype], list[torch.Tensor]] = {}
    for tensor in {id(tensor): tensor for tensor in tensors}.values():
        storage = storage_of(tensor)
        if storage is not None and tensor.layout is torch.strided and tensor.numel():
            storages.setdefault((storage, tensor.dtype), []).append(tensor)
    for those in storages.values():
        if len(those) > 1 or those[0].untyped_storage().nbytes() < those[0].nbytes:
            for group in _touching(those):
                found = _shared(group)
                if found is not None:
                    yield found


def _touching(tensors: list[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
    """Tensors of one storage in groups whose stretches of it do not overlap."""
    group: list[torch.Tensor] = []
    until = 0
    for tensor in sorted(tensors, key=lambda one: one.storage_offset()):
        if group and tensor.storage_offset() >= until:
            yield group
            group = []
        group.append(tensor)
        until = max(until, _end(tensor))
    yield group


def _shared(group: list[torch.Tensor]) -> Shared | None:
    places = {_place(tensor): tensor for tensor in reversed(group)}
    start, end = min(tensor.storage_offset() for tensor in group), max(map(_end, group))
    for tensor in group:
        if tensor.storage_offset() == start and _end(tensor) == end and _is_dense(tensor):
            return Shared(tuple(group), tensor, tensor.numel()) if len(places) > 1 else None
    if end - start > _MAX_MARKED:
        return None
    marks = torch.zeros(end - start, dtype=torch.bool, device="cpu")
    for offset, size, stride in places:
        marks.as_strided(size, stride, offset - start).fill_(True)
    elements = int(marks.sum())
    if elements == sum(tensor.numel() for tensor in places.values()):
        return None
    return Shared(tuple(group), next((one for one in group if one.numel() == elements), None), elements)


def _place(tensor: torch.Tensor) -> _Place:
    return tensor.storage_offset(), tensor.shape, tensor.stride()


def _end(tensor: torch.Tensor) -> int:
    """The element behind the tensor's last in its storage."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return int(tensor.storage_offset() + 1 + sum((size - 1) * stride for size, stride in steps))


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether it has every element of its stretch once."""
    step = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1:
            if stride != step:
                return False
            step *= size
    return True
