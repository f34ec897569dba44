"""Serves the app on this machine alone, and opens it in the browser."""

from __future__ import annotations

import socket
import sys
import webbrowser
from typing import Final

import uvicorn

from weighbridge.errors import BadSpec
from weighbridge.web.server import application

__all__ = ["DEFAULT_PORT", "serve"]

DEFAULT_PORT: Final = 8631
_ADDRESS: Final = "127.0.0.1"
_TRIED: Final = 20
"""Ports from the first on, where none was asked for and others are in use."""


def serve(port: int | None, *, opens: bool) -> int:
    """Answer until Ctrl-C, and return the exit code.  Without a ``port`` it is the first free one from ``DEFAULT_PORT`` on.

    Raises ``BadSpec`` for a port that cannot be had.
    """
    listening = _bound(range(DEFAULT_PORT, DEFAULT_PORT + _TRIED) if port is None else (port,))
    address = f"http://{_ADDRESS}:{listening.getsockname()[1]}/"
    sys.stderr.write(f"weighbridge: the app is at {address} (Ctrl-C ends it)\n")
    sys.stderr.flush()
    # The queue of the socket takes the browser's first request also before the server looks at it.
    if opens:
        webbrowser.open(address)
    settings = uvicorn.Config(application(), log_level="warning", access_log=False, server_header=False)
    uvicorn.Server(settings).run(sockets=[listening])
    return 0


def _bound(ports: range | tuple[int, ...]) -> socket.socket:
    for port in ports:
        one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((_ADDRESS, port))
        except (OSError, OverflowError):
            one.close()
            continue
        one.listen(128)
        return one
    what = f"port {ports[0]:,} is in use" if len(ports) == 1 else f"the ports from {ports[0]} to {ports[-1]} are in use"
    raise BadSpec(what, where="port", hint="name another one with --port")
