"""The arena map and the peaks by policy show what the plan of the report says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.report.charts.drawings import drawn, svg, titles_of_axes, views
from tests.report.samples import alexnet, node, report
from tests.report.test_map import ARENA, made
from weighbridge import Report, weigh
from weighbridge.arena import Arena, ArenaBuffer
from weighbridge.memory.arena import planned
from weighbridge.report.charts.layers import MOST
from weighbridge.report.charts.theme import ACCENT, PALETTE

REAL: dict[str, Callable[[Path], Report]] = {
    "mobilenet_v2": lambda _: weigh("mobilenet_v2", precision="int8"),
    "alexnet": lambda _: weigh("alexnet", scratch="im2col"),
    "person_detect": lambda shared: weigh(shared / "data" / "tflite" / "tflm" / "person_detect.tflite"),
}


@pytest.mark.parametrize("network", REAL)
def test_every_buffer_has_a_rectangle_with_the_figures_of_the_json(network: str, shared: Path) -> None:
    weighed = REAL[network](shared)
    shown = drawn("arena", weighed)
    data: Any = weighed.to_dict()
    plan, nodes = data["memory"]["arena"], [item["name"] for item in data["nodes"]]
    drawable = [one for one in plan["buffers"] if one["first"] is not None]
    rows = shown.datasets["arena_0"]
    said = [
        (*(row[field] for field in ("bytes", "aligned_bytes", "offset", "first", "last")), row["kind"]) for row in rows
    ]
    assert sorted(said) == sorted(
        (
            *(one[field] for field in ("bytes", "aligned_bytes", "offset", "first", "last")),
            "scratch" if one["is_scratch"] else "tensor",
        )
        for one in drawable
    )
    for row in rows:
        assert (row["from"], row["until"]) == (row["first"] - 0.5, row["last"] + 0.5)
        assert row["end"] == row["offset"] + row["aligned_bytes"] <= plan["bytes"]
        assert row["is_alive"] == (row["first"] <= plan["peak_scope"] <= row["last"])
        assert row["key"] == (f"0:{nodes.index(row['node'])}" if row["node"] in nodes else None)
    assert sum(row["key"] is None for row in rows) == sum(not one["node"] for one in drawable)
    assert shown.datasets["arena_peak_0"] == ({"step": plan["peak_scope"]},)
    assert shown.description.startswith(f"arena_tflm: {plan['bytes']:,} B")
    assert shown.spec["title"]["subtitle"] in shown.description


def test_scratch_has_a_colour_of_its_own_and_the_peak_a_rule() -> None:
    shown = drawn("arena", made(planned(ARENA, "runtime")))
    map_, rule = views(shown.spec)
    assert map_["encoding"]["color"]["scale"] == {"domain": ["tensor", "scratch"], "range": list(PALETTE[:2])}
    assert [row["tensor"] for row in shown.datasets["arena_0"] if row["kind"] == "scratch"] == ["four: sums"]
    assert (rule["mark"]["color"], shown.datasets["arena_peak_0"]) == (ACCENT, ({"step": 1},))
    picture = svg(shown)
    assert picture.count('fill-opacity="0.7"') == sum(row["is_alive"] for row in shown.datasets["arena_0"]) == 2
    assert picture.count('fill-opacity="0.2"') == 3
    assert titles_of_axes(shown) == ["step", "offset in bytes"]


def test_what_no_operator_touches_is_a_note() -> None:
    plan = planned(ARENA, "runtime")
    late = plan.buffers[2]._replace(first=9, last=10)
    never = plan.buffers[3]._replace(first=None, last=None)
    shown = drawn("arena", made(plan._replace(buffers=(*plan.buffers[:2], late, never))))
    assert [row["tensor"] for row in shown.datasets["arena_0"]] == [one.name for one in plan.buffers[:2]]
    assert shown.notes == ("2 of 4 buffers have a place and are read or written at no step",)


def test_a_buffer_ends_with_the_steps() -> None:
    plan = planned(ARENA, "runtime")
    (row,) = drawn("arena", made(plan._replace(buffers=(plan.buffers[2]._replace(last=2**2000),)))).datasets["arena_0"]
    assert row["until"] == 4.5


def test_of_very_many_buffers_those_alive_at_the_peak_are_drawn_first() -> None:
    steps = 3000
    buffers = tuple(ArenaBuffer(f"t{step}", 16 * (step % 7 + 1), step, step, f"n{step}") for step in range(steps))
    plan = planned(Arena(buffers, tuple(f"n{step}" for step in range(steps))), "graph")
    rows = drawn("arena", made(plan._replace(peak_scope=0))).datasets["arena_0"]
    assert len(rows) == MOST
    assert [row["tensor"] for row in rows if row["is_alive"]] == ["t0"]
    assert min(row["bytes"] for row in rows if not row["is_alive"]) == 16 * 3


def test_without_a_plan_the_reason_is_that_of_the_report() -> None:
    memory = report(alexnet()).memory._replace(inapplicable={"arena_tflm": "a size is unknown"})
    assert drawn("arena", replace(report(alexnet()), memory=memory)).reasons == (
        "arena_tflm does not apply: a size is unknown",
    )
    assert drawn("arena", report(alexnet())).reasons == ("arena_tflm does not apply: the report has no plan",)
    nothing = planned(Arena((), ("one",)), "graph")
    assert drawn("arena", made(nothing)).reasons == ("arena_tflm: no buffer is alive at any step",)


@pytest.mark.parametrize("network", REAL)
def test_every_policy_with_a_peak_has_a_bar_and_every_other_a_reason(network: str, shared: Path) -> None:
    weighed = REAL[network](shared)
    shown = drawn("peaks", weighed)
    data: Any = weighed.to_dict()["memory"]
    known = {policy: size for policy, size in data["peak_bytes"].items() if size is not None}
    rows = {row["policy"]: row for row in shown.datasets["peaks_0"]}
    assert {policy: row["peak_bytes"] for policy, row in rows.items()} == known
    assert {policy: row["node"] for policy, row in rows.items()} == {one: data["peak_node"][one] for one in known}
    names = [item.name for item in weighed.nodes]
    assert all(row["key"] == f"0:{names.index(row['node'])}" for row in rows.values())
    notes = " ".join(shown.notes)
    assert all(reason in notes for reason in data["inapplicable"].values())
    assert titles_of_axes(shown) == ["peak in bytes", "policy"]


def test_peaks_are_said() -> None:
    assert drawn("peaks", weigh("mobilenet_v2", precision="int8")).description == (
        "from 1,404,928 B (1.405 MB) under pair_in_place to 1,705,984 B (1.706 MB) under held"
    )
    assert drawn("peaks", weigh("alexnet")).description == "1,763,712 B (1.764 MB) under each policy that applies"


def test_peaks_that_are_not_known_are_a_reason() -> None:
    (reason,) = drawn("peaks", report([node("odd", output=None)])).reasons
    assert reason == "unknown: the size of odd is not known"


def test_policies_of_any_number_and_name_are_drawn() -> None:
    shown = report(alexnet())
    sizes = {"x" * 100 + str(place): place for place in range(1000)}
    odd = replace(shown, memory=shown.memory._replace(peak_bytes=sizes))
    rows = drawn("peaks", odd).datasets["peaks_0"]
    assert len({row["policy"] for row in rows}) == len(rows) == 40
    assert drawn("peaks", odd).notes[-1] == "drawn are the first 40 of 1,000 policies"


@pytest.mark.parametrize("name", ["arena", "peaks"])
def test_models_stand_under_each_other_on_one_scale(name: str) -> None:
    reports = {"one": weigh("alexnet"), "two": weigh("lenet5")}
    shown = drawn(name, reports)
    assert {f"{name}_0", f"{name}_1"} <= set(shown.datasets)
    assert {row["key"][:2] for row in shown.datasets[f"{name}_1"] if row["key"]} == {"1:"}
    assert shown.spec["resolve"]["scale"] == ({"x": "shared"} if name == "peaks" else {"y": "shared"})
