"""Padding in a node of its own that convolutions could do themselves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from weighbridge.errors import GraphError
from weighbridge.graph import Graph, Node, Shape
from weighbridge.operators.record import Call
from weighbridge.operators.rules import pads_by_axis
from weighbridge.operators.shapes import explicit_padding, per_axis
from weighbridge.passes.rewrite import call_of

__all__ = ["is_convolutions_own"]


def is_convolutions_own(pad: Node, readers: Sequence[Node], graph: Graph) -> bool:
    """Whether ``readers``, all that read what ``pad`` makes, are convolutions that could take the padding over.

    They have none themselves, and zeros are put around their maps, fewer than a window is wide, taps apart included.
    """
    try:
        call = call_of(pad, graph)
        if call["mode"] != "constant" or not readers:
            return False
        pads = pads_by_axis(call)
        return all(reader.operator == "conv" and _takes(call_of(reader, graph), pads) for reader in readers)
    except GraphError:
        return False


def _takes(call: Call, pads: Sequence[tuple[int, int]]) -> bool:
    taps = _taps(call.w.shape, call.text("weight_layout"))
    rank, last = len(taps), call["layout"] == "channels_last"
    if len(pads) != rank + 2 or call["padding"] in ("same_upper", "same_lower"):
        return False
    if any(chain(*explicit_padding(call["padding"], rank))):
        return False
    places, others = (pads[1:-1], (pads[0], pads[-1])) if last else (pads[2:], pads[:2])
    widths = [d * (k - 1) + 1 for k, d in zip(taps, per_axis(call.integers("dilation"), rank, "dilation"), strict=True)]
    fits = all(min(pair) >= 0 and max(pair) < width for pair, width in zip(places, widths, strict=True))
    return fits and not any(chain(*others))


def _taps(weight: Shape, layout: str) -> Shape:
    """The sizes of a window: where the layout of the weight (``o_spatial_i``) says that they stand."""
    words = layout.split("_")
    first = words.index("spatial")
    return weight[first : len(weight) - (len(words) - first - 1)]
