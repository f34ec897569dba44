"""Devices side by side, the layers that take longest, batches, energy: what a page says and how tables are set."""

from __future__ import annotations

import csv
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weighbridge
from tests.report.samples import alexnet, on_device, report
from weighbridge.report import csv as csv_format
from weighbridge.report.costs import summary
from weighbridge.report.grid import Column, Grid, GridRow, grid_lines, trimmed
from weighbridge.report.markdown import grid_blocks
from weighbridge.report.record import told_apart
from weighbridge.report.terminal import Look, text
from weighbridge.report.verdicts import DETAILED
from weighbridge.report.view import node_table, page


def lines(grid: Grid, width: int) -> list[str]:
    return ["".join(span.text for span in line) for line in grid_lines(grid, width)]


TABLE = Grid(
    "a table",
    (Column("name"), Column("first", True), Column("second", True, rank=1), Column("third", True, rank=2)),
    (GridRow(("one", "1", "2", "3"), "fits"), GridRow(("another", "10", "", "30"))),
)


def test_numbers_stand_below_each_other() -> None:
    assert lines(TABLE, 60) == [
        "a table",
        "name     first  second  third",
        "one          1       2      3",
        "another     10             30",
    ]


def test_columns_go_by_rank_and_are_named_below() -> None:
    assert lines(TABLE, 25)[1:] == [
        "name     first  second",
        "one          1       2",
        "another     10",
        "a wider terminal also",
        "shows: third",
    ]


def test_a_name_gives_way_before_a_number_that_always_stays() -> None:
    wide = TABLE._replace(rows=(GridRow(("a name that is very long indeed", "1,234,567", "", "")),))
    shown = lines(wide, 30)
    assert all(len(line) <= 30 for line in shown)
    assert shown[2].endswith("1,234,567")
    assert "…" in shown[2]


def test_a_column_without_words_is_not_shown() -> None:
    empty = TABLE._replace(rows=(GridRow(("one", "1", "", "3")),))
    assert lines(empty, 60)[1] == "name  first  third"
    assert list(grid_blocks(empty))[1:] == ["| name | first | third |", "|---|---:|---:|", "| one | 1 | 3 |"]
    assert trimmed(empty) == Grid(
        "a table", (TABLE.columns[0], TABLE.columns[1], TABLE.columns[3]), (GridRow(("one", "1", "3")),)
    )
    assert trimmed(TABLE) == TABLE


def test_a_table_without_rows_is_its_title_and_notes() -> None:
    empty = TABLE._replace(rows=(), notes=("a note",))
    assert lines(empty, 60) == ["a table", "a note"]
    assert [block for block in grid_blocks(empty) if block] == ["a table\n", "- a note"]


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    weighed = weighbridge.weigh(
        "mobilenet_v2", precision="int8", on=["mcu", "toy"], batches=[1, 8], fps=30, energy="45nm", battery="5Ah@3V"
    )
    for line in text(page(weighed, all_rows=True), Look(width)).splitlines():
        assert len(line) <= width


@given(st.lists(st.sampled_from(["a", "a (2)", "a (3)", "b"]), max_size=8))
def test_names_that_are_told_apart_are_all_different(names: list[str]) -> None:
    told = told_apart(names)
    assert len(set(told)) == len(told) == len(names)
    assert all(one == name or one.startswith(f"{name} (") for one, name in zip(told, names, strict=True))
    assert told[0:1] == tuple(names[0:1])


def test_few_devices_are_shown_one_by_one_and_many_in_a_table() -> None:
    few = page(weighbridge.weigh("lenet5", on=["toy", "a100", "t4"]))
    assert [len(few.briefs), len(few.verdicts), len(few.devices.rows)] == [3, 3, 3]
    many = weighbridge.weigh("lenet5", on="mcu")
    assert len(many.on) > DETAILED
    shown = page(many)
    assert [len(shown.briefs), len(shown.verdicts), len(shown.devices.rows)] == [1, 0, len(many.on)]
    assert len(page(many, all_rows=True).verdicts) == len(many.on)
    assert page(weighbridge.weigh("lenet5", on="toy")).devices is None


