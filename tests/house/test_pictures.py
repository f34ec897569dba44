"""The pictures of the documentation: one of every chart and of every page that is promised, and none that is stale."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs import generate_pictures
from docs.generate_pictures import CHARTS, SCREENSHOTS, SHOTS, THEMES, charts, shown_charts
from scripts.refresh_docs import PAGES
from tests.browser.reports import REAL
from weighbridge.report.charts.kinds import KINDS

ROOT = Path(__file__).resolve().parents[2]
MEASURED = CHARTS.parent / "measured"
"""Charts of measurements, which the benchmark that made them draws."""
MOST_BYTES = 4_000_000
"""Of all pictures: a clone carries every version of them."""
PNG = b"\x89PNG\r\n\x1a\n"
SVG = "{http://www.w3.org/2000/svg}"


def pictures(page: Path) -> list[tuple[str, str, str]]:
    """Of every picture of a page the dark file, the light one, and the text that stands for it."""
    pattern = r'<source media="\(prefers-color-scheme: dark\)" srcset="(.*?)">\s*<img src="(.*?)" alt="(.*?)">'
    return re.findall(pattern, page.read_text(encoding="utf-8"))


def texts(svg: bytes) -> tuple[str | None, list[str]]:
    """What a chart says of itself, and all text in it; how it is laid out differs between versions of the library."""
    root = ElementTree.fromstring(svg)
    return root.get("aria-label"), sorted("".join(text.itertext()) for text in root.iter(f"{SVG}text"))


def test_the_page_draws_every_chart_there_is() -> None:
    assert list(shown_charts()) == list(KINDS)


def test_a_command_of_the_page_that_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate_pictures, "commands", lambda: ["weighbridge report nothing.json -o page.html"])
    with pytest.raises(ValueError, match=r"-o page\.html: weighbridge: error: nothing\.json"):
        charts()


def test_every_chart_has_a_picture_in_every_theme() -> None:
    assert {path.name for path in CHARTS.iterdir()} == {f"{name}-{theme}.svg" for name in KINDS for theme in THEMES}


def test_the_charts_say_what_the_tool_draws_now() -> None:
    """Runs every command of the page.  Fails?  ``python docs/generate_pictures.py`` draws the pictures anew; look at them."""
    kept = {path.name: texts(path.read_bytes()) for path in CHARTS.iterdir()}
    assert kept == {name: texts(svg) for name, svg in charts().items()}


def test_charts_say_something_and_each_something_else() -> None:
    said = [texts((CHARTS / f"{name}-light.svg").read_bytes()) for name in KINDS]
    assert all(description and len(shown) > 5 for description, shown in said)
    assert len(set(map(str, said))) == len(KINDS)


def test_every_page_that_is_promised_has_a_screenshot_in_every_theme() -> None:
    assert tuple(SHOTS) == REAL
    assert {path.name for path in SCREENSHOTS.iterdir()} == {f"{name}-{theme}.png" for name in REAL for theme in THEMES}
    for path in SCREENSHOTS.iterdir():
        assert path.read_bytes().startswith(PNG), path


def test_the_pictures_are_small() -> None:
    files = [path for folder in (CHARTS, SCREENSHOTS, MEASURED) for path in folder.iterdir()]
    assert sum(path.stat().st_size for path in files) < MOST_BYTES


def test_every_picture_is_shown_and_told_in_words() -> None:
    shown = set()
    for page in PAGES:
        for dark, light, says in pictures(page):
            assert dark == light.replace("-light.", "-dark."), page
            assert len(says.split()) >= 10, f"{page}: {says}"
            shown |= {(page.parent / name).resolve() for name in (dark, light)}
    assert shown == {path.resolve() for folder in (CHARTS, SCREENSHOTS, MEASURED) for path in folder.iterdir()}


def test_the_documentation_shows_a_picture_in_the_theme_of_the_reader() -> None:
    module = importlib.util.spec_from_file_location("conf", ROOT / "docs" / "conf.py")
    assert module
    assert module.loader
    conf = importlib.util.module_from_spec(module)
    module.loader.exec_module(conf)
    page = ROOT / "docs" / "see-it.md"
    source = [page.read_text(encoding="utf-8")]
    conf._in_two_themes(None, "see-it", source)
    assert "<picture>" not in source[0]
    for dark, light, says in pictures(page):
        for theme, path in (("light", light), ("dark", dark)):
            assert f'<a class="picture only-{theme}" href="{path}"><img src="{path}" alt="{says}"></a>' in source[0]
