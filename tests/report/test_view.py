"""What the page says: figures with their conventions, subtotals, shares, the peak, what is missing."""

from __future__ import annotations

import pytest

import weighbridge
from tests.report.samples import alexnet, large, node, on_device, report
from tests.steps import steps
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.report.page import Headline, Page, Row
from weighbridge.report.view import node_table, page


def headline(page: Page, label: str) -> Headline:
    (found,) = (item for item in page.headlines if item.label == label)
    return found


def row(page: Page, label: str) -> Row:
    (found,) = (item for item in page.rows if item.label == label)
    return found


def test_every_headline_states_its_convention() -> None:
    shown = page(report(alexnet()))
    assert [item.label for item in shown.headlines] == [
        *("parameters", "model size", "MACs", "FLOPs = OPs", "activations"),
    ]
    assert all(len(item.convention) > 20 for item in shown.headlines)


def test_what_folding_leaves_of_the_parameters_has_a_headline() -> None:
    """Published: 11,689,512 parameters, of which 4,800 channels lose a scale and a shift and gain a bias."""
    shown = page(weighbridge.weigh("resnet18"))
    assert headline(shown, "parameters").value.full == "11,689,512"
    assert headline(shown, "deployed params").value.full == "11,684,712"


def test_figures_of_alexnet() -> None:
    shown = page(weighbridge.weigh("alexnet"))
    assert headline(shown, "parameters").value.full == "60,965,224"
    assert "60,954,656 weights, 10,568 biases" in headline(shown, "parameters").convention
    assert headline(shown, "model size").value[:2] == ("243,860,896 B", "243.9 MB")
    assert headline(shown, "model size").convention.startswith("= 232.6 MiB; ")
    assert headline(shown, "MACs").value[:2] == ("724,406,816", "724.4 M")
    assert headline(shown, "FLOPs = OPs").value.full == "1,448,813,632"
    assert headline(shown, "activations").value.full == "932,264"


def test_a_total_that_misses_nodes_is_a_lower_bound_and_names_them() -> None:
    nodes = [*alexnet(), *(node(f"odd{index}", operator="unknown", origin="my.Op", macs=None) for index in range(2))]
    shown = page(report(nodes))
    macs = headline(shown, "MACs")
    assert macs.value[:2] == (">= 724,406,816", ">= 724.4 M")
    assert macs.convention.startswith("2 nodes not counted: my.Op x2; ")
    assert not macs.is_exact
    assert headline(shown, "model size").value.full == ">= 243,860,896 B"
    assert shown.total.macs.full == ">= 724,406,816"
    assert row(shown, "odd0").macs.full == "?"
    assert row(shown, "odd0").operator == "my.Op"
    assert [(fault.operator, fault.nodes) for fault in shown.uncounted] == [("my.Op", 2)]


def test_a_module_with_an_uncounted_node_is_a_lower_bound() -> None:
    nodes = [node("a.fc", scope="a", weights=5, macs=5), node("a.odd", scope="a", operator="unknown", macs=None)]
    assert row(page(report(nodes)), "a").macs.full == ">= 5"


def test_unknown_sizes_are_said_to_be_unknown() -> None:
    shown = page(report([node("odd", macs=None, output=None)]))
    assert headline(shown, "activations").value.full == "unknown"
    assert not headline(shown, "activations").is_exact
    assert shown.profile is None
    assert row(shown, "odd").alive.full == "?"
    assert row(shown, "odd").output == "?"


def test_subtotals_and_shares_of_modules() -> None:
    shown = page(report(alexnet()))
    features, classifier = row(shown, "features"), row(shown, "classifier")
    assert features.macs.full == "665,784,864"
    assert classifier.macs.full == "58,621,952"
    assert features.macs.share == pytest.approx(665_784_864 / 724_406_816)
    assert features.macs.share + classifier.macs.share == pytest.approx(1)
    assert classifier.parameters.percent == "96.2%"
    assert [item.label for item in shown.rows if item.is_peak] == ["features", "conv1"]
    assert [item.depth for item in shown.rows[:3]] == [0, 1, 1]


