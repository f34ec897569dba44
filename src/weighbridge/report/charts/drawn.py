"""Charts by name, drawn of one report or of several under each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair

from weighbridge.errors import printable
from weighbridge.report.asking import DEVICE
from weighbridge.report.charts.kinds import KINDS
from weighbridge.report.charts.panel import PICKED, Chart, Kind, NoPanel, Panel, Subject, title_line
from weighbridge.report.record import Report, by_device

__all__ = ["alone", "chart", "charts", "devices_of"]

_EXACT: Final = 2**53
"""Up to here a browser has every whole number."""
_MOST: Final = 2**1000
_TITLE: Final = 80


def charts(reports: Mapping[str, Report], policy: str) -> tuple[Chart, ...]:
    """Every chart there is of ``reports`` by their titles; those of a device once for each device that a report names."""
    devices = devices_of(reports) or (None,)
    return tuple(
        chart(name, reports, policy, device)
        for name, kind in KINDS.items()
        for device in (devices if kind.of_device else (None,))
    )


def devices_of(reports: Mapping[str, Report]) -> tuple[str, ...]:
    """The devices that any of ``reports`` names, under the names by which charts have them."""
    return tuple(dict.fromkeys(name for report in reports.values() for name in by_device(report)))


def chart(name: str, reports: Mapping[str, Report], policy: str, device: str | None = None) -> Chart:
    """The chart ``name`` of ``reports`` by their titles, of their entries for ``device`` if it is one of devices."""
    kind = KINDS[name]
    subjects = [
        Subject(place, printable(title, _TITLE), report, by_device(report).get(device or ""), policy)
        for place, (title, report) in enumerate(reports.items())
    ]
    found = [(subject.title, _panel(kind, subject)) for subject in subjects]
    panels = [(title, _drawable(panel)) for title, panel in found if isinstance(panel, Panel)]
    missing = [(title, panel.reason) for title, panel in found if isinstance(panel, NoPanel)]
    is_comparison = len(reports) > 1
    return Chart(
        name=name,
        title=kind.title,
        meaning=kind.meaning,
        device=device,
        spec=_spec(kind, panels, is_comparison) if panels else None,
        datasets={name: rows for _, panel in panels for name, rows in panel.datasets.items()},
        description="; ".join(_of(title, panel.description, is_comparison) for title, panel in panels),
        notes=tuple(_of(title, note, is_comparison) for title, panel in panels for note in panel.notes),
        reasons=tuple(_of(title, reason, is_comparison) for title, reason in missing),
    )


def alone(name: str, title: str, meaning: str, panel: Panel) -> Chart:
    """A chart of one panel that is of no report."""
    found = _drawable(panel)
    return Chart(
        name=name,
        title=title,
        meaning=meaning,
        device=None,
        spec=_written(found.drawing),
        datasets=found.datasets,
        description=found.description,
        notes=found.notes,
        reasons=(),
    )


def _of(title: str, sentence: str, is_comparison: bool) -> str:
    return f"{title}: {sentence}" if is_comparison else sentence


def _panel(kind: Kind, subject: Subject) -> Panel | NoPanel:
    if kind.of_device and subject.on is None:
        was = "this device was not asked for" if subject.report.on else "no device was asked for"
        return NoPanel(f"{was}; weigh it with {DEVICE}")
    return kind.panel(subject)


def _spec(kind: Kind, panels: Sequence[tuple[str, Panel]], is_comparison: bool) -> Mapping[str, Any]:
    """The panels under each other, with the scales in common that make them comparable."""
    titled = [_titled(panel.drawing, title) if is_comparison else panel.drawing for title, panel in panels]
    whole: Any = titled[0]
    if len(titled) > 1:
        scales: dict[str, Any] = dict.fromkeys(kind.shared, "shared")
        whole = altair.vconcat(*titled).resolve_scale(**scales)
    return _written(whole)


def _written(whole: Any) -> Mapping[str, Any]:
    spec: dict[str, Any] = whole.add_params(altair.param(name=PICKED, value=[])).to_dict()
    spec.pop("config", None)
    _write_titles(spec)
    return spec


def _write_titles(spec: dict[str, Any]) -> None:
    """Make the lines of all titles such that they can be drawn."""
    title = spec.get("title")
    if isinstance(title, str):
        spec["title"] = title_line(title)
    elif isinstance(title, dict):
        for part in title.keys() & {"text", "subtitle"}:
            lines = title[part]
            title[part] = title_line(lines) if isinstance(lines, str) else list(map(title_line, lines))
    for part in (*spec.get("vconcat", ()), *spec.get("layer", ())):
        _write_titles(part)


def _titled(drawing: Any, title: str) -> Any:
    """``drawing`` under the ``title`` of its model; one of its own, with what is under it, comes below."""
    own = drawing.title
    if not isinstance(own, altair.TitleParams):
        return drawing.properties(title=title)
    parts = [
        text
        for part in (own.text, own.subtitle)
        if part is not altair.Undefined
        for text in ([part] if isinstance(part, str) else part)
    ]
    return drawing.properties(title=altair.TitleParams(title, subtitle=parts, limit=own.limit))


def _drawable(panel: Panel) -> Panel:
    """``panel`` with the numbers that a browser has: beyond ``_EXACT`` the nearest, beyond ``_MOST`` none, and notes that say so."""
    sizes = [
        value for rows in panel.datasets.values() for row in rows for value in row.values() if isinstance(value, int)
    ]
    largest = max(sizes, default=0)
    if largest <= _EXACT:
        return panel
    notes = ["numbers above 2^53 are drawn and shown to some 16 digits; the JSON has all"]
    if largest > _MOST:
        notes.append("numbers above 2^1000 are not drawn")
    datasets = {
        name: tuple({field: _near(value) for field, value in row.items()} for row in rows)
        for name, rows in panel.datasets.items()
    }
    return panel._replace(datasets=datasets, notes=(*panel.notes, *notes))


def _near(value: str | float | None) -> str | float | None:
    if not isinstance(value, int) or value <= _EXACT:
        return value
    return float(value) if value <= _MOST else None
