"""Options, and help in which they stand in sections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

__all__ = ["TO_OUTPUT", "SectionedCommand", "SectionedOption", "option"]

TO_OUTPUT: Final[dict[str, Any]] = {"metavar": "[-|FILE]", "is_flag": False, "flag_value": "-"}
"""Of an option that writes to a file, or to the standard output where nothing is behind it."""


class SectionedOption(click.Option):
    """An option that stands under the heading ``section``."""

    def __init__(self, *arguments: Any, section: str, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.section = section


class SectionedCommand(click.Command):
    """A command whose help lists its options by section, in the order of their declaration."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a list of definitions for each section; click's own options come last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and not isinstance(parameter, click.Argument):
                sections.setdefault(getattr(parameter, "section", "Help"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def option(section: str, *names: str, **settings: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that adds an option under the heading ``section``."""
    return click.option(*names, cls=SectionedOption, section=section, **settings)
