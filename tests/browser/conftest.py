"""One browser for all tests of a worker, and the pages that it opens."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.chromium import chromium, launched
from tests.browser.opened import Opened, open_page
from tests.browser.reports import page as html_of

Open = Callable[..., Opened]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium; without it these tests are skipped, and fail where CI is true."""
    program = chromium()
    if program is None:
        reason = "there is no Chromium on the path, in which reports are opened; .ci/run installs it on Debian"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with launched(program) as one:
        yield one


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Writes a page to a file, once."""
    folder = tmp_path_factory.mktemp("pages")

    def write(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(html_of(name), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def opened(browser: Browser, written: Callable[[str], Path]) -> Open:
    """Opens a page once, for tests that only look at it and leave it as it was."""
    kept: dict[str, Opened] = {}

    def look(name: str) -> Opened:
        if name not in kept:
            kept[name] = open_page(browser, written(name))
            kept[name].wait_for_charts()
        return kept[name]

    return look


@pytest.fixture
def fresh(browser: Browser, written: Callable[[str], Path]) -> Iterator[Open]:
    """Opens a page anew, for tests that change it."""
    made: list[Opened] = []

    def make(name: str, **options: object) -> Opened:
        made.append(open_page(browser, written(name), **options))
        return made[-1]

    yield make
    for one in made:
        one.page.context.close()
