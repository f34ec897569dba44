"""A machine that runtimes were timed on, in round numbers."""

from __future__ import annotations

from dataclasses import replace

from weighbridge.devices.device import Device, Figure, Memory, Peak
from weighbridge.devices.measured import Amount
from weighbridge.devices.timed import TIME_CLASSES, ClassRates, Timed

__all__ = ["FUSED", "WRITTEN", "amount", "machine"]


def amount(value: float, verified: bool = True) -> Amount:
    return Amount(value, "made up for a test", verified)


RATES = ClassRates("linear", macs_per_s=amount(1e9), bytes_per_s=amount(1e9), overhead_s=amount(1e-5))
FUSED = Timed(
    "onnxruntime",
    "1.32.0",
    "CPUExecutionProvider",
    "float32",
    2,
    True,
    "a bench",
    tuple(replace(RATES, operators=name) for name in TIME_CLASSES),
    call_s=amount(0.001),
    least=amount(0.5),
    most=amount(2),
    networks=12,
)
WRITTEN = replace(FUSED, runtime="pytorch", version="2.14.1", mode="eager", fuses=False)


def machine(*timed: Timed, measured: bool = True) -> Device:
    """A device whose peak and bandwidth were measured on it, or stand in a data sheet."""

    def figure(value: int) -> Figure:
        return Figure(value, "made up for a test", measured=measured)

    peaks = (Peak("cores", "float32", figure(10**12)), Peak("cores", "int8", figure(10**12)))
    memories = (Memory("DRAM", ("weights", "activations"), figure(10**10), figure(10**10)),)
    return Device("machine", "My machine", "a class", "a core", peaks, memories, timed=timed)
