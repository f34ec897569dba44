"""PyTorch's lookups in tables as ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.aten_call import As, AtenCall, Rule
from weighbridge.graph import Attribute

__all__ = ["RULES_EMBEDDING"]

_MODES: Final = ("sum", "mean", "max")


def _bag(call: AtenCall) -> dict[str, Attribute]:
    mode = call.integer("mode", 0)
    if not 0 <= mode < len(_MODES):
        raise GraphError(f"there is no mode {mode} of a bag", where=call.name)
    return {"mode": _MODES[mode], "include_last_offset": bool(call.get("include_last_offset", False))}


_BAG: Final = As("embedding_bag", "w=weight indices=indices offsets=offsets sample_weights=per_sample_weights", _bag)

RULES_EMBEDDING: Final[Mapping[str, Rule]] = {
    "aten.embedding": As("embedding", "w=weight indices=indices"),
    "aten.embedding_bag": _BAG,
    "aten._embedding_bag": _BAG,
    "aten._embedding_bag_forward_only": _BAG,
    "aten.embedding_renorm": As("embedding_renorm", "w=self indices=indices"),
}
