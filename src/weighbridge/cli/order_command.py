"""The command that looks for a better order of execution, and its options.  A command only collects its request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from weighbridge.cli.completion import sources
from weighbridge.cli.cost_options import ACTIVATION_BITS, COSTS, WEIGHT_BITS
from weighbridge.cli.help import SectionedCommand, option
from weighbridge.cli.output_options import OUTPUT, file_options
from weighbridge.cli.size_options import size_options

__all__ = ["COMMANDS"]

_HELP: Final = """\
Look for the order of execution with the smallest peak of memory: what it saves, and the bound that no order goes below.

SOURCE is what `weighbridge weigh` takes. What is alive depends on which layers have run, and a network with branches can run them in
many orders. The search is exact where few branches lie beside each other, and says so; else it gives the best order that it found
and a bound. Beside it stands what each kernel that may write its result over an operand would save.
"""
_EXAMPLES: Final = """\
\b
Examples:
  weighbridge order model.tflite
  weighbridge order model.onnx --precision int8 --all
  weighbridge order model.onnx --json -
  weighbridge order model.tflite --export better.tflite

\b
Exit codes:
  0  fine
  2  bad input or usage; a size that the source leaves open
"""


@click.command("order", cls=SectionedCommand, help=_HELP, epilog=_EXAMPLES)
@click.argument("source", metavar="SOURCE", shell_complete=sources)
@size_options("[NAME=]1x3x224x224", "Shape of one input, as `weighbridge weigh` takes it. Repeatable.")
@option(
    "The search",
    "--most-states",
    type=click.IntRange(min=0),
    metavar="N",
    help="Look at so many sets of layers of a stretch with branches before going on with the best ones alone; by default 50000.",
)
@option(
    "The better file",
    "--export",
    metavar="FILE",
    help="Write the model with its nodes in the order that was found: an .onnx of an .onnx, a .tflite of a .tflite, never the source.",
)
@option(
    COSTS,
    "--precision",
    metavar="P",
    help="Weights and activations at one precision: int8, fp16, fp32 … The bit options override it.",
)
@WEIGHT_BITS
@ACTIVATION_BITS
@file_options(
    "Write it to a file, in the format of its suffix: .json, .csv, .md, .txt, .html. Repeatable.",
    json="Write all of it as JSON; - or no name behind it is the standard output.",
    csv="Write a row for every layer, in the order in which it runs, as CSV.",
    markdown="Write it as Markdown.",
)
@option(OUTPUT, "--all", "all_rows", is_flag=True, help="Show every row of the tables.")
def _order_command(**options: Any) -> Callable[[], int]:
    from weighbridge.cli.order import Request, carry_out

    request = Request(**options)
    return lambda: carry_out(request)


COMMANDS: Final = (_order_command,)
"""What the group of all commands takes in."""
