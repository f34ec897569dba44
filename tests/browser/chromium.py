"""Which browser the tests use, and how it is started."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Browser, sync_playwright

__all__ = ["chromium", "launched"]

_PROGRAM: Final = "chromium"
"""As Debian calls it; Playwright brings none that matches, and downloads none."""
_ARGUMENTS: Final = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


def chromium() -> str | None:
    """The path of Chromium; None where it is not installed."""
    return shutil.which(_PROGRAM)


@contextmanager
def launched(program: str) -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        yield browser
        browser.close()
