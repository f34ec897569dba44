"""The app in a process of its own, as a person starts it."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

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


def form(content: bytes, name: str = "n.toml") -> tuple[dict[str, str], bytes]:
    head = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    return {"Content-Type": "multipart/form-data; boundary=b"}, head + content + b"\r\n--b--\r\n"


def post(port: int, address: str, headers: dict[str, str], body: bytes) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", address, body, headers)
    status = connection.getresponse().status
    connection.close()
    return status
