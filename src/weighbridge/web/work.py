"""Work of which a file decides how long it takes: in a process of its own, which gets so much time and memory and no more.

A job is a function at the top of a module, of plain arguments, that returns bytes; ``apart`` is what its process does.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from typing import Any, Final

from weighbridge.errors import WeighbridgeError
from weighbridge.web.apart import LIMITS, Fault, Job, Limits, heard, serve, too_large, too_long

__all__ = ["LIMITS", "Busy", "Fault", "Limits", "Work", "end_preparing"]

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
_ENDS: Final = "the app is ending"
_SLACK_S: Final = 5.0


class Busy(WeighbridgeError):
    """So many jobs wait already that another one would not be done in time."""


class _Turn:
    """One job, which can be ended at any time from any thread."""

    def __init__(self) -> None:
        self.is_over = False
        self._process: Any = None
        self._lock = threading.Lock()

    def begin(self, process: Any) -> None:
        """The process of this job has been started."""
        with self._lock:
            self._process = process
            if self.is_over:
                process.kill()

    def end(self) -> None:
        """Nobody waits for it any more."""
        with self._lock:
            self.is_over = True
            if self._process is not None:
                self._process.kill()

    def finish(self) -> None:
        """Nothing of it is left behind."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.join()
            process.close()


class Work:
    """Does jobs, ``at_once`` of them, while at most ``waiting`` others wait; and one beside these that is ``kept``."""

    def __init__(self, limits: Limits = LIMITS, at_once: int = 2, waiting: int = 64) -> None:
        self.limits = limits
        self._turns = threading.BoundedSemaphore(at_once)
        self._threads = ThreadPoolExecutor(at_once, "work")
        self._beside = ThreadPoolExecutor(1, "kept")
        self._room = at_once + waiting
        self._running: set[_Turn] = set()
        self._kept: dict[Job, Future[bytes]] = {}
        self._lock = threading.Lock()
        self._is_closed = False

    def prepare(self) -> None:
        """Start the process that all others are forked from, so that the first job does not wait until it has imported everything."""
        if _context().get_start_method() != "forkserver":
            return
        from multiprocessing import resource_tracker
        from multiprocessing.forkserver import ensure_running

        # Ctrl-C ends the app, which ends the others: one that is still importing would say where it was.  Whoever starts the tracker
        # lets signals through again, so that it comes first.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    async def kept(self, job: Job) -> bytes:
        """What ``job``, of no arguments, returns: done by whoever asks first, and kept.  A failure is not kept.

        One such job is done at once, beside those that ``done`` and ``do`` count: it is the app's own, and nobody who weighs something
        is to wait for it.  Raises what ``do`` does.
        """
        with self._lock:
            found = self._kept.get(job)
            if self._is_closed:
                raise Busy(_ENDS)
            if found is None:
                found = self._kept[job] = self._beside.submit(self._made, job)
        try:
            return await asyncio.shield(asyncio.wrap_future(found))  # who no longer waits ends it for nobody else
        except (WeighbridgeError, Fault):
            with self._lock:
                if self._kept.get(job) is found:
                    del self._kept[job]
            raise

    async def done(self, job: Job, *arguments: object) -> bytes:
        """What ``job`` returns, done in a thread beside those that answer everything else; ended where who waits for it is cancelled.

        Raises what ``do`` does.
        """
        turn = self._entered()
        try:
            waiting = self._threads.submit(self._done, turn, job, arguments)
        except RuntimeError:
            self._left(turn)
            raise Busy(_ENDS) from None
        waiting.add_done_callback(lambda _: self._left(turn))
        try:
            return await asyncio.wrap_future(waiting)
        except asyncio.CancelledError:
            turn.end()
            if self._is_closed and waiting.cancelled():
                raise Busy(_ENDS) from None
            raise

    def do(self, job: Job, *arguments: object) -> bytes:
        """What ``job`` returns, waiting for it.

        Raises the error of ours that the job raises, ``BadModel`` where it takes more than it may, ``Fault`` for anything else, and
        ``Busy`` where too many others wait.
        """
        turn = self._entered()
        try:
            return self._done(turn, job, arguments)
        finally:
            self._left(turn)

    def close(self) -> None:
        """End what is running, and wait until nothing of it is left; nobody waits for what it comes to any more."""
        with self._lock:
            self._is_closed = True
            running = list(self._running)
        for turn in running:
            turn.end()
        for threads in (self._threads, self._beside):
            threads.shutdown(wait=True, cancel_futures=True)

    def _entered(self) -> _Turn:
        with self._lock:
            if self._is_closed:
                raise Busy(_ENDS)
            if len(self._running) >= self._room:
                raise Busy("too much is being weighed at once", hint="try again in a minute")
            turn = _Turn()
            self._running.add(turn)
            return turn

    def _left(self, turn: _Turn) -> None:
        with self._lock:
            self._running.discard(turn)

    def _done(self, turn: _Turn, job: Job, arguments: tuple[object, ...]) -> bytes:
        with self._turns:
            return self._answered(turn, job, arguments)

    def _made(self, job: Job) -> bytes:
        turn = self._entered()
        try:
            return self._answered(turn, job, ())
        finally:
            self._left(turn)

    def _answered(self, turn: _Turn, job: Job, arguments: tuple[object, ...]) -> bytes:
        if turn.is_over:
            raise Busy(_ENDS)
        here, there = _pipe()
        clock = threading.Timer(self.limits.seconds, turn.end)
        clock.daemon = True
        try:
            turn.begin(self._started(there, job, arguments))
            clock.start()
            answer = self._heard(here)
        finally:
            clock.cancel()
            here.close()
            there.close()
            turn.finish()
        if answer or not turn.is_over:
            return heard(answer)
        raise Busy(_ENDS) if self._is_closed else too_long(self.limits)

    def _started(self, there: Connection, job: Job, arguments: tuple[object, ...]) -> Any:
        try:
            self.prepare()
            process = _context().Process(target=serve, args=(there, self.limits, job, arguments), daemon=True)  # type: ignore[attr-defined]
            process.start()
        except (OSError, EOFError) as error:
            raise Busy(
                f"no process can be started for this ({type(error).__name__})", hint="try again in a minute"
            ) from None
        there.close()
        return process

    def _heard(self, here: Connection) -> bytes:
        """All that the process sends, until it ends."""
        if not here.poll(self.limits.seconds + _SLACK_S):  # it has been ended, and something that it started has not
            return b""
        try:
            return here.recv_bytes(self.limits.answer_bytes)
        except EOFError:
            return b""
        except OSError as error:
            if "end of file" in str(error):  # it ended in the middle of what it said
                return b""
            raise too_large(self.limits) from None


def end_preparing() -> None:
    """End the process that others are forked from, although it may still import: what waits for it then ends as well."""
    if _context().get_start_method() != "forkserver":
        return
    from multiprocessing import forkserver

    one = vars(forkserver)["_forkserver"]  # which says nowhere else what its process is
    process = getattr(one, "_forkserver_pid", None)
    if process is not None:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)


def _pipe() -> tuple[Connection, Connection]:
    try:
        return _context().Pipe(duplex=False)
    except OSError as error:
        raise Busy(f"no process can be started for this ({error.strerror})", hint="try again in a minute") from None


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