def test_the_summary_names_what_fits() -> None:
    fits, short = on_device(needed=1, peak=1), on_device()
    unknown = fits._replace(fit=fits.fit._replace(verdict="unknown"))
    assert summary([fits, short, short, unknown]) == ("4 devices: 1 fits (stm32f746), 2 do not, of 1 it is unknown")
    assert summary([short, short]) == "2 devices: none is known to fit, 2 do not"
    assert summary([fits] * 9) == "9 devices: 9 fit"


def test_a_board_is_short_by_a_number_of_bytes() -> None:
    shown = page(weighbridge.weigh("mobilenet_v2", precision="int8", on=["stm32f746", "stm32h743"]))
    rows = {
        row.cells[0]: dict(zip([column.title for column in shown.devices.columns], row.cells, strict=True))
        for row in shown.devices.rows
    }
    weighed = weighbridge.weigh("mobilenet_v2", precision="int8", on="stm32f746").on[0].fit.regions
    assert rows["stm32f746"]["short by"] == ", ".join(f"{region.short_bytes:,} B {region.name}" for region in weighed)
    assert rows["stm32f746"]["floor"].startswith("~")  # its rate is not verified


def test_the_rate_of_a_row_is_that_of_its_own_batch_whatever_others_are_weighed() -> None:
    shown = page(weighbridge.weigh("alexnet", on=["toy", "a100"], batches=[8, 64]))
    place = [column.title for column in shown.devices.columns].index("per s at most")
    assert [row.cells[place] for row in shown.devices.rows] == ["0.6902", "8,341"]


def test_an_unknown_time_is_a_question_mark() -> None:
    shown = page(weighbridge.weigh("alexnet", on=["stm32f746", "toy"], fps=30))
    board, toy = (
        dict(zip([column.title for column in shown.devices.columns], row.cells, strict=True))
        for row in shown.devices.rows
    )
    assert (board["floor"], board["layer by layer"], board["frames missed"], board["per s at most"]) == ("?",) * 4
    assert (toy["floor"], toy["frames missed"]) == ("1.448 s", ">= 43")


def test_the_layers_that_take_longest_come_first_and_all_on_demand() -> None:
    weighed = weighbridge.weigh("alexnet", on="toy")
    (few,) = page(weighed).verdicts[0].grids
    (every,) = page(weighed, all_rows=True).verdicts[0].grids
    assert [row.cells[0] for row in few.rows] == ["conv2", "conv3", "conv4", "conv1", "fc6"]
    assert len(every.rows) == sum(bool(time.time_s) for time in weighed.on[0].nodes) == 11
    assert few.title == "the 5 layers of 11 that take longest"
    assert every.rows[:5] == few.rows


def test_a_lower_bound_is_marked_in_every_table() -> None:
    from weighbridge.builder import Builder
    from weighbridge.dtypes import DTYPES
    from weighbridge.graph import UNKNOWN, TensorType

    builder = Builder("odd")
    x = builder.input("x", (1, 64), DTYPES["float32"])
    w = builder.stored("w", (64, 64), DTYPES["float32"])
    (x,) = builder.add("linear", [("x", x), ("w", w)], name="fc")
    (x,) = builder.opaque(UNKNOWN, [("x", x)], [TensorType((1, 64), DTYPES["float32"])], name="odd", origin="my.Op")
    shown = page(weighbridge.weigh(builder.graph([x]), on=["toy", "a100"], energy="45nm"))
    assert shown.devices.rows[0].cells[4].startswith(">= ")
    assert shown.energy.rows[0].cells[1].startswith(">= ")
    assert any(line.startswith("layer by layer >= ") for line in shown.verdicts[0].times)
    assert any(line.startswith("energy >= ") for line in shown.verdicts[0].times)


def test_the_csv_has_the_times_of_every_device() -> None:
    weighed = weighbridge.weigh("alexnet", on=["toy", "a100"])
    rows = list(csv.DictReader(StringIO(csv_format.render(node_table(weighed)), newline="")))
    assert float(rows[0]["compute_s on toy"]) == 0.2108304
    assert rows[0]["bound on a100"] == weighed.on[1].nodes[0].bound
    assert {row["time_s on toy"] for row in rows if row["operator"] == "flatten"} == {"0.0"}


def test_a_report_without_times_has_none_in_its_table() -> None:
    table = node_table(report(alexnet(), on=(on_device(),)))
    assert all(row[-5:] == (None,) * 5 for row in table.rows)
