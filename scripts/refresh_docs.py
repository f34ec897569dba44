"""Runs the commands that the documentation shows and writes their true output below them.

A fenced block marked ``console`` holds commands, each after ``$ ``, and what they print.  Each page's commands run in one
empty folder that holds the files of docs/examples.  Blocks marked ``console torch`` are those that need PyTorch and torchvision:
they are run where these are installed, and stay as they are elsewhere.  Those of ``console shared`` weigh files of the folder of
models beside the repository, which lie under their bare names in the folder of the page; without it they stay as they are.
Pages that are made from the code are made anew, and so is the usage of a command in a page.
With ``--check`` nothing is written; the exit code says whether the pages are up to date.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from docs import (  # noqa: E402
    generate_commands,
    generate_json,
    generate_lecture,
    generate_microcontrollers,
    generate_onnx,
    generate_operators,
    generate_textbook,
    generate_tflite,
)

GENERATED: Mapping[Path, Callable[[], str]] = {
    ROOT / "docs" / "commands.md": generate_commands.page,
    ROOT / "docs" / "json.md": generate_json.page,
    ROOT / "docs" / "lecture.md": generate_lecture.page,
    ROOT / "docs" / "microcontrollers.md": generate_microcontrollers.page,
    ROOT / "docs" / "onnx.md": generate_onnx.page,
    ROOT / "docs" / "operators.md": generate_operators.page,
    ROOT / "docs" / "textbook.md": generate_textbook.page,
    ROOT / "docs" / "tflite.md": generate_tflite.page,
}
"""Pages that are made from the code, and what makes them."""
_FOLDERS = (ROOT / "docs", ROOT / "docs" / "commands")
_WRITTEN = (page for folder in _FOLDERS for page in sorted(folder.glob("*.md")))
PAGES = tuple(dict.fromkeys((ROOT / "README.md", *_WRITTEN, *GENERATED)))
_BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_TORCH_BLOCK = re.compile(r"(?<=^```console torch\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_SHARED_BLOCK = re.compile(r"(?<=^```console shared\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_SHARED_FILE = re.compile(r"\b[\w-]+\.tflite\b")
SHARED = ROOT.parent / "shared" / "data" / "tflite"
HAS_TORCH = find_spec("torch") is not None and find_spec("torchvision") is not None
_LOOKS = re.compile(r"[\s\u2500-\u259f]+")


def refreshed(page: Path) -> str:
    """The page's text as it should be now: made from the code, or with the usage and output of its commands as they print it."""
    if page in GENERATED:
        return GENERATED[page]()
    text = generate_commands.filled(page.read_text(encoding="utf-8"))
    kinds = {_BLOCK: True, _TORCH_BLOCK: HAS_TORCH, _SHARED_BLOCK: SHARED.is_dir()}
    blocks = [pattern for pattern, runs in kinds.items() if runs and pattern.search(text)]
    if not blocks:
        return text
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "docs" / "examples", folder, dirs_exist_ok=True)
        if _SHARED_BLOCK in blocks:
            _bring(text, folder)
        for pattern in blocks:
            text = pattern.sub(lambda block: _run_all(block[0], folder), text)
        return text


def _bring(text: str, folder: Path) -> None:
    """Lay the shared models that a page names into the folder where its commands run."""
    wanted = set(_SHARED_FILE.findall(text))
    for model in SHARED.glob("*/*.tflite"):
        if model.name in wanted:
            shutil.copy(model, folder)


def words(text: str) -> list[str]:
    """What a page says, apart from how tables are drawn: releases of a terminal library differ in that."""
    return _LOOKS.split(text)


def _run_all(block: str, folder: Path) -> str:
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"$ {command}\n{_output(command, folder)}" for command in commands)


def _output(command: str, folder: Path) -> str:
    here = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "PATH": f"{here}{os.pathsep}{os.environ.get('PATH', '')}",
        "COLUMNS": "110",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "PYTHONUTF8": "1",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    lines = "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip("\n")
    return f"{lines}\n" if lines else ""


def main(arguments: list[str]) -> int:
    """0 if every page is up to date, or was written so."""
    stale = []
    for page in PAGES:
        old, new = page.read_text(encoding="utf-8") if page.exists() else "", refreshed(page)
        if words(old) != words(new):
            stale.append(page)
        if "--check" not in arguments:
            page.write_text(new, encoding="utf-8")
    for page in stale:
        sys.stdout.write(f"{page.relative_to(ROOT)}: {'out of date' if '--check' in arguments else 'refreshed'}\n")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
