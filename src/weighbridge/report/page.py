"""A page: all that a renderer shows, already worded and in order.  Pure data; strings carry no markup and no control characters."""

from __future__ import annotations

from math import isfinite

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.grid import Grid

__all__ = [
    "SCRATCH_MARK",
    "ArenaMap",
    "Fault",
    "Headline",
    "Page",
    "Peak",
    "Peaks",
    "Piece",
    "Profile",
    "Quantity",
    "RegionLine",
    "Row",
    "Table",
    "Verdict",
    "percent",
]


SCRATCH_MARK = "#"
"""What scratch is drawn with; a buffer is drawn with a letter, a capital where it is alive at the peak."""


class Quantity(NamedTuple):
    """A number in full (``105,415,200``) and short (``105.4 M``); ``share`` of the whole, 0 to 1, None where there is none."""

    full: str
    short: str
    share: float | None = None

    @property
    def percent(self) -> str:
        """The share in per cent; nothing for none, and never 0 for a little."""
        return percent(self.share) if self.share else ""


def percent(share: float) -> str:
    """``14.6%``; ``<0.1%`` for less than can be shown; whole per cents above 1,000; ``?`` for what is infinite or no number."""
    if not isfinite(share):
        return "?"
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{share:.1%}" if share < 10 else f"{share:,.0%}"


class Headline(NamedTuple):
    """A figure and the sentence that says by which rule it was counted."""

    label: str
    value: Quantity
    convention: str
    is_exact: bool = True


class Peak(NamedTuple):
    """A peak of memory, and the policies that all have it: in bytes, in powers of 1024, in values; ``node`` sets the bytes."""

    policies: str
    bytes: str
    binary: str
    values: str
    node: str


class Peaks(NamedTuple):
    """Peak memory by policy; what has no figure, and why; (topic, sentence) of what is called alive and what is assumed."""

    rows: tuple[Peak, ...]
    left_out: tuple[str, ...]
    assumptions: tuple[tuple[str, str], ...]


class Row(NamedTuple):
    """A line of the module tree.  ``kind`` is ``module``, ``node`` or ``rest``; ``alive`` are bytes alive while it runs.

    ``place`` is that of a node in the report, None for what is none.
    """

    depth: int
    kind: str
    label: str
    operator: str
    output: str
    parameters: Quantity
    macs: Quantity
    alive: Quantity
    is_peak: bool
    place: int | None = None


class Profile(NamedTuple):
    """Memory over the run: ``levels`` are fractions of the peak, the maximum of each stretch of nodes; None is unknown."""

    caption: str
    levels: tuple[float | None, ...]
    summary: str


class Piece(NamedTuple):
    """A buffer on a map: its mark, its bytes from ``begin`` to before ``end``, its steps from ``first`` to ``last``."""

    mark: str
    begin: int
    end: int
    first: int
    last: int


class ArenaMap(NamedTuple):
    """An arena of ``bytes`` over ``steps``, of which one is the ``peak``; what its marks mean, its figures, and what is alive
    at the peak.
    """

    title: str
    bytes: int
    steps: int
    peak: int | None
    pieces: tuple[Piece, ...]
    key: str
    figures: tuple[Headline, ...]
    alive: Grid | None


class RegionLine(NamedTuple):
    """A memory of a device: a sentence, and the fraction of it that is needed (above 1: too small; None: unknown)."""

    name: str
    sentence: str
    fill: float | None
    fits: bool | None

    @property
    def percent(self) -> str:
        """The fraction in per cent; one that is no number, as of a memory without room, is too much all the same."""
        if self.fill is None:
            return ">100%" if self.fits is False else "?"
        return percent(self.fill)


class Brief(NamedTuple):
    """A sentence, and the verdict that it is about."""

    sentence: str
    verdict: str


class Verdict(NamedTuple):
    """One device: the verdict in a word and in a sentence, its memories, its times and costs with the conditions they hold
    under, tables of its slowest layers and of batch sizes, and notes.
    """

    device: str
    verdict: str
    sentence: str
    regions: tuple[RegionLine, ...]
    times: tuple[str, ...]
    conditions: str
    notes: tuple[str, ...] = ()
    grids: tuple[Grid, ...] = ()


class Fault(NamedTuple):
    """Nodes that are in no total, for one operator and one reason."""

    operator: str
    nodes: int
    reason: str
    where: str


class Table(NamedTuple):
    """Every node with raw values, for formats that are computed on."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]


class Page(NamedTuple):
    """What a report shows.  ``rows_note`` says what the tree leaves out, "" if nothing; ``parameters_title``
    which parameters its column counts, ``policy`` which memory policy ``alive`` and ``profile`` follow.  ``briefs`` are the
    verdicts in a line each, or all of them in one where there are many; ``devices`` has them side by side, and ``verdicts``
    one by one as far as there is room.  ``arena`` is there where the map was asked for.
    """

    title: str
    subtitle: str
    headlines: tuple[Headline, ...]
    peaks: Peaks
    policy: str
    parameters_title: str
    rows: tuple[Row, ...]
    total: Row
    rows_note: str
    profile: Profile | None
    briefs: tuple[Brief, ...]
    devices: Grid | None
    verdicts: tuple[Verdict, ...]
    energy: Grid | None
    training: tuple[Grid, ...]
    uncounted: tuple[Fault, ...]
    notes: tuple[str, ...]
    tool: str
    arena: ArenaMap | None = None

    def of_alive(self) -> str:
        """What stands in the column of bytes alive."""
        return f"alive: bytes by the policy {self.policy} while the layer runs; of a module, the most"
