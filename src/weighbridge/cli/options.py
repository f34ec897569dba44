"""The Python interface names an argument where one is at fault; the command line names the option that gives it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from weighbridge.errors import WeighbridgeError

__all__ = ["at_options"]


@contextmanager
def at_options(command: click.Command | None) -> Iterator[None]:
    """A fault that is located at an argument, as one at the option of ``command`` that gives it: ``fps`` is ``--fps``."""
    try:
        yield
    except WeighbridgeError as error:
        option = _options(command).get(error.where) if command else None
        if option is None:
            raise
        raise type(error)(error.what, where=option, hint=error.hint, details=error.details) from None


def _options(command: click.Command) -> Mapping[str, str]:
    """The long form of every option by its own name and by that of what it gives: ``--dim`` is ``dim`` and ``dims``."""
    found: dict[str, str] = {}
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            long = max(parameter.opts, key=len)
            found |= {name: long for name in (parameter.name, long.lstrip("-").replace("-", "_")) if name}
    return found
