"""ONNX's own operators, and those of them that something here describes."""

from __future__ import annotations

import onnx

from weighbridge.frontends.onnx_table import RULES

__all__ = ["CONTROL_FLOW", "HOW", "described", "known_to_onnx"]

CONTROL_FLOW = frozenset({"Constant", "If", "Loop", "Scan", "SequenceMap"})
"""Read by the front end itself: bodies and stored values are no calls of an operator."""

HOW = "an operator without a rule: a line in the table of its domain says which of ours it is (docs/add-an-operator.md)"


def known_to_onnx() -> frozenset[str]:
    """The operators of ONNX's own domain that the installed onnx defines, in whatever version of the operator set."""
    return frozenset(one.name for one in onnx.defs.get_all_schemas_with_history() if one.domain == "")


def described() -> frozenset[str]:
    """The operators of ONNX's own domain that have a rule, or that the front end reads itself."""
    return frozenset(RULES[""]) | CONTROL_FLOW
