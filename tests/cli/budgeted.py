"""A scratch repository with budgets, for the tests of ``weighbridge check``."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from weighbridge.cli.main import main

_NETWORK = """\
name = "net"
source = "an example"
inputs = [{ name = "image", shape = [1, 3, 16, 16] }]
layers = [
  { name = "stem", op = "conv", out = 8, kernel = 3, padding = 1 },
  { name = "relu", op = "relu" },
  { name = "middle", op = "conv", out = 16, kernel = 3, padding = 1 },
  { name = "end", op = "conv", out = 8, kernel = 1 },
  { name = "pool", op = "global_average_pool" },
  { name = "flatten", op = "flatten" },
  { name = "classes", op = "linear", out = 10 },
]
"""
_BUDGETS = """\
[defaults]
on = ["toy"]

[models.net]
source = "net.toml"
budgets = ["macs grow <= 2 % against the baseline", "peak_bytes <= 64 KiB under live", "fits on toy"]

[models.lenet]
source = "lenet5"
budgets = ["parameters == 61706"]
"""


def git(*arguments: str) -> str:
    settings = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *settings, *arguments], check=True, capture_output=True, text=True).stdout


def committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A repository with a network, budgets, and a baseline, all committed; it is the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("net.toml").write_text(_NETWORK, encoding="utf-8")
    Path("weighbridge.toml").write_text(_BUDGETS, encoding="utf-8")
    assert main(["check", "--update"]) == 0
    capsys.readouterr()
    if shutil.which("git"):
        git("init", "--quiet")
        git("add", ".")
        git("commit", "--quiet", "-m", "all")
    return tmp_path


def edit(old: str, new: str, file: str = "net.toml") -> None:
    path = Path(file)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def shown_on(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out.replace("\n  ", " ")
