"""The pages of comparing in the browser: two presets on one street, a form that works without scripts, and bad input beside its field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.app import served
from tests.browser.opened import Opened, open_page
from tests.browser.test_accessible import CONTRAST, faults
from weighbridge.api import weigh

OpenPage = Callable[..., Opened]
HOSTILE = "<img src=x onerror=\\\"console.error('run')\\\">"
NARROW = 400


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("kept")
    report = weigh("mlp", on="toy").to_json().replace('"mlp"', f'"{HOSTILE}"')
    (folder / "saved.json").write_text(report, encoding="utf-8")
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


def choose(page: Page, *models: str) -> None:
    for place, model in enumerate(models, 1):
        page.get_by_label(f"model {place}", exact=True).select_option(model)


def missed(page: Page) -> list[list[str]]:
    """The rows of the table of frames missed: the model and the number."""
    table = page.get_by_role("table").filter(has=page.get_by_text("frames missed"))
    rows = [row.locator("th, td").all_inner_texts() for row in table.locator("tbody tr").all()]
    return [[cells[0], cells[-1]] for cells in rows]


STREET = [["segformer_b5", "19"], ["efficientvit_l1", "1"]]


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_two_published_networks_on_one_street(page_at: OpenPage, scripts: bool) -> None:
    one = page_at("/compare", java_script_enabled=scripts)
    page = one.page
    choose(page, "published:segformer_b5", "published:efficientvit_l1")
    page.get_by_label("frames a second").fill("30")
    page.get_by_label("frames a second").press("Enter")
    page.wait_for_url("**/compared?model=published:segformer_b5&model=published:efficientvit_l1&fps=30")
    assert missed(page) == STREET
    page.get_by_role("link", name="Change it").click()
    assert page.get_by_label("model 2", exact=True).input_value() == "published:efficientvit_l1"
    assert page.get_by_label("frames a second").input_value() == "30"
    assert one.complaints == []


def test_an_example_is_the_same_comparison(page_at: OpenPage) -> None:
    one = page_at("/compare")
    one.page.get_by_role("link", name="SegFormer-B5 and EfficientViT-L1").click()
    assert missed(one.page) == STREET
    one.wait_for_charts()
    assert one.page.locator("figure.chart svg").count() == 1
    assert one.complaints == []
    assert one.ask("() => probe.violations") == []


def test_more_models_are_added_without_losing_any_by_the_keyboard_alone(page_at: OpenPage) -> None:
    one = page_at("/compare", java_script_enabled=False)
    page = one.page
    choose(page, "lenet5", "mlp", "report:saved")
    page.get_by_role("button", name="Add more models").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare?**more=1**")
    assert page.get_by_label("model 6", exact=True).is_visible()
    choose(page, "lenet5", "mlp", "report:saved", "published:segformer_b5")
    page.get_by_label("parameters of model 1").fill("classes=12")
    page.get_by_role("button", name="Compare them").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/compared?model=lenet5:classes=12&model=mlp&model=report:saved&model=published:segformer_b5")
    assert page.get_by_role("heading", level=1).inner_text().startswith("lenet5:classes=12")


def test_bad_input_stands_beside_its_field_and_the_form_as_it_was(page_at: OpenPage) -> None:
    one = page_at("/compare")
    page = one.page
    choose(page, "lenet5", "lenet5")
    page.get_by_label("batch").fill("-1")
    page.get_by_role("button", name="Compare them").click()
    assert page.locator("#fault-model-2").inner_text() == "is there twice"
    assert page.locator("#fault-batch").inner_text().startswith("must be a whole number from 1 on")
    assert page.get_by_label("model 2", exact=True).input_value() == "lenet5"
    assert page.get_by_label("batch").input_value() == "-1"
    choose(page, "lenet5", "mlp")
    page.get_by_label("batch").fill("2")
    page.get_by_role("button", name="Compare them").click()
    page.wait_for_url("**/compared?model=lenet5&model=mlp&batch=2")
    assert [said for said in one.complaints if "422" not in said] == []


def test_what_a_saved_report_says_is_text(page_at: OpenPage) -> None:
    one = page_at("/compared?model=report:saved&model=lenet5&on=toy")
    one.wait_for_charts()
    assert one.page.locator("img").count() == 0
    assert one.complaints == []
    assert one.ask("() => probe.violations") == []


@pytest.mark.parametrize("path", ["/compare?model=lenet5&on=toy&energy=45nm", "/compared?model=gone&batch=0"])
def test_the_form_is_accessible_in_both_schemes_and_fits_a_narrow_window(page_at: OpenPage, path: str) -> None:
    one = page_at(path)
    assert faults(one, rules={CONTRAST: {"enabled": False}}) == []
    for scheme in ("light", "dark"):
        one.page.emulate_media(color_scheme=scheme)
        assert faults(one, runOnly=[CONTRAST]) == []
    one.resize(NARROW)
    assert one.ask("() => document.documentElement.scrollWidth") <= NARROW


def test_a_comparison_is_accessible_and_fits_a_narrow_window(page_at: OpenPage) -> None:
    one = page_at("/compared?model=published:segformer_b5&model=published:efficientvit_l1&fps=30")
    one.wait_for_charts()
    assert faults(one) == []
    one.page.emulate_media(color_scheme="dark")
    assert faults(one, runOnly=[CONTRAST]) == []
    one.resize(NARROW)
    assert one.ask("() => document.documentElement.scrollWidth") <= NARROW
