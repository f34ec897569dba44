"""Draws the pictures of docs/see-it.md: charts by the very commands that the page shows, and screenshots of pages in Chromium.

``python docs/generate_pictures.py`` writes them to docs/_static; screenshots are left as they are where there is no Chromium.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from weighbridge.cli.main import main  # noqa: E402
from weighbridge.report.charts.kinds import KINDS  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["CHARTS", "SCREENSHOTS", "SHOTS", "THEMES", "charts", "commands", "screenshots", "shown_charts"]

PAGE = ROOT / "docs" / "see-it.md"
CHARTS = ROOT / "docs" / "_static" / "charts"
SCREENSHOTS = ROOT / "docs" / "_static" / "pages"
THEMES = ("light", "dark")

_WIDE = 1000
_BLOCK = re.compile(r"^```shell\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Shot(NamedTuple):
    """What of a page is shown: ``high`` pixels from the element ``top`` on, after a click on the row called ``picked``."""

    high: int
    top: str | None = None
    picked: str | None = None


SHOTS: Mapping[str, Shot] = {
    "mobilenet": Shot(1400),
    "transformer": Shot(1090, top="#layers", picked="45"),
    "uncounted": Shot(1000),
    "comparison": Shot(1700),
}
"""The screenshots, by the names that tests/browser/reports.py has for the pages."""


def commands() -> list[str]:
    """Every command of ours that the page shows, in its order."""
    blocks = _BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    return [line for block in blocks for line in block.splitlines() if line.startswith("weighbridge ")]


def shown_charts() -> dict[str, str]:
    """The command that draws each chart into a file of the chart's name, by that name."""
    found = (re.match(r"weighbridge plot (?:\S+\.json )+(\S+) -o \1\.svg$", command) for command in commands())
    return {one[1]: one[0] for one in found if one and one[1] in KINDS}


def charts() -> Mapping[str, bytes]:
    """Every chart that the page shows, in every theme, by the name of its file: what the commands of the page write.

    Raises ``ValueError`` where a command of the page fails.
    """
    pictures, shown = {}, {command: name for name, command in shown_charts().items()}
    with TemporaryDirectory() as folder, chdir(folder):
        for command in commands():
            if command not in shown:
                _run(command)
                continue
            name = shown[command]
            for theme in THEMES:
                _run(f"{command} --theme {theme}")
                pictures[f"{name}-{theme}.svg"] = Path(f"{name}.svg").read_bytes()
    return pictures


def _run(command: str) -> None:
    said = StringIO()
    with redirect_stdout(StringIO()), redirect_stderr(said):
        code = main(shlex.split(command)[1:])
    if code:
        raise ValueError(f"{command}: {said.getvalue()}")


def screenshots(browser: Browser) -> Iterator[tuple[str, bytes]]:
    """The top of each page, or what its ``Shot`` says, in every theme, with the name of the file."""
    from tests.browser.opened import open_page
    from tests.browser.reports import page

    with TemporaryDirectory() as folder:
        for name, shot in SHOTS.items():
            path = Path(folder, f"{name}.html")
            path.write_text(page(name), encoding="utf-8")
            for theme in THEMES:
                opened = open_page(browser, path, color_scheme=theme)
                opened.wait_for_charts()
                yield f"{name}-{theme}.png", _taken(opened, shot)
                opened.page.context.close()


def _taken(opened: Any, shot: Shot) -> bytes:
    """A picture of the window, made as high as is shown: what floats at its bottom then covers nothing that matters."""
    page = opened.page
    page.set_viewport_size({"width": _WIDE, "height": shot.high})
    if shot.picked:
        page.get_by_role("button", name=shot.picked, exact=True).first.click()
    if shot.top:
        page.evaluate("(top) => document.querySelector(top).scrollIntoView()", shot.top)
    opened.settle()
    picture: bytes = page.screenshot()
    return picture


def _write() -> None:
    from tests.browser.chromium import chromium, launched

    for folder in (CHARTS, SCREENSHOTS):
        folder.mkdir(parents=True, exist_ok=True)
    for name, content in charts().items():
        (CHARTS / name).write_bytes(content)
    program = chromium()
    if program is None:
        sys.stderr.write("there is no Chromium on the path: the screenshots stay as they are\n")
        return
    with launched(program) as browser:
        for name, content in screenshots(browser):
            (SCREENSHOTS / name).write_bytes(content)


if __name__ == "__main__":
    _write()
