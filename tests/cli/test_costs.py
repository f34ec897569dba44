"""Groups, batches, frame rates, energy and batteries on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from weighbridge.cli.main import main
from weighbridge.devices import catalogue
from weighbridge.devices.catalogue import find, names


def test_a_group_is_a_row_of_verdicts_a_board(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", "mobilenet_v2:width=0.35,resolution=96", "--precision", "int8", "--on", "mcu"]) == 0
    shown = capsys.readouterr().out.splitlines()
    start = next(place for place, line in enumerate(shown) if line.startswith("one network, "))
    boards = [name for name in names() if find(name).kind == "mcu"]
    rows = shown[start + 2 : start + 2 + len(boards)]
    assert [row.split()[0] for row in rows] == boards
    assert all("fits" in row or "does not fit" in row for row in rows)
    assert not any(line.startswith(f"{boards[0]}: ") for line in shown)


def test_require_fit_is_about_every_device_of_a_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", "lenet5", "--precision", "int8", "--on", "mcu", "--require-fit"]) == 0
    assert main(["weigh", "alexnet", "--precision", "int8", "--on", "mcu", "--require-fit"]) == 1
    assert "does not fit esp32, esp32-s3" in capsys.readouterr().err


@pytest.mark.parametrize("order", [("./mine.toml", "stm32f746"), ("stm32f746", "./mine.toml")])
def test_devices_of_one_name_are_judged_each_and_told_apart(
    order: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A copied file keeps the name: the larger board must not speak for the smaller one."""
    monkeypatch.chdir(tmp_path)
    original = (Path(catalogue.__file__).parent / "stm32f746.toml").read_text(encoding="utf-8")
    Path("mine.toml").write_text(re.sub(r"^bytes = { value = [0-9_]+", "bytes = { value = 1e12", original, flags=re.M))
    both = [part for device in order for part in ("--on", device)]
    assert main(["weigh", "alexnet", *both]) == 0
    heads = [line for line in capsys.readouterr().out.splitlines() if re.match(r"stm32f746( \(2\))?: ", line)]
    assert len({head.split(":")[0] for head in heads}) == 2
    assert main(["weigh", "alexnet", *both, "--require-fit", "--csv"]) == 1
    captured = capsys.readouterr()
    columns = captured.out.splitlines()[0].split(",")
    assert len(set(columns)) == len(columns)
    assert {"time_s on stm32f746", "time_s on stm32f746 (2)"} <= set(columns)
    smaller = "stm32f746" if order[0] == "stm32f746" else "stm32f746 (2)"
    assert captured.err.endswith(f"does not fit {smaller}\n")


