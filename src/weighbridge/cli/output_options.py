"""The options that say where reports go and what is shown of them, of every command that writes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from weighbridge.cli.help import TO_OUTPUT, option

__all__ = ["OUTPUT", "POLICY", "file_options", "output_options"]

_Command = Callable[..., Any]

OUTPUT: Final = "Output"
POLICY: Final = option(
    OUTPUT,
    "--policy",
    default="live",
    metavar="NAME",
    help="Memory policy that the bytes alive at each layer follow, as in pair_in_place; by default live.",
)
_OPTIONS: Final = (
    option(
        OUTPUT, "--json", **TO_OUTPUT, help="Write the report as JSON; - or no name behind it is the standard output."
    ),
    option(OUTPUT, "--csv", **TO_OUTPUT, help="Write a row for every node as CSV."),
    option(OUTPUT, "--markdown", **TO_OUTPUT, help="Write the report as Markdown."),
    option(
        OUTPUT,
        "-o",
        "--output",
        "outputs",
        multiple=True,
        metavar="FILE",
        help="Write the report to a file, in the format of its suffix: .json, .csv, .md, .txt, .html. Repeatable.",
    ),
    option(
        OUTPUT,
        "--model-explorer",
        metavar="FOLDER",
        help="Write what the nodes of the model's file cost as node data for Model Explorer, a file for each metric.",
    ),
    option(
        OUTPUT,
        "--depth",
        type=click.IntRange(min=1),
        metavar="N",
        help="Levels of the module tree to show; by default as many as fit 40 rows.",
    ),
    option(OUTPUT, "--all", "all_rows", is_flag=True, help="Show every row of the module tree."),
    POLICY,
    option(
        OUTPUT,
        "--map",
        "with_map",
        is_flag=True,
        help="Draw the arena by the memory policy arena_tflm, step by step, with what is alive at its peak.",
    ),
)


def output_options(command: _Command) -> _Command:
    """A decorator that adds the options, in their order."""
    for add in reversed(_OPTIONS):
        command = add(command)
    return command


def file_options(output: str, **formats: str) -> Callable[[_Command], _Command]:
    """A decorator that adds an option for each of ``formats``, which writes it to a file, and ``-o`` behind them.

    What they are given is their help: ``output`` that of ``-o``, ``json="Write all of it as JSON"`` that of ``--json``.
    """
    options = (
        *(option(OUTPUT, f"--{name}", **TO_OUTPUT, help=text) for name, text in formats.items()),
        option(OUTPUT, "-o", "--output", "outputs", multiple=True, metavar="FILE", help=output),
    )

    def add(command: _Command) -> _Command:
        for one in reversed(options):
            command = one(command)
        return command

    return add
