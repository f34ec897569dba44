"""A device as its file describes it: peak rates, memories, and the source of every number."""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge.devices.measured import Amount, Measured
from weighbridge.devices.timed import Timed

__all__ = [
    "ACTIVATIONS",
    "ADD",
    "CODE",
    "CONTENTS",
    "KERNEL_LIBRARIES",
    "KINDS",
    "MULTIPLY",
    "OPERATIONS",
    "PERSISTENT",
    "PRECISIONS",
    "WEIGHTS",
    "AccessEnergy",
    "Device",
    "EnergyTable",
    "Figure",
    "Memory",
    "OperationEnergy",
    "Peak",
    "Picojoules",
]

WEIGHTS, ACTIVATIONS = "weights", "activations"
PERSISTENT, CODE = "persistent", "code"
CONTENTS = (WEIGHTS, ACTIVATIONS, PERSISTENT, CODE)
"""What a memory can hold: everything stored with the model, the tensors that exist while it runs, what a runtime keeps for
itself as long as the model is loaded, and instructions.
"""

KERNEL_LIBRARIES = ("reference", "cmsis-nn", "esp-nn")
"""Kernels that TensorFlow Lite Micro is built with: its own, Arm's for Cortex-M, Espressif's."""

KINDS = ("mcu", "npu", "board", "server", "other")
"""Groups of devices, smallest first: microcontrollers, neural processors, boards and their modules, servers and their cards."""

PRECISIONS = (
    "float64",
    "float32",
    "tf32",
    "float16",
    "bfloat16",
    "float8",
    "float4",
    "int32",
    "int16",
    "int8",
    "int4",
    "int2",
    "int1",
)
"""Number formats that a peak rate is stated for.  Signed and unsigned integers of a width share one rate, the float8 formats too."""


ADD, MULTIPLY = "add", "multiply"
OPERATIONS = (ADD, MULTIPLY)
"""Scalar operations that an energy is stated for; a multiply-accumulate is one of each."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number above zero and where it comes from; ``verified`` is False where it is derived, remembered or second-hand.

    ``measured`` says that it was reached on the device itself, and that no data sheet states it.
    """

    value: int
    source: str
    verified: bool = True
    note: str = ""
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Picojoules(Amount):
    """An energy above zero and where it comes from; literature states them with a fraction, 3.7 pJ."""


@dataclass(frozen=True, slots=True)
class OperationEnergy:
    """The energy of one scalar operation (``ADD``, ``MULTIPLY``) at one precision."""

    operation: str
    precision: str
    energy_pj: Picojoules


@dataclass(frozen=True, slots=True)
class AccessEnergy:
    """The energy of reading 32 bits from a level of memory; tables state it for a word of that size."""

    level: str
    energy_pj_per_32_bit: Picojoules


@dataclass(frozen=True, slots=True)
class EnergyTable:
    """What operations and accesses cost in one process.  In a device's own table a level is one of its memories."""

    process: str
    operations: tuple[OperationEnergy, ...] = ()
    accesses: tuple[AccessEnergy, ...] = ()
    name: str = ""
    title: str = ""
    notes: tuple[str, ...] = ()

    def operation(self, operation: str, precision: str | None) -> OperationEnergy | None:
        """The entry of one operation at one precision, or None: an energy is never guessed from another precision."""
        found = (one for one in self.operations if (one.operation, one.precision) == (operation, precision))
        return next(found, None)

    def access(self, level: str) -> AccessEnergy | None:
        """The entry of one level of memory, or None."""
        return next((one for one in self.accesses if one.level == level), None)

    @property
    def figures(self) -> tuple[Picojoules, ...]:
        """Every number of the table, in the order of its file."""
        return (*(one.energy_pj for one in self.operations), *(one.energy_pj_per_32_bit for one in self.accesses))


@dataclass(frozen=True, slots=True)
class Peak:
    """The dense rate of one unit at one precision, in operations a second; a multiply-accumulate is two operations."""

    unit: str
    precision: str
    ops_per_s: Figure


