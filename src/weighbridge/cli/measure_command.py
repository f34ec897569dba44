"""The command that measures networks where they run, and its options.  A command only collects its request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from weighbridge.cli.completion import devices, sources
from weighbridge.cli.cost_options import COSTS, FPS
from weighbridge.cli.help import SectionedCommand, option
from weighbridge.cli.output_options import OUTPUT, file_options
from weighbridge.cli.size_options import NETWORK, size_options

__all__ = ["COMMANDS"]

_RUN: Final = "How it is run"
_TIME: Final = "How long"
_CHECKS: Final = "Checks"
_HELP: Final = """\
Measure how long a network takes on this machine: the median with its interval, every sample, and the conditions it holds under.

SOURCE is an ONNX file, which ONNX Runtime runs; a TensorFlow Lite file, which LiteRT runs; or a PyTorch model: torchvision:resnet18.
Each runs in a process of its own. Several are measured in turns and compared, unless their conditions differ.
"""
_EXAMPLES: Final = """\
\b
Examples:
  weighbridge measure model.onnx
  weighbridge measure model.onnx --batch 1 --threads 2 --pin 0,1
  weighbridge measure before.onnx after.onnx
  weighbridge measure model.onnx model.onnx --threads 1,2 --although threads
  weighbridge measure model.onnx --batch-sweep 1,4,16
  weighbridge measure model.onnx --on ./this-machine.toml --profile
  weighbridge measure model.onnx --fps 30 --record times.jsonl --json -

\b
Exit codes:
  0  fine
  1  something disturbed a measurement, with --fail-if-noisy
  2  bad input or usage; a runtime that is not installed or refuses the model; conditions that differ;
     an energy that the machine does not tell
"""


@click.command("measure", cls=SectionedCommand, help=_HELP, epilog=_EXAMPLES)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, shell_complete=sources)
@size_options("[NAME=]1x3x224x224", "Shape of one input, as `weighbridge weigh` takes it. Repeatable.")
@option(
    NETWORK,
    "--values",
    multiple=True,
    metavar="NAME=FILE.npy",
    help="Values of an input; others are made up, the same each time. Repeatable.",
)
@option(
    _RUN,
    "--runtime",
    default="",
    metavar="NAME",
    help="The runtime: onnxruntime, litert, pytorch; by default that of the format. One for all sources, or one each: a,b.",
)
@option(
    _RUN,
    "--mode",
    default="",
    metavar="NAME",
    help="How the runtime runs it, in its own word: an execution provider of ONNX Runtime, eager or compile of PyTorch. One or one each.",
)
@option(
    _RUN,
    "--threads",
    default="1",
    metavar="N[,N…]",
    help="Threads of one run, 1 by default. One number for all sources, or one each.",
)
@option(_RUN, "--pin", metavar="N,N,…", help="Hold the runs to these logical processors, counted from 0.")
@option(
    _RUN,
    "--streams",
    type=click.IntRange(1, 64),
    default=1,
    metavar="N",
    help="Run so many at once, each in a process of its own: the latency of each, and the throughput of all.",
)
@option(
    _RUN,
    "--batch-sweep",
    "batches",
    metavar="N,N,…",
    help="Measure one source at each of these batch sizes, as in 1,4,16: latency, throughput, and the knee.",
)
@option(
    _TIME,
    "--width",
    type=float,
    default=0.01,
    metavar="SHARE",
    help="Run until the median is known to this share of it either way, by default 0.01.",
)
@option(
    _TIME,
    "--seconds",
    type=float,
    default=20.0,
    metavar="S",
    help="Run each for no longer than this, by default 20; the page says how well the median is known then.",
)
@option(_RUN, "--profile", is_flag=True, help="Show what the runtime's own profiler says, by operator.")
@option(
    _RUN,
    "--energy",
    is_flag=True,
    help="Read the joules of a run from the machine's counters, what it draws idle taken off; exit with 2 where that cannot be told.",
)
@option(
    COSTS,
    "--on",
    multiple=True,
    metavar="DEVICE",
    shell_complete=devices,
    help="Show the floor of this device beside what is measured: a name that `weighbridge devices` lists, or a device file. Repeatable.",
)
@option(
    COSTS,
    "--precision",
    metavar="P",
    help="Precision of the floor: int8, fp16, fp32 …; by default what the network has.",
)
@FPS
@option(
    _CHECKS,
    "--although",
    multiple=True,
    metavar="CONDITION,…",
    help="Compare though these conditions differ: threads, batch, precision, runtime, inputs … Repeatable.",
)
@option(_CHECKS, "--fail-if-noisy", is_flag=True, help="Exit with 1 where something disturbed a measurement.")
@option(
    OUTPUT,
    "--record",
    metavar="FILE|FOLDER/",
    help="Add each measurement to a file (.jsonl) or a folder as soon as it is made; `weighbridge history` shows them.",
)
@file_options(
    "Write it to a file, in the format of its suffix: .json, .csv, .md, .txt, .html. Repeatable.",
    json="Write all of it as JSON; - or no name behind it is the standard output.",
    csv="Write a row for every sample as CSV.",
    markdown="Write it as Markdown.",
)
@option(OUTPUT, "--all", "all_rows", is_flag=True, help="Show every row of the tables.")
def _measure_command(**options: Any) -> Callable[[], int]:
    from weighbridge.cli.measure import Request, carry_out

    request = Request(**options)
    return lambda: carry_out(request)


COMMANDS: Final = (_measure_command,)
"""What the group of all commands takes in."""
