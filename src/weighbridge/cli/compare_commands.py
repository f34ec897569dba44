"""The command that sets networks side by side, and its options.  A command only collects its request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from weighbridge.cli.completion import comparable, devices
from weighbridge.cli.help import TO_OUTPUT, SectionedCommand, option
from weighbridge.cli.size_options import size_options

__all__ = ["COMMANDS"]

_COSTS, _OUTPUT, _CHECKS = "Widths and costs", "Output", "Checks"
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
@option(
    _COSTS,
    "--on",
    multiple=True,
    metavar="DEVICE",
    shell_complete=devices,
    help="Show verdict, times and energy on this device: a name that `weighbridge devices` lists, a group of them (mcu, npu, "
    "board, server), or a device file. Repeatable.",
)
@option(
    _COSTS,
    "--reserve",
    multiple=True,
    metavar="NAME=SIZE",
    help="Keep bytes of a device's memory region for something else, as in sram=64KiB or flash=200kB. Repeatable.",
)
@option(
    _COSTS,
    "--precision",
    metavar="P",
    help="Weights, activations and the device's peak rate of every network at one precision: int8, fp16, fp32 …",
)
@option(
    _COSTS,
    "--weight-bits",
    multiple=True,
    metavar="[TARGET=]BITS",
    help="Bits of the weights: of all, or of the first, the last, the rest, a name or a pattern (conv*=8). Repeatable.",
)
@option(_COSTS, "--activation-bits", type=click.IntRange(1, 64), metavar="N", help="Bits of the activations.")
@option(_COSTS, "--fps", metavar="RATE", help="Show how many frames an inference misses at this many a second.")
@option(
    _COSTS,
    "--energy",
    metavar="TABLE",
    help="Show the energy by this table: a name that `weighbridge energy` lists (45nm), or a file.",
)
@option(
    _COSTS,
    "--train",
    metavar="OPTIMISER",
    help="Show what a step of training takes: sgd, momentum, adam, adamw, adam8bit, adafactor.",
)
@option(_COSTS, "--as-written", is_flag=True, help="Fold and fuse nothing: weigh every node of the files.")
@option(_OUTPUT, "--json", **TO_OUTPUT, help="Write all of it as JSON; - or no name behind it is the standard output.")
@option(_OUTPUT, "--csv", **TO_OUTPUT, help="Write a row for every metric as CSV.")
@option(_OUTPUT, "--markdown", **TO_OUTPUT, help="Write the comparison as Markdown.")
@option(
    _OUTPUT,
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    help="Write it to a file, in the format of its suffix: .json, .csv, .md, .txt, and .html, which has the reports below it. "
    "Repeatable.",
)
@option(_OUTPUT, "--all", "all_rows", is_flag=True, help="Show every layer that differs, and every note.")
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
