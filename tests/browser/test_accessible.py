"""axe-core finds nothing serious on a page, and a screen reader is told what a chart shows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import Open
from tests.browser.opened import Opened
from tests.browser.reports import PAGES

SERIOUS = ("serious", "critical")
CONTRAST = "color-contrast"
ROWS = 3
"""So many rows of a table and marks of a chart are looked at: the rest is made alike, and axe looks at each for long."""


def faults(one: Opened, **options: Any) -> list[str]:
    found = Axe().run(one.page, options={"resultTypes": ["violations"], **options}).response["violations"]
    return [
        f"{fault['id']} ({fault['impact']}): {node['html'][:120]}"
        for fault in found
        if fault["impact"] in SERIOUS
        for node in fault["nodes"]
    ]


def thinned(one: Opened) -> Opened:
    """The page with all that opens open, and few of what is many."""
    one.wait_for_charts()
    one.ask(
        """(rows) => {
          for (const body of document.querySelectorAll("tbody")) [...body.rows].slice(rows).forEach(row => row.remove());
          for (const svg of probe.drawings()) probe.marks(svg).slice(rows).forEach(mark => mark.remove());
          for (const one of document.querySelectorAll("details")) one.open = true;
        }""",
        ROWS,
    )
    return one


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(fresh: Open, name: str) -> None:
    assert faults(thinned(fresh(name)), rules={CONTRAST: {"enabled": False}}) == []


def test_axe_finds_enough_contrast_in_both_schemes(fresh: Open) -> None:
    """On one page, as it takes axe longer than all the rest; what ``probe.faint`` says of every page is held to it."""
    one = thinned(fresh("uncounted"))
    for scheme in ("light", "dark"):
        one.page.emulate_media(color_scheme=scheme)
        assert faults(one, runOnly=[CONTRAST]) == []


def test_a_fault_would_be_found(fresh: Open) -> None:
    one = fresh("empty")
    one.ask("() => document.body.append(document.createElement('button'))")
    assert any(fault.startswith("button-name (critical)") for fault in faults(one))


@pytest.mark.parametrize("name", ["mobilenet", "comparison"])
def test_regions_have_names_of_their_own(opened: Open, name: str) -> None:
    """By which a screen reader lists them; those that are folded away count too."""
    names = opened(name).ask("() => [...document.querySelectorAll('[role=region]')].map(one => one.ariaLabel)")
    assert names
    assert [name for name, times in Counter(names).items() if times > 1] == []


def test_every_drawing_has_a_name_with_figures(opened: Open) -> None:
    drawings = "document.querySelectorAll('.drawing')"
    names = opened("mobilenet").ask(f"() => [...{drawings}].map(one => one.getAttribute('aria-label'))")
    assert names
    assert [name for name in names if not any(character.isdigit() for character in name)] == []
