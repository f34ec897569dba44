"""The memory plan that a file may carry for TensorFlow Lite Micro (docs/memory_management.md in tensorflow/tflite-micro)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from weighbridge.frontends.tflite_model import TfliteModel

__all__ = ["Places", "Unplannable", "places_of"]

_NAME: Final = "OfflineMemoryAllocation"
_HEADER: Final = 3
_ONLINE: Final = -1

Places = Mapping[tuple[int, int], int]
"""Offsets of tensors, by (subgraph, tensor); the runtime finds a place for those that are not in it."""


class Unplannable(Exception):
    """Why there is no plan."""


def places_of(model: TfliteModel) -> Places:
    """The offsets in the metadata: words of 32 bits, a version, a subgraph, the number of tensors and an offset for each.

    Raises ``Unplannable`` where they are not for the tensors of the model, all subgraphs together: the runtime refuses it.
    """
    found = model.metadata.get(_NAME)
    if found is None:
        return {}
    tensors = [(number, index) for number, one in enumerate(model.subgraphs) for index in range(len(one.tensors))]
    start, size = found
    words = struct.unpack_from(f"<{size // 4}i", model.data, start)
    if len(words) < _HEADER or words[2] != len(tensors) or len(words) < _HEADER + len(tensors):
        planned = words[2] if len(words) >= _HEADER else 0
        raise Unplannable(f"the memory plan in the file is for {planned:,} tensors, and there are {len(tensors):,}")
    return {key: offset for key, offset in zip(tensors, words[_HEADER:], strict=False) if offset != _ONLINE}
