"""``weighbridge app`` as a process: its port, its browser, its end, and what it says where it cannot begin."""

from __future__ import annotations

import json
import re
import signal
import socket
from pathlib import Path

import psutil
import pytest

from tests.cli.running_app import HERE, form, get, post, refused, started


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
