"""A measurement as JSON, and back: a recorded measurement is the measurement, with every sample."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from weighbridge.errors import BadSpec
from weighbridge.measure.record import SCHEMA, Measurement
from weighbridge.measure.summary import Summary
from weighbridge.report.json import plain, record_of
from weighbridge.report.json_text import parsed
from weighbridge.report.measured import SCHEMA as PAGE_SCHEMA
from weighbridge.report.measured import Measured
from weighbridge.written import shown

__all__ = ["NEWER", "from_line", "from_plain", "page_from_plain", "to_line", "to_plain"]

_WHAT: Final = "measurement"
_PAGE: Final = "saved measurement"
NEWER: Final = "is of another version"
"""What the error of a record says that this version does not read."""
_NAMES: Final = ("schema", *(one.name for one in fields(Measurement) if one.name != "schema"))


def to_plain(found: Measurement) -> dict[str, Any]:
    """Dicts, lists, numbers, strings, booleans and None, under the names of ``Measurement``."""
    lost: list[float] = []
    return {name: plain(getattr(found, name), lost) for name in _NAMES}


def to_line(found: Measurement) -> str:
    """The JSON text on one line, in ASCII, without an end of line."""
    return json.dumps(to_plain(found), allow_nan=False)


def from_line(text: str | bytes) -> Measurement:
    """Read what ``to_line`` wrote.  Raises ``BadSpec``."""
    return from_plain(parsed(text, _WHAT))


def from_plain(data: object) -> Measurement:
    """Read what ``to_plain`` made.  Keys that this version does not know are left out; raises ``BadSpec`` for the rest."""
    if not isinstance(data, Mapping) or not {"schema", "samples_s", "conditions"} <= data.keys():
        raise BadSpec(f"this is no {_WHAT}: it lacks schema, conditions or samples_s", where="$")
    if data["schema"] != SCHEMA:
        hint = f"this version reads schema {SCHEMA}"
        raise BadSpec(f"{NEWER}: schema {shown(data['schema'])}", where="$.schema", hint=hint)
    found = record_of(Measurement, data, _WHAT)
    _check(found)
    return found


def page_from_plain(data: object) -> Measured:
    """Read what ``Measured.to_dict`` made.  Keys that this version does not know are left out; raises ``BadSpec`` for the rest."""
    if not isinstance(data, Mapping) or not {"schema", "measurements", "against"} <= data.keys():
        raise BadSpec(f"this is no {_PAGE}: it has no schema, measurements and against", where="$")
    if data["schema"] != PAGE_SCHEMA:
        hint = f"this version reads schema {PAGE_SCHEMA}"
        raise BadSpec(f"{NEWER}: schema {shown(data['schema'])}", where="$.schema", hint=hint)
    listed = data["measurements"]
    if not isinstance(listed, list) or not listed:
        raise BadSpec("a list of measurements belongs here", where="$.measurements", hint=f"this is no {_PAGE}")
    for place, one in enumerate(listed):
        _checked(one, f"$.measurements[{place}]")
    found = record_of(Measured, data, _PAGE)
    for name in ("against", "frames", "floors"):
        for place, one in enumerate(getattr(found, name)):
            if one.place >= len(found.measurements):
                where = f"$.{name}[{place}].place"
                raise BadSpec("there is no measurement of that place", where=where, hint=f"this is no {_PAGE}")
    return found


def _checked(data: object, path: str) -> None:
    try:
        from_plain(data)
    except BadSpec as error:
        raise BadSpec(error.what, where=error.where.replace("$", path, 1), hint=error.hint) from None


def _check(found: Measurement) -> None:
    """Raises ``BadSpec`` where the figures cannot be those of the samples."""
    counted: Summary = found.summary
    if not found.samples_s or counted.samples != len(found.samples_s):
        what = f"says it has {counted.samples:,} samples and has {len(found.samples_s):,}"
        raise BadSpec(what, where="$.summary.samples", hint=f"this is no {_WHAT}")
    for name in ("median_s", "least_s", "most_s"):
        if not min(found.samples_s) <= getattr(counted, name) <= max(found.samples_s):
            raise BadSpec("lies beyond all samples", where=f"$.summary.{name}", hint=f"this is no {_WHAT}")
