"""A calibration: what was measured of a machine, and what a device file has of it, with how far that is off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from weighbridge.calibration.rates import Residual
from weighbridge.devices.device import Device
from weighbridge.devices.measured import Amount
from weighbridge.devices.timed import Timed
from weighbridge.measure.conditions import Hardware
from weighbridge.measure.micro.record import Bandwidth, Rate
from weighbridge.measure.record import Measurement
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.predicted import Distribution, LeftAside, NetworkTime

__all__ = ["Calibration", "ClassTimes", "RuntimeFit", "runtime_fit"]

SCHEMA: Final = 1


class ClassTimes(NamedTuple):
    """The rates of one class of operators, as the device file has them; None where there is no such term.

    ``has_networks`` says whether the efficiency is the class's own, and not the one common to all.
    """

    operators: str
    macs_per_s: float | None
    bytes_per_s: float | None
    operations_per_s: float | None
    compares_per_s: float | None
    special_per_s: float | None
    node_overhead_s: float | None
    overhead_s: float | None
    efficiency: float | None
    has_networks: bool


class RuntimeFit(NamedTuple):
    """What was fitted to one runtime.

    ``operators`` are the single operators with what the rates expect of them.  ``strength`` says how strongly the efficiencies are drawn
    to the ``common`` one; both are None where no networks were measured.  ``least`` and ``most`` are measured over expected time.
    """

    runtime: str
    version: str
    mode: str
    precision: str
    threads: int
    fuses: bool
    conditions: str
    call_s: float | None
    near_bytes: float | None
    far_bytes_per_s: float | None
    far_efficiency: float | None
    lanes: int
    classes: tuple[ClassTimes, ...]
    operators: tuple[Residual, ...]
    networks: int
    least: float | None
    most: float | None
    common: float | None
    strength: float | None


def runtime_fit(
    timed: Timed, operators: tuple[Residual, ...], common: float | None, strength: float | None, own: frozenset[str]
) -> RuntimeFit:
    """What a page shows of an entry; ``own`` are the classes that a network had."""
    classes = (
        ClassTimes(
            operators=one.operators,
            macs_per_s=_value(one.macs_per_s),
            bytes_per_s=_value(one.bytes_per_s),
            operations_per_s=_value(one.operations_per_s),
            compares_per_s=_value(one.compares_per_s),
            special_per_s=_value(one.special_per_s),
            node_overhead_s=_value(one.node_overhead_s),
            overhead_s=_value(one.overhead_s),
            efficiency=_value(one.efficiency),
            has_networks=one.operators in own,
        )
        for one in timed.classes
    )
    return RuntimeFit(
        runtime=timed.runtime,
        version=timed.version,
        mode=timed.mode,
        precision=timed.precision,
        threads=timed.threads,
        fuses=timed.fuses,
        conditions=timed.conditions,
        call_s=_value(timed.call_s),
        near_bytes=_value(timed.near_bytes),
        far_bytes_per_s=_value(timed.far_bytes_per_s),
        far_efficiency=_value(timed.far_efficiency),
        lanes=timed.lanes,
        classes=tuple(classes),
        operators=operators,
        networks=timed.networks,
        least=_value(timed.least),
        most=_value(timed.most),
        common=common,
        strength=strength,
    )


def _value(amount: Amount | None) -> float | None:
    return None if amount is None else amount.value


@dataclass(frozen=True, slots=True)
class Calibration:
    """``device`` has everything that a device file of this machine says.

    ``rates`` and ``bandwidths`` are the machine's, ``runtimes`` what was fitted to each runtime, ``networks`` what was measured beside what
    is expected without it, ``errors`` their distribution.  ``measurements`` are those that were made for it, every sample in them.
    ``aside`` is what was left out.
    """

    tool: str
    taken_at: str
    device: Device
    hardware: Hardware
    threads: int
    rates: tuple[Rate, ...]
    bandwidths: tuple[Bandwidth, ...]
    runtimes: tuple[RuntimeFit, ...]
    networks: tuple[NetworkTime, ...] = ()
    errors: tuple[Distribution, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    aside: tuple[LeftAside, ...] = ()
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, numbers and strings, as the JSON has them; the device is named alone, as its file has it."""
        from weighbridge.report.json import plain

        names = ("hardware", "threads", "rates", "bandwidths", "runtimes", "networks", "errors", "aside", "notes")
        return {
            "schema": self.schema,
            "tool": self.tool,
            "taken_at": self.taken_at,
            "device": self.device.name,
            **{name: plain(getattr(self, name), []) for name in names},
        }

    def to_json(self) -> str:
        """The JSON text, ending in a newline."""
        from weighbridge.report.json import layout

        return layout(self.to_dict())

    def to_toml(self) -> str:
        """The device file."""
        from weighbridge.devices.write import written

        return written(self.device).decode("utf-8")
