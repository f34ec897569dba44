"""The order in which a product of several matrices takes the fewest multiply-accumulates."""

from __future__ import annotations

from collections.abc import Sequence

from weighbridge.errors import GraphError

__all__ = ["cheapest_order"]

_MOST = 256


def cheapest_order(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """The products of a chain of matrices of sizes[0] x sizes[1], sizes[1] x sizes[2] and so on, in order.

    A product is a pair of places: the matrices have the places from 0 on, the products those behind them, in order.  The
    textbook method (Cormen et al., Introduction to Algorithms, 15.2), which takes the cube of the matrices' number; raises
    ``GraphError`` for more than 256.
    """
    count = len(sizes) - 1
    if count > _MOST:
        raise GraphError(f"a product of {count} matrices in a row is more than the {_MOST} that have a rule")
    costs = {(first, first): 0 for first in range(count)}
    cuts: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            costs[first, last], cuts[first, last] = min(
                (costs[first, cut] + costs[cut + 1, last] + sizes[first] * sizes[cut + 1] * sizes[last + 1], cut)
                for cut in range(first, last)
            )
    order: list[tuple[int, int]] = []

    def place(first: int, last: int) -> int:
        if first == last:
            return first
        cut = cuts[first, last]
        order.append((place(first, cut), place(cut + 1, last)))
        return count + len(order) - 1

    if count > 1:
        place(0, count - 1)
    return order
