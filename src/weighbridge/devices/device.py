"""A device as its file describes it: peak rates, memories, and the source of every number."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ACTIVATIONS", "PRECISIONS", "WEIGHTS", "Device", "Figure", "Memory", "Peak"]

WEIGHTS, ACTIVATIONS = "weights", "activations"
"""What a memory can hold: everything stored with the model, or the tensors that exist while it runs."""

PRECISIONS = (
    "float64",
    "float32",
    "tf32",
    "float16",
    "bfloat16",
    "float8",
    "float4",
    "int16",
    "int8",
    "int4",
    "int2",
    "int1",
)
"""Number formats that a peak rate is stated for.  Signed and unsigned integers of a width share one rate, the float8 formats too."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number above zero and where it comes from; ``verified`` is False where it is derived, remembered or second-hand."""

    value: int
    source: str
    verified: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class Peak:
    """The dense rate of one unit at one precision, in operations a second; a multiply-accumulate is two operations."""

    unit: str
    precision: str
    ops_per_s: Figure


@dataclass(frozen=True, slots=True)
class Memory:
    """A region of memory.  ``holds`` names what lies in it; ``reserved_bytes`` are what firmware or system keep for themselves."""

    name: str
    holds: tuple[str, ...]
    bytes: Figure
    bandwidth_bytes_per_s: Figure | None = None
    reserved_bytes: Figure | None = None

    @property
    def available_bytes(self) -> int:
        """What a network can have: never below zero."""
        return max(0, self.bytes.value - (self.reserved_bytes.value if self.reserved_bytes else 0))


@dataclass(frozen=True, slots=True)
class Device:
    """One device.  At most one memory holds the weights and at most one the activations; it may be the same."""

    name: str
    title: str
    class_: str
    core: str
    peaks: tuple[Peak, ...] = ()
    memories: tuple[Memory, ...] = ()
    notes: tuple[str, ...] = ()

    def peak(self, precision: str) -> Peak | None:
        """The fastest unit at this precision, or None where no unit has a rate for it.

        Rates of several units are not added up: a file that knows the rate of units that work together states it as one.
        """
        rates = [peak for peak in self.peaks if peak.precision == precision]
        return max(rates, key=lambda peak: peak.ops_per_s.value, default=None)

    def memory_for(self, what: str) -> Memory | None:
        """The memory that holds ``WEIGHTS`` or ``ACTIVATIONS``."""
        return next((memory for memory in self.memories if what in memory.holds), None)
