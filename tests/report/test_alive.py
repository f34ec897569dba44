"""What is alive over time, drawn: bars on one scale, as high as what is alive, within the terminal, and what the key says of them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from weighbridge.report.alive_lines import alive_lines
from weighbridge.report.alive_map import AliveMap, Curve, Level
from weighbridge.report.spans import text_of

DRAWN = """\
bytes alive
as it is: peak 800 B at layer 2 of 4, b
800 ┤      ██████
    │      ██████▅▅▅▅▅▅
    │      ████████████
    │      ████████████
350 ┤┄┄┄┄┄┄████████████┄┄┄┄┄┄
    │▆▆▆▆▆▆████████████▆▆▆▆▆▆
    │████████████████████████
  0 └┬───────────┬───────────
           ••••••••••••
     1           3
           ▲ peak, layer 2
reordered: peak 400 B at layer 2 of 4, c
800 ┤
    │
    │
    │      ▄▄▄▄▄▄
350 ┤┄┄┄┄┄┄████████████┄┄┄┄┄┄
    │▆▆▆▆▆▆██████████████████
    │████████████████████████
  0 └┬───────────┬───────────
           ••••••••••••
     1           3
           ▲ peak, layer 2
  •: layers that run at another time; ┄: 350 B, no order goes below; beyond the
    drawing: 9,000 B, of a device
"""


def lines(drawn: AliveMap, width: int, *, unicode: bool = True) -> list[str]:
    return ["".join(span.text for span in line).rstrip() for line in alive_lines(drawn, width, unicode)]


def test_two_ways_of_running_on_one_scale() -> None:
    curves = (
        Curve("as it is", "abcd", [200, 800, 600 + 40, 200], frozenset({1, 2})),
        Curve("reordered", "acbd", [200, 400, 350, 230], frozenset({1, 2})),
    )
    levels = (Level("no order goes below", 350), Level("of a device", 9000))
    drawn = AliveMap("bytes alive", curves, levels, "layers that run at another time")
    assert text_of(alive_lines(drawn, 80, unicode=True)) == DRAWN


SIZES = st.lists(st.none() | st.integers(0, 10**9), min_size=1, max_size=400)
WIDTHS = st.integers(40, 200)


@given(SIZES, SIZES, st.lists(st.integers(0, 10**10), max_size=2), WIDTHS, st.booleans())
@example([10**8] * 30, [5], [], 40, True)
@example([*[1] * 12, 10**9, *[1] * 12], [None], [10**9], 40, True)
def test_it_keeps_to_the_terminal(
    one: list[int | None], other: list[int | None], levels: list[int], width: int, unicode: bool
) -> None:
    curves = [Curve("one way " * 4, ["n" * 60] * len(sizes), sizes, frozenset({0})) for sizes in (one, other)]
    drawn = AliveMap("a title " * 9, tuple(curves), tuple(Level("of a device " * 5, size) for size in levels), "a mark")
    shown = lines(drawn, width, unicode=unicode)
    assert max(map(cell_len, shown)) <= width
    assert unicode or all(line.isascii() for line in shown)


HEIGHTS = {" ": 0, **{bar: eighths + 1 for eighths, bar in enumerate("▁▂▃▄▅▆▇█")}}


def bars(shown: list[str]) -> list[list[int]]:
    """Of each curve the height of each column, in eighths of a line."""
    found: list[list[int]] = []
    for end, line in enumerate(shown):
        if line.lstrip().startswith("0 └"):
            left, wide = line.index("└") + 1, len(line) - line.index("└") - 1
            bands = [shown[end - 7 + band][left:].ljust(wide) for band in range(7)]
            found.append([sum(HEIGHTS[band[place]] for band in bands) for place in range(wide)])
    return found


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=300), WIDTHS)
def test_a_column_is_as_high_as_the_fullest_of_its_layers(sizes: list[int], width: int) -> None:
    top = max(sizes)
    if not top:
        return
    drawn = AliveMap("title", (Curve("one", ["n"] * len(sizes), sizes),))
    (heights,) = bars(lines(drawn, width))
    room = width - len(f"{top:,}") - 2
    together = -(-len(sizes) // room)
    chunks = [sizes[start : start + together] for start in range(0, len(sizes), together)]
    wide = max(1, min(6, room // len(chunks)))
    fullest = [max(chunk) for chunk in chunks]
    assert heights == [max(1, round(size * 56 / top)) if size else 0 for size in fullest for _ in range(wide)]
    assert heights[fullest.index(top) * wide] == 56


@given(SIZES, st.data())
def test_the_mark_of_the_peak_is_under_the_highest_column(sizes: list[int | None], data: st.DataObject) -> None:
    known = [size for size in sizes if size is not None]
    if not any(known):
        return
    width = data.draw(WIDTHS)
    shown = lines(AliveMap("title", (Curve("one", ["n"] * len(sizes), sizes),)), width)
    (line,) = (line for line in shown if "▲" in line)
    top = next(line for line in shown if "┤" in line)
    assert top[line.index("▲")] == "█"
    assert f"at layer {sizes.index(max(known)) + 1:,} of {len(sizes):,}" in " ".join(" ".join(shown).split())


def test_what_is_not_known_is_told_and_not_drawn_as_nothing() -> None:
    sizes = [200, 800, None, 200, 220, None, 220]
    drawn = AliveMap("bytes alive", (Curve("all of it", [f"n{place}" for place in range(7)], sizes),))
    shown = "\n".join(lines(drawn, 60))
    assert "all of it: peak of what is known 800 B at layer 2 of 7, n1" in shown
    assert shown.count("?") == 2 * 6
    nothing = AliveMap("bytes alive", (Curve("all of it", ["n"], [None]),))
    assert lines(nothing, 60)[1:] == ["  nothing is known to be alive"]


def test_each_column_of_many_layers_says_how_many_it_stands_for() -> None:
    drawn = AliveMap("bytes alive", (Curve("one", ["n"] * 200, range(1, 201)),))
    assert lines(drawn, 80)[-1] == "  each column shows the fullest of 3 layers"


@pytest.mark.parametrize(("size", "is_drawn"), [(1, True), (100, True), (150, True), (151, False)])
def test_a_level_is_drawn_where_the_scale_reaches(size: int, is_drawn: bool) -> None:
    drawn = AliveMap("bytes alive", (Curve("one", "ab", [100, 0]),), (Level("of a device", size),))
    shown = lines(drawn, 80)
    assert drawn.top_bytes == max(100, size if is_drawn else 0)
    assert any("┄" in line for line in shown[2:9]) == is_drawn
    assert shown[-1] == ("  ┄" if is_drawn else "  beyond the drawing") + f": {size} B, of a device"


def test_what_several_devices_have_is_one_line_with_their_names() -> None:
    levels = (Level("SRAM of one", 60), Level("SRAM of another", 60), Level("RAM", 99))
    shown = lines(AliveMap("bytes alive", (Curve("one", "ab", [100, 0]),), levels), 80)
    assert shown[-1] == "  ┄: 60 B, SRAM of one and SRAM of another; ┄: 99 B, RAM"
    assert shown[2].startswith(" 99 ┤")  # the line in the uppermost band is what stands beside it, not the peak
    assert shown[4].startswith(" 60 ┤")
