"""Makes docs/json.md from the records that the report's JSON is made of."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from fractions import Fraction
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from weighbridge import estimates
from weighbridge.budgets.record import Blame, Budget, Result, Unchecked
from weighbridge.calibration.left_out import Errors
from weighbridge.calibration.rates import Residual
from weighbridge.compression import Compression
from weighbridge.measure import conditions as measured_conditions
from weighbridge.measure.micro.record import Bandwidth, Rate
from weighbridge.measure.noise import Load
from weighbridge.measure.record import EnergyRead, Measurement, Profile, ProfiledClass
from weighbridge.measure.summary import Interval, Summary
from weighbridge.published import Conditions, Published
from weighbridge.report import comparison
from weighbridge.report.calibrated import ClassTimes, RuntimeFit
from weighbridge.report.fronts import Beaten, Front, Unplaced
from weighbridge.report.layers import LayerChange, LayerFigures
from weighbridge.report.matching import Differences
from weighbridge.report.measured import Against, ClassFloor, Curve, CurvePoint, FloorBeside, FramesMissed
from weighbridge.report.measured_history import ModelHistory, Point, Series
from weighbridge.report.measured_records import Fault
from weighbridge.report.missed import Deadlines, Missed
from weighbridge.report.predicted import Distribution, LeftAside, NetworkTime
from weighbridge.report.record import Report
from weighbridge.report.what_if import Metric

__all__ = ["page"]

HEAD = """\
# The report as JSON

`weighbridge weigh SOURCE --json -` prints one object, and nothing else on standard output. In Python the same names are
attributes. `Report.from_json` reads the text back, and [`weighbridge report`](commands/report.md) shows what it saves. Keys are
added over time, never renamed or removed; `schema` would say so. No object has a key twice. Unknown is `null`, and `notes` say
why; it is never 0. There is no NaN and no infinity, and whole numbers are exact, however large. `facts.conventions` has the
figures by other conventions than ours that were asked for (`--convention fvcore`),
by name, and is `{ }` without one.

This page is made from the records themselves. `[ ]` marks lists, `{ }` objects whose keys are names such as those of the
peak's policies.
"""
WORDS = {int: "whole number", float: "number", Fraction: "number", str: "text", bool: "true or false", NoneType: "null"}
COMPARISON = """\
## The comparison of `weighbridge what-if`

`weighbridge what-if SOURCE CHANGE… --json -` prints another object, with two whole reports in it. `WhatIf.from_json` reads it back. The
same holds for its keys and values.

| key | value |
|---|---|
| `schema`, `tool` | as in a report |
| `source` | what was weighed, as it was written; "" of an object in Python |
| `changes` | [ text ], as they were written |
| `before`, `after` | reports, as above |
| `metrics` | [ object ], every figure of the two |
| `layers` | [ object ], those that differ, in the order in which they run |
| `steps` | [ { `changes`, `report` } ] with `--steps`, else empty |
| `notes` | [ text ]: what a change left as it was, and why |
"""
SIDE_BY_SIDE = """\
## The comparison of `weighbridge compare`

`weighbridge compare MODEL MODEL… --json -` prints another object, with a whole report of each model that is weighed in it.
`Comparison.from_json` reads it back. The same holds for its keys and values.

| key | value |
|---|---|
| `schema`, `tool` | as in a report |
| `models` | [ object ], the first being what the others are compared with |
| `metrics` | [ object ], every figure of every model |
| `differences` | [ object ]: for each later model that is weighed, its layers against those of the first that is |
| `fronts` | [ object ]: which models no other beats |
| `deadline` | object, where a frame rate was asked for, else null |
| `notes` | [ text ]: where published figures are from, and what else is to be known of them |
"""
CHECK = """\
## The check of `weighbridge check`

`weighbridge check --json -` prints another object; `weighbridge.check().to_dict()` is the same in Python. The same holds for its keys
and values. The reports are left out, as `weighbridge weigh` writes them.

| key | value |
|---|---|
| `schema`, `tool` | as in a report |
| `exit_code` | whole number: 0 all pass, 1 over budget, 2 something was not checked, 3 not exact |
| `models` | [ object ], those that could be weighed |
| `unchecked` | [ object ], what nothing is known of |

### `models[ ]` of a check

| key | value |
|---|---|
| `name` | text, as in the file of budgets |
| `source` | text, as it is written there |
| `results` | [ object ], one for each budget that could be checked |
| `differences` | object, how the layers differ from those of the baseline, or null where it does not have the model |
"""
COMPRESSION = """\
# A compression

`weighbridge compress SOURCE --json -` prints another object; `weighbridge.compress(SOURCE).to_dict()` is the same in Python. The same
holds for its keys and values. Sizes from given ratios may have a part of a bit. [Compressed size](compressed-size.md) says what is
counted.
"""
MEASURED = """\
## What `weighbridge measure` says

