"""What the documentation shows of PyTorch models is true: sessions marked ``pycon torch``.

The commands marked ``console torch`` are run by tests/house/test_docs.py, where PyTorch is installed.
"""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path

import pytest

from scripts.refresh_docs import HAS_TORCH, PAGES

_SESSION = re.compile(r"^```pycon torch\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
SHOWN = [page for page in PAGES if _SESSION.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.name)
def test_sessions_are_true(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    text = "\n".join(_SESSION.findall(page.read_text(encoding="utf-8")))
    session = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    results = runner.run(session)
    assert results.attempted
    assert not results.failed


def test_the_commands_are_run_here() -> None:
    assert HAS_TORCH
    assert any("```console torch\n" in page.read_text(encoding="utf-8") for page in PAGES)
