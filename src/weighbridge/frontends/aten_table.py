"""The table of PyTorch's operators: every rule, by operator or by operator and overload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.aten_call import As, AtenCall, Rule
from weighbridge.frontends.aten_table_attention import RULES_ATTENTION
from weighbridge.frontends.aten_table_contractions import RULES_CONTRACTIONS
from weighbridge.frontends.aten_table_embedding import RULES_EMBEDDING
from weighbridge.frontends.aten_table_layers import RULES_LAYERS
from weighbridge.frontends.aten_table_quantised import RULES_QUANTISED
from weighbridge.frontends.aten_table_recurrent import RULES_RECURRENT
from weighbridge.frontends.aten_table_shapes import RULES_SHAPES
from weighbridge.frontends.aten_table_spectral import RULES_SPECTRAL
from weighbridge.frontends.aten_table_values import RULES_VALUES
from weighbridge.frontends.aten_table_vision import RULES_VISION
from weighbridge.frontends.foreign import Step

__all__ = ["RULES", "rule_of"]


def _unseen(call: AtenCall) -> Sequence[Step]:
    """A tensor that appears in a run and that no call gave."""
    raise GraphError("it was not made by PyTorch in the thread that runs the model, so what made it is not seen")


RULES: Final[Mapping[str, Rule]] = {
    "weighbridge.unseen": _unseen,
    "weighbridge.updated": As("updated", "x=x *parts=parts"),
    **RULES_ATTENTION,
    **RULES_CONTRACTIONS,
    **RULES_EMBEDDING,
    **RULES_LAYERS,
    **RULES_QUANTISED,
    **RULES_RECURRENT,
    **RULES_SHAPES,
    **RULES_SPECTRAL,
    **RULES_VALUES,
    **RULES_VISION,
}


def rule_of(op: str, overload: str) -> Rule | None:
    """The rule of an operator such as ``"aten.max"`` in one of its forms; None where there is none.

    Operators that exist only in place (``copy_``) are found under that name, too.
    """
    for name in (op, f"{op}_"):
        found = RULES.get(f"{name}.{overload}") or RULES.get(name)
        if found is not None:
            return found
    return None
