"""Text in charts: none meets another or leaves its chart, all of it stands out, and axes say what they measure."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import Open
from tests.browser.reports import PAGES

WIDTHS = (1280, 800, 400)
DRAWN = tuple(name for name in PAGES if name != "empty")

COUNTED = re.compile(r"\b(layer|step|batch|parameters|values|MACs|node|row|column)s?\b")
"""What is counted needs no unit: it is one."""
UNIT = re.compile(r"\b(B|bytes?|s|ms|J|mAh|OPS|FLOPS|MACs|operations|policy)\b|%")
LABEL_WITH_UNIT = re.compile(r"^[-−\d.,e+]+ ?[a-zA-Zµ]?(B|s|J|OPS|OPS/s|/s|%)$")


@pytest.mark.parametrize("name", DRAWN)
def test_texts_stand_apart_and_inside_at_every_width_and_in_both_schemes(opened: Open, name: str) -> None:
    one = opened(name)
    found = []
    for scheme in ("light", "dark"):
        one.page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            one.resize(width)
            faults = one.ask("() => [...probe.meetings(), ...probe.strays(), ...probe.faint()]")
            wide = one.ask("() => document.documentElement.scrollWidth")
            faults += [f"the page is {wide} pixels wide"] if wide > width else []
            found += [f"{scheme}, {width}: {fault}" for fault in faults]
    one.page.emulate_media(color_scheme="light")
    one.resize(WIDTHS[0])
    assert found == []


@pytest.mark.parametrize("name", DRAWN)
def test_every_axis_has_a_title_and_a_unit(opened: Open, name: str) -> None:
    for axis in opened(name).ask("() => probe.axes()"):
        assert axis["title"], axis
        labels = [label for label in axis["labels"] if label and label != "0"]
        says_unit = all(LABEL_WITH_UNIT.match(label) for label in labels)
        measures = COUNTED.search(axis["title"]) or UNIT.search(axis["title"]) or says_unit
        assert axis["isDiscrete"] or measures, axis


@pytest.mark.parametrize("name", ["mobilenet", "comparison", "uncounted"])
def test_words_in_tables_stay_whole_on_a_narrow_screen(opened: Open, name: str) -> None:
    one = opened(name)
    one.resize(WIDTHS[-1])
    found = one.ask("() => probe.broken()")
    one.resize(WIDTHS[0])
    assert found == []


def test_texts_that_meet_leave_or_fade_would_be_noticed(fresh: Open) -> None:
    one = fresh("mobilenet")
    one.wait_for_charts()
    assert one.ask("() => [...probe.meetings(), ...probe.strays(), ...probe.faint()]") == []
    one.ask(
        """() => {
          const [first, second, third] = document.querySelectorAll("figure.chart .role-axis-label text");
          second.setAttribute("transform", first.getAttribute("transform"));
          third.setAttribute("transform", "translate(-500, 0)");
          third.setAttribute("fill", "#bbb");
        }"""
    )
    for kind in ("meetings", "strays", "faint"):
        assert one.ask(f"() => probe.{kind}()"), kind
