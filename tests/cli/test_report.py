"""``weighbridge report`` in this process: a saved report is shown as it was when it was weighed, without the model."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.saved import altered, save
from tests.report.samples import alexnet, node, report
from weighbridge.cli.main import main


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command prints, which has nothing to complain of."""
    assert main(list(arguments)) == 0, capsys.readouterr().err
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line on standard error, with nothing on standard output."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("weighbridge: error: ")
    return captured.err.removeprefix("weighbridge: error: ").strip()


OPTIONS = [(), ("--depth", "1"), ("--all",), ("--policy", "pair_in_place"), ("--map",)]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("target", [(), ("--json", "-"), ("--csv",), ("--markdown",)], ids=" ".join)
def test_a_saved_report_is_the_report(
    options: tuple[str, ...], target: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    weighed = ("weigh", "resnet18", "--on", "stm32f746", "--energy", "45nm")
    shown(capsys, *weighed, "--json", "saved.json")
    assert shown(capsys, "report", "saved.json", *options, *target) == shown(capsys, *weighed, *options, *target)


@pytest.mark.parametrize("suffix", [".json", ".csv", ".md", ".markdown", ".txt", ".html", ".htm", ".HTML"])
def test_files_by_suffix(suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    weighed = shown(capsys, "weigh", "lenet5", "--json", "saved.json", "-o", f"a{suffix}")
    assert shown(capsys, "report", "saved.json", "-o", f"b{suffix}") == weighed
    assert Path(f"a{suffix}").read_bytes() == Path(f"b{suffix}").read_bytes()


def test_a_page_has_what_the_report_has(capsys: pytest.CaptureFixture[str]) -> None:
    shown(capsys, "weigh", "alexnet", "--on", "toy", "-o", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    for part in ("<!doctype html>", "60,965,224", "724,406,816", "1,763,712", "fc6"):
        assert part in page


def test_several_are_shown_under_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = save("a.json"), save("b.json", "alexnet")
    alone = [shown(capsys, "report", one) for one in (first, second)]
    assert shown(capsys, "report", first, second) == "\n".join(alone)


def test_several_are_one_page(capsys: pytest.CaptureFixture[str]) -> None:
    shown(capsys, "report", save("a.json"), save("b.json", "alexnet"), save("c.json", "resnet18"), "-o", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    for part in ("lenet5", "724,406,816", "11,689,512"):
        assert part in page


def test_reports_of_one_name_are_told_apart_by_their_files(capsys: pytest.CaptureFixture[str]) -> None:
    save("other.json", "alexnet")
    save("wide.json", precision="fp32")
    save("narrow.json", precision="int8")
    Path("deep").mkdir()
    save("deep/wide.json")
    for names in (["wide.json", "narrow.json", "other.json"], ["wide.json", "deep/wide.json", "wide.json"]):
        rows = shown(capsys, "report", *names).split("\n\n")
        titles = [row.splitlines()[0] for row in rows if "weighed as deployed" in row]
        if "narrow.json" in names:
            assert titles == ["lenet5 (wide.json)", "lenet5 (narrow.json)", "alexnet"]
        else:
            assert titles == ["lenet5 (wide.json)", "lenet5 (wide.json) (2)", "lenet5 (wide.json) (3)"]


@pytest.mark.parametrize("target", [("--json", "-"), ("--csv", "x"), ("--markdown",), ("-o", "x.txt"), ("-o", "x.md")])
def test_other_formats_take_one_report(target: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """And say so before a file is read."""
    message = refused(capsys, "report", "not there", "nor this", *target)
    assert "2 reports for a format that takes one: " in message
    assert "one at a time" in message
    assert not Path("x.txt").exists()


def stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    save("a.json")
    stdin(monkeypatch, Path("a.json").read_bytes())
    assert shown(capsys, "report", "-") == shown(capsys, "report", "a.json")
    assert "-: the standard input is one report" in refused(capsys, "report", "-", "-")
    stdin(monkeypatch, b'{"schema": 1')
    assert refused(capsys, "report", "-").startswith("the standard input: this is no saved report: it breaks off")
    monkeypatch.setattr("sys.stdin", None)
    assert "the standard input is closed" in refused(capsys, "report", "-")


def test_a_pipe_is_as_good_as_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    """As a shell makes one of ``<(weighbridge weigh … --json -)``."""
    content = Path(save("a.json")).read_text(encoding="utf-8")
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_text(content, encoding="utf-8"))
    writer.start()
    try:
        assert shown(capsys, "report", "pipe") == shown(capsys, "report", "a.json")
    finally:
        writer.join()


def test_a_byte_order_mark_is_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    save("a.json")
    Path("b.json").write_bytes(b"\xef\xbb\xbf" + Path("a.json").read_bytes())
    assert shown(capsys, "report", "b.json") == shown(capsys, "report", "a.json")


def test_lower_bounds_are_told_where_nobody_sees_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    saved = report([*alexnet(), node("odd", operator="unknown", macs=None)]).to_json()
    Path("a.json").write_text(saved, encoding="utf-8")
    assert main(["report", "a.json", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert captured.out == saved
    assert captured.err == "weighbridge: warning: not exact: 1 node not counted: unknown x1\n"
    assert "1 node not counted" in shown(capsys, "report", "a.json")


# What a report lacks


def test_what_a_report_lacks_is_unknown_and_not_in_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    """No device, no profile, no arena, no figure of memory: an old report, or one that a program made."""

    def lessen(data: Any) -> None:
        data["on"] = []
        memory = data["memory"]
        for key in ("profile", "peak_bytes", "peak_elements", "peak_node", "tensors", "inapplicable"):
            memory[key] = type(memory[key])()
        for key in ("arena", "persistent"):
            memory.pop(key, None)
        memory |= {"variable_bytes": None, "persistent_bytes": None, "exact": False}
        for one in data["nodes"]:
            one |= {"macs": None, "flops": None, "work": None, "output": None, "output_bytes": None, "exact": False}

    altered("a.json", lessen)
    page = shown(capsys, "report", "a.json", "-o", "page.html")
    assert "lenet5" in page
    assert "?" in page
    assert "lenet5" in Path("page.html").read_text(encoding="utf-8")
    assert "a.json: --policy: pair has no profile" in refused(capsys, "report", "a.json", "--policy", "pair")
    assert "a.json: --map: there is no map" in refused(capsys, "report", "a.json", "--map")


# Bad input


def test_a_policy_or_a_suffix_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    save("a.json")
    assert "there is no memory policy 'x'" in refused(capsys, "report", "a.json", "--policy", "x")
    message = refused(capsys, "report", "a.json", "-o", "x.pdf")
    assert ".html" in message
    assert "Missing argument 'SAVED...'" in refused(capsys, "report")


CONTENTS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "this is no saved report: it is empty"),
    "blank": (b" \n", "this is no saved report: it is empty"),
    "cut short": (b'{"schema": 1, "tool": "we', "this is no saved report: it breaks off in line 1"),
    "text": (b"hello", "this is no saved report: no JSON in line 1, column 1"),
    "latin-1": ('{"schema": 1, "tool": "é"}'.encode("latin-1"), "it is no UTF-8 text from byte 23 on"),
    "utf-16": ('{"schema": 1}'.encode("utf-16"), "it is no UTF-8 text from byte 0 on"),
    "deep": (b"[" * 200_000, "this is no saved report: it is nested too deep"),
    "list": (b"[]", "$: this is no saved report: it has no schema"),
    "number": (b"5", "$: this is no saved report: it has no schema"),
    "null": (b"null", "$: this is no saved report: it has no schema"),
    "other": (b'{"a": 1}', "$: this is no saved report: it has no schema"),
    "later": (b'{"schema": 2}', "$.schema: the report has schema 2; this version reads schema 1"),
    "worded": (b'{"schema": "1"}', "$.schema: the report has schema '1'; this version reads schema 1"),
    "torn": (b'{"schema": 1}', "$: the saved report lacks 'tool'"),
    "twice": (b'{"schema": 1, "on": [{"a": 1, "a": 2}]}', "$.on[0]: has the key 'a' twice"),
    "nan": (b'{"schema": 1, "on": [NaN]}', "$.on[0]: NaN is no JSON number"),
    "long": (b'{"schema": 1, "on": [' + b"9" * 5000 + b"]}", "$.on[0]: is a number of 5,000 digits"),
    "pickle": (b"\x80\x04\x95", "this is a Python pickle, not a saved report"),
    "zip": (b"PK\x03\x04" + bytes(60), "this is a zip archive, not a saved report"),
    "page": (b"<!doctype html><p>hello", "this is an HTML page, not a saved report"),
    "onnx": (b"\x08\x07\x12\x04test", "this is an ONNX model, not a saved report; weigh it first: weighbridge weigh"),
    "tflite": (b"\x1c\0\0\0TFL3" + bytes(8), "this is a TensorFlow Lite model, not a saved report; weigh it first: "),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\n", "this is a Git LFS pointer"),
    "net.toml": (b"name = 'x'\n", "this is TOML text, not a saved report; weigh it first: weighbridge weigh net.toml"),
    "net.py": (b"x = 1\n", "this is a Python file, not a saved report; weigh it first: weighbridge weigh net.py:NAME "),
}


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("command", [("report",), ("plot",)])
def test_what_is_no_report(name: str, command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """One line, which names the file, and the path where there is one."""
    content, message = CONTENTS[name]
    Path(name).write_bytes(content)
    behind = ("inversion", "-o", "x.svg") if command == ("plot",) else ("-o", "x.html")
    line = refused(capsys, *command, save("good.json"), name, *behind)
    assert line.startswith(f"{name}: {message}" if not message.startswith("it is no") else f"{name}: ")
    assert message in line
    assert "to_json()" not in line
    assert not Path("x.html").exists()
    assert not Path("x.svg").exists()


ALTERED: dict[str, tuple[Callable[[Any], object], str]] = {
    "text": (lambda data: data["facts"].update(macs="many"), "$.facts.macs: must be a whole number, not 'many'"),
    "null": (lambda data: data["nodes"][1].update(name=None), "$.nodes[1].name: must be text, not null"),
    "below": (lambda data: data["facts"].update(macs=-1), "$.facts.macs: must be 0 or more, not -1"),
    "float": (lambda data: data["facts"].update(macs=1.5), "$.facts.macs: must be a whole number, not 1.5"),
    "large": (lambda data: data["facts"].update(macs=10**4200), "$.facts.macs: must be a number of some 3,900 digits"),
    "key": (lambda data: data["on"][0].pop("fit"), "$.on[0]: lacks 'fit'"),
    "part": (lambda data: data.pop("memory"), "$: the saved report lacks 'memory'"),
    "shape": (lambda data: data.update(nodes={}), "$.nodes: must be a list, not {}"),
    "short": (
        lambda data: data["memory"]["profile"]["live"].pop(),
        "$.memory.profile.live: has 7 entries for 8 nodes",
    ),
    "deep": (
        lambda data: data["facts"].update(macs=json.loads("[" * 300 + "]" * 300)),
        "$.facts.macs: must be a whole number, not [[[",
    ),
}


@pytest.mark.parametrize("name", ALTERED)
def test_a_report_that_somebody_altered(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    change, message = ALTERED[name]
    altered("a.json", change)
    assert refused(capsys, "report", "a.json").startswith(f"a.json: {message}")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("mising.json", "there is no such file; did you mean missing.json?"),
        ("nowhere/a.json", "there is no such file; there is no folder 'nowhere' that can be read"),
        ("folder", "this is a folder; name the saved report in it"),
        ("x" * 5000, "the file cannot be read ("),
        ("nul\0", "the file cannot be read ("),
        ("alexnet", "this is a network, not a saved report; weigh it first: weighbridge weigh alexnet --json FILE"),
        (
            "torchvision:resnet50",
            "this is a network, not a saved report; weigh it first: weighbridge weigh torchvision:",
        ),
    ],
    ids=lambda value: value[:20],
)
def test_what_is_no_file(place: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder").mkdir()
    save("missing.json")
    assert message in refused(capsys, "report", place)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            "measurements notes",
            "this is a saved measurement, not a saved report; measure it again with `-o page.html`; in Python",
        ),
        (
            "bandwidths networks errors",
            "this is a saved calibration, not a saved report; `weighbridge calibrate --from RECORDS",
        ),
        (
            "networks errors",
            "this is a saved validation, not a saved report; `weighbridge validate RECORDS --on DEVICE",
        ),
        ("other", "$: the saved report lacks "),
    ],
)
def test_what_another_command_saved_says_what_shows_it(
    keys: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = {"schema": json.loads(Path(save("a.json")).read_text(encoding="utf-8"))["schema"]}
    Path("b.json").write_text(json.dumps(saved | {key: [] for key in keys.split()}), encoding="utf-8")
    assert f"b.json: {message}" in refused(capsys, "report", "b.json")


def test_what_never_ends_is_no_report(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weighbridge.cli.saved._MOST_BYTES", 10_000)
    if Path("/dev/zero").exists():
        assert "/dev/zero: this is no saved report: it is larger than 10,000 B" in refused(
            capsys, "report", "/dev/zero"
        )
    Path("large.json").write_text(" " * 10_001)
    assert "large.json: this is no saved report: it is larger than" in refused(capsys, "report", "large.json")


def test_a_file_that_cannot_be_written_keeps_nothing_else_from_it(capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    Path("full.html").symlink_to("/dev/full")
    assert main(["report", save("a.json"), "-o", "full.html", "-o", "b.json"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("weighbridge: error: full.html: cannot be written: ")
    assert captured.out.startswith("lenet5\n")
    assert Path("b.json").read_bytes() == Path("a.json").read_bytes()


def test_standard_input_is_not_written_over(tmp_path: Path) -> None:
    import subprocess
    import sys

    save("a.json")
    before = Path("a.json").read_bytes()
    with Path("a.json").open("rb") as file:
        command = [sys.executable, "-m", "weighbridge", "report", "-", "--json", "a.json"]
        done = subprocess.run(command, stdin=file, capture_output=True, check=False, text=True)
    assert done.returncode == 2
    assert done.stderr == "weighbridge: error: a.json: the report would overwrite the saved report; name another file\n"
    assert Path("a.json").read_bytes() == before
