"""Boxes of anchors, decoded one by one."""

from __future__ import annotations

import math

import pytest

from tests.operators.execution import Tally, call, least_of, typed, work_of
from weighbridge.errors import GraphError


def decoded(t, anchors, classes, dequantised):
    """Centre and size of every anchor's box by its scales, then its corners; every score is looked at."""

    def value(number=1.0):
        return t.mul(t.sub(number, 3), 0.5) if dequantised else number

    for _ in range(anchors):
        y, x, h, w = (value() for _ in range(4))
        anchor_y, anchor_x, anchor_h, anchor_w = (value() for _ in range(4))
        centres = t.add(t.mul(t.div(y, 10), anchor_h), anchor_y), t.add(t.mul(t.div(x, 10), anchor_w), anchor_x)
        halves = [
            t.mul(t.mul(0.5, t.special(math.exp, t.div(size, 5))), own) for size, own in ((h, anchor_h), (w, anchor_w))
        ]
        for centre, half in zip(centres, halves, strict=True):
            t.sub(centre, half)
            t.add(centre, half)
        scores = [value() for _ in range(classes + 1)]
        for score in scores[:classes]:
            t.select(score > 0.3, 1, 0)


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_the_least_is_what_decoding_takes(dtype):
    t = Tally()
    decoded(t, 6, 3, dequantised=dtype == "uint8")
    shapes = {"boxes": (1, 6, 4), "scores": (1, 6, 4), "anchors": (6, 4)}
    found = call(
        "detections", {"count": 10, "classes": 3}, **{name: typed(shape, dtype) for name, shape in shapes.items()}
    )
    assert [one.shape for one in found.outputs] == [(1, 10, 4), (1, 10), (1, 10), (1,)]
    assert {one.dtype.name for one in found.outputs} == {"float32"}
    assert work_of("detections", found) is None
    assert least_of("detections", found) == t.work


@pytest.mark.parametrize(
    ("attributes", "operands"),
    [
        ({"classes": 5}, {}),
        ({"classes": -1}, {}),
        ({}, {"boxes": (2, 6, 4)}),
        ({}, {"boxes": (1, 6, 3)}),
        ({}, {"scores": (1, 5, 4)}),
        ({}, {"anchors": (5, 4)}),
        ({"count": (1, 2)}, {}),
    ],
)
def test_what_does_not_fit_is_an_error(attributes, operands):
    shapes = {"boxes": (1, 6, 4), "scores": (1, 6, 4), "anchors": (6, 4), **operands}
    with pytest.raises(GraphError):
        call("detections", {"count": 10, "classes": 3, **attributes}, **shapes)
