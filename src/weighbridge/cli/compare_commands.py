"""The command that sets networks side by side, and its options.  A command only collects its request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from weighbridge.cli.completion import comparable
from weighbridge.cli.cost_options import ACTIVATION_BITS, COSTS, ENERGY, FPS, ON, RESERVE, WEIGHT_BITS
from weighbridge.cli.help import SectionedCommand, option
from weighbridge.cli.output_options import OUTPUT, file_options
from weighbridge.cli.size_options import size_options

__all__ = ["COMMANDS"]

_CHECKS: Final = "Checks"
_HELP: Final = """\
Compare networks: every metric side by side with its ratio to the first, the layers that differ, and which none beats.

MODEL is what `weighbridge weigh` takes; a saved report (.json, - is the standard input), which is not weighed again; a file as it
was at a revision of its git repository: model.onnx@main; or a network as somebody published it: published:segformer_b5. Two or more are
compared.

The options for sizes, widths and costs hold for every model that is weighed.
"""
_EXAMPLES: Final = """\
\b
Examples:
  weighbridge compare resnet18 resnet34 --on jetson-nano --precision fp16
  weighbridge compare mobilenet_v2 mobilenet_v2:width=0.75 --precision int8 --on mcu
  weighbridge compare model.onnx@main model.onnx --batch 1
  weighbridge compare net.py:Net@HEAD~3 net.py:Net --input 1x3x224x224 --markdown -
  weighbridge compare saved.json model.onnx -o page.html
  weighbridge compare published:segformer_b5 published:efficientvit_l1 --fps 30

\b
Exit codes:
  0  fine
  2  bad input or usage; a device without a rate at the precision asked for
  3  not exact, with --strict
"""


@click.command("compare", cls=SectionedCommand, help=_HELP, epilog=_EXAMPLES)
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, shell_complete=comparable)
@size_options(
    "[NAME=]1x3x224x224",
    "Shape of one input, as `weighbridge weigh` takes it. Without a name it is of the PyTorch models. Repeatable.",
)
@ON
@RESERVE
@option(
    COSTS,
    "--precision",
    metavar="P",
    help="Weights, activations and the device's peak rate of every network at one precision: int8, fp16, fp32 …",
)
@WEIGHT_BITS
@ACTIVATION_BITS
@FPS
@ENERGY
@option(
    COSTS,
    "--train",
    metavar="OPTIMISER",
    help="Show what a step of training takes: sgd, momentum, adam, adamw, adam8bit, adafactor.",
)
@option(COSTS, "--as-written", is_flag=True, help="Fold and fuse nothing: weigh every node of the files.")
@file_options(
    "Write it to a file, in the format of its suffix: .json, .csv, .md, .txt, and .html, which has the reports below it. "
    "Repeatable.",
    json="Write all of it as JSON; - or no name behind it is the standard output.",
    csv="Write a row for every metric as CSV.",
    markdown="Write the comparison as Markdown.",
)
@option(OUTPUT, "--all", "all_rows", is_flag=True, help="Show every layer that differs, and every note.")
@option(
    _CHECKS,
    "--strict",
    is_flag=True,
    help="Exit with 3 unless parameters, MACs and peak memory of every network that is weighed are exact.",
)
def _compare_command(**options: Any) -> Callable[[], int]:
    from weighbridge.cli.compare import Request, carry_out

    request = Request(**options)
    return lambda: carry_out(request)


COMMANDS: Final = (_compare_command,)
"""What the group of all commands takes in."""
