"""What is said of one device: every number with its unit, its source and the doubt about it, as rows that any page can set."""

from __future__ import annotations

from collections.abc import Iterator

from weighbridge.devices.device import PERSISTENT, Device, EnergyTable, Figure, Memory, Peak, Picojoules
from weighbridge.devices.measured import Amount, Measured
from weighbridge.devices.timed import ClassRates, Timed, names_of
from weighbridge.errors import printable
from weighbridge.estimates.expected import NOT_MEASURED, lacks_times
from weighbridge.named_tuple import NamedTuple
from weighbridge.units import binary_bytes, decimal_bytes, exact, in_full, seconds, short, stated

__all__ = ["Fact", "Facts", "device_facts", "device_notes", "device_subtitle"]

_CALLED = {PERSISTENT: "a runtime's own data"}
_LONGEST = 2000
"""Characters of a text, as many as a device file may have in one."""


class Fact(NamedTuple):
    """One number: what it is of, ``figure`` short and in full with its unit, what ``more`` there is to know, ("" for nothing), where it
    comes from, and the ``remark`` about it, which begins with "not verified" where it is that.
    """

    name: str
    figure: str
    more: str
    source: str
    remark: str
    is_verified: bool

    @property
    def text(self) -> str:
        """The number in a line."""
        return f"{self.name}: {self.figure}{f'; {self.more}' if self.more else ''}"


class Facts(NamedTuple):
    """The numbers of one kind, ``meaning`` behind a colon of the title."""

    title: str
    meaning: str
    facts: tuple[Fact, ...]

    @property
    def heading(self) -> str:
        """The title and what it means."""
        return f"{self.title}: {self.meaning}" if self.meaning else self.title


def device_subtitle(device: Device) -> str:
    """Its name, kind, class and core."""
    return f"{device.name} · {device.kind} · {printable(f'{device.class_} · {device.core}', _LONGEST)}"


def device_facts(device: Device) -> Iterator[Facts]:
    """Rates, memories, energies and measurements, those that there are; what is from the file is fit to be shown."""
    if device.peaks:
        meaning = "dense operations a second; a multiply-accumulate is two"
        yield Facts("peak rates", meaning, tuple(map(_peak, device.peaks)))
    if device.memories:
        yield Facts("memory", "", tuple(fact for memory in device.memories for fact in _memory(memory)))
    if device.energy is not None:
        title = f"energy, {printable(device.energy.process, _LONGEST)}"
        yield Facts(title, "", tuple(_energies(device.energy)))
    for measured in device.measured:
        title = f"measured with {printable(measured.kernels, _LONGEST)}, {measured.precision}"
        yield Facts(title, printable(measured.conditions, _LONGEST), tuple(_measurements(measured)))
    for name, timed in zip(names_of(device.timed), device.timed, strict=True):
        title = f"timed with {printable(name, _LONGEST)}, {timed.precision}"
        runs = f"{timed.mode}, {timed.thread_count}, {timed.conditions}"
        yield Facts(title, printable(runs, _LONGEST), tuple(_times(timed)))


def device_notes(device: Device) -> Iterator[str]:
    """What the file notes, how many numbers are not verified, and what is left out."""
    figures = device.figures
    doubtful = sum(not figure.verified for figure in figures)
    yield from (printable(note, _LONGEST) for note in device.notes)
    if doubtful:
        yield f"not verified: {doubtful} of {len(figures)} numbers; an estimate that rests on one says so"
    yield from (printable(gap, _LONGEST) for gap in device.gaps)
    if lacks_times(device):
        yield NOT_MEASURED


def _peak(peak: Peak) -> Fact:
    value = peak.ops_per_s.value
    figure = f"{short(value)}OPS = {exact(value)} operations/s"
    return _fact(peak.precision, figure, printable(peak.unit), peak.ops_per_s)


def _memory(memory: Memory) -> Iterator[Fact]:
    name = printable(memory.name)
    *others, last = (_CALLED.get(content, content) for content in memory.holds or ("nothing of a network",))
    holds = f"{', '.join(others)} and {last}" if others else last
    yield _fact(name, _sized(memory.bytes), f"holds {holds}", memory.bytes)
    bandwidth, reserved, block = memory.bandwidth_bytes_per_s, memory.reserved_bytes, memory.largest_block_bytes
    if bandwidth is not None:
        figure = f"{decimal_bytes(bandwidth.value)}/s = {exact(bandwidth.value)} B/s"
        yield _fact(f"{name}, bandwidth", figure, "", bandwidth)
    if reserved is not None:
        yield _fact(f"{name}, reserved", _sized(reserved), "no network can have it", reserved)
    if block is not None:
        yield _fact(f"{name}, largest block", _sized(block), "a network has to lie in one", block)


