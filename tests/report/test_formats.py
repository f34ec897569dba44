"""CSV, Markdown and HTML: complete, and safe whatever a model's names are."""

from __future__ import annotations

import csv
from html.parser import HTMLParser
from io import StringIO

import pytest
from syrupy.assertion import SnapshotAssertion

import weighbridge
from tests.report.samples import alexnet, node, on_device, report
from weighbridge import Report
from weighbridge.estimates import BatchPoint, Bill, LevelEnergy, NodeTime, Throughput
from weighbridge.report import csv as csv_format
from weighbridge.report import html, markdown
from weighbridge.report.page import Table
from weighbridge.report.view import node_table, page

HOSTILE = (
    *(
        "[bold red]x[/]",
        "\x1b[31mred\x1b[0m",
        "two\nlines",
        "\u202egnp.exe",
        "a|b",
        "`code`",
        "<script>alert(1)</script>",
    ),
    *(
        "<!--",
        "# title",
        "[link](http://evil.example)",
        "![x](http://evil.example/x.png)",
        "http://evil.example",
        "&amp;",
    ),
    *(
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "'",
        '"',
        ",",
        "\\",
        "\ud800",
        "\x00",
        "",
        " ",
        "$\\LaTeX$",
        "_x_",
        "**x**",
    ),
)


def hostile() -> Report:
    nodes = [node(name or "empty", scope=f"{name}.inner", origin=name, macs=1, weights=1) for name in HOSTILE]
    nodes += [node(f"odd {name}", operator="unknown", origin=name, macs=None) for name in HOSTILE]
    on = on_device()._replace(
        device=HOSTILE[6], nodes=tuple(NodeTime(name, 1.0, 2.0, "memory", 2.0, 3.0, True) for name in HOSTILE)
    )
    points = tuple(BatchPoint(batch, 1.0, batch, None, None, None, "fits") for batch in (1, 2))
    on = on._replace(throughput=Throughput(points))
    level = LevelEnergy(HOSTILE[6], 1.0, 2.0, 3.0, None, None)
    bill = Bill(HOSTILE[0], HOSTILE[1], HOSTILE[2], None, 1.0, 1.0, 2.0, (level,), False, False, HOSTILE)
    made = report(nodes, on=(on, on), notes=HOSTILE, tool=HOSTILE[6])
    network = made.network._replace(name="<b>\n|\x1b[0m", inputs=(made.network.inputs[0]._replace(name="<i>\u202e"),))
    return Report(made.tool, network, made.facts, made.memory, made.on, made.notes, energy=bill)


def test_csv_has_a_row_for_every_node_and_no_formula() -> None:
    text = csv_format.render(node_table(hostile()))
    header, *rows = csv.reader(StringIO(text, newline=""))
    assert len(rows) == 2 * len(HOSTILE)
    assert {len(row) for row in rows} == {len(header)}
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows for cell in row)
    assert "'=1+1" in {row[0] for row in rows}
    assert text.replace("\r\n", "").isprintable()


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r"])
def test_a_name_that_a_spreadsheet_would_compute_is_text_in_csv(start: str) -> None:
    text = csv_format.render(node_table(report([node(f"{start}cmd()")])))
    assert next(csv.DictReader(StringIO(text, newline="")))["name"][0] in ("'", "\\")


@pytest.mark.parametrize("name", ["\x1b[2J", "a\nb", "\u202e\u200b", "\t\r", "n" * 3000, "\x00" * 500, "\U000e0001"])
def test_no_table_writes_a_control_character_or_cuts_a_name_in_csv(name: str) -> None:
    text = csv_format.render(Table(("place", "layer"), ((0, name),)))
    _, (_, cell) = csv.reader(StringIO(text, newline=""))
    assert text.replace("\r\n", "").isprintable()
    assert cell.removeprefix("'").encode().decode("unicode_escape") == name


def test_csv_values() -> None:
    rows = list(csv.DictReader(StringIO(csv_format.render(node_table(weighbridge.weigh("alexnet"))), newline="")))
    assert sum(int(row["macs"]) for row in rows) == 724_406_816
    assert rows[0]["exact"] == "true"
    assert rows[1]["uses_per_weight"] == ""


def cells(line: str) -> int:
    return line.replace("\\\\", "").replace("\\|", "").count("|") - 1


def test_markdown_of_hostile_names_keeps_its_tables_and_shows_no_markup() -> None:
    text = markdown.render(page(hostile(), all_rows=True))
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert {cells(line) for line in tables} == {4, 5, 7, 8, 11}
    assert "<script" not in text
    assert "<!--" not in text
    assert "](" not in text.replace("\\](", "")
    assert "://" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert text.replace("\n", "").isprintable()


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        assert all(name == "style" for name, _ in attrs)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_of_hostile_names_has_our_tags_only() -> None:
    text = html.render(page(hostile(), all_rows=True))
    tags = Tags()
    tags.feed(text)
    assert tags.found <= {"div", "p", "b", "span", "table", "caption", "tr", "th", "td", "br"}
    assert tags.open == []
    assert "&lt;script&gt;" in text
    assert text.isprintable()


def test_a_notebook_shows_the_page() -> None:
    text = weighbridge.weigh("alexnet", on="stm32f746")._repr_html_()
    for figure in ("60,965,224", "724,406,816", "1,763,712 B", "does not fit", "peak"):
        assert figure in text
    assert "http" not in text
    assert len(text) < 30_000


def test_markdown(snapshot: SnapshotAssertion) -> None:
    nodes = [*alexnet(), node("odd", operator="unknown", origin="my.Op", macs=None)]
    assert markdown.render(page(report(nodes, on=(on_device(),), notes=("something to know",)))) == snapshot


@pytest.mark.parametrize("name", HOSTILE)
def test_terminal_text_of_hostile_names_has_no_control_characters(name: str) -> None:
    from weighbridge.report.terminal import Look, text

    made = report([node(name or "empty", scope=name, operator="unknown", origin=name, macs=None)], notes=(name,))
    shown = text(page(made), Look(80))
    assert shown.replace("\n", "").isprintable()
    assert len(shown.splitlines()) < 40
