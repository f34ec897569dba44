"""Networks as others published and timed them, with their conditions and sources: to compare with, never counted by us."""

from __future__ import annotations

from weighbridge.published.record import Conditions, Published

__all__ = ["Conditions", "Published"]
