"""Rules of TensorFlow Lite's shapes operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.frontends.foreign import As, Rule

__all__ = ["SHAPE_RULES"]

SHAPE_RULES: Final[Mapping[str, Rule]] = {"RESHAPE": As("reshape", "x", lambda call: {"shape": call.stated[0].shape})}
