"""How the documentation is built: Markdown in, HTML out, nothing fetched."""

import re
from pathlib import Path

from weighbridge import __version__

ROOT = Path(__file__).resolve().parents[1]

project = "Weighbridge"
author = "the Weighbridge contributors"
copyright = author
release = version = __version__

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "examples"]

html_theme = "furo"
html_title = f"Weighbridge {release}"
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["wide.css"]

_PICTURE = re.compile(
    r'<picture>\s*<source media="[^"]*" srcset="([^"]*)">\s*<img src="([^"]*)" (alt="[^"]*")>\s*</picture>'
)
_RELEASES = "<!-- the news of each release follow -->"


def waiting_news():
    """The fragments in changelog.d as a section; nothing where none waits."""
    parts = []
    for kind in ("added", "changed", "fixed"):
        news = [path.read_text(encoding="utf-8").strip() for path in sorted(ROOT.glob(f"changelog.d/*.{kind}.md"))]
        if news:
            parts.append(f"### {kind.capitalize()}\n\n" + "\n".join(f"- {one}" for one in news))
    return "\n\n".join(["## Not released yet", *parts]) if parts else ""


def _with_waiting_news(app, name, source):
    """The page of changes is CHANGELOG.md with the waiting news before the releases."""
    if name == "changes":
        text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        source[0] = text.replace(_RELEASES, waiting_news())


def _in_two_themes(app, name, source):
    """A picture follows the reader's system wherever Markdown is shown, and here the theme that the reader chooses."""
    both = (("light", r"\2"), ("dark", r"\1"))
    shown = "".join(f'<a class="picture only-{theme}" href="{path}"><img src="{path}" \\3></a>' for theme, path in both)
    source[0] = _PICTURE.sub(shown, source[0])


def setup(app):
    app.connect("source-read", _with_waiting_news)
    app.connect("source-read", _in_two_themes)
    app.connect("env-get-outdated", lambda *_: ["changes"])  # fragments come and go without a change to the page
