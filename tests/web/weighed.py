"""A small model as a form sends it, and what the form of a weighing says is wrong."""

from __future__ import annotations

from typing import Any

from tests.web.client import Page

__all__ = ["SMALL", "faults_of", "toml"]

SMALL = """
name = "small"
title = "Small"
source = "made for tests"
inputs = [{ name = "x", shape = [1, 8] }]
layers = [{ name = "fc", op = "linear", out = 4 }]
"""


def toml(name: str = "small.toml", content: str = SMALL) -> dict[str, Any]:
    return {"file": (name, content.encode())}


def faults_of(page: Page) -> dict[str, str]:
    """What is wrong, by field."""
    return {
        name.removeprefix("fault-"): text.strip()
        for name, text in page.texts.items()
        if text.strip() and name.startswith("fault-")
    }
