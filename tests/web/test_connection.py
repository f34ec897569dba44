"""Connections that a client keeps without a use: no request, half of one, an answer that it does not take; each is ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from tests.web.loops import run_apart
from weighbridge.web import connection
from weighbridge.web.connection import Connection

LARGE = bytes(64 << 20)
Use = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[Any]]


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers at once, late, or with more than any buffer holds."""
    if scope["path"] == "/late":
        await asyncio.sleep(0.5)
    content = LARGE if scope["path"] == "/large" else b"ok"
    headers = [(b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def used(use: Use, *, at_once: int = 1) -> tuple[list[Any], ServerState]:
    """What comes of using so many connections at once."""

    async def all_of_it() -> tuple[list[Any], ServerState]:
        config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none")
        config.load()
        state = ServerState()
        server = await asyncio.get_running_loop().create_server(
            lambda: Connection(config=config, server_state=state, app_state={}), "127.0.0.1", 0
        )
        port = server.sockets[0].getsockname()[1]

        async def one() -> Any:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                return await asyncio.wait_for(use(reader, writer), 20)
            finally:
                writer.close()

        found = await asyncio.gather(*(one() for _ in range(at_once)), return_exceptions=True)
        server.close()
        while state.connections:
            await asyncio.sleep(0.01)
        return found, state

    return run_apart(all_of_it())


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_PATIENCE_S", 0.1)


async def ended(reader: asyncio.StreamReader) -> str:
    try:
        while await reader.read(65536):
            pass
    except ConnectionResetError:
        pass
    return "ended"


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX: "], ids=["none", "half", "headers"]
)
def test_one_without_a_whole_request_is_ended(sent: bytes) -> None:
    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        writer.write(sent)
        return await ended(reader)

    assert used(use)[0] == ["ended"]


def test_one_whose_second_request_never_ends_is_ended() -> None:
    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"ok" in await reader.readuntil(b"ok")
        writer.write(b"GET / HT")
        return await ended(reader)

    assert used(use)[0] == ["ended"]


def test_one_that_takes_no_answer_is_ended() -> None:
    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        await asyncio.sleep(1)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await reader.readexactly(len(LARGE))
        return "ended"

    assert used(use)[0] == ["ended"]


def test_one_that_waits_for_its_answer_or_takes_it_stays() -> None:
    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        for path in (b"/late", b"/large", b"/"):
            writer.write(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split()[0])
            await reader.readexactly(length)
        return length

    assert used(use)[0] == [2]


def test_more_connections_than_there_are_files_for_are_ended_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_MOST", 3)

    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(0.05)
        writer.write(b"GET /late HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return (await reader.read()).endswith(b"ok")

    found, _ = used(use, at_once=6)
    assert sum(one is True for one in found) == 3


def test_a_body_that_goes_on_behind_its_answer_is_cut() -> None:
    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000000\r\n\r\n")
        await reader.readuntil(b"ok")
        sent = 0
        try:
            while sent < 3_000_000_000:
                writer.write(bytes(1 << 20))
                await writer.drain()
                sent += 1 << 20
        except ConnectionError:
            pass
        return sent

    [sent], _ = used(use)
    assert connection._DROPPED <= sent < 10 * connection._DROPPED
