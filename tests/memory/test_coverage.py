"""Bytes that pieces take together while they come and go, against counting each byte at each moment."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.steps import steps
from weighbridge.arena import Arena, ArenaBuffer
from weighbridge.memory.arena import planned
from weighbridge.memory.coverage import Piece, most_covered

PIECES = st.builds(
    lambda begin, size, first, more: Piece(begin, begin + size, first, first + more),
    st.integers(0, 20),
    st.integers(0, 8),
    st.integers(-1, 9),
    st.integers(0, 5),
)


def counted(pieces: Sequence[Piece]) -> int:
    """One byte after the other."""
    moments = {one.first for one in pieces}
    alive = [[one for one in pieces if one.first <= moment <= one.last] for moment in moments]
    return max((len({byte for one in some for byte in range(one.begin, one.end)}) for some in alive), default=0)


@given(st.lists(PIECES, max_size=12))
def test_every_byte_counts_once(pieces: list[Piece]) -> None:
    assert most_covered(pieces) == counted(pieces)


def test_the_plan_of_a_file_takes_the_same_work_however_its_pieces_overlap() -> None:
    """Everything is alive to the end, spread over the arena or all in one place."""

    def arena(count: int, place: int) -> Arena:
        buffers = [ArenaBuffer(f"t{at}", 16, at, count, f"n{at}", offset=16 * place * at) for at in range(count)]
        return Arena(tuple(buffers), tuple(f"n{at}" for at in range(count + 1)))

    for place, top in ((0, 16), (3, 16 * 3 * 399 + 16)):
        plan = planned(arena(400, place), "runtime")
        assert (plan.bytes, plan.lower_bound_bytes) == (top, 16 if place == 0 else 400 * 16)
        few, many = arena(200, place), arena(400, place)
        assert steps(lambda few=few: planned(few, "runtime")) > 0.4 * steps(lambda many=many: planned(many, "runtime"))
