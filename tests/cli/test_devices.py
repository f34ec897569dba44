"""``weighbridge devices``, ``devices show`` and ``devices check`` in this process: output, exit codes, messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from weighbridge.cli.main import main
from weighbridge.devices.catalogue import find, names
from weighbridge.devices.device import KINDS

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
THREE_FAULTS = """
name = "mine"
title = "My board"
class = "microcontroller"
kind = "spaceship"
core = "a core"
[[peaks]]
unit = "core"
precision = "int8"
ops_per_s = { value = -1, source = "data sheet" }
[[memories]]
name = "RAM"
holds = ["weights", "activations"]
bytes = { value = 1000 }
"""


@pytest.fixture(autouse=True)
def wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


def test_the_list_goes_from_kind_to_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    rows = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    assert [(name, title) for name, _, title in rows if name == "a100"] == [("a100", "NVIDIA A100 SXM 80GB")]
    assert sorted(name for name, _, _ in rows) == sorted(names())
    order = [KINDS.index(kind) for _, kind, _ in rows]
    assert order == sorted(order)
    assert {"mcu", "board", "server"} <= {kind for _, kind, _ in rows}


@pytest.mark.parametrize("name", names())
def test_show_gives_every_number_its_unit_source_and_doubt(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "show", name]) == 0
    device, page = find(name), capsys.readouterr().out
    words = " ".join(page.split())
    assert device.title in page
    assert page.count("    source: ") == len(device.figures)
    assert page.count("    not verified") == sum(not figure.verified for figure in device.figures)
    for peak in device.peaks:
        assert f"{peak.precision}: " in page
        assert f"= {peak.ops_per_s.value:,} operations/s; {peak.unit}" in words
    for memory in device.memories:
        assert f"{memory.name}: {memory.bytes.value:,} B = " in words
        if memory.bandwidth_bytes_per_s is not None:
            assert f"= {memory.bandwidth_bytes_per_s.value:,} B/s" in words
    for figure in device.figures:
        assert "".join(figure.source.split()) in "".join(page.split())
        assert "".join(figure.note.split()) in "".join(page.split())
    assert max(map(len, page.splitlines())) <= 120


def test_show_writes_short_and_exact(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "show", "a100"]) == 0
    page = capsys.readouterr().out
    for line in (
        "a100 · server · server GPU · GA100, Ampere",
        "  float32: 19.50 TOPS = 19,500,000,000,000 operations/s; CUDA cores",
        "  HBM: 85,899,345,920 B = 80.00 GiB; holds weights and activations",
        "  HBM, bandwidth: 2.039 TB/s = 2,039,000,000,000 B/s",
    ):
        assert line in page.splitlines()


def test_show_takes_a_file_in_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["devices", "show", str(EXAMPLES / "my_board.toml")]) == 0
    page = capsys.readouterr().out
    assert max(map(len, page.splitlines())) <= 60
    assert "  flash, reserved: 65,536 B = 64.00 KiB" in page
    assert "not verified: 2 of 5 numbers" in page
    assert "the bandwidth of flash is not known" in page


def test_check_calls_a_good_file_good_and_says_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["devices", "check", str(EXAMPLES / "my_board.toml")]) == 0
    first, *notes = capsys.readouterr().out.splitlines()
    assert first.endswith("my_board.toml: good; my-board, mcu: 5 numbers, 2 not verified")
    assert notes == ["note: the bandwidth of flash is not known: moving bytes counts as no time"]
    (tmp_path / "bare.toml").write_text('name = "bare"\ntitle = "B"\nclass = "c"\ncore = "d"\n')
    assert main(["devices", "check", "bare.toml"]) == 0
    first, *notes = capsys.readouterr().out.splitlines()
    assert first == "bare.toml: good; bare, other: 0 numbers"
    assert [note.split(":")[1] for note in notes] == [
        " no peak rate",
        " no memory holds the weights",
        " no memory holds the activations",
    ]


def test_check_of_a_name_of_the_catalogue_whose_numbers_are_all_verified(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "check", "a100"]) == 0
    assert capsys.readouterr().out == "a100: good; a100, server: 7 numbers, all verified\n"


def test_check_shows_all_faults_each_with_its_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.toml").write_text(THREE_FAULTS)
    assert main(["devices", "check", "mine.toml"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    summary, *faults = captured.err.splitlines()
    assert summary == "weighbridge: error: mine.toml: the device file has 3 faults"
    assert sorted(fault.strip().split(": ")[0] for fault in faults) == [
        "$.kind",
        "$.memories[0].bytes.source",
        "$.peaks[0].ops_per_s.value",
    ]
    assert "must be one of mcu, npu, board, server, other, not 'spaceship'" in captured.err


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["check", "none.toml"], "cannot be read"),
        (["check", "."], "cannot be read"),
        (["check", "zzz"], "there is no device 'zzz'"),
        (["check"], "Missing argument 'FILE'"),
        (["show"], "Missing argument 'NAME'"),
        (["show", "stm32f764"], "did you mean stm32f746?"),
        (["show", "a100", "h100"], "unexpected extra argument"),
        (["a100"], "No such command 'a100'"),
    ],
)
def test_what_cannot_be_meant_is_one_line(arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert what in captured.err


def test_text_of_a_file_reaches_the_terminal_without_its_control_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.toml").write_text('name = "mine"\ntitle = "\\u001b[31m"\nclass = "c"\ncore = "d"\n')
    assert main(["devices", "show", "mine.toml"]) == 2
    assert "\x1b" not in capsys.readouterr().err