def test_all_costs_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--batches", "1, 8", "--fps", "29.97", "--energy", "45nm", "--battery", "2000mAh@3.7V"]
    assert main(["weigh", "alexnet", "--on", "toy", *options]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for words in (
        "energy by 45nm: 32-bit operations and accesses",
        "all from DRAM 39.608 mJ 39.011 mJ 596.65 µJ 42.940 mJ 620,402",
        "at 29.97 frames a second, 33.36 ms each: at least 43 missed",
        "throughput by batch",
        "8 11.59 s",
        "energy 9.8107 mJ an inference: arithmetic 3.6220 mJ, memory 6.1887 mJ",
        "charge 0.0007365 mAh an inference; at most 2,715,395 of them a charge",
    ):
        assert words in shown


def test_the_json_has_them_under_the_contracts_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["weigh", "lenet5", "--on", "toy", "--batches", "1,8", "--fps", "30", "--energy", "45nm", "--json"]) == 0
    )
    data = json.loads(capsys.readouterr().out)
    (on,) = data["on"]
    assert [point["batch"] for point in on["throughput"]["by_batch"]] == [1, 8]
    assert set(on["nodes"][0]) >= {"name", "compute_s", "memory_s", "bound"}
    assert set(on["latency"]) >= {"floor_s", "layerwise_s", "compute_s", "memory_s", "bound"}
    assert on["energy"]["total_j"] == pytest.approx(sum(on["energy"]["by"].values()))
    assert data["energy"]["levels"][-1]["level"] == "DRAM"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--on", "toy", "--batches", "1,x"], "--batches: 'x' is no batch size; write them as in --batches 1,8,32"),
        (["--on", "toy", "--batches", ""], "--batches: '' is no batch size"),
        (["--on", "toy", "--batches", "0"], "batches: 0 is no batch size"),
        (["--on", "toy", "--batches", "-1"], "'-1' is no batch size"),
        (["--on", "toy", "--fps", "-30"], "fps: '-30' is no frame rate"),
        (["--on", "toy", "--fps", "fast"], "'fast' is no frame rate"),
        (["--fps", "30"], "frames missed need a device"),
        (["--batches", "8"], "throughput by batch needs a device"),
        (["--energy", "45"], "there is no table of energies '45'; did you mean 45nm?"),
        (["--energy", "./nowhere.toml"], "nowhere.toml: the table of energies cannot be read"),
        (["--energy", "45nm", "--battery", "2000mAh"], "battery: the battery '2000mAh' has no voltage"),
        (["--battery", "2000mAh@3.7V"], "there is no charge without an energy; name a table of energies"),
        (["--on", "mcus"], "there is no device 'mcus'; did you mean mcu?"),
    ],
)
def test_bad_input_is_a_sentence(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", "alexnet", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


NO_NUMBERS = ("", "nan", "-1", "1e400", "1e-400", "1e99999999", "1e-99999999", "9" * 5000, "1_0", "٣٠", "３０", "1/0")
TAKE_NUMBERS = (
    ("weigh lenet5 --on toy --fps", "{}", "--fps: "),
    ("weigh lenet5 --on toy --batches", "{}", "--batches: "),
    ("weigh lenet5 --energy 45nm --battery", "{}mAh@3.7V", "--battery: "),
    ("weigh lenet5 --energy 45nm --battery", "1Ah@{}V", "--battery: "),
    ("batching 1:5ms --fps", "{}", "--fps: "),
    ("batching", "1:{}ms", ""),
    ("batching", "{}:5ms", ""),
    ("layer linear --c-o 4 --c-i", "{}", "--c-i: "),
    ("layer linear --c-i 4 --c-o 4 --ops-per-s", "{}", "--ops-per-s: "),
    ("layer linear --c-i 4 --c-o 4 --bandwidth", "{}B/s", "--bandwidth: "),
    ("separable --c-i 4 --c-o 4 --k 3 --h-o", "{}", "--h-o: "),
)


@pytest.mark.parametrize("text", NO_NUMBERS, ids=lambda text: f"{text[:12]}")
@pytest.mark.parametrize(("command", "form", "where"), TAKE_NUMBERS, ids=lambda text: text[-12:])
def test_what_is_no_number_is_refused_at_once_at_its_option(
    command: str, form: str, where: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written = form.format(text)
    assert main([*command.split(), *(["--"] if not where else []), written]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith(f"weighbridge: error: {where}")
    assert where or written[:40] in captured.err or " is no latency" in captured.err


def test_a_batch_that_the_shapes_forbid(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = shared / "data" / "onnx" / "onnx_light" / "light_vgg19.onnx"
    assert main(["weigh", str(path), "--on", "toy", "--batches", "1,2"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("weighbridge: error: batch 2: light_vgg19.onnx: ")


def test_a_device_without_the_precision_has_no_time_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", "alexnet", "--precision", "fp16", "--on", "stm32f746", "--fps", "30"]) == 2
    written = capsys.readouterr()
    shown = " ".join(written.out.split())
    assert written.err.splitlines() == [
        "weighbridge: stm32f746 has no rate at float16: there is no time there; its rates are at int8"
    ]
    assert "latency floor unknown: the dense peak rate at float16 is not known (stated are int8)" in shown
    assert "frames missed are unknown, as the floor is" in shown


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["weigh", "alexnet", "--precision", "fp16", "--on", "mcu"], 0),
        (["weigh", "alexnet", "--on", "stm32f746"], 0),
        (["weigh", "alexnet", "--precision", "int8", "--on", "esp32"], 0),
        (["weigh", "alexnet", "--precision", "fp16", "--on", "stm32f746", "--require-fit"], 1),
        (["weigh", "lenet5", "--precision", "fp16", "--on", "toy", "--on", "stm32f746"], 2),
        (["layer", "alexnet.fc6", "--bits", "16", "--on", "stm32f746"], 2),
        (["layer", "alexnet.fc6", "--on", "stm32f746"], 0),
        (["layer", "alexnet.pool1", "--bits", "16", "--on", "stm32f746"], 0),
        (["layer", "alexnet.fc6", "--bits", "8", "--on", "stm32f746"], 0),
    ],
)
def test_only_a_precision_that_was_asked_of_a_device_by_name_is_missed(arguments: list[str], code: int) -> None:
    """A group's devices, and a device without any rate, say so in their rows."""
    assert main(arguments) == code


def test_the_energy_command_says_where_it_cannot_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["energy", "45nm", "--json", str(tmp_path / "nowhere" / "table.json")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "table.json" in line


@pytest.mark.parametrize("dimensions", [1, 8, 19, 20, 21, 22, 40])
def test_a_network_beyond_all_sense_is_shown(
    dimensions: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In every format, on a device on which everything takes longest and costs most."""
    monkeypatch.chdir(tmp_path)
    shape = [2**48] * dimensions + [64]
    network = f'name = "huge"\nsource = "none"\ninputs = [{{ name = "x", shape = {shape} }}]\n'
    network += "".join(f'[[layers]]\nname = "{name}"\nop = "linear"\nout = 64\nbias = false\n' for name in "ab")
    Path("huge.toml").write_text(network)
    figure, most = '{ value = 1, source = "x" }', '{ value = 1e24, source = "x" }'
    device = f"""
name = "slow"
title = "slow"
class = "x"
core = "x"
peaks = [{{ unit = "x", precision = "float32", ops_per_s = {figure} }}]
memories = [{{ name = "m", holds = ["weights", "activations"], bytes = {most}, bandwidth_bytes_per_s = {figure} }}]
[energy]
process = "x"
accesses = [{{ level = "m", energy_pj_per_32_bit = {most} }}]
operations = [
  {{ operation = "add", precision = "float32", energy_pj = {most} }},
  {{ operation = "multiply", precision = "float32", energy_pj = {most} }},
]
"""
    Path("slow.toml").write_text(device)
    asked = ["--on", "slow.toml", "--on", "toy", "--fps", "1e9", "--energy", "45nm", "--battery", "1Ah@1mV"]
    for output in ([], ["--json"], ["--csv"], ["--markdown"]):
        assert main(["weigh", "huge.toml", *asked, *output]) == 0
        captured = capsys.readouterr()
        assert not re.search(r"\b(inf|nan)\b", captured.out, re.IGNORECASE)
    assert main(["weigh", "huge.toml", *asked, "--json"]) == 0
    (slow, _) = json.loads(capsys.readouterr().out)["on"]
    for unknown, reason in (
        (slow["latency"]["floor_s"], "no latency, as the time"),
        (slow["energy"]["total_j"], "an energy"),
    ):
        assert (unknown is None) == any(reason in note and "beyond what a number" in note for note in slow["notes"])
