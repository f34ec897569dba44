"""From what a network says of anchors to the boxes of objects.

An anchor's box takes 4 div, 6 mul, 6 add, 2 special: its centre and size, by scales and the anchor's own, and its corners; a value
that is quantised 1 mul and 1 add before.  Which boxes overlap too much, and how many have to be compared, only the values say.
"""

from __future__ import annotations

from typing import Final

from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError
from weighbridge.graph import TensorType

from .record import REQUIRED, Call, Kind, Op, Work
from .rules import sizes_of

__all__ = ["DETECTION_OPERATORS"]

_CORNERS: Final = 4


def _detections(call: Call) -> tuple[TensorType, ...]:
    """boxes: 1, anchors, at least 4; scores: 1, anchors, classes and perhaps a background.

    Corners, class and score of ``count`` boxes, and how many of them were found.
    """
    boxes, scores, anchors = call.boxes.shape, call.scores.shape, call.anchors.shape
    if len(boxes) != 3 or len(scores) != 3 or boxes[0] != 1 or scores[:2] != boxes[:2] or boxes[2] < _CORNERS:
        raise GraphError(f"boxes of shape {boxes} and scores of shape {scores}")
    if anchors != (boxes[1], _CORNERS) or not 0 <= call.integer("classes") <= scores[2]:
        raise GraphError(f"anchors of shape {anchors} and {call['classes']} classes for scores of shape {scores}")
    count, dtype = sizes_of(call, "count"), DTYPES["float32"]
    if len(count) != 1:
        raise GraphError(f"count is one number, not {count}")
    shapes = (1, *count, _CORNERS), (1, *count), (1, *count), (1,)
    return tuple(TensorType(shape, dtype) for shape in shapes)


def _detections_work(call: Call) -> None:
    """At least 4 div, 6 mul, 6 add, 2 special an anchor, and 1 compare a score: how many boxes are compared the values say."""


def _decoded(call: Call) -> Work:
    anchors, classes = call.anchors.shape[0], call.integer("classes")
    done = Work(add=6, mul=6, div=4, special=2).times(anchors).plus(Work(compare=anchors * classes))
    quantised = sum(
        count
        for one, count in (
            (call.boxes, _CORNERS * anchors),
            (call.anchors, _CORNERS * anchors),
            (call.scores, call.scores.elements),
        )
        if one.dtype.kind in ("int", "uint")
    )
    return done.plus(Work(add=quantised, mul=quantised))


DETECTION_OPERATORS: Final = (
    Op(
        "detections",
        Kind.INDEX,
        "boxes scores anchors:statistic",
        _detections,
        _detections_work,
        least_work=_decoded,
        attributes={"count": REQUIRED, "classes": REQUIRED},
        summary="the best boxes of objects, decoded by anchors, that no better one overlaps too much",
    ),
)
