"""Charts with a bar a layer show the figures of the report: parameters and MACs, activations and weights, memory over time."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.onnx.files import onnx_files, report_of
from tests.report.charts.drawings import drawn, svg, titles_of_axes, views
from tests.report.samples import alexnet, large, node, report
from weighbridge import Report, weigh
from weighbridge.report.charts.layers import MOST
from weighbridge.report.charts.theme import ACCENT, HEIGHT, MUTED

NAMES = ("inversion", "activations-weights", "memory")
BERT = "ort_odd/bert_toy_optimized.onnx"
REAL: dict[str, Callable[[Path], Report]] = {
    "mobilenet_v2": lambda _: weigh("mobilenet_v2", precision="int8"),
    "alexnet": lambda _: weigh("alexnet"),
    "4 bits": lambda _: weigh("alexnet", weight_bits=["first=8", "last=8", "rest=4"]),
    "person_detect": lambda shared: weigh(shared / "data" / "tflite" / "tflm" / "person_detect.tflite"),
    "bert": lambda shared: report_of(BERT, onnx_files(shared)[BERT]),
}


@cache
def real(name: str, shared: Path) -> Report:
    return REAL[name](shared)


@pytest.mark.parametrize("network", REAL)
@pytest.mark.parametrize("name", NAMES)
def test_every_layer_has_a_row_with_the_figures_of_the_json(name: str, network: str, shared: Path) -> None:
    weighed = real(network, shared)
    rows = drawn(name, weighed).datasets["layers_0"]
    data: Any = weighed.to_dict()
    assert [row["key"] for row in rows] == [f"0:{place}" for place in range(len(data["nodes"]))]
    for field in ("name", "parameters", "macs", "output_bytes", "weight_bytes"):
        assert [row[field] for row in rows] == [item[field] for item in data["nodes"]], field
    assert [row["alive_bytes"] for row in rows] == data["memory"]["profile"]["live"]


def test_the_heaviest_layers_are_said() -> None:
    assert drawn("inversion", weigh("alexnet")).description == (
        "most parameters at fc6: 37,752,832; most MACs at conv2: 223,948,800"
    )
    assert drawn("activations-weights", weigh("mobilenet_v2", precision="int8")).description == (
        "most bytes of activations at block2.expand.conv: 1,204,224 B (1.204 MB); "
        "most bytes of weights at fc: 1,280,000 B (1.280 MB)"
    )


def test_a_lower_bound_is_called_one() -> None:
    loop = node("loop", macs=9)._replace(exact=False)  # of which one trip is counted
    chart = drawn("inversion", report([node("a", macs=7, weights=3), loop, node("odd", macs=None)]))
    assert chart.description == "most parameters at a: 3; most MACs that are known at loop: >= 9"
    assert chart.notes == (
        "grey: the MACs of 1 of 3 layers are not known",
        "the MACs of 1 of 3 layers are lower bounds",
    )


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("inversion", ["parameters", "MACs", "layer"]),
        ("activations-weights", ["bytes of activations", "bytes of weights", "layer"]),
        ("memory", ["layer", "bytes alive"]),
    ],
)
def test_axes_say_what_they_measure_and_the_layers_have_one(name: str, titles: list[str]) -> None:
    assert sorted(titles_of_axes(drawn(name, weigh("alexnet")))) == sorted(titles)


def test_labels_have_prefix_and_unit() -> None:
    assert {">0<", ">20 M<", ">200 M<"} <= set(_labels("inversion"))
    assert {">0 B<", ">1 MB<", ">200 kB<", ">150 MB<"} <= set(_labels("activations-weights"))
    assert {">500 kB<", ">1.5 MB<"} <= set(_labels("memory"))


def _labels(name: str) -> list[str]:
    picture = svg(drawn(name, weigh("alexnet")))
    return [f">{part.partition('<')[0]}<" for part in picture.split(">") if part.endswith("</text")]


def test_two_layers_of_one_name_have_a_bar_each() -> None:
    rows = drawn("inversion", report([node("same", weights=2), node("same", weights=3)])).datasets["layers_0"]
    assert [row["name"] for row in rows] == ["same", "same (2)"]


@pytest.mark.parametrize("count", [1, 12, 40])
def test_what_is_not_known_is_grey_and_said(count: int) -> None:
    nodes = [node(f"n{place}", weights=5, macs=7) for place in range(count)]
    odd = node("odd", operator="unknown", macs=None, output=None)._replace(weight_bytes=None)
    for name, said in (
        ("inversion", f"grey: the MACs of 1 of {count + 1:,} layers are not known"),
        ("activations-weights", f"grey: the bytes of weights of 1 of {count + 1:,} layers are not known"),
        ("memory", f"grey: the bytes alive of 1 of {count + 1:,} layers are not known"),
    ):
        made = drawn(name, report([*nodes, odd]))
        assert said in made.notes
        greys = [view for view in views(made.spec) if view["mark"].get("color") == MUTED]
        assert len(greys) == sum(note.startswith("grey: ") for note in made.notes)
        for grey in greys:
            assert [row["name"] for row in made.datasets["layers_0"] if row[_filtered(grey)] is None] == ["odd"]
        if name == "inversion":
            assert "that are known at n0" in made.description


def _filtered(view: Any) -> str:
    (one,) = view["transform"]
    return one["filter"].removeprefix("datum.").removesuffix(" === null")


def test_grey_is_as_high_as_the_panel() -> None:
    nodes = [node("n", weights=5, macs=7), node("odd", operator="unknown", macs=None)]
    picture = svg(drawn("inversion", report(nodes)))
    (bar,) = re.findall(rf'<path [^>]*fill="{MUTED}"[^>]*>', picture)
    assert f"v{HEIGHT // 2}h-" in bar
    known = svg(drawn("inversion", report([nodes[0], nodes[1]._replace(macs=1)])))
    assert _height(picture) - _height(known) < 20, "as high, but for the line that says what grey is"


def _height(picture: str) -> int:
    return int(re.findall(r'viewBox="0 0 \d+ (\d+)"', picture)[0])


def test_a_zero_is_not_grey() -> None:
    made = drawn("inversion", report([node("pool"), node("conv", weights=3, macs=4)]))
    assert made.notes == ()
    assert [view["mark"]["type"] for view in views(made.spec)] == ["bar", "bar"]


@pytest.mark.parametrize("nodes", [[], [node("pool")], [node("odd", macs=None)._replace(parameters=None)]])
def test_without_any_figure_there_is_no_drawing(nodes: list[Any]) -> None:
    (reason,) = drawn("inversion", report(nodes)).reasons
    assert reason == "no layer is known to have parameters or MACs"


def test_a_saved_report_without_bytes_of_weights_is_drawn_as_far_as_it_goes() -> None:
    old = report([item._replace(weight_bytes=None) for item in alexnet()])
    assert "grey: the bytes of weights of 11 of 11 layers are not known" in drawn("activations-weights", old).notes


class TestMemory:
    def test_the_peak_is_marked_and_said(self) -> None:
        weighed = weigh("mobilenet_v2", precision="int8")
        made = drawn("memory", weighed)
        said = "peak 1,505,280 B (1.505 MB) at block2.depthwise.conv, node 5 of 65"
        assert made.description == f"live: {said}"
        assert (made.spec["title"]["text"], made.spec["title"]["subtitle"]) == ("under the policy live", said)
        assert made.datasets["memory_peak_0"] == ({"peak_bytes": 1_505_280},)
        bar, rule = views(made.spec)
        assert bar["encoding"]["color"]["condition"] == {"test": "datum.layer == 5", "value": ACCENT}
        assert rule["mark"]["color"] == ACCENT
        assert made.datasets["layers_0"][4]["alive_bytes"] == 1_505_280

    @pytest.mark.parametrize("policy", weigh("mobilenet_v2", precision="int8").memory.profile)
    def test_under_every_policy_the_highest_bar_is_the_peak(self, policy: str) -> None:
        weighed = weigh("mobilenet_v2", precision="int8")
        made = drawn("memory", weighed, policy)
        assert max(row["alive_bytes"] for row in made.datasets["layers_0"]) == weighed.memory.peak_bytes[policy]
        assert made.description.startswith(f"{policy}: peak {weighed.memory.peak_bytes[policy]:,} B")

    def test_a_policy_without_a_profile_is_a_reason(self) -> None:
        weighed = weigh("alexnet")
        reasons = [drawn("memory", weighed, policy).reasons for policy in ("eager", "held_contractions")]
        assert reasons == [
            ("eager does not apply: there is no record of a run in PyTorch",),
            (
                "held_contractions has no profile of its own: it is the largest of held at convolutions and linear layers",
            ),
        ]

    def test_a_peak_that_is_not_known_has_no_rule(self) -> None:
        made = drawn("memory", report([node("a"), node("odd", output=None)]))
        assert made.spec["title"]["subtitle"] == "the peak is not known"
        assert [view["mark"]["type"] for view in views(made.spec)] == ["bar", "bar"]
        assert "memory_peak_0" not in made.datasets

    def test_a_long_network_keeps_its_outline(self) -> None:
        long = large(20_000)
        sizes = [place % 977 + 1 for place in range(20_000)]
        sizes[12_345] = 100_000
        memory = long.memory._replace(
            profile={"live": tuple(sizes)}, peak_bytes={"live": 100_000}, peak_node={"live": long.nodes[12_345].name}
        )
        made = drawn("memory", replace(long, memory=memory))
        rows = {row["layer"] - 1: row["alive_bytes"] for row in made.datasets["layers_0"]}
        assert len(rows) <= 2 * MOST
        assert all(sizes[place] == alive for place, alive in rows.items())
        for start in range(0, 20_000, 40):
            assert max(alive for place, alive in rows.items() if start <= place < start + 40) == max(
                sizes[start : start + 40]
            )
        assert made.notes == ("drawn are the largest of each stretch of 40 among 20,000 layers; the table has all",)


@pytest.mark.parametrize("name", NAMES)
def test_models_stand_under_each_other_under_their_titles(name: str) -> None:
    reports = {"one": weigh("alexnet"), "two": weigh("lenet5")}
    made = drawn(name, reports)
    assert made.description.count("one: ") == made.description.count("two: ") == 1
    for place, weighed in enumerate(reports.values()):
        rows = made.datasets[f"layers_{place}"]
        assert [row["key"] for row in rows] == [f"{place}:{layer}" for layer in range(len(weighed.nodes))]
    assert {">one<", ">two<"} <= {f">{part.partition('<')[0]}<" for part in svg(made).split(">")}
    assert made.spec.get("resolve", {}).get("scale", {}) == ({"y": "shared"} if name == "memory" else {})


def test_a_model_without_a_drawing_leaves_the_others_theirs() -> None:
    made = drawn("memory", {"one": weigh("alexnet"), "two": report([])})
    assert made.spec is not None
    assert [reason.partition(":")[0] for reason in made.reasons] == ["two"]


@pytest.mark.parametrize("bits", [53, 64, 90, 999])
def test_numbers_beyond_those_of_a_browser_are_drawn_and_said(bits: int) -> None:
    made = drawn("inversion", report([node("huge", weights=2**bits + 1, macs=2**bits + 1), node("small", weights=3)]))
    assert made.datasets["layers_0"][0]["macs"] == float(2**bits)
    assert "numbers above 2^53 are drawn and shown to some 16 digits; the JSON has all" in made.notes


def test_layers_whose_names_begin_alike_are_told_apart_below_the_axis() -> None:
    """Names of a file begin with the modules that they stand in, so the end of a long one is what is shown."""
    layers = [node(f"StatefulPartitionedCall/functional_1/conv2d_{place}/BiasAdd", macs=1) for place in range(8)]
    shown = re.findall(r">(…[^<]*)</text>", svg(drawn("inversion", report(layers))))
    assert shown == [f"…onal_1/conv2d_{place}/BiasAdd" for place in range(8)]


def test_figures_that_are_all_zero_stand_on_the_ground() -> None:
    made = svg(drawn("inversion", report([node("relu", macs=0), node("conv", macs=9)])))
    assert "titled 'parameters' for a linear scale with values from 0.0 to 1.0\"" in made
