"""The browser's way back and forward through states that were kept and through pages: each time the page shows what its address says.

A link is clicked as a reader does, which waits for the page that it leads to; a script's click does not, and whatever goes back at once
then goes back from the page before.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Browser

from tests.browser.app import Moved, open_simulator, served
from tests.browser.test_app import agrees
from weighbridge.web.controls import Number, stated, written
from weighbridge.web.simulators import simulators

PAGES = ("peak", "layer", "latency", "energies")
"""With a preset that moves a number, several numbers, choices, and a switch."""


@pytest.fixture(scope="module")
def app() -> Iterator[str]:
    with served() as address:
        yield address


@pytest.fixture
def one(browser: Browser, app: str, request: pytest.FixtureRequest) -> Iterator[Moved]:
    made = open_simulator(browser, app, simulators()[request.param])
    yield made
    made.opened.page.context.close()


def stands(one: Moved) -> None:
    """Every control stands where the address says, and so does the answer."""
    one.opened.wait_for_charts()
    one.settle()
    query = parse_qsl(urlsplit(one.opened.page.url).query, keep_blank_values=True)
    state = stated(one.simulator.controls, query).state
    for control in one.simulator.controls:
        assert one.value(control.name) == written(state[control.name]), control.name
        if isinstance(control, Number) and not control.is_log:
            bar = one.opened.page.locator(f"[data-control='{control.name}'] .slider")
            reach = control.reach or control.maximum
            at = min(max(float(state[control.name]), float(control.begin)), float(reach))
            assert float(bar.input_value()) == pytest.approx(at, abs=float(control.step)), control.name
    agrees(one)


def preset(one: Moved, place: int) -> str:
    """Follow a preset, and the address that it leads to."""
    page = one.opened.page
    page.locator(".presets summary").click()
    with page.expect_navigation():
        page.locator(".presets a").nth(place).click()
    return page.url


@pytest.mark.parametrize("one", PAGES, indirect=True)
def test_from_page_to_page_and_back(one: Moved) -> None:
    page = one.opened.page
    seen = [page.url, preset(one, 1)]
    stands(one)
    seen.append(preset(one, 2))
    stands(one)
    assert len(set(seen)) == 3
    for step, address in (
        (page.go_back, seen[1]),
        (page.go_back, seen[0]),
        (page.go_forward, seen[1]),
        (page.reload, seen[1]),
    ):
        step()
        assert page.url == address
        stands(one)
    assert one.opened.complaints == []


@pytest.mark.parametrize("one", PAGES, indirect=True)
def test_states_that_were_kept_are_there_after_another_page(one: Moved) -> None:
    """Two states of one page, the first kept by Enter, then another page: back leads through both."""
    page = one.opened.page
    control = one.simulator.controls[0] if one.simulator.name == "energies" else _numbers(one)[0]
    kept, last = ("add-float32", "32-bits-from-sram") if not isinstance(control, Number) else ("2", "3")
    one.fill(control.name, kept)
    first = page.url
    page.evaluate("() => document.getElementById('controls').requestSubmit()")
    one.fill(control.name, last)
    second = page.url
    assert first != second
    preset(one, 2)
    stands(one)
    page.go_back()
    assert page.url == second
    stands(one)
    with page.expect_response(lambda response: ".json" in response.url):
        page.go_back()
    assert page.url == first
    stands(one)
    with page.expect_response(lambda response: ".json" in response.url):
        page.go_forward()
    stands(one)
    page.reload()
    assert page.url == second
    stands(one)
    page.go_forward()
    stands(one)
    assert one.opened.complaints == []


@pytest.mark.parametrize("one", ["layer"], indirect=True)
def test_back_leads_to_where_a_control_stood_before_it_was_moved(one: Moved) -> None:
    """However often it was moved in between; another control is a step of its own."""
    page, start = one.opened.page, one.opened.page.url
    for part in (0.3, 0.5, 0.7):
        one.slide("h_o", part)
    moved = page.url
    one.fill("bias", "1")
    for address in (moved, start):
        with page.expect_response(lambda response: ".json" in response.url):
            page.go_back()
        assert page.url == address
        stands(one)


def _numbers(one: Moved) -> list[Number]:
    return [control for control in one.simulator.controls if isinstance(control, Number)]


@pytest.mark.parametrize("one", ["peak"], indirect=True)
def test_from_a_simulator_to_the_list_and_back(one: Moved) -> None:
    page = one.opened.page
    one.fill("step", "2")
    address = page.url
    with page.expect_navigation():
        page.get_by_role("link", name="Weighbridge").click()
    page.go_back()
    assert page.url == address
    stands(one)
