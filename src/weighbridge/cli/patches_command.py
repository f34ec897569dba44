"""The command that runs the first stage of a network patch by patch, and its options.  A command only collects its request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from weighbridge.cli.completion import sources
from weighbridge.cli.cost_options import ACTIVATION_BITS, COSTS, ON, RESERVE, WEIGHT_BITS
from weighbridge.cli.help import SectionedCommand, option
from weighbridge.cli.output_options import OUTPUT, file_options
from weighbridge.cli.size_options import size_options

__all__ = ["COMMANDS"]

_STAGE: Final = "The patches"
_HELP: Final = """\
Run the first stage of a network patch by patch: what that saves of peak memory, and what it computes twice.

SOURCE is what `weighbridge weigh` takes. Each patch of the result of the stage is computed by itself, of the part of the image that it
needs, so that the large maps of the first layers are never there in one piece. Without --last and --grid the best stage and grid are
searched for; with both the plan is that one, whether it helps or not.
"""
_EXAMPLES: Final = """\
\b
Examples:
  weighbridge patches mobilenet_v2 --precision int8 --on stm32f746
  weighbridge patches model.tflite --on stm32f746 --reserve sram=64KiB --require-fit
  weighbridge patches mobilenet_v2 --precision int8 --last block4.project --grid 4x4 --policy pair_in_place --input-elsewhere
  weighbridge patches model.onnx --grid 2x2 --grid 3x3 --json -

\b
Exit codes:
  0  fine
  1  a device has no room for it in patches, with --require-fit
  2  bad input or usage; a node that no stage can end with, a grid finer than the map
"""


@click.command("patches", cls=SectionedCommand, help=_HELP, epilog=_EXAMPLES)
@click.argument("source", metavar="SOURCE", shell_complete=sources)
@size_options("[NAME=]1x3x224x224", "Shape of one input, as `weighbridge weigh` takes it. Repeatable.")
@option(_STAGE, "--last", metavar="NODE", help="The layer that the stage ends with, where all branches have met.")
@option(
    _STAGE,
    "--grid",
    "grids",
    multiple=True,
    metavar="ROWSxCOLUMNS",
    help="So many patches above each other and side by side, as in 4x4; by default squares of 2 to 8 are tried. Repeatable.",
)
@option(
    _STAGE,
    "--policy",
    default="live_in_place",
    metavar="NAME",
    help="What is called alive: live_in_place, which it is by default, pair_in_place, live or pair.",
)
@option(
    _STAGE,
    "--input-elsewhere",
    is_flag=True,
    help="Count the input of the network in no patch: each reads its part where it lies, in flash or in a camera.",
)
@option(
    COSTS,
    "--precision",
    metavar="P",
    help="Weights and activations at one precision: int8, fp16, fp32 … The bit options override it.",
)
@WEIGHT_BITS
@ACTIVATION_BITS
@ON
@RESERVE
@file_options(
    "Write it to a file, in the format of its suffix: .json, .csv, .md, .txt, .html. Repeatable.",
    json="Write all of it as JSON; - or no name behind it is the standard output.",
    csv="Write a row for every patch as CSV.",
    markdown="Write it as Markdown.",
)
@option(OUTPUT, "--all", "all_rows", is_flag=True, help="Show every row of the tables.")
@option(
    "Checks",
    "--require-fit",
    is_flag=True,
    help="Exit with 1 unless every device given has room for it in patches; room for it row by row does not count.",
)
def _patches_command(**options: Any) -> Callable[[], int]:
    from weighbridge.cli.patches import Request, carry_out

    request = Request(**options)
    return lambda: carry_out(request)


COMMANDS: Final = (_patches_command,)
"""What the group of all commands takes in."""
