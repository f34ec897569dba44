"""The values of inputs: from files, or made up the same way each time."""

from __future__ import annotations

import math
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.lib.format import read_array

from weighbridge.errors import BadSpec, said_by

__all__ = ["filled"]

_DRAWN_BYTES: Final = 8
"""A number is drawn in float64, whatever it becomes."""


def filled(name: str, shape: tuple[int, ...], dtype: str, values: Mapping[str, str]) -> tuple[Any, str]:
    """An array for an input, and how it was filled.

    What is no file is made up: normal numbers in floating point, ones in whole numbers, which are valid tokens, masks and indices
    almost everywhere, and True.  Raises ``BadSpec`` for a file that does not have that shape and type, and ``MemoryError`` for a shape of
    more bytes than can be counted.
    """
    if name in values:
        return _read(name, shape, dtype, values[name]), "values of a file"
    kind = np.dtype(dtype)
    if math.prod(shape) * max(kind.itemsize, _DRAWN_BYTES) > sys.maxsize:  # of which NumPy says that the value is wrong
        raise MemoryError
    if kind.kind == "f":
        seed = zlib.crc32(name.encode(errors="replace"))
        return np.random.default_rng(seed).standard_normal(shape).astype(kind), "normal numbers"
    return np.ones(shape, kind), "ones"


def _read(name: str, shape: tuple[int, ...], dtype: str, path: str) -> Any:
    try:
        with Path(path).open("rb") as file:
            found = read_array(file, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise BadSpec(f"{path} has no values: {said_by(error)}", where=name, hint="give a .npy file") from None
    if tuple(found.shape) != shape or found.dtype != np.dtype(dtype):
        wanted = f"{'x'.join(map(str, shape))} {dtype}"
        raise BadSpec(f"{path} has {'x'.join(map(str, found.shape))} {found.dtype}, not {wanted}", where=name)
    return found
