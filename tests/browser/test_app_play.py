"""The button that lets a network run: step by step to the last one that it has, then from the first step again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.app import Moved, open_simulator, served
from weighbridge.web.simulators import simulators

PEAK = simulators()["peak"]


@pytest.fixture
def lenet(browser: Browser) -> Iterator[Moved]:
    """LeNet-5, of eight steps, at its sixth."""
    with served() as address:
        one = open_simulator(browser, address, PEAK, "?network=lenet5&step=6")
        yield one
        one.opened.page.context.close()


def test_it_runs_to_the_end_and_begins_anew(lenet: Moved) -> None:
    page, box = lenet.opened.page, lenet.opened.page.locator("#control-step")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.get_by_role("button", name="Play")).to_be_visible(timeout=20_000)
    lenet.settle()
    faults, answer = lenet.said()
    assert not faults
    assert answer is not None
    assert lenet.value("step") == "8"
    assert answer.sentences[0].startswith("output, step 8 of 8")
    assert lenet.shown == [(one.group, one.name, one.shown) for one in answer.readouts]
    page.get_by_role("button", name="Play").click()
    expect(box).to_have_value("1")
    assert lenet.opened.complaints == []


def test_it_stops_where_somebody_stops_it(lenet: Moved) -> None:
    page = lenet.opened.page
    page.get_by_role("button", name="Play").click()
    expect(page.locator("#control-step")).to_have_value("7")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    at = lenet.value("step")
    page.wait_for_timeout(1_200)
    assert lenet.value("step") == at


def test_what_no_step_can_be_is_begun_anew(lenet: Moved) -> None:
    """The fault stands beside the control until the first step takes its place."""
    lenet.fill("step", "x")
    assert lenet.fault("step")
    lenet.opened.page.get_by_role("button", name="Play").click()
    expect(lenet.opened.page.locator("#fault-step")).to_be_empty()
    asked = [one for one in lenet.opened.requests if ".json" in one]
    after = asked[next(place for place, one in enumerate(asked) if one.endswith("step=x")) + 1]
    assert after.endswith("/peak.json?network=lenet5"), "the first step, which is the default"
