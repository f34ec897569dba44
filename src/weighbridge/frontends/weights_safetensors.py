"""The tensors of a safetensors file.

The library opens the file and checks its head: sizes, offsets, no holes.  The bytes of a tensor are then read from where the head
says, as the library gives no type that NumPy lacks (bfloat16).  Source: the format as github.com/huggingface/safetensors has it.
"""

from __future__ import annotations

import json
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import BadModel, said_by
from weighbridge.frontends.weights import NamedTensor, Stored, compress_extra

__all__ = ["tensors_of"]

_DAMAGED: Final = "the file is damaged: download or export it again"
_NAMES: Final = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F6_E2M3": "float6_e2m3",
    "F6_E3M2": "float6_e3m2",
    "F4": "float4_e2m1",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
    "C64": "complex64",
}


def tensors_of(path: Path) -> list[NamedTensor]:
    """Every tensor of the file at ``path``, sorted by name.

    Raises ``BadModel`` for a file that is damaged, ``MissingExtra`` where a library is not installed, and ``OSError``.
    """
    try:
        import safetensors

        from weighbridge.frontends.weights_values import is_decodable
    except ImportError as error:
        raise compress_extra(error) from None
    try:
        with safetensors.safe_open(path, framework="numpy"):
            pass
    except (OSError, MemoryError):
        raise
    except Exception as error:  # the library has errors of its own, and lets those of Rust's through
        if "allocate memory" in said_by(error):
            raise BadModel("it does not fit into the memory of this machine", where=path.name) from None
        raise BadModel(f"this is no safetensors file: {said_by(error)}", where=path.name, hint=_DAMAGED) from None
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        head = json.loads(file.read(size))
    tensors = []
    for name, entry in sorted(head.items()):
        if name == "__metadata__":
            continue
        start, stop = entry["data_offsets"]
        shape = tuple(entry["shape"])
        # of a type that is not known here the file says at least how much it takes
        dtype = DTYPES.get(_NAMES.get(entry["dtype"], "")) or DType(
            entry["dtype"], "opaque", 8 * (stop - start), max(1, prod(shape))
        )
        if is_decodable(dtype):
            stored = Stored(partial(_values, path, 8 + size + start, stop - start, dtype))
        else:
            stored = Stored(None, reason=f"values of {entry['dtype']} are not read")
        tensors.append(NamedTensor(name, shape, dtype, stored))
    return tensors


def _values(path: Path, start: int, size: int, dtype: DType) -> Any:
    from weighbridge.frontends.weights_values import decoded

    with path.open("rb") as file:
        file.seek(start)
        data = file.read(size)
    bits = dtype.block_bits or 8
    return decoded(data, dtype, 8 * len(data) // bits)
