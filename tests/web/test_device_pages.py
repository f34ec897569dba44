"""The pages of devices: the catalogue and the folder's own, in the words of the command, escaped, and as JSON."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from tests.web.client import Page, ask, fresh, read
from weighbridge.devices.catalogue import by_kind, file_of, find, names
from weighbridge.devices.plain import device_tables
from weighbridge.devices.read import device_of
from weighbridge.report.device_page import device_lines
from weighbridge.report.terminal import Look

HOSTILE = "<script>alert(1)</script>\"'&{{7*7}}"
OWN = f"""
name = "mine"
title = '''{HOSTILE}'''
class = "board"
core = "a core"
kind = "mcu"

[[peaks]]
unit = "core"
precision = "int8"
ops_per_s = {{ value = 1_000_000, source = '''<img src=x onerror=alert(1)>''', verified = false }}
"""
FAULTY = 'name = "x y"\ntitle = ""\n[[memories]]\nname = "<b>SRAM</b>"\nholds = []\nbytes = 4\n'


@pytest.fixture
def app(tmp_path: Path) -> ASGIApp:
    """An app whose folder has a good device file, a bad one, and a report."""
    (tmp_path / "mine.toml").write_text(OWN, encoding="utf-8")
    (tmp_path / "bad file.toml").write_text(FAULTY, encoding="utf-8")
    (tmp_path / "r.json").write_text("{}", encoding="utf-8")
    return fresh(tmp_path)


def links(page: Page) -> list[str]:
    return [has["href"] for tag, has in page.tags if tag == "a"]


def bare(text: str) -> str:
    """Without what only stands between the parts of a line."""
    return re.sub(r"[\s:;]", "", text).lower()


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_list_leads_to_every_device_the_folders_own_first(app: ASGIApp) -> None:
    answer = ask("/devices", app=app)
    assert answer.status_code == 200
    page = read(answer.text)
    found = [link for link in links(page) if link.startswith("/devices/") and link != "/devices/new"]
    listed = [f"/devices/{device.name}" for device in by_kind()]
    assert found == ["/devices/own%3Abad%20file", "/devices/own%3Amine", *listed]
    assert "bad file.toml: the device file has 5 faults" in words(page.text)
    assert "~864.0 MOPS" in page.text
    for link in found:
        assert ask(link, app=app).status_code == (422 if "bad" in link else 200)


def test_the_list_in_json_has_the_names_that_an_address_takes(app: ASGIApp) -> None:
    said = ask("/devices.json", app=app).json()
    assert [one["on"] for one in said["devices"]] == ["own:mine", *(device.name for device in by_kind())]
    assert said["devices"][0]["title"] == HOSTILE
    ((on, error),) = [(one["on"], one["error"]) for one in said["faulty"]]
    assert on == "own:bad file"
    assert error.startswith("bad file.toml: the device file has 5 faults\n")
    for one in said["devices"][:3]:
        assert ask(one["address"], app=app).json()["on"] == one["on"]


@pytest.mark.parametrize("name", names())
def test_a_page_says_what_the_command_says(name: str) -> None:
    shown = bare(read(ask(f"/devices/{name}").text).text)
    for line in device_lines(find(name), Look(10_000)):
        assert bare(re.sub("^ *(source|note): ", "", "".join(span.text for span in line))) in shown


@pytest.mark.parametrize("name", names())
def test_the_twin_has_the_tables_of_the_file_and_what_it_leaves_out(name: str) -> None:
    said = ask(f"/devices/{name}.json").json()
    assert said.pop("gaps") == list(find(name).gaps)
    assert said.pop("on") == name
    assert said == {"kind": "other", **device_tables(find(name))}


def test_a_page_leads_to_what_can_be_done_with_the_device(app: ASGIApp) -> None:
    assert links(read(ask("/devices/own:mine", app=app).text))[-6:-1] == [
        "/weigh?on=own%3Amine",
        "/compare?on=own%3Amine",
        "/devices/new?like=own%3Amine",
        "/devices/own%3Amine.toml",
        "/devices/own%3Amine.json",
    ]


def test_a_file_is_given_as_it_is_and_never_shown_by_the_browser(app: ASGIApp) -> None:
    for address, content in (
        ("/devices/own:mine.toml", OWN.encode()),
        ("/devices/own:bad file.toml", FAULTY.encode()),
        ("/devices/stm32f746.toml", file_of("stm32f746")),
    ):
        answer = ask(address, app=app)
        assert answer.content == content
        assert answer.headers["content-disposition"].startswith("attachment; ")
        assert answer.headers["content-type"] == "application/toml"
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert device_of(ask("/devices/own:mine.toml", app=app).content, "").name == "mine"


def test_what_a_file_says_is_text(app: ASGIApp) -> None:
    for address in ("/devices", "/devices/own:mine", "/devices/new?like=own:mine", "/devices/own:bad file"):
        answer = ask(address, app=app)
        page = read(answer.text)
        assert not {tag for tag, _ in page.tags} & {"script", "img"}
        assert "<img" not in answer.text
        assert "<b>SRAM" not in answer.text
    assert HOSTILE in read(ask("/devices/own:mine", app=app).text).text


def test_a_file_with_faults_has_a_page_with_all_of_them(app: ASGIApp) -> None:
    answer = ask("/devices/own:bad file", app=app)
    assert answer.status_code == 422
    text = words(read(answer.text).text)
    for path in ("$.name", "$.title", "$.class", "$.core", "$.memories[0].bytes"):
        assert f"{path}: " in text
    twin = ask("/devices/own:bad file.json", app=app)
    assert (twin.status_code, len(twin.json()["error"].splitlines())) == (422, 6)


@pytest.mark.parametrize(
    "name", ["stm32f74", "own:nobody", "own:..", "own:r", "own:mine.toml.toml", "catalogue", "mcu"]
)
def test_a_device_that_is_not_there_is_said_to_be_none(app: ASGIApp, name: str) -> None:
    answer = ask(f"/devices/{name}", app=app)
    assert answer.status_code == 404
    assert "There is no such device" in read(answer.text).text
    twin = ask(f"/devices/{name}.json", app=app)
    assert twin.status_code == 404
    assert set(twin.json()) == {"error"}


def test_a_near_name_is_asked_for(app: ASGIApp) -> None:
    assert "did you mean stm32f746?" in ask("/devices/stm32f74.json", app=app).json()["error"]


def test_a_name_that_ends_as_a_twin_does_is_a_name(tmp_path: Path) -> None:
    (tmp_path / "a.json.toml").write_text(OWN, encoding="utf-8")
    app = fresh(tmp_path)
    assert ask("/devices/own:a.json", app=app).headers["content-type"].startswith("text/html")
    assert ask("/devices/own:a.json.json", app=app).json()["on"] == "own:a.json"
