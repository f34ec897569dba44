"""Names that are markup, script or a template are shown as they are written, and do nothing."""

from __future__ import annotations

from tests.browser.conftest import Open
from tests.browser.reports import HOSTILE, saved
from weighbridge.errors import printable
from weighbridge.report.view import page

OURS = 3
"""Scripts of a page: what it draws, as data, the library, and its own module."""


def test_names_are_text_in_tables(opened: Open) -> None:
    one = opened("hostile")
    (report,) = saved("hostile").reports.values()
    (table,) = one.ask("() => probe.tables('#layers')")
    shown = page(report, all_rows=True)
    assert [row["cells"][0] for row in table["rows"]] == [row.label for row in shown.rows]
    labels = {cell for row in table["rows"] for cell in row["cells"]}
    assert {printable(name, 60) for name in HOSTILE} <= labels
    assert one.ask("() => document.querySelector('h1').textContent") == shown.title
    notes = one.ask("() => [...document.querySelectorAll('#notes li')].map(one => one.textContent)")
    assert notes == [note.replace("`", "") for note in shown.notes], "what stands between backticks is set as code"
    devices = one.ask("() => [...document.querySelectorAll('#devices h3')].map(one => one.textContent)")
    assert devices == [verdict.device for verdict in shown.verdicts]
    assert one.ask("() => document.title").startswith(shown.title.strip())


def test_no_element_and_no_dialog_comes_of_a_name(opened: Open) -> None:
    one = opened("hostile")
    assert one.complaints == []
    assert one.ask("() => probe.violations") == []
    foreign = "img, iframe, base, object, embed, link, form:not(.vega-bindings), a:not([href^='#'])"
    assert one.ask("(foreign) => [...document.querySelectorAll(foreign)].map(one => one.outerHTML)", foreign) == []
    assert one.ask("() => document.scripts.length") == OURS
    assert one.ask("() => document.querySelectorAll('style').length") == 1
    handlers = "one => [...one.attributes].some(({ name }) => name.startsWith('on') || name === 'autofocus')"
    assert one.ask(f"() => [...document.querySelectorAll('*')].filter({handlers}).length") == 0
    assert one.ask("() => getComputedStyle(document.body).display") == "block"


def test_names_are_text_in_what_a_chart_says_of_a_mark(fresh: Open) -> None:
    one = fresh("hostile")
    one.wait_for_charts()
    for layer, name in enumerate(HOSTILE[:10]):
        place = one.ask("([chart, key]) => probe.middle(chart, key)", ["chart-inversion", f"0:{layer}"])
        one.page.mouse.move(0, 0)
        one.page.mouse.move(*place)
        tip = one.page.locator("#vg-tooltip-element.visible")
        tip.wait_for()
        assert printable(name, 60) in tip.inner_text()
        assert (
            one.ask("() => document.querySelectorAll('#vg-tooltip-element :not(table, tbody, tr, td, h2)').length") == 0
        )
    assert one.complaints == []


def test_names_that_are_paths_of_objects_are_picked_as_any(fresh: Open) -> None:
    one = fresh("hostile")
    one.wait_for_charts()
    for name in ("__proto__", "constructor", "datum.key", "signal:picked"):
        key = f"0:{HOSTILE.index(name)}"
        one.page.locator(f"#tree-0 tr[data-key='{key}'] button.pick").click()
        assert one.ask("() => [...document.querySelectorAll('#tree-0 tr.picked')].at(-1).dataset.key") == key
        one.page.keyboard.press("Escape")
    assert one.complaints == []


def test_the_longest_name_leaves_a_narrow_window_as_it_is(fresh: Open) -> None:
    """That of a device, in every section, and that of a layer, which is picked."""
    one = fresh("hostile")
    one.wait_for_charts()
    one.resize(320)
    one.page.locator(f"#tree-0 tr[data-key='0:{len(HOSTILE) - 1}'] button.pick").click()
    assert one.ask("() => document.documentElement.scrollWidth") == 320
    for place in (".status", ".status span", "#conventions dt"):
        widest = one.ask(
            "(at) => Math.max(...[...document.querySelectorAll(at)].map(one => one.getBoundingClientRect().right))",
            place,
        )
        assert 0 < widest <= 320, place
