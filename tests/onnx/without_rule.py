"""ONNX's own operators that nothing here describes: the one list of them, for the tests and for the page on ONNX."""

from __future__ import annotations

import onnx

from weighbridge.frontends.onnx_table import RULES

__all__ = ["CONTROL_FLOW", "HOW", "WITHOUT_RULE", "described", "known_to_onnx"]

WITHOUT_RULE = frozenset(
    {
        *("CausalConvWithState", "DFT", "ImageDecoder", "LinearAttention", "MelWeightMatrix", "STFT", "SequenceMap"),
        "TfIdfVectorizer",
    }
)
"""Named by every report that meets them, never counted as nothing."""

CONTROL_FLOW = frozenset({"Constant", "If", "Loop", "Scan"})
"""Read by the front end itself: bodies and stored values are no calls of an operator."""

HOW = "an operator that got a rule leaves WITHOUT_RULE in tests/onnx/without_rule.py, one that has none is added there"


def known_to_onnx() -> frozenset[str]:
    """The operators of ONNX's own domain that the installed onnx defines, in whatever version of the operator set."""
    return frozenset(one.name for one in onnx.defs.get_all_schemas_with_history() if one.domain == "")


def described() -> frozenset[str]:
    """The operators of ONNX's own domain that have a rule, or that the front end reads itself."""
    return frozenset(RULES[""]) | CONTROL_FLOW
