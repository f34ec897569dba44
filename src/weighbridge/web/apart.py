"""What a job does in a process of its own, and how it says what came of it.

Bytes alone come back, so that whatever a hostile file does to the process that reads it, nothing it sends is more than text to us.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Final

from weighbridge import errors
from weighbridge.errors import BadModel, WeighbridgeError, internal
from weighbridge.named_tuple import NamedTuple

__all__ = ["LIMITS", "Fault", "Job", "Limits", "heard", "serve", "too_large", "too_long"]

Job = Callable[..., bytes]

_GOOD: Final = b"="
_OURS: Final = b"!"
_INTERNAL: Final = b"?"
_HINT: Final = "the command line has no such limit: weighbridge weigh FILE"
_KINDS: Final = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, WeighbridgeError)
}
_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FORBIDDEN: Final = (
    *("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.system", "pty.spawn"),
    *("subprocess.Popen", "pickle.find_class", "ftplib.connect", "http.client.connect", "urllib.Request"),
    *("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate"),
    *("socket.bind", "socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendmsg", "socket.sendto"),
)
"""What Python tells of before it does it, and no job has a use for."""


class Limits(NamedTuple):
    """What one job may take.  Memory is limited where the system can do that to a process: Linux, not macOS, not Windows."""

    seconds: float = 60.0
    memory_bytes: int = 4 << 30
    answer_bytes: int = 256 << 20


LIMITS: Final = Limits()


class Fault(Exception):
    """A job met a fault of ours; the text says which, and is for the terminal."""


def too_long(limits: Limits) -> BadModel:
    """What is said of a job that is not done in time."""
    return BadModel(f"this takes longer than the {limits.seconds:g} s that it gets here", hint=_HINT)


def too_large(limits: Limits) -> BadModel:
    """What is said of a job whose answer is too large."""
    return BadModel(
        f"what is to be said of this is larger than the {limits.answer_bytes:,} B that it gets here", hint=_HINT
    )


def serve(there: Connection, limits: Limits, job: Job, arguments: tuple[object, ...]) -> None:
    """Do ``job`` in this process and send what it comes to."""
    try:
        _confine(limits)
        answer = _GOOD + job(*arguments)
        if len(answer) > limits.answer_bytes:
            raise too_large(limits)
    except WeighbridgeError as error:
        answer = _told(error)
    except MemoryError:
        what = f"this takes more than the {limits.memory_bytes >> 20:,} MiB of memory that it gets here"
        answer = _told(BadModel(what, hint=_HINT))
    except RecursionError:
        answer = _told(BadModel("this is nested deeper than can be followed", hint="make it flatter"))
    except BaseException as error:  # also what would end the process without a word
        if os.environ.get("WEIGHBRIDGE_DEBUG") == "1":
            traceback.print_exc()
        answer = _INTERNAL + internal(error).encode(errors="replace")
    with suppress(OSError):  # nobody listens any more
        there.send_bytes(answer)


def heard(answer: bytes) -> bytes:
    """What the job returned whose process sent ``answer``.

    Raises the error of ours that the job raised, ``Fault`` for another one, and ``BadModel`` where the process sent nothing that it
    could have meant.
    """
    kind, content = answer[:1], answer[1:]
    if kind == _GOOD:
        return content
    if kind == _INTERNAL:
        raise Fault(content.decode(errors="replace"))
    if kind == _OURS:
        with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
            said = json.loads(content)
            error = _KINDS[said["kind"]]
            raise error(said["what"], where=said["where"], hint=said["hint"], details=said["details"])
    raise BadModel("whatever is in this ended the process that read it", hint="look at it on the command line")


def _told(error: WeighbridgeError) -> bytes:
    kind = next(one.__name__ for one in type(error).__mro__ if one.__name__ in _KINDS)
    said = {"what": error.what, "where": error.where, "hint": error.hint, "details": error.details}
    return _OURS + json.dumps({"kind": kind, **said}).encode()


def _confine(limits: Limits) -> None:
    """From here on this process says nothing in the terminal, writes no file, asks no other machine and starts nothing.

    Against what a file makes of our own code: a process in which a library has been overrun can do what the user can.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the app, and that ends this
    sys.dont_write_bytecode = True
    if os.environ.get("WEIGHBRIDGE_DEBUG") != "1":
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.close(nowhere)
    if sys.platform != "win32":
        _limit(limits)
    sys.addaudithook(_allow)


def _allow(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        path, _, flags = arguments
        if isinstance(flags, int) and flags & _WRITES and not isinstance(path, int) and path != os.devnull:
            raise PermissionError("a job writes no file")
    elif event in _FORBIDDEN:
        raise PermissionError(f"a job has no use for {event}")


def _limit(limits: Limits) -> None:
    import resource

    for what, most in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, int(limits.seconds) + 5),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        with suppress(ValueError, OSError):  # macOS knows some of these and keeps to none
            resource.setrlimit(what, (most, most))
