"""Charts of devices made by hand: odd figures, hostile names, long networks."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.report.charts.devices import (
    MICROCONTROLLER,
    NAMES,
    ROOFLINE,
    point,
    rows,
    time,
    with_points,
    with_times,
)
from tests.report.charts.drawings import drawn, svg, views
from tests.report.samples import large, node, on_device, report
from weighbridge.estimates import Roof, Roofline, RoofPoint, Throughput
from weighbridge.report.charts.drawn import devices_of
from weighbridge.report.charts.layers import MOST
from weighbridge.report.record import OnDevice


def test_each_verdict_has_a_shape() -> None:
    made = drawn(
        "throughput",
        with_points(point(1, 5.0), point(8, 6.0, "unknown"), point(32, 7.0, "does not fit"), point(64, 7.5, "odd")),
        device=MICROCONTROLLER,
    )
    assert [row["verdict"] for row in rows(made, "throughput")] == [
        "batch fits",
        "unknown whether it fits",
        "batch does not fit",
        "unknown whether it fits",
    ]
    (marks,) = [view for view in views(made.spec or {}) if view["mark"]["type"] == "point"]
    assert len(set(marks["encoding"]["shape"]["scale"]["range"])) == 3
    assert made.description.endswith("batch 32 does not fit; batches 8, 64 may not fit")
    assert "the sum over the layers is not known at 4 of 4 batches" in made.notes


@pytest.mark.parametrize("batch", [0, 2**60, 2**2000, 10**3000])
def test_batches_of_any_size(batch: int) -> None:
    made = drawn("throughput", with_points(point(1, 5.0), point(4, 6.0), point(batch, 7.0)), device=MICROCONTROLLER)
    is_drawn = batch == 2**60
    assert [row["batch"] for row in rows(made, "throughput")] == [1, 4, *([float(batch)] if is_drawn else [])]
    left_out = "not drawn: 1 batch size that a logarithmic axis has no place for"
    assert (left_out in made.notes) != is_drawn


ODD = (0.0, 1e-320, 1e308, math.inf, math.nan, None)
FIELDS = ("time_s", "intensity_ops_per_byte", "attained_ops_per_s", "compute_s", "memory_s")


def test_layers_of_odd_figures_are_drawn_or_counted() -> None:
    odd = [time(f"{field} {value}", **{field: value}) for field in FIELDS for value in ODD]
    weighed = with_times(time("plain"), *odd)
    made = drawn("roofline", weighed, device=MICROCONTROLLER)
    dots = {row["name"] for row in rows(made, "roofline_layers")}
    left_out = {f"{field} {value}" for field in FIELDS[1:3] for value in ODD if value not in (1e-320, 1e308)}
    assert dots == {one.name for one in weighed.nodes} - left_out
    assert f"not drawn: {len(left_out)} layers of unknown MACs, bytes or time" in made.notes
    made = drawn("latency", weighed, device=MICROCONTROLLER)
    without = {row["name"] for row in rows(made, "latency") if row["time_s"] is None}
    assert without == {f"time_s {value}" for value in (math.inf, math.nan, None)}


@pytest.mark.parametrize(
    "roofline",
    [
        Roofline((), None, ()),
        Roofline(("DRAM",), 0, (Roof("int8", "core", 10**400, None, ()),)),
        Roofline(("a", "b"), 10**400, (Roof("", "", 0, 0.0, (RoofPoint(0.0, math.inf), RoofPoint(1.0, 1.0))),)),
        Roofline(("a", "b"), 10**400, (Roof("x", "y", 1, math.nan, (RoofPoint(math.nan, 1.0),) * 9),) * 2),
    ],
    ids=["none", "large", "zero", "many"],
)
def test_odd_roofs_are_drawn_as_far_as_they_go(roofline: Roofline) -> None:
    weighed = with_times(time("plain"), roofline=roofline)
    assert len(rows(drawn("roofline", weighed, device=MICROCONTROLLER), "roofline_layers")) == 1


def test_many_roofs_are_drawn_in_part() -> None:
    (roof,) = ROOFLINE.roofs
    many = ROOFLINE._replace(roofs=tuple(roof._replace(precision=f"p{place}") for place in range(40)))
    made = drawn("roofline", with_times(time("a"), roofline=many), device=MICROCONTROLLER)
    assert {row["roof"] for row in rows(made, "roofline_roofs")} == {f"roof at p{place}, core" for place in range(12)}
    assert "drawn are the first 12 of 40 roofs" in made.notes
    assert "p12" not in made.description


def test_lower_bounds_are_said() -> None:
    weighed = with_times(time("plain"), time("loop", exact=False))
    assert (
        "1 layer drawn where the part lies that is counted" in drawn("roofline", weighed, device=MICROCONTROLLER).notes
    )
    (on,) = weighed.on
    for exact in (True, False):
        latency = on.latency._replace(exact=exact, intensity_ops_per_byte=3.0, attainable_ops_per_s=1e6)
        made = drawn("roofline", replace(weighed, on=(on._replace(latency=latency),)), device=MICROCONTROLLER)
        assert ("the whole network is drawn where the part of it lies that is counted" in made.notes) != exact
    made = drawn("latency", weighed, device=MICROCONTROLLER)
    assert "the time of 1 layer is a lower bound, as a count behind it is one" in made.notes
    assert [row["time"] for row in rows(made, "latency")] == ["2.000 ms", ">= 2.000 ms"]


def test_a_long_network_has_as_many_marks_as_are_seen() -> None:
    count = 20_000
    times = [time(f"n{place}", time_s=1e-3 + place % 977 * 1e-6) for place in range(count)]
    times[12_345] = time("slow", time_s=1.0, attained_ops_per_s=2e6)
    weighed = replace(large(count), on=(on_device()._replace(nodes=tuple(times), roofline=ROOFLINE),))
    dots = drawn("roofline", weighed, device=MICROCONTROLLER)
    bars = drawn("latency", weighed, device=MICROCONTROLLER)
    for made, name in ((dots, "roofline_layers"), (bars, "latency")):
        found = rows(made, name)
        assert len(found) <= 2 * MOST
        assert 12_346 in {row["layer"] for row in found}
        assert any("20,000 layers" in note for note in made.notes)


HOSTILE = "</script><img src=x onerror=alert(1)>\"'`${1}{{7*7}}\u202e\n\x1b[31m" + "é" * 10_000


def test_hostile_names_are_drawn_as_text() -> None:
    on = on_device()
    conditions = on.conditions._replace(hardware=HOSTILE, precision=HOSTILE)
    roofline = ROOFLINE._replace(memories=(HOSTILE, HOSTILE), roofs=(ROOFLINE.roofs[0]._replace(unit=HOSTILE),) * 2)
    odd = OnDevice(
        HOSTILE,
        conditions,
        on.fit,
        on.latency,
        (time(HOSTILE, bound=HOSTILE, precision=HOSTILE),),
        Throughput((point(1, 1.0, HOSTILE), point(2, 1.0, HOSTILE))),
        roofline=roofline,
    )
    weighed = report([node(HOSTILE, operator=HOSTILE, macs=3)], on=(odd,))
    (device,) = devices_of({"sample": weighed})
    for name in NAMES:
        made = drawn(name, weighed, device=device)
        assert made.spec is not None
        assert "<img" not in svg(made)
        for text in (made.description, *made.notes):
            assert text.isprintable()
            assert len(text) < 3000


def test_two_devices_of_one_name_have_data_of_their_own() -> None:
    first, second = (with_times(time("a", time_s=at)).on[0] for at in (1e-3, 5e-3))
    weighed = report([node("a", macs=5)], on=(first, second))
    names = [set(drawn("latency", weighed, device=name).datasets) for name in ("stm32f746", "stm32f746 (2)")]
    assert names == [{"latency_0_0"}, {"latency_0_1"}]
