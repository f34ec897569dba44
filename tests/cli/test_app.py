"""``weighbridge app`` as a process: its port, its browser, its end, and what it says where it cannot begin."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

COMMAND = "from weighbridge.cli.main import run\nimport sys\nsys.argv = ['weighbridge', 'app', *{arguments!r}]\nrun()"
# A job that a script started in the background ignores Ctrl-C, and so would its children.
HEARS_CTRL_C = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"


def program(arguments: list[str], before: str = "") -> list[str]:
    return [sys.executable, "-c", f"import sys\n{HEARS_CTRL_C}{before}\n{COMMAND.format(arguments=arguments)}"]


def refused(arguments: list[str], before: str = "") -> str:
    """What a command says that cannot begin."""
    done = subprocess.run(program(arguments, before), capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    return done.stderr


HERE = r"127\.0\.0\.1:(\d+)/"


@contextmanager
def started(
    *arguments: str, before: str = "", at: str = HERE, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The process and its port, once it has said that it is ``at`` that address."""
    process = subprocess.Popen(
        program(list(arguments), before),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stderr is not None
    try:
        said = process.stderr.readline()
        found = re.fullmatch(rf"weighbridge: the app is at http://{at} \(Ctrl-C ends it\)\n", said)
        assert found, said
        yield process, int(found[1])
    finally:
        process.kill()
        process.communicate()


def get(port: int, address: str, method: str = "GET", at: str = "127.0.0.1", **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(at, port, timeout=60)
    connection.request(method, address, headers=headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


def test_it_answers_as_soon_as_it_says_where() -> None:
    with started("--no-browser") as (_, port):
        assert get(port, "/layer.json?k=5")[0] == 200
        assert get(port, "/layer", "HEAD") == (200, b"")
        assert get(port, "/layer?k=%zz%")[0] == 422
        assert get(port, "/%ff%zz")[0] == 404
        assert get(port, "/../../../etc/passwd")[0] == 404
        assert get(port, "/", Host="evil.example")[0] == 400
        assert json.loads(get(port, "/openapi.json")[1])["openapi"] == "3.1.0"


def test_answers_are_sent_at_once() -> None:
    """asyncio turns off Nagle's algorithm for sockets that name their protocol; with it every second part waits 40 ms."""
    from weighbridge.web.serve import _bound, _resolved

    with _bound(_resolved("127.0.0.1"), range(1)) as listening:
        assert listening.proto == socket.IPPROTO_TCP


def test_it_is_reached_from_this_machine_alone() -> None:
    with started("--no-browser") as (_, port):
        others = {address[4][0] for address in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
        for address in {*others, "127.0.0.2"} - {"127.0.0.1"}:
            with socket.socket() as one, pytest.raises(OSError, match=r"refused|unreachable|timed out"):
                one.settimeout(10)
                one.connect((address, port))


LOOPBACKS = {
    "127.0.0.2": ("127.0.0.2", r"127\.0\.0\.2:(\d+)/"),
    "localhost": ("localhost", HERE),
    "::1": ("::1", r"\[::1\]:(\d+)/"),
    "0:0:0:0:0:0:0:1": ("::1", r"\[::1\]:(\d+)/"),
}


@pytest.mark.parametrize("host", LOOPBACKS)
def test_another_address_of_this_machine_for_itself_needs_no_token(host: str) -> None:
    at, shown = LOOPBACKS[host]
    if ":" in at:
        has_version_6(at)
    with started("--no-browser", "--host", host, at=shown) as (_, port):
        assert get(port, "/layer.json", at=at)[0] == 200
        assert get(port, "/layer.json", at=at, Host=f"localhost:{port}")[0] == 200
        assert get(port, "/layer.json", at=at, Host="evil.example")[0] == 400


def has_version_6(address: str) -> None:
    with socket.socket(socket.AF_INET6) as one:
        try:
            one.bind((address, 0))
        except OSError:
            pytest.skip("this machine has no addresses of version 6")


@pytest.mark.parametrize(
    ("host", "shown", "at"),
    [("0.0.0.0", r"127\.0\.0\.1", "127.0.0.1"), ("::", r"\[::1\]", "::1"), ("127.1", r"127\.0\.0\.1", "127.0.0.1")],
)
def test_where_others_reach_it_a_token_is_needed(host: str, shown: str, at: str, tmp_path: Path) -> None:
    """Of each address that a browser may be given but the loopback, however that is written."""
    if ":" in host:
        has_version_6(host)
    path = tmp_path / "opened"
    is_open = host != "127.1"
    address = rf"{shown}:(\d+)/" + (r"\?token=[\w-]{43}" if is_open else "")
    with started("--host", host, before=OPENS.format(path=str(path), after=""), at=address) as (process, port):
        while not path.exists() or not path.read_text():
            assert get(port, "/", at=at)[0] in (200, 401)
        opened, status = path.read_text().split()
        assert re.fullmatch(rf"http://{address}", opened)
        if not is_open:
            return
        assert status == "401"  # a client that keeps no cookie: the address that it was led to has no token
        assert process.stderr is not None
        assert process.stderr.readline() == (
            "weighbridge: it is open to other machines, for whoever has the token; what goes between is not encrypted\n"
        )
        token = opened.partition("=")[2]
        assert get(port, "/layer.json", at=at)[0] == 401
        assert get(port, "/layer.json", at=at, Host="any.example", Authorization=f"Bearer {token}")[0] == 200
        assert get(port, "/layer.json", at=at, Cookie=f"weighbridge-{port}={token}")[0] == 200
        assert get(port, f"/layer.json?token={token}", at=at)[0] == 303


NO_HOSTS = {
    "": "there is no machine ''; name an address of this machine, such as 0.0.0.0 for all",
    "no.such.invalid": "there is no machine 'no.such.invalid'; name an address of this machine, such as 0.0.0.0 for all",
    f"{'x' * 70}.invalid": f"there is no machine '{'x' * 59}…'; name an address of this machine, such as 0.0.0.0 for all",
    "a\x1b[31m": r"there is no machine 'a\\x1b[31m'; name an address of this machine, such as 0.0.0.0 for all",
    "192.0.2.1": "192.0.2.1 is no address of this machine; 0.0.0.0 is all that it has",
}


@pytest.mark.parametrize("host", NO_HOSTS, ids=lambda host: host[:12])
def test_a_host_that_cannot_be_had_is_one_line(host: str) -> None:
    assert refused(["--no-browser", "--host", host]) == f"weighbridge: error: --host: {NO_HOSTS[host]}\n"


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


def test_without_a_port_it_takes_the_next_that_is_free() -> None:
    with started("--no-browser") as (_, first), started("--no-browser") as (_, second):
        assert first != second
        assert get(first, "/")[0] == get(second, "/")[0] == 200


def test_a_port_that_was_asked_for_is_the_one() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with started("--no-browser", "--port", str(port)) as (_, found):
        assert found == port


def test_a_port_in_use_is_one_line() -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        error = refused(["--no-browser", "--port", str(port)])
        assert error == f"weighbridge: error: --port: port {port} is in use; name another one with --port\n"


@pytest.mark.parametrize("port", ["0", "65536", "-1", "x"])
def test_what_is_no_port_is_one_line(port: str) -> None:
    assert refused(["--port", port]).startswith("weighbridge: error: Invalid value for '--port': ")


def test_a_port_that_this_user_may_not_have_is_said_as_that() -> None:
    forbids = """
import socket
def bind(*_):
    raise PermissionError(13, "Permission denied")
socket.socket = type("Forbidden", (socket.socket,), {"bind": bind})
"""
    error = refused(["--no-browser", "--port", "80"], forbids)
    assert (
        error == "weighbridge: error: --port: port 80 cannot be had: Permission denied; name another one with --port\n"
    )


@pytest.mark.parametrize("missing", ["jinja2", "starlette", "uvicorn", "vl_convert"])
def test_a_library_that_is_missing_is_said(missing: str) -> None:
    error = refused(["--no-browser"], f"sys.modules[{missing!r}] = None")
    assert error.startswith("weighbridge: error: the app needs packages that are not there (")
    assert missing in error
    assert error.endswith('; pip install "weighbridge[web]"\n')


def test_it_needs_none_of_the_libraries_of_other_extras() -> None:
    others = "altair", "numpy", "onnx", "safetensors", "torch", "pandas"
    with started("--no-browser", before=f"sys.modules |= dict.fromkeys({others!r})") as (_, port):
        names = re.findall(r'href="/([a-z_]+)"', get(port, "/")[1].decode())
        assert "layer" in names
        for name in names:
            assert get(port, f"/{name}")[0] == 200
        assert get(port, "/static/vega.js")[0] == 200


OPENS = """
import urllib.error, urllib.request, webbrowser
def opened(address):
    try:
        answer = urllib.request.urlopen(address, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    with answer, open({path!r}, "w") as file:
        file.write(f"{{address}} {{answer.status}}")
    {after}
webbrowser.open = opened
"""


@pytest.mark.parametrize("after", ["", "import time; time.sleep(3600)", "raise OSError('no display')"], ids=str)
def test_the_browser_is_opened_where_it_gets_an_answer(after: str, tmp_path: Path) -> None:
    """Also one in the terminal, which keeps whoever opens it waiting, and one that fails."""
    path = tmp_path / "opened"
    with started(before=OPENS.format(path=str(path), after=after)) as (process, port):
        for _ in range(3):
            assert get(port, "/layer")[0] == 200
        while not path.exists() or not path.read_text():
            assert get(port, "/")[0] == 200
        assert path.read_text() == f"http://127.0.0.1:{port}/ 200"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == ("", "weighbridge: interrupted\n")


def test_no_browser_is_opened_where_none_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "opened"
    with started("--no-browser", before=OPENS.format(path=str(path), after="")) as (process, port):
        assert get(port, "/")[0] == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert not path.exists()


# --- its end, and what it does with bodies


HANGS = """
import time
from weighbridge.web.work import Work
start = Work._started
Work._started = lambda self, there, job, arguments: start(self, there, time.sleep, (3600,))
"""


def form(content: bytes, name: str = "n.toml") -> tuple[dict[str, str], bytes]:
    head = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    return {"Content-Type": "multipart/form-data; boundary=b"}, head + content + b"\r\n--b--\r\n"


def post(port: int, address: str, headers: dict[str, str], body: bytes) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", address, body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


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


def test_three_gigabytes_are_refused_without_being_read() -> None:
    with started("--no-browser") as (process, port):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            head = "POST /weigh.json HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=b\r\n"
            client.sendall(f"{head}Content-Length: {3 << 30}\r\n\r\n".encode())
            answer = client.recv(65536)
            assert answer.startswith(b"HTTP/1.1 413 ")
            sent = 0
            with pytest.raises(OSError, match=r"reset|[Bb]roken pipe|aborted"):
                while sent < 3 << 30:
                    sent += client.send(bytes(1 << 20))
            assert sent < 64 << 20
        before = psutil.Process(process.pid).memory_info().rss
        assert before < 300 << 20
        assert get(port, "/layer.json")[0] == 200


def test_a_client_that_is_refused_hears_why() -> None:
    """Also where it sends all of a body that is a little too large before it listens."""
    with started("--no-browser") as (_, port):
        headers, body = form(bytes(3 << 20))
        assert post(port, "/layer", headers, body) == 405
        assert post(port, "/nowhere", headers, body) == 404
        assert post(port, "/devices/new", headers, body) == 413
        assert post(port, "/weigh", {**headers, "Origin": "http://evil.example"}, body) == 403
        assert get(port, "/layer.json")[0] == 200


def test_what_is_no_http_is_nothing_in_the_terminal() -> None:
    with started("--no-browser") as (process, port):
        for line in (b"\x16\x03\x01\x02\x00\x01\x00\n\n", b"GET / HTTP/9\r\n\r\n", b"x" * 100_000, b"GET /\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
                client.sendall(line)
                client.recv(100)
        head = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            client.sendall(f"{head}\r\n".encode())
            assert client.recv(100).startswith(b"HTTP/1.1 200")
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == ("", "weighbridge: interrupted\n")
