"""The batch size of a graph of which nobody said it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from weighbridge.counts.batch import batch_of

Shape = tuple[int, ...] | None


@pytest.mark.parametrize(
    ("takes", "gives", "batch"),
    [
        ([(4, 3)], [(4, 9)], 4),
        ([(4, 3), (4, 2)], [(4, 9)], 4),
        ([(4, 3), (2, 2)], [(4, 9)], None),  # one of another size
        ([(4, 3)], [(9, 4)], None),  # an output of another size
        ([(1, 3)], [(9, 4)], 1),  # an image that many boxes come of
        ([(1, 3), (7,)], [()], 1),
        ([(4, 3)], [()], None),
        ([(4, 3)], [None], None),
        ([()], [()], None),
        ([None], [(4, 3)], None),
        ([(0, 3)], [(0, 3)], None),
        ([], [(4, 3)], None),
    ],
)
def test_the_batch_is_what_all_share_or_one(takes: list[Shape], gives: list[Shape], batch: int | None) -> None:
    named = {f"t{place}": SimpleNamespace(shape=shape) for place, shape in enumerate([*takes, *gives])}
    names = tuple(named)
    graph = SimpleNamespace(tensors=named, inputs=names[: len(takes)], outputs=names[len(takes) :])
    assert batch_of(graph) == batch  # type: ignore[arg-type]
