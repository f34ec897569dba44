"""What the app does before anybody asks for it, once, and what it falls back on where that fails."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from weighbridge.errors import BadModel, BadSpec
from weighbridge.report.assets import library
from weighbridge.web.ahead import Ahead, charts
from weighbridge.web.jobs import chart_library, report_page
from weighbridge.web.pages import around
from weighbridge.web.work import Busy, Fault, Limits, Work


def process() -> bytes:
    return str(os.getpid()).encode()


def endless() -> bytes:
    time.sleep(600)
    return b""


def refused() -> bytes:
    raise BadSpec(f"no {os.getpid()}")


T = TypeVar("T")


def apart(ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What ``ask`` comes to in a thread of its own: in that of the tests a browser of others may have an event loop that runs."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(ask())).result()


@pytest.fixture
def work() -> Iterator[Work]:
    one = Work()
    yield one
    one.close()


def test_what_is_kept_is_done_once_for_all_who_ask(work: Work) -> None:
    async def ask() -> list[bytes]:
        first = await asyncio.gather(*(work.kept(process) for _ in range(5)))
        return [*first, await work.kept(process)]

    assert len(set(apart(ask))) == 1


def test_a_failure_is_not_kept(work: Work) -> None:
    async def ask() -> str:
        with pytest.raises(BadSpec, match="no ") as caught:
            await work.kept(refused)
        return caught.value.what

    assert apart(ask) != apart(ask)


def test_who_no_longer_waits_ends_it_for_nobody_else(work: Work) -> None:
    async def ask() -> bytes:
        gone = asyncio.create_task(work.kept(process))
        other = asyncio.create_task(work.kept(process))
        await asyncio.sleep(0)
        gone.cancel()
        return await other

    assert int(apart(ask)) != os.getpid()


def test_nobody_waits_for_what_the_app_makes_for_itself() -> None:
    work = Work(at_once=1)

    async def ask() -> bool:
        made = asyncio.create_task(work.kept(endless))
        while not work._running:  # it has a turn
            await asyncio.sleep(0.01)
        assert int(await work.done(process)) != os.getpid()
        is_made = made.done()
        work.close()
        with pytest.raises(Busy):
            await made
        return is_made

    assert not apart(ask)


def test_preparing_leaves_ctrl_c_to_the_app(work: Work) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    work.prepare()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    assert work.do(process)


def test_the_library_of_charts_is_that_of_the_report_and_made_in_a_process_of_its_own(work: Work) -> None:
    assert work.do(chart_library) == library().encode()
    assert apart(lambda: charts(work)) == library().encode()


def test_where_a_process_gets_too_little_for_it_this_one_makes_it() -> None:
    work = Work(Limits(memory_bytes=1))
    with pytest.raises((BadModel, BadSpec, Fault)):
        work.do(chart_library)
    assert apart(lambda: charts(work)) == library().encode()
    work.close()


class Recorded(Work):
    """Notes what it is asked for, and does nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def prepare(self) -> None:
        self.asked.append("prepare")

    async def kept(self, job: Callable[..., bytes]) -> bytes:
        self.asked.append(job.__name__)
        return b""


def test_it_begins_after_the_first_answer_and_once() -> None:
    work, seen = Recorded(), []

    async def page(scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
        seen.append(list(work.asked))
        await send({})

    async def send(message: Any) -> None:
        seen.append(list(work.asked))

    async def ask() -> None:
        app = Ahead(page, work)
        for kind in ("lifespan", "http", "http"):
            await app({"type": kind}, send, send)  # type: ignore[arg-type]
            await asyncio.sleep(0.01)
            seen.append(list(work.asked))

    apart(ask)
    begun = ["prepare", "chart_library"]
    assert seen == [[], [], [], [], [], begun, begun, begun, begun]
    work.close()


def drawn_ahead() -> bytes:
    from weighbridge.web.warm import ORDER

    return report_page(ORDER, around())


def test_the_page_that_is_made_ahead_can_be_made(work: Work) -> None:
    assert work.do(drawn_ahead).startswith(b"<!doctype html>")
