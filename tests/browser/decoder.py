"""A generated decoder of any length, in the scopes of its blocks; it needs no library, so that benchmarks make it too."""

from __future__ import annotations

from typing import Final

from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.graph import Graph

__all__ = ["BLOCKS", "decoder"]

BLOCKS: Final = 91
"""As many as make a graph of 1,004 nodes."""
_WIDTH, _LONG, _WORDS = 64, 128, 1000


def decoder(blocks: int = BLOCKS) -> Graph:
    """A decoder of eleven nodes a block, and three more, in the scopes of its blocks."""
    made, dtype = Builder("decoder"), DTYPES["float32"]

    def linear(scope: str, x: str, wide: int, out: int) -> str:
        weight = made.stored(f"{scope}.weight", (out, wide), dtype)
        bias = made.stored(f"{scope}.bias", (out,), dtype)
        return made.add("linear", [("x", x), ("w", weight), ("b", bias)], name=scope, scope=scope)[0]

    def norm(scope: str, x: str) -> str:
        scale, shift = (made.stored(f"{scope}.{name}", (_WIDTH,), dtype) for name in ("weight", "bias"))
        operands = [("x", x), ("scale", scale), ("bias", shift)]
        return made.add("layer_norm", operands, name=scope, scope=scope)[0]

    def add(scope: str, x: str, y: str) -> str:
        return made.add("add", [("a", x), ("b", y)], name=f"{scope}.add", scope=scope)[0]

    ids = made.input("ids", (1, _LONG), DTYPES["int64"])
    table = made.stored("embed.weight", (_WORDS, _WIDTH), dtype)
    x = made.add("embedding", [("w", table), ("indices", ids)], name="embed", scope="embed")[0]
    for number in range(blocks):
        block = f"blocks.{number}"
        y = norm(f"{block}.norm1", x)
        q, k, v = (linear(f"{block}.attention.{name}", y, _WIDTH, _WIDTH) for name in ("query", "key", "value"))
        scope = f"{block}.attention"
        operands = [("q", q), ("k", k), ("v", v)]
        mixed = made.add("attention", operands, {"heads": 4}, name=f"{scope}.mix", scope=scope)[0]
        x = add(block, x, linear(f"{scope}.out", mixed, _WIDTH, _WIDTH))
        y = linear(f"{block}.up", norm(f"{block}.norm2", x), _WIDTH, 4 * _WIDTH)
        y = made.add("gelu", [("x", y)], name=f"{block}.gelu", scope=block)[0]
        x = add(f"{block}.mlp", x, linear(f"{block}.down", y, 4 * _WIDTH, _WIDTH))
    return made.graph([linear("head", norm("norm", x), _WIDTH, _WORDS)])
