"""Weighing and saved reports in the browser: a file is dropped, the report works under the server's policy, and nothing complains."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser

from tests.browser.app import served
from tests.browser.opened import Opened, open_page
from tests.browser.test_accessible import CONTRAST, faults
from weighbridge.api import weigh
from weighbridge.web.bodies import UPLOAD, too_large

OpenPage = Callable[..., Opened]
MOBILENET = "model=mobilenet_v2&on=stm32f746&on=jetson-nano&energy=45nm&batches=1,8"
SMALL = """
name = "small"
title = "Small"
source = "made for tests"
inputs = [{ name = "x", shape = [1, 8] }]
layers = [{ name = "fc", op = "linear", out = 4 }]
"""
DROP = """([name, content]) => {
  const data = new DataTransfer();
  data.items.add(new File([Uint8Array.from(atob(content), (one) => one.charCodeAt(0))], name));
  for (const type of ["dragenter", "dragover", "drop"])
    document.querySelector("h1").dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data }));
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("kept")
    (found / "alexnet.json").write_text(weigh("alexnet").to_json(), encoding="utf-8")
    return found


@pytest.fixture(scope="module")
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


def is_quiet(one: Opened, app: str) -> None:
    assert one.complaints == []
    assert one.ask("() => probe.violations") == []
    assert {f"{urlsplit(asked).scheme}://{urlsplit(asked).netloc}" for asked in one.requests} <= {app, "data://"}


def drop(one: Opened, name: str, content: bytes) -> None:
    one.ask(DROP, [name, base64.b64encode(content).decode()])


def test_a_model_that_is_dropped_is_weighed_on_the_devices_that_are_ticked(
    page_at: OpenPage, app: str, shared: Path
) -> None:
    one = page_at("/weigh")
    page = one.page
    page.locator("#control-model").select_option("alexnet")
    drop(one, "person_detect.tflite", (shared / "data/tflite/tflm/person_detect.tflite").read_bytes())
    assert page.locator("#dropped").inner_text() == "person_detect.tflite, 301 kB"
    assert page.locator("#control-model").input_value() == ""
    page.get_by_label("STM32F746G-DISCO", exact=True).check()
    page.locator("#control-activation_bits").fill("8")
    page.get_by_role("button", name="Weigh it").click()
    one.wait_for_charts()
    query = parse_qs(urlsplit(page.url).query)
    assert query["on"] == ["stm32f746"]
    assert query["activation_bits"] == ["8"]
    assert query["model"][0].startswith("upload:")
    assert page.locator("h1").inner_text().startswith("person_detect.tflite")
    macs = weigh(shared / "data/tflite/tflm/person_detect.tflite").facts.macs
    assert f"{macs:,}" in page.locator("#triangle").inner_text()
    is_quiet(one, app)
    # the form again, filled in, and with the file in its choices
    page.get_by_role("link", name="Change it").click()
    assert page.locator("#control-model").input_value() == query["model"][0]
    assert page.get_by_label("STM32F746G-DISCO", exact=True).is_checked()
    page.locator("#control-precision").select_option("int8")
    page.get_by_role("button", name="Weigh it").click()
    one.wait_for_charts()
    page.reload()
    one.wait_for_charts()
    assert "precision=int8" in page.url
    page.go_back()
    page.wait_for_url("**/weigh?*")
    is_quiet(one, app)


def test_a_report_draws_sorts_folds_and_picks_under_the_policy_of_the_server(page_at: OpenPage, app: str) -> None:
    one = page_at(f"/weighed?{MOBILENET}")
    page = one.page
    assert page.locator("#tree-0 tbody tr").count() > 50
    one.wait_for_charts()
    figures = page.locator("figure.chart")
    assert figures.count() >= 8
    assert page.locator("figure.chart svg").count() == figures.count()
    undrawn = """() => [...document.querySelectorAll("figure.chart")].filter(one => !one.querySelector("svg path, svg line, svg text"))
      .map(one => one.id)"""
    assert one.ask(undrawn) == []
    tree = page.locator("#tree-0")
    shown = "() => [...document.querySelectorAll('#tree-0 tbody tr:not([hidden])')].length"
    before = one.ask(shown)
    tree.locator("button.fold").first.click()
    assert one.ask(shown) != before
    first = "() => document.querySelector('#tree-0 tbody tr:not([hidden]) th').textContent"
    start = one.ask(first)
    tree.locator("button.sort").nth(4).click()
    tree.locator("button.sort").nth(4).click()
    one.settle()
    assert one.ask(first) != start
    tree.locator("tbody tr[data-key]:not([hidden]) button.pick").first.click()
    assert page.locator("tr.picked").count() >= 1
    is_quiet(one, app)


