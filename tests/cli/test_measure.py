"""``weighbridge measure`` in this process: what it shows, records, compares and refuses.

Networks are tiny, runs few, and no second is asserted.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from docs import generate_json
from tests.cli.test_weigh import one_line
from tests.measure.recorded import refused_network, write_network
from weighbridge import measured
from weighbridge.cli.main import main
from weighbridge.errors import BadSpec
from weighbridge.measure import harness, machine
from weighbridge.measure.energy import Counter, Meter
from weighbridge.measure.harness import Asked, Runs, Taken, Watch
from weighbridge.measuring import _asked
from weighbridge.report.measured_records import read
from weighbridge.running import _Ready

QUICK = ("--seconds", "0.05", "--width", "0.5")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    write_network("tiny.onnx")
    write_network("other.onnx", channels=8)
    return tmp_path


def test_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "tiny.onnx", "--batch", "2", *QUICK]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "tiny, measured\n" in captured.out
    assert "a run in the median" in captured.out
    for condition in (
        "threads                    1\n",
        "precision                  float32\n",
        "x 2x3x16x16 float32 of normal numbers",
    ):
        assert condition in captured.out


def test_the_json_has_every_sample_and_the_csv_a_row_for_each() -> None:
    assert main(["measure", "tiny.onnx", "--batch", "1", *QUICK, "--json", "x.json", "--csv", "x.csv"]) == 0
    (one,) = json.loads(Path("x.json").read_text())["measurements"]
    rows = list(csv.DictReader(Path("x.csv").read_text().splitlines()))
    assert [float(row["seconds"]) for row in rows] == one["samples_s"]
    assert len(rows) == one["summary"]["samples"] > 0
    assert sum(row["outlier"] == "true" for row in rows) == one["summary"]["outliers"]
    assert len({row["round"] for row in rows}) == len(one["rounds"])
    assert one["conditions"]["batch"] == 1
    assert len(one["sha256"]) == 64


def test_files_of_every_format() -> None:
    suffixes = ("json", "csv", "md", "txt", "html")
    outputs = [part for one in suffixes for part in ("-o", f"page.{one}")]
    assert main(["measure", "tiny.onnx", "--batch-sweep", "2,1", *QUICK, *outputs]) == 0
    for one in ("md", "txt", "html"):
        text = Path(f"page.{one}").read_text()
        assert "conditions" in text
        assert "latency and throughput over the batch" in text.lower()


def test_a_file_is_called_as_it_is_and_not_as_its_exporter_calls_every_graph(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("tiny.onnx").rename("detector-2.onnx")
    assert main(["measure", "detector-2.onnx", "--batch", "1", *QUICK, "--json", "x.json"]) == 0
    assert capsys.readouterr().out.startswith("detector-2, measured\n")
    assert json.loads(Path("x.json").read_text())["measurements"][0]["name"] == "detector-2"


def test_several_are_measured_in_turns_and_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "tiny.onnx", "other.onnx", "--batch", "1", *QUICK, "--json", "x.json"]) == 0
    assert "other takes " in capsys.readouterr().out
    found = json.loads(Path("x.json").read_text())
    first, second = found["measurements"]
    assert len(first["rounds"]) == len(second["rounds"])
    (one,) = found["against"]
    assert one["place"] == 1
    assert one["of_medians"] == second["summary"]["median_s"] / first["summary"]["median_s"]
    assert one["differences"] == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("tiny.onnx", "tiny.onnx", "--batch", "1", "--threads", "1,2"), "threads"),
        (("one.onnx", "four.onnx"), "batch"),
    ],
)
def test_another_condition_is_refused_before_anything_is_measured_unless_it_is_meant(
    options: tuple[str, ...], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_network("one.onnx", batch=1)
    write_network("four.onnx", batch=4)
    assert main(["measure", *options, *QUICK, "--record", "r.jsonl"]) == 2
    message = one_line(capsys)
    assert f"conditions differ from those of {options[0]}: " in message
    assert f"--although {named} compares them all the same" in message
    assert not Path("r.jsonl").exists()
    assert main(["measure", *options, *QUICK, "--although", named]) == 0
    assert "not the same in " in capsys.readouterr().out


def test_a_sweep_of_batches_has_both_curves(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["measure", "tiny.onnx", "--batch-sweep", "4,1", *QUICK, "--json", "x.json", "--record", "r.jsonl"]) == 0
    )
    assert "knee" in capsys.readouterr().out
    found = json.loads(Path("x.json").read_text())
    points = found["curve"]["points"]
    assert [one["batch"] for one in points] == [1, 4]
    for point in points:
        assert point["per_s"] == pytest.approx(point["batch"] / point["latency_s"])
        assert point["runs_per_s"] == pytest.approx(1 / point["latency_s"])
    assert [one.conditions.batch for one in read("r.jsonl").measurements] == [1, 4]


def test_frames_missed_follow_from_the_times(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "tiny.onnx", "--batch", "1", *QUICK, "--fps", "1000000", "--json", "x.json"]) == 0
    assert "frames missed at 1,000,000 a second, a frame each 1.000 µs" in capsys.readouterr().out
    found = json.loads(Path("x.json").read_text())
    ((one,), (frames,)) = found["measurements"], found["frames"]
    assert frames["median"] == math.ceil(one["summary"]["median_s"] * 10**6) - 1
    assert frames["longest"] == math.ceil(one["summary"]["most_s"] * 10**6) - 1
    assert frames["late"] == sum(sample > 1e-6 for sample in one["samples_s"])


def test_the_reference_has_every_key() -> None:
    options = ("--fps", "30", "--on", "toy", "--profile", "--json", "x.json")
    assert main(["measure", "tiny.onnx", "--batch-sweep", "1,2", *QUICK, *options]) == 0
    assert main(["measure", "tiny.onnx", "other.onnx", "--batch", "1", *QUICK, "--json", "y.json"]) == 0
    keys: set[str] = set()

    def collect(value: object) -> None:
        if isinstance(value, dict):
            keys.update(value)
            for name, inner in value.items():
                if name != "libraries":
                    collect(inner)
        for inner in value if isinstance(value, list) else ():
            collect(inner)

    for name in ("x.json", "y.json"):
        collect(json.loads(Path(name).read_text()))
    documented = set(re.findall(r"^\| `(\w+)` \|", generate_json.page(), re.MULTILINE)) | {"schema", "tool"}
    assert keys <= documented


def test_streams_run_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    found = measured("tiny.onnx", batch=1, streams=2, seconds=0.05, width=0.5)
    (one,) = found.measurements
    assert one.conditions.streams == 2
    assert one.summary.samples % 2 == 0
    assert one.throughput_per_s == pytest.approx(2 / one.latency_s)


def test_the_floor_stands_beside_the_time_and_one_that_is_broken_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    write_network("larger.onnx", channels=64, convolutions=6)
    options = ("--on", "toy", "--profile", "--json", "x.json", "--markdown", "x.md")
    assert main(["measure", "larger.onnx", "--batch", "1", *QUICK, *options]) == 0
    found = json.loads(Path("x.json").read_text())
    ((one,), (floor,)) = found["measurements"], found["floors"]
    assert floor["utilisation"] == floor["floor_s"] / one["summary"]["median_s"]
    assert {each["operator"] for each in floor["classes"]} >= {"conv"}
    assert sum(each["floor_s"] for each in floor["classes"]) == pytest.approx(floor["layerwise_s"])
    assert "Conv" in {each["operators"] for each in one["profile"]["classes"]}
    # a processor of 1 GOPS takes 47 ms for what no machine that runs this takes as long for
    assert floor["utilisation"] > 1
    assert "is below the floor of toy" in Path("x.md").read_text()


def test_a_runtime_without_a_profiler_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("weighbridge.running.Apart.profile", lambda self, runs: None)
    assert main(["measure", "tiny.onnx", "--batch", "1", *QUICK, "--profile"]) == 0
    assert "onnxruntime has no profiler that can be read here" in capsys.readouterr().out


def test_noise_is_an_exit_code_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--seconds", "0.01", "--width", "0.000001")
    assert main(["measure", "tiny.onnx", "--batch", "1", *options]) == 0
    assert "noisy: tiny: " in capsys.readouterr().out
    assert main(["measure", "tiny.onnx", "--batch", "1", *options, "--fail-if-noisy"]) == 1
    assert "weighbridge: noisy: tiny: " in capsys.readouterr().err


def test_an_energy_that_nobody_may_read_is_told_when_all_else_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reason = "not measurable here: energy_uj is for root alone to read"
    monkeypatch.setattr("weighbridge.running.meter_of_processor", lambda: reason)
    assert main(["measure", "tiny.onnx", "--batch", "1", *QUICK, "--energy", "--json", "x.json"]) == 2
    captured = capsys.readouterr()
    assert captured.err == f"weighbridge: no energy of tiny: {reason}\n"
    assert "energy of a run" in captured.out
    (one,) = json.loads(Path("x.json").read_text())["measurements"]
    assert (one["energy"]["energy_j"], one["energy"]["reason"]) == (None, reason)


def test_an_energy_is_shown_with_its_interval(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = iter(range(10**6))
    counter = Counter("package 0", lambda: float(next(drawn)))
    monkeypatch.setattr("weighbridge.running.meter_of_processor", lambda: Meter("a counter of steps", (counter,)))
    monkeypatch.setattr("weighbridge.measure.energy._SLICE_S", 0.001)
    code = main(["measure", "tiny.onnx", "--batch", "1", *QUICK, "--energy", "--json", "x.json"])
    (one,) = json.loads(Path("x.json").read_text())["measurements"]
    assert one["energy"]["method"] == "a counter of steps"
    # a joule between any two readings: whether a run draws more than idling depends on how long both took
    assert (code == 0) == (one["energy"]["energy_j"] is not None)
    assert "package 0" in capsys.readouterr().out or code == 2


def test_the_energy_of_streams_is_that_of_a_run_of_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A joule between any two readings: each is one of twice as many runs as one stream makes."""
    drawn = iter(range(10**6))
    counter = Counter("package 0", lambda: float(next(drawn)))
    monkeypatch.setattr("weighbridge.running.meter_of_processor", lambda: Meter("a counter of steps", (counter,)))
    monkeypatch.setattr("weighbridge.measure.energy._SLICE_S", 1e-9)
    code = main(["measure", "tiny.onnx", "--batch", "1", *QUICK, "--streams", "2", "--energy", "--json", "x.json"])
    (one,) = json.loads(Path("x.json").read_text())["measurements"]
    assert one["energy"]["runs"] == 2 * 12
    assert (code == 0) == (one["energy"]["energy_j"] is not None)


