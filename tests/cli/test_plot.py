"""``weighbridge plot`` in this process: every chart as a picture, and what keeps one from being drawn."""

from __future__ import annotations

import io
import os
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.cli.saved import altered, save
from weighbridge.cli.main import main
from weighbridge.report.charts.kinds import KINDS
from weighbridge.report.charts.theme import INK

OF_DEVICES = [name for name, kind in KINDS.items() if kind.of_device]
OF_NONE = [name for name, kind in KINDS.items() if not kind.of_device]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def full() -> str:
    """The path of a report with something for every chart."""
    return save("full.json", on="toy", energy="45nm", batches=[2, 4], train="adam")


def drawn(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command says on standard error; it writes a picture and prints nothing."""
    assert main(["plot", *arguments]) == 0, capsys.readouterr().err
    captured = capsys.readouterr()
    assert captured.out == ""
    assert all(line.startswith("weighbridge: note: ") for line in captured.err.splitlines())
    return captured.err


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line on standard error; nothing is written."""
    before = sorted(Path().iterdir())
    assert main(["plot", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("weighbridge: error: ")
    assert sorted(Path().iterdir()) == before
    return captured.err.removeprefix("weighbridge: error: ").strip()


def texts(path: str) -> list[str]:
    """The texts of an SVG, line by line."""
    return [one.text for one in ET.parse(path).iter() if one.tag.endswith(("text", "tspan")) and one.text]


@pytest.mark.parametrize("name", KINDS)
def test_every_chart_has_its_title_and_says_for_the_blind_what_is_seen(
    name: str, full: str, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn(capsys, full, name, "-o", "out.svg")
    shown = texts("out.svg")
    assert KINDS[name].title in shown
    assert ("lenet5 on toy" if name in OF_DEVICES else "lenet5") in shown
    root = ET.parse("out.svg").getroot()
    assert root.get("role") == "img"
    assert re.fullmatch(rf"{re.escape(KINDS[name].title)}: .*\d.*", root.get("aria-label", ""))


@pytest.mark.parametrize("scale", [None, 0.25, 1, 3])
def test_png_at_a_scale(scale: float | None, full: str, capsys: pytest.CaptureFixture[str]) -> None:
    drawn(capsys, full, "inversion", "-o", "out.svg")
    drawn(capsys, full, "inversion", "-o", "out.png", *(() if scale is None else ("--scale", str(scale))))
    content = Path("out.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n")
    width = float(ET.parse("out.svg").getroot().get("width", ""))
    assert struct.unpack(">I", content[16:20])[0] == pytest.approx(width * (scale or 2), abs=2)


def test_a_png_of_more_pixels_than_memory_has_room_for_is_refused(
    full: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is known when the chart is laid out, before a pixel is painted."""
    many = [full] * 16
    message = refused(capsys, *many, "peaks", "-o", "x.png", "--scale", "8")
    assert re.fullmatch(
        r"x\.png: the picture would have [\d,]+ x [\d,]+ pixels, more than 100,000,000; "
        r"take a smaller --scale or fewer reports; an SVG has no pixels",
        message,
    )
    drawn(capsys, *many, "peaks", "-o", "x.png", "--scale", "1")


def test_pdf(full: str, capsys: pytest.CaptureFixture[str]) -> None:
    drawn(capsys, full, "inversion", "-o", "out.PDF")
    assert Path("out.PDF").read_bytes().startswith(b"%PDF-")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_themes(theme: str, full: str, capsys: pytest.CaptureFixture[str]) -> None:
    drawn(capsys, full, "inversion", "--theme", theme, "-o", "out.svg")
    colours = {one.get("fill") for one in ET.parse("out.svg").iter() if one.tag.endswith("text")}
    assert colours == {INK[theme]}


def test_an_output_is_written_again(full: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.svg").write_text("x" * 1_000_000)
    drawn(capsys, full, "inversion", "-o", "out.svg")
    assert Path("out.svg").read_bytes().endswith(b"</svg>")


def test_several_are_compared(full: str, capsys: pytest.CaptureFixture[str]) -> None:
    others = [save("a.json", "alexnet"), save("b.json", "alexnet", precision="int8")]
    drawn(capsys, full, *others, "inversion", "-o", "out.svg")
    assert {"lenet5", "alexnet (a.json)", "alexnet (b.json)"} <= set(texts("out.svg"))


def test_what_one_of_several_lacks_is_said_in_the_picture_and_beside_it(
    full: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = drawn(capsys, full, save("a.json", "alexnet"), OF_DEVICES[0], "-o", "out.svg")
    reason = "alexnet: no device was asked for; weigh it with --on DEVICE"
    assert f"weighbridge: note: {reason}\n" in said
    assert reason in " ".join(texts("out.svg"))
    said = drawn(capsys, full, save("b.json", "alexnet", on="a100"), OF_DEVICES[0], "--on", "toy", "-o", "out.svg")
    assert "alexnet: this device was not asked for; weigh it with --on DEVICE" in said


def test_a_report_that_has_nothing_for_a_chart(capsys: pytest.CaptureFixture[str]) -> None:
    plain = save("a.json")
    for name in OF_DEVICES:
        message = refused(capsys, plain, name, "-o", "out.svg")
        assert message == f"a.json: there is no chart {name}: no device was asked for; weigh it with --on DEVICE"
    message = refused(capsys, plain, save("b.json", "alexnet"), "energy", "-o", "out.svg")
    assert message.startswith("a.json, b.json: there is no chart energy: lenet5: no energy ")
    assert "; alexnet: no energy " in message


# The device


def test_the_device_of_a_chart(full: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = OF_DEVICES[0]
    several = save("several.json", on=["toy", "a100"])
    drawn(capsys, full, name, "--on", "toy", "-o", "out.svg")
    drawn(capsys, several, name, "--on", "a100", "-o", "out.svg")
    assert "lenet5 on a100" in texts("out.svg")
    message = refused(capsys, several, name, "-o", "no.svg")
    assert message == f"--on: the chart {name} is of one device; the devices are toy, a100"
    message = refused(capsys, several, name, "--on", "tpy", "-o", "no.svg")
    assert message == "--on: no report has the device 'tpy'; the devices are toy, a100"
    message = refused(capsys, save("plain.json"), name, "--on", "toy", "-o", "no.svg")
    assert message == "--on: no report has the device 'toy'; weigh it with --on DEVICE"
    message = refused(capsys, several, OF_NONE[0], "--on", "toy", "-o", "no.svg")
    assert message.startswith(f"--on: the chart {OF_NONE[0]} is of no device; leave it out; ")
    assert OF_DEVICES[-1] in message


def test_devices_of_one_name_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    twice = altered("twice.json", lambda data: data["on"].append(data["on"][0]))
    assert "the devices are toy, toy (2)" in refused(capsys, twice, OF_DEVICES[0], "-o", "no.svg")
    drawn(capsys, twice, OF_DEVICES[0], "--on", "toy (2)", "-o", "out.svg")


# Bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing", "-o", "x.svg"), "CHART: there is no chart 'nothing'; the charts are inversion, "),
        (("rooflin", "-o", "x.svg"), "did you mean roofline? the charts are "),
        (("other.json", "-o", "x.svg"), "CHART: there is no chart 'other.json'; "),
        (("inversion", "-o", "x.gif"), "no format has the suffix of 'x.gif'; the suffixes are .svg, .png, .pdf"),
        (("inversion", "-o", "-"), "no format has the suffix of '-'; "),
        (("inversion",), "Missing option '-o' / '--output'"),
        (("-o", "x.svg"), "CHART: there is no chart 'full.json'; the charts are inversion, "),
        (("inversion", "-o", "nowhere/x.svg"), "there is no folder 'nowhere'"),
        (
            ("inversion", "-o", "x.svg", "--scale", "2"),
            "--scale: a picture as svg has no pixels; it is for -o FILE.png",
        ),
        (("inversion", "-o", "x.png", "--scale", "9"), "--scale: must be from 0.25 to 8, not 9.0"),
        (("inversion", "-o", "x.png", "--scale", "nan"), "--scale: must be from 0.25 to 8, not nan"),
        (("inversion", "-o", "x.png", "--theme", "red"), "'--theme': 'red' is not one of 'light', 'dark'"),
        (("inversion", "-o", "x.svg", "--policy", "x"), "--policy: there is no memory policy 'x'"),
        (("memory", "-o", "x.svg", "--policy", "eager"), "full.json: --policy: eager does not apply: "),
    ],
    ids=lambda value: " ".join(value)[:40],
)
def test_wrong_usage(arguments: tuple[str, ...], message: str, full: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in refused(capsys, full, *arguments)


def test_a_chart_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert "SAVED: no saved report stands before the chart; " in refused(capsys, "inversion", "-o", "x.svg")


@pytest.mark.parametrize("spelled", ["full.svg", "./full.svg", "link.svg"])
def test_a_report_is_not_drawn_over(spelled: str, full: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever it is called."""
    Path(full).rename("full.svg")
    Path("link.svg").symlink_to("full.svg")
    before = Path("full.svg").read_bytes()
    assert "would overwrite the saved report" in refused(capsys, "full.svg", "inversion", "-o", spelled)
    assert Path("full.svg").read_bytes() == before


def test_a_drawing_that_fails_leaves_the_file_as_it_was(
    full: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> bytes:
        raise ValueError("no picture")

    monkeypatch.setattr("weighbridge.report.pictures.picture", fail)
    Path("out.svg").write_text("kept")
    assert main(["plot", full, "inversion", "-o", "out.svg"]) == 2
    assert "internal error: ValueError: no picture" in capsys.readouterr().err
    assert Path("out.svg").read_text() == "kept"


def test_a_full_disk(full: str, capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    Path("out.svg").symlink_to("/dev/full")
    assert "out.svg: cannot be written: " in refused(capsys, full, "inversion", "-o", "out.svg")


def test_standard_input(full: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(full).read_bytes())))
    drawn(capsys, "-", "inversion", "-o", "out.svg")
    drawn(capsys, full, "inversion", "-o", "other.svg")
    assert Path("out.svg").read_bytes() == Path("other.svg").read_bytes()


HOSTILE = "<script>alert(1)</script>&\"'\u202e\n\x1b[31m" + "é" * 10_000


def test_hostile_names_are_text(capsys: pytest.CaptureFixture[str]) -> None:
    def rename(data: Any) -> None:
        data["network"] |= {"name": HOSTILE, "source": HOSTILE, "format": "onnx"}
        data["on"][0]["device"] = HOSTILE
        for one in (*data["nodes"], *data["memory"]["tensors"]):
            one["name"] = HOSTILE + str(one.get("scope"))

    hostile = altered("hostile.json", rename)
    for name in ("inversion", "arena", "roofline"):
        drawn(capsys, hostile, name, "-o", "out.svg")
        content = Path("out.svg").read_text(encoding="utf-8")
        assert ET.fromstring(content) is not None
        assert "<script" not in content
        assert "\u202e" not in content
    drawn(capsys, hostile, hostile, name, "-o", "out.png")


@pytest.mark.parametrize("number", [2**64, 10**3800], ids=lambda one: f"{len(str(one))} digits")
def test_numbers_that_no_browser_has(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    def enlarge(data: Any) -> None:
        data["nodes"][2] |= {"macs": number, "parameters": number, "output_bytes": number, "weights": number}
        data["memory"]["profile"]["live"][1] = number
        data["memory"]["peak_bytes"]["live"] = number

    for name in ("inversion", "memory", "peaks"):
        drawn(capsys, altered("large.json", enlarge), name, "-o", "out.svg")
        assert "NaN" not in Path("out.svg").read_text(encoding="utf-8")


# Help and completion


def test_help_and_completion_name_every_chart_and_wait_for_no_library() -> None:
    words = {"COMP_WORDS": "weighbridge plot full.json ", "COMP_CWORD": "3", "_WEIGHBRIDGE_COMPLETE": "zsh_complete"}
    for arguments, environment in ((["plot", "--help"], {}), ([], words)):
        program = (
            "import sys\nfrom weighbridge.cli.main import main\n"
            f"main({arguments!r})\nsys.stderr.write(' '.join(sys.modules))"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **environment, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=True,
        )
        for name, kind in KINDS.items():
            assert name in done.stdout
            assert kind.title in done.stdout
        assert not {"altair", "vl_convert", "jinja2"} & set(done.stderr.split())


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("plot ", {"file,"}),
        ("plot full.json roof", {"file,roof", "plain,roofline"}),
        ("report full.json roof", {"file,roof"}),
    ],
)
def test_completion(
    line: str, offers: set[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = f"weighbridge {line}"
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    monkeypatch.setenv("_WEIGHBRIDGE_COMPLETE", "bash_complete")
    main([])
    assert set(capsys.readouterr().out.split()) == offers
