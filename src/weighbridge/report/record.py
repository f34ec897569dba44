"""The report as a record, with the names of the JSON contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from weighbridge.counts import NetworkFacts, NodeFacts
from weighbridge.errors import printable
from weighbridge.graph import Shape
from weighbridge.memory import MemoryPlan
from weighbridge.named_tuple import NamedTuple

if TYPE_CHECKING:  # a report without a device is made without them
    from weighbridge.estimates import (
        Bill,
        Conditions,
        Deadline,
        DeviceEnergy,
        Expected,
        Fit,
        Latency,
        NodeTime,
        PatchedFit,
        Roofline,
        Throughput,
        TrainingFit,
    )

__all__ = [
    "SCHEMA",
    "WIDTHS_ASKED_FOR",
    "Network",
    "NetworkInput",
    "OnDevice",
    "Report",
    "by_device",
    "device_names",
    "told_apart",
]

SCHEMA: Final = 1
"""Grows only when something is renamed or removed; additions leave it as it is."""
_DEVICE: Final = 160
"""Characters of a device's name: few enough that a line has room for what tells two apart."""
WIDTHS_ASKED_FOR: Final = "the weights are weighed at the widths asked for"
"""Begins the note of a report whose weights are not at their stored widths."""


class NetworkInput(NamedTuple):
    """What goes into the network; ``shape`` is None where it is unknown."""

    name: str
    shape: Shape | None
    dtype: str


class Network(NamedTuple):
    """What was weighed.  ``graph`` is ``deployed``, or ``as written`` where nothing was folded and fused; ``capture`` says
    how a front end that runs code got hold of the graph, None for files and textbook networks.
    """

    name: str
    source: str
    format: str
    inputs: tuple[NetworkInput, ...]
    graph: str = "deployed"
    capture: str | None = None


class OnDevice(NamedTuple):
    """The network on one device: whether it fits, how fast it could be at best, layer by layer and batch by batch, and what
    it draws where the device has a table of energies.

    ``nodes`` are in the order of the report's, ``roofline`` is what they lie under; ``deadline`` is there where a frame rate was
    asked for, ``training`` where a training plan was.  ``expected`` has what the network is expected to take with each library of
    kernels that was measured on the device: an estimate, beside the floor of ``latency`` and never in its place.
    ``patches`` say whether running the first stage patch by patch makes it fit, where that was asked for and activations have no room.
    """

    device: str
    conditions: Conditions
    fit: Fit
    latency: Latency
    nodes: tuple[NodeTime, ...] | None = None
    throughput: Throughput | None = None
    energy: DeviceEnergy | None = None
    deadline: Deadline | None = None
    notes: tuple[str, ...] = ()
    roofline: Roofline | None = None
    training: TrainingFit | None = None
    expected: tuple[Expected, ...] = ()
    patches: PatchedFit | None = None


def told_apart(names: Iterable[str]) -> tuple[str, ...]:
    """``names``, with a count behind one that was there before: two device files may give their devices one name."""
    told: dict[str, None] = {}
    for name in names:
        count, one = 1, name
        while one in told:
            count += 1
            one = f"{name} ({count})"
        told[one] = None
    return tuple(told)


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """All that is known about one network: ``network``, ``facts``, ``memory``, ``on`` (a verdict a device), ``energy`` (the
    bill by a table that was asked for), ``notes``.

    The attributes have the names of the JSON.  ``None`` is unknown, and a note says why; it is never zero.
    """

    tool: str
    network: Network
    facts: NetworkFacts
    memory: MemoryPlan
    on: tuple[OnDevice, ...] = ()
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA
    energy: Bill | None = None

    @property
    def nodes(self) -> tuple[NodeFacts, ...]:
        """One entry for every node that runs."""
        return self.facts.nodes

    @property
    def is_exact(self) -> bool:
        """Whether every number of the network is exact: MACs and parameters, the memory plan, and that of training if there is one."""
        training = self.memory.training
        return self.facts.exact and self.memory.exact and (training is None or training.exact)

    @property
    def has_stored_widths(self) -> bool:
        """Whether the weights are weighed at the widths that the model stores them in."""
        return not any(note.startswith(WIDTHS_ASKED_FOR) for note in self.notes)

    def to_dict(self) -> dict[str, object]:
        """Plain dicts, lists, numbers and strings, as the JSON contract has them."""
        from weighbridge.report.json import to_plain

        return to_plain(self)

    def to_json(self) -> str:
        """The JSON text: ASCII, ints exact however large, no NaN and no infinity."""
        from weighbridge.report.json import to_text

        return to_text(self)

    def to_html(self) -> str:
        """The report as one HTML file, which fetches nothing; ``report.html_file.render`` has several on one page.

        Raises ``MissingExtra`` where what draws its charts is not installed.
        """
        from weighbridge.report.extra import report_extra

        with report_extra("a page in HTML"):
            from weighbridge.report.html_file import render
        return render({self.network.name: self})

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Report:
        """The report that ``to_dict`` made ``data`` of.  Raises ``BadSpec`` with the ``$.path`` of what does not fit."""
        from weighbridge.report.json import from_plain

        return from_plain(data)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The report that was saved as ``text``.  Raises ``BadSpec``."""
        from weighbridge.report.json import from_text

        return from_text(text)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row a node, in the columns of the CSV; what is unknown is missing.

        Raises ``MissingExtra`` where pandas is not installed.
        """
        from weighbridge.report.frame import data_frame
        from weighbridge.report.view import node_table

        return data_frame(node_table(self))

    def __repr__(self) -> str:
        mark = "" if self.facts.exact else ">= "
        verdicts = "".join(f", {printable(on.device)}: {printable(on.fit.verdict, 40)}" for on in self.on)
        counts = f"{mark}{self.facts.parameters:,} parameters, {mark}{self.facts.macs:,} MACs"
        return f"<Report {printable(self.network.name)}: {counts}{verdicts}>"

    def __str__(self) -> str:
        """The page as text, 100 columns wide."""
        from weighbridge.report.terminal import Look, text
        from weighbridge.report.view import page

        return text(page(self), Look(100))

    def _repr_html_(self) -> str:
        from weighbridge.report.html import render
        from weighbridge.report.view import page

        return render(page(self))


def by_device(report: Report) -> Mapping[str, OnDevice]:
    """What ``report`` says of each device, by the one name that pages, charts and files have for it."""
    return dict(zip(device_names(on.device for on in report.on), report.on, strict=True))


def device_names(names: Iterable[str]) -> tuple[str, ...]:
    """The one name of each device, in their order: printable, no two alike."""
    return told_apart(printable(name, _DEVICE) for name in names)