def test_shared_parameters_are_once_in_the_total_and_the_page_says_so() -> None:
    builder = Builder("tied")
    x = builder.input("x", (1, 4), DTYPES["float32"])
    w = builder.stored("w", (4, 4), DTYPES["float32"])
    (h,) = builder.add("linear", [("x", x), ("w", w)], name="first")
    (y,) = builder.add("linear", [("x", h), ("w", w)], name="second")
    shown = page(weighbridge.weigh(builder.graph([y])))
    assert [item.parameters.full for item in (*shown.rows, shown.total)] == ["16", "16", "16"]
    assert "several nodes share" in shown.rows_note


def test_a_small_share_is_never_nothing() -> None:
    shown = page(report([node("big", weights=1, macs=10**9), node("small", weights=1, macs=1)]))
    assert row(shown, "small").macs.percent == "<0.1%"


def test_a_module_of_one_node_is_one_row_and_a_chain_of_modules_too() -> None:
    nodes = [
        node("/layer1/conv/Conv", scope="layer1.conv", macs=1),
        node("/net/body/a/Add", scope="net.body.a", macs=1),
        node("/net/body/a/Mul", scope="net.body.a", macs=1),
    ]
    shown = page(report(nodes))
    assert [(item.depth, item.label) for item in shown.rows] == [
        (0, "layer1.conv"),
        (0, "net.body.a"),
        (1, "Add"),
        (1, "Mul"),
    ]


def test_the_tree_is_opened_as_deep_as_the_page_allows() -> None:
    nodes = [
        node(f"s{stage}.b{block}.n{index}", scope=f"s{stage}.b{block}", macs=1)
        for stage in range(4)
        for block in range(5)
        for index in range(3)
    ]
    shown = page(report(nodes))
    assert len(shown.rows) == 4 + 20
    assert shown.rows_note.startswith("24 of 84 rows")
    assert len(page(report(nodes), depth=1).rows) == 4
    assert len(page(report(nodes), all_rows=True).rows) == 84
    assert page(report(nodes), all_rows=True).rows_note == ""
    assert len(page(report(nodes), depth=2, all_rows=True).rows) == 24


def test_what_weighs_most_stays_and_the_rest_is_summed_up() -> None:
    nodes = [node(f"n{index}", weights=1, macs=10**6 if index % 60 == 7 else 1) for index in range(1000)]
    shown = page(report(nodes))
    assert len(shown.rows) <= 40
    labels = [item.label for item in shown.rows]
    assert all(f"n{index}" in labels for index in range(7, 1000, 60))
    assert "n0" in labels  # it sets the peak
    everything = sum(int(item.macs.full.replace(",", "")) for item in shown.rows)
    assert everything == sum(item.macs or 0 for item in nodes)
    nodes_shown = sum(1 for item in shown.rows if item.kind == "node")
    left_out = sum(int(item.label.split()[1].replace(",", "")) for item in shown.rows if item.kind == "rest")
    assert nodes_shown + left_out == 1000
    assert all(int(item.label.split()[1]) > 1 for item in shown.rows if item.kind == "rest")


def test_a_module_stays_where_a_part_of_it_does() -> None:
    nodes = [node(f"m{index}.n{part}", scope=f"m{index}", macs=1 + index) for index in range(60) for part in range(2)]
    shown = page(report(nodes), depth=2)
    kinds = {item.label: item.kind for item in shown.rows}
    assert len(shown.rows) <= 40
    for item in shown.rows:
        if item.kind == "node" and item.depth == 1:
            assert "module" in kinds.values()
    everything = sum(int(item.macs.full.replace(",", "")) for item in shown.rows if item.kind != "module")
    assert everything == sum(item.macs or 0 for item in nodes)


def test_the_profile_is_the_maximum_of_each_stretch() -> None:
    nodes = [node(f"n{index}", output=(1, 1, 1, 1 + (index == 777) * 99), macs=0) for index in range(1000)]
    shown = page(report(nodes))
    assert shown.profile is not None
    assert len(shown.profile.levels) <= 48
    assert [level for level in shown.profile.levels if level == 1.0] == [1.0]
    assert "at n777, node 778 of 1,000" in shown.profile.summary


