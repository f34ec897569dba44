"""The options that say at which widths a network is weighed, where, and at what cost, of every command that takes them alike."""

from __future__ import annotations

from typing import Final

import click

from weighbridge.cli.completion import devices
from weighbridge.cli.help import option

__all__ = ["ACTIVATION_BITS", "COSTS", "ENERGY", "FPS", "ON", "RESERVE", "WEIGHT_BITS"]

COSTS: Final = "Widths and costs"
"""The heading that they stand under."""
ON: Final = option(
    COSTS,
    "--on",
    multiple=True,
    metavar="DEVICE",
    shell_complete=devices,
    help="Show verdict, times and energy on this device: a name that `weighbridge devices` lists, a group of them (mcu, npu, "
    "board, server), or a device file. Repeatable.",
)
RESERVE: Final = option(
    COSTS,
    "--reserve",
    multiple=True,
    metavar="NAME=SIZE",
    help="Keep bytes of a device's memory region for something else, as in sram=64KiB or flash=200kB. Repeatable.",
)
WEIGHT_BITS: Final = option(
    COSTS,
    "--weight-bits",
    multiple=True,
    metavar="[TARGET=]BITS",
    help="Bits of the weights: of all, or of the first, the last, the rest, a name or a pattern (conv*=8). Repeatable.",
)
ACTIVATION_BITS: Final = option(
    COSTS, "--activation-bits", type=click.IntRange(1, 64), metavar="N", help="Bits of the activations."
)
FPS: Final = option(
    COSTS, "--fps", metavar="RATE", help="Show how many frames an inference misses at this many a second."
)
ENERGY: Final = option(
    COSTS,
    "--energy",
    metavar="TABLE",
    help="Show the energy by this table: a name that `weighbridge energy` lists (45nm), or a file.",
)
