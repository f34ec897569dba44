"""A connection that a client may not keep without a use."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["Connection"]

_PATIENCE_S: Final = 30.0
_MOST: Final = 500
"""Connections at a time; a process has a thousand files or so."""
_SLOWEST: Final = 64 << 10
"""Bytes a second of an answer that a client must take."""
_DROPPED: Final = 8 << 20
"""Bytes of a body that nobody reads any more: time for whoever sends them to hear the answer before the connection breaks."""


class Connection(H11Protocol):
    """Ends where no whole request comes for half a minute, an answer is not taken, or a body goes on that has been refused."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        self._dropped = 0
        self._before: tuple[object, int, bool] | None = None
        self._watch = self.loop.call_later(_PATIENCE_S, self._look)
        if len(self.connections) > _MOST:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_answered and self.conn.their_state is h11.SEND_BODY:
            self._dropped += len(data)
            if self._dropped > _DROPPED:
                self.transport.abort()
                return
        super().data_received(data)

    @property
    def _is_answered(self) -> bool:
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete

    def _look(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        was, before, was_answered = self._before or (self, 0, False)
        is_stuck = bool(unsent and before) and before - unsent < _SLOWEST * _PATIENCE_S
        is_idle = was_answered and self._is_answered and not unsent and not before
        if was is self.cycle and (is_stuck or is_idle):
            self.transport.abort()
            return
        self._before = self.cycle, unsent, self._is_answered
        self._watch = self.loop.call_later(_PATIENCE_S, self._look)
