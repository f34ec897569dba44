"""Makes docs/commands.md, and the part of each page in docs/commands that follows from a command itself.

A page says in its own words what its command is for and how to read what it prints. Between the lines

    <!-- usage: weighbridge devices show -->
    <!-- end of usage -->

stand the usage, arguments, options, examples and exit codes of that command, so that none is missing and none is invented.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

__all__ = ["commands", "filled", "page", "reference", "usages"]

_USAGE = re.compile(r"(?<=<!-- usage: weighbridge )([a-z -]+)( -->\n).*?(?=^<!-- end of usage -->$)", re.M | re.DOTALL)

_TABLES = {
    "Exit codes": "| code | meaning |",
    "Charts": "| chart | what it shows |",
    "Changes": "| change | what it makes of the network |",
}
"""The heads of what the end of a command's help lists, by the titles there."""

_HEAD = """\
# Commands

`weighbridge COMMAND --help`, or `-h`, says in a terminal what the page of the command says here.

| command | what it does |
|---|---|
"""
_TAIL = """\
## Exit codes

| code | meaning |
|---|---|
| 0 | fine |
| 1 | does not fit, with `--require-fit`; over budget, of `weighbridge check` |
| 2 | bad input or usage: one line on standard error says what, where, what to do; the faults of a file are listed below it |
| 2 | a device named by itself has no rate at the `--precision` asked for; the report is written all the same |
| 3 | not exact, with `--strict` and of `weighbridge check` |

Progress and warnings go to standard error. With `--json -`, `--csv -` or `--markdown -` standard output has that and nothing
else.

A reader that goes away and Ctrl-C give 141 and 130, as shells report them.

## CSV

`--csv` writes a row for every node that runs, under the names of the [JSON](json.md); an empty cell is unknown. It adds the
shares of parameters and MACs (0 to 1), `other_operations` (everything computed beside the MACs) and `alive_bytes` (the memory
alive while the node runs, by the policy `live` or that of `--policy`). A text that a spreadsheet would take for a formula, because
it begins with `=`, `+`, `-` or `@`, has a `'` in front.

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


def commands() -> dict[str, click.Command]:
    """Every command by its words, ``weigh`` first and each group before the commands in it."""
    from weighbridge.cli.app import app

    ordered = sorted(app.commands.items(), key=lambda item: (item[0] != "weigh", item[0]))
    return dict(one for name, command in ordered for one in _with_subcommands(name, command))


def _with_subcommands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    for word, inner in getattr(command, "commands", {}).items():
        yield from _with_subcommands(f"{name} {word}", inner)


def page() -> str:
    """docs/commands.md: every command with a link to its page, and what holds for all of them."""
    from weighbridge.cli.app import app

    pages = list(dict.fromkeys(name.split()[0] for name in commands()))
    rows = [
        f"| [`weighbridge {name}`](commands/{name.split()[0]}.md{_anchor(name)}) | {_cell(_marked(_help(command)[0]))} |"
        for name, command in commands().items()
    ]
    contents = [":::{toctree}", ":hidden:", "", *(f"commands/{name}" for name in pages), ":::", ""]
    return "\n".join([_HEAD + "\n".join(rows), "", *contents, *_options(app, 2), _TAIL])


def _anchor(name: str) -> str:
    return f"#weighbridge-{name.replace(' ', '-')}" if " " in name else ""


def _help(command: click.Command) -> list[str]:
    """The paragraphs of the help, but not the layouts in it."""
    text = inspect.cleandoc(command.help or "")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if "\b" not in paragraph]


def usages(text: str) -> list[str]:
    """The commands, by their words, whose usage stands in a page."""
    return [found[1] for found in _USAGE.finditer(text)]


def filled(text: str) -> str:
    """A page with the usage of each command that it names as the command has it.  Raises ``ValueError`` for another word."""
    known = commands()

    def fill(found: re.Match[str]) -> str:
        if found[1] not in known:
            raise ValueError(f"a page shows the usage of {found[1]!r}, which is no command")
        return f"{found[1]}{found[2]}\n{reference(found[1], known[found[1]])}\n"

    return _USAGE.sub(fill, text)


def reference(name: str, command: click.Command) -> str:
    """Usage, help, arguments, options, examples and exit codes of one command, its headings below that of its name."""
    level = len(name.split()) + 1
    context = click.Context(command, info_name=name)
    arguments = [one.make_metavar(context) for one in command.params if isinstance(one, click.Argument)]
    optional = ["[OPTIONS]"] if any(isinstance(one, click.Option) for one in command.params) else []
    inner = ["[COMMAND]"] if getattr(command, "commands", None) else []
    usage = " ".join(["weighbridge", name, *arguments, *optional, *inner])
    paragraphs = [part for text in _help(command) for part in (_marked(text), "")]
    return "\n".join(
        ["```text", usage, "```", "", *paragraphs, *_options(command, level), *_epilog(command, level)]
    ).rstrip()


def _options(command: click.Command, level: int) -> list[str]:
    context = click.Context(command)
    sections: dict[str, list[str]] = {}
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            row = f"| {_cell(_names(option, context))} | {_cell(_marked(_meaning(option, context)))} |"
            sections.setdefault(getattr(option, "section", "Options"), []).append(row)
    lines = []
    for title, rows in sections.items():
        lines += [f"{'#' * level} {title}", "", "| option | meaning |", "|---|---|", *rows, ""]
    return lines


def _epilog(command: click.Command, level: int) -> list[str]:
    """The examples as commands, the rest as tables."""
    lines = []
    for part in (command.epilog or "").replace("\b\n", "").strip().split("\n\n"):
        title, _, rest = part.partition(":\n")
        rows = inspect.cleandoc(rest).splitlines()
        if title in _TABLES:
            # a row that goes on below is indented there
            cells = [row.split(maxsplit=1) for row in re.sub(r"\n\s+", " ", "\n".join(rows)).splitlines()]
            body = [
                _TABLES[title],
                "|---|---|",
                *(f"| {_named(name, title)} | {_cell(_marked(what))} |" for name, what in cells),
            ]
        else:
            body = ["```shell", *rows, "```"]
        if rows:
            lines += [f"{'#' * level} {title}", "", *body, ""]
    return lines


def _named(name: str, title: str) -> str:
    return f"`{name}`" if title == "Changes" else name


def _marked(text: str) -> str:
    """The options that a text names, marked as code unless they stand in code: a dash alone would be typeset as another sign."""
    return re.sub(
        r"`[^`]*`|(?<![\w-])(--[a-z][a-z-]*\w)", lambda found: f"`{found[1]}`" if found[1] else found[0], text
    )


def _names(option: click.Option, context: click.Context) -> str:
    value = "" if option.is_flag else f" {option.make_metavar(context)}"
    return ", ".join(f"`{name}{value}`" for name in (*option.opts, *option.secondary_opts))


def _meaning(option: click.Option, context: click.Context) -> str:
    """The help of an option with its default and range, as far as the terminal shows them."""
    record = option.get_help_record(context)
    text = " ".join(record[1].split()) if record else ""
    return re.sub(r" \[([^]]+)]$", r" (`\1`)", text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
