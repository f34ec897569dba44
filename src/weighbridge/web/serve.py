"""Serves the app on this machine alone, and opens it in the browser."""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from weighbridge.errors import BadSpec
from weighbridge.web.server import application
from weighbridge.web.shelf import opened
from weighbridge.web.work import Work

__all__ = ["DEFAULT_PORT", "serve"]

DEFAULT_PORT: Final = 8631
_ADDRESS: Final = "127.0.0.1"
_TRIED: Final = 20
"""Ports from the first on, where none was asked for and others are in use."""


def serve(port: int | None, *, opens: bool, folder: Path | None = None) -> int:
    """Answer until Ctrl-C, and return the exit code.  Without a ``port`` it is the first free one from ``DEFAULT_PORT`` on.

    Reports and devices are kept in ``folder``; without one they go when the app ends.

    Raises ``BadSpec`` for a port that cannot be had, and for a folder that is none.
    """
    with opened(folder) as shelf:
        work = Work()
        try:
            return _serve(application(shelf, work), port, opens=opens)
        finally:
            work.close()


def _serve(app: ASGIApp, port: int | None, *, opens: bool) -> int:
    listening = _bound(range(DEFAULT_PORT, DEFAULT_PORT + _TRIED) if port is None else (port,))
    address = f"http://{_ADDRESS}:{listening.getsockname()[1]}/"
    sys.stderr.write(f"weighbridge: the app is at {address} (Ctrl-C ends it)\n")
    sys.stderr.flush()
    if opens:
        # The queue of the socket takes the first request before the server looks at it.  A browser in the terminal would keep
        # whoever opens it waiting until it is closed.
        threading.Thread(target=_open, args=(address,), daemon=True).start()
    settings = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
    uvicorn.Server(settings).run(sockets=[listening])
    return 0


def _open(address: str) -> None:
    with suppress(OSError, webbrowser.Error):  # the address is on the screen
        webbrowser.open(address)


def _bound(ports: range | tuple[int, ...]) -> socket.socket:
    hint = "name another one with --port"
    for port in ports:
        # With the protocol named asyncio sends each answer at once; else its end waits 40 ms for the browser to confirm its start.
        one = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if (
            os.name == "posix"
        ):  # elsewhere it would take a port that is in use; here it only need not wait for old connections
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((_ADDRESS, port))
            one.listen(128)
        except OSError as error:
            one.close()
            if error.errno == errno.EADDRINUSE:
                continue
            raise BadSpec(f"port {port} cannot be had: {error.strerror}", where="port", hint=hint) from None
        return one
    which = f"port {ports[0]} is" if len(ports) == 1 else f"the ports from {ports[0]} to {ports[-1]} are"
    raise BadSpec(f"{which} in use", where="port", hint=hint)
