"""The command that serves the local app, and its options.  A command only collects its request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import click

from weighbridge.cli.help import SectionedCommand, option

__all__ = ["COMMANDS"]

_SERVER: Final = "The server"
_HELP: Final = """\
Open the local app in the browser: simulators in which a slider moves every figure at once.

It answers to this machine alone unless --host says otherwise, sends nothing anywhere, and keeps where all sliders stand in the
address of the page. Each page has a twin in JSON at its address with .json; /openapi.json describes them. Ctrl-C ends it.
"""
_EXAMPLES: Final = """\
\b
Examples:
  weighbridge app
  weighbridge app --port 9000 --no-browser
  weighbridge app --folder reports
  weighbridge app --host 0.0.0.0

\b
Exit codes:
  2    a host or port that cannot be had; packages of the extra web that are not there
  130  ended by Ctrl-C
"""


@click.command("app", cls=SectionedCommand, help=_HELP, epilog=_EXAMPLES)
@option(
    _SERVER,
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    help="Listen on this port; by default the first free one from 8631 on.",
)
@option(
    _SERVER,
    "--host",
    metavar="ADDRESS",
    help="Listen at this address of the machine, such as 0.0.0.0 for all that it has; by default at 127.0.0.1, which no other machine "
    "reaches. Where others do, whoever opens the app needs the token that is shown.",
)
@option(_SERVER, "--no-browser", is_flag=True, help="Open no browser; the address is on standard error.")
@option(
    _SERVER,
    "--folder",
    metavar="FOLDER",
    help="Keep saved reports and devices in this folder, and list those in it; without it they go when the app ends.",
)
def _app_command(port: int | None, host: str | None, no_browser: bool, folder: str | None) -> Callable[[], int]:
    from weighbridge.cli.web import carry_out

    return lambda: carry_out(port, opens=not no_browser, folder=folder, host=host)


COMMANDS: Final = (_app_command,)
"""What the group of all commands takes in."""
