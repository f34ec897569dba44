"""A machine becomes a device: its rates from single operators, its efficiencies from networks, and records of others told and left out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx")

from tests.calibration.machine import CALL_S, EFFICIENCY, MACHINE, STEP_S, machine, measured, networks
from tests.measure.recorded import CONDITIONS, write_network
from weighbridge import BadSpec, MeasureError, MissingExtra, calibrated, calibrating
from weighbridge.calibration import solve
from weighbridge.devices.read import read_device
from weighbridge.measure.conditions import Hardware
from weighbridge.report.measured_records import append, read

__all__ = ["machine"]

Asked = Callable[[], list[str]]
pytestmark = pytest.mark.usefixtures("machine")


def test_without_networks_the_rates_stand_alone_and_that_is_said(machine: Asked) -> None:
    found = calibrated(runtime="onnxruntime", threads=1)
    assert machine() == ["machine", "onnxruntime"]
    (timed,) = found.device.timed
    assert timed.call_s is not None
    assert timed.call_s.value == pytest.approx(CALL_S, rel=0.01)
    rates = timed.rates("elementwise")
    assert rates is not None
    assert rates.overhead_s is not None
    assert rates.overhead_s.value == pytest.approx(STEP_S, rel=0.01)
    assert rates.efficiency is None
    assert (timed.networks, timed.least, timed.most) == (0, None, None)
    assert any("0 networks are too few for efficiencies" in note for note in found.notes)
    assert "onnxruntime: a note" in found.notes


def test_networks_say_how_much_of_the_rates_they_reach_and_how_far_that_is_off() -> None:
    found = calibrated(*networks(), threads=1, name="mine")
    assert found.device.name == "mine"
    (timed,) = found.device.timed
    assert timed.networks == 5
    for one in timed.classes:
        assert one.efficiency is not None
        assert one.efficiency.value == pytest.approx(EFFICIENCY, rel=0.1), one.operators
    linear = timed.rates("linear")
    assert linear is not None
    assert linear.efficiency is not None
    assert "no network here has this class" in linear.efficiency.note
    assert timed.least is not None
    assert timed.most is not None
    assert 0.9 < timed.least.value < timed.most.value < 1.1
    assert [one.name for one in found.networks] == [f"net{place}" for place in range(5)]
    for one in found.networks:
        assert one.left_out_s == pytest.approx(one.measured_s, rel=0.1)
        assert one.floor_s is not None
        assert one.floor_s < one.measured_s
    assert len(found.errors) == 4
    assert {one.errors.networks for one in found.errors} == {5}


def test_the_device_file_is_read_back_as_the_device() -> None:
    found = calibrated(*networks(), threads=1)
    Path("mine.toml").write_text(found.to_toml(), encoding="utf-8")
    assert read_device(Path("mine.toml")) == found.device


def test_no_peak_is_below_what_a_single_operator_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = MACHINE._replace(rates=(MACHINE.rates[0]._replace(ops_per_s=1e6),))
    monkeypatch.setattr(calibrating, "machine_rates", lambda *_, **__: slow)
    peak = calibrated(runtime="onnxruntime", threads=1).device.peak("float32")
    assert peak is not None
    assert peak.ops_per_s.value > 1e9
    assert "onnxruntime" in peak.ops_per_s.source


def test_records_of_this_machine_count_and_others_are_told() -> None:
    sources = networks()
    append("times.jsonl", [measured(source) for source in sources])
    gone, changed = write_network("gone.onnx", 4, 1), write_network("changed.onnx", 4, 1)
    append("times.jsonl", [measured(gone), measured(changed)])
    Path(gone).unlink()
    write_network(changed, 5, 1)
    other = Hardware("another processor", "x86_64", 2, 4, 2**33, "Linux 6")
    unlike: list[dict[str, Any]] = [
        {"hardware": other},
        {"threads": 2},
        {"precision": "int8"},
        {"mode": "CUDAExecutionProvider"},
        {"streams": 2},
        {"runtime": "litert"},
    ]
    append("times.jsonl", [measured(sources[0], **one) for one in unlike])
    with Path("times.jsonl").open("a", encoding="utf-8") as file:
        file.write("{broken\n")
    found = calibrated(runtime="onnxruntime", threads=1, records=["times.jsonl"])
    assert len(found.networks) == 5
    assert found.measurements == ()
    whys = " ".join(one.why for one in found.aside)
    for why in (
        "there is no such file",
        "another one by now",
        "another machine: another processor",
        "other threads: 2, not 1",
        "other precision: int8",
        "other mode",
        "other streams",
        "litert is not calibrated here",
        "JSON",
    ):
        assert why in whys.replace("its file is gone", "there is no such file"), (why, whys)
    assert len(found.aside) == 9


@pytest.mark.parametrize(
    ("unlike", "why"),
    [
        ({"hardware": CONDITIONS.hardware._replace(processor="")}, "another machine: one without a name"),
        ({"hardware": CONDITIONS.hardware._replace(processor=None)}, "another machine: one without a name"),
        ({"hardware": CONDITIONS.hardware._replace(processor="a proc")}, "another machine: a proc"),
        ({"hardware": CONDITIONS.hardware._replace(processor="processor")}, ""),
        ({"precision": None}, "its precision is unknown, and the rates are of float32"),
        ({"pinned": (0,), "threads": 2}, "held to fewer processors than it has threads: 1, not 2"),
        ({"pinned": (0, 1), "threads": 2}, ""),
    ],
)
def test_what_is_no_measurement_of_this_machine_is_left_out(unlike: dict[str, Any], why: str) -> None:
    (source,) = networks(1)
    append("times.jsonl", [measured(source, **{"threads": 1, **unlike})])
    found = calibrated(runtime="onnxruntime", threads=unlike.get("threads", 1), records=["times.jsonl"])
    assert len(found.networks) == (0 if why else 1)
    assert why in "".join(one.why for one in found.aside)


def test_records_choose_the_runtime_too(machine: Asked) -> None:
    append("times.jsonl", [measured(source) for source in networks()])
    assert calibrated(threads=1, records=["times.jsonl"]).device.timed[0].networks == 5
    assert machine() == ["machine", "onnxruntime"]


def test_a_network_that_took_other_times_is_told_and_counts_once() -> None:
    sources = networks()
    append("times.jsonl", [*(measured(source) for source in sources), measured(sources[0], 1.5)])
    found = calibrated(threads=1, records=["times.jsonl"])
    assert found.device.timed[0].networks == 5
    assert sum("2 measurements of net0 contradict each other" in note for note in found.notes) == 1


def test_what_was_measured_before_a_failure_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    real = calibrating.run_beside

    def second_fails(whats: Any, *rest: Any, **options: Any) -> Any:
        if str(whats[0].source).startswith("torchvision"):
            raise MeasureError("pytorch refuses it")
        return real(whats, *rest, **options)

    monkeypatch.setattr(calibrating, "run_beside", second_fails)
    with pytest.raises(MeasureError, match="refuses"):
        calibrated(*networks(2), "torchvision:resnet18", threads=1, record="kept.jsonl")
    assert [one.name for one in read("kept.jsonl").measurements] == ["net0", "net1"]


def test_networks_are_run_first_so_that_a_refusal_costs_no_other_measurement(
    machine: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: Any, **__: Any) -> Any:
        raise MeasureError("onnxruntime refuses it")

    monkeypatch.setattr(calibrating, "run_beside", refuses)
    with pytest.raises(MeasureError, match="refuses"):
        calibrated(*networks(2), threads=1)
    assert machine() == []


def test_networks_that_were_measured_are_kept_when_the_machine_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(calibrating, "machine_rates", ended)
    with pytest.raises(KeyboardInterrupt):
        calibrated(*networks(2), threads=1, record="kept.jsonl")
    assert [one.name for one in read("kept.jsonl").measurements] == ["net0", "net1"]


@pytest.mark.parametrize("command", [["calibrate", "nowhere.onnx"], ["validate", "nowhere.jsonl", "--on", "toy"]])
@pytest.mark.parametrize("lacking", ["onnx", "numpy", "scipy", "psutil", "onnxruntime"])
def test_no_command_breaks_where_a_library_is_not_installed(command: list[str], lacking: str) -> None:
    hidden = f"import sys; sys.modules[{lacking!r}] = None; from weighbridge.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", hidden, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("weighbridge: error: ")
    assert "internal error" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "options", "what"),
    [
        ((), {"threads": 0}, "must be from 1"),
        ((), {"threads": 1.5}, "must be from 1"),
        ((), {"seconds": 0}, "no time to measure for"),
        ((), {"operator_seconds": -1}, "no time to measure for"),
        ((), {"name": "My Machine"}, "must be lower-case letters, digits, hyphens and dots"),
        (("net0.onnx",), {"batch": 0}, "a size of 0 for batch"),
        (("net0.onnx", "damaged.onnx"), {}, "damaged.onnx: truncated"),
        ((), {"runtime": "litert"}, "'litert' runs no single operators"),
        (("net0.onnx",), {"runtime": "pytorch"}, "onnxruntime runs this, and is not among the runtimes"),
        (("alexnet",), {}, "no runtime runs a network of the format textbook"),
        (("nowhere.onnx",), {}, "there is no such file"),
        ((), {"records": ["nowhere.jsonl"]}, "there is no such file or folder"),
        ((), {"records": ["empty.jsonl"]}, "there is no measurement in it"),
        ((), {"record": "times.json"}, "records go to a file of their own"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_measured(
    machine: Asked, arguments: tuple[str, ...], options: dict[str, Any], what: str
) -> None:
    whole = Path(networks(1)[0]).read_bytes()
    Path("damaged.onnx").write_bytes(whole[: len(whole) // 2])
    Path("empty.jsonl").touch()
    with pytest.raises(Exception, match=what):
        calibrated(*arguments, **options)
    assert machine() == []


def test_what_is_not_installed_says_what_installs_it(machine: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrating, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"no runtime is installed .*weighbridge\[measure\]"):
        calibrated()
    with pytest.raises(MissingExtra, match=r"pytorch is not installed; .*weighbridge\[torch\]"):
        calibrated(runtime=["pytorch"])
    for lacking in ("onnx", "psutil", "tomli_w"):
        monkeypatch.setattr(calibrating, "find_spec", lambda name, lacking=lacking: None if name == lacking else name)
        with pytest.raises(MissingExtra, match=rf"needs {lacking}; .*weighbridge\[measure\]"):
            calibrated()
    monkeypatch.setattr(calibrating, "check_there", solve.check_there)
    monkeypatch.setitem(__import__("sys").modules, "scipy.optimize", None)
    with pytest.raises(MissingExtra, match=r"weighbridge\[measure\]"):
        calibrated()
    assert machine() == []


def test_a_record_of_no_network_that_can_be_weighed_leaves_the_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    one = measured(networks(1)[0])
    append("times.jsonl", [replace(one, source="nowhere.onnx", sha256=None)])
    found = calibrated(threads=1, records=["times.jsonl"])
    assert found.networks == ()
    assert len(found.aside) == 1
    with pytest.raises(BadSpec):
        calibrated("nowhere.onnx", threads=1)
