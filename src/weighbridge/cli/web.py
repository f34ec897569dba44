"""Carries out ``weighbridge app``."""

from __future__ import annotations

import gc
from pathlib import Path

from weighbridge.report.extra import web_extra

__all__ = ["carry_out"]


def carry_out(port: int | None, *, opens: bool, folder: str | None = None, host: str | None = None) -> int:
    """Serve the app until Ctrl-C, and return the exit code.

    Raises ``MissingExtra`` where what serves it is not installed, and ``BadSpec`` for a host or port that cannot be had and a
    folder that is not there.
    """
    gc.enable()  # the command turns it off, as one report is no work for it; this goes on
    with web_extra():
        from weighbridge.web.serve import DEFAULT_HOST, serve
    at = DEFAULT_HOST if host is None else host
    return serve(port, opens=opens, folder=None if folder is None else Path(folder), host=at)
