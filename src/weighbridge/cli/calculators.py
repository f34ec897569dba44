"""Carries out ``weighbridge layer``, ``weighbridge batching`` and ``weighbridge separable``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from weighbridge.calculators import Conv, Design, batching, given_device, layer, named, separable
from weighbridge.cli import quantities
from weighbridge.cli.output import look_of, show_lines, write
from weighbridge.cli.rates import warn_without_rate
from weighbridge.cli.targets import STDOUT, check_targets, inputs_of
from weighbridge.devices.device import Device
from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.calculator_pages import batching_lines, layer_lines, separable_lines
from weighbridge.report.json import layout
from weighbridge.report.spans import Line
from weighbridge.report.terminal import Look

__all__ = ["Request", "carry_out_batching", "carry_out_layer", "carry_out_separable"]

_BITS: Final = frozenset({"bits", "weight_bits", "activation_bits"})


class Request(NamedTuple):
    """The options as they were written; ``symbols`` are those that were given."""

    name: str
    symbols: Mapping[str, str | bool]
    on: Sequence[str] = ()
    ops_per_s: str | None = None
    bandwidth_bytes_per_s: str | None = None
    json: str | None = None


def carry_out_layer(request: Request) -> int:
    """Show one layer.  Raises ``BadSpec``."""
    check_targets([request.json], inputs_of(on=request.on))
    found = layer(named(request.name, _symbols(request)), _devices(request))
    _shown(found, request.json, lambda look: layer_lines(request.name, found, look))
    asked_for = found.on[0].precision if found.on and not _BITS.isdisjoint(request.symbols) and found.macs else None
    return warn_without_rate(request.on, asked_for)


def carry_out_separable(request: Request) -> int:
    """Show a convolution and what can stand in its place.  Raises ``BadSpec``."""
    check_targets([request.json], inputs_of(on=request.on))
    standard = named("conv", _symbols(request))
    assert isinstance(standard, Conv)
    found = separable(standard, _devices(request))
    return _shown(found, request.json, lambda look: separable_lines(found, look))


def carry_out_batching(designs: Iterable[str], fps: str | None, json_to: str | None) -> int:
    """Show designs beside each other.  Raises ``BadSpec``."""
    check_targets([json_to])
    found = batching([_design(text) for text in designs], fps)
    return _shown(found, json_to, lambda look: batching_lines(found, look))


def _symbols(request: Request) -> dict[str, object]:
    return {
        name: value if isinstance(value, bool) else quantities.sizes(name, value)
        for name, value in request.symbols.items()
    }


def _devices(request: Request) -> tuple[Device, ...]:
    from weighbridge.choices import devices_of

    found = devices_of(request.on)
    rates = {"ops_per_s": request.ops_per_s, "bandwidth_bytes_per_s": request.bandwidth_bytes_per_s}
    given = {name: quantities.rate(name, text) for name, text in rates.items() if text is not None}
    return (*found, given_device(**given)) if given else found


def _design(text: str) -> Design:
    """``4:100ms`` or ``design_2=4:100ms``."""
    name, equals, written = text.rpartition("=")
    batch, colon, time = written.partition(":")
    latency = quantities.latency(time)
    if not colon or latency is None or bool(equals) != bool(name):
        raise BadSpec(
            f"{text!r} is no design", hint="write batch and latency with its unit, as in 4:100ms or b=4:100ms"
        )
    size = quantities.sizes(text, batch)
    if not isinstance(size, int):
        raise BadSpec("a batch is one number", where=text)
    return Design(size, latency, name.strip() or text.strip())


def _shown(record: Any, json_to: str | None, lines: Callable[[Look], Iterable[Line]]) -> int:
    """Write the record as JSON where that is wanted, and show it on the screen unless that has the JSON."""
    if json_to is not None:
        write(layout(record.to_dict()), None if json_to == STDOUT else Path(json_to))
    if json_to != STDOUT:
        look = look_of(sys.stdout)
        show_lines(lines(look), look)
    return 0