`weighbridge measure SOURCE… --json -` prints another object; `weighbridge.measured(SOURCE).to_dict()` is the same in Python, and
`Measured.from_json` reads it back. A record of `--record` is one of its `measurements`, on a line of its own or in a file of its own.
The same holds for its keys and values.
[Measuring](measuring.md) says what they mean.

| key | value |
|---|---|
| `schema`, `tool` | as in a report |
| `measurements` | [ object ], in the order of the sources, or of the batches of one source |
| `against` | [ object ]: each later source against the first one |
| `curve` | object, where several batches were measured, else null |
| `frames` | [ object ]: a measurement each, where a frame rate was asked for |
| `floors` | [ object ]: a measurement and a device each |
| `notes` | [ text ] |
"""
HISTORY = """\
## The history of `weighbridge history`

`weighbridge history PLACE --json -` prints another object; `weighbridge.history(PLACE).to_dict()` is the same in Python.

| key | value |
|---|---|
| `schema`, `tool` | as in a report |
| `place` | text, what was read |
| `models` | [ object ], each by its name and its source |
| `faults` | [ object ], records that could not be read |
"""
CALIBRATED = """\
## The calibration of `weighbridge calibrate`

`weighbridge calibrate --json -` prints another object; `weighbridge.calibrated().to_dict()` is the same in Python. The device file, which
`-o this-machine.toml` writes, has what devices have.

| key | value |
|---|---|
| `schema`, `tool` | as in a report |
| `taken_at` | text, when it was begun, in UTC |
| `device` | text, the name of the device |
| `hardware` | object, as in a measurement |
| `threads` | whole number |
| `rates` | [ object ]: operations a second that products of matrices reached, by precision |
| `bandwidths` | [ object ]: bytes a second that were moved, by working set |
| `runtimes` | [ object ]: what was fitted to each runtime |
| `networks` | [ object ]: what was measured beside what is expected |
| `errors` | [ object ]: how far expected times are off |
| `aside` | [ object ]: what was left out |
| `notes` | [ text ] |
"""
VALIDATED = """\
## The validation of `weighbridge validate`

`weighbridge validate RECORDS --on DEVICE --json -` prints another object; in Python it is
`weighbridge.validated(RECORDS, on=DEVICE).to_dict()`.

