"""What a request may bring: the form that comes out of it, and every way in which it is too large, too slow or no form."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.web.loops import run_apart
from weighbridge.errors import WeighbridgeError
from weighbridge.web import bodies
from weighbridge.web.bodies import FORM, Most, Room, form_of, in_json

MULTIPART = {"content-type": "multipart/form-data; boundary=abc"}


def app_of(most: Most = FORM, room: Room | None = None) -> Starlette:
    """An app that says what form it got."""

    async def answer(request: Request) -> Response:
        try:
            async with form_of(request, most) as form:
                files = {
                    name: [(one.name, one.size_bytes, one.content.read().decode()) for one in several]
                    for name, several in form.files.items()
                }
                return JSONResponse({"fields": form.fields, "files": files, "last": form.one("a", "none")})
        except WeighbridgeError as error:
            return in_json(error)

    app = Starlette(routes=[Route("/", answer, methods=["POST"])])
    app.state.room = Room() if room is None else room
    return app


def post(app: Starlette, **arguments: Any) -> httpx.Response:
    async def once() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1") as client:
            return await client.post("/", **arguments)

    return run_apart(once())


def error(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


async def parts_of(parts: Iterable[bytes]) -> AsyncIterator[bytes]:
    """A body whose length nobody says."""
    for part in parts:
        yield part


def multipart(*parts: tuple[str, bytes]) -> bytes:
    return b"".join(b"--abc\r\n%s\r\n\r\n%s\r\n" % (head.encode(), body) for head, body in parts) + b"--abc--\r\n"


def field(name: str, more: str = "") -> str:
    return f'Content-Disposition: form-data; name="{name}"{more}'


@pytest.mark.parametrize(
    "sent",
    [{"data": {"a": ["1", "ü"], "b": ""}}, {"data": {"a": ["1", "ü"], "b": ""}, "files": {"f": ("é", b"abc")}}],
    ids=["plain", "multipart"],
)
def test_fields_have_all_their_values_in_order(sent: Any) -> None:
    found = post(app_of(), **sent).json()
    assert found["fields"] == {"a": ["1", "ü"], "b": [""]}
    assert found["last"] == "ü"
    assert found["files"] == ({"f": [["é", 3, "abc"]]} if "files" in sent else {})


def test_a_file_that_nobody_chose_is_none() -> None:
    body = multipart((field("f", '; filename=""'), b""), (field("g", '; filename="../x"'), b"1"))
    assert post(app_of(), content=body, headers=MULTIPART).json()["files"] == {"g": [["../x", 1, "1"]]}


def test_a_file_of_the_largest_size_is_taken_and_one_byte_more_is_not() -> None:
    most = Most(file_bytes=3 << 20)
    answer = post(app_of(most), files={"f": ("f", b"a" * (3 << 20))})
    assert answer.json()["files"]["f"][0][1] == 3 << 20
    too_large = (413, "this is larger than the 3 MiB that a file may have here; the command line has no such limit")
    assert error(post(app_of(most), files={"f": ("f", b"a" * ((3 << 20) + 1))})) == too_large
    halves = [("f", ("f", b"a" * (2 << 20))), ("g", ("g", b"a" * (2 << 20)))]
    assert error(post(app_of(most), files=halves)) == too_large


def test_a_length_that_is_too_large_is_refused_before_a_byte_is_read() -> None:
    def never() -> Iterable[bytes]:
        raise AssertionError("it was read")
        yield

    headers = {**MULTIPART, "content-length": str(3 << 30)}
    assert post(app_of(), content=parts_of(never()), headers=headers).status_code == 413


def test_a_length_that_nobody_said_is_counted() -> None:
    read = 0

    def endless() -> Iterable[bytes]:
        nonlocal read
        yield multipart((field("f", '; filename="f"'), b""))[:-11]
        while True:
            read += 1
            yield b"a" * 65536

    assert post(app_of(), content=parts_of(endless()), headers=MULTIPART).status_code == 413
    assert read <= 2 * 16 + 1


NO_FORMS: dict[str, tuple[dict[str, Any], int, str]] = {
    "other content": ({"content": b"x", "headers": {"content-type": "text/plain"}}, 415, "this is no form; send"),
    "no content type": ({"content": b"x"}, 415, "this is no form"),
    "no boundary": ({"content": b"x", "headers": {"content-type": "multipart/form-data"}}, 400, "Missing boundary"),
    "a boundary of 300": (
        {"content": b"x", "headers": {"content-type": f"multipart/form-data; boundary={'b' * 300}"}},
        400,
        "Invalid multipart data",
    ),
    "no parts": ({"content": b"x", "headers": MULTIPART}, 400, "Invalid multipart data"),
    "a part without a name": (
        {"content": multipart(("X: y", b"")), "headers": MULTIPART},
        400,
        '"name" must be provided',
    ),
    "many fields": ({"data": {f"a{n}": "1" for n in range(301)}}, 400, "Too many fields. Maximum number"),
    "many parts": (
        {"content": multipart(*[(field("a"), b"1")] * 301), "headers": MULTIPART},
        400,
        "Too many fields. Maximum number",
    ),
    "many files": ({"files": [("f", ("f", b"1"))] * 5}, 400, "Too many files. Maximum number of files is 4"),
    "a long field": ({"data": {"a": "1" * 65537}}, 400, "exceeded maximum size of 64KB"),
    "a long part": ({"content": multipart((field("a"), b"1" * 65537)), "headers": MULTIPART}, 400, "of 64KB"),
    "headers without an end": (
        {"content": multipart((f"X: {'y' * 9000}", b"")), "headers": MULTIPART},
        400,
        "Invalid multipart data",
    ),
}


@pytest.mark.parametrize(("sent", "status", "said"), NO_FORMS.values(), ids=NO_FORMS)
def test_what_is_no_form_is_said(sent: dict[str, Any], status: int, said: str) -> None:
    found = error(post(app_of(), **sent))
    assert found[0] == status
    assert said in found[1]


@pytest.mark.parametrize("charset", ["punycode", "zip", "no-such", '"a;b"', "idna"])
def test_a_character_set_that_the_request_names_means_nothing(charset: str) -> None:
    kind = f"multipart/form-data; charset={charset}; boundary=abc"
    body = multipart((field("a"), "ü-ü".encode()))
    assert post(app_of(), content=body, headers={"content-type": kind}).json()["last"] == "ü-ü"


def test_a_body_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is that of the test: each byte comes a second after the one before."""
    seconds = 0

    async def trickle() -> AsyncIterator[bytes]:
        nonlocal seconds
        loop = asyncio.get_running_loop()
        begun = loop.time()
        monkeypatch.setattr(loop, "time", lambda: begun + seconds, raising=False)
        yield multipart((field("f", '; filename="f"'), b""))[:-11]
        while True:
            seconds += 1
            await asyncio.sleep(0)
            yield b"a"

    found = error(post(app_of(), content=trickle(), headers=MULTIPART))
    assert found == (408, "this comes too slowly; send it again over a faster connection")
    assert seconds <= bodies._SLACK_S + 2


def test_bodies_have_so_much_room_together_and_give_it_back() -> None:
    room = Room(most_bytes=3000)
    app = app_of(room=room)
    too_much = (503, "too much is being uploaded at once; try again in a minute")
    with room.taken() as take:
        take(2000)
        assert error(post(app, files={"f": ("f", b"a" * 1500)})) == too_much
        chunked = multipart((field("f", '; filename="f"'), b"a" * 1500))
        assert error(post(app, content=parts_of([chunked[:800], chunked[800:]]), headers=MULTIPART)) == too_much
        assert post(app, data={"a": "1"}).status_code == 200
    assert post(app, files={"f": ("f", b"a" * 1500)}).status_code == 200
    assert room._left == 3000


@pytest.mark.parametrize("file", ["write", "seek"])
def test_a_disk_that_is_full_is_said(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> Callable[..., None]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"tempfile.SpooledTemporaryFile.{file}", full)
    found = error(post(app_of(), files={"f": ("f", b"a")}))
    assert found == (503, "the upload cannot be kept: No space left on device; make room on the disk")
