"""The words of measurements that every page of them has: what a measurement is called, its conditions, its times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from weighbridge.errors import printable
from weighbridge.measure.conditions import Conditions
from weighbridge.measure.record import Measurement
from weighbridge.report.record import told_apart
from weighbridge.units import binary_bytes, exact, seconds, significant

__all__ = ["UNKNOWN", "between", "condition_rows", "names_of", "ratio_between", "time", "whole_percent"]

UNKNOWN: Final = "?"
_NAME: Final = 60
_VALUE: Final = 200


def time(value: float | None) -> str:
    """A time, ``?`` where it is not known."""
    return UNKNOWN if value is None else seconds(value)


def whole_percent(share: float) -> str:
    """A share that somebody chose: ``95 %``."""
    return f"{100 * share:g} %"


def between(low: float, high: float) -> str:
    """``12.30 ms to 12.40 ms``."""
    return f"{seconds(low)} to {seconds(high)}"


def ratio_between(ratio: float, low: float | None, high: float | None) -> str:
    """``1.210 to 1.250``, or the ratio alone where no interval is known."""
    if low is None or high is None:
        return f"{significant(ratio)} (between what, so few rounds do not say)"
    return f"{significant(low)} to {significant(high)}"


def names_of(measurements: Sequence[Measurement]) -> tuple[str, ...]:
    """What each is called among the others: by its network; by its source or its batch where that tells them apart."""
    names = [printable(one.name, _NAME) for one in measurements]
    if len(set(names)) < len(names):
        by_batch = [f"{name}, batch {one.conditions.batch}" for name, one in zip(names, measurements, strict=True)]
        by_source = [printable(one.source, _NAME) for one in measurements]
        names = next((each for each in (by_batch, by_source) if len(set(each)) == len(each)), names)
    return told_apart(names)


def condition_rows(conditions: Conditions) -> Iterator[tuple[str, str]]:
    """Each condition and its value, as people read them."""
    hardware = conditions.hardware
    yield "processor", _text(hardware.processor)
    counts = (hardware.cores, "cores"), (hardware.processors, "logical processors")
    yield "cores", ", ".join(f"{UNKNOWN if count is None else exact(count)} {what}" for count, what in counts)
    yield "memory", UNKNOWN if hardware.memory_bytes is None else binary_bytes(hardware.memory_bytes)
    virtual = {True: ", a virtual machine", False: "", None: ""}[hardware.virtual]
    yield "system", f"{_text(hardware.system)}, {_text(hardware.architecture)}{virtual}"
    if hardware.accelerator is not None:
        yield "accelerator", _accelerator(conditions)
    yield "runtime", f"{_text(conditions.runtime)} {_text(conditions.version)}, {_text(conditions.mode)}"
    yield "precision", _text(conditions.precision)
    yield "batch", UNKNOWN if conditions.batch is None else exact(conditions.batch)
    yield "inputs", "; ".join(_inputs(conditions)) or "none"
    yield "threads", exact(conditions.threads)
    yield "held to processors", ", ".join(map(str, conditions.pinned)) or "not held"
    yield "streams at once", exact(conditions.streams)
    yield "governor of the frequency", _text(conditions.governor)
    libraries = ", ".join(f"{name} {version}" for name, version in sorted(conditions.libraries.items()))
    yield "libraries", _text(libraries or None)


def _accelerator(conditions: Conditions) -> str:
    one = conditions.hardware.accelerator
    assert one is not None
    memory = "" if one.memory_bytes is None else f", {binary_bytes(one.memory_bytes)}"
    return f"{_text(one.name)}{memory}{'' if one.driver is None else f', driver {_text(one.driver)}'}"


def _inputs(conditions: Conditions) -> Iterator[str]:
    for one in conditions.inputs:
        shape = "x".join(map(str, one.shape)) or "scalar"
        filled = f" of {_text(one.filled)}" if one.filled else ""
        yield f"{printable(one.name, _NAME)} {shape} {_text(one.dtype)}{filled}"


def _text(value: str | None) -> str:
    return UNKNOWN if value is None else printable(value, _VALUE)