| key | value |
|---|---|
| `schema`, `tool` | as in a report |
| `device`, `title` | text: the name of the device, and its full name |
| `networks`, `errors`, `aside`, `notes` | as in a calibration |
"""
OF_CALIBRATED: Mapping[str, type] = {
    "`rates[ ]`": Rate,
    "`bandwidths[ ]`": Bandwidth,
    "`runtimes[ ]`": RuntimeFit,
    "`runtimes[ ].classes[ ]`": ClassTimes,
    "`runtimes[ ].operators[ ]`": Residual,
    "`networks[ ]`": NetworkTime,
    "`errors[ ]`": Distribution,
    "`errors[ ].errors`": Errors,
    "`aside[ ]`": LeftAside,
}
OF_MEASURED: Mapping[str, type] = {
    "`measurements[ ]`": Measurement,
    "`measurements[ ].conditions`": measured_conditions.Conditions,
    "`measurements[ ].conditions.hardware`": measured_conditions.Hardware,
    "`measurements[ ].conditions.hardware.accelerator`": measured_conditions.Accelerator,
    "`measurements[ ].conditions.inputs[ ]`": measured_conditions.InputShape,
    "`measurements[ ].summary`": Summary,
    "`measurements[ ].summary.median_interval`": Interval,
    "`measurements[ ].load`, `measurements[ ].round_loads[ ]`": Load,
    "`measurements[ ].energy`": EnergyRead,
    "`measurements[ ].profile`": Profile,
    "`measurements[ ].profile.classes[ ]`": ProfiledClass,
    "`against[ ]`": Against,
    "`against[ ].differences[ ]`": measured_conditions.Difference,
    "`curve`": Curve,
    "`curve.points[ ]`": CurvePoint,
    "`frames[ ]`": FramesMissed,
    "`floors[ ]`": FloorBeside,
    "`floors[ ].classes[ ]`": ClassFloor,
}
OF_HISTORY: Mapping[str, type] = {
    "`models[ ]` of a history": ModelHistory,
    "`models[ ].series[ ]`": Series,
    "`models[ ].series[ ].points[ ]`": Point,
    "`faults[ ]`": Fault,
}
COMPARED = {"`metrics[ ]`": Metric, "`layers[ ]`": LayerChange, "`layers[ ].before`, `layers[ ].after`": LayerFigures}
OF_MODELS = {
    "`models[ ]`": comparison.Model,
    "`models[ ].published`": Published,
    "`models[ ].published.conditions`": Conditions,
    "`metrics[ ]` of models": comparison.Metric,
    "`differences[ ]`": comparison.Difference,
    "`fronts[ ]`": Front,
    "`fronts[ ].beaten[ ]`": Beaten,
    "`fronts[ ].unplaced[ ]`": Unplaced,
    "`deadline`": Deadlines,
    "`deadline.by[ ]`": Missed,
}
OF_A_CHECK = {
    "`models[ ].results[ ]`": Result,
    "`models[ ].results[ ].budget`": Budget,
    "`models[ ].results[ ].blame[ ]`": Blame,
    "`models[ ].differences`": Differences,
    "`unchecked[ ]`": Unchecked,
}
FIRST = ("schema", "tool", "network", "facts", "memory", "nodes", "on", "energy", "notes")


def page() -> str:
    """The page as Markdown."""
    records: dict[type, list[str]] = {}
    collect(Report, "", records)
    parts = [HEAD]
    for record, paths in records.items():
        title = ", ".join(f"`{path}`" for path in dict.fromkeys(paths)) if paths != [""] else "The whole"
        parts += [f"## {title}\n", described(record), table(record)]
    parts.append(COMPARISON)
    parts += of_records(COMPARED)
    parts += [SIDE_BY_SIDE, *of_records(OF_MODELS)]
    parts += [CHECK, *of_records(OF_A_CHECK)]
    parts += [MEASURED, *of_records(OF_MEASURED), HISTORY, *of_records(OF_HISTORY)]
    parts += [CALIBRATED, *of_records(OF_CALIBRATED), VALIDATED]
    return "\n".join([*parts, *of_a_compression()])


def of_records(records: Mapping[str, type]) -> list[str]:
    """Each record under its title."""
    return [part for title, record in records.items() for part in (f"### {title}\n", described(record), table(record))]


def of_a_compression() -> list[str]:
    """The records of ``weighbridge compress``."""
    records: dict[type, list[str]] = {}
    collect(Compression, "", records)
    parts = [COMPRESSION]
    for record, paths in records.items():
        if record is not Compression:
            parts.append("## Of a compression: " + ", ".join(f"`{path}`" for path in dict.fromkeys(paths)) + "\n")
        parts += [described(record), table(record)]
    return parts


def fields(record: type) -> dict[str, Any]:
    """The names and types of a record as the JSON has them: the nodes stand beside the facts, notes at the end."""
    hints = get_type_hints(record, localns={**vars(estimates), **vars(sys.modules[record.__module__])})
    names = list(getattr(record, "_fields", None) or record.__dataclass_fields__)  # type: ignore[attr-defined]
    if record is Report:
        facts = get_type_hints(hints["facts"])
        return {name: hints.get(name, facts.get(name)) for name in FIRST}
    left_out = {"NetworkFacts": {"nodes", "notes"}, "MemoryPlan": {"notes"}}.get(record.__name__, set())
    return {name: hints[name] for name in names if name not in left_out}


def collect(record: type, path: str, records: dict[type, list[str]]) -> None:
    """Every record that can be reached, with the paths it is found at."""
    known = record in records
    records.setdefault(record, []).append(path)
    if known:
        return
    for name, hint in fields(record).items():
        for inner, suffix in inner_records(hint):
            collect(inner, f"{path}.{name}{suffix}".lstrip("."), records)


def inner_records(hint: Any) -> list[tuple[type, str]]:
    if hasattr(hint, "_fields"):
        return [(hint, "")]
    suffix = {tuple: "[ ]", Mapping: "{ }"}.get(get_origin(hint), "")
    return [(record, suffix + rest) for argument in get_args(hint) for record, rest in inner_records(argument)]


def table(record: type) -> str:
    rows = [f"| `{name}` | {shown(hint)} |" for name, hint in fields(record).items()]
    return "\n".join(["| key | value |", "|---|---|", *rows, ""])


def shown(hint: Any) -> str:
    """A type in words."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        wider = float in arguments or Fraction in arguments
        inner = [shown(argument) for argument in arguments if argument is not int or not wider]
        return " or ".join(sorted(dict.fromkeys(inner), key=lambda text: text == "null"))
    if origin is tuple:
        return f"[ {', '.join(shown(argument) for argument in arguments if argument is not Ellipsis)} ]"
    if arguments:
        return f"{{ {shown(arguments[-1])} }}"
    return WORDS.get(hint) or "object"


def described(record: type) -> str:
    """The record's docstring as Markdown."""
    text = inspect.cleandoc(record.__doc__ or "")
    text = re.sub(r"(``)?\bNone\b(``)?", "`null`", re.sub(r"\bFalse\b", "false", text))
    return re.sub(r"``([^`]+)``", r"`\1`", text) + "\n"


if __name__ == "__main__":
    print(page())
