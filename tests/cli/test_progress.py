"""Stages on a terminal, once the work takes long."""

from __future__ import annotations

import io
import sys
import time

import pytest

from weighbridge.cli import progress as module
from weighbridge.cli.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def wait_for(stream: io.StringIO, text: str) -> bool:
    """Whether ``text`` appears on the stream; another thread writes it."""
    patience = time.monotonic() + 30
    while text not in stream.getvalue() and time.monotonic() < patience:
        time.sleep(0.01)
    return text in stream.getvalue()


def watched(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal as standard error.  No fixture: between that and the test pytest puts a stream of its own in place."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm-256color")
    return stream


def test_long_work_names_its_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    monkeypatch.setattr(module, "_PATIENCE_S", 0.0)
    out = sys.stdout
    with progress() as tell:
        tell("building a model")
        assert wait_for(terminal, "building a model ...")
        tell("following \x1b[31m it")
        assert wait_for(terminal, "following \\x1b[31m it ...")
        assert (sys.stdout, sys.stderr) == (out, terminal)
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is erased


def test_short_work_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with progress() as tell:
        tell("building a model")
    assert terminal.getvalue() == ""


def test_an_error_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    monkeypatch.setattr(module, "_PATIENCE_S", 0.0)
    with pytest.raises(ZeroDivisionError), progress() as tell:
        tell("dividing")
        assert wait_for(terminal, "dividing")
        _ = 1 / 0
    shown = terminal.getvalue()
    time.sleep(0.3)
    assert terminal.getvalue() == shown


@pytest.mark.parametrize("case", ["pipe", "dumb", "closed"])
def test_nobody_watches(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = None if case == "closed" else io.StringIO() if case == "pipe" else Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "_PATIENCE_S", 0.0)
    monkeypatch.setenv("TERM", "dumb" if case == "dumb" else "xterm")
    with progress() as tell:
        tell("working")
        time.sleep(0.2)
    assert stream is None or stream.getvalue() == ""
