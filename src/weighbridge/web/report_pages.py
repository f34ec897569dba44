"""Saved reports: their list, each as a page and as JSON, and what saves one."""

from __future__ import annotations

from starlette.routing import BaseRoute

from weighbridge.web.shelf import Shelf
from weighbridge.web.work import Work

__all__ = ["routes"]


def routes(shelf: Shelf, work: Work) -> list[BaseRoute]:
    """The addresses of these pages."""
    return []
