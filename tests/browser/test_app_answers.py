"""What a page says of values that are no faults: answers that are checked, and sliders that end where a network does."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser

from tests.browser.app import Moved, open_simulator, served
from weighbridge.web.simulators import simulators

CHAIN = """
name = "chain"
title = "A chain"
source = "made up"
inputs = [{ name = "image", shape = [1, 8, 16, 16] }]
layers = [
  { name = "conv", op = "conv", out = 4, kernel = 3, padding = 1 },
  { name = "pool", op = "max_pool", kernel = 2, stride = 2 },
  { name = "conv2", op = "conv", out = 8, kernel = 3, padding = 1 },
]
"""


@pytest.fixture(scope="module")
def app() -> Iterator[str]:
    with served() as address:
        yield address


@pytest.fixture
def table(browser: Browser, app: str) -> Iterator[Moved]:
    one = open_simulator(browser, app, simulators()["table"])
    yield one
    one.opened.page.context.close()


def remark(one: Moved, name: str) -> str:
    return one.opened.page.locator(f"#remark-{name}").inner_text()


def test_an_answer_is_checked_as_it_is_typed(table: Moved) -> None:
    table.fill("conv3", "884,736")
    assert remark(table, "conv3").startswith("right: c_o x c_i x k_h x k_w = 384 x 256 x 3 x 3")
    table.fill("conv3", "884735")
    assert remark(table, "conv3").startswith("not yet: ")
    table.fill("conv3", "many")
    assert table.fault("conv3").startswith("must be a whole number from 0 ")
    table.fill("conv3", "")
    assert (remark(table, "conv3"), table.fault("conv3")) == ("", "")
    assert [said for said in table.opened.complaints if "422" not in said] == []


def test_the_blanks_are_those_of_the_network(table: Moved) -> None:
    page = table.opened.page
    assert page.locator("#control-conv1").is_visible()
    assert not page.locator("#control-c1").is_visible()
    table.fill("network", "lenet5")
    assert not page.locator("#control-conv1").is_visible()
    assert page.locator("#control-c1").is_visible()


def test_the_slider_ends_where_the_network_does(browser: Browser, app: str) -> None:
    sent = httpx.post(f"{app}/weigh", files={"file": ("chain.toml", CHAIN.encode())}, headers={"origin": app})
    assert sent.status_code == 303, sent.text
    network = httpx.URL(sent.headers["location"]).params["model"]
    one = open_simulator(browser, app, simulators()["peak"], f"?network={network}")
    page = one.opened.page
    bar = page.locator("[data-control='step'] .slider")
    assert bar.get_attribute("max") == "3"
    one.slide("step", 1)
    assert one.value("step") == "3"
    assert page.locator("#sentences").inner_text().startswith("conv2, step 3 of 3")
    one.fill("network", "lenet5")
    assert bar.get_attribute("max") == "8"
    assert one.opened.complaints == []
    page.context.close()