def _sized(figure: Figure) -> str:
    return f"{exact(figure.value)} B = {binary_bytes(figure.value)}"


def _energies(table: EnergyTable) -> Iterator[Fact]:
    for one in table.operations:
        yield _fact(f"{one.operation} {one.precision}", _pj(one.energy_pj), "", one.energy_pj)
    for access in table.accesses:
        each = access.energy_pj_per_32_bit
        yield _fact(f"32 bits from {printable(access.level)}", _pj(each), "", each)


def _measurements(measured: Measured) -> Iterator[Fact]:
    yield _fact("clock", f"{in_full(stated(measured.cycles_per_s.value))} cycles/s", "", measured.cycles_per_s)
    for one in measured.efficiencies:
        each = one.macs_per_cycle
        yield _fact(one.operators, f"{in_full(stated(each.value))} multiply-accumulates a cycle", "", each)
        if one.cycles_per_output is not None:
            figure = f"{in_full(stated(one.cycles_per_output.value))} cycles"
            yield _fact(f"{one.operators}, each value put out", figure, "", one.cycles_per_output)
    for name, ratio in (("least", measured.least), ("most", measured.most)):
        yield _fact(f"expected time, at {name}", f"x {in_full(stated(ratio.value))}", "", ratio)
    yield from _sizes(measured.least_macs, measured.most_macs)
    if measured.power is not None:
        power = measured.power
        for name, watts in (("power", power.mean_w), ("power, least", power.least_w), ("power, most", power.most_w)):
            yield _fact(name, f"{in_full(stated(watts.value))} W", "", watts)


def _times(timed: Timed) -> Iterator[Fact]:
    if timed.call_s is not None:
        yield _fact("a run, beside its operators", _seconds(timed.call_s), "", timed.call_s)
    if timed.near_bytes is not None and timed.far_bytes_per_s is not None:
        yield _fact("nearest memory", binary_bytes(round(timed.near_bytes.value)), "", timed.near_bytes)
        far = f"{in_full(stated(timed.far_bytes_per_s.value))} B/s"
        yield _fact("bytes beyond it, more", far, "", timed.far_bytes_per_s)
        if timed.far_efficiency is not None:
            reached = f"x {in_full(stated(timed.far_efficiency.value))}"
            yield _fact("bytes beyond it, in networks", reached, "of that speed", timed.far_efficiency)
    for one in timed.classes:
        yield from _rates(one)
    of = f"of {exact(timed.networks)} networks"
    for name, ratio in (("least", timed.least), ("most", timed.most)):
        if ratio is not None:
            yield _fact(f"expected time, at {name}", f"x {in_full(stated(ratio.value))}", of, ratio)
    yield from _sizes(timed.least_macs, timed.most_macs)


def _rates(one: ClassRates) -> Iterator[Fact]:
    """The terms of one class of operators."""
    for rate, unit in (
        (one.macs_per_s, "multiply-accumulates/s"),
        (one.bytes_per_s, "B/s"),
        (one.operations_per_s, "operations/s beside them"),
        (one.compares_per_s, "comparisons/s"),
        (one.special_per_s, "special functions/s"),
    ):
        if rate is not None:
            yield _fact(one.operators, f"{in_full(stated(rate.value))} {unit}", "", rate)
    for name, each in (("each node", one.node_overhead_s), ("each kernel", one.overhead_s)):
        if each is not None:
            yield _fact(f"{one.operators}, {name}", _seconds(each), "", each)
    if one.efficiency is not None:
        reached = f"x {in_full(stated(one.efficiency.value))}"
        yield _fact(f"{one.operators}, in networks", reached, "of that speed", one.efficiency)


def _sizes(least: Amount | None, most: Amount | None) -> Iterator[Fact]:
    for name, macs in (("smallest", least), ("largest", most)):
        if macs is not None:
            yield _fact(f"{name} network measured", f"{in_full(stated(macs.value))} multiply-accumulates", "", macs)


def _seconds(each: Amount) -> str:
    return f"{seconds(each.value)} = {in_full(stated(each.value))} s"


def _pj(each: Picojoules) -> str:
    return f"{in_full(stated(each.value))} pJ"


def _fact(name: str, figure: str, more: str, of: Figure | Amount) -> Fact:
    note = printable(of.note, _LONGEST)
    origin = "measured" if isinstance(of, Figure) and of.measured else ""
    doubt = origin if of.verified else ", ".join(part for part in ("not verified", origin) if part)
    remark = f"{doubt or 'note'}: {note}" if note else doubt
    return Fact(name, figure, more, printable(of.source, _LONGEST), remark, of.verified)
