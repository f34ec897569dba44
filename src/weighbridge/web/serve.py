"""Serves the app, on this machine alone unless told otherwise, and opens it in the browser."""

from __future__ import annotations

import errno
import logging
import os
import secrets
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import uvicorn

from weighbridge.errors import BadSpec, printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.web.ahead import Ahead
from weighbridge.web.connection import Connection
from weighbridge.web.guard import LOOPBACK, Door
from weighbridge.web.server import application
from weighbridge.web.shelf import opened
from weighbridge.web.work import Work, end_preparing

__all__ = ["DEFAULT_HOST", "DEFAULT_PORT", "serve"]

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8631
_TRIED: Final = 20
"""Ports from the first on, where none was asked for and others are in use."""
_LAST_S: Final = 2
"""Seconds that requests get for their end when the app ends."""
_HANG_UP: Final = getattr(signal, "SIGHUP", None)
"""What tells of the end of a terminal, on systems that have such a signal."""
_SHARED: Final = """\
weighbridge: it is open to other machines, for whoever has the token; what goes between is not encrypted
"""


class _Address(NamedTuple):
    """An address of this machine: the family of its sockets, and what a socket binds to, whose second part is the port."""

    family: int
    place: tuple[Any, ...]

    @property
    def is_loopback(self) -> bool:
        return ip_address(self.place[0]).is_loopback

    @property
    def reached_at(self) -> str:
        """As it stands in the address of a page; an address that means all is reached at the loopback."""
        found = ip_address(self.place[0])
        if found.is_unspecified:
            return "127.0.0.1" if found.version == 4 else "[::1]"
        return str(found) if found.version == 4 else f"[{str(found).replace('%', '%25')}]"


def serve(port: int | None, *, opens: bool, folder: Path | None = None, host: str = DEFAULT_HOST) -> int:
    """Answer until Ctrl-C, and return the exit code.  Without a ``port`` it is the first free one from ``DEFAULT_PORT`` on.

    Where ``host`` is no name of this machine for itself, others can reach it, and whoever does needs a token that is
    shown.  Reports and devices are kept in ``folder``; without one they go when the app ends.

    Raises ``BadSpec`` for a host or port that cannot be had, and for a folder that is none.
    """
    address = _resolved(host)
    door = _door(address, host)
    with opened(folder) as shelf, _told_to_end(), _bound(address, _ports(port)) as listening:
        work = Work()
        try:
            shown = _shown(address, listening.getsockname()[1], door)
            if opens:
                # The queue of the socket takes the first request before the server looks at it.  A browser in the terminal
                # would keep whoever opens it waiting until it is closed.
                threading.Thread(target=_open, args=(shown,), daemon=True).start()
            settings = uvicorn.Config(
                Ahead(application(shelf, work, door), work),
                http=Connection,
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_LAST_S,
            )
            _Server(settings, work).run(sockets=[listening])
        finally:
            work.close()
    return 0


class _Server(uvicorn.Server):
    """Ends what it works at first: nobody waits for it any more."""

    def __init__(self, config: uvicorn.Config, work: Work) -> None:
        super().__init__(config)
        self._work = work

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The end of the terminal, too, is an end of the server: raised in the middle of a request it would be an end of that alone."""
        with super().capture_signals():
            if _HANG_UP is None or threading.current_thread() is not threading.main_thread():
                yield
                return
            before = signal.signal(_HANG_UP, self.handle_exit)
            try:
                yield
            finally:
                signal.signal(_HANG_UP, before)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        end_preparing()
        self._work.close()
        await super().shutdown(sockets)


def _door(address: _Address, host: str) -> Door:
    if address.is_loopback:
        return Door(LOOPBACK | {str(ip_address(address.place[0])), host.lower()})
    return Door(frozenset(), secrets.token_urlsafe())


def _shown(address: _Address, port: int, door: Door) -> str:
    """Says where the app is, and returns that."""
    behind = f"{port}/?token={door.token}" if door.token else f"{port}/"
    shown = f"http://{address.reached_at}:{behind}"
    sys.stderr.write(f"weighbridge: the app is at {shown} (Ctrl-C ends it)\n")
    if door.token:
        sys.stderr.write(_SHARED)
    sys.stderr.flush()
    return shown


@contextmanager
def _told_to_end() -> Iterator[None]:
    """Within this the end of the terminal, and being told to end, is an end like any other: nothing of the app is left behind."""
    for one in (
        "uvicorn.error",
        "python_multipart",
        "asyncio",
    ):  # what they say of bad requests says nothing to the user
        logging.getLogger(one).addHandler(logging.NullHandler())
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ends = [one for one in (getattr(signal, "SIGTERM", None), _HANG_UP) if one is not None]
    before = {one: signal.signal(one, _end) for one in ends}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def _open(address: str) -> None:
    with suppress(OSError, webbrowser.Error):  # the address is on the screen
        webbrowser.open(address)


def _resolved(host: str) -> _Address:
    """Raises ``BadSpec`` for what is no address of a machine and no name of one."""
    try:
        found = socket.getaddrinfo(host or "?", 0, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        what = f"there is no machine {printable(host, 60)!r}"
        raise BadSpec(what, where="host", hint="name an address of this machine, such as 0.0.0.0 for all") from None
    family, _, _, _, place = min(found, key=lambda one: one[0] != socket.AF_INET)
    return _Address(family, tuple(place))


def _ports(port: int | None) -> range:
    return range(DEFAULT_PORT, DEFAULT_PORT + _TRIED) if port is None else range(port, port + 1)


def _bound(address: _Address, ports: range) -> socket.socket:
    """A socket that listens at the first of ``ports`` that is free.  Raises ``BadSpec`` where none can be had."""
    hint = "name another one with --port"
    for port in ports:
        # With the protocol named asyncio sends each answer at once; else its end waits 40 ms for the browser to confirm its start.
        one = socket.socket(address.family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if (
            os.name == "posix"
        ):  # elsewhere it would take a port that is in use; here it only need not wait for old connections
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((address.place[0], port, *address.place[2:]))
            one.listen(128)
        except OSError as error:
            one.close()
            if error.errno == errno.EADDRINUSE:
                continue
            if error.errno == errno.EADDRNOTAVAIL:
                what = f"{address.place[0]} is no address of this machine"
                raise BadSpec(what, where="host", hint="0.0.0.0 is all that it has") from None
            raise BadSpec(f"port {port} cannot be had: {error.strerror}", where="port", hint=hint) from None
        return one
    which = f"port {ports[0]} is" if len(ports) == 1 else f"the ports from {ports[0]} to {ports[-1]} are"
    raise BadSpec(f"{which} in use", where="port", hint=hint)
