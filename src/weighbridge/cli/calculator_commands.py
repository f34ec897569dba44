"""The commands of the calculators and their options.  A command only collects its request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import click

from weighbridge.calculators.symbols import SYMBOLS
from weighbridge.cli.completion import devices, layers
from weighbridge.cli.help import TO_OUTPUT, SectionedCommand, option

__all__ = ["COMMANDS"]

_SYMBOLS, _DEVICES, _OUTPUT = "Symbols", "Devices", "Output"
_OF_A_CONVOLUTION: Final = (
    *("c_i", "c_o", "k", "h_o", "w_o", "h_i", "w_i", "n", "stride", "padding", "dilation"),
    *("bits", "weight_bits", "activation_bits"),
)

_LAYER_HELP: Final = """\
Show all that is known about one layer: parameters, size, activations, MACs, the matrix product that it is, bytes moved and
operational intensity; with a device also its time, and what binds it.

LAYER is a kind (linear, conv, grouped, depthwise, transposed, matmul), described by its symbols, or a layer of a textbook
network, such as alexnet.conv3 or alexnet.conv1:resolution=256, in which the symbols that are given take the place of its own.
"""
_LAYER_EXAMPLES: Final = """\
\b
Examples:
  weighbridge layer conv --c-i 256 --c-o 384 --k 3 --padding 1 --h-o 13 --w-o 13
  weighbridge layer linear --c-i 9216 --c-o 4096 --bits 8 --ops-per-s 1e9 --bandwidth 1e9
  weighbridge layer alexnet.conv3 --n 8 --bits 8 --on stm32f746
  weighbridge layer matmul --m 384 --k 2304 --n 169 --json

\b
Exit codes:
  0  fine
  2  bad input or usage; a device without a rate at the bits asked for
"""
_BATCHING_HELP: Final = """\
Show the throughput of designs that take other numbers of inputs at once: batch / latency.

DESIGN is a batch and its latency, such as 4:100ms, with a name before it where it should have one: server=32:8ms. The first
is the one that the others are compared with.
"""
_BATCHING_EXAMPLES: Final = """\
\b
Examples:
  weighbridge batching 1:50ms 4:100ms
  weighbridge batching one=1:2ms many=32:8ms
  weighbridge batching 1:638ms 1:45.9ms --fps 30

\b
Exit codes:
  0  fine
  2  bad input or usage
"""
_SEPARABLE_HELP: Final = """\
Show what a convolution costs as a depthwise convolution and a pointwise one: 1/N + 1/D_K^2 of its MACs.
"""
_SEPARABLE_EXAMPLES: Final = """\
\b
Examples:
  weighbridge separable --c-i 32 --c-o 64 --k 3 --padding 1 --h-o 112
  weighbridge separable --c-i 512 --c-o 512 --k 3 --padding 1 --h-o 14 --bits 8 --on mcu

\b
Exit codes:
  0  fine
  2  bad input or usage
"""

_Command = Callable[..., Any]


def _symbols(names: Iterable[str], *, in_all_kinds: bool) -> Callable[[_Command], _Command]:
    """An option for each of these symbols, in their order; with what it means in single kinds where all can be asked for."""

    def add(command: _Command) -> _Command:
        for name in reversed(list(names)):
            symbol = SYMBOLS[name]
            text = f"{symbol.meaning} {symbol.also}".strip() if in_all_kinds else symbol.meaning
            metavar = "N" if symbol.most == 1 else "N[xN]" if symbol.most == 2 else "N[xN[xNxN]]"
            command = option(_SYMBOLS, f"--{name.replace('_', '-')}", metavar=metavar, help=text)(command)
        return command

    return add


_BIAS: Final = option(
    _SYMBOLS,
    "--bias/--no-bias",
    default=None,
    help="Whether the layer adds a bias; without it the weights alone are counted, as literature does.",
)


def _devices(command: _Command) -> _Command:
    """The options that say where the layer runs."""
    for add in (
        option(
            _DEVICES,
            "--bandwidth",
            "bandwidth_bytes_per_s",
            metavar="RATE",
            help="Bandwidth of such a device in bytes a second: 1e9, 900MB/s or 25GB/s.",
        ),
        option(
            _DEVICES,
            "--ops-per-s",
            metavar="RATE",
            help="Time it on a device of this peak rate in operations a second: 1e9, 864MOPS or 2TOPS; a multiply-accumulate is "
            "two operations.",
        ),
        option(
            _DEVICES,
            "--on",
            multiple=True,
            metavar="DEVICE",
            shell_complete=devices,
            help="Time it on this device: a name that `weighbridge devices` lists, a group of them (mcu, npu, board, server), "
            "or a device file. Repeatable.",
        ),
    ):
        command = add(command)
    return command


_JSON: Final = option(
    _OUTPUT,
    "--json",
    **TO_OUTPUT,
    help="Write all readouts as JSON; - or no name behind it is the standard output.",
)


def _request(options: Mapping[str, Any], name: str) -> Any:
    from weighbridge.cli.calculators import Request

    symbols = {key: value for key, value in options.items() if key in (*SYMBOLS, "bias") and value is not None}
    rates = options["ops_per_s"], options["bandwidth_bytes_per_s"]
    return Request(name, symbols, options["on"], *rates, options["json"])


@click.command("layer", cls=SectionedCommand, help=_LAYER_HELP, epilog=_LAYER_EXAMPLES)
@click.argument("layer", metavar="LAYER", shell_complete=layers)
@_symbols(SYMBOLS, in_all_kinds=True)
@_BIAS
@_devices
@_JSON
def _layer_command(layer: str, **options: Any) -> Callable[[], int]:
    from weighbridge.cli.calculators import carry_out_layer

    request = _request(options, layer)
    return lambda: carry_out_layer(request)


@click.command("separable", cls=SectionedCommand, help=_SEPARABLE_HELP, epilog=_SEPARABLE_EXAMPLES)
@_symbols(_OF_A_CONVOLUTION, in_all_kinds=False)
@_BIAS
@_devices
@_JSON
def _separable_command(**options: Any) -> Callable[[], int]:
    from weighbridge.cli.calculators import carry_out_separable

    request = _request(options, "conv")
    return lambda: carry_out_separable(request)


@click.command("batching", cls=SectionedCommand, help=_BATCHING_HELP, epilog=_BATCHING_EXAMPLES)
@click.argument("designs", metavar="DESIGN...", nargs=-1, required=True)
@option("Deadline", "--fps", metavar="RATE", help="Show how many frames each design misses at this many a second.")
@_JSON
def _batching_command(designs: tuple[str, ...], fps: str | None, json: str | None) -> Callable[[], int]:
    from weighbridge.cli.calculators import carry_out_batching

    return lambda: carry_out_batching(designs, fps, json)


COMMANDS: Final = (_batching_command, _layer_command, _separable_command)
"""What the group of all commands takes in."""
