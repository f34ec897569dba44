"""What a strided slice of TensorFlow takes of a tensor, by its masks: ``x[..., 1, ::2, newaxis]``.

An entry of begin, end and strides is for an axis, but for those that the masks make an ellipsis or a new axis; a mask of begin or
end stands for the start or end of the axis, one of shrinking takes a single position and drops the axis.  An ellipsis has
precedence over a new axis, and that over shrinking.  (tensorflow/core/util/strided_slice_op.cc)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from weighbridge.errors import GraphError
from weighbridge.graph import Shape

__all__ = ["BEFORE_ALL", "Plan", "plan_of"]

BEFORE_ALL: Final = -(1 << 62)
"""An end in front of the first position, counted from behind the last."""
_WHOLE, _NEW = "whole", "new"
Values = Sequence[int] | None


class Plan(NamedTuple):
    """``taken`` are the positions along each axis of x, None where values that are not known say which; ``sizes`` how many they are,
    and ``shape`` the same without the axes that go and with those that come; None where that is not known.
    """

    taken: tuple[range | None, ...]
    sizes: tuple[int | None, ...]
    shape: tuple[int | None, ...]

    @property
    def is_known(self) -> bool:
        """Whether all positions are known."""
        return None not in self.taken

    @property
    def bounds(self) -> Mapping[str, tuple[int, ...]]:
        """Starts, ends and steps of the positions that are known, as Python and ONNX count them."""
        taken = [one if one else range(0) for one in self.taken if one is not None]
        return {
            "starts": tuple(one.start for one in taken),
            "ends": tuple(one.stop if one.stop >= 0 else BEFORE_ALL for one in taken),
            "steps": tuple(one.step for one in taken),
        }


def plan_of(options: Mapping[str, Any], shape: Shape, count: int, begin: Values, end: Values, strides: Values) -> Plan:
    """What a slice with so many entries takes of a tensor; ``begin``, ``end`` and ``strides`` are None where they are not known.

    Raises ``GraphError`` for entries that do not fit the tensor.
    """
    given = [one for one in (begin, end, strides) if one is not None]
    if any(len(one) != count for one in given):
        raise GraphError(
            f"a slice of {count} entries begins, ends and steps by {', '.join(str(len(one)) for one in given)}"
        )
    taken: list[range | None] = []
    sizes: list[int | None] = []
    result: list[int | None] = []
    for entry in _entries(options, len(shape), count):
        if entry == _NEW:
            result.append(1)
            continue
        size = shape[len(taken)]
        positions = range(size) if entry == _WHOLE else _positions(options, int(entry), size, begin, end, strides)
        is_dropped = entry != _WHOLE and bool(options.get("shrink_axis_mask", 0) >> int(entry) & 1)
        found = 1 if is_dropped else None if positions is None else len(positions)
        if is_dropped and positions is not None and len(positions) != 1:
            raise GraphError(f"a slice takes position {begin[int(entry)] if begin else ''} of {size}")
        taken.append(positions)
        sizes.append(found)
        if not is_dropped:
            result.append(found)
    return Plan(tuple(taken), tuple(sizes), tuple(result))


_MOST: Final = 32
"""A mask has as many bits."""


def _entries(options: Mapping[str, Any], rank: int, count: int) -> list[str]:
    """For every axis of x or of the result the number of its entry, ``whole`` where none is for it, ``new`` for a new one."""
    ellipsis, new = options.get("ellipsis_mask", 0), options.get("new_axis_mask", 0)
    if count > _MOST or (ellipsis & (ellipsis - 1)):
        raise GraphError(f"a slice of {count} entries, the ellipses of which are {ellipsis:b}")
    words = ["..." if ellipsis >> at & 1 else _NEW if new >> at & 1 else str(at) for at in range(count)]
    if "..." not in words:
        words.append("...")
    covered = sum(word not in ("...", _NEW) for word in words)
    if covered > rank:
        raise GraphError(f"a slice of {covered} axes of a tensor of {rank}")
    place = words.index("...")
    return [*words[:place], *[_WHOLE] * (rank - covered), *words[place + 1 :]]


def _positions(
    options: Mapping[str, Any], entry: int, size: int, begin: Values, end: Values, strides: Values
) -> range | None:
    """The positions that an entry takes of an axis; None where that is not known."""

    def masked(name: str) -> bool:
        return bool(options.get(name, 0) >> entry & 1)

    if masked("shrink_axis_mask"):
        if begin is None:
            return None
        start = begin[entry] + (size if begin[entry] < 0 else 0)
        return range(start, start + 1) if 0 <= start < size else range(0)
    first = None if masked("begin_mask") else begin
    last = None if masked("end_mask") else end
    if strides is None or (first is None and not masked("begin_mask")) or (last is None and not masked("end_mask")):
        return None
    step = strides[entry]
    if step == 0:
        raise GraphError("a slice with a stride of 0")
    start, _, _ = slice(None if first is None else first[entry], None, step).indices(size)
    stop = None if last is None else last[entry]
    if stop is not None and options.get("offset", False):
        stop += start
    return range(size)[slice(start if start >= 0 else -size - 1, stop, step)]
