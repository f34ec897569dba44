"""The commands and their options.  A command only collects its request; ``execute`` carries it out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Final

import click

from weighbridge import __version__
from weighbridge.cli.calculator_commands import COMMANDS as CALCULATORS
from weighbridge.cli.calibrate_commands import COMMANDS as CALIBRATE
from weighbridge.cli.check_commands import COMMANDS as CHECK
from weighbridge.cli.compare_commands import COMMANDS as COMPARE
from weighbridge.cli.completion import devices, sources
from weighbridge.cli.compress_command import COMMANDS as COMPRESS
from weighbridge.cli.cost_options import ACTIVATION_BITS, COSTS, ENERGY, FPS, RESERVE, WEIGHT_BITS
from weighbridge.cli.help import TO_OUTPUT, SectionedCommand, option
from weighbridge.cli.history_command import COMMANDS as HISTORY
from weighbridge.cli.measure_command import COMMANDS as MEASURE
from weighbridge.cli.options import at_options
from weighbridge.cli.order_command import COMMANDS as ORDER
from weighbridge.cli.output_options import output_options
from weighbridge.cli.patches_command import COMMANDS as PATCHES
from weighbridge.cli.saved_commands import COMMANDS as SAVED
from weighbridge.cli.size_options import size_options
from weighbridge.cli.web_commands import COMMANDS as WEB
from weighbridge.cli.what_if_commands import COMMANDS as WHAT_IF
from weighbridge.errors import BadSpec

__all__ = ["app", "execute"]

_COMPLETION_VARIABLE: Final = "_WEIGHBRIDGE_COMPLETE"
_SHELLS: Final = ("bash", "zsh", "fish")
_TRAINING, _CHECKS = "Training", "Checks"

_HELP: Final = """\
What a neural network costs before it is shipped: exact under a named convention, or it says what it left out.

\b
  weighbridge weigh alexnet
  weighbridge weigh model.onnx --batch 1 --on stm32f746
  weighbridge weigh model.tflite --on nrf52840
  weighbridge weigh mobilenet_v2 -o page.html
  weighbridge weigh --help
"""

_WEIGH_HELP: Final = """\
Weigh a network: parameters, model size, MACs, activations, peak memory, and whether a device can take it.

SOURCE is an ONNX file; a TensorFlow Lite file, with one of its signatures behind it if you like (model.tflite:decode); a
PyTorch model: an exported one (model.pt2), one that a Python file makes (model.py:Net), or one of a library, built without
its weights (torchvision:resnet50, timm:vit_base_patch16_224, transformers:path/to/config.json); a network written as TOML;
or a textbook network with its parameters: alexnet:resolution=256.
"""

_EXAMPLES: Final = """\
\b
Examples:
  weighbridge weigh alexnet
  weighbridge weigh alexnet:resolution=256 --on stm32f746
  weighbridge weigh mobilenet_v2:width=0.75 --precision int8 --on stm32f746 --require-fit
  weighbridge weigh model.onnx --batch 1 --sequence 128 --json -
  weighbridge weigh model.tflite --on nrf52840 --reserve RAM=32KiB
  weighbridge weigh torchvision:resnet50 --on jetson-agx-orin --precision int8
  weighbridge weigh model.py:Net:width=64 --input 1x3x224x224
  weighbridge weigh alexnet --weight-bits first=8 --weight-bits last=8 --weight-bits rest=4 -o alexnet.md
  weighbridge weigh mobilenet_v2 --on mcu -o page.html
  weighbridge weigh resnet50 --batch 8 --train adam --on jetson-nano

\b
Exit codes:
  0  fine
  1  does not fit, with --require-fit
  2  bad input or usage; a device without a rate at the precision asked for
  3  not exact, with --strict
