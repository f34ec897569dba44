"""The command that holds models to their budgets, and its options.  A command only collects its request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from weighbridge.cli.completion import budgeted
from weighbridge.cli.help import SectionedCommand, option
from weighbridge.cli.output_options import OUTPUT, file_options

__all__ = ["COMMANDS"]

_BUDGETS: Final = "The budgets"
_HELP: Final = """\
Hold models to their budgets: what passes, what breaks by how much, and which layer is to blame.

MODEL is the name of a model in the file of budgets; without one all of them are checked. The file is weighbridge.toml, or
pyproject.toml with [tool.weighbridge], in this folder or the nearest above.
"""
_EXAMPLES: Final = """\
\b
Examples:
  weighbridge check
  weighbridge check --update
  weighbridge check keyword_spotter --all
  weighbridge check --budgets deploy/weighbridge.toml --markdown summary.md
  weighbridge check --json - --junit check.xml

\b
Exit codes:
  0  every budget passes
  1  over budget
  2  bad input or usage, also of one model or budget among others
  3  not exact: a number that a budget needs is a lower bound or unknown
"""


@click.command("check", cls=SectionedCommand, help=_HELP, epilog=_EXAMPLES)
@click.argument("models", metavar="[MODEL]...", nargs=-1, shell_complete=budgeted)
@option(_BUDGETS, "--budgets", metavar="FILE", help="Read the budgets from this file.")
@option(
    _BUDGETS,
    "--update",
    is_flag=True,
    help="First write the models as they are now to the baseline, and show what changed; growth is measured from there.",
)
@file_options(
    "Write it to a file, in the format of its suffix: .json, .md, .xml, .txt. Repeatable.",
    json="Write all of it as JSON; - or no name behind it is the standard output.",
    markdown="Write it as Markdown, for a pull request.",
    junit="Write it as JUnit XML, a test case a budget.",
)
@option(OUTPUT, "--all", "all_rows", is_flag=True, help="Show every layer that differs or is to blame.")
def _check_command(**options: Any) -> Callable[[], int]:
    from weighbridge.cli.check import Request, carry_out

    request = Request(**options)
    return lambda: carry_out(request)


COMMANDS: Final = (_check_command,)
"""What the group of all commands takes in."""
