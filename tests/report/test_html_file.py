"""The page as one file, read as text: what it may load, what it says without scripts, and that strings stay strings."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from fractions import Fraction
from hashlib import sha256
from html.parser import HTMLParser

import pytest

import weighbridge
from tests.report.samples import alexnet, node, on_device, report
from weighbridge.published import Conditions, Published
from weighbridge.report import Report
from weighbridge.report.charts.kinds import KINDS
from weighbridge.report.comparison import Model, comparison_of
from weighbridge.report.comparison_html import render as render_comparison
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.html_file import _SECTIONS, Comparison, render

HOSTILE = "</script><img src=x onerror=alert(1)>\"'`${1}{{ 7*7 }}<!--\u2028javascript:alert(1)"
VOID = {"meta", "br", "rect", "input", "link", "img"}


class Reading(HTMLParser):
    """The elements of a page, the text of each cell by row, and the content of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.rows: list[tuple[dict[str, str | None], list[str]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag in self.raw:
            self.raw[tag].append("")
        if tag == "tr":
            self.rows.append((dict(attrs), []))
        if tag in ("td", "th") and self.rows:
            self.rows[-1][1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.raw:
            self.raw[self.open[-1]][-1] += data
        elif self.rows and self.rows[-1][1] and {"td", "th"} & set(self.open):
            self.rows[-1][1][-1] += data


def held(reading: Reading) -> dict[str, dict[str, object]]:
    data: dict[str, dict[str, object]] = json.loads(reading.raw["script"][0])
    return data


@pytest.fixture(scope="module")
def mobilenet() -> Report:
    return weighbridge.weigh(
        "mobilenet_v2", on=["stm32f746", "jetson-agx-orin"], precision="int8", energy="45nm", batches=[1, 8]
    )


@pytest.fixture(scope="module")
def read(mobilenet: Report) -> Reading:
    return Reading(render({"mobilenet_v2": mobilenet}))


def test_a_comparison_stands_above_its_reports_and_trusts_no_name(mobilenet: Report) -> None:
    grid = Grid(HOSTILE, (Column(HOSTILE), Column("n", True)), (GridRow((HOSTILE, "1")),) * 41, (HOSTILE,))
    small = grid._replace(title="small", rows=grid.rows[:1])
    head = Comparison(HOSTILE, "Before and after", HOSTILE, (HOSTILE,), (grid, small), (HOSTILE,))
    made = render({"before": mobilenet, "after": mobilenet}, comparison=head)
    read = Reading(made)
    assert HOSTILE not in made
    assert read.open == []
    assert made.index("Before and after") < made.index(">Verdict<")
    assert "<details><summary>" in made[: made.index("small")]
    anchors = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert anchors.count("comparison") == 1
    assert len(anchors) == len(set(anchors))


def test_every_chart_has_a_place() -> None:
    assert set(_SECTIONS) == set(KINDS)


def test_elements_are_closed_and_anchors_are_told_apart(read: Reading) -> None:
    assert read.open == []
    anchors = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(anchors) == len(set(anchors))
    wanted = {attributes["href"] for tag, attributes in read.tags if tag == "a"}
    assert wanted <= {f"#{anchor}" for anchor in anchors}


def test_nothing_is_loaded_and_only_what_is_held_may_run(read: Reading) -> None:
    assert not [
        attributes for _, attributes in read.tags if {"src", "srcset", "style", "data", "action"} & set(attributes)
    ]
    assert not [tag for tag, _ in read.tags if tag in ("link", "iframe", "object", "base", "form", "img")]
    assert not [name for _, attributes in read.tags for name in attributes if name.startswith("on")]
    policy = next(attributes["content"] for _, attributes in read.tags if attributes.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "http" not in policy
    run = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in read.raw["script"][1:]]
    assert re.search(r"script-src ([^;]*);", policy)[1].split() == run  # type: ignore[index]


def test_rows_of_the_tree_have_the_numbers_of_the_report(read: Reading, mobilenet: Report) -> None:
    rows = {
        attributes["data-key"]: cells
        for attributes, cells in read.rows
        if "data-depth" in attributes and "data-key" in attributes
    }
    assert len(rows) == len(mobilenet.nodes)
    for place, facts in enumerate(mobilenet.nodes):
        cells = rows[f"0:{place}"]
        assert cells[3].split()[0] == f"{facts.parameters:,}"
        assert cells[4].split()[0] == f"{facts.macs:,}"
        assert cells[5].startswith(f"{mobilenet.memory.profile['live'][place]:,} B")


def test_a_report_gives_its_own_page(mobilenet: Report) -> None:
    assert mobilenet.to_html() == render({mobilenet.network.name: mobilenet})


def test_hostile_names_are_text(mobilenet: Report) -> None:
    odd = report([node(f"{HOSTILE}{place}", scope=HOSTILE, operator=HOSTILE, weights=7, macs=9) for place in range(3)])
    text = render({HOSTILE: odd, "mobilenet": mobilenet})
    reading = Reading(text)
    assert not [tag for tag, _ in reading.tags if tag == "img"]
    assert len(reading.raw["script"]) == 3
    assert held(reading)["charts"]
    assert "49" not in [cell for _, cells in reading.rows for cell in cells]


def test_of_several_models_every_row_has_a_key_of_its_own(mobilenet: Report) -> None:
    reading = Reading(render({"mobilenet_v2": mobilenet, "alexnet": report(alexnet()), "again": mobilenet}))
    keys = [
        attributes["data-key"]
        for attributes, _ in reading.rows
        if "data-depth" in attributes and "data-key" in attributes
    ]
    assert len(keys) == len(set(keys)) == 2 * len(mobilenet.nodes) + 11
    anchors = [attributes["id"] for _, attributes in reading.tags if "id" in attributes]
    assert len(anchors) == len(set(anchors))


def test_what_is_not_counted_stands_at_the_top() -> None:
    odd = report([node("one", weights=7, macs=9), node("two", macs=None, origin="my::thing")])
    text = render({"odd": odd})
    assert 0 < text.index("Not counted</h2>") < text.index("Verdict</h2>")
    assert "my::thing" in text[: text.index("Verdict</h2>")]


@pytest.mark.parametrize(
    "nodes", [[], [node("one")], [node("one", output=None, macs=None)], [node("huge", weights=10**400, macs=10**400)]]
)
def test_reports_of_odd_shape_are_rendered(nodes: list[object]) -> None:
    reading = Reading(render({"": report(nodes)}))  # type: ignore[arg-type]
    assert reading.open == []
    assert "datasets" in held(reading)


def test_what_stands_between_backticks_is_code_and_stays_text() -> None:
    odd = report([node("one")], notes=("see `weighbridge <b>devices</b>` there", "an odd ` one"))
    text = render({"odd": odd})
    assert "see <code>weighbridge &lt;b&gt;devices&lt;/b&gt;</code> there" in text
    assert "an odd ` one" in text


def test_nothing_stands_between_the_rows_of_a_table_that_is_sorted() -> None:
    """For each row that is moved a browser walks over all white space before it, so 10,000 rows take minutes."""
    shown = render({"alexnet": weighbridge.weigh("alexnet", on=["toy"])}).partition('<script type="application/json"')[
        0
    ]
    bodies = re.findall(r'<table class="sortable.*?<tbody>(.*?)</tbody>', shown, re.DOTALL)
    assert len(bodies) >= 4
    for body in bodies:
        assert re.fullmatch(r"(<tr\b((?!</tr>).)*</tr>)*", body, re.DOTALL), body


@pytest.mark.parametrize(
    "names",
    [("d", "d"), ("L" * 300 + "a", "L" * 300 + "b"), ("a\x1b", "a\\x1b"), ("d (2)", "d", "d")],
    ids=("same", "cut", "escaped", "counted"),
)
def test_every_device_has_a_part_of_its_own_with_its_charts(names: tuple[str, ...]) -> None:
    """Whatever of their names a page can show: what is cut or escaped may be all that tells two of them apart."""
    html = render({"a": report(alexnet(), on=tuple(on_device()._replace(device=name) for name in names))})
    parts = html.partition('<section id="energy">')[0].split('<section id="device-')[1:]
    assert len({re.search("<h3>(.*?)</h3>", part)[1] for part in parts}) == len(names)  # type: ignore[index]
    assert [part.count('<figure id="chart-') for part in parts] == [3] * len(names)


def test_a_comparison_of_models_stands_above_their_reports_or_alone() -> None:
    row = Published(HOSTILE, HOSTILE, HOSTILE, macs=Fraction(9), latency_s=Fraction(1), conditions=Conditions(HOSTILE))
    rows = [Model(f"{HOSTILE}{place}", "", None, row._replace(name=f"{HOSTILE}{place}")) for place in range(2)]
    weighed = [Model(name, name, weighbridge.weigh(name)) for name in ("mlp", "lenet5")]
    alone = render_comparison(comparison_of(rows, tool="weighbridge", fps=Fraction(30)))
    whole = render_comparison(comparison_of([*weighed, *rows], tool="weighbridge"))
    for made in (alone, whole):
        assert HOSTILE not in made
        assert Reading(made).open == []
        assert "Side by side" in made
        assert "Before and after" not in made
        assert "what is published stands by itself" in made
    assert ">Verdict<" not in alone
    assert whole.index("Side by side") < whole.index(">Verdict<")
