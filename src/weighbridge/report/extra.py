"""What draws pages and charts is no part of the core: it is imported where one is asked for, before the work for it begins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from weighbridge.errors import MissingExtra

__all__ = ["report_extra", "web_extra"]


def report_extra(what: str) -> AbstractContextManager[None]:
    """Around the imports that ``what`` needs, of the extra ``report``.  Raises ``MissingExtra`` as ``_extra`` does."""
    return _extra(what, "report")


def web_extra() -> AbstractContextManager[None]:
    """Around the imports that the local app needs, of the extra ``web``.  Raises ``MissingExtra`` as ``_extra`` does."""
    return _extra("the app", "web")


@contextmanager
def _extra(what: str, extra: str) -> Iterator[None]:
    """Raises ``MissingExtra`` for a library that is not there or does not load.

    A module of our own that is not there is a fault of ours, and stays one.
    """
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("weighbridge"):
            raise
        hint = f'pip install "weighbridge[{extra}]"'
        raise MissingExtra(f"{what} needs packages that are not there ({error})", hint=hint) from None
