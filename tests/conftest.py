"""Fixtures that every test area uses."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real models, cases and reference figures that lies beside the repository; skips where it is absent."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("shared: the folder of models and figures beside the repository is not there")
    return folder
