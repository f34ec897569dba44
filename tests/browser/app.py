"""The app as a server of the tests' own, and its pages as they stand in the browser."""

from __future__ import annotations

import atexit
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import uvicorn
from playwright.sync_api import Browser
from starlette.types import ASGIApp

from tests.browser.opened import Opened, open_page
from weighbridge.web.server import application
from weighbridge.web.shelf import opened
from weighbridge.web.simulator import Answer, Readout, Simulator, answered
from weighbridge.web.work import Work

__all__ = ["Moved", "by_key", "open_simulator", "served"]

SHOWN: Final = """() => [...document.querySelectorAll("#readouts .readout")].map(one =>
  [one.closest(".group").querySelector("h2").textContent, one.dataset.readout, one.querySelector("dd b").textContent])"""
MARKED: Final = """() => [...document.querySelectorAll("#readouts .readout.moved")].map(one =>
  [one.closest(".group").querySelector("h2").textContent, one.dataset.readout])"""
TABLES: Final = """() => [...document.querySelectorAll("#tables table")].map(one => [...one.tBodies[0].rows].map(row =>
  [...row.cells].map(cell => cell.textContent)))"""
UNDRAWN: Final = """() => [...document.querySelectorAll("[data-plot]")].filter(one => !one.hidden &&
  !one.querySelector("svg g[class*='role-mark'] :is(path, line, rect, text)")).map(one => one.dataset.plot)"""
_WORK: Final = Work()
"""One for all: it makes the library of charts once."""
atexit.register(_WORK.close)


@contextmanager
def served(folder: Path | None = None) -> Iterator[str]:
    """The address of the app while it answers in a thread of this process; the port is one that was free."""
    with opened(folder) as shelf:
        yield from _served(application(shelf, _WORK))


def _served(app: ASGIApp) -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, server_header=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()


@dataclass
class Moved:
    """A simulator's page, its controls moved as a reader does, beside what Python says of the address that it then has."""

    simulator: Simulator
    opened: Opened

    def fill(self, name: str, text: str) -> None:
        """Type into the box of a control, or choose, and wait for what the app says to that."""
        box = self.opened.page.locator(f"#control-{name}")
        is_list = box.evaluate("one => one.tagName") == "SELECT"
        with self.opened.page.expect_response(lambda response: ".json" in response.url):
            box.select_option(text) if is_list else box.fill(text)
        self.settle()

    def slide(self, name: str, part: float) -> None:
        """Drag the slider of a control to this part of its way, and wait for the answer."""
        bar = self.opened.page.locator(f"[data-control='{name}'] .slider")
        with self.opened.page.expect_response(lambda response: ".json" in response.url):
            bar.evaluate(
                """(bar, part) => {
                  bar.value = Number(bar.min) + part * (bar.max - bar.min);
                  bar.dispatchEvent(new Event("input", { bubbles: true }));
                }""",
                part,
            )
        self.settle()

    def settle(self) -> None:
        """Wait until the page shows what the app said to the last that was asked: an answer, or what is wrong."""
        self.opened.page.wait_for_function(
            "() => document.documentElement.dataset.shown === document.documentElement.dataset.asked"
        )
        self.opened.settle()

    def value(self, name: str) -> str:
        """What the box of a control says."""
        return self.opened.page.locator(f"#control-{name}").input_value()

    def fault(self, name: str) -> str:
        """What stands beside a control, "" where nothing is wrong with it."""
        return self.opened.page.locator(f"#fault-{name}").inner_text()

    @property
    def shown(self) -> list[tuple[str, str, str]]:
        """Group, name and text of each readout that the page shows."""
        return [tuple(one) for one in self.opened.ask(SHOWN)]

    @property
    def marked(self) -> set[tuple[str, str]]:
        """Group and name of the readouts that are marked as moved."""
        return {tuple(one) for one in self.opened.ask(MARKED)}

    @property
    def tables(self) -> list[list[list[str]]]:
        """The cells of each table, row by row."""
        return self.opened.ask(TABLES)

    @property
    def undrawn(self) -> list[str]:
        """The charts that are there and have nothing drawn in them."""
        return self.opened.ask(UNDRAWN)

    def said(self) -> tuple[Mapping[str, str], Answer | None]:
        """What Python says of the address that the page has: its faults by control, and the answer."""
        query = parse_qsl(urlsplit(self.opened.page.url).query, keep_blank_values=True)
        found, answer = answered(self.simulator, query)
        return found.faults, answer


def open_simulator(browser: Browser, address: str, simulator: Simulator, query: str = "", **options: object) -> Moved:
    """The page of a simulator in a window of its own, its charts drawn."""
    opened = open_page(browser, f"{address}/{simulator.name}{query}", **options)
    opened.wait_for_charts()
    return Moved(simulator, opened)


def by_key(readouts: tuple[Readout, ...]) -> dict[tuple[str, str], Readout]:
    """Readouts by what they are told apart by."""
    return {(one.group, one.name): one for one in readouts}