@dataclass(frozen=True, slots=True)
class Memory:
    """A region of memory.  ``holds`` names what can lie in it; ``reserved_bytes`` are what firmware or system keep for themselves.

    ``largest_block_bytes`` is the longest piece without a gap, None where the region is one piece.
    """

    name: str
    holds: tuple[str, ...]
    bytes: Figure
    bandwidth_bytes_per_s: Figure | None = None
    reserved_bytes: Figure | None = None
    largest_block_bytes: Figure | None = None

    @property
    def available_bytes(self) -> int:
        """What is not reserved: never below zero."""
        return max(0, self.bytes.value - (self.reserved_bytes.value if self.reserved_bytes else 0))

    @property
    def block_bytes(self) -> int:
        """What a network can have, which needs it in one piece: what is not reserved, and no more than the largest block."""
        block = self.largest_block_bytes
        return self.available_bytes if block is None else min(self.available_bytes, block.value)

    @property
    def size_figures(self) -> tuple[Figure, ...]:
        """The numbers that ``block_bytes`` follows from."""
        return tuple(one for one in (self.bytes, self.reserved_bytes, self.largest_block_bytes) if one is not None)


@dataclass(frozen=True, slots=True)
class Device:
    """One device.  Where several memories can hold the same, those that are named first are preferred.

    ``kernel_library`` is what a runtime for microcontrollers is built with there; "" is unknown.  ``measured`` has what kernels
    were measured to reach, one entry for each library and precision; a rate of ``peaks`` is what none exceeds.  ``timed`` has what
    runtimes were measured to take by class of operators, one entry for each runtime, precision, number of threads and mode.
    """

    name: str
    title: str
    class_: str
    core: str
    peaks: tuple[Peak, ...] = ()
    memories: tuple[Memory, ...] = ()
    notes: tuple[str, ...] = ()
    kind: str = "other"
    energy: EnergyTable | None = None
    kernel_library: str = ""
    measured: tuple[Measured, ...] = ()
    timed: tuple[Timed, ...] = ()

    @property
    def is_microcontroller(self) -> bool:
        """Whether code, runtime and network share the memories that the file lists, without an operating system's paging."""
        return self.kind == "mcu" or self.class_ == "microcontroller"

    def peak(self, precision: str) -> Peak | None:
        """The fastest unit at this precision, or None where no unit has a rate for it.

        Rates of several units are not added up: a file that knows the rate of units that work together states it as one.
        """
        rates = [peak for peak in self.peaks if peak.precision == precision]
        return max(rates, key=lambda peak: peak.ops_per_s.value, default=None)

    @property
    def figures(self) -> tuple[Figure | Amount, ...]:
        """Every number of the device: rates, memories, energies, measurements, each in the order of its file."""
        numbers: list[Figure | Amount | None] = [peak.ops_per_s for peak in self.peaks]
        for memory in self.memories:
            numbers += (memory.bytes, memory.bandwidth_bytes_per_s, memory.reserved_bytes, memory.largest_block_bytes)
        numbers += self.energy.figures if self.energy else ()
        numbers += (number for one in self.measured for number in one.figures)
        numbers += (number for one in self.timed for number in one.figures)
        return tuple(number for number in numbers if number is not None)

    @property
    def gaps(self) -> tuple[str, ...]:
        """What the file leaves out, and what cannot be told for want of it; a sentence each."""
        told = [] if self.peaks else ["no peak rate: there is no latency on this device"]
        for what in (WEIGHTS, ACTIVATIONS):
            if self.memory_for(what) is None:
                told.append(f"no memory holds the {what}: whether they fit is unknown")
        told += (
            f"the bandwidth of {memory.name} is not known: moving bytes counts as no time"
            for memory in self.memories
            if not {WEIGHTS, ACTIVATIONS}.isdisjoint(memory.holds) and memory.bandwidth_bytes_per_s is None
        )
        return tuple(told)

    def memories_for(self, what: str) -> tuple[Memory, ...]:
        """The memories that can hold one of ``CONTENTS``, the preferred one first."""
        return tuple(memory for memory in self.memories if what in memory.holds)

    def memory_for(self, what: str) -> Memory | None:
        """The preferred memory of ``memories_for``, or None."""
        return next(iter(self.memories_for(what)), None)
