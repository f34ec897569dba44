"""``weighbridge layer``, ``batching`` and ``separable``: the figures of the lecture, JSON, exit codes, messages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from decimal import Decimal
from pathlib import Path

import pytest

from weighbridge.calculators import KINDS, SYMBOLS, Conv, layer, preset, separable
from weighbridge.cli.app import app
from weighbridge.cli.main import main


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(scope="session")
def lecture(shared: Path) -> dict[str, dict[str, object]]:
    text = (shared / "facts" / "lecture.toml").read_text(encoding="utf-8")
    return tomllib.loads(text, parse_float=Decimal)


def process(*arguments: str) -> str:
    """What the command prints, as a process."""
    command = [sys.executable, "-m", "weighbridge", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert max(map(len, captured.out.splitlines())) <= 80
    return captured.out


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line on standard error, with nothing on standard output."""
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("weighbridge: error: ")
    return captured.err.removeprefix("weighbridge: error: ").strip()


def test_conv3_of_the_lecture_as_a_process(lecture) -> None:
    page = process("layer", "alexnet.conv3", "--weight-bits", "8")
    weights, macs, values = lecture["alexnet_layers"]["conv3"]
    for number in (weights, macs, values):
        assert f"{number:,} " in page
    assert f"{lecture['alexnet_totals']['uses_per_weight']['conv3']} " in page
    found = json.loads(process("layer", "alexnet.conv3", "--json"))
    assert [found["weights"], found["macs"], found["output_values"]] == [weights, macs, values]
    assert found["parameter_bytes"] == 1000 * lecture["alexnet_size"]["conv3_fp32_kB"]
    assert found == json.loads(json.dumps(layer(preset("alexnet.conv3")).to_dict()))


def test_throughputs_of_the_lecture_as_a_process(lecture) -> None:
    names = ("design_1", "design_2", "server_1", "server_32")
    stated = {name: lecture["throughput"][name] for name in names}
    written = [f"{name}={one['batch']}:{one['latency_ms']}ms" for name, one in stated.items()]
    rows = {line.split()[0]: line.split() for line in process("batching", *written).splitlines()}
    for name, one in stated.items():
        assert rows[name][1] == str(one["batch"])
        assert rows[name][4].replace(",", "") == str(one["throughput_per_s"])


def test_the_separable_ratio_as_a_process() -> None:
    page = process("separable", "--c-i", "32", "--c-o", "64", "--k", "3", "--padding", "1", "--h-o", "112")
    ratios = re.findall(r"^(MACs|weights|formula) +(\S+) +(\S+)", page, re.MULTILINE)
    assert ratios == [(name, "73/576", "0.1267") for name in ("MACs", "weights", "formula")]


@pytest.mark.parametrize(
    "name", ["conv1", "pool1", "conv2", "pool2", "conv3", "conv4", "conv5", "pool5", "fc6", "fc7", "fc8"]
)
def test_every_layer_of_alexnet(name: str, lecture, capsys: pytest.CaptureFixture[str]) -> None:
    page = printed(capsys, "layer", f"alexnet.{name}", "--bits", "8", "--on", "toy", "--on", "a100")
    found = json.loads(printed_json(capsys, "layer", f"alexnet.{name}", "--bits", "8"))
    stated = lecture["alexnet_layers"][name]
    assert [found["weights"], found["macs"], found["output_values"]] == stated
    shown = dict(re.findall(r"^(parameters|output|MACs) +([\d,]+)", page, re.MULTILINE))
    assert [int(number.replace(",", "")) for number in shown.values()] == [stated[0], stated[2], stated[1]]


def printed_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments, "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_symbols_and_rates_as_they_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    conv = (
        "layer",
        "conv",
        "--c-i",
        "8",
        "--c-o",
        "4",
        "--k",
        "1x7",
        "--padding",
        "0x3",
        "--stride",
        "2x1",
        "--h-o",
        "9",
    )
    found = json.loads(printed_json(capsys, *conv, "--w-o", "11", "--ops-per-s", "2 TOPS", "--bandwidth", "25GB/s"))
    spec = Conv(c_i=8, c_o=4, k=(1, 7), padding=(0, 3), stride=(2, 1), h_o=9, w_o=11)
    same = layer(spec).to_dict()
    (time,) = found.pop("on")
    del same["on"]
    assert found == json.loads(json.dumps(same))
    assert time["compute_s"] == pytest.approx(found["ops"] / 2e12, rel=1e-12)
    assert time["memory_s"] == pytest.approx(found["moved_bytes"] / 25e9, rel=1e-12)
    assert time["bound"] == "memory"


@pytest.mark.parametrize(
    ("ops", "rate"), [("1e9", 10**9), ("864MOPS", 864 * 10**6), ("2.5TFLOPS", 25 * 10**11), ("7", 7), ("3k", 3000)]
)
def test_rates_of_operations(ops: str, rate: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed_json(capsys, "layer", "linear", "--c-i", "9", "--c-o", "9", "--ops-per-s", ops))
    assert found["on"][0]["peak_ops_per_s"] == rate