def test_the_tables_are_there_before_the_charts(browser: Browser, app: str) -> None:
    """The library of charts takes seconds the first time: here it never comes."""
    one = open_page(browser, "about:blank")
    one.page.route("**/static/vega.js", lambda route: None)
    one.page.goto(f"{app}/weighed?model=lenet5&on=stm32f746", wait_until="commit")
    one.page.locator("#conventions dd").first.wait_for()
    assert "stm32f746: fits" in one.page.locator("#verdicts").inner_text()
    assert one.page.locator("#tree-0 tbody tr").count() == 8
    one.page.context.close()


def test_a_bad_file_is_said_above_the_form_and_the_form_goes_on(page_at: OpenPage) -> None:
    one = page_at("/weigh")
    drop(one, "broken.onnx", b"\x08\x07\x12\xff")
    one.page.get_by_label("all of them").first.check()
    one.page.get_by_role("button", name="Weigh it").click()
    one.page.locator("#fault- p").wait_for()
    assert one.page.locator("#fault-").inner_text().startswith("broken.onnx: ")
    assert one.page.get_by_label("all of them").first.is_checked()
    drop(one, "small.toml", SMALL.encode())
    one.page.get_by_role("button", name="Weigh it").click()
    one.page.wait_for_url("**/weighed?*")
    # the refusal stands among the complaints, so that waiting for charts would wait no longer
    one.page.locator("html[data-drawn]").wait_for()


def test_a_file_that_is_too_large_is_said_before_it_is_sent(page_at: OpenPage) -> None:
    one = page_at("/weigh")
    page, file = one.page, one.page.locator("#control-file")
    assert file.get_attribute("data-most") == str(UPLOAD.file_bytes)
    one.ask("() => { document.getElementById('control-file').dataset.most = 10; }")
    drop(one, "small.toml", SMALL.encode())
    said = page.locator("#fault-file").inner_text()
    assert said == str(too_large(UPLOAD))
    assert file.get_attribute("aria-invalid") == "true"
    asked = len(one.requests)
    page.get_by_role("button", name="Weigh it").click()
    one.settle()
    assert len(one.requests) == asked
    assert one.ask("() => document.activeElement.id") == "control-file"
    # a smaller one takes it back, and is sent
    drop(one, "tiny.toml", b"x = 1")
    assert page.locator("#fault-file").inner_text() == ""
    page.get_by_role("button", name="Weigh it").click()
    page.locator("#fault- p").wait_for()


def test_parameters_of_a_textbook_network_are_fields_of_their_own(page_at: OpenPage, app: str) -> None:
    one = page_at("/weigh")
    page = one.page
    page.locator("#control-model").select_option("alexnet")
    assert page.locator("#control-choices").is_hidden()
    page.locator("#parameter-resolution").fill("256")
    page.locator("#parameter-head").select_option("gap")
    page.locator("#parameter-classes").fill("1000")
    page.get_by_role("button", name="Weigh it").click()
    one.wait_for_charts()
    assert parse_qs(urlsplit(page.url).query) == {"model": ["alexnet"], "choices": ["resolution=256,head=gap"]}
    page.go_back()
    page.wait_for_url("**/weigh")
    one.settle()
    assert page.locator("#parameter-resolution").input_value() == "256"
    page.locator("#parameter-resolution").fill("1")
    page.get_by_role("button", name="Weigh it").click()
    page.locator("#fault-choices").get_by_text("from 63 to 8,192").wait_for()
    assert page.locator("#parameter-resolution").input_value() == "1"
    page.locator("#control-model").select_option("vgg16")
    assert page.locator("#parameter-resolution").input_value() == "224"


def test_by_keyboard_alone_a_network_is_weighed_and_its_report_saved(page_at: OpenPage) -> None:
    one = page_at("/weigh")
    page = one.page

    def tab_to(selector: str) -> None:
        for _ in range(200):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"no way to {selector}")

    tab_to("#control-model")
    page.keyboard.type("LeNet-5")
    tab_to("input[value='stm32f746']")
    page.keyboard.press("Space")
    tab_to("button[type=submit]")
    page.keyboard.press("Enter")
    one.wait_for_charts()
    assert parse_qs(urlsplit(page.url).query) == {"model": ["lenet5"], "on": ["stm32f746"]}
    tab_to("#save-name")
    page.keyboard.type("by keyboard")
    page.keyboard.press("Enter")
    page.wait_for_url("**/reports/by%20keyboard")
    one.wait_for_charts()
    assert page.locator("h1").inner_text() == "lenet5"


