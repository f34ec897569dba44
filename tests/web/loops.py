"""Runs coroutines apart from the thread of the tests, in which a browser of others may have an event loop that runs."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["run_apart"]

T = TypeVar("T")


def run_apart(wanted: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns or raises, in an event loop of its own."""
    with ThreadPoolExecutor(1, "loop") as pool:
        return pool.submit(asyncio.run, wanted).result()
