"""The table of PyTorch's operators: every rule, by operator or by operator and overload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.frontends.aten_call import Rule

__all__ = ["RULES", "rule_of"]

RULES: Final[Mapping[str, Rule]] = {}


def rule_of(op: str, overload: str) -> Rule | None:
    """The rule of an operator such as ``"aten.max"`` in one of its forms; None where there is none."""
    found = RULES.get(f"{op}.{overload}") or RULES.get(op)
    if found is None and op.endswith("_"):
        base = op[:-1]
        found = RULES.get(f"{base}.{overload}") or RULES.get(base)
    return found
