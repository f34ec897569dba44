"""Every source file is short enough to be read and starts with what it is for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    path for folder in ("src", "tests", "scripts", "benchmarks", "docs") for path in (ROOT / folder).rglob("*.py")
)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_file_is_shorter_than_400_lines(path: Path) -> None:
    assert path.read_text().count("\n") < 400


@pytest.mark.parametrize("path", [path for path in MODULES if "src" in path.parts], ids=name_of)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_the_modules_were_found() -> None:
    assert len(MODULES) > 50
