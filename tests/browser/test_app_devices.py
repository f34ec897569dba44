"""The pages of devices in the browser: three faults are seen and mended, the device is weighed on, and what a file says is text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.app import served
from tests.browser.opened import Opened, open_page
from tests.browser.test_accessible import CONTRAST, faults

OpenPage = Callable[..., Opened]
HOSTILE = "<img src=x onerror=\"console.error('run')\"><script>console.error('run')</script>"
FILE = f"""
name = "hostile"
title = '''{HOSTILE.replace("'", '"')}'''
class = "board"
core = "a core"

[[peaks]]
unit = "core"
precision = "int8"
ops_per_s = {{ value = 1_000_000, source = '''{HOSTILE.replace("'", '"')}''' }}
"""
THREE = 'name = "My Board"\ntitle = "T"\nclass = "c"\ncore = "c"\n[[peaks]]\nunit = "u"\nprecision = "fp12"\nops_per_s = 3\n'
NARROW = 400


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hostile.toml").write_text(FILE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def app(folder: Path) -> Iterator[str]:
    with served(folder) as address:
        yield address


@pytest.fixture
def page_at(browser: Browser, app: str) -> Iterator[OpenPage]:
    made: list[Opened] = []

    def make(path: str, **options: object) -> Opened:
        made.append(open_page(browser, f"{app}{path}", **options))
        return made[-1]

    yield make
    for one in made:
        one.page.context.close()


def loud(one: Opened) -> list[str]:
    """What the page complains of, but for the status of a form with faults, which is no fault of it."""
    return [said for said in one.complaints if "422" not in said]


def fill_in(page: Page) -> None:
    """A device with three faults: its name, its rate, and a size without a source."""
    page.get_by_label("name", exact=True).first.fill("My Board")
    page.get_by_label("full name").fill("My board")
    page.get_by_label("class").fill("microcontroller")
    page.get_by_label("core").fill("Cortex-M4")
    page.get_by_label("kind", exact=True).select_option("mcu")
    rate = page.get_by_role("group", name="Rate 1", exact=True)
    rate.get_by_label("unit").fill("core")
    rate.get_by_label("precision").select_option("int8")
    rate.get_by_label("number").fill("fast")
    rate.get_by_label("source").fill("a sheet")
    memory = page.get_by_role("group", name="Memory 1", exact=True)
    memory.get_by_label("name").fill("SRAM")
    memory.get_by_label("weights").check()
    memory.get_by_label("activations").check()
    memory.get_by_role("group", name="size").get_by_label("number").fill("256 KiB")
    page.get_by_role("button", name="Keep this device").click()


def beside(page: Page) -> list[str]:
    return [text for text in page.locator("form .fault").all_inner_texts() if text]


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_three_faults_are_seen_mended_and_the_device_is_weighed_on(page_at: OpenPage, scripts: bool) -> None:
    one = page_at("/devices", java_script_enabled=scripts)
    page = one.page
    page.get_by_role("link", name="Add a device of your own").click()
    fill_in(page)
    assert page.get_by_role("heading", name="3 faults").is_visible()
    assert beside(page) == [
        "must be lower-case letters, digits, hyphens and dots, not 'My Board'",
        "must be a number, not 'fast'",
        "is missing",
    ]
    assert "256 KiB" in [box.input_value() for box in page.get_by_label("number").all()]
    page.get_by_role("link", name="$.name").click()
    assert page.url.endswith("#field-name")
    page.get_by_label("name", exact=True).first.fill("my-board")
    page.get_by_role("group", name="Rate 1", exact=True).get_by_label("number").fill("864 MOPS")
    size = page.get_by_role("group", name="Memory 1", exact=True).get_by_role("group", name="size")
    size.get_by_label("source").fill("a sheet")
    page.get_by_role("button", name="Keep this device").click()
    page.wait_for_url("**/devices/own:my-board")
    assert page.get_by_text("864.0 MOPS = 864,000,000 operations/s").is_visible()
    page.get_by_role("link", name="Weigh a network on it").click()
    page.wait_for_url("**/weigh?on=own%3Amy-board")
    page.locator("#control-model").select_option("lenet5")
    page.locator("#control-precision").select_option("int8")
    page.get_by_role("button", name="Weigh it").click()
    page.wait_for_url("**/weighed?**")
    assert page.locator("#verdicts li").all_inner_texts()[0].startswith("my-board: fits")
    assert loud(one) == []


def test_a_file_with_three_faults_is_shown_with_all_of_them_and_mended_in_place(page_at: OpenPage) -> None:
    one = page_at("/devices/new")
    page = one.page
    page.get_by_label("a file (.toml)").set_input_files(
        {"name": "b.toml", "mimeType": "text/plain", "buffer": THREE.encode()}
    )
    page.get_by_role("button", name="Keep this file").click()
    assert page.locator("#faults code").all_inner_texts() == ["$.name", "$.peaks[0].precision", "$.peaks[0].ops_per_s"]
    text = page.get_by_label("or its text")
    assert text.input_value().strip() == THREE.strip()
    good = THREE.replace("My Board", "my-board").replace("fp12", "int8").replace("= 3", '= { value = 3, source = "s" }')
    text.fill(good)
    page.get_by_role("button", name="Keep this file").click()
    page.wait_for_url("**/devices/own:my-board")
    assert loud(one) == []


def test_a_new_device_begins_as_another_one_by_the_keyboard_alone(page_at: OpenPage) -> None:
    one = page_at("/devices/stm32f746")
    page = one.page
    page.get_by_role("link", name="Begin a new device with it").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/devices/new?like=stm32f746")
    page.locator("#field-name").focus()
    page.keyboard.type("my-f746")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "title"
    page.keyboard.press("Enter")
    page.wait_for_url("**/devices/own:my-f746")
    assert page.get_by_text("not verified: the rate a cycle follows from the instruction").is_visible()
    assert loud(one) == []


@pytest.mark.parametrize("path", ["/devices", "/devices/own:hostile", "/devices/new?like=own:hostile"])
def test_what_a_file_says_is_text(page_at: OpenPage, path: str) -> None:
    one = page_at(path)
    assert one.page.locator("main img, main script").count() == 0
    values = "() => [...document.querySelectorAll('input')].map(one => one.value).join(' ')"
    shown = one.page.locator("main").inner_text() + one.ask(values)
    assert "<img src=x" in shown
    assert one.complaints == []
    assert one.ask("() => probe.violations") == []


@pytest.mark.parametrize("path", ["/devices", "/devices/jetson-agx-orin", "/devices/new?like=toy"])
def test_a_page_is_quiet_accessible_in_both_schemes_and_fits_a_narrow_window(
    page_at: OpenPage, app: str, path: str
) -> None:
    one = page_at(path)
    assert one.complaints == []
    assert all(asked.startswith((app, "data:")) for asked in one.requests)
    one.ask("() => [...document.querySelectorAll('tbody tr')].slice(12).forEach(one => one.remove())")
    assert faults(one, rules={CONTRAST: {"enabled": False}}) == []
    for scheme in ("light", "dark"):
        one.page.emulate_media(color_scheme=scheme)
        assert faults(one, runOnly=[CONTRAST]) == []
    one.resize(NARROW)
    assert one.ask("() => document.documentElement.scrollWidth") <= NARROW


def test_a_form_with_faults_is_accessible_in_both_schemes(page_at: OpenPage) -> None:
    one = page_at("/devices/new")
    fill_in(one.page)
    assert faults(one, rules={CONTRAST: {"enabled": False}}) == []
    for scheme in ("light", "dark"):
        one.page.emulate_media(color_scheme=scheme)
        assert faults(one, runOnly=[CONTRAST]) == []
    one.resize(NARROW)
    assert one.ask("() => document.documentElement.scrollWidth") <= NARROW
