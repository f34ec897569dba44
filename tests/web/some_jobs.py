"""Jobs of every bad kind, for the tests of what a job may do: a process of its own imports this."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

from weighbridge.errors import BadModel, BadSpec, NeedsShape


class Surprising(BadSpec):
    """An error of ours of a kind that is known here alone."""


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("not even that")


def echo(content: bytes) -> bytes:
    return content


def pid() -> bytes:
    return str(os.getpid()).encode()


def refuse(kind: str) -> bytes:
    if kind == "surprising":
        raise Surprising("what", where="where", hint="hint", details=("one", "two"))
    error = {"model": BadModel, "shape": NeedsShape}[kind]
    raise error("what\x1b[31m \ud800", where="where", hint="hint", details=("one", "two"))


def fail(kind: str) -> bytes:
    if kind == "mute":
        raise Mute
    if kind == "exit":
        raise SystemExit(3)
    if kind == "interrupt":
        raise KeyboardInterrupt
    if kind == "no bytes":
        return "text"  # type: ignore[return-value]
    if kind == "group":
        raise ExceptionGroup("several", [ValueError("1"), ValueError("2")])
    raise ValueError(f"secret\x1b[31m\n{'x' * 5000}\ud800")


def die(kind: str) -> bytes:
    if kind == "exit":
        os._exit(0)
    os.kill(os.getpid(), {"kill": signal.SIGKILL, "segv": signal.SIGSEGV, "abort": signal.SIGABRT}[kind])
    time.sleep(60)
    return b""


def hang(kind: str) -> bytes:
    if kind == "sleep":
        time.sleep(3600)
    if kind == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        pass


def recurse(depth: int = 0) -> bytes:
    return recurse(depth + 1)


def fill(size_bytes: int) -> bytes:
    return bytes(size_bytes)


def say() -> bytes:
    sys.stdout.write("said\n")
    sys.stderr.write("said\n")
    os.write(1, b"said\n")
    os.write(2, b"said\n")
    sys.stdout.flush()
    return b"done"


def half(size_bytes: int) -> bytes:
    """The begin of an answer that never comes."""
    os.write(_there(), (size_bytes + 1).to_bytes(4, "big") + b"=abc")
    time.sleep(3600)
    return b""


def forge(content: bytes) -> bytes:
    """An answer as only a process sends it that does what it likes."""
    os.write(_there(), len(content).to_bytes(4, "big") + content)
    os._exit(0)


def _there() -> int:
    """The pipe that the answer goes to."""
    return next(one.fileno() for one in gc.get_objects() if isinstance(one, Connection))


def reach(kind: str, path: str) -> bytes:
    """Something that no job has a use for."""
    if kind == "write":
        Path(path).write_text("x")
    elif kind == "append":
        with Path(path).open("a") as file:
            file.write("x")
    elif kind == "remove":
        Path(path).unlink()
    elif kind == "make":
        Path(path).mkdir()
    elif kind == "connect":
        socket.create_connection(("127.0.0.1", int(path)), 5)
    elif kind == "run":
        subprocess.run(["touch", path], check=True)
    elif kind == "system":
        os.system(f"touch {path}")
    elif kind == "fork":
        os.fork()
    elif kind == "unpickle":
        pickle.loads(b"cos\nsystem\n(S'true'\ntR.")
    return b"did it"
