"""Who is let in: names, tokens, other pages, methods; and that an answer which nobody waits for any more is given up."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Scope

from tests.web.client import HOST, fresh, read
from tests.web.loops import run_apart
from tests.web.test_server import HEADERS
from weighbridge.web.guard import Door, Guard
from weighbridge.web.server import application
from weighbridge.web.shelf import Shelf
from weighbridge.web.work import Busy, Fault, Work

TOKEN = "a-token_of-the-test"
OPEN = Door(frozenset(), TOKEN)
EVERYWHERE = ["/", "/layer", "/layer.json", "/openapi.json", "/static/app.css", "/static/app.js", "/nowhere", "/weigh"]
COOKIE = {"cookie": f"weighbridge-8631={TOKEN}"}


@pytest.fixture
def guarded(tmp_path: Any) -> ASGIApp:
    """The app where others reach it."""
    return application(Shelf(tmp_path, tmp_path), Work(), OPEN)


def send(app: ASGIApp, path: str, method: str = "GET", **headers: str) -> httpx.Response:
    async def once() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return await client.request(method, path, headers=named)

    return run_apart(once())


# --- the token


@pytest.mark.parametrize("path", [*EVERYWHERE, f"/{'x' * 9000}"], ids=lambda path: path[:20])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
def test_without_the_token_nothing_is_said_of_the_app(path: str, method: str, guarded: ASGIApp) -> None:
    answer = send(guarded, path, method, accept="text/html")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers.keys() >= HEADERS
    assert "set-cookie" not in answer.headers
    for word in ("eighbridge", "/static/", "layer", TOKEN):
        assert word not in answer.text
    if method == "GET" and not path.endswith(".json"):
        assert "?token=" in read(answer.text).texts.get("", "") + read(answer.text).text
    elif method != "HEAD":
        assert "?token=" in answer.text


WRONG = {
    "no header": {},
    "another token": {"authorization": f"Bearer {TOKEN}x"},
    "the start of it": {"authorization": f"Bearer {TOKEN[:-1]}"},
    "nothing behind Bearer": {"authorization": "Bearer "},
    "another scheme": {"authorization": f"Basic {TOKEN}"},
    "characters of elsewhere": {"authorization": "Bearer \xfc"},
    "another cookie": {"cookie": f"weighbridge-8631={TOKEN}x"},
    "an empty cookie": {"cookie": "weighbridge-8631="},
    "the cookie of another port": {"cookie": f"weighbridge-8632={TOKEN}"},
}


@pytest.mark.parametrize("headers", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("query", ["", "?token=", "?token=wrong", f"?token={TOKEN}x", f"?x={TOKEN}", f"?Token={TOKEN}"])
def test_a_wrong_token_is_none(headers: dict[str, str], query: str, guarded: ASGIApp) -> None:
    latin = {name: value.encode("latin-1") for name, value in headers.items()}
    assert send(guarded, f"/layer.json{query}", **latin).status_code == 401  # type: ignore[arg-type]


def test_the_first_visit_gives_a_cookie_and_leads_to_the_address_without_the_token(guarded: ASGIApp) -> None:
    answer = send(guarded, f"/layer?k=5&token={TOKEN}&kind=conv")
    assert (answer.status_code, answer.headers["location"]) == (303, "/layer?k=5&kind=conv")
    name, *flags = answer.headers["set-cookie"].split("; ")
    assert name == f"weighbridge-8631={TOKEN}"
    assert {flag.lower() for flag in flags} == {"httponly", "samesite=lax", "path=/"}
    assert TOKEN not in answer.text
    assert send(guarded, f"/?token={TOKEN}").headers["location"] == "/"
    for path in EVERYWHERE:
        assert send(guarded, path, **COOKIE).status_code == (404 if path == "/nowhere" else 200)


@pytest.mark.parametrize(
    ("host", "is_said"),
    [("127.0.0.1:8631", True), ("LOCALHOST", True), ("[::1]:1", True), ("192.0.2.2:8631", False), ("[fd00::2]", False)],
)
def test_nothing_is_said_that_a_browser_complains_of(host: str, is_said: bool, guarded: ASGIApp) -> None:
    """It takes one header from its own machine alone, and names it in its console where another one sends it."""
    for headers in (COOKIE, {}):
        answer = send(guarded, "/layer", host=host, **headers)
        assert ("cross-origin-opener-policy" in answer.headers) == is_said
        assert answer.headers.keys() >= HEADERS - {"cross-origin-opener-policy"}


@pytest.mark.parametrize("path", ["//evil.example/", "/%2Fevil.example", "/%5Cevil.example", "/a%0D%0AX-Y: 1", "/%ff"])
def test_the_address_that_it_leads_to_is_here(path: str, guarded: ASGIApp) -> None:
    answer = send(guarded, f"http://{HOST}{path}?token={TOKEN}")
    assert answer.status_code == 303
    location = answer.headers["location"]
    assert location.startswith("/")
    assert location[1] not in "/\\"
    assert "x-y" not in answer.headers


def test_a_program_sends_the_token_as_a_header(guarded: ASGIApp) -> None:
    for scheme in ("Bearer", "bearer"):
        answer = send(guarded, "/layer.json?k=5", authorization=f"{scheme} {TOKEN}")
        assert (answer.status_code, answer.json()["state"]["k"]) == (200, 5)


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_what_changes_something_takes_no_token_from_its_address(method: str, guarded: ASGIApp) -> None:
    assert send(guarded, f"/layer?token={TOKEN}", method).status_code == 401


def test_with_a_token_any_name_will_do(guarded: ASGIApp) -> None:
    assert send(guarded, "/layer.json", host="my-machine.local:8631", **COOKIE).status_code == 200


# --- names


@pytest.mark.parametrize("host", ["[::1]", "[::1]:8631", "LOCALHOST:8631", "127.0.0.1"])
def test_this_machine_is_answered(host: str) -> None:
    assert send(fresh(), "/layer.json", host=host).status_code == 200


@pytest.mark.parametrize(
    "host", ["[::2]", "[::1", "::1", "[::1]x", "[::1]:x", "localhost:1:2", "localhost.", "evil.example", "127.0.0.1@x"]
)
def test_no_other_is(host: str) -> None:
    assert send(fresh(), "/layer.json", host=host).status_code == 400


# --- pages elsewhere

ELSEWHERE = {
    "another site": {"sec_fetch_site": "cross-site"},
    "another port": {"sec_fetch_site": "same-site", "origin": "http://127.0.0.1:9000"},
    "an origin without the other header": {"origin": "http://evil.example"},
    "the same name at another port": {"origin": "http://127.0.0.1:9000"},
    "another page in our name": {"sec_fetch_site": "cross-site", "origin": f"http://{HOST}"},
    "no origin that has a name": {"origin": "null"},
    "an origin that is none": {"origin": "http://[evil"},
    "an empty origin": {"origin": ""},
    "a name that begins like ours": {"origin": f"http://{HOST}.evil.example"},
    "the headers do not agree": {"sec_fetch_site": "same-origin", "origin": "http://evil.example"},
    "a link": {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"},
}
HERE: dict[str, dict[str, str]] = {
    "no browser": {},
    "a page of ours": {"sec_fetch_site": "same-origin", "origin": f"http://{HOST}"},
    "an old browser": {"origin": f"http://{HOST}"},
    "behind a tunnel that encrypts": {"origin": f"https://{HOST}"},
    "the user": {"sec_fetch_site": "none"},
}


@pytest.mark.parametrize("headers", ELSEWHERE.values(), ids=ELSEWHERE)
@pytest.mark.parametrize("path", ["/weigh", "/layer", "/layer.json", "/nowhere"])
def test_a_form_elsewhere_sends_nothing(headers: dict[str, str], path: str) -> None:
    answer = send(fresh(), path, "POST", **headers)
    assert answer.status_code == 403
    assert answer.json() == {"error": "only pages of this app may"}


@pytest.mark.parametrize("headers", HERE.values(), ids=HERE)
def test_a_form_here_does(headers: dict[str, str]) -> None:
    assert send(fresh(), "/layer", "POST", **headers).status_code == 405


@pytest.mark.parametrize(
    ("site", "dest", "status"),
    [
        ("same-origin", "empty", 200),
        ("none", "document", 200),
        ("cross-site", "document", 200),
        ("cross-site", "image", 403),
        ("cross-site", "script", 403),
        ("cross-site", "iframe", 403),
        ("same-site", "empty", 403),
    ],
)
def test_a_page_elsewhere_may_link_here_and_no_more(site: str, dest: str, status: int) -> None:
    """A picture elsewhere would make this machine work."""
    answer = send(fresh(), "/layer", sec_fetch_site=site, sec_fetch_dest=dest, accept="text/html")
    assert answer.status_code == status
    if status == 403:
        assert "Another page asked for this" in read(answer.text).text


# --- methods


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO", "CONNECT"])
def test_a_method_that_an_address_does_not_take_is_said(method: str) -> None:
    answer = send(fresh(), "/layer", method)
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}
    assert answer.json() == {"error": f"{method} is nothing that this address takes"}


@pytest.mark.parametrize("path", ["/", "/layer?k=5", "/layer.json", "/layer.json?k=0", "/static/app.js", "/nowhere"])
def test_head_is_get_without_its_end(path: str) -> None:
    app = fresh()
    full, head = send(app, path), send(app, path, "HEAD")
    assert (head.status_code, head.headers) == (full.status_code, full.headers)


# --- answers that nobody waits for, and faults


class Client:
    """One that sends ``body`` in parts and then goes away, unless it ``stays``."""

    def __init__(self, *body: bytes, stays: bool = False) -> None:
        self.messages: list[Message] = [
            {"type": "http.request", "body": part, "more_body": place + 1 < len(body)}
            for place, part in enumerate(body)
        ]
        self.stays = stays
        self.got: list[Message] = []

    async def receive(self) -> Message:
        await asyncio.sleep(0)
        if self.messages:
            return self.messages.pop(0)
        if self.stays:
            await asyncio.get_running_loop().create_future()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.got.append(message)

    def ask(self, app: ASGIApp, method: str) -> None:
        scope: Scope = {
            "type": "http",
            "method": method,
            "path": "/",
            "query_string": b"",
            "headers": [(b"host", HOST.encode())],
            "server": ("127.0.0.1", 8631),
        }
        run_apart(Guard(app, Door())(scope, self.receive, self.send))


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_answer_is_given_up_where_its_client_goes_away(method: str) -> None:
    """What the app was asked for ends with it; it has read its body before."""
    ended = []

    async def app(scope: Scope, receive: Any, send: Any) -> None:
        ended.append(await Request(scope, receive).body())
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            ended.append(b"cancelled")
            raise

    client = Client(b"a", b"b")
    client.ask(app, method)
    assert ended == [b"ab" if method == "POST" else b"", b"cancelled"]
    assert client.got == []


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_answer_ends_the_wait_for_its_client(method: str) -> None:
    async def app(scope: Scope, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    client = Client(b"a", stays=True)
    client.ask(app, method)
    assert [one["type"] for one in client.got] == ["http.response.start", "http.response.body"]


def test_a_fault_of_a_job_is_one_line_in_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    async def app(scope: Scope, receive: Any, send: Any) -> None:
        raise Fault(f"internal error: ValueError: \x1b[31m\n{'x' * 9000}")

    Client(stays=True).ask(app, "GET")
    said = capsys.readouterr().err
    assert said.startswith("weighbridge: internal error: ValueError: \\x1b[31m\\nxxx")
    assert said.count("\n") == 1
    assert len(said) < 700


@pytest.mark.parametrize("path", ["/weighed?model=lenet5", "/weighed.json?model=lenet5"])
@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (Busy("too much at once", hint="try again in a minute"), 503, "too much at once; try again in a minute"),
        (Fault("internal error: ValueError: secret"), 500, "a fault of weighbridge, not yours"),
    ],
    ids=["busy", "fault"],
)
def test_what_a_job_comes_to_is_said_by_the_page(
    path: str, error: Exception, status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Other(Work):
        async def done(self, job: Any, *arguments: object) -> bytes:
            raise error

    answer = send(application(Shelf(tmp_path, tmp_path), Other()), path)
    assert answer.status_code == status
    assert said in answer.text
    assert answer.headers.get("retry-after") == ("60" if status == 503 else None)
    assert "secret" not in answer.text
    terminal = capsys.readouterr().err
    assert terminal == ("weighbridge: internal error: ValueError: secret\n" if status == 500 else "")
    if status == 500 and ".json" not in path:
        assert "This page failed" in read(answer.text).text