def test_values_of_an_input_come_from_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("x.npy", np.zeros((1, 3, 16, 16), np.float32))
    assert main(["measure", "tiny.onnx", "--batch", "1", *QUICK, "--values", "x=x.npy"]) == 0
    assert "x 1x3x16x16 float32 of values of a file" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("alexnet",), "no runtime runs a network of the format textbook: it has no weights"),
        (("odd.onnx",), "onnxruntime refuses it: "),
        (("tiny.onnx",), "--batch"),
        (("tiny.onnx", "--batch", "1", "--runtime", "litert"), "litert runs no onnx"),
        (("tiny.onnx", "--batch", "1", "--mode", "Nowhere"), "onnxruntime has no Nowhere here"),
        (("tiny.onnx", "--batch", "1", "--threads", "0"), "must be from 1 to 64, not 0"),
        (("tiny.onnx", "--batch", "1", "--threads", "65"), "must be from 1 to 64, not 65"),
        (("tiny.onnx", "--batch", "1", "--threads", "-1"), "'-1' is no whole number"),
        (("tiny.onnx", "--batch", "1", "--threads", "1,2"), "2 for 1 source"),
        (("tiny.onnx", "--batch", "1", "--pin", "99999"), "there is no processor 99999"),
        (("tiny.onnx", "--batch", "1", "--fps", "0"), "'0' is no frame rate"),
        (("tiny.onnx", "--batch", "1", "--width", "0"), "is no width of an interval"),
        (("tiny.onnx", "--batch", "1", "--seconds", "-1"), "is no time to measure for"),
        (("tiny.onnx", "--batch", "1", "--seconds", "nan"), "is no time to measure for"),
        (("tiny.onnx", "--batch", "1", "--streams", "0"), "--streams"),
        (("tiny.onnx", "--batch", "1", "--batch-sweep", "1,2"), "batches to go through, and a batch as well"),
        (("tiny.onnx", "--batch-sweep", "1,x"), "'x' is no whole number"),
        (("tiny.onnx", "--batch-sweep", "0,1"), "--batch-sweep: these are no different batch sizes"),
        (("tiny.onnx", "other.onnx", "--batch-sweep", "1,2"), "several sources as well"),
        (("fixed.onnx", "--batch-sweep", "1,4"), "batch 1: fixed.onnx: its input x is fixed at 4x3x16x16"),
        (("fixed.onnx", "--batch", "1"), "fixed.onnx: its input x is fixed at 4x3x16x16, and 1x3x16x16 was asked for"),
        (("tiny.onnx", "--batch", "1", "--values", "x"), "'x' names no values of an input"),
        (("tiny.onnx", "--batch", "1", "--values", "z=x.npy"), "there is no input 'z'"),
        (("tiny.onnx", "--batch", "1", "--values", "x=x.npy"), "x.npy has no values"),
        (("tiny.onnx", "--batch", "1", "--although", "weather"), "'weather' is no condition"),
        (("tiny.onnx", "--batch", "1", "--record", "tiny.onnx"), "would overwrite the network"),
        (("tiny.onnx", "--batch", "1", "--record", ""), "--record: records have no place"),
        (("tiny.onnx", "--batch", "1", "--record", "r.txt"), "records go to a file of their own"),
        (("tiny.onnx", "--batch", "1", "--on", "nothing-like-it"), "nothing-like-it"),
        (("tiny.onnx", "--batch", "1", "--precision", "int8"), "--precision: a precision is that of a floor"),
        (("model.py:Net", "--input", "1x4"), "what a Python file makes cannot be run in a process of its own"),
        (("none.onnx",), "none.onnx"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_done_is_one_clear_line(
    options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weighbridge.measuring.os.cpu_count", lambda: 4)
    refused_network("odd.onnx")
    write_network("fixed.onnx", batch=4)
    assert main(["measure", *QUICK, *options]) == 2
    assert said in one_line(capsys)


def test_a_runtime_that_is_not_installed_says_what_installs_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("onnxruntime.py").write_text("raise ImportError('it is not here')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", ""))))
    assert main(["measure", "tiny.onnx", "--batch", "1"]) == 2
    assert "pip install 'weighbridge[measure]'" in one_line(capsys)


