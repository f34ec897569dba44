"""Saved reports in the app: their list, what is kept, and that no name leads out of the folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp

from tests.web.client import ask, fresh, read
from weighbridge.api import weigh
from weighbridge.report.html_file import render
from weighbridge.report.view import title
from weighbridge.web.pages import around

LENET = weigh("lenet5", on="stm32f746")
NAMES = [
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f%2e%2e%2fsecret",
    "%2Fetc%2Fpasswd",
    "a%00b",
    "..%5c..%5csecret",
    "%2e%2e",
    ".hidden",
    "CON",
    "a" * 200,
    "%FF",
    "<b>",
    "secret.txt",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kept").mkdir()
    (tmp_path / "secret.json").write_text(LENET.to_json())
    (tmp_path / "kept" / "secret.txt").write_text("secret")
    (tmp_path / "kept" / "lenet.json").write_text(LENET.to_json())
    return tmp_path / "kept"


@pytest.fixture
def app(folder: Path) -> ASGIApp:
    return fresh(folder)


def fault(answer: Any) -> str:
    return read(answer.text).texts["fault-"].strip()


def test_a_report_opens_as_the_page_that_the_command_line_writes_and_as_json(app: ASGIApp) -> None:
    page = ask("/reports/lenet", app=app)
    assert page.status_code == 200
    of_form = around(form="/weigh", fields=["on", "energy", "batches", "train"])
    made = render({title(LENET): LENET}, around=of_form)
    body = [text.split("<main", 1)[1].split("</main>", 1)[0] for text in (page.text, made)]
    assert body[0] == body[1]
    links = {has["href"] for tag, has in read(page.text).tags if tag == "a"}
    assert {"/reports", "/reports/lenet.json", "/compare?model=report%3Alenet"} <= links
    twin = ask("/reports/lenet.json", app=app)
    assert (twin.status_code, twin.headers["content-type"], twin.text) == (200, "application/json", LENET.to_json())


def test_the_list_says_of_each_report_what_it_is_and_leads_to_it(app: ASGIApp, folder: Path) -> None:
    (folder / "a (2).json").write_text(weigh("alexnet:resolution=256").to_json())
    os.utime(folder / "a (2).json", (2e9, 2e9))
    page = read(ask("/reports", app=app).text)
    links = [has["href"] for tag, has in page.tags if tag == "a" and has["href"].startswith("/reports/")]
    assert links == ["/reports/a%20%282%29", "/reports/a%20%282%29.json", "/reports/lenet", "/reports/lenet.json"]
    models = [has["value"] for tag, has in page.tags if tag == "input" and has.get("name") == "model"]
    assert models == ["report:a (2)", "report:lenet"]
    assert "alexnet:resolution=256" in page.text
    for link in links:
        assert ask(link, app=app).status_code == 200
    listed = ask("/reports.json", app=app).json()["reports"]
    assert [one["name"] for one in listed] == ["a (2)", "lenet"]
    assert listed[1]["network"] == "lenet5"
    assert listed[1]["size_bytes"] == len(LENET.to_json())


def test_a_list_without_reports_says_how_to_have_one() -> None:
    page = read(ask("/reports").text)
    assert "There is none yet. Weigh a network, and save its report." in page.text
    assert "They go when the app ends" in page.text


def test_a_list_of_many_reports_reads_none_of_them_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from weighbridge.web import shelf, work

    for place in range(520):
        (folder / f"r{place}.json").write_text(LENET.to_json())
    monkeypatch.setattr(shelf.Shelf, "report", None)
    monkeypatch.setattr(work.Work, "_done", None)
    answer = ask("/reports", app=fresh(folder))
    page = read(answer.text)
    assert answer.status_code == 200
    assert len([has for tag, has in page.tags if tag == "input" and has.get("name") == "model"]) == 500
    assert "The 500 that were saved last" in page.text
    assert page.text.count("lenet5") == 500


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leads_out_of_the_folder(name: str, app: ASGIApp) -> None:
    for path in (f"/reports/{name}", f"/reports/{name}.json"):
        answer = ask(path, app=app)
        assert answer.status_code == 404
        assert "root:" not in answer.text
        assert '"schema"' not in answer.text
        assert "LeNet" not in answer.text
        assert path.endswith(".json") or "<b>" not in answer.text.split("<main", 1)[1]


def test_a_report_that_is_not_there_is_said_above_the_list(app: ASGIApp) -> None:
    answer = ask("/reports/mine", app=app)
    assert answer.status_code == 404
    assert fault(answer) == "name: there is no saved report 'mine'; see the list of those that there are"
    assert "lenet" in read(answer.text).text
    twin = ask("/reports/mine.json", app=app)
    assert (twin.status_code, twin.json()) == (
        404,
        {"error": "name: there is no saved report 'mine'; see the list of those that there are"},
    )
    assert ask("/reports/", app=app).headers["location"] == "/reports"


BROKEN = {
    "old": (json.dumps({**json.loads(LENET.to_json()), "schema": 99}), "$.schema: the report has schema 99"),
    "truncated": (LENET.to_json()[:5000], ""),
    "empty": ("", ""),
    "brackets": ("[" * 100_000, ""),
    "list": ("[1]", "it has no schema"),
    "text": ("\x00\x01", ""),
    "inside": (LENET.to_json().replace('"macs": 416520', '"macs": "<script>"'), ""),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_report_that_is_none_is_an_error_of_ours_and_breaks_no_page(name: str, folder: Path) -> None:
    content, said = BROKEN[name]
    (folder / f"{name}.json").write_text(content)
    app = fresh(folder)
    assert ask("/reports", app=app).status_code == 200
    answer = ask(f"/reports/{name}", app=app)
    assert answer.status_code == 422
    assert fault(answer).startswith(f"{name}: ")
    assert said in fault(answer)
    assert "<script>" not in answer.text
    twin = ask(f"/reports/{name}.json", app=app)
    assert (twin.status_code, twin.json()) == (422, {"error": fault(answer)})
    sent = ask("/reports", method="POST", app=app, files={"file": (f"{name}2.json", content.encode())})
    assert sent.status_code == 422
    assert not (folder / f"{name}2.json").exists()


def test_hostile_names_in_a_report_are_text(folder: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    (folder / "hostile.json").write_text(
        LENET.to_json().replace('"lenet5"', json.dumps(hostile)).replace('"c1"', json.dumps(hostile))
    )
    app = fresh(folder)
    for path in ("/reports", "/reports/hostile"):
        answer = ask(path, app=app)
        assert answer.status_code == 200
        assert "<img" not in answer.text
        assert hostile in read(answer.text).text


def test_a_weighing_is_saved_under_a_name(folder: Path) -> None:
    app = fresh(folder)
    sent = {"query": "model=lenet5&on=stm32f746", "name": "my lenet"}
    answer = ask("/reports", method="POST", app=app, data=sent)
    assert (answer.status_code, answer.headers["location"]) == (303, "/reports/my%20lenet")
    assert (folder / "my lenet.json").read_text() == LENET.to_json()
    again = ask("/reports", method="POST", app=app, data={**sent, "name": "my lenet.json"})
    assert again.headers["location"] == "/reports/my%20lenet-2"


@pytest.mark.parametrize("name", ["../x", "", "a/b", "x" * 100, "nul", "ünder"])
def test_a_weighing_that_cannot_be_saved_under_its_name_can_be_under_another(
    name: str, app: ASGIApp, folder: Path
) -> None:
    before = sorted(folder.parent.rglob("*"))
    answer = ask("/reports", method="POST", app=app, data={"query": "model=lenet5", "name": name})
    page = read(answer.text)
    assert answer.status_code == 422
    assert "is no name here" in page.texts["fault-"]
    assert (page.fields["query"], page.fields["name"]) == ("model=lenet5", name)
    assert sorted(folder.parent.rglob("*")) == before


@pytest.mark.parametrize("query", ["", "model=nowhere", "model=lenet5&batch=x&fps=y", "model=report:lenet", "%%%"])
def test_what_is_no_weighing_is_not_saved(query: str, app: ASGIApp, folder: Path) -> None:
    answer = ask("/reports", method="POST", app=app, data={"query": query, "name": "x"})
    assert answer.status_code == 422
    assert fault(answer)
    assert not (folder / "x.json").exists()


def test_a_report_of_the_command_line_is_added_as_it_is(app: ASGIApp, folder: Path) -> None:
    content = weigh("lenet5", weight_bits=4).to_json().encode() + b"\n\n"
    answer = ask("/reports", method="POST", app=app, files={"file": ("../out/my:report.json", content)})
    assert answer.headers["location"] == "/reports/my-report"
    assert (folder / "my-report.json").read_bytes() == content
    assert ask("/reports/my-report", app=app).status_code == 200
