"""Rules of TensorFlow Lite's stablehlo operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.frontends.foreign import Rule

__all__ = ["STABLEHLO_RULES"]

STABLEHLO_RULES: Final[Mapping[str, Rule]] = {}