def test_the_verdict_says_by_how_much_and_which_node() -> None:
    (verdict,) = page(report(alexnet(), on=(on_device(),))).verdicts
    assert (
        verdict.sentence
        == "does not fit: short by 242,812,320 B of flash and 1,436,032 B of sram (the peak is at conv1)"
    )
    assert [region.fits for region in verdict.regions] == [False, False]
    assert "batch 1" in verdict.conditions
    assert "float32" in verdict.conditions
    (fits,) = page(report(alexnet(), on=(on_device(needed=1, peak=1),))).verdicts
    assert fits.sentence == "fits"


def test_long_lists_of_uncounted_operators_are_cut() -> None:
    nodes = [node(f"n{index}", operator="unknown", origin=f"my.Op{index}", macs=None) for index in range(30)]
    shown = page(report(nodes))
    assert len(shown.uncounted) == 11
    assert shown.uncounted[-1].operator == "20 more"
    assert "and 26 other operators" in headline(shown, "MACs").convention


@pytest.mark.parametrize("count", [0, 20, 21, 300])
def test_long_lists_of_notes_are_cut(count: int) -> None:
    notes = tuple(f"note {index}" for index in range(count))
    shown = page(report(alexnet(), notes=notes)).notes
    assert shown[:20] == notes[:20]
    assert shown[20:] == (() if count <= 20 else (f"{count - 20} more notes: see the JSON",))


def test_the_node_table_has_raw_values() -> None:
    table = node_table(weighbridge.weigh("alexnet"))
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert rows[0]["name"] == "conv1"
    assert rows[0]["macs"] == 105_415_200
    assert rows[0]["alive_bytes"] == 1_763_712
    assert rows[0]["uses_per_weight"] == 3025
    assert sum(row["macs_share"] for row in rows) == pytest.approx(1)  # type: ignore[misc]
    assert rows[1]["uses_per_weight"] is None


def test_the_work_of_a_page_grows_linearly() -> None:
    from weighbridge.report.terminal import Look, text

    def of(count: int) -> int:
        many = large(count)
        return steps(lambda: text(page(many), Look()))

    assert of(8_000) < 4.4 * of(2_000)


def test_the_file_stands_before_the_name_that_the_graph_gives_itself() -> None:
    made = report(alexnet())

    def title(name: str, source: str) -> str:
        return page(report(alexnet(), network=made.network._replace(name=name, source=source))).title

    assert title("torch_jit", "models/FastestDet.onnx") == "FastestDet.onnx (torch_jit)"
    assert title("torch_jit", "C:\\models\\FastestDet.onnx") == "FastestDet.onnx (torch_jit)"
    assert title("small_cnn", "small_cnn.onnx") == "small_cnn.onnx"
    assert title("", "small_cnn.onnx") == "small_cnn.onnx"
    assert title("my_network", "my_network.toml:width=0.5") == "my_network.toml:width=0.5"
    assert title("alexnet", "") == "alexnet"
    assert title("net", "models/net.onnx@feature/wide") == "net.onnx@feature/wide"
    assert title("net", "net.onnx@:/wide") == "net.onnx@:/wide"
    assert title("net", "/home/me@work/net.onnx") == "net.onnx"
    assert page(weighbridge.weigh("mlp:hidden1=64")).title == "mlp"


def test_the_sizes_are_linked() -> None:
    """ResNet-18: what flash has to hold is the deployed size, and the table counts deployed parameters."""
    shown = page(weighbridge.weigh("resnet18", on="stm32f746"))
    size = headline(shown, "deployed size").value.full
    assert shown.verdicts[0].regions[0].sentence.startswith(f"deployed model: {size} of ")
    assert shown.parameters_title == "deployed params"
    assert shown.total.parameters.full == headline(shown, "deployed params").value.full
    written = page(weighbridge.weigh("resnet18", on="stm32f746", as_written=True))
    size = headline(written, "stored size").value.full
    assert written.verdicts[0].regions[0].sentence.startswith(f"model as written: {size} of ")
    assert written.parameters_title == "parameters"


