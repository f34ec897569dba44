"""The command as a process: pipes, signals, terminals, encodings."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "weighbridge"]


def environment(**changes: str) -> dict[str, str]:
    kept = {
        key: value
        for key, value in os.environ.items()
        if key not in ("NO_COLOR", "COLUMNS", "PYTHONIOENCODING", "TERM")
    }
    return {**kept, "TERM": "xterm-256color", **changes}


def run(*arguments: str, **changes: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, env=environment(**changes), check=False)


def in_terminal(*arguments: str, **changes: str) -> str:
    """What the command shows in a terminal."""
    main, child = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdout=child, stderr=child, stdin=child, env=environment(**changes)
    )
    os.close(child)
    shown = b""
    while True:
        ready, _, _ = select.select([main], [], [], 30)
        try:
            chunk = os.read(main, 65536) if ready else b""
        except OSError:
            chunk = b""
        if not chunk:
            break
        shown += chunk
    process.wait()
    os.close(main)
    assert process.returncode == 0
    return shown.decode("utf-8").replace("\r\n", "\n")


def test_a_pipe_gets_plain_text() -> None:
    done = run("weigh", "lenet5")
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout
    assert done.stderr == b""


def test_a_terminal_gets_colour_as_wide_as_it_is() -> None:
    shown = in_terminal("weigh", "alexnet", "--on", "stm32f746", COLUMNS="72")
    assert "\x1b[" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert "\x1b" not in plain
    assert "does not fit" in plain
    assert max(len(line.rstrip()) for line in plain.splitlines()) <= 72


@pytest.mark.parametrize("changes", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_colour_can_be_turned_off(changes: dict[str, str]) -> None:
    assert "\x1b" not in in_terminal("weigh", "lenet5", **changes)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_an_encoding_without_blocks_gets_ascii(encoding: str) -> None:
    done = run("weigh", "alexnet", "--on", "toy", PYTHONIOENCODING=encoding)
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert b"< peak" in done.stdout


def test_json_is_valid_in_every_encoding() -> None:
    done = run("weigh", "lenet5", "--json", "-", PYTHONIOENCODING="utf-16")
    assert done.returncode == 0
    assert b"facts" in done.stdout.replace(b"\0", b"")


@pytest.mark.parametrize(
    "arguments", [("weigh", "alexnet"), ("weigh", "alexnet", "--json", "-"), ("devices",), ("--help",)], ids=" ".join
)
def test_a_reader_that_goes_away_is_no_error_of_ours(arguments: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    process = subprocess.Popen([*COMMAND, *arguments], stdout=write, stderr=subprocess.PIPE, env=environment())
    os.close(write)
    _, err = process.communicate()
    assert err == b""
    assert process.returncode == 141


def test_a_full_disk_is_one_line() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, "weigh", "lenet5"], stdout=full, stderr=subprocess.PIPE, env=environment(), check=False
        )
    assert done.returncode == 2
    assert done.stderr.startswith(b"weighbridge: error: ")
    assert done.stderr.count(b"\n") == 1


def test_closed_standard_output_is_one_line() -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *COMMAND, "weigh", "lenet5"], capture_output=True, env=environment(), check=False
    )
    assert done.returncode == 2
    assert done.stderr == b"weighbridge: error: the standard output is closed\n"


def test_an_unreadable_file_is_one_line(tmp_path: Path) -> None:
    fifo = tmp_path / "model.onnx"
    os.mkfifo(fifo)
    done = run("weigh", str(fifo))
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1


def test_ctrl_c_is_one_line() -> None:
    # A job that a script started in the background ignores Ctrl-C, and so would its children.
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program += "import weighbridge.api as api, time; api.weigh = lambda *a, **k: (print('ready', flush=True), time.sleep(30))\n"
    program += "from weighbridge.cli.main import run; import sys; sys.argv = ['weighbridge', 'weigh', 'alexnet']; run()"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (out, err, process.returncode) == ("", "weighbridge: interrupted\n", 130)


def test_completion_offers_networks_devices_and_options() -> None:
    def offered(words: str, position: int) -> list[str]:
        done = run(_WEIGHBRIDGE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(position))
        return done.stdout.decode().split()

    assert offered("weighbridge we", 1) == ["plain,weigh"]
    assert offered("weighbridge weigh ale", 2) == ["plain,alexnet"]
    assert offered("weighbridge weigh some/mo", 2) == ["file,some/mo"]
    assert offered("weighbridge weigh alexnet --on stm32f74", 4) == ["plain,stm32f746"]
    assert offered("weighbridge devices show stm32f74", 3) == ["plain,stm32f746"]
    assert offered("weighbridge devices ch", 2) == ["plain,check"]
    assert "plain,--require-fit" in offered("weighbridge weigh alexnet --re", 3)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    done = run("--show-completion", shell)
    assert done.returncode == 0
    assert b"_WEIGHBRIDGE_COMPLETE" in done.stdout
