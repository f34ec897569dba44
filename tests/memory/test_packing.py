"""Offsets against the published rule, carried out naively, and against what any plan must hold."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.memory import packing, plan
from weighbridge.memory.packing import Overwhelmed, Request, pack


@dataclass
class Placed:
    request: Request
    offset: int

    @property
    def end(self) -> int:
        return self.offset + self.request.size


def naive(requests: list[Request]) -> list[int]:
    """The rule word by word: those with offsets first; then the largest first, of equal ones the later; the first gap that is
    wide enough among what is placed and alive at the same time.
    """
    order = [place for place, one in enumerate(requests) if one.offset is not None]
    free = [place for place, one in enumerate(requests) if one.offset is None]
    order += sorted(free, key=lambda place: (-requests[place].size, -place))
    placed: dict[int, Placed] = {}
    for place in order:
        wanted = requests[place]
        offset = 0
        if wanted.offset is not None:
            offset = wanted.offset
        else:
            alive = [one for one in placed.values() if meet(one.request, wanted)]
            for one in sorted(alive, key=lambda one: one.offset):
                if one.offset - offset >= wanted.size:
                    break
                offset = max(offset, one.end)
        placed[place] = Placed(wanted, offset)
    return [placed[place].offset for place in range(len(requests))]


def meet(one: Request, other: Request) -> bool:
    return one.first <= other.last and other.first <= one.last


def requests(moments: int, most: int, *, given: bool) -> st.SearchStrategy[list[Request]]:
    """Few different sizes, so that many are equal; lifetimes of any length, some in which nothing else lives."""
    sizes = st.sampled_from([0, 16, 32, 48, 160, 4096])
    offsets = st.none() | st.sampled_from([0, 16, 64, 4096]) if given else st.none()
    spans = st.tuples(st.integers(-1, moments), st.integers(-1, moments)).map(sorted)
    one = st.builds(lambda size, span, offset: Request(size, *span, offset), sizes, spans, offsets)
    return st.lists(one, max_size=most)


@settings(max_examples=300)
@given(st.data())
@pytest.mark.parametrize("has_offsets", [False, True])
@pytest.mark.parametrize(("moments", "most"), [(3, 12), (40, 40)])
def test_offsets_are_those_of_the_rule(has_offsets: bool, moments: int, most: int, data: st.DataObject) -> None:
    wanted = data.draw(requests(moments, most, given=has_offsets))
    assert pack(wanted) == naive(wanted)


@settings(max_examples=200)
@given(requests(20, 30, given=False))
def test_no_two_that_are_alive_at_once_overlap_and_no_gap_below_was_wide_enough(wanted: list[Request]) -> None:
    offsets = pack(wanted)
    for (one, at), (other, there) in combinations(zip(wanted, offsets, strict=True), 2):
        assert not meet(one, other) or at + one.size <= there or there + other.size <= at
    alive = [sum(one.size for one in wanted if one.first <= moment <= one.last) for moment in range(-1, 21)]
    assert max((at + one.size for one, at in zip(wanted, offsets, strict=True)), default=0) >= max(alive)
    for one, at in zip(wanted, offsets, strict=True):
        ends = {there + other.size for other, there in zip(wanted, offsets, strict=True) if meet(one, other)}
        assert at == 0 or at in ends


def crowd(kind: str, count: int) -> list[Request]:
    """Many requests, as networks do not have them: the ways of looking for a gap must agree in all of them."""
    random = Random(count)
    sizes = [16 * random.randint(1, 400) for _ in range(count)]
    spans = {
        "random": lambda _: sorted((random.randrange(count), random.randrange(count))),
        "all at once": lambda _: (0, count),
        "to the end": lambda place: (place, count),
        "from the start": lambda place: (0, place),
        "a chain": lambda place: (place, place + 1),
        "a chain with some that stay": lambda place: (0, count) if place % 9 == 0 else (place, place + 2),
        "a window": lambda place: (place, place + random.randrange(count // 4)),
    }[kind]
    return [Request(size, *spans(place)) for place, size in enumerate(sizes)]


@pytest.mark.parametrize(
    "kind",
    ["random", "all at once", "to the end", "from the start", "a chain", "a chain with some that stay", "a window"],
)
@pytest.mark.parametrize("count", [100, 700])
def test_large_sets_of_every_kind_are_packed_by_the_rule(kind: str, count: int) -> None:
    wanted = crowd(kind, count)
    assert pack(wanted) == naive(wanted)


def test_of_equal_ones_the_later_comes_first() -> None:
    assert pack([Request(16, 0, 0), Request(16, 0, 0), Request(16, 0, 0)]) == [32, 16, 0]


def test_what_has_an_offset_stays_there_in_any_order_and_others_go_around_it() -> None:
    wanted = [Request(16, 0, 1), Request(32, 0, 0, 16), Request(64, 1, 1, 16), Request(16, 0, 1)]
    assert pack(wanted) == [80, 16, 16, 0]


def test_nothing_takes_no_place() -> None:
    assert pack([]) == []


def test_a_plan_that_would_take_too_long_is_none_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(0)
    spans = (sorted((random.randrange(400), random.randrange(400))) for _ in range(400))
    crowd = [Request(16 * random.randint(1, 500), first, last) for first, last in spans]
    assert pack(crowd)
    monkeypatch.setattr(packing, "_MOST_LOOKS", 1000)
    with pytest.raises(Overwhelmed):
        pack(crowd)
    monkeypatch.setattr(packing, "_MOST_LOOKS", 3)
    builder = Builder("wide")
    made = [builder.input(f"x{index}", (1, 4 + index), DTYPES["float32"]) for index in range(12)]
    for index, one in enumerate(made):
        made[index] = builder.add("relu", [("x", one)])[0]
    found = plan(builder.graph(builder.add("concat", [("xs", one) for one in made], {"axis": 1})))
    assert "arena_tflm" not in found.peak_bytes
    assert found.inapplicable["arena_tflm"] == "so many buffers are alive at once that their plan would take too long"
    assert found.peak_bytes["live"]
