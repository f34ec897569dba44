"""The command ``compress`` and its options.  It only collects its request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from weighbridge.cli.completion import sources
from weighbridge.cli.help import SectionedCommand, option
from weighbridge.cli.output_options import file_options
from weighbridge.cli.size_options import size_options

__all__ = ["COMMANDS"]

_COMPRESSION: Final = "Compression"
_Command = Callable[..., Any]

_HELP: Final = """\
Show what a network weighs compressed as Deep Compression does it: pruned, with a codebook, Huffman coded, layer by layer.

SOURCE is an ONNX, TensorFlow Lite or safetensors file, a file of PyTorch that holds a state_dict, or a Python file that makes
a module (model.py:Net): its weights are read and measured. Whatever else `weighbridge weigh` takes has ratios alone.
"""
_EXAMPLES: Final = """\
\b
Examples:
  weighbridge compress alexnet --plan deep-compression
  weighbridge compress alexnet --keep 'conv*=0.37' --keep rest=0.1 --codebook 'conv*=8' --codebook rest=5
  weighbridge compress model.onnx --batch 1 --keep 0.2 --codebook 5
  weighbridge compress model.tflite
  weighbridge compress model.safetensors --codebook 8 -o sizes.csv
  weighbridge compress model.onnx --ratios-only --keep 0.1 --huffman-indices 3.2 --json -

\b
Exit codes:
  0  fine
  2  bad input or usage
"""
_RULES: Final = (
    (
        "--keep",
        "[TARGET=]RATIO",
        "Keep this share of the weights, the largest: of all, of the first, the last, the rest, a name or a pattern (fc*=0.1).",
    ),
    ("--codebook", "[TARGET=]BITS", "Share values through a codebook of 2^BITS values of 32 bits."),
    ("--index-bits", "[TARGET=]N", "Bits of a relative index where weights are left out; by default 4."),
    (
        "--huffman-values",
        "[TARGET=]BITS",
        "Bits of a value on average in its Huffman code, where no weights are read.",
    ),
    ("--huffman-indices", "[TARGET=]BITS", "Bits of an index on average in its Huffman code, likewise."),
    (
        "--fillers",
        "[TARGET=]RATIO",
        "Fillers for each kept weight, likewise; without it they are left out and estimated.",
    ),
)


def _rules(command: _Command) -> _Command:
    for name, metavar, text in reversed(_RULES):
        command = option(_COMPRESSION, name, multiple=True, metavar=metavar, help=text)(command)
    return command


@click.command("compress", cls=SectionedCommand, help=_HELP, epilog=_EXAMPLES)
@click.argument("source", metavar="SOURCE", shell_complete=sources)
@size_options(
    "NAME=1x3x224x224",
    "Shape of one input. Repeatable.",
)
@_rules
@option(
    _COMPRESSION,
    "--plan",
    metavar="PLAN",
    help="Follow a plan, a TOML file that says all this layer by layer, or one that comes with weighbridge: deep-compression, "
    "what the paper does to AlexNet and prints of it. The options override it.",
)
@option(_COMPRESSION, "--ratios-only", is_flag=True, help="Read no weights: count from the ratios given alone.")
@file_options(
    "Write to a file, in the format of its suffix: .json, .csv, .md, .txt. Repeatable.",
    json="Write everything as JSON; - or no name behind it is the standard output.",
    csv="Write a row for every layer as CSV.",
    markdown="Write the tables as Markdown.",
)
def _compress_command(**options: Any) -> Callable[[], int]:
    from weighbridge.cli.compress import Request, carry_out

    request = Request(**options)
    return lambda: carry_out(request)


COMMANDS: Final = (_compress_command,)
"""What the group of all commands takes in."""
