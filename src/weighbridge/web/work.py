"""Work of which a file decides how long it takes: in a process of its own, which gets so much time and memory and no more.

A job is a function at the top of a module, of plain arguments, that returns bytes.  Bytes alone come back, so that whatever a
hostile file does to the process that reads it, nothing it sends is more than text to us.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from typing import Any, Final

from weighbridge import errors
from weighbridge.errors import BadModel, WeighbridgeError, internal
from weighbridge.named_tuple import NamedTuple

__all__ = ["LIMITS", "Busy", "Fault", "Limits", "Work"]

Job = Callable[..., bytes]

_PRELOADED: Final = (
    "weighbridge.changing",
    "weighbridge.comparing",
    "weighbridge.counts",
    "weighbridge.estimates",
    "weighbridge.frontends.from_onnx",
    "weighbridge.frontends.from_tflite",
    "weighbridge.frontends.from_toml",
    "weighbridge.memory",
    "weighbridge.passes",
    "weighbridge.report.comparison_html",
    "weighbridge.report.html_file",
    "weighbridge.report.json",
    "weighbridge.textbook",
    "weighbridge.training",
    "weighbridge.web.jobs",
    "weighbridge.web.warm",
)
"""What a job needs of modules: the process that the others are forked from has them already."""
_GOOD: Final = b"="
_OURS: Final = b"!"
_INTERNAL: Final = b"?"
_HINT: Final = "the command line has no such limit: weighbridge weigh FILE"


class Limits(NamedTuple):
    """What one job may take.  Memory is limited where the system can do that to a process: Linux, not macOS, not Windows."""

    seconds: float = 60.0
    memory_bytes: int = 4 << 30
    answer_bytes: int = 256 << 20


LIMITS: Final = Limits()


class Busy(WeighbridgeError):
    """So many jobs wait already that another one would not be done in time."""


class Fault(Exception):
    """A job met a fault of ours; the text says which, and is for the terminal."""


class Work:
    """Does jobs, ``at_once`` of them, while at most ``waiting`` others wait."""

    def __init__(self, limits: Limits = LIMITS, at_once: int = 2, waiting: int = 64) -> None:
        self.limits = limits
        self._turns = threading.BoundedSemaphore(at_once)
        self._threads = ThreadPoolExecutor(at_once, "work")
        self._room = at_once + waiting
        self._running: set[Any] = set()
        self._kept: dict[Job, Future[bytes]] = {}
        self._lock = threading.Lock()
        self._is_closed = False

    def prepare(self) -> None:
        """Start the process that all others are forked from, so that the first job does not wait until it has imported everything."""
        if _context().get_start_method() != "forkserver":
            return
        from multiprocessing.forkserver import ensure_running

        # Ctrl-C ends the app, which ends the others: one that is still importing would say where it was.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    async def kept(self, job: Job) -> bytes:
        """What ``job``, of no arguments, returns: done by whoever asks first, and kept.  A failure is not kept.

        Raises what ``do`` does.
        """
        with self._lock:
            found = self._kept.get(job)
            if found is None:
                found = self._kept[job] = self._threads.submit(self.do, job)
        try:
            return await asyncio.shield(asyncio.wrap_future(found))  # who no longer waits ends it for nobody else
        except (WeighbridgeError, Fault):
            with self._lock:
                if self._kept.get(job) is found:
                    del self._kept[job]
            raise

    async def done(self, job: Job, *arguments: object) -> bytes:
        """What ``job`` returns, done in a thread beside those that answer everything else.

        Raises what ``do`` does, and ``Busy``.
        """
        with self._lock:
            if self._room <= 0:
                raise Busy("too much is being weighed at once", hint="try again in a minute")
            self._room -= 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, partial(self.do, job, *arguments))
        finally:
            with self._lock:
                self._room += 1

    def do(self, job: Job, *arguments: object) -> bytes:
        """What ``job`` returns, waiting for it.

        Raises the error of ours that the job raises, ``BadModel`` where it takes more than it may, ``Fault`` for anything else.
        """
        with self._turns:
            self.prepare()
            here, there = _context().Pipe(duplex=False)
            process = _context().Process(target=_serve, args=(there, self.limits, job, arguments), daemon=True)  # type: ignore[attr-defined]
            process.start()
            there.close()
            with self._lock:
                self._running.add(process)
                is_closed = self._is_closed
            try:
                return _said(b"" if is_closed else self._heard(here))
            finally:
                here.close()
                process.kill()
                process.join()
                with self._lock:
                    self._running.discard(process)
                process.close()

    def close(self) -> None:
        """End what is running: nobody waits for it any more."""
        with self._lock:
            self._is_closed = True
            for process in self._running:
                with suppress(ValueError):
                    process.kill()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _heard(self, here: Connection) -> bytes:
        if not here.poll(self.limits.seconds):
            raise BadModel(f"this takes longer than the {self.limits.seconds:g} s that it gets here", hint=_HINT)
        try:
            return here.recv_bytes(self.limits.answer_bytes)
        except EOFError:
            return b""
        except OSError:
            what = f"what is to be said of this is larger than the {self.limits.answer_bytes:,} B that it gets here"
            raise BadModel(what, hint=_HINT) from None


@cache
def _context() -> BaseContext:
    """Where it can be, each process is forked from one that has imported everything and read nothing; a fork of this one would inherit
    its threads' locks.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(list(_PRELOADED))
    return found


def _said(answer: bytes) -> bytes:
    kind, content = answer[:1], answer[1:]
    if kind == _GOOD:
        return content
    if kind == _OURS:
        error = json.loads(content)
        raise getattr(errors, error["kind"])(
            error["what"], where=error["where"], hint=error["hint"], details=error["details"]
        )
    if kind == _INTERNAL:
        raise Fault(content.decode())
    raise BadModel("whatever is in this ended the process that read it", hint="look at it on the command line")


def _serve(there: Connection, limits: Limits, job: Job, arguments: tuple[object, ...]) -> None:
    """Do ``job`` in this process and send what it comes to."""
    try:
        _limit(limits)
        answer = _GOOD + job(*arguments)
    except WeighbridgeError as error:
        answer = _told(error)
    except (MemoryError, RecursionError):
        what = f"this takes more than the {limits.memory_bytes >> 20:,} MiB of memory that it gets here"
        answer = _told(BadModel(what, hint=_HINT))
    except Exception as error:
        answer = _INTERNAL + internal(error).encode()
    with suppress(OSError):  # nobody listens any more
        there.send_bytes(answer)


def _told(error: WeighbridgeError) -> bytes:
    said = {"what": error.what, "where": error.where, "hint": error.hint, "details": error.details}
    return _OURS + json.dumps({"kind": type(error).__name__, **said}).encode()


def _limit(limits: Limits) -> None:
    if sys.platform == "win32":
        return
    import resource

    for what, most in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, int(limits.seconds) + 5),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):  # macOS knows some of these and keeps to none
            resource.setrlimit(what, (most, most))
