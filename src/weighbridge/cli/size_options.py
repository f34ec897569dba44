"""The options that say the sizes which a source leaves open, of every command that weighs one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from weighbridge.cli.help import option

__all__ = ["NETWORK", "size_options"]

_Command = Callable[..., Any]

NETWORK: Final = "The network"
"""The heading that they stand under."""


def size_options(metavar: str, help: str) -> Callable[[_Command], _Command]:  # noqa: A002 - as click calls it
    """A decorator that adds them; ``metavar`` and ``help`` are those of ``--input``, which some commands take more of."""
    options = (
        option(NETWORK, "--batch", type=click.IntRange(min=1), metavar="N", help="Size of the batch dimension."),
        option(
            NETWORK,
            "--sequence",
            type=click.IntRange(min=1),
            metavar="N",
            help="Size of the dimensions named like a sequence (seq, sequence_length).",
        ),
        option(
            NETWORK, "--dim", "dims", multiple=True, metavar="NAME=N", help="Size of one named dimension. Repeatable."
        ),
        option(NETWORK, "--input", "inputs", multiple=True, metavar=metavar, help=help),
    )

    def add(command: _Command) -> _Command:
        for one in reversed(options):
            command = one(command)
        return command

    return add
