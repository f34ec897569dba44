"""Every source file is short enough to be read, starts with what it is for, and names nothing outside the repository."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    path for folder in ("src", "tests", "scripts", "benchmarks", "docs") for path in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_shorter_than_400_lines_and_says_what_it_is_for(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") < 400
    assert ast.get_docstring(ast.parse(text))


def test_the_modules_were_found() -> None:
    assert len(MODULES) > 50
