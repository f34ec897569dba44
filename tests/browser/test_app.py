"""Each simulator in the browser: it is quiet, every control moves it, and it shows what Python says of its address."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser

from tests.browser.app import Moved, by_key, open_simulator, served
from tests.browser.opened import open_page
from tests.browser.test_accessible import CONTRAST, faults
from weighbridge.web.controls import Blank, Choice, Control, Number, Switch, Words, written
from weighbridge.web.simulator import Simulator
from weighbridge.web.simulators import simulators

OpenSimulator = Callable[..., Moved]
ALL = tuple(simulators())
PARTS = (0.35, 0.8)
"""Of a slider's way: two, as it may stand at one of them."""


@pytest.fixture(scope="module")
def app() -> Iterator[str]:
    with served() as address:
        yield address


@pytest.fixture
def moved(browser: Browser, app: str) -> Iterator[OpenSimulator]:
    made: list[Moved] = []

    def make(name: str, query: str = "", **options: object) -> Moved:
        made.append(open_simulator(browser, app, simulators()[name], query, **options))
        return made[-1]

    yield make
    for one in made:
        one.opened.page.context.close()


def agrees(one: Moved) -> None:
    """The page shows all readouts and tables of the answer to its address, word for word, and draws each chart that has rows."""
    wrong, answer = one.said()
    assert not wrong
    assert answer is not None
    assert one.shown == [(readout.group, readout.name, readout.shown) for readout in answer.readouts]
    assert one.tables == [[list(row.cells) for row in grid.rows] for grid in answer.tables]
    empty = {plot.name for plot in answer.plots if not plot.rows}
    one.opened.page.wait_for_function("() => [...document.querySelectorAll('.drawing')].every(one => one.innerHTML)")
    assert set(one.undrawn) <= empty


@pytest.mark.parametrize("name", ALL)
def test_a_page_is_quiet_and_asks_nobody_else(moved: OpenSimulator, app: str, name: str) -> None:
    one = moved(name)
    agrees(one)
    assert one.opened.complaints == []
    assert one.opened.ask("() => probe.violations") == []
    assert {f"{urlsplit(asked).scheme}://{urlsplit(asked).netloc}" for asked in one.opened.requests} <= {app, "data://"}


def moves(one: Moved, control: Control) -> Iterator[Callable[[], None]]:
    """Ways to move a control from where it stands."""
    if isinstance(control, Switch):
        yield lambda: one.fill(control.name, "0" if one.value(control.name) == "1" else "1")
    elif isinstance(control, Choice):
        for key in [key for key in control.choices if key != one.value(control.name)][:2]:
            yield lambda key=key: one.fill(control.name, key)
    elif isinstance(control, Blank):
        yield lambda: one.fill(control.name, "7")
    elif isinstance(control, Words):
        yield lambda: one.fill(control.name, "rest=7")
    elif one.opened.ask(f"""() => {{
            const bar = document.querySelector("[data-control='{control.name}'] .slider");
            return bar !== null && bar.min !== bar.max }}"""):
        for part in PARTS:
            yield lambda part=part: one.slide(control.name, part)
    else:
        yield lambda: one.fill(control.name, written(control.maximum))


@pytest.mark.parametrize("name", ALL)
def test_every_control_moves_the_page_to_what_python_says(moved: OpenSimulator, name: str) -> None:
    """One after the other from where the last one left it; what does not go together is put back."""
    one = moved(name)
    seen: dict[str, set[str]] = {}
    for control in one.simulator.controls:
        if not one.opened.page.locator(f"#control-{control.name}").is_visible():
            continue  # a place to fill in of a table that is not shown
        for move in moves(one, control):
            before, start = one.said()[1], one.value(control.name)
            move()
            seen.setdefault(control.name, set()).update((start, one.value(control.name)))
            wrong, answer = one.said()
            if answer is None or wrong:
                assert one.fault(control.name) or one.fault("") or any(map(one.fault, wrong))
                one.fill(control.name, start)
                continue
            agrees(one)
            was, now = by_key(before.readouts), by_key(answer.readouts)
            assert one.marked == {key for key in now if key in was and now[key].value != was[key].value}
    assert [name for name, values in seen.items() if len(values) < 2] == [], "a control that could not be moved"
    assert [said for said in one.opened.complaints if "422" not in said] == []


