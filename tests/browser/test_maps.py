"""The charts of patches and of orders: a mark for each patch and each layer, which says on hover what the tables and the JSON have."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Open
from tests.browser.opened import Opened
from tests.browser.reports import DRAWINGS, ordered, patched

A4 = 718
"""The pixels across a sheet of A4 between margins of a centimetre."""
TIP = "#vg-tooltip-element.visible"


def boxes(one: Opened, chart: str) -> list[dict[str, float]]:
    """Where the rectangles of a chart that data stand behind are on the screen, in the order in which they are drawn."""
    return one.ask(
        """(chart) => [...document.querySelectorAll(`#${chart} .mark-rect.role-mark path`)].map(one => {
          const { x, y, width, height } = one.getBoundingClientRect();
          return { x, y, width, height };
        })""",
        chart,
    )


def says(one: Opened, x: float, y: float) -> dict[str, str]:
    """What stands on hover, by its titles."""
    one.page.mouse.move(0, 0)
    one.page.mouse.move(x, y)
    one.page.locator(TIP).wait_for()
    rows = one.page.locator(f"{TIP} tr").all()
    return {
        row.locator("td").nth(0).inner_text().strip().rstrip(":"): row.locator("td").nth(1).inner_text() for row in rows
    }


def test_a_patch_says_where_it_lies_and_what_it_takes(fresh: Open) -> None:
    one, found = fresh("patches"), patched()
    one.wait_for_charts()
    one.page.locator("#chart-patches").scroll_into_view_if_needed()
    rectangles = boxes(one, "chart-patches")
    patches = found.plan.patches
    assert len(rectangles) == len(patches) + 1
    assert rectangles[-1] == pytest.approx(rectangles[5], abs=2)
    for place in (0, 6, 15):
        patch, box = patches[place], rectangles[place]
        _, _, down, across = patch.inputs["image"]
        said = says(one, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert said["patch (row, column)"] == f"{place // 4 + 1},{place % 4 + 1}"
        assert said["rows read"] == f"{down.start} to {down.stop - 1}"
        assert said["columns read"] == f"{across.start} to {across.stop - 1}"
        assert said["MACs"] == f"{patch.macs:,}"
        assert said["bytes alive, without input and result"] == f"{patch.peak_bytes['pair_in_place']:,}"
        assert box["width"] / rectangles[0]["width"] == pytest.approx(across.size / 62, rel=0.02)
    assert one.complaints == []


@pytest.mark.parametrize("name", ["patches", "order"])
def test_a_layer_says_its_name_and_what_is_alive(fresh: Open, name: str) -> None:
    one = fresh(name)
    one.wait_for_charts()
    one.page.locator("#chart-alive").scroll_into_view_if_needed()
    if name == "patches":
        wanted = [(step.name, step.before_bytes) for step in patched().steps]
        wanted += [(step.name, step.after_bytes) for step in patched().steps]
    else:
        profile = ordered(is_hostile=False).profile
        wanted = [(step.before_name, step.before_bytes) for step in profile]
        wanted += [(step.after_name, step.after_bytes) for step in profile]
    bars = boxes(one, "chart-alive")
    assert len(bars) == len(wanted)
    for place in (0, 3, len(wanted) // 2, len(wanted) // 2 + 3):
        box = bars[place]
        said = says(one, box["x"] + box["width"] / 2, box["y"] + box["height"] - 1)
        assert said["name"] == wanted[place][0]
        assert said["bytes alive"] == f"{wanted[place][1]:,}"
    heights = [box["height"] for box in bars]
    top = max(size for _, size in wanted)
    for height, (_, size) in zip(heights, wanted, strict=True):
        assert height / max(heights) == pytest.approx(size / top, abs=0.02)


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_tables_have_the_figures_without_a_script_and_on_paper(fresh: Open, name: str) -> None:
    one = fresh(name, java_script_enabled=False)
    assert one.complaints == []
    cells = one.page.locator("main table").last.locator("tbody tr td:last-child").all_text_contents()
    steps = patched().steps if name == "patches" else ordered(is_hostile=name != "order").profile
    assert cells == [f"{step.after_bytes:,}" for step in steps]
    if name == "hostile order":
        return  # names of 60 characters side by side
    printed = fresh(name)
    printed.wait_for_charts()
    printed.page.emulate_media(media="print")
    printed.resize(A4)
    wider = "one => one.scrollWidth > one.clientWidth + 1"
    assert printed.ask(f"() => [...document.querySelectorAll('.wide')].filter({wider}).map(one => one.ariaLabel)") == []