def test_a_report_is_saved_listed_added_and_chosen_for_comparison(page_at: OpenPage, app: str, tmp_path: Path) -> None:
    one = page_at("/weighed?model=lenet5")
    page = one.page
    page.locator("#save-name").fill("<b>")
    page.get_by_role("button", name="Save this report").click()
    page.get_by_text("is no name here").wait_for()
    page.locator("#save-name").fill("my lenet")
    page.get_by_role("button", name="Save this report").click()
    page.wait_for_url("**/reports/my%20lenet")
    one.wait_for_charts()
    page.get_by_role("link", name="All saved reports").click()
    (tmp_path / "other.json").write_text(weigh("mlp").to_json(), encoding="utf-8")
    page.locator("#control-file").set_input_files(tmp_path / "other.json")
    page.get_by_role("button", name="Add it").click()
    page.wait_for_url("**/reports/other")
    one.wait_for_charts()
    page.goto(f"{app}/reports")
    page.get_by_label("Compare my lenet").check()
    page.get_by_label("Compare other").check()
    page.get_by_role("button", name="Compare those that are ticked").click()
    page.wait_for_url("**/compare?*")
    assert parse_qs(urlsplit(page.url).query)["model"] == ["report:other", "report:my lenet"]


PAGES = (
    "/",
    "/weigh?model=alexnet&on=mcu",
    "/weigh?model=alexnet&batch=x&train=adam&fps=1",
    "/weighed?model=lenet5&on=stm32f746",
    "/reports",
    "/reports/alexnet",
    "/reports/nowhere",
)


@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_serious(page_at: OpenPage, path: str) -> None:
    one = page_at(path)
    if path.startswith(("/weighed", "/reports/alexnet")):
        one.wait_for_charts()
    one.ask("() => { for (const one of document.querySelectorAll('details')) one.open = true; }")
    assert faults(one, rules={CONTRAST: {"enabled": False}}) == []
    for scheme in ("light", "dark"):
        one.page.emulate_media(color_scheme=scheme)
        assert faults(one, runOnly=[CONTRAST]) == []


@pytest.mark.parametrize("path", PAGES)
def test_nothing_is_wider_than_a_telephone(page_at: OpenPage, path: str) -> None:
    one = page_at(path)
    one.ask("() => { for (const one of document.querySelectorAll('details')) one.open = true; }")
    one.resize(390)
    assert one.ask("() => document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_quiet_and_asks_nobody_else(page_at: OpenPage, app: str, path: str) -> None:
    one = page_at(path)
    if path.startswith(("/weighed", "/reports/alexnet")):
        one.wait_for_charts()
    one.complaints[:] = [said for said in one.complaints if "404" not in said]
    is_quiet(one, app)


def test_all_of_it_works_without_scripts(page_at: OpenPage, tmp_path: Path) -> None:
    one = page_at("/weigh", java_script_enabled=False)
    page = one.page
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    page.locator("#control-file").set_input_files(tmp_path / "small.toml")
    page.get_by_label("all of them").first.check()
    page.get_by_role("button", name="Weigh it").click()
    page.wait_for_url("**/weighed?*")
    assert page.locator("#tree-0 tbody tr").count() == 1
    page.get_by_role("link", name="Change it").click()
    page.locator("#control-model").select_option("alexnet")
    page.locator("#control-choices").fill("resolution=256")
    page.get_by_role("button", name="Weigh it").click()
    page.wait_for_url("**/weighed?model=alexnet&choices=resolution%3D256&on=mcu")
    page.get_by_role("button", name="Save this report").click()
    page.wait_for_url("**/reports/alexnet-resolution-256")
    assert "image 1x3x256x256" in page.locator(".subtitle").inner_text()


def test_a_hostile_name_stays_text(page_at: OpenPage, app: str) -> None:
    one = page_at("/weigh")
    name = "<img src=x onerror=probe.hit()>.toml"
    drop(one, name, SMALL.encode())
    assert name in one.page.locator("#dropped").inner_text()
    one.page.get_by_role("button", name="Weigh it").click()
    one.wait_for_charts()
    assert "_img src=x onerror=probe.hit()_.toml" in one.page.locator(".asked").inner_text()
    assert one.page.locator("img").count() == 0
    is_quiet(one, app)