@pytest.mark.parametrize("name", ALL)
def test_presets_lead_to_pages_of_their_own(moved: OpenSimulator, name: str) -> None:
    one = moved(name)
    links = one.opened.page.locator(".presets a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert links == [one.simulator.link(preset.state) for preset in one.simulator.presets]
    for link in links[:2]:
        other = moved(name, link.removeprefix(f"/{name}"))
        agrees(other)
        assert other.opened.complaints == []


def numbers(simulator: Simulator) -> list[Number]:
    return [control for control in simulator.controls if isinstance(control, Number)]


@pytest.mark.parametrize("name", [name for name in ALL if numbers(simulators()[name])])
def test_a_fault_stands_beside_its_control_and_the_last_good_answer_stays(moved: OpenSimulator, name: str) -> None:
    one = moved(name)
    control = numbers(one.simulator)[0]
    start, good = one.value(control.name), one.shown
    for text in ("-7", "1e99", "many <b>", ""):
        one.fill(control.name, text)
        assert one.fault(control.name).startswith("must be a ")
        assert one.opened.page.locator(f"#control-{control.name}").get_attribute("aria-invalid") == "true"
        assert one.shown == good
        assert one.value(control.name) == text
    one.fill(control.name, start)
    assert one.fault(control.name) == ""
    agrees(one)


@pytest.mark.parametrize("name", [name for name in ALL if numbers(simulators()[name])])
def test_enter_keeps_a_state_that_back_leads_to(moved: OpenSimulator, name: str) -> None:
    one = moved(name)
    control = numbers(one.simulator)[0]
    one.slide(control.name, PARTS[0])
    kept, value = one.shown, one.value(control.name)
    one.opened.page.locator(f"#control-{control.name}").press("Enter")
    one.slide(control.name, PARTS[1])
    with one.opened.page.expect_response(lambda response: ".json" in response.url):
        one.opened.page.go_back()
    one.settle()
    assert (one.value(control.name), one.shown) == (value, kept)
    agrees(one)


@pytest.mark.parametrize("name", ALL)
def test_axe_finds_nothing_serious(moved: OpenSimulator, name: str) -> None:
    one = moved(name)
    one.opened.ask("() => { for (const one of document.querySelectorAll('details')) one.open = true; }")
    assert faults(one.opened, rules={CONTRAST: {"enabled": False}}) == []
    for scheme in ("light", "dark"):
        one.opened.page.emulate_media(color_scheme=scheme)
        assert faults(one.opened, runOnly=[CONTRAST]) == []


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_wider_than_a_telephone(moved: OpenSimulator, name: str) -> None:
    one = moved(name)
    one.opened.resize(390)
    assert one.opened.ask("() => document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("name", ALL)
def test_it_works_without_scripts(browser: Browser, app: str, name: str) -> None:
    simulator = simulators()[name]
    one = open_page(browser, f"{app}/{name}", java_script_enabled=False)
    one.page.locator(".submit").click()
    assert urlsplit(one.page.url).query
    shown = one.page.locator("#readouts .readout dd b").all_inner_texts()
    start = {control.name: control.default for control in simulator.controls}
    assert shown == [readout.shown for readout in simulator.answer(start).readouts]
    one.page.context.close()


def test_the_first_page_leads_to_each(browser: Browser, app: str) -> None:
    one = open_page(browser, f"{app}/")
    links = one.page.locator(".pages a").evaluate_all(
        "all => all.map(one => [one.getAttribute('href'), one.textContent])"
    )
    assert links == [[f"/{name}", simulator.title] for name, simulator in simulators().items()]
    one.page.context.close()


def test_an_app_that_has_ended_is_said_and_the_answer_stays(browser: Browser) -> None:
    with served() as address:
        one = open_simulator(browser, address, simulators()["layer"])
    good = one.shown
    one.opened.page.locator("#control-c_i").fill("128")
    one.opened.page.wait_for_selector("html.stale")
    assert "does not answer" in one.fault("")
    assert one.shown == good
    one.opened.page.context.close()
