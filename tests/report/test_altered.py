"""A saved report that somebody altered is refused with its path, or is a report that every format can show."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weighbridge
from tests.report.samples import alexnet, node, on_device, report
from weighbridge import BadSpec, Report
from weighbridge.report import csv, html, markdown
from weighbridge.report.terminal import Look, text
from weighbridge.report.triangle import triangle
from weighbridge.report.view import node_table, page

REPORTS = (
    weighbridge.weigh(
        "lenet5",
        on=["toy", "stm32f746"],
        energy="45nm",
        fps=30,
        batches=[2, 4],
        battery="1Ah@1V",
        convention="fvcore",
        train={"optimiser": "adam", "mixed_precision": True, "freeze": ["first"]},
    ).to_dict(),
    report([*alexnet(), node("odd", operator="unknown", macs=None)], on=(on_device(),)).to_dict(),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**70, 10**400, -(10**400), 10**4000, 10**5000, 1.5, -1.5, 1e308, 1e-320, 0.0, -0.0),
    *(float("inf"), float("-inf"), float("nan"), "", "x", "\x00\u202e\x1b[31m", "\ud800", "é" * 300, "fits", "live"),
    *([], [1], {}, {"a": 1}, [[]], [None], {"": None}),
)


def paths(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside ``data``."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield (*at, key)
        yield from paths(value, (*at, key))


PATHS = tuple(tuple(paths(data)) for data in REPORTS)


def value_at(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


@st.composite
def altered(draw: st.DrawFn) -> dict[str, Any]:
    """A report with a few values changed, taken out, or put in the place of others."""
    which = draw(st.integers(0, len(REPORTS) - 1))
    data, ways = copy.deepcopy(REPORTS[which]), PATHS[which]
    for _ in range(draw(st.integers(1, 3))):
        *parents, last = ways[draw(st.integers(0, len(ways) - 1))]
        how = draw(st.sampled_from(["value", "value", "part", "none"]))
        try:
            target = value_at(data, tuple(parents))
            if how == "none":
                del target[last]
            elif how == "value":
                target[last] = draw(st.sampled_from(VALUES))
            else:
                target[last] = copy.deepcopy(value_at(REPORTS[which], ways[draw(st.integers(0, len(ways) - 1))]))
        except (LookupError, TypeError):  # an alteration before took the place away
            continue
    return data


@settings(max_examples=400)
@given(data=altered())
def test_an_altered_report_is_refused_or_shown(data: dict[str, Any]) -> None:
    try:
        loaded = Report.from_dict(data)
    except BadSpec as error:
        assert error.where.startswith("$")
        assert str(error).isprintable()
        return
    assert len(repr(loaded)) > 0
    shown = page(loaded, all_rows=True, with_map=True)
    for look in (Look(60, unicode=False), Look(120)):
        assert text(shown, look)
    assert text(page(loaded), Look(80))
    assert markdown.render(shown)
    assert html.render(shown)
    assert csv.render(node_table(loaded)).count("\r\n") >= len(loaded.nodes) + 1
    assert Report.from_json(loaded.to_json()) == loaded


def test_a_batch_that_no_float_holds_has_no_rate() -> None:
    data = copy.deepcopy(REPORTS[0])
    for on in data["on"]:
        on["conditions"]["batch"] = 10**400
    devices = page(Report.from_dict(data)).devices
    assert devices is not None
    place = [column.title for column in devices.columns].index("per s at most")
    assert {row.cells[place] for row in devices.rows} == {"?"}


HOSTILE = "a\x1b[31m\u202eb\x07\u2028\ud800" + "x" * 10_000


def test_no_text_of_a_report_reaches_a_screen_as_it_is() -> None:
    """Not even a word of which this version has only a few, as a verdict or an operator."""
    data = copy.deepcopy(REPORTS[0])
    for path in PATHS[0]:
        if isinstance(value_at(data, path), str):
            value_at(data, path[:-1])[path[-1]] = HOSTILE
    loaded = Report.from_dict(data)
    shown = page(loaded, all_rows=True, with_map=True)
    pages = [text(shown, Look(120)), text(page(loaded), Look(60)), markdown.render(shown), html.render(shown)]
    pages += [csv.render(node_table(loaded)), repr(loaded)]
    pages += [
        f"{row.label} {figure}"
        for corner in triangle([loaded], "live")
        for row in corner.rows
        for figure in row.figures
    ]
    for one in pages:
        assert all(line.isprintable() for line in re.split("\r?\n", one))
        assert "x" * 600 not in one


NUMBERS = [path for path in PATHS[0] if type(value_at(REPORTS[0], path)) in (int, float) and path != ("schema",)]


@pytest.mark.parametrize(
    "value",
    [-1, -1.5, float("inf"), float("nan"), 10**5000, True],
    ids=lambda value: f"{value}"[:6] if value != 10**5000 else "large",
)
def test_no_number_is_negative_infinite_or_none(value: Any) -> None:
    """Every number of a report counts or measures something."""
    assert len(NUMBERS) > 300
    for path in NUMBERS:
        data = copy.deepcopy(REPORTS[0])
        value_at(data, path[:-1])[path[-1]] = value
        with pytest.raises(BadSpec) as caught:
            Report.from_dict(data)
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        assert caught.value.where == f"${steps}"


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity", "-Infinity", "-30.0", "1" * 5000])
def test_nor_in_text(number: str) -> None:
    saved = json.dumps(REPORTS[0])
    assert '"fps": 30.0' in saved
    with pytest.raises(BadSpec):
        Report.from_json(saved.replace('"fps": 30.0', f'"fps": {number}'))


@pytest.mark.parametrize("wrong", [None, 5, 1.5, [], {}, b"x", b"\xff", "\ud800", True])
def test_what_is_no_text_at_all(wrong: Any) -> None:
    with pytest.raises(BadSpec, match="this is no saved report"):
        Report.from_json(wrong)