"""


def execute(arguments: Sequence[str]) -> int:
    """Parse ``arguments``, carry the command out and return its exit code.

    Raises ``BadSpec`` for wrong usage, and whatever error of the tree the command meets.
    """
    instruction = os.environ.get(_COMPLETION_VARIABLE)
    if instruction:
        from click.shell_completion import shell_complete

        return shell_complete(app, {}, "weighbridge", _COMPLETION_VARIABLE, instruction)
    # click's own main() would handle a closed pipe and Ctrl-C in ways of its own.
    try:
        with app.make_context("weighbridge", list(arguments)) as context:
            request = app.invoke(context)
            invoked = app.commands.get(context.invoked_subcommand or "")
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as error:
        where = getattr(error, "ctx", None)
        command = where.command_path if where else "weighbridge"
        message = error.format_message().replace("\n", " ").rstrip(".")
        if message.endswith("?"):  # click has a hint of its own: "Did you mean '--batch'?"
            raise BadSpec(f"{message} `{command} --help` shows how it is called") from None
        raise BadSpec(message, hint=f"`{command} --help` shows how it is called") from None
    with at_options(invoked):
        return request() if callable(request) else 0


def _show_completion(context: click.Context, parameter: click.Parameter, shell: str | None) -> None:
    if shell is None or context.resilient_parsing:
        return
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(app, {}, "weighbridge", _COMPLETION_VARIABLE).source())
    context.exit()


@click.group(help=_HELP, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="weighbridge %(version)s")
@click.option(
    "--show-completion",
    type=click.Choice(_SHELLS),
    is_eager=True,
    expose_value=False,
    callback=_show_completion,
    help="Print the completion script of a shell; for bash, put it into ~/.bash_completion.",
)
@click.pass_context
def app(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@app.group("devices", invoke_without_command=True)
@click.pass_context
def _devices_group(context: click.Context) -> Callable[[], int] | None:
    """List the devices of the catalogue, which --on takes, by kind: mcu, npu, board, server, other."""
    from weighbridge.cli.devices import list_devices

    return list_devices if context.invoked_subcommand is None else None


@_devices_group.command("show")
@click.argument("name", metavar="NAME", shell_complete=devices)
def _show_command(name: str) -> Callable[[], int]:
    """Show a device: every number with its unit, source and doubt.

    NAME is a name that `weighbridge devices` lists, or a device file.
    """
    from weighbridge.cli.devices import show_device

    return lambda: show_device(name)


@_devices_group.command("check")
@click.argument("file", metavar="FILE", shell_complete=devices)
def _check_command(file: str) -> Callable[[], int]:
    """Check a device file: all its faults at once, each with its path.

    A good file is called so, with what it leaves out.

    FILE ends in .toml or has a directory in it, as in ./mine; any other word is a name of the catalogue.
    """
    from weighbridge.cli.devices import check_device

    return lambda: check_device(file)


@app.command("energy")
@click.argument("table", metavar="[TABLE]", required=False)
@click.option(
    "--json", "to", **TO_OUTPUT, help="Write the numbers as JSON; - or no name behind it is the standard output."
)
def _energy_command(table: str | None, to: str | None) -> Callable[[], int]:
    """Show a table of energies: every operation and access, and how many times each other one it costs.

    TABLE is a name (45nm) or a file; without it every table that comes with weighbridge is shown.  `weighbridge weigh SOURCE
    --energy TABLE` gives a network's energy by it.
    """
    from weighbridge.cli.energy import show_energy

    return lambda: show_energy(table, to)


@app.command("weigh", cls=SectionedCommand, help=_WEIGH_HELP, epilog=_EXAMPLES)
@click.argument("source", metavar="SOURCE", shell_complete=sources)
@size_options(
    "[NAME=]1x3x224x224",
    "Shape of one input; of a PyTorch model also with its type: NAME=1x128:int64. Without a name, of the next "
    "argument of forward. Repeatable.",
)
@option(
    COSTS,
    "--on",
    multiple=True,
    metavar="DEVICE",
    shell_complete=devices,
    help="Give a verdict for this device: a name that `weighbridge devices` lists, a group of them (mcu, npu, board, server), "
    "or a device file. Repeatable.",
)
@RESERVE
@option(
    COSTS,
    "--precision",
    metavar="P",
    help="Weights, activations and the device's peak rate at one precision: int8, fp16, fp32 …",
)
@WEIGHT_BITS
@ACTIVATION_BITS
@option(
    COSTS,
    "--batches",
    metavar="N,N,…",
    help="Show the throughput at these batch sizes, as in 1,8,32: the source is weighed at each of them.",
)
@FPS
@ENERGY
@option(
    COSTS,
    "--battery",
    metavar="CAPACITY@VOLTAGE",
    help="Show the charge of an inference, and how many of them this battery pays for: 2000mAh@3.7V.",
)
@option(COSTS, "--as-written", is_flag=True, help="Fold and fuse nothing: weigh every node of the file.")
@option(
    COSTS,
    "--scratch",
    metavar="NAME",
    help="Add the working memory of kernels to the memory policy arena_tflm: im2col, the unrolled inputs of convolutions.",
)
@option(
    COSTS,
    "--convention",
    "conventions",
    multiple=True,
    metavar="NAME",
    help="Show the figures of another counter's convention beside ours: fvcore, st, vela. Repeatable.",
)
@option(
    _TRAINING,
    "--train",
    metavar="OPTIMISER",
    help="Show what a step of training takes, and the largest batch for each device: sgd, momentum, adam, adamw, adam8bit, "
    "adafactor.",
)
@option(
    _TRAINING,
    "--train-rule",
    metavar="RULE",
    help="Count by this rule: autograd, what PyTorch holds (of PyTorch modules, and what is taken there); paper, the rule of "
    "the literature on layers, for any network.",
)
@option(
    _TRAINING,
    "--mixed-precision",
    is_flag=True,
    help="Weights, gradients and activations at 16 bits, with a 32-bit master copy of the weights.",
)
@option(
    _TRAINING,
    "--update",
    multiple=True,
    metavar="TARGET[=SHARE]",
    help="Train this alone: biases, last-3, a layer, a module, a pattern; of its input channels a share: conv*=1/4. Repeatable.",
)
@option(_TRAINING, "--freeze", multiple=True, metavar="TARGET", help="Do not train this. Repeatable.")
@option(
    _TRAINING,
    "--lora",
    multiple=True,
    metavar="TARGET=RANK",
    help="Train low-rank adapters beside these linear layers, and nothing else unless --update names it. Repeatable.",
)
@option(
    _TRAINING,
    "--checkpoint",
    multiple=True,
    metavar="MODULE",
    help="Keep only what this module is given, and run it again in the backward pass: a name or a pattern. Repeatable.",
)
@option(
    _TRAINING,
    "--attention",
    metavar="KERNEL",
    help="Kernel of attention that the rule autograd follows: flash (of the processor, and what is taken), math.",
)
@output_options
@option(
    _CHECKS,
    "--strict",
    is_flag=True,
    help="Exit with 3 unless parameters, MACs and peak memory are exact; other operations and times are not checked.",
)
@option(_CHECKS, "--require-fit", is_flag=True, help="Exit with 1 unless it fits every device given.")
def _weigh_command(**options: Any) -> Callable[[], int]:
    from weighbridge.cli.targets import Output
    from weighbridge.cli.weigh import Request, carry_out

    output = Output(**{name: options.pop(name) for name in Output._fields})
    request = Request(**options, output=output)
    return lambda: carry_out(request)


for _command in (
    *CALCULATORS,
    *CALIBRATE,
    *COMPARE,
    *CHECK,
    *COMPRESS,
    *HISTORY,
    *MEASURE,
    *ORDER,
    *PATCHES,
    *SAVED,
    *WEB,
    *WHAT_IF,
):
    app.add_command(_command)
