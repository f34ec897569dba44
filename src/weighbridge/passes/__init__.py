"""Rewrites of a graph: each takes a ``Graph`` and returns a new one, and leaves the old one as it is.

``deploy`` is what a runtime does before it runs a network; the counts and the memory plan of a report are of its result.
"""

from __future__ import annotations

from weighbridge.passes.activations import fuse_activations
from weighbridge.passes.affine import fold_batch_norm, fuse_bias
from weighbridge.passes.bits import BitRules, bit_rules, set_bits
from weighbridge.passes.deployment import deploy
from weighbridge.passes.identities import drop_identities
from weighbridge.passes.quantised import fold_quantisation
from weighbridge.passes.static import static_tensors
from weighbridge.passes.stored import fold_stored

__all__ = [
    "BitRules",
    "bit_rules",
    "deploy",
    "drop_identities",
    "fold_batch_norm",
    "fold_quantisation",
    "fold_stored",
    "fuse_activations",
    "fuse_bias",
    "set_bits",
    "static_tensors",
]
