"""What an inference takes out of a battery."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.estimates.deadline import ROUNDING
from weighbridge.named_tuple import NamedTuple

__all__ = ["Battery", "Charge", "battery_named", "charge"]

_SECONDS_AN_HOUR: Final = 3600
_BATTERY: Final = re.compile(
    r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*(m?)[aA][hH]\s*@\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*(m?)[vV]"
)  # of the letters only m has another meaning as a capital: mega


class Battery(NamedTuple):
    """The capacity in milliampere-hours and the voltage, exactly as they were written."""

    capacity_mah: Fraction
    voltage_v: Fraction


class Charge(NamedTuple):
    """The charge of one run, energy / voltage, and how many runs a full battery pays for if it pays for nothing else.

    ``charge_c`` is in coulombs, ``charge_mah`` the same in milliampere-hours; ``inferences`` are the inputs that those runs
    serve, a batch each, None where the batch is unknown.
    """

    charge_c: float
    charge_mah: float
    runs: int
    inferences: int | None


def battery_named(text: str) -> Battery:
    """The battery that ``2000mAh@3.7V`` names.  Raises ``BadSpec`` for anything else: charge needs capacity and voltage."""
    example = "write its capacity and its voltage, as in 2000mAh@3.7V"
    found = _BATTERY.fullmatch(str(text).strip())
    if found is None:
        what = f"the battery {text!r} has no voltage" if "@" not in str(text) else f"{text!r} is no battery"
        raise BadSpec(what, where="battery", hint=example)
    capacity, milli, voltage, milli_volt = found.groups()
    battery = Battery(Fraction(capacity) * (1 if milli else 1000), Fraction(voltage) / (1000 if milli_volt else 1))
    if not battery.capacity_mah or not battery.voltage_v:
        raise BadSpec(f"the battery {text!r} is empty", where="battery", hint=example)
    return battery


def charge(energy_j: float | None, battery: Battery | None, batch: int | None = None) -> Charge | None:
    """The charge that a run of ``energy_j`` joules for ``batch`` inputs takes from ``battery``; None without one of them, and
    where no float holds it.
    """
    if not energy_j or battery is None or not math.isfinite(energy_j):
        return None
    coulombs = Fraction(energy_j) / battery.voltage_v
    milliampere_hours = coulombs * 1000 / _SECONDS_AN_HOUR
    runs = int(battery.capacity_mah / milliampere_hours * (1 + ROUNDING))
    try:
        return Charge(float(coulombs), float(milliampere_hours), runs, None if batch is None else runs * batch)
    except OverflowError:
        return None
