"""``weighbridge calibrate`` and ``weighbridge validate``: a device file and pages come out, and what cannot be is one clear line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("onnx")

from docs import generate_json
from tests.calibration.machine import machine, measured, networks
from weighbridge.cli.main import main
from weighbridge.report.measured_records import append, read

__all__ = ["machine"]

pytestmark = pytest.mark.usefixtures("machine")


def run(command: str) -> int:
    return main(command.split())


def test_the_page_has_the_machine_the_rates_the_networks_and_the_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"calibrate {' '.join(networks())} --threads 1 --name mine -o mine.toml") == 0
    said = capsys.readouterr().out
    assert said.startswith("mine, calibrated\na processor with 1 thread; ")
    said = re.sub(r"\n +", " ", said)
    for part in (
        "a network left out is expected within ",
        "one constant for all is off by ",
        "all 5 networks took ",
        "when left out in turn; others may be farther off",
        "peak at float32: ",
        "working set ",
        "rates of single operators",
        "dense convolution",
        "networks: floor, measured, expected",
        "how far expected times are off",
        "note: onnxruntime: a note",
    ):
        assert part in said, part


def test_of_nine_networks_on_the_page_says_what_four_of_five_to_come_take(capsys: pytest.CaptureFixture[str]) -> None:
    for count, words in ((8, "all 8 networks took"), (9, "four of five networks to come are within")):
        assert run(f"calibrate {' '.join(networks(count))} --threads 1") == 0
        assert words in " ".join(capsys.readouterr().out.split())


def test_the_device_file_gives_other_networks_an_expected_time(capsys: pytest.CaptureFixture[str]) -> None:
    sources = networks(6)
    assert run(f"calibrate {' '.join(sources[:5])} --threads 1 -o mine.toml --json calibration.json") == 0
    capsys.readouterr()
    assert run(f"weigh {sources[5]} --on ./mine.toml") == 0
    assert "with onnxruntime 1.20.0" in " ".join(capsys.readouterr().out.split())
    assert run(f"weigh {sources[5]} --on ./mine.toml --json weighed.json") == 0
    (on,) = json.loads(Path("weighed.json").read_text())["on"]
    (expected,) = on["expected"]
    assert expected["time_s"] == pytest.approx(measured(sources[5]).latency_s, rel=0.1)


def test_files_of_every_format_of_both_commands() -> None:
    sources = " ".join(networks())
    formats = ("json", "csv", "md", "txt", "html")
    assert (
        run(f"calibrate {sources} --threads 1 --record t.jsonl -o d.toml -o c.json -o c.csv -o c.md -o c.txt -o c.html")
        == 0
    )
    assert run("validate t.jsonl --on ./d.toml -o v.json -o v.csv -o v.md -o v.txt -o v.html") == 0
    for name in ("c", "v"):
        texts = {one: Path(f"{name}.{one}").read_text(encoding="utf-8") for one in formats}
        assert all("net4" in text for text in texts.values())
        assert len(texts["csv"].splitlines()) == 6
        assert "Expected and measured, 5 networks" in texts["html"]
    assert len(read("t.jsonl").measurements) == 5


def test_the_reference_has_every_key() -> None:
    assert run(f"calibrate {' '.join(networks())} --threads 1 --record t.jsonl -o d.toml -o c.json") == 0
    assert run("validate t.jsonl --on ./d.toml -o v.json") == 0
    page = generate_json.page()
    for file in ("c.json", "v.json"):
        found = json.loads(Path(file).read_text())
        assert found["schema"] == 1
        for key in found:
            assert f"`{key}`" in page, key
        for key in ("networks", "errors"):
            for name in found[key][0]:
                assert f"| `{name}` |" in page, name


def test_records_of_earlier_measurements_need_no_network(capsys: pytest.CaptureFixture[str]) -> None:
    append("times.jsonl", [measured(source) for source in networks()])
    assert run("calibrate --from times.jsonl --threads 1 -o mine.toml --json -") == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found["networks"]] == [f"net{place}" for place in range(5)]
    assert found["runtimes"][0]["networks"] == 5


def test_too_few_networks_are_said_and_the_rates_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"calibrate {' '.join(networks(2))} --threads 1 -o mine.toml") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "2 networks are too few for efficiencies, which take 4: times are expected by the rates of single operators alone"
        in said
    )
    assert "[[timed" in Path("mine.toml").read_text()


def test_a_floor_that_is_broken_stands_first(capsys: pytest.CaptureFixture[str]) -> None:
    sources = networks()
    assert run(f"calibrate {' '.join(sources)} --threads 1 -o d.toml --json c.json") == 0
    append("fast.jsonl", [measured(source, 0.001) for source in sources])
    capsys.readouterr()
    assert run("validate fast.jsonl --on ./d.toml") == 0
    assert "which nothing can beat" in " ".join(capsys.readouterr().out.split()[:60])


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (
            "calibrate net0.onnx --record t.jsonl --from t.jsonl",
            "new measurements would go to the records that are read",
        ),
        ("calibrate net0.onnx -o a.toml -o a.toml", "two reports for one file"),
        ("calibrate net0.onnx -o nowhere/a.toml", "there is no folder"),
        ("calibrate net0.onnx --json a.json --record a.jsonl -o a.jsonl", "no format has the suffix"),
        ("calibrate net0.onnx --runtime nothing", "'nothing' runs no single operators; there is onnxruntime, pytorch"),
        ("calibrate net0.onnx --threads 0", "threads: must be from 1 to 4,096"),
        ("calibrate --from empty.jsonl", "empty.jsonl: there is no measurement in it"),
        ("calibrate model.tflite", "litert runs no single operators to calibrate with"),
        ("validate t.jsonl --on toy", "toy: this device has no rates of a runtime"),
        ("validate t.jsonl", "Missing option '--on'"),
        ("validate nowhere.jsonl --on toy", "this device has no rates"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(command: str, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    append("t.jsonl", [measured(networks(1)[0])])
    Path("empty.jsonl").touch()
    Path("model.tflite").write_bytes(b"\x1c\x00\x00\x00TFL3" + bytes(64))
    assert run(command) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert what in line
