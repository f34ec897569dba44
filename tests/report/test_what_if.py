"""The comparison on a page: marks of what is not exact, steps, and every format."""

from __future__ import annotations

import csv
from dataclasses import replace
from io import StringIO

import pytest
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion

from tests.report.samples import alexnet, node, report
from tests.steps import steps
from weighbridge import what_if
from weighbridge.report import Report
from weighbridge.report.csv import render
from weighbridge.report.layers import layer_changes
from weighbridge.report.terminal import Look
from weighbridge.report.what_if import Metric, WhatIf, compared
from weighbridge.report.what_if_page import lines, markdown, ratio_cell, sentences, table, text


def compare(before: Report, after: Report, *changes: str) -> WhatIf:
    return WhatIf(
        "weighbridge",
        "made up",
        changes,
        before,
        after,
        compared(before, after),
        layer_changes(before.nodes, after.nodes),
    )


@pytest.mark.parametrize("width", [60, 100])
def test_a_page(snapshot: SnapshotAssertion, width: int) -> None:
    found = what_if("alexnet", ["low-rank:fc*=25%", "sparsity:fc*=90%"], on=["toy", "stm32f746"], energy="45nm")
    shown = text(found, Look(width))
    assert max(map(cell_len, shown.splitlines())) <= width
    assert shown == snapshot


def test_steps_in_ascii(snapshot: SnapshotAssertion) -> None:
    found = what_if("lenet5", ["low-rank:f6=10", "bits=8"], on="toy", steps=True)
    shown = text(found, Look(110, unicode=False))
    assert shown.isascii()
    assert shown == snapshot


def test_markdown(snapshot: SnapshotAssertion) -> None:
    assert markdown(what_if("mlp", ["sparsity=0.5", "bits=4"], on="toy")) == snapshot


def test_csv_has_every_metric_with_raw_values() -> None:
    found = what_if("mlp", "bits=4", on="toy")
    rows = list(csv.DictReader(StringIO(render(table(found)))))
    assert len(rows) == len(found.metrics)
    size = next(row for row in rows if row["name"] == "weight_bytes")
    assert size == {
        "device": "",
        "name": "weight_bytes",
        "unit": "B",
        "before": "1064800",
        "after": "133100",
        "ratio": "0.125",
        "times_smaller": "8.0",
        "exact": "true",
        "exact_before": "true",
        "exact_after": "true",
    }
    assert {row["device"] for row in rows} == {"", "toy"}


ODD = node("odd", operator="unknown", origin="my.Op", macs=None)


@pytest.mark.parametrize(
    ("before", "after", "ratio", "times_smaller"),
    [
        ([], [], "0.1455", "6.872"),
        ([ODD], [], "<= 0.1455", ">= 6.872"),
        ([], [ODD], ">= 0.1455", "<= 6.872"),
        ([ODD], [ODD], "* 0.1455", "* 6.872"),
    ],
)
def test_a_ratio_says_what_it_is_where_a_side_is_a_lower_bound(before, after, ratio, times_smaller) -> None:
    whole = alexnet()
    found = compare(report([*whole, *before]), report([*whole[:1], *after]), "made up")
    macs = found.metric("macs")
    assert macs.exact == (not before and not after)
    assert (ratio_cell(macs), ratio_cell(macs, inverse=True)) == (ratio, times_smaller)
    assert f"MACs {ratio} times" in " ".join(sentences(found))
    if before or after:
        assert "shrinks" not in " ".join(sentences(found))
    shown = text(found, Look(100))
    assert ("* is of what is counted on both sides" in shown) == (bool(before) and bool(after))


@pytest.mark.parametrize(
    ("before", "after", "ratio", "cell"),
    [
        (0, 0, None, ""),
        (0, 5, None, ""),
        (5, 0, 0.0, "0"),
        (None, 5, None, "?"),
        (5, None, None, "?"),
        (5, 5, 1.0, "1"),
        (3, 10**400, None, "?"),
        (10**400, 10**400, 1.0, "1"),
    ],
)
def test_a_ratio_of_odd_values(before: int | None, after: int | None, ratio: float | None, cell: str) -> None:
    one = alexnet()[0]
    sides = (report([one._replace(macs=side)]) for side in (before, after))
    old, new = (
        replace(side, facts=side.facts._replace(macs=value)) for side, value in zip(sides, (before, after), strict=True)
    )
    macs: Metric = compare(old, new).metric("macs")
    assert (macs.ratio, ratio_cell(macs)) == (ratio, cell)
    assert macs.exact == (before is not None and after is not None)


def test_layers_in_the_order_in_which_they_run_with_their_parts_behind_them() -> None:
    a, b, c, d = (node(name, weights=8, macs=9) for name in "abcd")
    parts = [node(f"b.{part}", weights=2, macs=3) for part in ("one", "two")]
    changes = layer_changes([a, b, c, d], [a, *parts, c._replace(macs=1), node("new")])
    assert [(one.name, one.before is None, one.after is None) for one in changes] == [
        ("b", False, True),
        ("b.one", True, False),
        ("b.two", True, False),
        ("c", False, False),
        ("d", False, True),
        ("new", True, False),
    ]


def test_many_layers_with_parts_take_as_long_as_they_are_many() -> None:
    def of(count: int) -> int:
        before = [node(f"layer{place}", weights=8, macs=9) for place in range(count)]
        after = [node(f"{one.name}.{part}", weights=2, macs=3) for one in before for part in ("b", "a")]
        assert len(layer_changes(before, after)) == 3 * count
        return steps(lambda: layer_changes(before, after))

    assert of(800) < 4.4 * of(200)  # quadratic would be 16 times


def test_layers_of_a_file_are_told_apart() -> None:
    """Names of files have their differences at the end: none is cut where there is room for it, and none in Markdown."""
    names = [f"/backbone/stage4/stage4.{place}/branch_main/branch_main.0/Conv" for place in range(4)]
    old = [node(name, weights=8, macs=9) for name in names]
    found = compare(report(old), report([one._replace(weights=4) for one in old]))
    for shown in (text(found, Look(100)), markdown(found)):
        assert all(name.replace("_", r"\_") in shown or name in shown for name in names)


def test_a_report_from_before_there_were_zeros_has_none_to_compare() -> None:
    old = report(alexnet())
    found = compare(old, old)
    assert found.metric("nonzero_macs").ratio is None
    assert not found.metric("nonzero_macs").exact


def test_hostile_names_stay_on_their_line() -> None:
    evil = node("a\x1b[31m\nb\u202e", weights=8, macs=9)
    found = compare(report([evil]), report([evil._replace(macs=3)]), "bits\x1b[0m=8")
    shown = text(found, Look(100)) + markdown(found)
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_many_layers_are_cut_and_said_to_be() -> None:
    found = what_if("mobilenet_v2", "width=0.75")
    shown = text(found, Look(100))
    assert "the 12 that differ most" in shown
    assert "--all shows every layer" in shown
    whole = "".join(span.text for line in lines(found, Look(100), all_rows=True) for span in line)
    assert all(layer.name in whole for layer in found.layers)