def test_history_of_what_was_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main(["measure", "tiny.onnx", "--batch", "1", *QUICK, "--record", "r.jsonl"]) == 0
    capsys.readouterr()
    assert main(["history", "r.jsonl"]) == 0
    assert "tiny: 2 measurements of 1 version" in capsys.readouterr().out
    assert main(["history", "r.jsonl", "--json", "-"]) == 0
    (model,) = json.loads(capsys.readouterr().out)["models"]
    assert [len(series["points"]) for series in model["series"]] == [2]
    suffixes = ("json", "csv", "md", "txt", "html")
    assert main(["history", "r.jsonl", *(part for one in suffixes for part in ("-o", f"page.{one}"))]) == 0
    assert len(list(csv.DictReader(Path("page.csv").read_text().splitlines()))) == 2
    with Path("r.jsonl").open("a") as file:
        file.write('{"schema": 1, "sam')
    assert main(["history", "r.jsonl", "--csv", "x.csv", "--json"]) == 0
    assert "1 record cannot be read and is skipped" in capsys.readouterr().err


@pytest.mark.parametrize("options", [("none.jsonl",), ("r.jsonl", "--csv", "r.jsonl"), ("r.jsonl", "--although", "x")])
def test_history_of_nothing(options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    Path("r.jsonl").write_text("")
    assert main(["history", *options]) == 2
    one_line(capsys)


def test_every_process_is_counted_as_the_measurements_own_and_streams_share_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Samples of streams pass at once, and are added up: as many times the seconds are theirs."""
    watched: list[list[int]] = []
    asked: list[Asked] = []

    def alternate(runs: Sequence[Runs], one: Asked, watch: Watch) -> tuple[Taken, ...]:
        asked.append(one)
        return harness.alternate(runs, one, watch)

    def watching(numbers: Iterable[int]) -> Watch:
        watched.append(list(numbers))
        return machine.watching(watched[-1])

    monkeypatch.setattr("weighbridge.running.alternate", alternate)
    monkeypatch.setattr("weighbridge.running.watching", watching)
    measured("tiny.onnx", "other.onnx", batch=1, streams=2, seconds=0.05, width=0.5)
    (numbers,), (one,) = watched, asked
    assert os.getpid() in numbers
    assert len(set(numbers)) == 1 + 2 * 2
    assert (one.most_s, one.warm_up_s) == (0.1, 0.1)
    assert _asked(0.01, 100).warm_up_s == Asked().warm_up_s == 3


def test_samples_of_streams_are_in_turn() -> None:
    streams = [
        SimpleNamespace(samples=lambda count, runs, base=base: [base + one for one in range(count)])
        for base in (10, 20)
    ]
    ready = _Ready(None, None, tuple(streams), None)  # type: ignore[arg-type]
    assert ready.samples(3, 1) == [10, 20, 11, 21, 12, 22]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system holds no process to processors")
def test_processors_and_their_governor_are_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weighbridge.running.governor", lambda processors: f"of {list(processors)}")
    one = min(os.sched_getaffinity(0))
    (held,) = measured("tiny.onnx", batch=1, pin=[one], seconds=0.05, width=0.5).measurements
    assert (held.conditions.pinned, held.conditions.governor) == ((one,), f"of [{one}]")
    (free,) = measured("tiny.onnx", batch=1, seconds=0.05, width=0.5).measurements
    assert (free.conditions.pinned, free.conditions.governor) == ((), f"of {list(range(os.cpu_count() or 1))}")


def test_a_place_that_takes_no_records_is_told_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("measured")

    monkeypatch.setattr("weighbridge.measuring.run_beside", never)
    with pytest.raises(BadSpec, match="records go to a file of their own"):
        measured("tiny.onnx", batch=1, record="r.txt")