@pytest.mark.parametrize(("bandwidth", "rate"), [("1e9", 10**9), ("25 GB/s", 25 * 10**9), ("1MiB/s", 1 << 20)])
def test_bandwidths(bandwidth: str, rate: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed_json(capsys, "layer", "linear", "--c-i", "9", "--c-o", "9", "--bandwidth", bandwidth))
    assert found["on"][0]["memory_s"] == pytest.approx(found["moved_bytes"] / rate, rel=1e-12)


def test_one_device_in_sentences_several_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    one = printed(capsys, "layer", "alexnet.fc6", "--on", "toy")
    assert "toy: 151.0 ms, bound by memory\n" in one
    assert "ridge point 1.000 operations a byte; the layer has 0.4998\n" in one
    many = printed(capsys, "layer", "alexnet.fc6", "--bits", "8", "--on", "mcu", "--ops-per-s", "1e9")
    assert "~ rests on a figure that is not verified" in many
    assert re.search(r"^stm32f746 +~87\.38 ms", many, re.MULTILINE)
    assert re.search(r"^given +75\.49 ms", many, re.MULTILINE)


def test_an_unknown_rate_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    page = printed(capsys, "layer", "alexnet.fc6", "--bits", "8", "--on", "esp32")
    assert "esp32: ?\n" in page
    assert "note: no latency, as the dense peak rate at int8 is not known" in page


