"""The table of ONNX Runtime's own operators (com.microsoft), by family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.frontends.foreign import Rule
from weighbridge.frontends.onnx_table_microsoft_attention import ATTENTION_RULES
from weighbridge.frontends.onnx_table_microsoft_experts import EXPERT_RULES
from weighbridge.frontends.onnx_table_microsoft_layers import FUSED_LAYER_RULES
from weighbridge.frontends.onnx_table_microsoft_quantised import QUANTISED_RULES
from weighbridge.frontends.onnx_table_microsoft_shapes import MOVE_RULES
from weighbridge.frontends.onnx_table_microsoft_training import TRAINING_RULES

__all__ = ["MICROSOFT_RULES"]

MICROSOFT_RULES: Final[Mapping[str, Rule]] = {
    **ATTENTION_RULES,
    **EXPERT_RULES,
    **FUSED_LAYER_RULES,
    **QUANTISED_RULES,
    **MOVE_RULES,
    **TRAINING_RULES,
}
"""By the operators' names; ONNX has one version of the domain."""
