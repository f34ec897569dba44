"""What the memory in which activations lie has left for them, beside all else that lies there."""

from __future__ import annotations

from dataclasses import replace

from weighbridge.devices.device import ACTIVATIONS, Device
from weighbridge.estimates.demand import Demand
from weighbridge.estimates.fit import Region, fit
from weighbridge.estimates.needs import DOES_NOT_FIT, FITS, UNKNOWN, Need
from weighbridge.named_tuple import NamedTuple

__all__ = ["Left", "left_in", "region_of_activations"]


class Left(NamedTuple):
    """``bytes`` are what a region has less all else that lies in it, ``certain_bytes`` less what of that is no estimate; never below 0.

    Unless ``exact`` the size of something there is not known, and is in neither.
    """

    bytes: int
    certain_bytes: int
    exact: bool = True

    def verdict(self, peak_bytes: int) -> str:
        """Whether a peak has room: ``unknown`` where it depends on an estimate, or on what is of unknown size."""
        if peak_bytes > self.certain_bytes:
            return DOES_NOT_FIT
        return FITS if self.exact and peak_bytes <= self.bytes else UNKNOWN


def left_in(region: Region) -> Left:
    """What ``region``, in which activations lie, has left for their peak."""
    beside = [(_beside(need), need.estimated) for need in region.contents]
    certain = sum(size or 0 for size, estimated in beside if not estimated)
    guessed = sum(size or 0 for size, estimated in beside if estimated)
    room = region.available_bytes - certain
    return Left(max(0, room - guessed), max(0, room), all(size is not None for size, _ in beside))


def region_of_activations(demand: Demand, device: Device) -> Region | None:
    """The preferred memory for activations with all that lies there, even where they have room in another one; None where there is none."""
    first = device.memory_for(ACTIVATIONS)
    if first is None:
        return None
    memories = tuple(
        one if one is first else replace(one, holds=tuple(what for what in one.holds if what != ACTIVATIONS))
        for one in device.memories
    )
    found = fit(demand, replace(device, memories=memories))
    return next(region for region in found.regions if ACTIVATIONS in region.holds)


def _beside(need: Need) -> int | None:
    """The bytes of what lies beside the peak of activations: other contents, and the variables that outlive a run."""
    return (need.variable_bytes or 0) if need.content == ACTIVATIONS else need.bytes
