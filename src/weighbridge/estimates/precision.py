"""Which number format a network computes in, and what devices call it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from weighbridge.devices.device import PRECISIONS
from weighbridge.dtypes import DType
from weighbridge.errors import BadSpec

__all__ = ["precision_named", "precision_of"]

_SHORT: Final = {
    "fp64": "float64",
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp8": "float8",
    "fp4": "float4",
    "half": "float16",
}


def precision_named(name: str) -> str:
    """The name that device files use for what a user calls ``fp16`` or ``uint8``; raises ``BadSpec`` for no number format."""
    lower = str(name).strip().lower()
    found = _SHORT.get(lower, lower.removeprefix("u") if lower.startswith("uint") else lower)
    if found not in PRECISIONS:
        raise BadSpec(f"there is no precision {name!r}", hint=f"the precisions are {', '.join(PRECISIONS)}")
    return found


def precision_of(operands: Iterable[DType]) -> str | None:
    """The precision that a multiplication of these operands needs: the widest float among them, else the widest integer.

    8-bit weights that meet float32 activations are multiplied as float32: saving storage alone speeds up no arithmetic.
    None where no operand has a type that is multiplied as it is (block formats, text).
    """
    types = [dtype for dtype in operands if dtype.kind in ("float", "int", "uint")]
    floats = [dtype for dtype in types if dtype.kind == "float"]
    widest = max(floats or types, key=lambda dtype: dtype.bits or 0, default=None)
    if widest is None:
        return None
    name = widest.name.partition("_")[0].removeprefix("u")
    return name if name in PRECISIONS else None
