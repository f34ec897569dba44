"""What patches take: the published plan to the byte, and what every plan has to keep to."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.patches.networks import branched, deployed
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.graph import UNKNOWN, Graph, Node
from weighbridge.memory import plan
from weighbridge.memory.lifetimes import lifetimes
from weighbridge.memory.plan import plan_of_values
from weighbridge.operators.table import OPERATORS
from weighbridge.patches.plan import Grid, PatchPlan, peaks_in, planned
from weighbridge.patches.stage import stage_to
from weighbridge.patching import in_patches
from weighbridge.report.patched_page import text
from weighbridge.report.terminal import Look


@pytest.fixture(scope="module")
def published(shared: Path) -> dict[str, Any]:
    return tomllib.loads((shared / "facts" / "published.toml").read_text(encoding="utf-8"))["patch_based"]


@pytest.fixture(scope="module")
def paper() -> PatchPlan:
    """MobileNetV2 in 8 bits, 4 x 4 patches through block 4, the first of 28 x 28 x 32."""
    return planned(deployed("mobilenet_v2"), "block4.project", Grid(4, 4))


def test_the_published_plan_to_the_byte(paper: PatchPlan) -> None:
    """MCUNetV2 (Lin et al., NeurIPS 2021): without the input, as the paper counts."""
    assert paper.stage_macs == 91_282_688
    assert paper.full_macs == 129_517_568
    assert paper.clipped_macs == 119_202_032
    assert paper.patch_bytes["pair_in_place"] == paper.patch_bytes["live_in_place"] == 137_200
    assert paper.patch_bytes["pair"] == paper.patch_bytes["live"] == 145_344
    assert paper.buffer_bytes == 25_088
    assert paper.peak_bytes["pair_in_place"] == 175_616
    assert paper.rest_bytes["live_in_place"] == paper.peak_bytes["live_in_place"] == 200_704
    assert [one.inputs["image"][2].size for one in paper.patches[::4]] == [62, 75, 75, 69]
    assert [one.inputs["image"][3].size for one in paper.patches[:4]] == [62, 75, 75, 69]


def test_that_is_what_the_facts_say(paper: PatchPlan, published: dict[str, Any]) -> None:
    assert published["stage_macs"] == paper.stage_macs
    assert published["stage_macs_every_patch_full"] == paper.full_macs
    assert published["stage_macs_clipped"] == paper.clipped_macs
    assert published["network_peak_B"] == paper.peak_bytes["pair_in_place"]
    assert published["patch_stage_peak_B"] == {
        "in_place": paper.patch_bytes["pair_in_place"],
        "plain": paper.patch_bytes["pair"],
        "output_buffer": paper.buffer_bytes,
    }


def test_the_input_is_told_beside(paper: PatchPlan) -> None:
    assert paper.input_bytes == 3 * 224 * 224
    assert paper.with_input_bytes["pair_in_place"] == 137_200 + 25_088 + 150_528
    assert paper.before_bytes == {
        policy: plan(deployed("mobilenet_v2")).peak_bytes[policy] for policy in paper.before_bytes
    }


@pytest.mark.parametrize(
    ("name", "last", "grid"),
    [
        ("mobilenet_v2", "block3.add", Grid(3, 5)),
        ("mobilenet_v2", "block2.project", Grid(1, 1)),
        ("resnet18", "maxpool", Grid(4, 2)),
        ("mcunet_in4", "block6.add", Grid(2, 2)),
        ("alexnet", "pool2", Grid(3, 3)),
    ],
)
def test_the_largest_patches_are_the_peak_of_all(name: str, last: str, grid: Grid) -> None:
    graph = deployed(name)
    found = planned(graph, last, grid)
    for policy, size in found.patch_bytes.items():
        assert size == max(one.peak_bytes[policy] for one in found.patches), policy
    assert len(found.patches) == grid.patches


def test_one_patch_is_the_stage_itself() -> None:
    graph = deployed("mobilenet_v2")
    found = planned(graph, "block4.project", Grid(1, 1))
    assert found.stage_macs == found.clipped_macs
    (patch,) = found.patches
    assert patch.inputs["image"][2:] == ((0, 224), (0, 224))


def test_finer_grids_take_less_memory_and_more_work() -> None:
    graph = deployed("mobilenet_v2")
    plans = [planned(graph, "block3.add", Grid(size, size)) for size in (1, 2, 4, 7)]
    sizes = [one.patch_bytes["live"] for one in plans]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 4
    macs = [one.clipped_macs for one in plans]
    assert macs == sorted(macs)
    assert all(one.clipped_macs <= one.full_macs for one in plans)


def test_residuals_keep_what_they_add() -> None:
    """The halo of the longer branch is computed of the stem, and the shorter one reads its part where it lies."""
    graph = branched()
    (patch, *_) = planned(graph, "met", Grid(2, 2)).patches
    # 3 x 3 of the result; the stem with a row and a column more, 4 x 4, of 8 x 8 of the image and its border
    assert patch.inputs["x"] == ((0, 1), (0, 3), (0, 8), (0, 8))
    assert patch.peak_bytes["live"] == 8 * (4 * 4 + 3 * 3 + 3 * 3)


def test_a_grid_finer_than_the_map_is_refused() -> None:
    with pytest.raises(BadSpec, match="grid: 7 x 2 patches of a map of 6 x 6"):
        planned(branched(), "met", Grid(7, 2))
    with pytest.raises(BadSpec, match="grid: 0 x 2 patches"):
        planned(branched(), "met", Grid(0, 2))


def test_peaks_alone_are_those_of_the_plan() -> None:
    graph = deployed("mobilenet_v2")
    stage = stage_to(graph, "block3.add", OPERATORS)
    peaks, found = peaks_in(graph, stage, Grid(4, 4)), planned(graph, "block3.add", Grid(4, 4))
    for policy in found.peak_bytes:
        assert peaks.peak_bytes(policy) == found.peak_bytes[policy]
        assert peaks.peak_bytes(policy, with_input=True) == found.with_input_bytes[policy]


def test_a_network_that_is_not_counted_in_full_has_no_total_to_divide_by() -> None:
    graph = branched()
    opaque = Node("opaque", UNKNOWN, (("x", graph.outputs[0]),), ("out",), reason="nobody knows it")
    out = replace(graph.tensors[graph.outputs[0]], id="out")
    more = replace(graph, tensors={**graph.tensors, "out": out}, nodes=(*graph.nodes, opaque), outputs=("out",))
    found = planned(more, "met", Grid(2, 2))
    assert found.network_macs is None
    assert found.clipped_macs == planned(graph, "met", Grid(2, 2)).clipped_macs
    assert "the network is not counted in full" in text(in_patches(more, last="met", grid="2x2"), Look(200))


@pytest.mark.parametrize(
    ("name", "last", "grid"),
    [
        ("branched", "met", Grid(2, 3)),
        ("mobilenet_v2", "block3.add", Grid(3, 5)),
        ("resnet18", "maxpool", Grid(4, 2)),
        ("mcunet_in4", "block6.add", Grid(2, 2)),
        ("squeezenet", "fire3.concat", Grid(2, 2)),
    ],
)
def test_the_peaks_are_the_largest_of_the_steps(name: str, last: str, grid: Grid) -> None:
    """Under every policy, before and after, with the input and without."""
    graph = branched() if name == "branched" else deployed(name)
    found = planned(graph, last, grid)
    assert [step.name for step in found.steps] == [node.name for node in lifetimes(graph, OPERATORS).nodes]
    assert [step.name for step in found.steps if step.in_stage] == list(found.nodes)
    for policy in found.peak_bytes:
        assert max(step.before_bytes[policy] for step in found.steps) == found.before_bytes[policy]
        assert max(step.after_bytes[policy] for step in found.steps) == found.peak_bytes[policy]
        rest = [step.after_bytes[policy] for step in found.steps if not step.in_stage]
        assert max(rest) == found.rest_bytes[policy]
        for with_input, peaks in ((False, found.peak_bytes), (True, found.with_input_bytes)):
            patched = in_patches(graph, last=last, grid=tuple(grid), policy=policy, with_input=with_input)
            assert max(step.after_bytes for step in patched.steps) == patched.after_bytes == peaks[policy]
            assert max(step.before_bytes for step in patched.steps) == patched.before_bytes
            assert patched.to_dict()["steps"][0] == patched.steps[0]._asdict()


def test_the_steps_of_a_stage_have_what_all_patches_fill_in_them() -> None:
    """By hand: 3 x 3 of 6 x 6 results, the largest patch with 4 x 4 of the stem, as the left windows reach around it."""
    steps = {step.name: step for step in planned(branched(), "met", Grid(2, 2)).steps}
    buffer = 8 * 6 * 6
    assert steps["stem"].after_bytes["live"] == 8 * 4 * 4 + buffer
    assert steps["left"].after_bytes["live"] == 8 * (4 * 4 + 3 * 3) + buffer
    assert steps["right"].after_bytes["live"] == 8 * (4 * 4 + 3 * 3 + 3 * 3) + buffer
    assert steps["met"].after_bytes["live"] == 8 * (3 * 3 + 3 * 3) + buffer
    assert steps["after"].after_bytes == steps["after"].before_bytes


def test_a_patch_holds_no_result_of_its_own() -> None:
    """It goes into what all patches fill, and the input is read where it lies: of one layer nothing is left."""
    found = planned(branched(), "stem", Grid(2, 2))
    assert set(found.patch_bytes.values()) == {0}
    assert set(found.steps[0].after_bytes.values()) == {found.buffer_bytes}


@pytest.mark.parametrize(("shape", "bytes_alive"), [((1, 128), 128), ((1, 64), 256)])
def test_what_is_written_elsewhere_takes_no_room(shape: tuple[int, ...], bytes_alive: int) -> None:
    """Nor does what it is a view of, unless that is larger."""
    builder, kind = Builder("viewed"), DTYPES["int8"]
    x = builder.input("x", (1, 2, 8, 8), kind)
    made = builder.add("relu", [("x", x)], name="made")[0]
    end = builder.add("flatten", [("x", made)], {"axis": 1}, name="end")[0]
    graph = builder.graph([end])
    graph = replace(graph, tensors={**graph.tensors, end: replace(graph.tensors[end], shape=shape)})
    assert plan_of_values(graph, elsewhere=(end,)).peak_bytes["live"] == bytes_alive
    assert plan_of_values(graph, elsewhere=("x", "of nothing here")).peak_bytes["live"] == 128


def test_a_node_that_sees_all_of_a_map_sees_nothing_beyond_it() -> None:
    """A mean over the only column has no columns beyond the borders, where the windows behind it lie on padding."""
    build = Builder("mean")
    x = build.input("x", (1, 2, 6, 1), DTYPES["float32"])
    (y,) = build.add("reduce_mean", [("x", x)], {"axes": (3,), "keep_dims": True})
    for place in range(2):
        w = build.stored(f"w{place}", (2, 2, 3, 3), DTYPES["float32"])
        (y,) = build.add("conv", [("x", y), ("w", w)], {"padding": 1}, name=f"conv{place}")
    (y,) = build.add("relu", [("x", y)])
    made = planned(build.graph([y]), "conv1", Grid(2, 1))
    assert made.full_macs == made.clipped_macs > made.stage_macs
    assert in_patches(build.graph([y]), grid=("2x1", "3x1")).tried


@pytest.mark.parametrize("padding", [(3, 0, 0, 0), (0, 3, 0, 0), (0, 0, 3, 0), (0, 0, 0, 3)])
def test_a_patch_that_lies_on_padding_reads_nothing_of_the_input_where_that_ends(padding: tuple[int, ...]) -> None:
    build = Builder("padded")
    x = build.input("x", (1, 2, 3, 3), DTYPES["float32"])
    w = build.stored("w", (2, 2, 1, 1), DTYPES["float32"])
    (y,) = build.add("conv", [("x", x), ("w", w)], {"padding": padding}, name="conv")
    (y,) = build.add("relu", [("x", y)])
    boxes = [patch.inputs["x"] for patch in planned(build.graph([y]), "conv", Grid(3, 3)).patches]
    assert all(0 <= span.start <= span.stop <= 3 for box in boxes for span in box[2:])
    assert any(not span.size for box in boxes for span in box)


def huge(rows: int, columns: int) -> Graph:
    """Three layers of maps that no machine could hold."""
    build = Builder("huge")
    y = build.input("x", (1, 3, rows, columns), DTYPES["float32"])
    for place in range(3):
        w = build.stored(f"w{place}", (3, 3, 3, 3), DTYPES["float32"])
        (y,) = build.add("conv", [("x", y), ("w", w)], {"padding": 1}, name=f"conv{place}")
    return build.graph([y])


@pytest.mark.parametrize("grid", [(101, 100), (3000, 3000), (999_999, 999_999), (1, 10_001)])
def test_more_patches_than_can_be_looked_at_are_refused(grid: tuple[int, int]) -> None:
    with pytest.raises(BadSpec, match="are more than 10,000; choose a coarser grid"):
        in_patches(huge(2**20, 2**20), last="conv1", grid=grid)


@pytest.mark.parametrize(("rows", "columns"), [(2**40, 8), (8, 2**40), (2**40, 2**40)])
def test_rows_are_counted_before_they_are_followed(rows: int, columns: int) -> None:
    found = in_patches(huge(rows, columns), last="conv1", grid="2x2")
    assert found.plan is not None
    assert found.plan.clipped_macs > found.plan.stage_macs
    assert (found.streamed is None) == (rows > 8)
