"""``weighbridge patches`` in this process: output, files, exit codes, messages."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.test_weigh import one_line
from weighbridge.cli.main import main

PAPER = ["patches", "mobilenet_v2", "--precision", "int8", "--last", "block4.project", "--grid", "4x4"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


def test_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PAPER, "--policy", "pair_in_place", "--input-elsewhere", "--on", "stm32f746"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    for part in ("175,616 B", "27,919,344 MACs are done again", "in patches it fits", "129,517,568", "1x3x75x75"):
        assert part in captured.out


def test_files_of_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    suffixes = ("json", "csv", "md", "txt", "html")
    assert main([*PAPER, *(part for one in suffixes for part in ("-o", f"page.{one}"))]) == 0
    assert json.loads(Path("page.json").read_text())["plan"]["clipped_macs"] == 119_202_032
    rows = list(csv.DictReader(Path("page.csv").read_text().splitlines()))
    assert len(rows) == 16
    assert sum(int(row["macs"]) for row in rows) == 119_202_032
    for one in ("md", "txt", "html"):
        assert "119,202,032" in Path(f"page.{one}").read_text()


def test_the_json_is_that_of_the_python_interface(capsys: pytest.CaptureFixture[str]) -> None:
    from weighbridge import in_patches

    assert main([*PAPER, "--json", "-"]) == 0
    found = in_patches("mobilenet_v2", precision="int8", last="block4.project", grid="4x4")
    assert capsys.readouterr().out == found.to_json()


@pytest.mark.parametrize(("size", "code"), [("1KiB", 0), ("64KiB", 1)])
def test_require_fit(size: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*PAPER, "--policy", "pair_in_place", "--on", "stm32f746", "--reserve", f"sram={size}", "--require-fit"]
    assert main(arguments) == code
    assert capsys.readouterr().err == ("weighbridge: does not fit stm32f746 in patches\n" if code else "")


def test_require_fit_by_a_device_that_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PAPER, "--on", "ethos-u55-128", "--require-fit"]) == 1
    assert capsys.readouterr().err == "weighbridge: cannot be told to fit ethos-u55-128 in patches\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--last", "block3.expand"], "there is no node 'block3.expand'; did you mean block3.expand.conv?"),
        (["--last", "block3.expand.conv"], "lies inside a branch: block3.add reads block2.project_bn too"),
        (["--last", "block4.project", "--grid", "64x64"], "64 x 64 patches of a map of 28 x 28"),
        (["--grid", "4by4"], "'4by4' is no grid; write 4x4"),
        (["--policy", "arena_tflm"], "there is no peak under arena_tflm"),
        (["--policy", "nothing"], "there is no memory policy 'nothing'"),
        (["--require-fit"], "--require-fit without a device"),
        (["--on", "nothing"], "there is no device 'nothing'"),
    ],
)
def test_bad_input_is_one_line_and_2(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["patches", "mobilenet_v2", *arguments]) == 2
    assert said in one_line(capsys)
