"""PyTorch's operators in our vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.frontends.aten_call import Rule

__all__ = ["RULES_VISION"]

RULES_VISION: Final[Mapping[str, Rule]] = {}
