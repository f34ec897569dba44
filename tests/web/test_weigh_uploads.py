"""Uploads in the app: weighed before they are kept, offered as long as they are, and gone where nothing could be made of them."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.web.client import ask, fresh, read
from tests.web.weighed import SMALL, faults_of, toml
from weighbridge.api import weigh


def test_an_upload_is_weighed_and_then_offered() -> None:
    app = fresh()
    answer = ask(
        "/weigh",
        method="POST",
        app=app,
        files=toml(),
        data={"on": ["stm32f746"], "activation_bits": "8", "model": "alexnet"},
    )
    assert answer.status_code == 303
    where = answer.headers["location"]
    identity = re.fullmatch(r"/weighed\?model=upload%3A([0-9a-f]{16})&on=stm32f746&activation_bits=8", where)
    assert identity is not None
    page = ask(where, app=app)
    assert page.status_code == 200
    assert "small" in page.text
    form = read(ask(where.replace("weighed", "weigh"), app=app).text)
    assert form.fields["model"] == f"upload:{identity[1]}"
    assert form.fields["activation_bits"] == "8"
    assert "small.toml" in form.text
    other = ask(f"/weighed.json?model=upload:{identity[1]}&batch=1&weight_bits=2", app=app)
    assert other.status_code in (200, 422)
    again = ask("/weigh", method="POST", app=app, files=toml())
    assert again.headers["location"] == f"/weighed?model=upload%3A{identity[1]}"


def test_the_answer_to_a_form_and_the_page_that_it_leads_to_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from weighbridge.web import work

    jobs: list[str] = []
    done = work.Work._done

    def counted(self: work.Work, turn: Any, job: Any, arguments: Any) -> bytes:
        jobs.append(job.__name__)
        return done(self, turn, job, arguments)

    monkeypatch.setattr(work.Work, "_done", counted)
    app = fresh()
    for _ in range(2):
        answer = ask("/weigh", method="POST", app=app, files=toml())
        for _ in range(2):
            assert ask(answer.headers["location"], app=app).status_code == 200
    # the second upload is looked at before anybody knows that it is there already
    assert jobs == ["report_page"] * 2


def test_an_upload_for_a_program_is_weighed_and_not_kept() -> None:
    app = fresh()
    answer = ask("/weigh.json", method="POST", app=app, files=toml(), data={"on": "stm32f746", "activation_bits": "8"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json()["network"]["source"] == "small.toml"
    assert [one["device"] for one in answer.json()["on"]] == ["stm32f746"]
    assert "small.toml" not in ask("/weigh", app=app).text
    assert ask("/weigh.json", method="POST", app=app, data={"model": "lenet5"}).json() == json.loads(
        weigh("lenet5").to_json()
    )
    wrong = ask("/weigh.json", method="POST", app=app, files=toml(), data={"batch": "x", "fps": "y"})
    assert wrong.status_code == 422
    assert wrong.json()["error"].count("\n") == 2


def test_a_model_that_is_not_there_any_more_is_said() -> None:
    for path in ("/weighed", "/weighed.json"):
        answer = ask(f"{path}?model=upload:0123456789abcdef")
        assert answer.status_code == 404
        assert "this model is not here any more; upload it again" in answer.text.replace("\n", "")


def test_an_upload_stays_where_only_what_was_asked_of_it_is_wrong() -> None:
    app = fresh()
    for sent in ({"batch": "x"}, {"weight_bits": "nowhere=3"}, {"dims": "seq=3"}, {"fps": "30"}):
        answer = ask("/weigh", method="POST", app=app, files=toml(), data=sent)
        page = read(answer.text)
        assert answer.status_code == 422
        assert faults_of(page)
        assert page.fields["model"].startswith("upload:")


def test_a_file_with_a_colon_or_folders_in_its_name_is_weighed_by_its_last_part() -> None:
    answer = ask("/weigh.json", method="POST", files=toml("../a/b:c.toml"))
    assert answer.json()["network"]["source"] == "b_c.toml"
    assert ask("/weigh.json", method="POST", files=toml("alexnet.toml")).json()["network"]["name"] == "small"
    for name in ("alexnet", "torchvision:resnet50"):
        error = ask("/weigh.json", method="POST", files=toml(name)).json()["error"]
        assert error.startswith(f"{name.replace(':', '_')}: this is plain text, not an ONNX model")


def test_a_hostile_name_is_text_on_the_page() -> None:
    app = fresh()
    answer = ask("/weigh", method="POST", app=app, files=toml("<img src=x onerror=alert(1)> &lt;b&gt;.toml"))
    for where in (answer.headers["location"], "/weigh"):
        page = ask(where, app=app)
        assert page.status_code == 200
        assert "<img" not in page.text
        assert "_img src=x onerror=alert(1)_ &lt;b&gt;.toml" in read(page.text).text


def test_an_upload_leads_to_the_simulators_that_take_it() -> None:
    app = fresh()
    answer = ask("/weigh", method="POST", app=app, files=toml())
    page = read(ask(answer.headers["location"], app=app).text)
    identity = parse_qsl(urlsplit(answer.headers["location"]).query)[0][1]
    links = [has["href"] for tag, has in page.tags if tag == "a" and has["href"].startswith("/peak?")]
    assert [dict(parse_qsl(urlsplit(link).query))["network"] for link in links] == [identity]
    assert ask(links[0], app=app).status_code == 200


@pytest.mark.parametrize(("path", "is_page"), [("/weigh", True), ("/weigh.json", False)])
def test_where_there_is_no_room_for_more_work_nothing_is_kept_and_the_form_stays(
    path: str, is_page: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weighbridge.web import work

    async def busy(self: work.Work, job: Any, *arguments: object) -> bytes:
        raise work.Busy("too many are waiting", hint="try again in a minute")

    monkeypatch.setattr(work.Work, "done", busy)
    app = fresh()
    answer = ask(path, method="POST", app=app, files=toml(), data={"on": "mcu"})
    assert answer.status_code == 503
    assert "too many are waiting; try again in a minute" in answer.text
    assert "small.toml" not in ask("/weigh", app=app).text
    if is_page:
        ticked = [has["value"] for tag, has in read(answer.text).tags if has.get("name") == "on" and "checked" in has]
        assert ticked == ["mcu"]


def test_an_upload_that_is_larger_than_it_may_be_is_said_on_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    from weighbridge.web import weigh_pages

    monkeypatch.setattr(weigh_pages, "UPLOAD", weigh_pages.UPLOAD._replace(file_bytes=1000))
    answer = ask("/weigh", method="POST", files=toml(content=SMALL + "#" * (2 << 20)))
    assert answer.status_code == 413
    assert "this is larger than" in faults_of(read(answer.text))[""]
    assert "/weigh" in {has.get("action") for tag, has in read(answer.text).tags if tag == "form"}
