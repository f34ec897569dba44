"""Calculators: one layer, designs with other batch sizes, separable convolutions.

Each is a pure function of a frozen description; its result is a record of all readouts, with ``to_dict`` for JSON.

>>> from weighbridge.calculators import Conv, layer
>>> layer(Conv(c_i=256, c_o=384, k=3, padding=1, h_o=13)).weights
884736
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weighbridge.calculators.by_name import KINDS, LayerKind, named
    from weighbridge.calculators.designs import Batching, Design, DesignFacts, batching
    from weighbridge.calculators.kinds import Conv, Depthwise, LayerSpec, Linear, Matmul, Operation, Transposed
    from weighbridge.calculators.presets import preset
    from weighbridge.calculators.readouts import Gemm, Layer, LayerTime, given_device, layer
    from weighbridge.calculators.separation import Separable, separable
    from weighbridge.calculators.symbols import SYMBOLS, Symbol

__all__ = [
    "KINDS",
    "SYMBOLS",
    "Batching",
    "Conv",
    "Depthwise",
    "Design",
    "DesignFacts",
    "Gemm",
    "Layer",
    "LayerKind",
    "LayerSpec",
    "LayerTime",
    "Linear",
    "Matmul",
    "Operation",
    "Separable",
    "Symbol",
    "Transposed",
    "batching",
    "given_device",
    "layer",
    "named",
    "preset",
    "separable",
]

# A module for every public name, imported when it is first used: the help of a command needs the symbols alone.
_HOMES = {
    **dict.fromkeys(("Batching", "Design", "DesignFacts", "batching"), "designs"),
    **dict.fromkeys(("Conv", "Depthwise", "LayerSpec", "Linear", "Matmul", "Operation", "Transposed"), "kinds"),
    **dict.fromkeys(("Gemm", "Layer", "LayerTime", "given_device", "layer"), "readouts"),
    **dict.fromkeys(("KINDS", "LayerKind", "named"), "by_name"),
    "preset": "presets",
    **dict.fromkeys(("Separable", "separable"), "separation"),
    **dict.fromkeys(("SYMBOLS", "Symbol"), "symbols"),
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
