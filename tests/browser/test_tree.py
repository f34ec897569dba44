"""The module tree on a page: sorted, filtered and folded, by mouse and by keyboard, without losing who stands below whom."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.opened import Opened

TREE = "#tree-0"
Row = dict[str, Any]


@pytest.fixture
def tree(fresh: Open) -> Opened:
    return fresh("nested")


@pytest.fixture
def small(fresh: Open) -> Opened:
    return fresh("mobilenet")


def rows(one: Opened) -> list[Row]:
    found: list[Row] = one.ask("() => probe.tables('#layers')[0].rows")
    return found


def names(shown: Sequence[Row]) -> list[str]:
    return [row["cells"][0] for row in shown]


def visible(one: Opened) -> list[Row]:
    return [row for row in rows(one) if not row["isHidden"]]


def families(shown: Sequence[Row]) -> Iterator[tuple[tuple[str, ...], Row]]:
    """Each row with the names of the modules that it stands in."""
    above: list[str] = []
    for row in shown:
        del above[row["depth"] :]
        yield tuple(above), row
        above.append(row["cells"][0])


def siblings(shown: Sequence[Row]) -> dict[tuple[str, ...], list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for above, row in families(shown):
        found.setdefault(above, []).append(row)
    return found


def number(cell: str) -> int:
    return int(re.sub(r"[^\d].*", "", cell.replace(",", "").removeprefix(">= ")))


def words(cell: str) -> list[tuple[bool, int, str]]:
    """What text is ordered by: numbers in it by their size."""
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.findall(r"\d+|\D+", cell)]


def head(one: Opened, title: str) -> Any:
    return one.page.locator(f"{TREE} thead button", has_text=title).first


SORTED: tuple[tuple[str, int, Callable[[str], Any]], ...] = (
    ("layer", 0, words),
    ("operator", 1, words),
    ("deployed params", 3, number),
    ("MACs", 4, number),
    ("alive", 5, number),
)


def test_sorting_orders_siblings(small: Opened) -> None:
    first = rows(small)
    for title, column, order in SORTED:
        for direction in ("descending", "ascending"):
            head(small, title).click()
            shown = rows(small)
            assert sorted(map(repr, families(shown))) == sorted(map(repr, families(first)))
            for group in siblings(shown).values():
                keys = [order(row["cells"][column]) for row in group]
                assert keys == sorted(keys, reverse=direction == "descending"), (title, direction)
            said = small.ask(f"(place) => document.querySelector('{TREE}').tHead.rows[0].cells[place].ariaSort", column)
            assert said == direction
        assert rows(small) != first
        head(small, title).click()
        assert rows(small) == first
    head(small, "output").click()
    assert rows(small) != first


@pytest.mark.parametrize(
    "rising",
    [
        ("?", "<0.1%", "0.2%", "15.0%", ">100%", "337.8%"),
        ("unknown", "0 s", "144.2 µs", ">= ~2.506 ms", "~1.436 s", "1.000e12 s"),
        ("?", "512 B", "96.00 KiB", "1,000 KiB", "1.436 MiB", "2.000 GiB"),
        ("?", "0 B", "4,096 B", "98.30 kB", "1.505 MB 3.6%", "301,056 MB peak"),
        ("", "1.0e-20 J", "3.1 fJ", "867.44 nJ", "2.6293 µJ", "1.6827 mJ"),
        ("?", "-3", "3 to 4", "12 to 13", "1,204,224", "9,007,199,254,740,993"),
    ],
    ids=lambda rising: rising[-1],
)
def test_sorting_reads_units(fresh: Open, rising: Sequence[str]) -> None:
    """Whatever a column of numbers shows: what is unknown is less than any number."""
    small = fresh("mobilenet")
    mixed = [rising[place] for place in (3, 0, 5, 1, 4, 2)]
    write = """(texts) => {
        const rows = [...document.querySelector("#tree-0").tBodies[0].rows].filter((row) => row.dataset.depth === "0");
        texts.forEach((text, place) => { rows[place].cells[4].textContent = text; });
        rows.slice(texts.length).forEach((row) => row.remove());
    }"""
    small.ask(write, mixed)
    for order in (rising[::-1], rising):
        head(small, "MACs").click()
        found = [row["cells"][4] for row in rows(small) if row["depth"] == 0]
        assert [one for one in found if one in rising] == list(order)


def test_filtering_keeps_what_stands_above_and_below(tree: Opened) -> None:
    everything = {row["key"]: (above, row) for above, row in families(rows(tree)) if row["key"]}
    field = tree.page.locator(".tools input").first
    for wanted in ("query", "attention", "ATTENTION", "blocks", "gelu"):
        field.fill(wanted)
        shown = visible(tree)
        text = wanted.lower()
        hits = {
            key for key, (above, row) in everything.items() if text in " ".join((*above, *row["cells"][:2])).lower()
        }
        assert {row["key"] for row in shown if row["key"]} == hits
        assert len(hits) >= 3
        modules = {(*above, row["cells"][0]) for above, row in families(shown) if not row["key"]}
        assert all(above in modules for above, row in families(shown) if above)
    field.fill("nothing is called so")
    assert visible(tree) == []
    field.fill("")
    assert len(visible(tree)) == len(rows(tree))


def test_folding_hides_what_stands_below_and_unfolding_keeps_what_was_folded(tree: Opened) -> None:
    first = rows(tree)
    block, attention = (
        tree.page.get_by_role("button", name=f"rows of {name}", exact=True).first for name in ("0", "attention")
    )
    inside = [row for above, row in families(first) if above[:2] == ("blocks", "0")]
    assert len(inside) > 5
    attention.click()
    assert attention.get_attribute("aria-expanded") == "false"
    hidden = [row["cells"][0] for row in rows(tree) if row["isHidden"]]
    assert set(hidden) == {"query", "key", "value", "mix", "out"}
    block.click()
    assert len(visible(tree)) == len(first) - len(inside)
    block.click()
    assert len(visible(tree)) == len(first) - len(hidden)
    tree.page.get_by_role("button", name="Close all").click()
    assert {row["depth"] for row in visible(tree)} == {0}
    tree.page.get_by_role("button", name="Open all").click()
    assert rows(tree) == first


def test_folding_and_filtering_together(tree: Opened) -> None:
    tree.page.get_by_role("button", name="Close all").click()
    field = tree.page.locator(".tools input").first
    field.fill("query")
    shown = visible(tree)
    assert sum(row["cells"][0] == "query" for row in shown) == 3
    closed = tree.ask(f"() => document.querySelectorAll('{TREE} tr:not([hidden]) .fold[aria-expanded=false]').length")
    assert closed == 0, "a module whose rows are to be seen is open"
    field.fill("")
    assert {row["depth"] for row in visible(tree)} == {0}, "what was closed before is closed again"


def press_until(one: Opened, key: str, is_there: str) -> None:
    for _ in range(80):
        one.page.keyboard.press(key)
        if one.ask(f"() => document.activeElement.matches({is_there!r})"):
            return
    raise AssertionError(f"{key} never comes to {is_there}")


def test_by_keyboard_alone(small: Opened) -> None:
    """From the top of the page: a filter, a sorted column, a folded module, a picked layer, and all of it undone."""
    first = rows(small)
    press = small.page.keyboard.press

    press_until(small, "Tab", ".tools input")
    small.page.keyboard.type("block1")
    assert 0 < len(visible(small)) < len(first)
    press("Control+a")
    press("Delete")
    assert rows(small) == first

    press_until(small, "Tab", f"{TREE} th:nth-child(5) button.sort")
    press("Enter")
    assert rows(small) != first
    press("Space")
    press("Enter")
    assert rows(small) == first

    press_until(small, "Tab", f"{TREE} button.pick")
    at = "() => document.activeElement.textContent"
    assert small.ask(at) == "block1", "the first row that the filter left is where Tab goes from then on"
    press("ArrowLeft")
    hidden = [row["cells"][0] for row in rows(small) if row["isHidden"]]
    assert hidden == ["depthwise", "project"]
    press("ArrowDown")
    assert small.ask(at) == "block2", "what is hidden is passed over"
    press("ArrowUp")
    press("ArrowRight")
    assert rows(small) == first

    press("ArrowDown")
    for key in ("Enter", "Space"):
        press(key)
        assert [names([row]) for row in rows(small) if row["isPicked"]] == [["depthwise"]], key
        press("Escape" if key == "Enter" else key)
        assert not [row for row in rows(small) if row["isPicked"]], key


def test_tab_leaves_the_tree_after_one_row(small: Opened) -> None:
    """Who goes through a page by Tab does not pass a thousand rows."""
    press_until(small, "Tab", f"{TREE} button.pick")
    small.page.keyboard.press("Tab")
    assert not small.ask(f"() => document.activeElement.matches('{TREE} button')")
