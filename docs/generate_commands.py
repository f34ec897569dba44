"""Makes docs/commands.md from the commands themselves, so that no option is missing and none is invented."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["page"]

_HEAD = """\
# Commands

This page is made from the commands themselves. `weighbridge --help` and `weighbridge weigh --help` say the same in a
terminal.
"""
_TAIL = """\
## Exit codes

| code | meaning |
|---|---|
| 0 | fine |
| 1 | does not fit, with `--require-fit` |
| 2 | bad input or usage; one line on standard error: what, where, what to do; a file with several faults lists them below it |
| 3 | not exact, with `--strict` |

Progress and warnings go to standard error. With `--json -`, `--csv -` or `--markdown -` standard output has that and nothing
else.

A reader that goes away and Ctrl-C give 141 and 130, as shells report them.

## CSV

`--csv` writes a row for every node that runs, under the names of the [JSON](json.md); an empty cell is unknown. It adds the
shares of parameters and MACs (0 to 1), `other_operations` (everything computed beside the MACs) and `alive_bytes` (the memory
alive while the node runs, policy `live`). A text that a spreadsheet would take for a formula, because it begins with `=`, `+`,
`-` or `@`, has a `'` in front.

## Environment

| variable | meaning |
|---|---|
| `NO_COLOR` | anything but nothing turns colour off |
| `COLUMNS` | the width of the page, from 60 columns on; wider than 120 is not used |
| `WEIGHBRIDGE_DEBUG` | `1` shows the traceback of an internal error, for a report to us |

## Completion

`weighbridge --show-completion bash` (or `zsh`, `fish`) prints the script that makes the shell complete commands, options,
networks and devices.
"""


def page() -> str:
    """The page as Markdown."""
    from weighbridge.cli.app import app

    ordered = sorted(app.commands.items(), key=lambda item: (item[0] != "weigh", item[0]))
    return "\n".join([_HEAD, *(_with_subcommands(name, command) for name, command in ordered), _TAIL])


def _with_subcommands(name: str, command: Any) -> str:
    inner = getattr(command, "commands", {})
    parts = [_command(name, command), *(_command(f"{name} {word}", inner[word], level=3) for word in inner)]
    return "\n".join(parts)


def _command(name: str, command: Any, level: int = 2) -> str:
    arguments = [parameter.metavar for parameter in command.params if parameter.param_type_name == "argument"]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    usage = " ".join(["weighbridge", name, *arguments, *(["[OPTIONS]"] if options else [])])
    paragraphs = [
        _marked(" ".join(paragraph.split())) for paragraph in command.help.split("\n\n") if "\b" not in paragraph
    ]
    lines = [
        f"{'#' * level} weighbridge {name}",
        "",
        "```text",
        usage,
        "```",
        "",
        *"\n\n".join(paragraphs).splitlines(),
        "",
    ]
    sections: dict[str, list[str]] = {}
    for option in options:
        row = f"| {_cell(_names(option))} | {_cell(_marked(' '.join((option.help or '').split())))} |"
        sections.setdefault(getattr(option, "section", "Options"), []).append(row)
    for title, rows in sections.items():
        lines += [f"### {title}", "", "| option | meaning |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _marked(text: str) -> str:
    """The options that a text names, marked as code: a dash alone would be typeset as another sign."""
    return re.sub(r"(?<![`\w-])--[a-z][a-z-]*\w", r"`\g<0>`", text)


def _names(option: Any) -> str:
    value = "" if option.is_flag else f" {option.metavar or option.type.name.upper()}"
    return ", ".join(f"`{name}{value}`" for name in option.opts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
