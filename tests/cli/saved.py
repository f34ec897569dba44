"""Saved reports for the tests of what shows them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weighbridge import weigh

__all__ = ["altered", "save"]


def save(path: str, source: str = "lenet5", **options: Any) -> str:
    """Save the report of a network in the folder of the test; returns the path."""
    Path(path).write_text(weigh(source, **options).to_json(), encoding="utf-8")
    return path


def altered(path: str, change: Callable[[Any], object]) -> str:
    """Save a report that ``change`` has been at; returns the path."""
    data = json.loads(weigh("lenet5", on="toy").to_json())
    change(data)
    Path(path).write_text(json.dumps(data), encoding="utf-8")
    return path
