"""Networks for the tests of patches: known ones at a bit width, and a small one with a branch."""

from __future__ import annotations

from functools import cache

from weighbridge.api import load
from weighbridge.builder import Builder
from weighbridge.choices import widths_of
from weighbridge.dtypes import DTYPES
from weighbridge.graph import Graph
from weighbridge.passes import deploy, set_bits

__all__ = ["branched", "deployed"]


@cache
def deployed(name: str, bits: int = 8) -> Graph:
    """A network as it runs, weights and activations of so many bits."""
    rules, _ = widths_of(bits, bits, None)
    return deploy(set_bits(load(name), rules))


def branched(size: int = 12) -> Graph:
    """stem, then left and right, added up; then a layer, then the mean of the map, a product with it, and a layer."""
    builder, kind = Builder("branched"), DTYPES["int8"]
    x = builder.input("x", (1, 3, size, size), kind)

    def conv(name: str, given: str, channels: int, taps: int, **attributes: object) -> str:
        w = builder.stored(f"{name}.w", (channels, builder.tensors[given].shape[1], taps, taps), kind)
        return builder.add("conv", [("x", given), ("w", w)], attributes, name=name)[0]

    stem = conv("stem", x, 8, 3, stride=2, padding=1)
    left = conv("left", stem, 8, 3, padding=1)
    right = conv("right", stem, 8, 1)
    met = builder.add("add", [("a", left), ("b", right)], name="met")[0]
    after = conv("after", met, 16, 3, padding=1)
    mean = builder.add("global_average_pool", [("x", after)], name="squeeze")[0]
    gated = builder.add("mul", [("a", after), ("b", mean)], name="gated")[0]
    end = conv("end", gated, 4, 1)
    return builder.graph([end])
