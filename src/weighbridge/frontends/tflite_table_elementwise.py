"""Rules of TensorFlow Lite's elementwise operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.frontends.foreign import As, Rule

__all__ = ["ELEMENTWISE_RULES"]

ELEMENTWISE_RULES: Final[Mapping[str, Rule]] = {"ADD": As("add", "a b")}
