"""Jobs in processes of their own: what each bad kind of them comes to, what they leave behind, and what they may not do."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.web import some_jobs
from tests.web.loops import run_apart
from weighbridge.errors import BadModel, BadSpec, NeedsShape, WeighbridgeError
from weighbridge.web import work as module
from weighbridge.web.work import Busy, Fault, Limits, Work

SHORT = Limits(seconds=1.0, memory_bytes=1 << 30, answer_bytes=1 << 20)


@pytest.fixture
def work() -> Iterator[Work]:
    made = Work(Limits(memory_bytes=1 << 30, answer_bytes=1 << 20))
    yield made
    made.close()


@pytest.fixture
def short() -> Iterator[Work]:
    made = Work(SHORT)
    yield made
    made.close()


def until(condition: Callable[[], bool]) -> None:
    """Wait for it: what runs in another thread or process tells nobody."""
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never was")


def test_the_bytes_of_a_job_come_back(work: Work) -> None:
    every = bytes(range(256)) * 4000
    assert work.do(some_jobs.echo, every) == every
    assert work.do(some_jobs.echo, b"") == b""
    assert run_apart(work.done(some_jobs.echo, b"=!?")) == b"=!?"


def test_each_job_has_a_process_of_its_own(work: Work) -> None:
    found = {work.do(some_jobs.pid) for _ in range(3)}
    assert len(found) == 3
    until(lambda: not any(psutil.pid_exists(int(one)) for one in found))


def test_an_error_of_ours_comes_back_whole(work: Work) -> None:
    for kind, expected in (("model", BadModel), ("shape", NeedsShape)):
        with pytest.raises(expected) as caught:
            work.do(some_jobs.refuse, kind)
        error = caught.value
        assert (error.what, error.where, error.hint) == (r"what\x1b[31m \ud800", "where", "hint")
        assert error.details == ("one", "two")


def test_an_error_of_a_kind_that_is_not_known_here_is_of_the_nearest(work: Work) -> None:
    with pytest.raises(BadSpec) as caught:
        work.do(some_jobs.refuse, "surprising")
    assert type(caught.value) is BadSpec


FAULTS = {
    "other": r"internal error: ValueError: secret\\x1b\[31m\\nx+…; this is a fault of weighbridge",
    "mute": "internal error: Mute: ; ",
    "exit": "internal error: SystemExit: 3; ",
    "interrupt": "internal error: KeyboardInterrupt: ; ",
    "no bytes": "internal error: TypeError: ",
    "group": "internal error: ExceptionGroup: several",
}


@pytest.mark.parametrize("kind", FAULTS)
def test_any_other_exception_is_a_fault_of_ours(kind: str, work: Work) -> None:
    with pytest.raises(Fault, match=FAULTS[kind]) as caught:
        work.do(some_jobs.fail, kind)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("kind", ["exit", "kill", "segv", "abort"])
def test_a_job_that_ends_its_process_is_said(kind: str, work: Work) -> None:
    with pytest.raises(BadModel, match="whatever is in this ended the process that read it; look at it on the command"):
        work.do(some_jobs.die, kind)
    assert work.do(some_jobs.echo, b"next") == b"next"


@pytest.mark.parametrize("kind", ["sleep", "turn", "stop"])
def test_a_job_that_is_not_done_in_time_is_ended(kind: str, short: Work) -> None:
    with pytest.raises(
        BadModel, match="this takes longer than the 1 s that it gets here; the command line has no such"
    ):
        short.do(some_jobs.hang, kind)


def test_half_an_answer_is_not_waited_for(short: Work) -> None:
    with pytest.raises(BadModel, match="this takes longer than the 1 s"):
        short.do(some_jobs.half, 1000)


def test_recursion_and_memory_are_said_as_what_they_are(work: Work) -> None:
    with pytest.raises(BadModel, match="this is nested deeper than can be followed"):
        work.do(some_jobs.recurse)
    with pytest.raises(BadModel, match="this takes more than the 1,024 MiB of memory that it gets here"):
        work.do(some_jobs.fill, 8 << 30)


def test_an_answer_that_is_too_large_is_not_taken(work: Work) -> None:
    assert len(work.do(some_jobs.fill, (1 << 20) - 1)) == (1 << 20) - 1
    for size in (1 << 20, 100 << 20):
        with pytest.raises(BadModel, match="what is to be said of this is larger than the 1,048,576 B"):
            work.do(some_jobs.fill, size)


FORGED = [
    b"",
    b"x",
    b"!",
    b"!{}",
    b"!null",
    b"![]",
    b'!{"kind": "printable", "what": "x"}',
    b"!" + b"[" * 100_000,
    b"!\xff",
]
FORGED += [b'!{"kind": "BadSpec", "what": 1, "where": [], "hint": {}, "details": 5}', b'!{"kind": ["BadSpec"]}']


@pytest.mark.parametrize("content", FORGED, ids=lambda content: str(content)[:30])
def test_what_no_process_of_ours_sends_is_no_more_than_text(content: bytes, work: Work) -> None:
    with pytest.raises(BadModel, match="whatever is in this ended the process"):
        work.do(some_jobs.forge, content)


def test_an_answer_larger_than_was_agreed_is_not_taken_from_a_process_that_does_what_it_likes(work: Work) -> None:
    with pytest.raises(BadModel):
        work.do(some_jobs.half, 2_000_000_000)


def test_a_job_says_nothing_in_the_terminal(work: Work, capfd: pytest.CaptureFixture[str]) -> None:
    assert work.do(some_jobs.say) == b"done"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["write", "append", "remove", "make", "run", "system", "fork", "unpickle", "connect"])
def test_a_job_neither_writes_nor_asks_nor_starts_anything(kind: str, work: Work, tmp_path: Path) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        kept = tmp_path / "kept"
        if kind in ("append", "remove"):
            kept.write_text("kept")
        target = str(listening.getsockname()[1]) if kind == "connect" else str(kept)
        with pytest.raises(Fault, match=r"PermissionError: a job (writes no file|has no use for)"):
            work.do(some_jobs.reach, kind, target)
        assert [one.read_text() for one in tmp_path.iterdir()] == (["kept"] if kind in ("append", "remove") else [])


def test_more_than_may_wait_is_said_at_once(short: Work) -> None:
    few = Work(SHORT, at_once=1, waiting=1)

    async def three() -> list[Any]:
        asked = [few.done(some_jobs.hang, "sleep"), few.done(some_jobs.echo, b"2"), few.done(some_jobs.echo, b"3")]
        return await asyncio.gather(*asked, return_exceptions=True)

    slow, second, third = run_apart(three())
    assert isinstance(slow, BadModel)
    assert second == b"2"
    assert str(third) == "too much is being weighed at once; try again in a minute"
    assert isinstance(third, Busy)
    assert few.do(some_jobs.echo, b"4") == b"4"
    few.close()


def test_many_at_once_are_all_done(work: Work) -> None:
    async def many() -> list[bytes]:
        return await asyncio.gather(*(work.done(some_jobs.echo, str(one).encode()) for one in range(40)))

    assert run_apart(many()) == [str(one).encode() for one in range(40)]


def children() -> set[int]:
    """The processes that jobs run in: children of the process that forks them."""
    return {one.pid for one in psutil.Process().children(recursive=True) if one.status() != psutil.STATUS_ZOMBIE}


@pytest.mark.parametrize("is_running", [True, False], ids=["running", "waiting"])
def test_a_job_that_nobody_waits_for_is_ended(is_running: bool) -> None:
    one = Work(at_once=1)
    one.do(some_jobs.echo, b"")
    before = children()

    async def leave() -> None:
        first = asyncio.ensure_future(one.done(some_jobs.hang, "sleep"))
        while not children() - before:
            await asyncio.sleep(0.01)
        leaving = first if is_running else asyncio.ensure_future(one.done(some_jobs.hang, "sleep"))
        await asyncio.sleep(0.01)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)

    run_apart(leave())
    assert one.do(some_jobs.echo, b"next") == b"next"
    until(lambda: not children() - before)
    assert one._running == set()
    one.close()


def test_closing_ends_what_runs_and_what_waits() -> None:
    one = Work(at_once=1)
    one.do(some_jobs.echo, b"")
    before, threads = children(), threading.active_count()

    async def closed() -> list[Any]:
        asked = [asyncio.ensure_future(one.done(some_jobs.hang, "sleep")) for _ in range(3)]
        while not children() - before:
            await asyncio.sleep(0.01)
        one.close()
        return await asyncio.gather(*asked, return_exceptions=True)

    assert [str(error) for error in run_apart(closed())] == ["the app is ending"] * 3
    until(lambda: not children() - before)
    assert threading.active_count() <= threads
    for late in (lambda: one.do(some_jobs.pid), lambda: run_apart(one.done(some_jobs.pid))):
        with pytest.raises(Busy, match="the app is ending"):
            late()
    one.close()


def test_nothing_is_left_of_jobs_however_they_end(short: Work) -> None:
    """Files, threads and processes are as many after forty as after one."""

    def each() -> None:
        for job, argument in (
            (some_jobs.echo, b""),
            (some_jobs.die, "kill"),
            (some_jobs.fail, "exit"),
            (some_jobs.fill, 2 << 20),
            (some_jobs.forge, b"x"),
        ):
            try:
                short.do(job, argument)  # type: ignore[arg-type]
            except (WeighbridgeError, Fault):
                continue

    each()
    gc.collect()
    me = psutil.Process()
    before = me.num_fds(), threading.active_count(), len(me.children(recursive=True))
    for _ in range(8):
        each()
    gc.collect()
    until(lambda: (me.num_fds(), threading.active_count(), len(me.children(recursive=True))) == before)


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), EOFError()], ids=["files", "end"])
def test_a_process_that_cannot_be_started_is_said(
    error: Exception, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.do(some_jobs.echo, b"")
    before = psutil.Process().num_fds()

    def start(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(module._context().Process, "start", start)  # type: ignore[attr-defined]
        with pytest.raises(Busy, match="no process can be started for this"):
            work.do(some_jobs.echo, b"")
    with monkeypatch.context() as patch:
        patch.setattr(module, "_context", lambda: type("Full", (), {"Pipe": staticmethod(start)}))
        if isinstance(error, OSError):
            with pytest.raises(Busy, match="no process can be started for this"):
                work.do(some_jobs.echo, b"")
    assert psutil.Process().num_fds() == before
    assert work.do(some_jobs.echo, b"next") == b"next"


def test_without_a_fork_it_comes_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, where each process imports everything anew."""
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    module._context.cache_clear()
    try:
        spawned = Work(at_once=1)
        assert module._context().get_start_method() == "spawn"
        assert spawned.do(some_jobs.echo, b"abc") == b"abc"
        with pytest.raises(NeedsShape):
            spawned.do(some_jobs.refuse, "shape")
        with pytest.raises(BadModel, match="ended the process"):
            spawned.do(some_jobs.die, "exit")
        spawned.close()
    finally:
        module._context.cache_clear()
