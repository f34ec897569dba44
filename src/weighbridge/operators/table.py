"""The operator table: every record, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .convolution import CONVOLUTION_OPERATORS
from .record import Op

__all__ = ["OPERATORS"]

OPERATORS: Final[Mapping[str, Op]] = {op.name: op for op in (*CONVOLUTION_OPERATORS,)}
