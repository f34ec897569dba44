"""The memories of microcontrollers that simulators compare with: those of a device of the catalogue, or as many KiB as somebody says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property, lru_cache
from typing import Final

from weighbridge.devices.catalogue import find, names
from weighbridge.devices.device import ACTIVATIONS, WEIGHTS, Device, Memory
from weighbridge.named_tuple import NamedTuple
from weighbridge.web.controls import Choice

__all__ = ["OWN", "Budget", "board_choice", "board_named", "budget_of"]

OWN: Final = "own"
"""No device: the budget is a number of its own."""


class Budget(NamedTuple):
    """The bytes of a memory that are free for one content, what to call it, and what is not sure about them."""

    available_bytes: int
    title: str
    notes: tuple[str, ...] = ()


def board_choice(default: str, own: str = "") -> Choice:
    """A control that chooses a microcontroller; ``own`` says what there is in place of one."""
    meaning = "A microcontroller of the catalogue; its first SRAM holds the activations and nothing of the weights."
    return Choice("on", "device", default, _Boards({OWN: own} if own else {}), meaning)


class _Boards(Mapping[str, str]):
    """The boards behind ``first``: looked for among all device files when somebody looks here, which the list of all pages does not."""

    def __init__(self, first: Mapping[str, str]) -> None:
        self._first = first

    def __getitem__(self, key: str) -> str:
        return self._all[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def _all(self) -> Mapping[str, str]:
        return {**self._first, **{name: name for name in _boards()}}


@lru_cache(maxsize=32)
def board_named(name: str) -> Device:
    """The device of the catalogue."""
    return find(name)


def budget_of(device: Device, content: str) -> Budget:
    """What the first memory of the device for ``activations`` or ``weights`` has, less what its file reserves, in one piece."""
    memory = device.memory_for(content)
    assert memory is not None, "the control offers boards that have both"
    return Budget(memory.block_bytes, f"{memory.name} of {device.name}", tuple(_notes(device, memory, content)))


def _notes(device: Device, memory: Memory, content: str) -> Iterator[str]:
    others = [one.name for one in device.memories_for(content) if one.name != memory.name]
    if others:
        yield f"{' and '.join(others)} of {device.name} could hold {content} too: left out here, and not in `weigh --on`"
    if not all(figure.verified for figure in memory.size_figures):
        yield f"the size of {memory.name} of {device.name} is not verified"


@cache
def _boards() -> tuple[str, ...]:
    """The microcontrollers that have a memory for activations alone and one for weights."""
    return tuple(name for name in names() if _has_both(board_named(name)))


def _has_both(device: Device) -> bool:
    activations, weights = device.memory_for(ACTIVATIONS), device.memory_for(WEIGHTS)
    return device.is_microcontroller and activations is not None and weights is not None and activations is not weights
