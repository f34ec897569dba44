"""The conditions of a measurement: without them a time is no number, and two times under different ones are not compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from weighbridge.named_tuple import NamedTuple

__all__ = ["NAMES", "Accelerator", "Conditions", "Difference", "Hardware", "InputShape", "differences"]


class Accelerator(NamedTuple):
    """A graphics processor or the like that the network ran on."""

    name: str
    memory_bytes: int | None = None
    driver: str | None = None


class Hardware(NamedTuple):
    """The machine: None is what it does not say.  ``processors`` are the logical ones that there are, ``cores`` the physical ones."""

    processor: str | None
    architecture: str
    cores: int | None
    processors: int | None
    memory_bytes: int | None
    system: str
    virtual: bool | None = None
    accelerator: Accelerator | None = None


class InputShape(NamedTuple):
    """An input as it was given: ``filled`` says with what."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    filled: str = ""


class Conditions(NamedTuple):
    """Under what a network was measured.

    ``mode`` is how the runtime ran it (an execution provider, "eager", "compile", a delegate), ``precision`` what its
    multiply-accumulates are computed at, None where they differ or are not known.  ``threads`` are those of one run, ``pinned`` the
    logical processors that they may use, () where that was left to the system.  ``governor`` is how the system sets the frequency, None
    where it does not say.  ``streams`` run at the same time.  ``libraries`` are versions of what is beside the runtime.
    """

    hardware: Hardware
    runtime: str
    version: str
    mode: str
    precision: str | None
    batch: int | None
    inputs: tuple[InputShape, ...]
    threads: int
    pinned: tuple[int, ...] = ()
    governor: str | None = None
    streams: int = 1
    libraries: Mapping[str, str] = MappingProxyType({})


NAMES: Final = MappingProxyType(
    {
        "hardware.processor": "processor",
        "hardware.architecture": "architecture",
        "hardware.cores": "cores of the machine",
        "hardware.processors": "processors of the machine",
        "hardware.memory_bytes": "memory in bytes",
        "hardware.system": "system",
        "hardware.virtual": "virtual machine",
        "hardware.accelerator": "accelerator",
        "runtime": "runtime",
        "version": "version of the runtime",
        "mode": "mode of the runtime",
        "precision": "precision",
        "batch": "batch",
        "inputs": "shapes of the inputs",
        "threads": "threads",
        "pinned": "processors that the threads are held to",
        "governor": "governor of the frequency",
        "streams": "streams at the same time",
        "libraries": "versions of libraries",
    }
)
"""What a condition is called, by its place in the record; these are all."""


class Difference(NamedTuple):
    """A condition in which two measurements differ: its place in the record, what it is called, and both values as text."""

    key: str
    name: str
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.name}: {self.first} and {self.second}"


def differences(first: Conditions, second: Conditions) -> tuple[Difference, ...]:
    """The conditions that are not the same in both, in the order of the record."""
    return tuple(_differences(first, second))


def _differences(first: Conditions, second: Conditions) -> Iterator[Difference]:
    for key, name in NAMES.items():
        one, other = _at(first, key), _at(second, key)
        if one != other:
            yield Difference(key, name, _text(one), _text(other))


def _at(conditions: Conditions, key: str) -> object:
    found: object = conditions
    for part in key.split("."):
        found = getattr(found, part)
    if key == "inputs":  # what they are called and filled with is no condition of the time
        return tuple((one.shape, one.dtype) for one in conditions.inputs)
    return dict(found) if isinstance(found, Mapping) else found


def _text(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {version}" for name, version in sorted(value.items())) or "none"
    if isinstance(value, Accelerator):
        return value.name
    if isinstance(value, str) or not isinstance(value, Sequence):
        return str(value)
    return (
        ", ".join("x".join(map(str, one[0])) + f" {one[1]}" if isinstance(one, tuple) else str(one) for one in value)
        or "none"
    )
