"""Which part of its operand is needed for a part of what is placed elsewhere: of transposes, joins, slices and pads."""

from __future__ import annotations

from collections.abc import Mapping

from weighbridge.graph import Attribute

from .halo import Box, Needs, Span
from .record import Call
from .rules import axes_of, known, pads_by_axis, ranges_by_axis
from .shapes import axis_of

__all__ = ["concat_halo", "pad_halo", "pad_parted", "slice_halo", "slice_parted", "split_halo", "transpose_halo"]


def transpose_halo(call: Call, box: Box) -> Needs | None:
    """The axes where they come from."""
    rank = len(call.x.shape)
    if not known(call, "permutation"):
        return None
    is_reversed = call["permutation"] == "reversed"
    order = tuple(range(rank))[::-1] if is_reversed else axes_of(call, rank, "permutation")
    spans = dict(zip(order, box, strict=True))
    return {("x", 0): tuple(spans[axis] for axis in range(rank))}


def concat_halo(call: Call, box: Box) -> Needs | None:
    """Every operand where the result is, but not along the axis that they are joined along."""
    axis = axis_of(call.integer("axis"), len(box))
    xs = call.all("xs")
    if box[axis] != (0, sum(x.shape[axis] for x in xs)):
        return None
    return {("xs", place): (*box[:axis], Span(0, x.shape[axis]), *box[axis + 1 :]) for place, x in enumerate(xs)}


def split_halo(call: Call, box: Box) -> Needs | None:
    """Operand x where the results are, but all of the axis that is split."""
    axis = axis_of(call.integer("axis"), len(box))
    if box[axis] != (0, call.outputs[0].shape[axis]):
        return None
    return {("x", 0): (*box[:axis], Span(0, call.x.shape[axis]), *box[axis + 1 :])}


def slice_halo(call: Call, box: Box) -> Needs | None:
    """What the range takes; of an axis that is wanted whole, all that there is, so that the range stays as it is."""
    if not known(call, "starts", "ends", "axes", "steps"):
        return None
    spans = list(box)
    for axis, taken in ranges_by_axis(call).items():
        if box[axis] == (0, call.outputs[0].shape[axis]):
            spans[axis] = Span(0, call.x.shape[axis])
        elif taken.step < 1:
            return None
        else:
            first = taken.start + box[axis].start * taken.step
            spans[axis] = Span(first, first + (box[axis].size - 1) * taken.step + 1)
    return {("x", 0): tuple(spans)}


def slice_parted(call: Call, box: Box, needed: Needs, there: Needs) -> Mapping[str, Attribute]:
    """Of an axis of which a part is taken the range begins where that begins."""
    axes, starts, ends, steps = [], [], [], []
    for axis, taken in ranges_by_axis(call).items():
        is_whole = box[axis] == (0, call.outputs[0].shape[axis])
        size = call.outputs[0].shape[axis]
        axes.append(axis)
        starts.append(taken.start if is_whole else 0)
        ends.append(_end(taken, size) if is_whole else there["x", 0][axis].size)
        steps.append(taken.step)
    return {"axes": tuple(axes), "starts": tuple(starts), "ends": tuple(ends), "steps": tuple(steps)}


def _end(taken: range, size: int) -> int:
    """Behind the last element of ``size``; far below 0 is before the first one, as -1 would be the last."""
    end = taken.start + size * taken.step
    return end if end >= 0 else -(1 << 31)


def pad_halo(call: Call, box: Box) -> Needs | None:
    """What lies inside the border; all of an axis whose border is made of what lies inside."""
    if not known(call, "pads", "axes"):
        return None
    spans = []
    for axis, (span, (before, after)) in enumerate(zip(box, pads_by_axis(call), strict=True)):
        if span == (0, call.outputs[0].shape[axis]):
            spans.append(Span(0, call.x.shape[axis]))
        elif call["mode"] == "constant" or before == after == 0:
            spans.append(span.moved(-before))
        else:
            return None
    return {("x", 0): tuple(spans)}


def pad_parted(call: Call, box: Box, needed: Needs, there: Needs) -> Mapping[str, Attribute]:
    """As much border as the part has."""
    befores, afters = [], []
    for axis, (before, after) in enumerate(pads_by_axis(call)):
        want, have = needed["x", 0][axis], there["x", 0][axis]
        is_all = box[axis] == (0, call.outputs[0].shape[axis])
        befores.append(before if is_all else have.start - want.start)
        afters.append(after if is_all else want.stop - have.stop)
    return {"axes": "all", "pads": (*befores, *afters)}
