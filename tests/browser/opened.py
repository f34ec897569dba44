"""A page in the browser, and what it did while it was looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

__all__ = ["WIDE", "Opened", "open_page"]

WIDE: Final = 1280
_HIGH: Final = 900
_PROBE: Final = Path(__file__).with_name("probe.js")
_SLOWEST_MS: Final = 60_000
"""Before a page counts as stuck: far more than any takes, as a machine may be busy."""


@dataclass
class Opened:
    """``complaints`` are messages of the console that warn or tell of an error, errors that nobody caught, and dialogs;
    ``requests`` the addresses that were asked for.
    """

    page: Page
    address: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def ask(self, expression: str, argument: Any = None) -> Any:
        """What a JavaScript expression, or a function of ``argument``, gives on the page."""
        return self.page.evaluate(expression, argument)

    def resize(self, width: int) -> None:
        """Make the window ``width`` pixels wide, and wait until it is drawn."""
        self.page.set_viewport_size({"width": width, "height": _HIGH})
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for is on the screen."""
        self.ask("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def wait_for_charts(self) -> None:
        """Wait until the page says that all charts are drawn, or until one fails."""
        drawn = self.page.locator("html[data-drawn]")
        while not drawn.count() and not any(one.startswith("error") for one in self.complaints):
            self.settle()

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("warning", "error", "assert"):
            self.complaints.append(f"{message.type}: {message.text}")


def open_page(browser: Browser, page_at: Path | str, **options: Any) -> Opened:
    """Open a file, or what is at an address, in a window of its own; ``options`` are those of a browser context."""
    context: BrowserContext = browser.new_context(viewport={"width": WIDE, "height": _HIGH}, **options)
    context.set_default_timeout(_SLOWEST_MS)
    context.add_init_script(path=_PROBE)
    opened = Opened(context.new_page(), page_at if isinstance(page_at, str) else page_at.as_uri())
    page = opened.page
    page.on("console", opened._heard)
    page.on("pageerror", lambda error: opened.complaints.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (opened.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    context.on("request", lambda request: opened.requests.append(request.url))
    page.goto(opened.address)
    return opened
