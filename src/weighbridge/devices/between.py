"""What is wrong between entries of a device file that are fine on their own: given twice, or out of order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from weighbridge.devices.values import MOST_ENTRIES, amount, whole_number

__all__ = ["OF_A_FILE", "energies_twice", "faults_between_entries"]

OF_A_FILE = ("name", "title")
"""What a table of energies has in a file of its own; one in a device's file is the device's."""


class _Once:
    """Collects the faults of keys that are there twice; the first path of each is told with the second."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._seen: dict[object, str] = {}

    def see(self, key: object, path: str, what: str) -> None:
        if key in self._seen:
            self.faults.append(f"{path}: {what}, as {self._seen[key]} does already")
        self._seen.setdefault(key, path)


def faults_between_entries(raw: Mapping[str, object]) -> list[str]:
    """What is wrong between entries that are fine on their own: a rate or a memory given twice, more reserved than there is."""
    once = _Once()
    for path, peak in _tables_of(raw, "peaks"):
        unit, precision = peak.get("unit"), peak.get("precision")
        if isinstance(unit, str) and isinstance(precision, str):
            once.see(("peak", unit, precision), path, f"gives the rate of {unit!r} at {precision!r}")
    faults = [*once.faults, *_faults_between_memories(raw), *_faults_of_measurements(raw), *_faults_of_times(raw)]
    energy = raw.get("energy")
    return [*faults, *_faults_of_own_energies(raw, energy)] if isinstance(energy, dict) else faults


def _faults_between_memories(raw: Mapping[str, object]) -> list[str]:
    """A name or a content twice, and parts of a memory that are larger than the memory."""
    once = _Once()
    faults = once.faults
    for path, memory in _tables_of(raw, "memories"):
        if isinstance(name := memory.get("name"), str):
            once.see(name, path, f"has the name {name!r}")
        contents = _Once()
        holds = memory.get("holds")
        for content in holds[:MOST_ENTRIES] if isinstance(holds, list) else ():
            if isinstance(content, str):
                contents.see(content, path, f"holds the {content}")
        faults += contents.faults
        size = _value_of(memory.get("bytes"))
        for key in ("reserved_bytes", "largest_block_bytes"):
            part = _value_of(memory.get(key))
            if size is not None and part is not None and part > size:
                faults.append(f"{path}.{key}: {part:,} B is more than the {size:,} B that there are")
    return faults


def _faults_of_measurements(raw: Mapping[str, object]) -> list[str]:
    """A library of kernels twice, a class of operators twice or none at all, and ranges that end before they begin."""
    once = _Once()
    faults = once.faults
    for path, one in _tables_of(raw, "measured"):
        kernels, precision = one.get("kernels"), one.get("precision")
        if isinstance(kernels, str) and isinstance(precision, str):
            once.see((kernels, precision), path, f"is of {kernels!r} at {precision!r}")
        if one.get("efficiencies") == []:
            faults.append(f"{path}.efficiencies: must have an entry at least")
        classes = _Once()
        for place, efficiency in _tables_of(one, "efficiencies", path):
            if isinstance(operators := efficiency.get("operators"), str):
                classes.see(operators, place, f"is of {operators!r}")
        faults += [*classes.faults, *_falling(one, ("least", "most"), path)]
        faults += _falling(one, ("least_macs", "most_macs"), path)
        if isinstance(power := one.get("power"), dict):
            faults += _falling(power, ("least_w", "mean_w", "most_w"), f"{path}.power")
    return faults


def _faults_of_times(raw: Mapping[str, object]) -> list[str]:
    """The same runtime twice, a class of operators twice, without a rate or none at all, and ranges that are none."""
    once = _Once()
    faults = once.faults
    for path, one in _tables_of(raw, "timed"):
        run = tuple(one.get(key) for key in ("runtime", "precision", "threads", "mode"))
        if all(isinstance(value, (str, int)) for value in run):
            runtime, precision, threads, mode = run
            once.see(run, path, f"is of {runtime!r} at {precision!r}, {threads} threads, {mode!r}")
        if one.get("classes") == []:
            faults.append(f"{path}.classes: must have an entry at least")
        classes = _Once()
        for place, rates in _tables_of(one, "classes", path):
            if isinstance(operators := rates.get("operators"), str):
                classes.see(operators, place, f"is of {operators!r}")
            if set(rates) <= {"operators", "efficiency"}:
                faults.append(f"{place}: must have a rate or an overhead")
        faults += classes.faults
        for pair in (("least", "most"), ("least_macs", "most_macs")):
            faults += _falling(one, pair, path)
            faults += _without_the_other(one, pair, path)
        faults += _without_the_other(one, ("near_bytes", "far_bytes_per_s"), path)
        if "far_efficiency" in one and "far_bytes_per_s" not in one:
            faults.append(f"{path}.far_efficiency: is of far_bytes_per_s, which is missing")
        if "least" in one and "networks" not in one:
            faults.append(f"{path}.least: is a ratio of networks, and networks does not say of how many")
    return faults


def _without_the_other(table: Mapping[str, object], keys: tuple[str, str], path: str) -> Iterator[str]:
    """A fault where one of two that say something together is there alone."""
    if len(there := [key for key in keys if key in table]) == 1:
        (missing,) = set(keys) - set(there)
        yield f"{path}.{there[0]}: says nothing alone, and {missing} is missing"


def _falling(table: Mapping[str, object], keys: Sequence[str], path: str) -> Iterator[str]:
    """A fault for each of ``keys`` whose number is below that of the key before it."""
    for lower, upper in pairwise(keys):
        low, high = _value_of(table.get(lower), amount), _value_of(table.get(upper), amount)
        if low is not None and high is not None and low > high:
            yield f"{path}.{upper}: {high} is below {lower}, {low}"


def _faults_of_own_energies(raw: Mapping[str, object], energy: Mapping[str, object]) -> list[str]:
    """A device's own table has the device's name, and its levels are the device's memories."""
    faults = [f"$.energy.{key}: is the device's own" for key in OF_A_FILE if key in energy]
    memories = [memory.get("name") for _, memory in _tables_of(raw, "memories")]
    for path, access in _tables_of(energy, "accesses", "$.energy"):
        level = access.get("level")
        if isinstance(level, str) and level not in memories:
            named = ", ".join(repr(name) for name in memories) or "none"
            faults.append(f"{path}.level: must be one of the device's memories ({named}), not {level!r:.100}")
    return [*faults, *energies_twice(energy, "$.energy")]


def energies_twice(energy: Mapping[str, object], root: str) -> list[str]:
    once = _Once()
    for path, one in _tables_of(energy, "operations", root):
        operation, precision = one.get("operation"), one.get("precision")
        if isinstance(operation, str) and isinstance(precision, str):
            once.see((operation, precision), path, f"gives the energy of {operation!r} at {precision!r}")
    for path, access in _tables_of(energy, "accesses", root):
        if isinstance(level := access.get("level"), str):
            once.see(level, path, f"gives the energy of {level!r}")
    return once.faults


def _value_of(figure: object, read: Callable[[object, object], float] = whole_number) -> float | None:
    """The value of a figure; None of one that has a fault of its own."""
    try:
        return read(figure.get("value"), int) if isinstance(figure, dict) else None
    except ValueError:
        return None


def _tables_of(raw: Mapping[str, object], key: str, root: str = "$") -> Sequence[tuple[str, Mapping[str, object]]]:
    entries = raw.get(key)
    listed = entries[:MOST_ENTRIES] if isinstance(entries, list) else []
    return [(f"{root}.{key}[{index}]", entry) for index, entry in enumerate(listed) if isinstance(entry, dict)]
