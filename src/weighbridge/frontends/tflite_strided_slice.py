"""What a strided slice of TensorFlow takes of a tensor, by its masks: ``x[..., 1, ::2, newaxis]``.

An entry of begin, end and strides is for an axis, but for those that the masks make an ellipsis or a new axis; a mask of begin or
end stands for the start or end of the axis, one of shrinking takes a single position and drops the axis.  An ellipsis has
precedence over a new axis, and that over shrinking.  (tensorflow/core/util/strided_slice_op.cc)  With an ``offset`` the ends are
how far a slice goes from its begin.  (tensorflow/lite/kernels/strided_slice.cc)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from weighbridge.errors import GraphError
from weighbridge.graph import Shape
from weighbridge.named_tuple import NamedTuple

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
    entries = _Entries(options, begin, end, strides)
    taken: list[range | None] = []
    sizes: list[int | None] = []
    result: list[int | None] = []
    for entry in _layout(options, len(shape), count):
        if entry == _NEW:
            result.append(1)
            continue
        size, at = shape[len(taken)], -1 if entry == _WHOLE else int(entry)
        positions = range(size) if at < 0 else entries.positions(at, size)
        sizes.append(len(positions) if positions is not None else entries.size(at))
        taken.append(positions)
        if at < 0 or not entries.has("shrink_axis_mask", at):
            result.append(sizes[-1])
    return Plan(tuple(taken), tuple(sizes), tuple(result))


_MOST: Final = 32
"""A mask has as many bits."""


def _layout(options: Mapping[str, Any], rank: int, count: int) -> list[str]:
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


class _Entries:
    """What an entry takes of its axis."""

    def __init__(self, options: Mapping[str, Any], begin: Values, end: Values, strides: Values) -> None:
        self.options = options
        self.begin = begin
        self.end = end
        self.strides = strides

    def has(self, mask: str, entry: int) -> bool:
        """Whether a mask has the bit of an entry."""
        return bool(self.options.get(mask, 0) >> entry & 1)

    def size(self, entry: int) -> int | None:
        """How many positions are taken where it is not known which; None where that is not known either."""
        if self.has("shrink_axis_mask", entry):
            return 1
        if not self.options.get("offset", False) or self.end is None or self.strides is None:
            return None
        return max(-(-self.end[entry] // self._step(self.strides[entry])), 0)

    def positions(self, entry: int, size: int) -> range | None:
        """The positions; None where they are not known."""
        if self.has("shrink_axis_mask", entry) or self.options.get("offset", False):
            return self._counted(entry, size)
        begin = None if self.has("begin_mask", entry) else self.begin
        end = None if self.has("end_mask", entry) else self.end
        is_open = (begin is None and not self.has("begin_mask", entry)) or (
            end is None and not self.has("end_mask", entry)
        )
        if self.strides is None or is_open:
            return None
        first, last = None if begin is None else begin[entry], None if end is None else end[entry]
        return range(size)[slice(first, last, self._step(self.strides[entry]))]

    def _counted(self, entry: int, size: int) -> range | None:
        """So many positions from the begin on; an axis that goes has one.  The runtime looks at no other mask then."""
        count = self.size(entry)
        if count is None or self.begin is None:
            return None
        step = 1 if self.has("shrink_axis_mask", entry) or self.strides is None else self.strides[entry]
        start = self.begin[entry] + (size if self.begin[entry] < 0 else 0)
        found = range(start, start + count * step, step)
        if any(not 0 <= place < size for place in found[:1]) or any(not 0 <= place < size for place in found[-1:]):
            raise GraphError(f"a slice takes position {start} and {count - 1} more of {size}")
        return found

    @staticmethod
    def _step(step: int) -> int:
        if step == 0:
            raise GraphError("a slice with a stride of 0")
        return step
