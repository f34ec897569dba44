"""What the tests of the app share."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def lecture(shared: Path) -> Mapping[str, Any]:
    """The figures of the source material, table by table."""
    return tomllib.loads((shared / "facts" / "lecture.toml").read_text(encoding="utf-8"))
