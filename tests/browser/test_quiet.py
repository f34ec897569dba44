"""A page that is opened says nothing to the console, asks for nothing, and draws what it promises."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Open
from tests.browser.reports import DRAWINGS, PAGES, page, saved

MOST_BYTES = 3_000_000
"""Of a report of 1,000 nodes."""


@pytest.mark.parametrize("name", PAGES)
def test_no_complaint_and_no_request(opened: Open, name: str) -> None:
    one = opened(name)
    assert one.complaints == []
    assert one.requests == [one.address]
    assert one.ask("() => probe.violations") == []


@pytest.mark.parametrize("name", PAGES)
def test_every_chart_that_is_promised_is_drawn(opened: Open, name: str) -> None:
    one = opened(name)
    promised = one.ask("() => probe.promised().map(figure => figure.id)")
    marks = one.ask("() => probe.drawings().map(svg => [probe.nameOf(svg), probe.marks(svg).length])")
    assert [chart for chart, count in marks if count] == promised
    if name in ("unknown", "empty"):
        assert one.ask("() => document.querySelectorAll('figure:not(.chart) .missing').length") > 0
    elif name in DRAWINGS:
        assert promised == ["chart-alive", *["chart-patches"] * (name == "patches")]
    else:
        assert "chart-inversion" in promised


def test_what_is_forbidden_would_be_noticed(fresh: Open) -> None:
    """The page's own policy stops a picture, data, a script and a style that it does not hold, and these tests hear of it."""
    one = fresh("empty")
    one.ask(
        """() => {
          document.body.append(Object.assign(new Image(), { src: "http://127.0.0.1:9/x.png" }));
          document.body.append(Object.assign(document.createElement("script"), { textContent: "alert(1)" }));
          document.body.setAttribute("style", "color: red");
          fetch("http://127.0.0.1:9/x.json").catch(() => {});
        }"""
    )
    one.settle()
    kinds = {violation.split()[0] for violation in one.ask("() => probe.violations")}
    assert {"img-src", "script-src-elem", "style-src-attr", "connect-src"} <= kinds
    assert len(one.complaints) >= 3


def test_a_thousand_nodes_are_less_than_three_megabytes() -> None:
    (report,) = saved("transformer").reports.values()
    assert 1000 <= len(report.nodes) < 1100
    assert len(page("transformer").encode()) < MOST_BYTES
