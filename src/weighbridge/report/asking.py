"""What a report has only where it was asked for: how the command line asks for it, and what a page calls that leads to a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["BATCHES", "CALLED", "DEVICE", "ENERGY", "SHOWN_DEVICE", "TRAINING"]

DEVICE: Final = "--on DEVICE"
ENERGY: Final = "--energy TABLE"
BATCHES: Final = "--batches 1,8,32"
TRAINING: Final = "--train adam"
SHOWN_DEVICE: Final = "weighbridge devices show NAME"
CALLED: Final[Mapping[str, str]] = {
    DEVICE: "a device",
    ENERGY: "a table of energies",
    BATCHES: "several batches",
    TRAINING: "an optimiser",
    SHOWN_DEVICE: "the page of the device",
}
"""What stands for each in a sentence of a page that asks for it otherwise."""
