"""A layer that is picked anywhere stands out everywhere, until it is picked again or Escape is pressed."""

from __future__ import annotations

import json
from typing import Any

from tests.browser.conftest import Open
from tests.browser.opened import Opened
from tests.browser.reports import saved

STRONG, FAINT = 0.5, 0.4


def picked_rows(one: Opened) -> set[str]:
    """The layers and the names of the modules whose rows are marked."""
    rows = one.ask(
        "() => [...document.querySelectorAll('tr.picked')].map(row => row.dataset.key ?? row.cells[0].textContent)"
    )
    return set(rows)


def stands_out(one: Opened, *keys: str) -> None:
    one.settle()
    charts = one.ask("(keys) => probe.strengths(keys)", list(keys))
    assert charts
    for chart in charts:
        assert min(chart["own"]) > STRONG, chart["chart"]
        assert not chart["others"] or max(chart["others"]) < FAINT, chart["chart"]


def all_alike(one: Opened) -> None:
    one.settle()
    charts = one.ask("() => probe.strengths([])")
    assert charts
    for chart in charts:
        assert min(chart["others"]) > STRONG, chart["chart"]
    assert picked_rows(one) == set()


def click_mark(one: Opened, chart: str, key: str) -> None:
    """Click in the middle of the layer's first mark, as a person would."""
    place = one.ask("([chart, key]) => probe.middle(chart, key)", [chart, key])
    one.page.mouse.click(*place)


def charts_of(one: Opened, key: str) -> list[str]:
    return [chart["chart"] for chart in one.ask("(keys) => probe.strengths(keys)", [key]) if chart["own"]]


def busiest(name: str, place: int = 0) -> str:
    """The key of the layer with most MACs, whose marks are large enough to be hit."""
    report = list(saved(name).reports.values())[place]
    return f"{place}:{max(range(len(report.nodes)), key=lambda layer: report.nodes[layer].macs or 0)}"


def test_a_layer_that_is_picked_in_any_chart_is_picked_everywhere(fresh: Open) -> None:
    one = fresh("mobilenet")
    one.wait_for_charts()
    key = busiest("mobilenet")
    charts = charts_of(one, key)
    assert {chart.rsplit("-", 1)[0] if chart[-1].isdigit() else chart for chart in charts} >= {
        *("chart-inversion", "chart-activations-weights", "chart-arena", "chart-roofline", "chart-latency"),
    }
    all_alike(one)
    for place, chart in enumerate(charts):
        click_mark(one, chart, key)
        assert picked_rows(one) == {key}, chart
        stands_out(one, key)
        assert "picked" in one.page.get_by_role("status").last.inner_text()
        if place % 2:
            one.page.keyboard.press("Escape")
        else:
            click_mark(one, chart, key)
        all_alike(one)


def test_a_row_picks_and_a_module_picks_all_its_layers(fresh: Open) -> None:
    one = fresh("mobilenet")
    one.wait_for_charts()
    names = [node.name for node in saved("mobilenet").reports["mobilenet_v2"].nodes]
    row = one.page.locator("#tree-0 tr[data-key='0:0'] button.pick")
    row.click()
    assert picked_rows(one) == {"0:0"}
    stands_out(one, "0:0")
    assert row.get_attribute("aria-pressed") == "true"
    row.click()
    all_alike(one)

    module = one.page.locator("#tree-0 tr:not([data-key]) button.pick", has_text="block3").first
    module.click()
    layers = {f"0:{place}" for place, name in enumerate(names) if name.startswith("block3.")}
    assert picked_rows(one) == {"block3", *layers}
    stands_out(one, *layers)
    one.page.get_by_role("button", name="Clear").click()
    all_alike(one)


def test_a_row_of_a_device_s_table_picks_too(fresh: Open) -> None:
    one = fresh("mobilenet")
    one.wait_for_charts()
    one.page.locator("details summary").first.click()
    row = one.page.locator("details tr[data-key]").first
    key = row.get_attribute("data-key")
    assert key
    row.locator("button").click()
    stands_out(one, key)
    assert picked_rows(one) == {key}
    one.page.get_by_role("button", name="Show in the table").click()
    assert one.ask("() => document.activeElement.closest('tr').dataset.key") == key


def test_what_is_hidden_is_shown_when_it_is_asked_for(fresh: Open) -> None:
    one = fresh("nested")
    one.wait_for_charts()
    one.page.get_by_role("button", name="Close all").click()
    one.page.locator(".tools input").fill("nothing is called so")
    key = busiest("nested")
    click_mark(one, "chart-inversion", key)
    one.page.get_by_role("button", name="Show in the table").click()
    row = one.page.locator(f"#tree-0 tr[data-key='{key}']")
    assert row.is_visible()
    assert one.ask("() => document.activeElement.closest('tr').dataset.key") == key


def test_of_several_models_one_s_layer_is_picked_in_its_own_panels(fresh: Open) -> None:
    one = fresh("comparison")
    one.wait_for_charts()
    key = busiest("comparison", 1)
    click_mark(one, "chart-inversion", key)
    assert picked_rows(one) == {key}
    stands_out(one, key)


def test_a_chart_that_cannot_be_drawn_says_so_and_leaves_the_others(fresh: Open, tmp_path: Any) -> None:
    from tests.browser.opened import open_page
    from tests.browser.reports import page

    text = page("nested")
    start = text.index('id="charts">') + len('id="charts">')
    end = text.index("</script>", start)
    data = json.loads(text[start:end])
    data["charts"]["chart-inversion"]["spec"] = {"mark": 7}
    path = tmp_path / "broken.html"
    path.write_text(text[:start] + json.dumps(data).replace("<", "\\u003c") + text[end:], encoding="utf-8")
    whole = fresh("nested")
    broken = open_page(whole.page.context.browser, path)
    broken.page.locator("html[data-drawn]").wait_for(state="attached")
    assert broken.page.locator("#chart-inversion .drawing").inner_text().startswith("This chart could not be drawn: ")
    drawn = broken.ask("() => probe.drawings().map(probe.nameOf)")
    assert drawn == broken.ask("() => probe.promised().map(one => one.id)")[1:]
    broken.page.context.close()
