"""One or several reports as one HTML file: nothing is fetched, tables need no script, and a policy keeps out what is not ours."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import Any, Final

import jinja2
from markupsafe import Markup, escape

from weighbridge.errors import printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.around import Around
from weighbridge.report.asking import CALLED, DEVICE
from weighbridge.report.assets import in_script, library, resource, script, style_sheet
from weighbridge.report.charts.drawn import charts
from weighbridge.report.charts.panel import Chart, Datum
from weighbridge.report.charts.theme import config
from weighbridge.report.grid import Grid
from weighbridge.report.page import Page, Verdict
from weighbridge.report.peaks import LIVE
from weighbridge.report.record import Report
from weighbridge.report.triangle import triangle
from weighbridge.report.view import page

__all__ = ["Comparison", "render"]

_SECTIONS: Final = {
    "inversion": "layers",
    "activations-weights": "layers",
    "memory": "memory",
    "arena": "memory",
    "peaks": "memory",
    "training": "training",
    "roofline": "devices",
    "latency": "devices",
    "throughput": "devices",
    "energy": "energy",
}
"""Where each chart of a report stands on the page."""
_NAMES: Final = {
    "verdicts": "Verdict",
    "triangle": "Smaller, faster, greener",
    "layers": "Layers",
    "memory": "Memory",
    "devices": "Devices",
    "energy": "Energy",
    "training": "Training",
    "conventions": "Conventions and conditions",
}


class _Model(NamedTuple):
    """A report on the page; ``inexact`` says what is not exact where no node is named as not counted."""

    place: int
    title: str
    page: Page
    is_exact: bool
    inexact: str


class _Figure(NamedTuple):
    """A chart on the page; only one that is ``drawn`` has a place that the script fills."""

    anchor: str
    title: str
    meaning: str
    device: str | None
    description: str
    notes: tuple[str, ...]
    reasons: tuple[str, ...]
    drawn: bool


class _Device(NamedTuple):
    """A device on the page, with what is said of it for each model."""

    anchor: str
    name: str
    verdicts: tuple[tuple[_Model, Verdict], ...]
    charts: tuple[_Figure, ...]


class Comparison(NamedTuple):
    """What stands above several reports: under ``heading`` sentences on what differs between them, and tables of it.

    ``subtitles`` say in the head what is compared, where that is not the reports alone.
    """

    title: str
    heading: str
    tool: str
    sentences: tuple[str, ...]
    grids: tuple[Grid, ...]
    notes: tuple[str, ...] = ()
    subtitles: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()


def render(
    reports: Mapping[str, Report],
    *,
    policy: str = LIVE,
    depth: int | None = None,
    comparison: Comparison | None = None,
    around: Around | None = None,
) -> str:
    """The page of ``reports`` by their titles, which are of different names; ``comparison`` stands above them, or alone where
    there are none.

    ``policy`` is the memory policy that running profiles follow; modules deeper than ``depth`` levels are closed at first.
    Without ``around`` the page is a file that fetches nothing; with it the server says in its headers what the page may do.
    """
    models = tuple(_model(place, title, report, policy) for place, (title, report) in enumerate(reports.items()))
    drawn = (*(charts(reports, policy) if reports else ()), *(comparison.charts if comparison else ()))
    figures = [(one, _figure(place, one)) for place, one in enumerate(drawn)]
    context = {
        "title": _title(models) if comparison is None else printable(comparison.title),
        "comparison": comparison,
        "tool": models[0].page.tool if comparison is None else printable(comparison.tool),
        "models": models,
        "uncounted": any(model.page.uncounted or not model.is_exact for model in models),
        "contents": [*([("comparison", comparison.heading)] if comparison else []), *_contents(models)],
        "corners": triangle(reports.values(), policy),
        "depth": depth,
        "charts": {
            section: [figure for one, figure in figures if _SECTIONS.get(one.name, "comparison") == section]
            for section in ("layers", "memory", "energy", "training", "comparison")
        },
        "devices": tuple(_devices(models, figures)),
        "around": around,
        "asked_at": around.asked_at if around else {},
        "asks_for_device": DEVICE,
        "own": None if around else _own(),
        "data": _data(drawn),
    }
    return _template().render(context)


def _model(place: int, title: str, report: Report, policy: str) -> _Model:
    shown = page(report, all_rows=True, policy=policy, with_map=True)
    what = "memory" if report.facts.exact else "MACs or parameters"
    return _Model(place, printable(title), shown, report.is_exact, f"{what} are not known in full")


def _title(models: tuple[_Model, ...]) -> str:
    return models[0].page.title if len(models) == 1 else " and ".join(_enumerated(models))


def _enumerated(models: tuple[_Model, ...]) -> Iterator[str]:
    """Names for a title: all but the last joined by commas, and the last."""
    *first, last = (model.title for model in models)
    yield ", ".join(first)
    yield last


def _contents(models: tuple[_Model, ...]) -> Iterator[tuple[str, str]]:
    if not models:
        return
    if any(model.page.uncounted or not model.is_exact for model in models):
        yield "uncounted", "Not counted"
    trains = any(model.page.training for model in models)
    yield from ((anchor, name) for anchor, name in _NAMES.items() if trains or anchor != "training")
    if any(model.page.notes for model in models):
        yield "notes", "Notes"


def _anchor(place: int, chart: Chart) -> str:
    """A name of its own for each chart, whatever devices are called."""
    return f"chart-{chart.name}" if chart.device is None else f"chart-{chart.name}-{place}"


def _figure(place: int, chart: Chart) -> _Figure:
    return _Figure(
        _anchor(place, chart),
        chart.title,
        chart.meaning,
        chart.device,
        chart.description,
        chart.notes,
        chart.reasons,
        chart.spec is not None,
    )


def _devices(models: tuple[_Model, ...], figures: list[tuple[Chart, _Figure]]) -> Iterator[_Device]:
    names = dict.fromkeys(verdict.device for model in models for verdict in model.page.verdicts)
    for place, name in enumerate(names):
        said = tuple((model, verdict) for model in models for verdict in model.page.verdicts if verdict.device == name)
        own = tuple(
            figure for chart, figure in figures if chart.device == name and _SECTIONS.get(chart.name) == "devices"
        )
        yield _Device(f"device-{place}", name, said, own)


def _data(drawn: tuple[Chart, ...]) -> str:
    """What the script draws, as JSON."""
    found: dict[str, Any] = {"charts": {}, "datasets": {}, "config": config("page")}
    for place, chart in enumerate(drawn):
        if chart.spec is not None:
            found["charts"][_anchor(place, chart)] = {"spec": chart.spec, "datasets": list(chart.datasets)}
            found["datasets"].update({name: _columns(rows) for name, rows in chart.datasets.items()})
    return in_script(found)


def _columns(rows: Sequence[Datum]) -> Mapping[str, Any]:
    """Rows as a list of lists and their columns once, which is half as long; a row without a column has null there."""
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    return {"columns": names, "rows": [[row.get(name) for name in names] for row in rows]}


def _own() -> Mapping[str, str]:
    """What dresses a page that stands alone.

    Its policy lets it run the two scripts that it holds and use the one style sheet that it holds, and nothing else.
    """
    scripts = " ".join(f"'{_hash(text)}'" for text in (library(), script()))
    security = (
        f"default-src 'none'; script-src {scripts}; style-src '{_hash(style_sheet())}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return {"style": style_sheet(), "script": script(), "library": library(), "security": security}


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _template() -> jinja2.Template:
    """To compile it takes half as long as all else of a page."""
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FunctionLoader(resource),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["with_code"] = _with_code
    return environment.get_template("report.html.jinja")


def _with_code(text: str, asked_at: Mapping[str, str]) -> Markup:
    """``text``, escaped, with what stands between backticks set as code; of an odd one out nobody knows what it begins.

    What a server has a form for (``Around.asked_at``) leads there in place of the words of the command line.
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return _linked(text, asked_at)
    code = Markup("<code>{}</code>")
    return Markup().join(
        code.format(part) if place % 2 and part not in asked_at else _linked(part, asked_at)
        for place, part in enumerate(parts)
    )


def _linked(text: str, asked_at: Mapping[str, str]) -> Markup:
    said = escape(text)
    for asking, address in asked_at.items():
        said = said.replace(asking, Markup('<a href="{}">{}</a>').format(address, CALLED[asking]))
    return said
