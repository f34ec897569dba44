"""A page that is printed, and one that is read where scripts do not run."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Open
from tests.browser.reports import REAL, saved

A4 = 718
"""The pixels across a sheet of A4 between margins of a centimetre."""
IS_CLOSED = "() => [...document.querySelectorAll('{}')].filter(one => !one.checkVisibility()).length"


def test_print_is_light_and_opens_everything(fresh: Open) -> None:
    one = fresh("mobilenet", color_scheme="dark")
    one.wait_for_charts()
    one.page.get_by_role("button", name="Close all").click()
    assert one.ask(IS_CLOSED.format("#layers tbody tr")) > 0
    assert one.ask(IS_CLOSED.format("details td")) > 0
    one.page.emulate_media(media="print")
    one.settle()
    assert one.ask("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert one.ask(IS_CLOSED.format("tbody tr")) == 0
    assert one.ask(IS_CLOSED.format("tbody td")) == 0
    for hidden in ("nav", ".tools", "button.fold"):
        assert one.ask(f"() => document.querySelector({hidden!r}).checkVisibility()") is False, hidden
    assert one.ask("() => [...probe.faint(), ...probe.meetings(), ...probe.strays()]") == []
    cut = "one => one.scrollHeight > one.clientHeight + 1 && getComputedStyle(one).overflowY !== 'visible'"
    assert one.ask(f"() => [...document.querySelectorAll('.wide')].filter({cut}).length") == 0
    assert one.page.pdf().startswith(b"%PDF-")
    assert one.complaints == []


@pytest.mark.parametrize("name", REAL)
def test_no_table_and_no_chart_is_wider_than_the_paper(fresh: Open, name: str) -> None:
    one = fresh(name)
    one.wait_for_charts()
    one.page.emulate_media(media="print")
    one.resize(A4)
    wider = "one => one.scrollWidth > one.clientWidth + 1"
    assert one.ask(f"() => [...document.querySelectorAll('.wide')].filter({wider}).map(one => one.ariaLabel)") == []


@pytest.mark.parametrize("name", ["mobilenet", "uncounted", "comparison"])
def test_without_scripts_every_table_is_there_and_the_page_says_what_needs_them(
    fresh: Open, opened: Open, name: str
) -> None:
    one = fresh(name, java_script_enabled=False)
    assert one.complaints == []
    assert "The charts need JavaScript" in one.page.locator("noscript").inner_text()
    cells = [
        cell
        for table in opened(name).ask("() => probe.tables('main')")
        for row in table["rows"]
        for cell in row["cells"]
    ]
    texts = one.page.locator("main table tbody").locator("th, td").all_text_contents()
    assert ["".join(text.split()) for text in texts] == ["".join(cell.split()) for cell in cells]
    assert one.page.locator("#tree-0 tbody tr").first.is_visible()
    for report in saved(name).reports.values():
        assert f"{report.facts.macs:,}" in one.page.locator("#triangle").inner_text()
    assert one.page.locator("figure.chart .note").first.inner_text()
    assert one.page.locator("main button").count() == 0
