"""Peak memory on the page: every policy with its figure or the reason for none, and what all of them assume."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

import weighbridge
from tests.report.samples import alexnet, node, report
from weighbridge import BadSpec, Report
from weighbridge.arena import Arena, ArenaBuffer
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.graph import UNKNOWN
from weighbridge.memory import POLICIES
from weighbridge.report import html, markdown
from weighbridge.report.page import Peak, Peaks
from weighbridge.report.peaks import check_profile, peaks
from weighbridge.report.terminal import Look, text
from weighbridge.report.view import page

FLOAT = DTYPES["float32"]
PLAIN, IN_PLACE = POLICIES[:4], POLICIES[4:8]


def named(policies: str) -> list[str]:
    """The policies of a row, spelt out."""
    names = policies.removesuffix(", in place or not").split(", ")
    return names if policies.endswith(names[-1]) else [*names, *(f"{name}_in_place" for name in names)]


def row(shown: Peaks, policy: str) -> Peak:
    (found,) = (row for row in shown.rows if policy in named(row.policies))
    return found


def relu(name: str = "x") -> weighbridge.Graph:
    builder = Builder("relu")
    x = builder.input(name, (4,), FLOAT)
    (y,) = builder.add("relu", [("x", x)])
    return builder.graph([y])


@pytest.mark.parametrize(
    ("network", "precision", "rows"),
    [
        (
            "mobilenet_v2",
            "int8",
            [
                ("pair, live, nhcwb16_vela", "1,505,280", "1.436 MiB", "1,505,280", "block2.depthwise.conv"),
                ("arena_tflm", "1,505,280", "1.436 MiB", "?", "block2.depthwise.conv"),
                ("held, held_contractions", "1,705,984", "1.627 MiB", "1,705,984", "block2.depthwise.conv"),
                ("pair_in_place, live_in_place", "1,404,928", "1.340 MiB", "1,404,928", "block2.expand.conv"),
            ],
        ),
        (
            "resnet50",
            "fp32",
            [
                ("pair, live", "9,633,792", "9.188 MiB", "2,408,448", "layer1.0.add"),
                ("held", "10,436,608", "9.953 MiB", "2,609,152", "layer1.0.add"),
            ],
        ),
    ],
)
def test_published(network: str, precision: str, rows: list[tuple[str, ...]]) -> None:
    shown = page(weighbridge.weigh(network, precision=precision)).peaks
    assert set(map(Peak._make, rows)) <= set(shown.rows)


def test_resnet50_in_place_is_one_figure_of_several_policies() -> None:
    found = row(page(weighbridge.weigh("resnet50")).peaks, "live_in_place")
    assert (found.bytes, found.node) == ("7,225,344", "layer1.0.downsample.0")
    assert set(named(found.policies)) == {
        *("held_contractions", "live_in_place", "held_in_place", "held_contractions_in_place")
    }


def test_policies_of_one_figure_share_a_row_and_their_forms_in_place_are_not_spelt_out() -> None:
    only, arena = page(weighbridge.weigh("alexnet")).peaks.rows
    assert only == (
        "pair, live, held, held_contractions, in place or not",
        "1,763,712",
        "1.682 MiB",
        "440,928",
        "conv1",
    )
    assert named(only.policies) == [*PLAIN, *IN_PLACE]
    assert arena == ("arena_tflm", "1,763,712", "1.682 MiB", "?", "conv1")


def with_eager(shown: Report) -> Report:
    """As if PyTorch had run the model: its peak is at a node that deployment takes away."""
    memory = shown.memory
    tops = [100] * (len(shown.nodes) - 1)
    memory = memory._replace(
        peak_bytes={**memory.peak_bytes, "eager": 700},
        peak_elements={**memory.peak_elements, "eager": None},
        peak_node={**memory.peak_node, "eager": "features.relu1"},
        profile={**memory.profile, "eager": (tops[0], 700, *tops[1:])},
        inapplicable={policy: why for policy, why in memory.inapplicable.items() if policy != "eager"},
    )
    return replace(shown, memory=memory)


def sources() -> dict[str, Report]:
    unknown = Builder("unknown")
    unknown.opaque(UNKNOWN, [("x", unknown.input("x", (4,), FLOAT))], [None], name="odd")
    (y,) = unknown.add("relu", [("x", "odd")], name="late")
    return {
        "blocks": weighbridge.weigh("resnet18"),
        "no blocks": weighbridge.weigh(relu()),
        "no layers": weighbridge.weigh(replace(relu(), blocks=frozenset())),
        "unknown size": weighbridge.weigh(unknown.graph([y])),
        "unknown size, blocks": weighbridge.weigh(replace(unknown.graph([y]), blocks=frozenset())),
        "eager": with_eager(weighbridge.weigh("lenet5")),
    }


@pytest.mark.parametrize("source", sources())
def test_every_policy_is_in_one_row_or_named_with_the_reason(source: str) -> None:
    made = sources()[source]
    shown = page(made).peaks
    in_rows = [policy for row in shown.rows for policy in named(row.policies)]
    not_applying = next((line for line in shown.left_out if line.startswith("does not apply: ")), "")
    absent = [
        policy
        for part in not_applying.removeprefix("does not apply: ").split("; ")
        for policy in named(part.partition(" (")[0])
        if part
    ]
    assert sorted([*in_rows, *absent]) == sorted(POLICIES)
    assert dict(made.memory.inapplicable).keys() == set(absent)
    assert all(reason in not_applying for reason in made.memory.inapplicable.values())


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("blocks", "does not apply: eager (there is no record of a run in PyTorch)"),
        ("no blocks", "does not apply: held, held_contractions, in place or not (the source does not say which"),
        (
            "no layers",
            "does not apply: held_contractions, in place or not (there is no convolution and no linear layer)",
        ),
        ("unknown size", "unknown: the size of odd, late is not known"),
    ],
)
def test_what_has_no_figure_is_said_with_the_reason(source: str, sentence: str) -> None:
    assert any(line.startswith(sentence) for line in page(sources()[source]).peaks.left_out)


def test_a_block_that_repeats_has_a_reason_of_its_own() -> None:
    builder = Builder("twice")
    x, w = builder.input("x", (4,), FLOAT), builder.stored("w", (4, 4), FLOAT)
    for _ in range(2):
        (x,) = builder.add("linear", [("x", x), ("w", w)], scope="b")
    made = weighbridge.weigh(replace(builder.graph([x]), blocks=frozenset({"b"})))
    assert "a block runs several times in a row" in made.memory.inapplicable["held"]


def test_unknown_peaks_say_unknown() -> None:
    shown = page(sources()["unknown size"]).peaks
    assert [(row.bytes, row.values) for row in shown.rows] == [("unknown", "?")]
    many = report([node(f"n{index}", macs=None, output=None) for index in range(9)])
    assert page(many).peaks.left_out == ("unknown: the size of n0, n1, n2 and 6 more is not known",)


def test_a_report_that_was_saved_without_reasons_is_still_shown() -> None:
    data = weighbridge.weigh(relu()).to_dict()
    del data["memory"]["inapplicable"]  # type: ignore[attr-defined]
    shown = page(Report.from_dict(data)).peaks
    assert shown.left_out == ("does not apply: held, held_contractions, in place or not (the report does not say why)",)
    assert [row.policies for row in shown.rows] == ["pair, live, in place or not", "arena_tflm"]


def plain(shown: str) -> str:
    """The words, whatever the lines and the escapes."""
    return " ".join(shown.replace("\\", "").replace("<b>", "").replace("</b>", "").replace("<br>", " ").split())


@pytest.mark.parametrize("source", ["blocks", "no blocks", "eager"])
def test_the_assumptions_stand_beside_the_peaks_in_every_format(source: str) -> None:
    shown = page(sources()[source])
    topics = [topic for topic, _ in shown.peaks.assumptions]
    blocks = ["held", "held_contractions"] if source != "no blocks" else []
    eager = ["eager"] if source == "eager" else []
    assumed = ["layer by layer", "weights", "scratch"]
    assert topics == ["pair", "live", *blocks, "*_in_place", *eager, "arena_tflm", *assumed]
    formats = [text(shown, Look(width)) for width in (60, 72, 80, 100, 120)]
    for made in (*formats, markdown.render(shown), html.render(shown)):
        words = plain(made)
        assert all(sentence in words for _, sentence in shown.peaks.assumptions) or made in formats[1:]
        assert all(topic in words for topic in topics)
        assert all(part in words for sentence in shown.peaks.left_out for part in sentence.split("; "))


@pytest.mark.parametrize(
    ("recorded", "scratch", "packed", "included"),
    [
        (False, None, "the tensors of this graph", "the gaps are in arena_tflm"),
        (False, "im2col", "the tensors of this graph, and im2col of convolutions", "in arena_tflm alone"),
        (True, None, "what its reference kernels ask for", "in arena_tflm alone"),
        (True, "im2col", "what its reference kernels ask for, and im2col of convolutions", "in arena_tflm alone"),
    ],
)
def test_the_arena_says_whose_requests_are_packed_and_where_scratch_is(
    recorded: bool, scratch: str | None, packed: str, included: str
) -> None:
    graph = relu()
    if recorded:
        graph = replace(graph, arena=Arena((ArenaBuffer("x", 16, 0, 1),), ("", "relu")))
    said = dict(page(weighbridge.weigh(graph, scratch=scratch)).peaks.assumptions)
    assert said["arena_tflm"].endswith(f"16 B aligned: {packed}")
    assert included in said["scratch"]


@pytest.mark.parametrize("width", [60, 66, 72, 76, 80, 100, 120, 200])
@pytest.mark.parametrize("unicode", [True, False])
def test_no_line_is_wider_than_the_terminal(width: int, unicode: bool) -> None:
    made = weighbridge.weigh("resnet18")
    for name in ("x" * 300, "a.module.with.a/very.long/path;that.goes.on.and.on", "\u6f22\u5b57" * 40):
        memory = made.memory._replace(
            peak_node=dict.fromkeys(made.memory.peak_node, name),
            peak_bytes={policy: 10 ** (3 * place) for place, policy in enumerate(made.memory.peak_bytes)},
        )
        shown = text(page(replace(made, memory=memory)), Look(width, unicode))
        assert max(cell_len(line) for line in shown.splitlines()) <= width


def test_rows_say_the_whole_figure_at_every_width() -> None:
    shown = page(weighbridge.weigh("resnet50"))
    for width in (60, 80, 100, 120):
        lines = text(shown, Look(width)).splitlines()
        start = next(index for index, line in enumerate(lines) if line.startswith("peak memory "))
        words = " ".join(lines[start : start + 13]).split()
        assert {"9,633,792", "10,436,608", "7,225,344", "6,422,528"} <= set(words)
        assert ("2,609,152" in words) == (width >= 80)
        assert words.count("layer1.0.add") == 4


@pytest.mark.parametrize("policy", ["pair", "held", "pair_in_place", "live_in_place", "held_in_place"])
def test_the_bytes_alive_follow_the_policy(policy: str) -> None:
    made = weighbridge.weigh("mobilenet_v2", precision="int8")
    shown = page(made, all_rows=True, policy=policy)
    peak = made.memory.peak_bytes[policy]
    assert shown.policy == policy
    assert shown.total.alive.full == f"{peak:,} B"
    alive = [int(row.alive.full.replace(",", "").removesuffix(" B")) for row in shown.rows if row.kind == "node"]
    assert max(alive) == peak
    assert next(row.alive.full for row in shown.rows if row.kind == "node" and row.is_peak) == f"{peak:,} B"
    assert shown.profile is not None
    assert (max(shown.profile.levels), shown.profile.caption) == (1.0, f"memory over the run ({policy})")  # type: ignore[type-var]
    assert f" at {made.memory.peak_node[policy]}, node " in shown.profile.summary
    assert f"alive: bytes by the policy {policy} while" in text(shown, Look(100))
    assert f"alive ({policy})".replace("_", "\\_") in markdown.render(shown)
    assert f"alive ({policy})" in html.render(shown)


def test_a_peak_at_a_node_that_deployment_took_away_is_shown_where_it_was() -> None:
    made = with_eager(report(alexnet()))
    shown = page(made, policy="eager")
    assert [row.label for row in shown.rows if row.is_peak] == ["features", "pool1"]
    assert shown.profile is not None
    summary = "700 B at features.relu1, a node of the graph as written, in the time of node 2 of 11"
    assert shown.profile.summary == summary
    assert row(shown.peaks, "eager") == ("eager", "700", "700 B", "?", "features.relu1")


@pytest.mark.parametrize(
    ("source", "policy", "reason"),
    [
        ("no blocks", "held", "held does not apply: the source does not say which modules are blocks"),
        ("blocks", "eager", "eager does not apply: there is no record of a run in PyTorch"),
        ("blocks", "held_contractions", "it is the largest of held at convolutions and linear layers"),
        ("blocks", "held_contractions_in_place", "it is the largest of held_in_place at convolutions"),
        ("no layers", "held_contractions", "held_contractions does not apply: there is no convolution"),
    ],
)
def test_a_policy_without_a_profile_says_why_and_names_those_with_one(source: str, policy: str, reason: str) -> None:
    with pytest.raises(BadSpec) as caught:
        check_profile(sources()[source].memory, policy)
    assert reason in caught.value.what
    assert caught.value.hint.startswith("policies with a profile are pair, live, ")


def test_calls_in_another_order_leave_eager_without_a_profile() -> None:
    memory = sources()["eager"].memory
    check_profile(memory, "eager")
    profile = {policy: sizes for policy, sizes in memory.profile.items() if policy != "eager"}
    with pytest.raises(BadSpec, match="another order than PyTorch's calls"):
        check_profile(memory._replace(profile=profile), "eager")
    assert row(peaks(memory._replace(profile=profile)), "eager").bytes == "700"


@pytest.mark.parametrize(("size", "said"), [(0, None), (10_240, "10,240 B, beside"), (None, "of unknown size, beside")])
def test_variables_are_told_where_there_are_any(size: int | None, said: str | None) -> None:
    memory = report(alexnet()).memory._replace(variable_bytes=size)
    found = dict(peaks(memory).assumptions).get("variables")
    assert (found is None) == (said is None)
    assert (found or "").startswith(said or "")
