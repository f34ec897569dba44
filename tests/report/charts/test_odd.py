"""Reports of any shape are drawn as far as they go, or there is a reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.charts.drawings import drawn
from tests.report.samples import node, report
from tests.report.test_altered import REPORTS, altered
from tests.report.test_map import plans
from weighbridge import BadSpec, Report
from weighbridge.memory.training.records import TrainingLayer, TrainingPlan
from weighbridge.report.charts.drawn import chart, devices_of
from weighbridge.report.charts.kinds import KINDS
from weighbridge.report.charts.layers import MOST, thinned
from weighbridge.report.pictures import picture

NAMES = ("inversion", "activations-weights", "memory", "arena", "peaks", "training")

sizes = st.none() | st.integers(0, 10) | st.sampled_from([2**53 + 1, 2**64, 2**90, 10**400, 10**3000])
names = st.sampled_from(
    [
        "same",
        "",
        "__proto__",
        "toString",
        "a'b\\'c",
        '"',
        "</script>",
        "\u202ex",
        "\ud800",
        "é" * 500,
        "two\nlines",
        "🙂" * 99,
    ]
)


counts = sizes.map(lambda size: size or 0)


@st.composite
def trainings(draw: st.DrawFn) -> TrainingPlan:
    layers = [
        TrainingLayer(draw(names), draw(names), draw(names), *(draw(counts) for _ in range(5)), draw(st.booleans()))
        for _ in range(draw(st.sampled_from([0, 1, 2, 31])))
    ]
    figures = {
        name: draw(counts)
        for name in ("trained_parameters", "optimiser_bytes", "master_bytes", "saved_bytes", "peak_activation_bytes")
    }
    unsure = {name: draw(sizes) for name in ("parameter_bytes", "buffer_bytes", "gradient_bytes", "total_bytes")}
    return TrainingPlan(
        rule=draw(names),
        optimiser=draw(names),
        mixed_precision=draw(st.booleans()),
        peak_node=draw(st.none() | names),
        peak_phase=draw(names),
        exact=draw(st.booleans()),
        layers=tuple(layers),
        **figures,
        **unsure,
    )


@st.composite
def reports(draw: st.DrawFn) -> Report:
    nodes = [
        node(draw(names))._replace(
            parameters=draw(sizes), macs=draw(sizes), output_bytes=draw(sizes), weight_bytes=draw(sizes)
        )
        for _ in range(draw(st.sampled_from([0, 1, 2, 31])))
    ]
    made = report(nodes)
    profile = tuple(draw(sizes) for _ in nodes)
    plan = draw(st.none() | plans)
    changes: dict[str, Any] = {
        "training": draw(st.none() | trainings()),
        "peak_bytes": {"live": draw(sizes), draw(names): draw(sizes)},
        "peak_node": {"live": draw(st.none() | names)},
        "profile": {"live": profile} if draw(st.booleans()) else {},
        "arena": plan,
        "inapplicable": {draw(names): draw(names)},
    }
    return replace(made, memory=made.memory._replace(**changes))


@settings(max_examples=25)
@given(reports(), st.sampled_from(NAMES), st.sampled_from(["live", "pair", "eager"]), st.booleans())
def test_odd_reports(odd: Report, name: str, policy: str, is_comparison: bool) -> None:
    drawn(name, {"one": odd, "two": report([node("n", weights=1, macs=1)])} if is_comparison else odd, policy)


@settings(max_examples=25)
@given(altered(), st.sampled_from(NAMES))
def test_altered_reports(data: dict[str, Any], name: str) -> None:
    try:
        odd = Report.from_dict(data)
    except BadSpec:
        return
    drawn(name, odd)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_zeros(name: str) -> None:
    drawn(name, report([node("a", output=(0,)), node("b", output=(0,))]))


@settings(max_examples=50)
@given(st.integers(1, 3 * MOST), st.randoms(use_true_random=False), st.integers(1, 3))
def test_thinning_keeps_what_is_largest_and_what_is_unknown_in_every_stretch(
    count: int, random: Any, width: int
) -> None:
    columns = [[random.choice([None, *range(20)]) for _ in range(count)] for _ in range(width)]
    kept = random.randrange(count)
    places, note = thinned(columns, (kept,))
    assert places == sorted(set(places))
    assert kept in places
    assert (note is None) == (len(places) == count) == (count <= MOST)
    stretch = -(-count // 500) if count > MOST else 1
    for column in columns:
        for start in range(0, count, stretch):
            whole = column[start : start + stretch]
            shown = [column[place] for place in places if start <= place < start + stretch]
            assert (None in shown) == (None in whole)
            assert max((size for size in shown if size is not None), default=None) == max(
                (size for size in whole if size is not None), default=None
            )


TRIPPING = {"an object's": "toString", "two units": "🙂" * 99, "at an end": f"{'x' * 119} constructor"}
"""What every object in JavaScript has, which Vega takes for a signal or a group of its own; characters of two units, which it cuts
in half; and one of the first, alone in the second line of a title.
"""


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("trip", TRIPPING.values(), ids=TRIPPING)
def test_names_that_vega_trips_over(name: str, trip: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Everything that a report names is called so, and is drawn without a word from Vega, in a title of the picture and of a panel."""
    odd = Report.from_dict(named(REPORTS[0], trip))
    device = next(iter(devices_of({"": odd}))) if KINDS[name].of_device else None
    made = chart(name, {trip: odd, "again": odd}, "live", device)
    assert made.spec is not None
    assert picture(made, "svg", [trip])
    assert capfd.readouterr().err == ""


def named(data: Any, name: str) -> Any:
    """``data`` with ``name`` in the place of every text, and a policy and a part of a device that are called so."""
    if isinstance(data, dict):
        found = {key: named(value, name) for key, value in data.items()}
        for key in found.keys() & {"peak_bytes", "peak_node", "profile", "by"}:
            if isinstance(found[key], dict) and found[key]:
                found[key] |= {name: next(iter(found[key].values()))}
        return found
    if isinstance(data, list):
        return [named(item, name) for item in data]
    return name if isinstance(data, str) else data
