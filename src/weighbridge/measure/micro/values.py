"""The values of the networks of one operator: made up, the same each time, and the same in every runtime."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from math import prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from weighbridge.measure.micro.record import Spec

__all__ = ["inputs", "picked", "weights"]


def inputs(spec: Spec) -> Mapping[str, tuple[tuple[int, ...], str]]:
    """Shapes and types by name."""
    first = spec.shape, "float32" if spec.rows is None else "int64"
    return {"x": first, **{f"x{place}": (shape, "float32") for place, shape in enumerate(spec.others, 1)}}


def weights(spec: Spec) -> tuple[tuple[Any, ...], ...]:
    """The stored values of each of the chain: arrays in float32, such that values stay about as large from one to the next.

    Numbers that grow or vanish would be infinite or denormal in the end, which takes processors another time.
    """
    chance = np.random.default_rng(_seed(spec))
    return tuple(
        tuple(_made(shape, spec, chance, place) for place, shape in enumerate(spec.weights)) for _ in range(spec.chain)
    )


def picked(spec: Spec, folder: Path) -> Mapping[str, str]:
    """The paths of the inputs that are no floating point, by name: rows all over the table, in a file that is written into ``folder``."""
    if spec.rows is None:
        return {}
    path = folder / f"rows-{_seed(spec):08x}.npy"
    np.save(path, np.random.default_rng(_seed(spec)).integers(0, spec.rows, spec.shape))
    return {"x": str(path)}


def _seed(spec: Spec) -> int:
    return zlib.crc32(spec.name.encode())


def _made(shape: tuple[int, ...], spec: Spec, chance: np.random.Generator, place: int) -> Any:
    values = chance.standard_normal(shape, np.float32)
    if spec.operator == "BatchNormalization" and place == 3:
        return np.abs(values) + np.float32(0.5)  # a variance
    taken = prod(shape[1:]) if spec.operator != "MatMul" else shape[0]
    return values if len(shape) == 1 or spec.rows is not None else values / np.float32(sqrt(taken))
