"""PyTorch's operators in our vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.frontends.aten_call import Rule

__all__ = ["RULES_SHAPES"]

RULES_SHAPES: Final[Mapping[str, Rule]] = {}
