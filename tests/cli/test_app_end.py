"""How the app ends: Ctrl-C and other signals, while it starts, works and answers; nothing of it is left."""

from __future__ import annotations

import http.client
import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.cli.running_app import form, get, started


def test_ctrl_c_ends_it_in_one_line() -> None:
    with started("--no-browser") as (process, port):
        assert get(port, "/")[0] == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (out, err, process.returncode) == ("", "weighbridge: interrupted\n", 130)


# It imports nothing else in the process that others are forked from, and tells when it has begun.
LONG = """
import weighbridge.web.work as work
work._PRELOADED = ("long_to_import",)
"""
LONG_TO_IMPORT = """
import pathlib, time
pathlib.Path(__file__).with_name("begun").touch()
time.sleep(600)
"""


@pytest.mark.skipif(os.name != "posix", reason="groups of processes of POSIX")
def test_ctrl_c_in_a_terminal_ends_it_while_what_it_prepares_is_still_imported(tmp_path: Path) -> None:
    """A terminal sends Ctrl-C to all processes of the app, and none but the app itself says anything."""
    (tmp_path / "long_to_import.py").write_text(LONG_TO_IMPORT, encoding="utf-8")
    with started("--no-browser", before=f"{LONG}\nimport os; os.setpgrp()", PYTHONPATH=str(tmp_path)) as (
        process,
        port,
    ):
        assert get(port, "/")[0] == 200
        while not (tmp_path / "begun").exists():
            assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=60) == ("", "weighbridge: interrupted\n")
        assert process.returncode == 130


HANGS = """
import time
from weighbridge.web.work import Work
start = Work._started
Work._started = lambda self, there, job, arguments: start(self, there, time.sleep, (3600,))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("ending", "code", "said"),
    [(signal.SIGINT, 130, "weighbridge: interrupted\n"), (signal.SIGTERM, 143, ""), (signal.SIGHUP, 129, "")],
    ids=["ctrl-c", "told to", "the terminal closes"],
)
def test_it_ends_while_it_works_and_leaves_nothing(
    ending: signal.Signals, code: int, said: str, tmp_path: Path
) -> None:
    """A job that takes an hour, half an upload and a connection that says nothing hold up no end."""
    with (
        started("--no-browser", before=HANGS, TMPDIR=str(tmp_path)) as (process, port),
        socket.create_connection(("127.0.0.1", port)),
        socket.create_connection(("127.0.0.1", port)) as half,
        socket.create_connection(("127.0.0.1", port)) as slow,
    ):
        half.sendall(b"POST /weigh HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n")
        half.sendall(b"Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n")
        headers, body = form(b"x = 1")
        lines = {"Host": "127.0.0.1", "Content-Length": str(len(body)), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        slow.sendall(f"POST /weigh HTTP/1.1\r\n{head}\r\n".encode() + body)
        # the process of a job is a child of the one that all are forked from
        while not [one for child in psutil.Process(process.pid).children() for one in child.children()]:
            assert process.poll() is None
        assert list(tmp_path.glob("weighbridge-*/uploads/*/n.toml"))
        process.send_signal(ending)
        assert process.communicate(timeout=30) == ("", said)
        assert process.returncode == code
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("weighbridge-")] == []


SIGNALLED = """
import signal
from weighbridge.web import weigh_pages
begun = weigh_pages._begun
weigh_pages._begun = lambda found: (signal.raise_signal(signal.{name}), begun(found))[1]
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("name", "code", "said"), [("SIGINT", 130, "weighbridge: interrupted\n"), ("SIGTERM", 143, ""), ("SIGHUP", 129, "")]
)
def test_it_ends_also_where_it_is_told_to_within_a_request(name: str, code: int, said: str, tmp_path: Path) -> None:
    """An end that is raised there ends the request, and nothing else."""
    with started("--no-browser", before=SIGNALLED.format(name=name), TMPDIR=str(tmp_path)) as (process, port):
        with suppress(OSError, http.client.HTTPException):
            get(port, "/weigh")
        assert process.communicate(timeout=60) == ("", said)
        assert process.returncode == code
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("weighbridge-")] == []
