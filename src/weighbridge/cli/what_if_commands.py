"""The command that weighs a network before and after changes, and its options.  A command only collects its request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from weighbridge.cli.completion import changes, sources
from weighbridge.cli.cost_options import COSTS, ENERGY, ON, RESERVE
from weighbridge.cli.help import SectionedCommand, option
from weighbridge.cli.output_options import OUTPUT, file_options
from weighbridge.cli.size_options import size_options

__all__ = ["COMMANDS"]

_CHECKS: Final = "Checks"
_HELP: Final = """\
Weigh a network before and after changes: every metric side by side with its ratio, and the layers that differ.

SOURCE is what `weighbridge weigh` takes.

CHANGE is one of the changes below; several are carried out in their order. TARGET is a layer, a module, a parameter, a
pattern (conv*), first, last, last-3 or rest, what no other change of the kind names; without one all layers are meant. RATIO is a
share such as 30% or 0.3, RANK a number of values or a share of the smaller side of each weight. A textbook network and a network
file also have their own parameters: width=0.75, resolution=160.
"""
_EXAMPLES: Final = """\
\b
Examples:
  weighbridge what-if alexnet prune:fc*=50% --on toy
  weighbridge what-if alexnet global-pool low-rank:fc7=512 bits=8 --steps
  weighbridge what-if mobilenet_v2 width=0.75 resolution=160 --on mcu
  weighbridge what-if resnet18 prune=30% --json -
  weighbridge what-if model.onnx depthwise sparsity:last=90% --batch 1 -o what-if.md
  weighbridge what-if torchvision:resnet18 prune:layer*=30% --precision fp16 --on jetson-agx-orin

\b
Exit codes:
  0  fine
  1  what was changed does not fit, with --require-fit
  2  bad input or usage; a device without a rate at the precision asked for
  3  not exact, with --strict
"""


class _WhatIfCommand(SectionedCommand):
    """A command whose help ends in the changes that there are, which are looked up where it is shown."""

    @property
    def epilog(self) -> str:
        from weighbridge.passes.what_if.language import CHANGES

        width = max(len(kind.form) for kind in CHANGES.values())
        rows = [f"  {kind.form:<{width}}  {kind.summary}" for kind in CHANGES.values()]
        return "\n".join(["\b", "Changes:", *rows, "", _EXAMPLES])

    @epilog.setter
    def epilog(self, text: str | None) -> None:
        """Click sets what a command is made with; this one is made with none."""


@click.command("what-if", cls=_WhatIfCommand, help=_HELP)
@click.argument("source", metavar="SOURCE", shell_complete=sources)
@click.argument("changes", metavar="CHANGE...", nargs=-1, required=True, shell_complete=changes)
@size_options(
    "[NAME=]1x3x224x224",
    "Shape of one input, as `weighbridge weigh` takes it. Repeatable.",
)
@ON
@RESERVE
@option(
    COSTS,
    "--precision",
    metavar="P",
    help="Weights, activations and the device's peak rate before and after at one precision: int8, fp16, fp32 … Changes of bits "
    "come after it.",
)
@ENERGY
@option(
    COSTS,
    "--train",
    metavar="OPTIMISER",
    help="Show what a step of training takes, by the rule paper: sgd, momentum, adam, adamw, adam8bit, adafactor.",
)
@option(COSTS, "--as-written", is_flag=True, help="Fold and fuse nothing: weigh every node of the file.")
@file_options(
    "Write it to a file, in the format of its suffix: .json, .csv, .md, .txt, and .html, which has the reports before and "
    "after below it. Repeatable.",
    json="Write all of it as JSON; - or no name behind it is the standard output.",
    csv="Write a row for every metric as CSV.",
    markdown="Write the comparison as Markdown.",
)
@option(OUTPUT, "--steps", is_flag=True, help="Show the network after each step of the changes, a column each.")
@option(OUTPUT, "--all", "all_rows", is_flag=True, help="Show every layer that differs, and every note.")
@option(
    _CHECKS,
    "--strict",
    is_flag=True,
    help="Exit with 3 unless parameters, MACs and peak memory are exact before and after.",
)
@option(_CHECKS, "--require-fit", is_flag=True, help="Exit with 1 unless what was changed fits every device given.")
def _what_if_command(**options: Any) -> Callable[[], int]:
    from weighbridge.cli.what_if import Request, carry_out

    request = Request(**options)
    return lambda: carry_out(request)


COMMANDS: Final = (_what_if_command,)
"""What the group of all commands takes in."""
