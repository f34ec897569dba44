"""A tree is one stop of Tab, at a row that is shown, whatever is folded, filtered or sorted."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Open
from tests.browser.opened import Opened

STOPS = """() => [...document.querySelectorAll("#tree-0 tbody button")].filter(one => one.tabIndex === 0 && one.checkVisibility())
  .map(one => one.textContent)"""


@pytest.fixture
def tree(fresh: Open) -> Opened:
    one = fresh("nested")
    one.wait_for_charts()
    return one


def test_it_is_the_row_that_was_left(tree: Opened) -> None:
    assert tree.ask(STOPS) == ["embed"]
    tree.page.locator("#tree-0 button.pick").first.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        tree.page.keyboard.press(key)
    assert tree.ask(STOPS) == ["norm1"]
    tree.page.locator("#tree-0 button.sort").nth(3).click()
    assert tree.ask(STOPS) == ["norm1"]


def test_it_is_the_first_that_is_shown_where_that_row_is_not(tree: Opened) -> None:
    tree.page.locator("#tree-0 button.pick").first.focus()
    for _ in range(3):
        tree.page.keyboard.press("ArrowDown")
    tree.page.get_by_role("button", name="Close all").click()
    assert tree.ask(STOPS) == ["embed"]
    tree.page.get_by_label("Filter").fill("head")
    assert tree.ask(STOPS) == ["head"]
    tree.page.get_by_label("Filter").fill("nothing of that name")
    assert tree.ask(STOPS) == []
    tree.page.get_by_label("Filter").fill("")
    assert len(tree.ask(STOPS)) == 1


def test_showing_a_layer_leaves_one_stop(tree: Opened) -> None:
    tree.page.locator("#tree-0 tbody tr[data-key] button.pick").nth(2).click()
    tree.page.get_by_role("button", name="Show in the table").click()
    tree.page.keyboard.press("ArrowDown")
    assert len(tree.ask(STOPS)) == 1
