"""``weighbridge check`` of models that Python files make: relative to the file of budgets, with their inputs and what changed in them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from weighbridge.cli.main import main

_NET = """
from torch import nn


class Net(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3)
        self.head = nn.Linear(width, 10)

    def forward(self, image):
        return self.head(self.conv(image).mean((2, 3)))
"""
_BUDGETS = """
[tool.weighbridge.models.net]
source = "models/net.py:Net:width=16"
input = "image=1x3x32x32"
budgets = ["parameters == 618", "macs grow <= 5 %"]

[tool.weighbridge.models.named]
source = "torchvision:squeezenet1_1"
batch = 2
budgets = ["parameters == 1235496"]
"""


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of budgets, a model in a folder, and a working folder beside that."""
    for folder in ("models", "work"):
        (tmp_path / folder).mkdir()
    (tmp_path / "models" / "net.py").write_text(_NET, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(_BUDGETS, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def test_modules_are_held_to_budgets_and_the_layer_that_grew_is_named(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set(sys.modules)
    assert main(["check", "--update"]) == 0
    assert "net: models/net.py:Net:width=16" in capsys.readouterr().out
    net = repository / "models" / "net.py"
    net.write_text(_NET.replace("Conv2d(3, width, 3)", "Conv2d(3, width, 5)"), encoding="utf-8")
    assert main(["check"]) == 1
    shown = capsys.readouterr().out
    assert "3 budgets of 2 models: 1 passed, 2 over budget\n" in shown
    assert f"conv has {16 * 3 * (25 - 9)} weights more: 432 -> 1,200\n" in shown
    assert "net" not in set(sys.modules) - before


def test_a_file_that_fails_keeps_no_other_from_being_checked(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "models" / "net.py").write_text("raise RuntimeError('no')", encoding="utf-8")
    assert main(["check"]) == 2
    shown = capsys.readouterr().out
    assert shown.startswith("1 budget of 1 model: it passes; 1 model could not be weighed: net\n")
    assert "RuntimeError: no" in shown
