"""The map of an arena: what is drawn where, the figures beside it, and what is alive at the peak."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

import weighbridge
from tests.report.samples import node, report
from weighbridge import BadSpec, Report
from weighbridge.arena import Arena, ArenaBuffer, PersistentBytes
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.memory import ArenaPlan
from weighbridge.memory.arena import planned
from weighbridge.report import html, markdown
from weighbridge.report.arena_map import arena_map, check_map
from weighbridge.report.map_lines import map_lines
from weighbridge.report.terminal import Look, text
from weighbridge.report.view import page

ARENA = Arena(
    (
        ArenaBuffer("x", 96, 0, 1),
        ArenaBuffer("a", 60, 1, 2, "one"),
        ArenaBuffer("b", 64, 2, 3, "two"),
        ArenaBuffer("largest", 128, 3, 4, "three"),
        ArenaBuffer("four: sums", 32, 4, 4, "four", is_scratch=True),
    ),
    ("", "one", "two", "three", "four"),
)
"""Fragmented: ``a`` meets input and ``b``, lies above both, and leaves a hole."""

DRAWN = """\
arena_tflm step by step: 5 steps, one a node; in step 0 the inputs are filled
256 ┤
    │      BBBBBBBBBBBB
    │      BBBBBBBBBBBB
    │      BBBBBBBBBBBB
192 ┤      BBBBBBBBBBBB
    │      ······cccccccccccc
    │      ······cccccccccccc
    │      ······cccccccccccc######
128 ┤      ······cccccccccccc######
    │      ············dddddddddddd
    │      ············dddddddddddd
    │AAAAAAAAAAAA······dddddddddddd
 64 ┤AAAAAAAAAAAA······dddddddddddd
    │AAAAAAAAAAAA······dddddddddddd
    │AAAAAAAAAAAA······dddddddddddd
    │AAAAAAAAAAAA······dddddddddddd
    │AAAAAAAAAAAA······dddddddddddd
  0 └┬───────────┬───────────┬─────
     0           2           4
           ▲ peak, step 1
  capitals: alive at the peak; #: scratch; each cell shows what takes most of it
