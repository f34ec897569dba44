"""Makes a page of a report: the one place where figures are worded, rounded, shared out and ordered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from weighbridge.counts import Uncounted
from weighbridge.errors import printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.headlines import headlines, lower_bound
from weighbridge.report.page import ArenaMap, Brief, Fault, Page, Profile, Quantity, Row, Table, Verdict
from weighbridge.report.peaks import LIVE, peaks, place_of_peak, where_of_peak
from weighbridge.report.record import OnDevice, Report, by_device
from weighbridge.report.tree import Sums, Visible, visible_entries
from weighbridge.units import binary_bytes, decimal_bytes, exact, short

if TYPE_CHECKING:
    from weighbridge.estimates import Bill
    from weighbridge.report.grid import Grid

__all__ = ["node_table", "page", "subtitle", "title", "without_folders"]

_ROWS = 40
_STRETCHES = 48
_FAULTS = 10
_NOTES = 20
_NOTHING = Quantity("", "")


def page(
    report: Report, *, depth: int | None = None, all_rows: bool = False, policy: str = LIVE, with_map: bool = False
) -> Page:
    """The page of ``report``: at most 40 rows of the module tree, opened ``depth`` levels deep, or all of them and all notes.

    ``policy`` is the memory policy whose running profile stands beside the nodes.  ``with_map`` draws the plan of the arena.
    """
    report = _with_devices_told_apart(report)
    profile = report.memory.profile.get(policy, ())
    peak = place_of_peak(report, policy)
    rows = None if all_rows else _ROWS
    shown, total = visible_entries(report.nodes, profile, peak, depth=depth, rows=rows)
    of_devices = _OfDevices() if not report.on else _of_devices(report, all_rows)
    return Page(
        title=title(report),
        subtitle=subtitle(report),
        headlines=headlines(report),
        peaks=peaks(report.memory),
        policy=printable(policy),
        parameters_title="parameters"
        if report.facts.deployed_parameters == report.facts.parameters
        else "deployed params",
        rows=tuple(_row(visible, report, policy) for visible in shown),
        total=_total(report, policy),
        rows_note=_rows_note(report, len(shown), total),
        profile=_profile(report, policy, profile, peak),
        briefs=of_devices.briefs,
        devices=of_devices.devices,
        verdicts=of_devices.verdicts,
        energy=None if report.energy is None else _energy(report.energy),
        training=() if report.memory.training is None else _training(report, all_rows),
        uncounted=_faults(report.facts.uncounted, None if all_rows else _FAULTS),
        notes=_notes(_said(report), None if all_rows else _NOTES),
        tool=printable(report.tool),
        arena=_map(report) if with_map else None,
    )


class _OfDevices(NamedTuple):
    briefs: tuple[Brief, ...] = ()
    devices: Grid | None = None
    verdicts: tuple[Verdict, ...] = ()


def _of_devices(report: Report, all_rows: bool) -> _OfDevices:
    """What a page says of devices; its modules are imported where there are any."""
    from weighbridge.report.costs import devices
    from weighbridge.report.verdicts import DETAILED, briefs, verdicts

    is_detailed = all_rows or len(report.on) <= DETAILED
    return _OfDevices(briefs(report), devices(report), verdicts(report, all_rows) if is_detailed else ())


def _energy(energy: Bill) -> Grid | None:
    from weighbridge.report.costs import bill

    return bill(energy)


def _training(report: Report, all_rows: bool) -> tuple[Grid, ...]:
    from weighbridge.report.training_page import training_grids

    return training_grids(report, all_rows=all_rows)


def _map(report: Report) -> ArenaMap | None:
    from weighbridge.report.arena_map import arena_map

    return arena_map(report.memory)


def _with_devices_told_apart(report: Report) -> Report:
    return replace(report, on=tuple(on._replace(device=name) for name, on in by_device(report).items()))


def _rows_note(report: Report, shown: int, total: int) -> str:
    notes = []
    if shown < total:
        notes.append(f"{shown:,} of {total:,} rows of the module tree; --depth N or --all shows more")
    if sum(node.parameters or 0 for node in report.nodes) > report.facts.deployed_parameters:
        notes.append("parameters that several nodes share are in the row of each, and once in the total")
    return "; ".join(notes)


def title(report: Report) -> str:
    """The file's name, and behind it the network's own where it says more."""
    network = report.network
    if network.format == "textbook":
        return printable(network.name)
    file = without_folders(network.source)
    scheme, _, behind = file.partition(":")
    if not file or network.name in ("", file, behind, scheme.rpartition(".")[0]):
        return printable(file or network.name)
    return f"{printable(file)} ({printable(network.name)})"


def without_folders(path: str) -> str:
    """The name of a file, with the revision behind it, which may have slashes of its own: ``model.onnx@feature/wide``."""
    plain = path.replace("\\", "/").rstrip("/")
    before, sign, revision = plain.partition("@")
    name = before.rpartition("/")[2]
    return f"{name}@{revision}" if sign and "." in name else plain.rpartition("/")[2]


def subtitle(report: Report) -> str:
    """Format, inputs, and which graph was weighed."""
    network = report.network
    inputs = ", ".join(f"{item.name} {_shape(item.shape)} {item.dtype}" for item in network.inputs[:4])
    if len(network.inputs) > 4:
        inputs += f" and {len(network.inputs) - 4:,} more inputs"
    graph = "weighed as written" if network.graph != "deployed" else "weighed as deployed"
    return " · ".join(printable(part) for part in (network.format, inputs or "no inputs", graph) if part)


def _shape(shape: Sequence[int] | None) -> str:
    if shape is None:
        return "?"
    return "x".join(str(size) for size in shape) or "scalar"


def _row(visible: Visible, report: Report, policy: str) -> Row:
    entry, facts = visible.entry, visible.entry.facts
    output = _shape(facts.output) if facts else ""
    if facts is None and not visible.is_expanded:
        output = f"{entry.sums.nodes:,} {'node' if entry.sums.nodes == 1 else 'nodes'}"
    operator = "" if facts is None else " + ".join((facts.operator, *facts.fused))
    if facts is not None and facts.operator == "unknown":
        operator = facts.origin or operator
    return Row(
        depth=visible.depth,
        kind=visible.kind,
        label=printable(entry.label, 80),
        operator=printable(operator, 60),
        output=output,
        parameters=_counted(entry.sums.parameters, report.facts.deployed_parameters, entry.sums.parameters_exact),
        macs=_counted(entry.sums.macs, report.facts.macs, entry.sums.macs_exact),
        alive=_alive(entry.sums, report.memory.peak_bytes.get(policy)),
        is_peak=entry.sums.has_peak,
        place=entry.place,
    )


def _counted(value: int, whole: int, is_exact: bool) -> Quantity:
    if not is_exact and not value:
        return Quantity("?", "?")
    return Quantity(lower_bound(exact(value), is_exact), lower_bound(short(value), is_exact), _share(value, whole))


def _alive(sums: Sums, peak: int | None) -> Quantity:
    if sums.alive is None:
        return Quantity("?", "?")
    return Quantity(f"{exact(sums.alive)} B", decimal_bytes(sums.alive), _share(sums.alive, peak))


def _total(report: Report, policy: str) -> Row:
    facts, peak = report.facts, report.memory.peak_bytes.get(policy)
    macs = Quantity(lower_bound(exact(facts.macs), facts.exact), lower_bound(short(facts.macs), facts.exact))
    held = facts.deployed_parameters
    parameters = Quantity(lower_bound(exact(held), facts.exact), lower_bound(short(held), facts.exact))
    alive = _NOTHING if peak is None else Quantity(f"{exact(peak)} B", decimal_bytes(peak))
    return Row(0, "total", "total", "", "", parameters, macs, alive, is_peak=False)


def _profile(report: Report, policy: str, profile: Sequence[int | None], peak: int | None) -> Profile | None:
    top = report.memory.peak_bytes.get(policy)
    if not top or peak is None or len(profile) < 2:
        return None
    stretch = -(-len(profile) // _STRETCHES)
    levels = []
    for start in range(0, len(profile), stretch):
        known = [size for size in profile[start : start + stretch] if size is not None]
        levels.append(_share(max(known), top) if known else None)
    size = decimal_bytes(top) if top < 1000 else f"{decimal_bytes(top)} ({binary_bytes(top)})"
    summary = f"{size} {where_of_peak(report, policy, peak)}"
    return Profile(f"memory over the run ({printable(policy)})", tuple(levels), summary)


def _faults(uncounted: Sequence[Uncounted], most: int | None) -> tuple[Fault, ...]:
    groups: dict[tuple[str, str], list[str]] = {}
    for node, operator, reason in uncounted:
        groups.setdefault((operator, reason), []).append(node)
    faults = []
    for (operator, reason), nodes in sorted(groups.items(), key=lambda item: -len(item[1])):
        where = ", ".join(printable(node, 60) for node in nodes[:3]) + (" …" if len(nodes) > 3 else "")
        faults.append(Fault(printable(operator, 60), len(nodes), printable(reason), where))
    if most is not None and len(faults) > most:
        rest = faults[most:]
        faults = [*faults[:most], Fault(f"{len(rest):,} more", sum(fault.nodes for fault in rest), "see the JSON", "")]
    return tuple(faults)


def _said(report: Report) -> tuple[str, ...]:
    return (report.network.capture, *report.notes) if report.network.capture else report.notes


def _notes(notes: Sequence[str], most: int | None) -> tuple[str, ...]:
    shown = [printable(note, 400) for note in notes[:most]]
    if most is not None and len(notes) > most:
        shown.append(f"{len(notes) - most:,} more notes: see the JSON")
    return tuple(shown)


_COLUMNS = (
    *(
        "name",
        "scope",
        "module_call",
        "operator",
        "fused",
        "origin",
        "output",
        "output_dtype",
        "parameters",
        "parameters_share",
    ),
    *("weights", "macs", "macs_share", "flops", "other_operations", "output_bytes", "read_bytes", "write_bytes"),
    *("alive_bytes", "uses_per_weight", "exact"),
)


_TIME_COLUMNS = ("time_s", "compute_s", "memory_s", "bound", "intensity_ops_per_byte")


def node_table(report: Report, *, policy: str = LIVE) -> Table:
    """Every node that runs: raw values under the names of the JSON, with its shares and the bytes alive under ``policy``."""
    facts, profile = report.facts, report.memory.profile.get(policy, ())
    rows = []
    for index, node in enumerate(report.nodes):
        others = None if node.work is None else sum(node.work) - node.work.macs
        rows.append(
            (
                *(printable(node.name), printable(node.scope), node.module_call),
                *(printable(node.operator), printable(" ".join(node.fused)), printable(node.origin)),
                *(_shape(node.output), node.output_dtype and printable(node.output_dtype)),
                *(node.parameters, _share(node.parameters, facts.deployed_parameters)),
                *(node.weights, node.macs, _share(node.macs, facts.macs), node.flops, others),
                *(node.output_bytes, node.read_bytes, node.write_bytes),
                *(profile[index] if index < len(profile) else None, node.uses_per_weight, node.exact),
                *(cell for on in report.on for cell in _times(on, index)),
            )
        )
    timed = (f"{column} on {device}" for device in by_device(report) for column in _TIME_COLUMNS)
    return Table((*_COLUMNS, *timed), tuple(rows))


def _times(on: OnDevice, index: int) -> tuple[str | int | float | None, ...]:
    """What a device takes for one node, in the order of the columns."""
    if on.nodes is None or index >= len(on.nodes):
        return (None,) * len(_TIME_COLUMNS)
    time = on.nodes[index]
    return (
        time.time_s,
        time.compute_s,
        time.memory_s,
        time.bound and printable(time.bound),
        time.intensity_ops_per_byte,
    )


def _share(value: int | None, whole: int | None) -> float | None:
    """A part of the whole; None where one of them is unknown, the whole is nothing, or no float holds it."""
    try:
        return value / whole if value is not None and whole else None
    except OverflowError:
        return None
