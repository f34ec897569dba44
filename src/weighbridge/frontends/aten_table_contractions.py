"""PyTorch's operators in our vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.frontends.aten_call import Rule

__all__ = ["RULES_CONTRACTIONS"]

RULES_CONTRACTIONS: Final[Mapping[str, Rule]] = {}
