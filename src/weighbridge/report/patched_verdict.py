"""What a page says, at the verdict of a device that has no room for activations, of running the first stage patch by patch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weighbridge.errors import printable
from weighbridge.report.page import percent
from weighbridge.report.record import OnDevice
from weighbridge.units import exact

if TYPE_CHECKING:
    from weighbridge.estimates import PatchedFit, PatchedStage

__all__ = ["patched_lines"]

_NAME = 60
_LAYER = 200  # as it is typed behind --last


def patched_lines(on: OnDevice) -> tuple[str, ...]:
    """One line, or none where nobody asked or there was nothing to look for."""
    return () if on.patches is None else (_line(on.patches),)


def _line(found: PatchedFit) -> str:
    region, stage = printable(found.region, _NAME), found.stage
    room = f"the {exact(found.room_bytes)} B that {region} has left for activations"
    unknown = "" if found.exact else ", less what is of unknown size there"
    alive = f"alive by {found.policy}, the input held"
    if stage is None:
        return f"patches do not help: none has less {alive}, than the {exact(found.before_bytes)} B in one piece"
    what = f"{stage.rows} x {stage.columns} patches of {_layers(stage)}, up to {printable(stage.last, _LAYER)}"
    size = f"{exact(stage.peak_bytes)} B {alive}"
    if found.verdict == "fits":
        return f"patches make it fit {room}{unknown}: {what}, {size}, {_work(found, stage)}"
    return f"no patches make it fit {room}{unknown}: at best {what}, {size}"


def _layers(stage: PatchedStage) -> str:
    return "the first layer" if stage.layers == 1 else f"the first {exact(stage.layers)} layers"


def _work(found: PatchedFit, stage: PatchedStage) -> str:
    more = stage.patched_macs - stage.macs
    if more <= 0:
        return "no MAC done twice"
    share = f", {percent(more / found.network_macs)} of the network's" if found.network_macs else ""
    return f"{exact(more)} MACs done again{share}"
