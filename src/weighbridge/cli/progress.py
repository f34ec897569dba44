"""What is being done, on standard error, once it takes longer than two seconds and somebody watches."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from weighbridge.errors import printable

if TYPE_CHECKING:
    from rich.live import Live
    from rich.spinner import Spinner

__all__ = ["progress"]

_PATIENCE_S: Final = 2.0


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A function to tell each stage to.  Nothing is shown where standard error is no terminal; nothing stays on it."""
    watched = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")
    if not watched:
        yield _unheard
        return
    line = _Line()
    timer = threading.Timer(_PATIENCE_S, line.begin)
    timer.daemon = True
    timer.start()
    try:
        yield line.tell
    finally:
        timer.cancel()
        line.end()


def _unheard(stage: str) -> None:
    """Say nothing."""


class _Line:
    """One line of the terminal, drawn by a thread while the work is done by another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stage = "working"
        self._live: Live | None = None
        self._is_over = False

    def begin(self) -> None:
        """Show the line, unless the work is over."""
        from rich.console import Console
        from rich.live import Live

        with self._lock:
            if not self._is_over:
                # The user's own prints are left alone: their streams are redirected already.
                self._live = Live(
                    self._drawn(),
                    console=Console(stderr=True),
                    transient=True,
                    redirect_stdout=False,
                    redirect_stderr=False,
                )
                self._live.start(refresh=True)

    def tell(self, stage: str) -> None:
        """Another stage begins."""
        with self._lock:
            self._stage = stage
            if self._live is not None:
                self._live.update(self._drawn(), refresh=True)

    def end(self) -> None:
        """Take the line away."""
        with self._lock:
            self._is_over = True
            if self._live is not None:
                self._live.stop()

    def _drawn(self) -> Spinner:
        from rich.spinner import Spinner
        from rich.text import Text

        return Spinner("line", Text(f"{printable(self._stage, 70)} ..."))
