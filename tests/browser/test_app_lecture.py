"""The figures of the source material in the browser: controls are moved to where the lecture stands, and the page says what it says.

The texts are asserted literally, so that this can fail alone; where lecture.toml is at hand, each is held to its entry as well, and every
entry is either shown by a page or listed with the reason why none shows it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser

from tests.browser.app import Moved, open_simulator, served
from tests.browser.lecture_counts import COUNTS
from tests.browser.lecture_memory import MEMORY
from tests.browser.lecture_shown import Place, Shown, State
from tests.browser.lecture_times import TIMES
from weighbridge.web.simulators import simulators

STATES: Final = (*COUNTS, *MEMORY, *TIMES)
SHOWN: Final = tuple(shown for state in STATES for shown in state.shown)
_A_RULE: Final = "a rule in words: the pages name the policies and the rule beside what follows from them"
_NOT_SHOWN: Final = "no simulator adds up or divides by this; tests/lecture has it from the Python interface"
ELSEWHERE: Final[Mapping[str, str]] = {
    "edge_detector.what": "no page sets a dense matrix beside a convolution; tests/lecture/parameters.py",
    "peak_assumptions.what": "tests/web/test_peak.py: the notes of the page",
    "alexnet_totals.conv_macs": _NOT_SHOWN,
    "alexnet_totals.linear_macs": _NOT_SHOWN,
    "alexnet_totals.activations_total": _NOT_SHOWN,
    "alexnet_totals.neurons": _NOT_SHOWN,
    "alexnet_totals.graph": _A_RULE,
    "alexnet_size.flash_ratio": _NOT_SHOWN,
    **{
        f"deep_compression_alexnet.{layer}[{place}]": "goes into the steps of the page of model sizes; tests/lecture/compression.py"
        for layer in ("conv1", "conv2", "conv3", "conv4", "conv5", "fc6", "fc7", "fc8")
        for place in range(5)
    },
    "imagenet_on_mcu.rule": _A_RULE,
    "imagenet_on_mcu.resnet18_weights_MB": "the source's label, which docs/lecture.md tells apart from what is counted",
    "imagenet_on_mcu.over_320_kB": _NOT_SHOWN,
    "mobilenetv2_blocks.KiB": "bars of the page of two budgets; tests/web/test_budgets.py holds their lengths to these",
    "latency.macs_ratio": _NOT_SHOWN,
    "latency.frames_missed.rule": _A_RULE,
    "latency.conditions": _A_RULE,
    "energy_45nm_0V9.axis": "tests/web/test_energies.py: what can be read on either axis",
    "energy_45nm_0V9.bill": _A_RULE,
    "boards.stm32f746.core": "the file of the device; tests/lecture has it",
    "boards.stm32f746.dram": "the file of the device; tests/lecture has it",
    "boards.stm32f746.os": "the file of the device; tests/lecture has it",
}
"""Entries, or those that begin so, which no simulator says in words, and where they are looked at."""
_CELL: Final = """([row, column]) => [...document.querySelectorAll("#tables table")].flatMap(one => {
  const place = [...one.tHead.rows[0].cells].findIndex(cell => cell.textContent === column);
  return [...one.tBodies[0].rows].filter(each => place > 0 && each.cells[0].textContent === row).map(each => each.cells[place].textContent);
})"""
_ABOUT: Final = ("part", "what")
"""What a table is about: the entry itself where there is nothing else in it."""
_NUMBER: Final = re.compile(r"\d[\d,]*(?:\.\d+)?")


@pytest.fixture(scope="module")
def app() -> Iterator[str]:
    with served() as address:
        yield address


@pytest.fixture(scope="module")
def stated(shared: Path) -> Mapping[str, Any]:
    """What lecture.toml states, by entry: ``alexnet_layers.conv1[0]``."""
    text = (shared / "facts" / "lecture.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text, parse_float=Decimal)
    return {
        entry: value
        for table, entries in tables.items()
        for key, content in entries.items()
        if key not in _ABOUT or (key == "what" and entries.keys() <= set(_ABOUT))
        for entry, value in _leaves(f"{table}.{key}", content)
    }


def _leaves(name: str, content: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(content, dict):
        for key, part in content.items():
            yield from _leaves(f"{name}.{key}", part)
    elif isinstance(content, list):
        for place, part in enumerate(content):
            yield from _leaves(f"{name}[{place}]", part)
    else:
        yield name, content


def _told(state: State) -> str:
    return f"{state.page}: {', '.join(f'{name}={text}' for name, text in state.moves.items())}"


@pytest.mark.parametrize("state", STATES, ids=_told)
def test_a_page_that_is_moved_to_the_lecture_says_its_figures(browser: Browser, app: str, state: State) -> None:
    one = open_simulator(browser, app, simulators()[state.page], state.query)
    for name, text in state.moves.items():
        assert one.value(name) != text, "this moves nothing"
        one.fill(name, text)
    says = {shown: texts_at(one, shown.place) for shown in state.shown}
    one.opened.page.context.close()
    for shown, texts in says.items():
        if shown.place == "sentence":
            assert any(shown.text in text for text in texts), texts
        else:
            assert texts == [shown.text], shown


def texts_at(one: Moved, place: Place) -> list[str]:
    """All that the page has at a place: one text, where it is told apart from all others."""
    page = one.opened.page
    if isinstance(place, tuple):
        return one.opened.ask(_CELL, list(place))
    if place == "sentence":
        return page.locator("#sentences .sentence").all_inner_texts()
    kind, _, name = place.rpartition(" ")
    if kind == "box":
        return [one.value(name)]
    part = ".share" if kind == "about" else "b"
    return page.locator(f"#readouts [data-readout='{name}'] dd {part}").all_inner_texts()


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.entry)
def test_what_a_page_says_is_what_the_entry_states(stated: Mapping[str, Any], shown: Shown) -> None:
    value = stated[shown.entry]
    if shown.stated is None:
        assert isinstance(value, str)
        return
    assert str(value) == shown.stated
    numbers = [Decimal(text.replace(",", "")) / Decimal(shown.times) for text in _NUMBER.findall(shown.text)]
    assert any(one.quantize(Decimal(shown.stated), ROUND_HALF_UP) == value for one in numbers), numbers


def test_every_entry_is_on_a_page_or_listed_with_the_reason_why_it_is_not(stated: Mapping[str, Any]) -> None:
    on_a_page = {shown.entry for shown in SHOWN}
    listed = {entry: {name for name in ELSEWHERE if _begins(entry, name)} for entry in stated}
    assert on_a_page <= set(stated)
    assert [entry for entry in stated if entry not in on_a_page and not listed[entry]] == []
    assert [entry for entry in on_a_page if listed[entry]] == [], "on a page after all"
    assert set(ELSEWHERE) == {name for names in listed.values() for name in names}, "no such entry"


def _begins(entry: str, name: str) -> bool:
    return entry == name or entry.startswith((f"{name}.", f"{name}["))
