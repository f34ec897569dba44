"""What we say that TensorFlow Lite Micro takes for a model, to be compared with what it takes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from weighbridge.frontends.tflite_model import TfliteModel
from weighbridge.frontends.tflite_read import read_model
from weighbridge.frontends.tflm_call import bytes_of
from weighbridge.frontends.tflm_offline import places_of
from weighbridge.frontends.tflm_persistent import _resources
from weighbridge.frontends.tflm_requests import arena_of
from weighbridge.memory.arena import planned


class Taken(NamedTuple):
    """Bytes of the plan and of what is kept, its variables included; None and 0 where the model is refused for ``reason``."""

    head: int | None
    tail: int
    reason: str


def taken(path: Path) -> Taken:
    model = read_model(path)
    arena = arena_of(model, {}, {})
    if arena.reason:
        return Taken(None, 0, arena.reason)
    kept = next(one for one in arena.persistent if (one.library, one.pointer_bytes) == ("reference", 8))
    tail = kept.structure_bytes + (kept.kernel_bytes or 0) + variable_bytes(model)
    return Taken(planned(arena, "runtime").bytes, tail, "")


def variable_bytes(model: TfliteModel) -> int:
    """Those of variable tensors without a place in the file's plan and of variables that operators share by name, each rounded up."""
    places = places_of(model)
    found = sum(map(_rounded, _resources(model).values()))
    for number, subgraph in enumerate(model.subgraphs):
        for index, tensor in enumerate(subgraph.tensors):
            if tensor.is_variable and (number, index) not in places:
                found += _rounded(bytes_of(tensor) or 0)
    return found


def _rounded(size: int) -> int:
    return -(-size // 16) * 16
