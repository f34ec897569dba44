"""``weighbridge weigh`` with PyTorch models: output, files, errors, and what is left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from weighbridge.cli.main import main

FILE = """\
import torch
from torch import nn
from blocks import Block

print("importing")

class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.block = Block(width)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x, scale=1.0):
        from late import scaled
        print("running")
        return scaled(self.norm(self.block(x)), scale)

class Stops(Net):
    def forward(self, x):
        raise SystemExit(0)

instance = Net(2)

class Holder:
    def __call__(self): return Net(3)

holder = Holder()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "model.py").write_text(FILE)
    (tmp_path / "blocks.py").write_text(
        "from torch import nn\nclass Block(nn.Conv2d):\n    def __init__(self, width):\n        super().__init__(3, width, 3)\n"
    )
    (tmp_path / "late.py").write_text("def scaled(x, scale):\n    return x * scale\n")
    return tmp_path


@pytest.mark.parametrize(
    ("source", "width"),
    [("model.py:Net", 4), ("model.py:Net:width=8", 8), ("model.py:instance", 2), ("./model.py:holder", 3)],
)
def test_a_file_s_class_function_or_module(source: str, width: int, capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.path[:], dict(sys.modules)
    assert main(["weigh", source, "--input", "1x3x8x8", "--json", "-"]) == 0
    captured = capsys.readouterr()
    data = json.loads(captured.out)  # what the file prints does not stand in it
    assert captured.err.startswith("importing\n")
    assert "running" in captured.err
    assert data["facts"]["macs"] == width * 36 * 27
    assert data["facts"]["deployed_parameters"] == width * 28  # weighed as it infers: the batch norm is folded
    assert (data["network"]["source"], data["network"]["name"]) == (source, "Net")
    assert data["network"]["capture"].startswith("traced")
    after = {name: module for name, module in sys.modules.items() if not name.startswith(("torch", "weighbridge"))}
    assert sys.path == before[0]
    assert not {"model", "blocks", "late"} & after.keys()
    assert not list(Path().rglob("*.pyc"))


def test_inputs_by_position_and_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", "model.py:Net", "--input", "1x3x8x8", "--input", "scale=1x1x6x6:float64", "--json", "-"]) == 0
    inputs = json.loads(capsys.readouterr().out)["network"]["inputs"]
    assert [(one["name"], one["shape"], one["dtype"]) for one in inputs] == [
        ("x", [1, 3, 8, 8], "float32"),
        ("scale", [1, 1, 6, 6], "float64"),
    ]


def test_a_model_by_name_on_a_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", "torchvision:squeezenet1_1", "--batch", "2", "--precision", "int8", "--on", "stm32f746"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("torchvision:squeezenet1_1\ntorch · x 2x3x224x224 int8")
    assert "does not fit" in captured.out
    assert "note: traced on the meta device" in captured.out
    assert captured.err == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("model.py:Net",), ("Net: ", "forward takes (x, scale=)", "needs x", "--input x=1x3x224x224")),
        (("model.py:Net", "--input", "1x4x8x8"), ("block", "1x4x8x8 float32")),
        (("model.py:Net", "--input", "1x3x8x8", "--input", "y=1x3"), ("'y'", "forward takes (x, scale=)")),
        (("model.py:Net", "--input", "1x3x8x8", "--batch", "2"), ("batch", "--input 8x3x224x224")),
        (("model.py:Net", "--input", "1x3x8x8:int46"), ("no element type 'int46'",)),
        (("model.py:Stops", "--input", "1x3x8x8"), ("it called sys.exit",)),
        (("model.py:instance:width=3", "--input", "1x3x8x8"), ("instance takes no parameters",)),
        (("model.py:Block", "--input", "1x3x8x8"), ("'width'", "model.py:Block:width=2")),
        (("model.py:torch", "--input", "1x3x8x8"), ("torch is no torch.nn.Module but an object of type module",)),
        (("torchvision:resnet49",), ("torchvision has no model", "torchvision:resnet50")),
        (("torchvision:resnet18", "--input", "1x4x8x8"), ("conv1", "1x4x8x8")),
        (("resnet101",), ("neither a file nor a textbook network", "torchvision:resnet101")),
    ],
    ids=str,
)
def test_bad_input_is_one_line(
    arguments: tuple[str, ...], words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["weigh", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    line = captured.err[captured.err.index("weighbridge: error: ") :]
    assert line.count("\n") == 1
    assert all(word in line for word in words)
    assert not list(Path().rglob("*.pyc"))


@pytest.mark.parametrize(
    ("absent", "source", "words"),
    [
        ("torch", "torchvision:resnet18", ("torch is not installed", 'pip install "weighbridge[torch]"')),
        ("torchvision", "torchvision:resnet18", ("torchvision is not installed", '"weighbridge[torch]" torchvision')),
        ("timm", "timm:resnet18", ("timm is not installed", "timm")),
        ("transformers", "transformers:config.json", ("transformers is not installed",)),
        ("torch", "model.py:Net", ("model.py:1: ", "ModuleNotFoundError", 'pip install "weighbridge[torch]"')),
    ],
)
def test_a_library_that_is_absent(absent: str, source: str, words: tuple[str, ...], folder: Path) -> None:
    program = f"import sys; sys.modules[{absent!r}] = None\nfrom weighbridge.cli.main import main\n"
    program += f"sys.exit(main(['weigh', {source!r}, '--input', '1x3x32x32']))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert all(word in done.stderr for word in words)
