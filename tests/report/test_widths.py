"""No line is wider than the terminal, whatever the tables hold; what there is no room for is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from weighbridge.cli.main import main
from weighbridge.report.grid import Column, Grid, GridRow, grid_lines
from weighbridge.report.spans import _IS_NARROW, cells

NUMBERS = st.integers(0, 10**40).map(lambda number: f"{number:,}")
WORDS = st.text("abc déf 日本", max_size=60)


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    columns = draw(
        st.lists(st.builds(Column, st.text("abcdef", min_size=1, max_size=20), st.booleans(), st.integers(0, 3)))
    )
    columns = [Column("name"), *columns]
    rows = draw(st.lists(st.tuples(*(NUMBERS if column.is_number else WORDS for column in columns)), max_size=4))
    return Grid("a table", tuple(columns), tuple(map(GridRow, rows)), ("a note",))


@given(grid=grids(), width=st.integers(20, 120), indent=st.sampled_from([0, 2]))
def test_any_table_keeps_to_the_width(grid: Grid, width: int, indent: int) -> None:
    lines = ["".join(span.text for span in line) for line in grid_lines(grid, width, indent)]
    assert max(map(cells, lines)) <= width
    text = "\n".join(lines[1 : 2 + len(grid.rows)])
    shown = [all(row.cells[place] in text for row in grid.rows) for place in range(len(grid.columns))]
    if all(column.is_number <= shown[place] for place, column in enumerate(grid.columns)):
        return
    assert "wider terminal" in " ".join(" ".join(lines).split())


COMMANDS = (
    "devices",
    "energy",
    "energy ./many.toml",
    "energy ./large.toml",
    "energy ./empty.toml",
    "devices show stm32f746",
    "devices show jetson-orin-nano",
    "weigh alexnet --on toy --on a100 --batches 1,8,64 --fps 1e6 --energy 45nm --battery 999999999999Ah@3V",
    "weigh lenet5 --energy ./many.toml --battery 2000mAh@3.7V",
    "weigh resnet18 --on mcu --on server --fps 29.97 --batches 1,1024 --energy 45nm --battery 2000mAh@3.7V",
    "layer alexnet.conv3 --on server",
    "layer matmul --m 999999937 --k 99999989 --n 999999937 --ops-per-s 1 --bandwidth 1",
    "separable --c-i 999999937 --c-o 999999937 --k 9973x9967 --h-o 9999991 --on mcu --ops-per-s 1",
    "batching 1:1e-15s 999999937:1e12s --fps 999999937",
    "batching a_design_with_a_long_name_that_goes_on_and_on_and_on=7:1.23456789ms 3:1ns --fps 29.97",
)


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    head = 'name = "{0}"\ntitle = "a table that is {0}"\nprocess = "none"\n'
    access = '[[accesses]]\nlevel = "{}"\nenergy_pj_per_32_bit = {{ value = {}, source = "x" }}\n'
    levels = [("level " * 9 + str(number), 1 + number * 1e6) for number in range(64)]
    Path("many.toml").write_text(head.format("many") + "".join(access.format(*level) for level in levels))
    Path("large.toml").write_text(
        head.format("large")
        + "".join(access.format(*one) for one in (("tiny", 1.23456789012e-9), ("huge", 9.87654e23)))
    )
    Path("empty.toml").write_text(head.format("empty"))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("tables")
def test_no_command_writes_beyond_the_terminal(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for width in (*range(60, 121, 4), 61, 79, 81):
        monkeypatch.setenv("COLUMNS", str(width))
        assert main(command.split()) == 0
        captured = capsys.readouterr()
        wide = [line for line in captured.out.splitlines() if cells(line) > width]
        assert not wide, width


@pytest.mark.usefixtures("tables")
def test_a_matrix_shows_what_fits_and_says_what_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["energy", "./many.toml"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "no room for: 10, 11, 12, 13, 14, 15, 16, 17 and 46 more; a wider terminal shows more" in shown


@pytest.mark.usefixtures("tables")
def test_an_empty_table_of_energies_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["energy", "./empty.toml"]) == 0
    shown = capsys.readouterr().out
    assert "the table is empty: it has no operation and no access" in shown
    assert "times the least" not in shown
    assert "each over" not in shown


def test_characters_that_are_counted_without_rich_take_one_cell_there() -> None:
    narrow = [chr(code) for code in range(0x11000) if _IS_NARROW.fullmatch(chr(code))]
    assert len(narrow) > 800
    assert {one: cell_len(one) for one in narrow if cell_len(one) != 1} == {}
