"""What draws pages and charts is no part of the core: it is imported where one is asked for, before the work for it begins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from weighbridge.errors import MissingExtra

__all__ = ["report_extra"]


@contextmanager
def report_extra(what: str) -> Iterator[None]:
    """Around the imports that ``what`` needs.  Raises ``MissingExtra`` for a library that is not there or does not load.

    A module of our own that is not there is a fault of ours, and stays one.
    """
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("weighbridge"):
            raise
        hint = 'pip install "weighbridge[report]"'
        raise MissingExtra(f"{what} needs packages that are not there ({error})", hint=hint) from None
