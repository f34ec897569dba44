"""The table of PyTorch's operators: every rule, by operator or by operator and overload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.frontends.aten_call import Rule

__all__ = ["RULES", "rule_of"]

RULES: Final[Mapping[str, Rule]] = {}


def rule_of(op: str, overload: str) -> Rule | None:
    """The rule of an operator such as ``"aten.max"`` in one of its forms; None where there is none.

    Operators that exist only in place (``copy_``) are found under that name, too.
    """
    for name in (op, f"{op}_"):
        found = RULES.get(f"{name}.{overload}") or RULES.get(name)
        if found is not None:
            return found
    return None
