"""Rules of TensorFlow Lite's custom operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.frontends.foreign import Rule

__all__ = ["CUSTOM_RULES"]

CUSTOM_RULES: Final[Mapping[str, Rule]] = {}