"""


def made(plan: ArenaPlan, **changes: object) -> Report:
    """A report with ``plan`` as its arena."""
    shown = report([node("one", macs=1, weights=1)])
    peaks = {**shown.memory.peak_bytes, "arena_tflm": plan.bytes}
    return replace(shown, memory=shown.memory._replace(arena=plan, peak_bytes=peaks, **changes))


def drawn(plan: ArenaPlan, width: int = 80, *, unicode: bool = True) -> list[str]:
    shown = arena_map(made(plan).memory)
    assert shown is not None
    return ["".join(span.text for span in line).rstrip() for line in map_lines(shown, width, unicode)]


def body(lines: list[str]) -> list[str]:
    """What is right of the axis, from the bottom to the top."""
    start = next(place for place, line in enumerate(lines) if line.endswith("┤"))
    floor = next(place for place, line in enumerate(lines) if "└" in line)
    column = lines[start].index("┤") + 1
    return [line[column:] for line in lines[floor - 1 : start : -1]]


def test_a_map() -> None:
    assert "".join(f"{line}\n" for line in drawn(planned(ARENA, "runtime"), 100)) == DRAWN


plans = st.builds(
    lambda spans, scratch: planned(
        Arena(
            tuple(
                ArenaBuffer(f"t{place}", 16 * size, min(ends), max(ends), "n", is_scratch=place in scratch)
                for place, (size, *ends) in enumerate(spans)
            ),
            tuple(f"n{step}" for step in range(12)),
        ),
        "graph",
    ),
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 11), st.integers(0, 11)), min_size=1, max_size=5),
    st.frozensets(st.integers(0, 4), max_size=2),
)


@settings(max_examples=200)
@given(plans)
def test_every_cell_is_what_lies_there(plan: ArenaPlan) -> None:
    """As small as these are, a line is 16 bytes, in which one buffer lies or none."""
    shown = arena_map(made(plan).memory)
    lines = body(drawn(plan, 120))
    assert len(lines) == plan.bytes // 16 <= 20
    for step in range(12):
        alive = [piece for piece in shown.pieces if piece.first <= step <= piece.last]
        top = max((piece.end for piece in alive), default=0)
        for band, line in enumerate(lines):
            there = [piece.mark for piece in alive if piece.begin <= 16 * band < piece.end]
            free = ["·" if 16 * band < top else " "]
            assert set(line.ljust(72)[6 * step : 6 * step + 6]) == set(there or free)


@settings(max_examples=100)
@given(plans)
def test_capitals_are_what_is_alive_at_the_peak_in_the_order_of_their_places(plan: ArenaPlan) -> None:
    shown = arena_map(made(plan).memory)
    alive = sorted(
        (one for one in plan.buffers if one.first <= plan.peak_scope <= one.last), key=lambda one: one.offset
    )
    assert [row.cells[4] for row in shown.alive.rows] == [one.name for one in reversed(alive)]
    marks = [row.cells[0] for row in reversed(shown.alive.rows)]
    assert "".join(mark for mark in marks if mark != "#") == "ABCDEFGH"[: sum(not one.is_scratch for one in alive)]
    assert [mark == "#" for mark in marks] == [one.is_scratch for one in alive]
    assert {piece.mark for piece in shown.pieces if piece.mark.isupper()} == {mark for mark in marks if mark != "#"}


def long(steps: int, size: int = 1000) -> ArenaPlan:
    """A chain, whose largest tensor is in the middle."""
    buffers = [
        ArenaBuffer(f"t{step}", size * (3 if step == steps // 2 else 1), step, min(step + 1, steps - 1), f"n{step}")
        for step in range(steps)
    ]
    return planned(Arena(tuple(buffers), tuple(f"n{step}" for step in range(steps))), "graph")


def alive(plan: ArenaPlan, step: int) -> list[bool]:
    return [one.first <= step <= one.last for one in plan.buffers]


@pytest.mark.parametrize("steps", [1, 2, 5, 31, 65, 200, 3000])
@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("unicode", [True, False])
def test_a_map_keeps_to_the_terminal_and_marks_its_peak(steps: int, width: int, unicode: bool) -> None:
    plan = long(steps)
    lines = drawn(plan, width, unicode=unicode)
    assert max(map(cell_len, lines)) <= width
    assert len(lines) <= 30
    (peak,) = (line for line in lines if "peak, step" in line)
    assert f"peak, step {plan.peak_scope:,}" in peak
    column = peak.index("▲" if unicode else "^")
    marks = {line[column : column + 1] for line in lines[2:-4] if len(line) > column}
    assert {mark for mark in marks if mark.isalpha()} == set("ABCD"[: sum(alive(plan, plan.peak_scope))])


@pytest.mark.parametrize(("steps", "apart"), [(5, 2), (31, 4), (200, 30), (3000, 330)])
def test_the_numbers_below_stand_under_their_columns(steps: int, apart: int) -> None:
    """A hundred cells less the axis are 6 for each of 5 steps, 3 for each of 31, one for 3 of 200 and one for 33 of 3,000."""
    lines = drawn(long(steps), 100)
    floor = next(place for place, line in enumerate(lines) if "└" in line)
    ticks, numbers = lines[floor], lines[floor + 1]
    places = [place for place, character in enumerate(ticks) if character == "┬"]
    found = [numbers[place:].split()[0] for place in places if numbers[place : place + 1].strip()]
    assert found == [f"{apart * place:,}" for place in range(len(found))]
    assert len(found) >= len(places) - 1


def test_in_ascii() -> None:
    shown = text(page(made(planned(ARENA, "runtime")), with_map=True), Look(80, unicode=False))
    assert shown.isascii()
    assert "256 +" in shown
    assert "^ peak, step 1" in shown


def test_the_figures_beside_it() -> None:
    memory = made(
        planned(ARENA, "runtime"),
        variable_bytes=40,
        persistent=(PersistentBytes("reference", 4, 900, 100, "measured"),),
        persistent_bytes=1000,
    ).memory
    shown = arena_map(memory)
    figures = {item.label: (item.value.full, item.convention) for item in shown.figures}
    assert {label: value for label, (value, _) in figures.items()} == {
        "arena": "256 B",
        "no reuse": "384 B",
        "lower bound": "192 B",
        "above it": "64 B",
        "fragmentation": "96 B",
        "variables": "40 B",
        "persistent": "1,000 B",
    }
    assert figures["arena"][1] == "the highest end of a buffer; the peak is step 1 (one)"
    assert figures["above it"][1] == "arena less lower bound, 33.3% of it"
    assert [row.cells for row in shown.alive.rows] == [
        ("B", "60", "192", "1 to 2", "a", ""),
        ("A", "96", "0", "0 to 1", "x", "input"),
    ]


def test_a_page_has_it_where_it_is_asked_for_in_every_format() -> None:
    plain = made(planned(ARENA, "runtime"))
    shown = page(plain, with_map=True)
    assert page(plain).arena is None
    for made_page in (text(shown, Look(100)), markdown.render(shown), html.render(shown)):
        assert "│AAAAAA" in made_page
        assert "fragmentation" in made_page
        assert "BBBBBBBBBBBB" in made_page


HOSTILE = ("```", "<script>", "\x1b[31m", "\u202e", "[x](http://evil.example)")


def test_names_are_shown_as_they_are() -> None:
    buffers = tuple(ArenaBuffer(name, 16, 0, 0, name) for name in HOSTILE)
    shown = page(made(planned(Arena(buffers, ("```",)), "graph")), with_map=True)
    for made_page in (text(shown, Look(100)), markdown.render(shown), html.render(shown)):
        assert "\x1b" not in made_page
        assert "\u202e" not in made_page
    assert markdown.render(shown).count("\n```") == 2
    assert "<script>" not in html.render(shown)


def test_a_saved_report_draws_the_same() -> None:
    plain = made(planned(ARENA, "runtime"))
    assert page(Report.from_json(plain.to_json()), with_map=True) == page(plain, with_map=True)


def test_where_there_is_no_plan_there_is_no_map_and_the_reason_is_said() -> None:
    builder = Builder("odd")
    x = builder.input("x", (1,), DTYPES["string"])
    (y,) = builder.add("concat", [("xs", x), ("xs", x)], {"axis": 0})
    memory = weighbridge.weigh(builder.graph([y])).memory
    assert arena_map(memory) is None
    with pytest.raises(BadSpec, match="there is no map: arena_tflm does not apply: the size of x is unknown"):
        check_map(memory)
    check_map(made(planned(ARENA, "runtime")).memory)


def test_a_network_in_which_nothing_runs_has_an_empty_map() -> None:
    builder = Builder("nothing")
    x = builder.input("x", (4,), DTYPES["float32"])
    shown = arena_map(weighbridge.weigh(builder.graph([x])).memory)
    assert "nothing is alive at any step" in str(list(map_lines(shown, 80, unicode=True)))


def test_more_that_is_alive_than_letters_and_rows() -> None:
    buffers = tuple(ArenaBuffer(f"t{place}", 16, 0, 0, "n") for place in range(80))
    shown = arena_map(made(planned(Arena(buffers, ("n",)), "graph")).memory)
    assert len(shown.alive.rows) == 30
    assert shown.alive.notes == ("50 more lie below these: see the JSON",)
