"""How fast kernels were measured to run on a device: by kernel library and class of operators, and the power drawn meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["CONVOLUTION", "FULLY_CONNECTED", "OPERATOR_CLASSES", "Amount", "Efficiency", "Measured", "Power"]

CONVOLUTION, FULLY_CONNECTED = "convolution", "fully connected"
OPERATOR_CLASSES = (CONVOLUTION, FULLY_CONNECTED)
"""What an efficiency is stated for: convolutions of any kernel and any groups, and linear layers that use each weight once."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A measured number above zero, with its fraction, and where it comes from."""

    value: float
    source: str
    verified: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class Efficiency:
    """What one class of operators takes: a cycle for so many multiply-accumulates, and cycles for each value that it puts out."""

    operators: str
    macs_per_cycle: Amount
    cycles_per_output: Amount | None = None


@dataclass(frozen=True, slots=True)
class Power:
    """What the board drew in watts while networks ran: over all of them, and of those that drew least and most."""

    mean_w: Amount
    least_w: Amount
    most_w: Amount


@dataclass(frozen=True, slots=True)
class Measured:
    """Times that somebody measured with one library of kernels, as efficiencies that were fitted to them.

    ``least`` and ``most`` are how far networks were from what they were expected to take when they had no part in the fit: the
    measured time over the expected one.  ``least_macs`` and ``most_macs`` are the multiply-accumulates of the smallest and the largest
    network that was measured; None is unknown.
    """

    kernels: str
    precision: str
    conditions: str
    cycles_per_s: Amount
    least: Amount
    most: Amount
    efficiencies: tuple[Efficiency, ...]
    power: Power | None = None
    least_macs: Amount | None = None
    most_macs: Amount | None = None

    def efficiency(self, operators: str | None) -> Efficiency | None:
        """The entry of a class of operators, or None: no class stands in for another."""
        return next((one for one in self.efficiencies if one.operators == operators), None)

    @property
    def figures(self) -> tuple[Amount, ...]:
        """Every number, in the order of the file."""
        return tuple(self._figures())

    def _figures(self) -> Iterator[Amount]:
        yield from (self.cycles_per_s, self.least, self.most)
        for one in self.efficiencies:
            yield one.macs_per_cycle
            if one.cycles_per_output is not None:
                yield one.cycles_per_output
        if self.power is not None:
            yield from (self.power.mean_w, self.power.least_w, self.power.most_w)
        yield from (one for one in (self.least_macs, self.most_macs) if one is not None)
