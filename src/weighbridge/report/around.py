"""What a server puts around a page of the report."""

from __future__ import annotations

from collections.abc import Mapping

from weighbridge.named_tuple import NamedTuple

__all__ = ["Around"]


class Around(NamedTuple):
    """The addresses of what dresses the page, and ``before`` it a piece of HTML of the server's own, which has escaped it.

    ``asked_at`` is where what the report has not can be asked for, by how the command line asks for it (``asking``).
    """

    style: str
    script: str
    library: str
    before: str
    asked_at: Mapping[str, str] = {}
