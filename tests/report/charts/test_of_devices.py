"""Charts of a device show the figures of the report: layers under the roofs, their times, throughput by batch."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from tests.report.charts.drawings import drawn, svg, titles_of_axes, views
from tests.report.samples import alexnet, large, node, on_device, report
from weighbridge import Report, weigh
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.estimates import BatchPoint, NodeTime, Roof, Roofline, RoofPoint, Throughput
from weighbridge.graph import UNKNOWN, TensorType
from weighbridge.report.charts.layers import MOST
from weighbridge.report.charts.panel import Chart
from weighbridge.report.record import OnDevice

NAMES = ("roofline", "latency", "throughput")
MICROCONTROLLER, BOARD, SERVER, TWO_MEMORIES = "stm32f746", "jetson-agx-orin", "a100", "stm32-f746g-disco"
DEVICES = (MICROCONTROLLER, BOARD, SERVER, TWO_MEMORIES)


@cache
def real(network: str) -> Report:
    return weigh(network, precision="int8", on=list(DEVICES), batches=[1, 2, 16])


@cache
def of(name: str, network: str, device: str) -> Chart:
    return drawn(name, real(network), device=device)


def entry(weighed: Report, device: str) -> dict[str, Any]:
    """What the JSON says of a device."""
    data: Any = weighed.to_dict()
    (found,) = [on for on in data["on"] if on["device"] == device]
    return dict(found)


def rows(made: Chart, name: str) -> tuple[Any, ...]:
    (found,) = [data for key, data in made.datasets.items() if key.startswith(name)]
    return found


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("network", ["mobilenet_v2", "resnet50"])
class TestFiguresOfTheReport:
    def test_a_dot_for_every_layer_that_computes(self, network: str, device: str) -> None:
        weighed = real(network)
        made, on = of("roofline", network, device), entry(weighed, device)
        dots = {row["layer"] - 1: row for row in rows(made, "roofline_layers")}
        assert set(dots) == {place for place, layer in enumerate(weighed.nodes) if layer.macs}
        for place, row in dots.items():
            time = on["nodes"][place]
            assert (row["key"], row["name"]) == (f"0:{place}", time["name"])
            assert (row["intensity"], row["rate"]) == (time["intensity_ops_per_byte"], time["attained_ops_per_s"])
            assert row["mark"] == f"layer, bound {'not known' if time['bound'] is None else 'by ' + time['bound']}"
            assert row["precision"] == "int8"
        without = len(weighed.nodes) - len(dots)
        assert f"not drawn: {without} layers without MACs, which a logarithmic axis has no place for" in made.notes

    def test_the_roofs_lead_through_the_corners(self, network: str, device: str) -> None:
        weighed = real(network)
        made, on = of("roofline", network, device), entry(weighed, device)
        (roof,) = on["roofline"]["roofs"]
        found = [(row["intensity"], row["rate"]) for row in rows(made, "roofline_roofs")]
        assert found == [(point["intensity_ops_per_byte"], point["ops_per_s"]) for point in roof["points"]]
        points = {row["mark"]: (row["intensity"], row["rate"]) for row in rows(made, "roofline_points")}
        latency = on["latency"]
        whole = (latency["intensity_ops_per_byte"], latency["attainable_ops_per_s"])
        ridge = {} if device == MICROCONTROLLER else {"ridge point": found[1]}
        assert points == {"whole network, at its floor": whole, **ridge}

    def test_a_bar_for_every_layer_as_high_as_its_time(self, network: str, device: str) -> None:
        weighed = real(network)
        made, on = of("latency", network, device), entry(weighed, device)
        bars = rows(made, "latency")
        assert [row["key"] for row in bars] == [f"0:{place}" for place in range(len(weighed.nodes))]
        assert [row["time_s"] for row in bars] == [time["time_s"] for time in on["nodes"]]
        assert math.isclose(sum(row["time_s"] or 0 for row in bars), on["latency"]["layerwise_s"])
        bounds = [None if row["bound"] == "bound not known" else row["bound"].split()[-1] for row in bars]
        assert bounds == [time["bound"] for time in on["nodes"]]

    def test_two_points_for_every_batch(self, network: str, device: str) -> None:
        weighed = real(network)
        made, on = of("throughput", network, device), entry(weighed, device)
        points = {(row["batch"], row["line"]): row for row in rows(made, "throughput")}
        by_batch = on["throughput"]["by_batch"]
        assert [batch for batch, _ in points][::2] == [point["batch"] for point in by_batch] == [1, 2, 16]
        for point in by_batch:
            floor, layers = points[point["batch"], "floor: at most"], points[point["batch"], "layer by layer"]
            assert (floor["per_s"], layers["per_s"]) == (point["per_s"], point["layerwise_per_s"])
            assert floor["verdict"] == layers["verdict"] == f"batch {point['verdict']}"


def test_axes_say_what_they_measure() -> None:
    titles = {name: set(titles_of_axes(of(name, "mobilenet_v2", SERVER))) for name in NAMES}
    assert titles == {
        "roofline": {"operational intensity (operations/byte)", "rate (operations/s)"},
        "latency": {"layer, in the order in which they run", "time (s)"},
        "throughput": {"batch (inputs)", "inferences/s"},
    }


def test_both_axes_of_the_roofline_are_logarithmic() -> None:
    made = of("roofline", "mobilenet_v2", SERVER)
    assert {view["encoding"][place]["scale"]["type"] for view in views(made.spec or {}) for place in ("x", "y")} == {
        "log"
    }
    labels = labels_of(made)
    assert {"1", "10", "100", "1,000", "2 T", "5 T", "100 T", "500 T"} <= labels
    assert not {"3", "30", "3 T"} & labels


def labels_of(made: Chart) -> set[str]:
    return {part.partition("<")[0] for part in svg(made).split(">") if part.endswith("</text")}


def test_labels_have_prefix_and_unit() -> None:
    assert {"0 s", "200 ns", "600 ns"} <= labels_of(of("latency", "mobilenet_v2", SERVER))
    assert {"0 s", "10 ms", "40 ms"} <= labels_of(of("latency", "mobilenet_v2", TWO_MEMORIES))
    assert {"1", "2", "16", "200 k", "1 M"} <= labels_of(of("throughput", "mobilenet_v2", SERVER))
    assert {"0.5", "1"} <= labels_of(of("throughput", "mobilenet_v2", MICROCONTROLLER))


def test_the_conditions_and_the_sums_stand_over_a_chart() -> None:
    titles = {
        name: of(name, "mobilenet_v2", TWO_MEMORIES).spec["title"]  # type: ignore[index]
        for name in NAMES
    }
    hardware = "STM32F746G-DISCO with its external flash and SDRAM, int8"
    assert [titles[name]["text"] for name in NAMES] == [f"{hardware}, batch 1", f"{hardware}, batch 1", hardware]
    assert titles["latency"]["subtitle"] == ["layer by layer 733.3 ms, floor 696.2 ms"]
    assert titles["roofline"]["subtitle"] == [
        "flat roof 864.0 M operations/s at int8, ridge at 3.429 operations/byte",
        "slanted roof 252.0 MB/s of external flash and SDRAM",
        "whole network 162.9 operations/byte, at most 864.0 M operations/s, bound by compute",
    ]
    assert titles["throughput"]["subtitle"] == [
        "floor at most 1.436 inferences/s, at batch 1",
        "layer by layer at most 1.427 inferences/s, at batch 16",
    ]


def test_a_description_has_the_extremes() -> None:
    said = of("latency", "mobilenet_v2", TWO_MEMORIES).description
    assert said.startswith("slowest: last.conv with 46.45 ms, bound by compute; 48 layers bound by compute, 16 layers ")
    said = of("roofline", "mobilenet_v2", SERVER).description
    assert "slowest layer fc with 4.058 T operations/s" in said
    said = of("throughput", "mobilenet_v2", TWO_MEMORIES).description
    assert said.endswith("batch 16 does not fit")


def test_which_bandwidth_the_roof_is_and_what_is_not_known_of_it() -> None:
    doubt = "rests on a figure of the device that is not verified; `weighbridge devices show NAME` says which"
    at_once = (
        "the slanted roof is that of external flash and SDRAM working at once; a layer below it waits for one of them, "
        "and the network's own ridge lies further right"
    )
    notes = {device: of("roofline", "resnet50", device).notes[1:] for device in DEVICES}
    assert notes == {
        MICROCONTROLLER: ("there is no slanted roof, as not every bandwidth of flash and SRAM is known", doubt),
        BOARD: (doubt,),
        SERVER: (),
        TWO_MEMORIES: (at_once, doubt),
    }


def mixed() -> Report:
    """An int8 layer, one that nobody can count, a float32 one."""
    builder = Builder("mixed")
    x = builder.input("x", (1, 64), DTYPES["int8"])
    w = builder.stored("w", (64, 64), DTYPES["int8"])
    (x,) = builder.add("linear", [("x", x), ("w", w)], name="small")
    (x,) = builder.add("cast", [("x", x)], {"dtype": "float32"}, name="cast")
    (x,) = builder.opaque(UNKNOWN, [("x", x)], [TensorType((1, 64), DTYPES["float32"])], name="odd", origin="my.Op")
    v = builder.stored("v", (100, 64), DTYPES["float32"])
    (x,) = builder.add("linear", [("x", x), ("w", v)], name="head")
    return weigh(builder.graph([x]), on="toy")


def test_each_precision_has_a_roof() -> None:
    made = drawn("roofline", mixed(), device="toy")
    roofs = {row["roof"]: row["rate"] for row in rows(made, "roofline_roofs")}
    assert roofs == {"roof at int8, core": 4e9, "roof at float32, core": 1e9}
    assert [row["mark"] for row in rows(made, "roofline_points")][1:] == ["ridge point"] * 2
    assert "layers compute at several precisions, and each has a flat roof of its own" in made.notes
    assert {"roof at int8, core", "roof at float32, core"} <= labels_of(made)
    assert [(row["name"], row["precision"]) for row in rows(made, "roofline_layers")] == [
        ("small", "int8"),
        ("head", "float32"),
    ]


def test_what_is_not_counted_is_said_and_no_zero() -> None:
    made = drawn("roofline", mixed(), device="toy")
    assert "not drawn: 1 layer without MACs, which a logarithmic axis has no place for" in made.notes
    assert "not drawn: 1 layer of unknown MACs, bytes or time" in made.notes
    made = drawn("latency", mixed(), device="toy")
    assert made.spec["title"]["subtitle"] == ["layer by layer >= 30.80 µs, floor >= 30.16 µs"]  # type: ignore[index]
    odd = next(row for row in rows(made, "latency") if row["name"] == "odd")
    assert (odd["bound"], odd["compute"]) == ("bound not known", "unknown")
    assert any("lower bounds" in note or "no time is known" in note for note in made.notes)


def test_a_layer_without_a_time_is_pale_over_the_whole_height() -> None:
    made = of("latency", "mobilenet_v2", MICROCONTROLLER)
    assert [view["mark"]["type"] for view in views(made.spec or {})] == ["bar", "bar"]
    unknown = sum(row["time_s"] is None for row in rows(made, "latency"))
    assert f"pale from the bottom to the top: {unknown} of 65 layers, of which no time is known" in made.notes
    assert [view["mark"]["type"] for view in views(of("latency", "resnet50", BOARD).spec or {})] == ["bar"]


@pytest.mark.parametrize("name", NAMES)
def test_without_a_device_there_is_a_reason(name: str) -> None:
    assert drawn(name, weigh("lenet5")).reasons == ("no device was asked for; weigh it with --on DEVICE",)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("roofline", "no layer has MACs and a time that is known"),
        ("latency", "of no layer is a time known: the device has no rate at its precision, and no bandwidth"),
        ("throughput", "of no batch is a time known"),
    ],
)
def test_a_device_without_a_rate_has_a_reason(name: str, reason: str) -> None:
    """float32 on a microcontroller for which int8 alone is known."""
    weighed = weigh("lenet5", on=[MICROCONTROLLER, "toy"], batches=[1, 8])
    assert drawn(name, weighed, device=MICROCONTROLLER).reasons == (reason,)
    assert drawn(name, weighed, device="toy").spec is not None


def test_one_batch_is_no_line() -> None:
    assert drawn("throughput", weigh("lenet5", on="toy"), device="toy").reasons == (
        "only batch 1 was weighed; weigh it with --batches 1,8,32",
    )
    assert drawn("throughput", report(alexnet(), on=(on_device(),)), device=MICROCONTROLLER).reasons == (
        "no batch was weighed; weigh it with --batches 1,8,32",
    )


def test_a_report_from_before_there_were_roofs_says_so() -> None:
    old = report(alexnet(), on=(on_device(),))
    assert drawn("roofline", old, device=MICROCONTROLLER).reasons == (
        "the report has no roofs and no times of single layers; weigh the network again",
    )
    assert drawn("latency", old, device=MICROCONTROLLER).reasons == (
        "the report has no times of single layers; weigh the network again",
    )


def point(batch: int, per_s: float | None, verdict: str = "fits", layerwise: float | None = None) -> BatchPoint:
    return BatchPoint(batch, 1.0, per_s, None, layerwise, "memory", verdict)


def with_points(*points: BatchPoint) -> Report:
    on = on_device()._replace(throughput=Throughput(points))
    return report(alexnet(), on=(on,))


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
    assert made.description.endswith("batch 32 does not fit; batch 8, 64 may not fit")
    assert "the sum over the layers is not known at 4 of 4 batches" in made.notes


@pytest.mark.parametrize("batch", [0, 2**60, 2**2000, 10**3000])
def test_batches_of_any_size(batch: int) -> None:
    made = drawn("throughput", with_points(point(1, 5.0), point(4, 6.0), point(batch, 7.0)), device=MICROCONTROLLER)
    is_drawn = batch == 2**60
    assert [row["batch"] for row in rows(made, "throughput")] == [1, 4, *([float(batch)] if is_drawn else [])]
    left_out = "not drawn: 1 batch size that a logarithmic axis has no place for"
    assert (left_out in made.notes) != is_drawn


def time(name: str, **changes: Any) -> NodeTime:
    one = NodeTime(name, 1e-3, 2e-3, "memory", 2e-3, 4.0, True, "int8", 1e6)
    return one._replace(**changes)


ROOFLINE = Roofline(("DRAM",), 10**6, (Roof("int8", "core", 10**7, 10.0, (RoofPoint(1, 1e6), RoofPoint(10, 1e7))),))


def with_times(*times: NodeTime, roofline: Roofline = ROOFLINE) -> Report:
    on = on_device()._replace(nodes=times, roofline=roofline)
    return report([node(one.name, macs=5) for one in times], on=(on,))


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


def test_lower_bounds_are_said() -> None:
    weighed = with_times(time("plain"), time("loop", exact=False))
    assert (
        "1 layer drawn where the part lies that is counted" in drawn("roofline", weighed, device=MICROCONTROLLER).notes
    )
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
    from weighbridge.report.charts.drawn import devices_of

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


@pytest.mark.parametrize("name", NAMES)
def test_models_stand_under_each_other_and_share_their_scales(name: str) -> None:
    reports = {"one": real("mobilenet_v2"), "two": real("resnet50"), "three": weigh("lenet5")}
    made = drawn(name, reports, device=SERVER)
    assert made.reasons == ("three: no device was asked for; weigh it with --on DEVICE",)
    assert made.spec is not None
    assert made.spec["resolve"]["scale"] == dict.fromkeys(("y",) if name == "latency" else ("x", "y"), "shared")
    assert [part["title"]["text"] for part in made.spec["vconcat"]] == ["one", "two"]
    assert made.spec["vconcat"][0]["title"]["subtitle"][0].startswith("NVIDIA A100")
    assert {key.rpartition("_")[0][-1] for key in made.datasets} == {"0", "1"}
