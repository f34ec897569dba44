"""No command writes onto what it reads, nor two reports to one place; both are told before the work begins."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from weighbridge import weigh
from weighbridge.cli.main import main
from weighbridge.devices import catalogue

DEVICE = (Path(catalogue.__file__).parent / "toy.toml").read_text(encoding="utf-8")
TABLE = (Path(catalogue.__file__).parent / "energy" / "45nm.toml").read_text(encoding="utf-8")
SAVED = weigh("lenet5").to_json()
LAYER = "layer linear --c-i 4 --c-o 4"
SEPARABLE = "separable --c-i 4 --c-o 4 --k 3 --h-o 8"
READERS = {
    "weigh lenet5 --on ./d.toml": "d.toml",
    "weigh lenet5 --on toy --on d.toml --on mcu": "d.toml",
    "weigh lenet5 --energy ./t.toml": "t.toml",
    "weigh lenet5 --on d.toml --energy t.toml": "t.toml",
    "energy ./t.toml": "t.toml",
    f"{LAYER} --on ./d.toml": "d.toml",
    f"{SEPARABLE} --on toy --on d.toml": "d.toml",
    "weigh net.toml": "net.toml",
    "weigh net.toml:width=2": "net.toml",
    "weigh transformers:config.json": "config.json",
    "weigh transformers:.": "config.json",
    "weigh model.py:Net": "model.py",
    "weigh model.onnx": "model.onnx",
    "weigh ./model.onnx --on toy": "weights.bin",
    "report saved.json": "saved.json",
    "what-if net.toml bits=8": "net.toml",
    "what-if model.onnx bits=8": "weights.bin",
    "what-if lenet5 bits=8 --on ./d.toml": "d.toml",
    "what-if lenet5 bits=8 --energy t.toml": "t.toml",
    "patches net.toml": "net.toml",
    "patches lenet5 --on ./d.toml": "d.toml",
    "order model.onnx": "weights.bin",
    "measure ./model.onnx": "model.onnx",
    "measure model.onnx": "weights.bin",
    "measure model.onnx --on d.toml": "d.toml",
    "measure model.onnx --values x=x.npy": "x.npy",
    "history times.jsonl": "times.jsonl",
    "calibrate model.onnx": "weights.bin",
    "calibrate ./model.onnx --runtime onnxruntime": "model.onnx",
    "calibrate --from times.jsonl": "times.jsonl",
    "validate times.jsonl --on d.toml": "times.jsonl",
    "validate ./times.jsonl --on ./d.toml": "d.toml",
    "check --budgets b.toml": "b.toml",
    "check --budgets ./b.toml": "model.onnx",
    "compare lenet5 net.toml": "net.toml",
    "compare model.onnx lenet5": "weights.bin",
    "compare lenet5 saved.json": "saved.json",
    "compare lenet5 mlp --on ./d.toml": "d.toml",
    "compare published:i3d lenet5 --energy t.toml": "t.toml",
    "compress model.onnx": "model.onnx",
    "compress ./model.onnx --keep 0.5": "weights.bin",
    "compress net.toml": "net.toml",
    "compress lenet5 --plan plan.toml": "plan.toml",
}
"""Commands, and a file that each of them reads."""
BUDGETS = '[models.one]\nsource = "model.onnx"\nbudgets = ["macs <= 1 G"]\n'
FORMATS = ("--json", "--csv", "--markdown")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with every kind of file that a command reads."""
    monkeypatch.chdir(tmp_path)
    texts = {
        "saved.json": SAVED,
        "b.toml": BUDGETS,
        "d.toml": DEVICE,
        "t.toml": TABLE,
        "net.toml": "x",
        "config.json": "{}",
        "model.py": "x = 1",
        "plan.toml": "[[layers]]",
        "times.jsonl": "",
        "x.npy": "x",
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    value = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [4])
    weight = onnx.numpy_helper.from_array(np.zeros(4, np.float32), "w")
    node = onnx.helper.make_node("Add", ["x", "w"], ["y"])
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [x], [value], [weight]))
    onnx.save(model, "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    return tmp_path


SPELLED: dict[str, Callable[[str], str]] = {
    "as it is": lambda name: name,
    "with a dot": lambda name: f"./{name}",
    "in full": os.path.abspath,
    "through a link": lambda name: _made(name, os.symlink),
    "by another name": lambda name: _made(name, os.link),
}


def _made(name: str, make: Callable[[str, str], None]) -> str:
    make(name, "other")
    return "other"


@pytest.mark.parametrize(
    ("command", "spelled"),
    # A second name for a file of weights is one that the model does not have.
    [
        (command, spelled)
        for command, file in READERS.items()
        for spelled in SPELLED
        if (file, spelled) != ("weights.bin", "by another name")
    ],
)
def test_what_a_command_reads_is_not_written_over(
    command: str, spelled: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = READERS[command]
    before = Path(file).read_bytes()
    place = SPELLED[spelled](file)
    for option in (
        FORMATS
        if command.startswith(
            ("weigh", "report", "what-if", "comp", "patches", "order", "measure", "history", "calibrate", "validate")
        )
        else FORMATS[:1]
    ):
        assert main([*command.split(), option, place]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert f"{place}: the report would overwrite " in captured.err
        assert Path(file).read_bytes() == before


def test_every_command_that_writes_files_is_among_them() -> None:
    """A new command with an output has to look at its targets too."""
    from weighbridge.cli.app import app

    writes = {
        name
        for name, command in app.commands.items()
        if any("[-|FILE]" in str(parameter.metavar) for parameter in command.params)
    }
    assert writes == {command.split()[0] for command in READERS} | {"batching"}


@pytest.mark.parametrize(
    "places",
    [
        ("--json", "x", "--csv", "x"),
        ("--json", "x.json", "-o", "./x.json"),
        ("-o", "x.md", "--markdown", "../{folder}/x.md"),
        ("--csv", "kept", "--markdown", "kept"),
        ("--csv", "kept", "--markdown", "link"),
        ("--json", "-", "--csv"),
    ],
)
def test_two_reports_do_not_go_to_one_place(
    places: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("kept").write_text("kept")
    Path("link").symlink_to("kept")
    assert main(["weigh", "lenet5", *(place.format(folder=folder.name) for place in places)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "two reports for one file" in captured.err or "two formats for the standard output" in captured.err
    assert Path("kept").read_text() == "kept"
    assert not Path("x").exists()


def test_other_files_are_written_and_written_again(capsys: pytest.CaptureFixture[str]) -> None:
    """Also beside the network and its weights, and to what is no file at all."""
    for _ in range(2):
        for command in (
            "weigh model.onnx --on d.toml --energy t.toml --json a --csv b --markdown weights.md",
            "weigh lenet5 --json /dev/null --csv /dev/null",
            "energy t.toml --json e.json",
            f"{LAYER} --on d.toml --json l.json",
            f"{SEPARABLE} --on d.toml --json s.json",
            "batching 1:1ms --json b.json",
            "report saved.json --json again.json --csv c -o page.html",
            "plot saved.json inversion -o inversion.svg",
        ):
            assert main(command.split()) == 0, capsys.readouterr().err


@pytest.mark.parametrize("command", ["weigh lenet5", "energy 45nm", LAYER, SEPARABLE, "batching 1:1ms"])
@pytest.mark.parametrize("place", ["nowhere/out.json", "x" * 5000, "nul\0"])
def test_a_place_that_cannot_be_is_told_first(command: str, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--json", place]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("weighbridge: error: ")
    assert "internal error" not in captured.err
    assert captured.out == ""