@pytest.mark.parametrize(
    ("rules", "ending"),
    [
        ({"precision": "int8"}, "stay at their width"),
        ({"weight_bits": ["first=8", "rest=4"]}, "stay at their width"),
        ({"weight_bits": ["8", "biases=8"]}, "stay at their width unless a rule names them"),
    ],
)
def test_widths_that_were_asked_for_are_said_with_what_they_leave_alone(rules: dict[str, object], ending: str) -> None:
    shown = page(weighbridge.weigh("alexnet", **rules))  # type: ignore[arg-type]
    (note,) = (note for note in shown.notes if "widths asked for" in note)
    assert note.endswith(f"biases and normalisation {ending}")
    assert "with the weights at the widths asked for" in headline(shown, "model size").convention
    plain = page(weighbridge.weigh("alexnet", activation_bits=8))
    assert "at their stored widths" in headline(plain, "model size").convention
    assert plain.notes == ()


def test_nothing_is_said_twice_and_no_zero_is_named() -> None:
    weights_only = page(report([node("fc", weights=4, macs=4, output=(1, 4))]))
    assert headline(weights_only, "parameters").convention == "learned elements, each storage once, all of them weights"
    assert headline(weights_only, "model size").convention == "parameters as the file stores them"
    nothing = report([node("odd", operator="unknown", macs=None)])
    nothing = report([], facts=nothing.facts._replace(work=nothing.facts.work._replace(compare=0)))
    assert headline(page(nothing), "FLOPs = OPs").convention == "2 x MACs exactly; other operations are unknown"


def test_the_brief_verdict_names_what_is_too_small() -> None:
    (brief,) = page(report(alexnet(), on=(on_device(needed=1000),))).briefs
    assert brief == ("stm32f746: does not fit (sram 538.2%)", "does not fit")
    (brief,) = page(report(alexnet(), on=(on_device(needed=1000, peak=1000),))).briefs
    assert brief == ("stm32f746: fits (flash 0.1%, sram 0.3%)", "fits")


def test_a_memory_without_room_is_overfull_and_not_unknown() -> None:
    on = on_device(needed=1000)
    flash = on.fit.regions[0]._replace(verdict="does not fit", available_bytes=0, short_bytes=1000, ratio=None)
    on = on._replace(fit=on.fit._replace(regions=(flash, on.fit.regions[1])))
    shown = page(report(alexnet(), on=(on,)))
    assert shown.briefs[0].sentence == "stm32f746: does not fit (flash >100%, sram 538.2%)"
    from weighbridge.report.terminal import Look, text

    (line,) = (line for line in text(shown, Look(80)).splitlines() if line.startswith("  flash"))
    assert line.startswith("  flash ███████████▶   >100%  deployed model: 1,000 B of 0 B")


def test_arithmetic_alone_is_one_line() -> None:
    on = on_device(needed=1, peak=1)
    alone = on.latency._replace(memory_s=None, bound=None)
    (fits,) = page(report(alexnet(), on=(on._replace(latency=alone),))).verdicts
    assert fits.times == ("latency floor 3.350 s: 2 x MACs at 432.0 MOPS (cpu); nothing on this device is faster",)
    (short,) = page(report(alexnet(), on=(on_device()._replace(latency=alone),))).verdicts
    assert short.times == ("latency floor 3.350 s even if it fitted: 2 x MACs at 432.0 MOPS (cpu)",)


def test_the_reason_for_no_floor_is_said_once() -> None:
    (verdict,) = page(weighbridge.weigh("alexnet", on="stm32f746")).verdicts
    assert verdict.times == (
        "latency floor unknown: the dense peak rate at float32 is not known (stated are int8)",
        "expected time with HALE 1.0.175 unknown: conv1 computes at float32, and they were measured at int8",
    )
    assert verdict.notes == ()
