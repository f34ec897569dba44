"""Charts of a device show the figures of the report: layers under the roofs, their times, throughput by batch."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest

from tests.report.charts.devices import MICROCONTROLLER, NAMES, labels_of, rows
from tests.report.charts.drawings import drawn, titles_of_axes, views
from tests.report.samples import alexnet, on_device, report
from weighbridge import Report, weigh
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.graph import UNKNOWN, TensorType
from weighbridge.report.charts.panel import Chart

BOARD, SERVER, TWO_MEMORIES = "jetson-agx-orin", "a100", "stm32-f746g-disco"
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
