"""The command that shows recorded measurements over time, and its options.  A command only collects its request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from weighbridge.cli.help import SectionedCommand, option
from weighbridge.cli.output_options import OUTPUT, file_options

__all__ = ["COMMANDS"]

_HELP: Final = """\
Show recorded measurements of models over time: how the median moved from version to version, under the same conditions.

PLACE is a file or a folder that `weighbridge measure --record` wrote to. Measurements whose conditions differ stand in tables of their
own, and are not compared.
"""
_EXAMPLES: Final = """\
\b
Examples:
  weighbridge history times.jsonl
  weighbridge history times/ --although system,libraries
  weighbridge history times.jsonl --csv -

\b
Exit codes:
  0  fine
  2  bad input or usage
"""


@click.command("history", cls=SectionedCommand, help=_HELP, epilog=_EXAMPLES)
@click.argument("place", metavar="PLACE", type=click.Path())
@option(
    "What may be compared",
    "--although",
    multiple=True,
    metavar="CONDITION,…",
    help="Keep in one table what differs in these conditions alone, and say so: system, libraries, threads … Repeatable.",
)
@file_options(
    "Write it to a file, in the format of its suffix: .json, .csv, .md, .txt, .html. Repeatable.",
    json="Write all of it as JSON; - or no name behind it is the standard output.",
    csv="Write a row for every measurement as CSV.",
    markdown="Write it as Markdown.",
)
@option(OUTPUT, "--all", "all_rows", is_flag=True, help="Show every row of the tables.")
def _history_command(**options: Any) -> Callable[[], int]:
    from weighbridge.cli.history import Request, carry_out

    request = Request(**options)
    return lambda: carry_out(request)


COMMANDS: Final = (_history_command,)
"""What the group of all commands takes in."""
