"""The commands that make a device of this machine and that hold one to measurements.  A command only collects its request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from weighbridge.cli.completion import devices, sources
from weighbridge.cli.help import SectionedCommand, option
from weighbridge.cli.output_options import OUTPUT, file_options
from weighbridge.cli.size_options import NETWORK

__all__ = ["COMMANDS"]

_RUN: Final = "How it is run"
_TIME: Final = "How long"
_CALIBRATE_HELP: Final = """\
Measure this machine and make a device file of it, on which `weighbridge weigh` and `measure` say what a network is expected to take.

Products of matrices and moved bytes give the peaks, single operators the rates of a runtime by class of operators.

NETWORK is an ONNX file or a PyTorch model (torchvision:resnet18). All of a runtime are measured in turns, and say how much of the rates
networks reach: with four or more the device says how far an expected time is off for a network without a part in it. With fewer, times are
expected by single operators alone, and nobody knows how far off they are.
"""
_CALIBRATE_EXAMPLES: Final = """\
\b
Examples:
  weighbridge calibrate -o this-machine.toml
  weighbridge calibrate a.onnx b.onnx c.onnx d.onnx e.onnx --threads 2 -o this-machine.toml
  weighbridge calibrate *.onnx --record times.jsonl -o this-machine.toml -o page.html
  weighbridge calibrate --from times.jsonl -o this-machine.toml
  weighbridge weigh net.onnx --on ./this-machine.toml

\b
Exit codes:
  0  fine
  2  bad input or usage; a runtime that is not installed or refuses a network
"""
_VALIDATE_HELP: Final = """\
Show what a device expects of networks beside what they took, each expected without a part of its own in that, and how far it is off.

RECORDS are files or folders that `weighbridge measure --record` or `weighbridge calibrate --record` wrote to, of measurements on the
device's machine. One constant for all, on the floor and on MACs, stands beside.
"""
_VALIDATE_EXAMPLES: Final = """\
\b
Examples:
  weighbridge validate times.jsonl --on ./this-machine.toml
  weighbridge validate times.jsonl --on ./this-machine.toml --json - -o page.html

\b
Exit codes:
  0  fine
  2  bad input or usage; a device without rates of a runtime; no record of this device's machine
"""
_FILES: Final = file_options(
    "Write it to a file, in the format of its suffix: .json, .csv, .md, .txt, .html. Repeatable.",
    json="Write all of it as JSON; - or no name behind it is the standard output.",
    csv="Write a row for every network as CSV.",
    markdown="Write it as Markdown.",
)
_FILES_AND_DEVICE: Final = file_options(
    "Write the device to a .toml file, and the page to .json, .csv, .md, .txt or .html. Repeatable.",
    json="Write all of it as JSON; - or no name behind it is the standard output.",
    csv="Write a row for every network as CSV.",
    markdown="Write it as Markdown.",
)
_ALL: Final = option(OUTPUT, "--all", "all_rows", is_flag=True, help="Show every row of the tables.")


@click.command("calibrate", cls=SectionedCommand, help=_CALIBRATE_HELP, epilog=_CALIBRATE_EXAMPLES)
@click.argument("networks", metavar="[NETWORK]...", nargs=-1, shell_complete=sources)
@option(
    NETWORK, "--batch", type=int, metavar="N", help="Batch of the networks; one whose file fixes another is refused."
)
@option(
    NETWORK,
    "--from",
    "records",
    multiple=True,
    metavar="RECORDS",
    help="Let measurements count that were made earlier on this machine, with as many threads: a file or a folder. Repeatable.",
)
@option(
    _RUN,
    "--runtime",
    multiple=True,
    metavar="NAME",
    help="A runtime to calibrate: onnxruntime, pytorch; by default those of the networks, or all that are installed. Repeatable.",
)
@option(
    _RUN,
    "--threads",
    type=int,
    metavar="N",
    help="Threads of one run, by default as many as there are processors. Times are expected with as many.",
)
@option(
    _TIME,
    "--seconds",
    type=float,
    default=20.0,
    metavar="S",
    help="Run each network for no longer than this, by default 20.",
)
@option(
    _TIME,
    "--operator-seconds",
    type=float,
    default=30.0,
    metavar="S",
    help="Run the single operators of a runtime for so long in all, by default 30.",
)
@option(
    OUTPUT,
    "--name",
    default="",
    metavar="NAME",
    help="The name of the device, by default one made of the processor's.",
)
@option(
    OUTPUT,
    "--record",
    metavar="FILE|FOLDER/",
    help="Add the measurements of networks to a file (.jsonl) or a folder as soon as those of a runtime are made.",
)
@_FILES_AND_DEVICE
@_ALL
def _calibrate_command(**options: Any) -> Callable[[], int]:
    from weighbridge.cli.calibrate import CalibrateRequest, calibrate

    request = CalibrateRequest(**options)
    return lambda: calibrate(request)


@click.command("validate", cls=SectionedCommand, help=_VALIDATE_HELP, epilog=_VALIDATE_EXAMPLES)
@click.argument("records", metavar="RECORDS...", nargs=-1, required=True, type=click.Path())
@option(
    NETWORK,
    "--on",
    required=True,
    metavar="DEVICE",
    shell_complete=devices,
    help="The device file that `weighbridge calibrate` wrote.",
)
@_FILES
@_ALL
def _validate_command(**options: Any) -> Callable[[], int]:
    from weighbridge.cli.calibrate import ValidateRequest, validate

    request = ValidateRequest(**options)
    return lambda: validate(request)


COMMANDS: Final = (_calibrate_command, _validate_command)
"""What the group of all commands takes in."""
