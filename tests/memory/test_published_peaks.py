"""The figures that others have published, policy by policy: ours are equal, and the page of the policies names them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from weighbridge import Report, weigh
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.memory import POLICIES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "peak-memory.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def published(shared: Path) -> dict[str, Any]:
    return tomllib.loads((shared / "facts" / "published.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def mobilenet() -> Report:
    return weigh("mobilenet_v2", precision="int8")


def on_the_page(*figures: int) -> None:
    for figure in figures:
        assert re.search(rf"\b({figure}|{figure:,})\b", PAGE), figure


def test_mobilenet_v2(published: dict[str, Any], mobilenet: Report) -> None:
    wanted, found = published["mobilenet_v2_peaks"], mobilenet.memory.peak_bytes
    assert (found["pair"], found["pair_in_place"], found["held"]) == (
        wanted["pair_B"],
        wanted["pair_in_place_B"],
        wanted["held_B"],
    )
    assert found["nhcwb16_vela"] + 4448 == wanted["vela_u55_B"]
    on_the_page(*(peak for peak in found.values() if peak is not None))
    on_the_page(wanted["vela_u55_B"], wanted["eager_as_written_B"])


def test_padding_of_its_own(published: dict[str, Any]) -> None:
    builder = Builder("padding of block 2")
    x = builder.input("x", (1, 96, 112, 112), DTYPES["int8"])
    (y,) = builder.add("pad", [("x", x)], {"pads": (0, 0, 1, 1, 0, 0, 1, 1)})
    wanted = published["mobilenet_v2_peaks"]["tflm_with_explicit_pad_B"]
    assert weigh(builder.graph([y])).memory.peak_bytes["arena_tflm"] == wanted
    on_the_page(wanted)


def test_behind_the_patches(published: dict[str, Any], mobilenet: Report) -> None:
    behind = [node.name for node in mobilenet.nodes].index("block5.expand.conv")
    peak = max(mobilenet.memory.profile["pair_in_place"][behind:])
    assert peak == mobilenet.memory.profile["pair_in_place"][behind] == published["patch_based"]["network_peak_B"]
    live = max(mobilenet.memory.profile["live_in_place"][behind:])
    assert live == 200_704
    on_the_page(peak, live)


def test_resnet50(published: dict[str, Any]) -> None:
    wanted, memory = published["resnet50_peak"], weigh("resnet50").memory
    for policy in ("live_in_place", "pair", "held"):
        assert memory.peak_bytes[policy] == wanted[f"{policy}_B"]
        on_the_page(wanted[f"{policy}_B"])
    assert memory.peak_bytes["live"] == wanted["pair_B"]
    assert memory.peak_bytes["held_contractions"] == wanted["live_in_place_B"]
    assert memory.peak_elements["pair_in_place"] == wanted["values"]["resnet50_pair_in_place"]
    assert weigh("resnet18").memory.peak_elements["pair"] == wanted["values"]["resnet18_pair"]


def test_visual_wake_words(published: dict[str, Any]) -> None:
    """The textbook's network has the arena of MLPerf Tiny's file."""
    memory = weigh("mobilenet_v1:width=0.25,resolution=96,classes=2", precision="int8").memory
    alive, arena = re.search(
        r"at most ([\d,]+) B are alive at once, the planner needs ([\d,]+) B",
        published["tflm_arena"]["live_is_not_enough"],
    ).groups()
    assert f"{memory.peak_bytes['live']:,}" == f"{memory.arena.lower_bound_bytes:,}" == alive
    assert f"{memory.peak_bytes['arena_tflm']:,}" == arena
    on_the_page(memory.peak_bytes["live"], memory.peak_bytes["arena_tflm"])


def test_every_policy_is_on_the_page() -> None:
    table = PAGE.partition("|---|---|---|\n")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in table.splitlines()))) == set(POLICIES)
