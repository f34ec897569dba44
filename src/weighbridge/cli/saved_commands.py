"""The commands that show saved reports and draw charts of them, and their options.  A command only collects its request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from weighbridge.cli.completion import saved
from weighbridge.cli.help import SectionedCommand, option
from weighbridge.cli.output_options import OUTPUT, POLICY, output_options

__all__ = ["COMMANDS"]

_CHART: Final = "The chart"

_REPORT_HELP: Final = """\
Show saved reports again, without the models: on the screen, or as a page in HTML to send to somebody.

SAVED is what `weighbridge weigh SOURCE --json FILE` wrote; - is the standard input. Several are shown one after the other on
the screen and side by side in HTML.
"""
_REPORT_EXAMPLES: Final = """\
\b
Examples:
  weighbridge report saved.json -o page.html
  weighbridge report alexnet.json mobilenet_v2.json resnet50.json -o comparison.html
  weighbridge report saved.json --policy pair_in_place --all
  weighbridge weigh model.onnx --json - | weighbridge report - -o page.html

\b
Exit codes:
  0  fine
  2  bad input or usage
"""
_PLOT_HELP: Final = """\
Draw one chart of a saved report as a picture: SVG, PNG or PDF, by the suffix of the file.

SAVED is what `weighbridge weigh SOURCE --json FILE` wrote; - is the standard input. Several are drawn under each other, on
common scales.

CHART is one of the charts below.
"""
_PLOT_EXAMPLES: Final = """\
\b
Examples:
  weighbridge plot saved.json inversion -o inversion.svg
  weighbridge plot saved.json inversion --theme dark --scale 3 -o inversion.png
  weighbridge plot alexnet.json mobilenet_v2.json inversion -o inversion.pdf

\b
Exit codes:
  0  fine
  2  bad input or usage; a report that has nothing for this chart
"""


class _PlotCommand(SectionedCommand):
    """A command whose help ends in the charts that there are, which are looked up where it is shown."""

    @property
    def epilog(self) -> str:
        from weighbridge.report.charts.kinds import KINDS

        rows = [f"  {name:<{max(map(len, KINDS))}}  {kind.title}" for name, kind in KINDS.items()]
        return "\n".join(["\b", "Charts:", *rows, "", _PLOT_EXAMPLES])

    @epilog.setter
    def epilog(self, text: str | None) -> None:
        """Click sets what a command is made with; this one is made with none."""


@click.command("report", cls=SectionedCommand, help=_REPORT_HELP, epilog=_REPORT_EXAMPLES)
@click.argument("saved", metavar="SAVED...", nargs=-1, required=True, shell_complete=saved)
@output_options
def _report_command(saved: tuple[str, ...], **options: Any) -> Callable[[], int]:
    from weighbridge.cli.report import carry_out
    from weighbridge.cli.targets import Output

    output = Output(**options)
    return lambda: carry_out(saved, output)


@click.command("plot", cls=_PlotCommand, help=_PLOT_HELP)
@click.argument("saved", metavar="SAVED...", nargs=-1, shell_complete=saved)
@click.argument("chart", metavar="CHART")
@option(
    _CHART,
    "--on",
    metavar="DEVICE",
    help="The device of a chart that is of one, as the report names it; needed where the reports have several.",
)
@POLICY
@option(
    OUTPUT,
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="Write the picture to this file, in the format of its suffix: .svg, .png or .pdf.",
)
@option(
    OUTPUT,
    "--theme",
    type=click.Choice(("light", "dark")),
    default="light",
    help="Dark text on a light ground, or light text on a dark one; by default light.",
)
@option(
    OUTPUT,
    "--scale",
    type=float,
    metavar="N",
    help="Of a PNG: how many of its pixels stand for one of the chart's some 800 across, from 0.25 to 8; by default 2.",
)
def _plot_command(**options: Any) -> Callable[[], int]:
    from weighbridge.cli.plot import Request, carry_out

    request = Request(**options)
    return lambda: carry_out(request)


COMMANDS: Final = (_plot_command, _report_command)
"""What the group of all commands takes in."""
