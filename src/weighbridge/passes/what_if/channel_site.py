"""One node whose channels are being followed: what its rule reads, ties and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from weighbridge.graph import Attribute, Node, Shape, TensorType
from weighbridge.operators.record import Call
from weighbridge.passes.what_if.channel_spaces import Axis, Spaces, Term, times

__all__ = ["Axes", "Mend", "NotFollowed", "Site", "Sizes"]

Axes = tuple[Axis, ...]
"""The axes of a tensor."""

Sizes = Callable[[Axis, int], int]
"""The size of an axis once channels are gone; the second argument is the one before, which an axis of its own keeps."""

Mend = Callable[[Sizes], Mapping[str, Attribute]]
"""The attributes of a node that hold sizes, once those are known."""


class NotFollowed(Exception):
    """The channels cannot be followed through a node: all that it touches keeps its size."""


class Site:
    """A node with the types and the axes of its operands, by name.

    ``hint`` is the axis of the first result that a reader of it takes for the channels, None where none tells.  A rule answers
    the axes of each result; it may leave in ``mend`` how to renew the node's attributes, and in ``made`` what a layer's
    output channels are.
    """

    def __init__(
        self,
        node: Node,
        call: Call,
        axes: Mapping[str, Sequence[Axes]],
        spaces: Spaces,
        hint: int | None,
    ) -> None:
        self.node = node
        self.call = call
        self.spaces = spaces
        self.hint = hint
        self.mend: Mend | None = None
        self.made: Term | None = None
        self._axes = axes

    @property
    def results(self) -> tuple[TensorType, ...]:
        return self.call.outputs

    def of(self, operand: str) -> Axes:
        """The axes of the first operand of this name."""
        return self._axes[operand][0]

    def all(self, operand: str) -> Sequence[Axes]:
        """The axes of all operands of this name, none where it was left out."""
        return self._axes.get(operand, ())

    def tie(self, one: Axis, other: Axis) -> Axis:
        """Make two axes of one size agree; returns what both are then."""
        if one is None or other is None:
            self.hold(one)
            self.hold(other)
            return None
        if not self.spaces.tie(one, other):
            raise NotFollowed
        return one

    def hold(self, axis: Axis) -> None:
        """Keep an axis as it is, as the node says."""
        self.spaces.hold(axis, f"{self.node.name} ({self.node.operator}) ties channels to a size that stays")

    def share(self, axis: Axis, count: int) -> Axis:
        """What each of ``count`` equal parts of an axis is made of."""
        found = None if axis is None else self.spaces.share(axis, count)
        if axis is not None and found is None:
            raise NotFollowed
        return found

    def times(self, axis: Axis, count: int) -> Axis:
        """An axis with ``count`` values for every one of ``axis``."""
        return None if axis is None else times(axis, count)

    def tie_vector(self, operand: str, axis: Axis, size: int) -> None:
        """Tie operands that have one value for each of ``size`` channels, on whichever axis; a lone value is for all."""
        for kind, axes in zip(self.call.all(operand), self.all(operand), strict=True):
            if kind.elements == 1:
                continue
            long = [one for one, length in zip(axes, kind.shape, strict=True) if length > 1]
            if len(long) != 1 or kind.elements != size:
                raise NotFollowed
            self.tie(long[0], axis)

    def joined(self, shape: Shape, *operands: tuple[Shape, Axes]) -> Axes:
        """The axes of a result of ``shape`` that operands stretch to, aligned at the last axis; equal sizes are tied."""
        found: list[Axis] = []
        for place in range(-len(shape), 0):
            met = [axes[place] for given, axes in operands if len(given) >= -place and given[place] == shape[place]]
            axis: Axis = None
            if shape[place] != 1 and met:
                axis = met[0]
                for other in met[1:]:
                    axis = self.tie(axis, other)
            found.append(axis)
        return tuple(found)