def test_separable_on_devices(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("separable", "--c-i", "32", "--c-o", "64", "--k", "3", "--h-o", "112")
    page = printed(capsys, *arguments, "--on", "toy", "--ops-per-s", "1e9", "--bandwidth", "1e6")
    assert [line.split()[0] for line in page.splitlines() if re.match("(toy|given) ", line)] == ["toy", "given"]
    found = json.loads(printed_json(capsys, *arguments))
    assert found == json.loads(json.dumps(separable(Conv(c_i=32, c_o=64, k=3, h_o=112)).to_dict()))


def test_json_in_a_file_leaves_the_page_on_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = printed(capsys, "batching", "1:50ms", "4:100ms", "--fps", "30", "--json", "out.json")
    assert page.startswith("latency in, throughput out\n")
    assert [one["frames_missed"] for one in json.loads((tmp_path / "out.json").read_text())["designs"]] == [1, 2]


@pytest.mark.parametrize("time", ["0.05s", "50ms", "50000us", "50000µs", "5e7ns", "50 ms"])
def test_units_of_time(time: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed_json(capsys, "batching", f"1:{time}"))
    assert found["designs"][0]["throughput_per_s"] == 20


CONV = "layer conv --c-i 4 --c-o 6 --k 3 --h-i 8"
REFUSED = {
    "layer linear --c-i 5": "--c-o: is missing: a linear layer needs c_i, c_o",
    "layer linear --c-i 5 --c-o 3 --k 3": "--k: a linear layer has no k; there are c_i, c_o, n, ",
    "layer linear --c-i 0 --c-o 3": "--c-i: must be a whole number from 1 to 1,000,000,000",
    "layer linear --c-i -1 --c-o 3": "--c-i: must be a whole number from 1 to 1,000,000,000",
    "layer linear --c-i 1e30 --c-o 3": "--c-i: must be a whole number, not '1e30'",
    "layer linear --c-i nan --c-o 3": "--c-i: must be a whole number, not 'nan'",
    "layer linear --c-i 2.5 --c-o 3": "--c-i: must be a whole number, not '2.5'",
    "layer linear --c-i 5 --c-o 3x3": "--c-o: must be one number, not 2 of them",
    f"layer linear --c-i {'9' * 20} --c-o 3": "--c-i: must be a whole number from 1 to 1,000,000,000",
    f"layer linear --c-i {'9' * 5000} --c-o 3": "--c-i: must be a whole number of at most 30 digits",
    "layer conv --c-i 4 --c-o 6 --k 3": "--h-o: the size of the output is missing",
    f"{CONV} --h-o 6": "--h-i: the sizes of input and output are both given",
    f"{CONV} --g 4": "--g: 6 channels (c_o) cannot be split into 4 groups",
    f"{CONV} --g 3": "--g: 4 channels (c_i) cannot be split into 3 groups",
    f"{CONV} --padding 3": "--padding: a kernel of 3 at dilation 1 takes a padding of at most 2, not 3",
    f"{CONV} --dilation 4": "--k: a window of 9 does not fit an input of 8",
    f"{CONV} --stride 0": "--stride: must be a whole number from 1",
    f"{CONV} --stride 1x2x3": "--stride: must be one number, or height and width, not 3 of them",
    f"{CONV} --bits 0": "--bits: must be a whole number from 1 to 64",
    f"{CONV} --weight-bits 65": "--weight-bits: must be a whole number from 1 to 64",
    f"{CONV} --ops-per-s fast": "--ops-per-s: 'fast' is no such rate; write 1e9",
    f"{CONV} --ops-per-s 0.5": "--ops-per-s: '0.5' is no such rate",
    f"{CONV} --ops-per-s 0": "--ops-per-s: must be a whole number above zero",
    f"{CONV} --ops-per-s 25GB/s": "--ops-per-s: '25GB/s' is no such rate",
    f"{CONV} --bandwidth -5": "--bandwidth: must be a whole number above zero",
    f"{CONV} --bandwidth 1e99": "--bandwidth: must be a whole number above zero",
    f"{CONV} --bandwidth 2TOPS": "--bandwidth: '2TOPS' is no such rate; write 1e9",
    f"{CONV} --bandwidth 25Gb/s": "--bandwidth: '25Gb/s' is no such rate; write 1e9",
    f"{CONV} --on toyy": "there is no device 'toyy'; did you mean toy?",
    f"{CONV} --json nowhere/out.json": "nowhere/out.json: there is no folder 'nowhere'; make it first",
    f"{CONV} --fps 30": "No such option '--fps'",
    "layer depthwise --c-i 4 --c-o 6 --k 3 --h-o 8": "--c-o: a depthwise layer makes a multiple of its 4 channels",
    "layer depthwise --c-i 4 --k 3 --h-o 8 --g 4": "--g: a depthwise layer has no g",
    "layer grouped --c-i 4 --c-o 4 --k 3 --h-o 8": "--g: is missing: a grouped layer needs",
    "layer transposed --c-i 4 --c-o 4 --k 3 --stride 2 --h-o 4": "--h-o: no input makes 4x4: 1x1 makes 3x3",
    "layer matmul --m 3 --n 4 --k 2x2": "--k: must be one number in a matmul",
    "layer matmul --m 3 --n 4 --k 2 --bias": "--bias: a matmul layer has no bias",
    "layer cnov": "there is no kind of layer 'cnov'; did you mean conv?",
    "layer alexnet": "alexnet: alexnet is a network, not a layer; its layers are conv1, relu1",
    "layer alexnet.conv9": "alexnet has no layer 'conv9'; did you mean conv5",
    "layer alexnet.pool1 --n 8": "--n: alexnet.pool1 is a max_pool, which has no n",
    "layer": "Missing argument 'LAYER'",
    "separable --c-i 4 --k 3 --h-o 8": "--c-o: is missing",
    "separable --c-i 4 --c-o 0 --k 3 --h-o 8": "--c-o: must be a whole number from 1",
    "separable --c-i 4 --c-o 4 --k 3 --h-o 8 --g 2": "No such option '--g'",
    "batching": "Missing argument 'DESIGN...'",
    "batching 50ms": "'50ms' is no design; write batch and latency with its unit",
    "batching 1:50": "'1:50' is no design",
    "batching =1:50ms": "'=1:50ms' is no design",
    "batching 0:50ms": "design 0:50ms: a batch is a whole number from 1",
    f"batching {'9' * 20}:50ms": f"design {'9' * 20}:50ms: a batch is a whole number from 1",
    "batching 1.5:50ms": "1.5:50ms: must be a whole number, not '1.5'",
    "batching 1x2:50ms": "1x2:50ms: a batch is one number",
    "batching 1:-5ms": "design 1:-5ms: -1/200 s is no latency; give a number of seconds from 1e-15 to 1e12",
    "batching 1:0ms": "design 1:0ms: 0 s is no latency",
    "batching 1:5Ms": "'1:5Ms' is no design",
    "batching 1:nanms": "'1:nanms' is no design",
    "batching 1:1e99s": f"design 1:1e99s: 1{'0' * 58}… s is no latency; give a number of seconds from 1e-15 to 1e12",
    "batching 1:1e13s": "design 1:1e13s: 10000000000000 s is no latency; give a number of seconds from 1e-15 to 1e12",
    "batching fps=0:5ms": "design fps: a batch is a whole number from 1 to 1,000,000,000",
    "batching 1:5ms --fps 0": "--fps: '0' is no frame rate",
    "batching 1:5ms --fps nan": "--fps: 'nan' is no frame rate; give frames a second from 1e-9 to 1e9, such as 30",
    "batching 1:5ms --fps 1e10": "--fps: '1e10' is no frame rate; give frames a second from 1e-9 to 1e9, such as 30",
    "batching 1:5ms --fps -30": "--fps: '-30' is no frame rate",
}


@pytest.mark.parametrize("command", REFUSED, ids=lambda command: command[:60])
def test_bad_input_is_one_sentence(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, *command.split()).startswith(REFUSED[command])


def test_the_help_names_every_kind_and_symbol(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layer", "--help"]) == 0
    text = capsys.readouterr().out
    assert set(KINDS) <= set(re.findall(r"\w+", text))
    options = {option for parameter in app.commands["layer"].params for option in parameter.opts}
    assert {f"--{name.replace('_', '-')}" for name in SYMBOLS} <= options


@pytest.mark.parametrize(
    ("incomplete", "offered", "others"),
    [("", {"conv", "alexnet."}, {"alexnet.conv1"}), ("alexnet.c", {"alexnet.conv3"}, {"alexnet.fc6", "conv"})],
)
def test_what_the_shell_offers(incomplete: str, offered: set[str], others: set[str]) -> None:
    command = app.commands["layer"]
    (argument,) = (one for one in command.params if one.name == "layer")
    found = {item.value for item in argument.shell_complete(None, incomplete)}
    assert offered <= found
    assert not others & found
