"""The comparison as JSON, and back; the reports in it are as they are alone, and all the rest follows from them."""

from __future__ import annotations

from collections.abc import Mapping

from weighbridge.errors import BadSpec
from weighbridge.report.json import from_plain as report_from_plain
from weighbridge.report.json import plain
from weighbridge.report.json import to_plain as report_to_plain
from weighbridge.report.layers import layer_changes
from weighbridge.report.record import Report
from weighbridge.report.what_if import SCHEMA, Step, WhatIf, compared

__all__ = ["from_plain", "to_plain"]


def to_plain(found: WhatIf) -> dict[str, object]:
    """Dicts, lists, ints, finite floats, strings, booleans and None, under the names that docs/json.md has."""
    return {
        "schema": found.schema,
        "tool": found.tool,
        "source": found.source,
        "changes": list(found.changes),
        "before": report_to_plain(found.before),
        "after": report_to_plain(found.after),
        "metrics": plain(found.metrics, []),
        "layers": plain(found.layers, []),
        "steps": [{"changes": list(step.changes), "report": report_to_plain(step.report)} for step in found.steps],
        "notes": list(found.notes),
    }


def from_plain(data: object) -> WhatIf:
    """Read what ``to_plain`` made; metrics and layers are found again from the reports.  Raises ``BadSpec``."""
    if not isinstance(data, Mapping) or not {"before", "after", "changes"} <= data.keys():
        raise BadSpec("this is no saved comparison: it has no before, after and changes", where="$")
    if data.get("schema") != SCHEMA:
        raise BadSpec("the comparison has another schema", where="$.schema", hint=f"this version reads schema {SCHEMA}")
    before, after = (_report(data[side], f"$.{side}") for side in ("before", "after"))
    steps = data.get("steps", [])
    if not isinstance(steps, list):
        raise BadSpec("a list belongs here", where="$.steps")
    return WhatIf(
        tool=_text(data.get("tool"), "$.tool"),
        source=_text(data.get("source"), "$.source"),
        changes=_texts(data["changes"], "$.changes"),
        before=before,
        after=after,
        metrics=compared(before, after),
        layers=layer_changes(before.nodes, after.nodes),
        steps=tuple(_step(one, f"$.steps[{place}]") for place, one in enumerate(steps)),
        notes=_texts(data.get("notes", []), "$.notes"),
    )


def _step(data: object, path: str) -> Step:
    if not isinstance(data, Mapping) or not {"changes", "report"} <= data.keys():
        raise BadSpec("changes and a report belong here", where=path)
    return Step(_texts(data["changes"], f"{path}.changes"), _report(data["report"], f"{path}.report"))


def _report(data: object, path: str) -> Report:
    try:
        return report_from_plain(data)
    except BadSpec as error:
        raise BadSpec(error.what, where=path + error.where.removeprefix("$"), hint=error.hint) from None


def _texts(data: object, path: str) -> tuple[str, ...]:
    if not isinstance(data, list):
        raise BadSpec("a list belongs here", where=path)
    return tuple(_text(one, f"{path}[{place}]") for place, one in enumerate(data))


def _text(data: object, path: str) -> str:
    if not isinstance(data, str):
        raise BadSpec("text belongs here", where=path)
    return data
