"""The page of an order of execution: what is alive over time before and after, drawn so that it keeps to the terminal, and as data."""

from __future__ import annotations

import json

import pytest

from tests.memory.test_order import random_graph
from weighbridge import best_order
from weighbridge.memory import plan
from weighbridge.passes import deploy
from weighbridge.report.ordered import Ordered
from weighbridge.report.ordered_page import alive, markdown, text
from weighbridge.report.terminal import Look


@pytest.fixture(scope="module", params=range(12))
def found(request: pytest.FixtureRequest) -> Ordered:
    return best_order(random_graph(request.param, 3 + request.param))


def test_the_profile_has_both_peaks_and_every_layer_once(found: Ordered) -> None:
    assert max(step.before_bytes for step in found.profile) == found.before_bytes
    assert max(step.after_bytes for step in found.profile) == found.peak_bytes
    assert tuple(step.after_name for step in found.profile) == found.order
    assert sorted(step.before_name for step in found.profile) == sorted(found.order)


def test_a_step_is_where_the_table_of_moved_layers_says(found: Ordered) -> None:
    for one in found.moved:
        assert found.profile[one.before].before_name == one.name
        assert found.profile[one.after].after_name == one.name


@pytest.mark.parametrize("seed", range(12))
def test_the_profile_as_it_is_is_that_of_the_plan_of_memory(seed: int) -> None:
    graph = random_graph(seed, 9)
    alive = tuple(step.before_bytes for step in best_order(graph).profile)
    assert alive == plan(deploy(graph)).profile["live"]


def test_the_json_has_the_profile_whole(found: Ordered) -> None:
    steps = json.loads(found.to_json())["profile"]
    assert [tuple(step.values()) for step in steps] == [tuple(step) for step in found.profile]
    assert all(list(step) == ["before_name", "before_bytes", "after_name", "after_bytes"] for step in steps)


def test_the_page_draws_what_its_sentences_and_its_table_say(found: Ordered) -> None:
    drawn = alive(found)
    assert drawn.curves[0].peak_bytes == found.before_bytes
    assert drawn.curves[-1].peak_bytes == found.peak_bytes
    assert len(drawn.curves) == (2 if found.moved else 1)
    assert [one.marked for one in drawn.curves] == [
        {one.before for one in found.moved},
        {one.after for one in found.moved},
    ][: len(drawn.curves)]
    shown = text(found, Look(100))
    assert f"as it is: peak {found.before_bytes:,} B" in shown
    assert f"{found.bound_bytes:,} B, which no order goes below" in " ".join(shown.split())
    assert ("layers that run at another time;" in shown) == bool(found.moved)


@pytest.mark.parametrize("width", [*range(40, 201, 16), 61])
def test_it_keeps_to_the_terminal_and_to_ascii(found: Ordered, width: int) -> None:
    shown = text(found, Look(width, unicode=False))
    assert shown.isascii()
    assert max(map(len, shown.splitlines())) <= max(60, width)


def test_the_drawing_is_code_in_markdown(found: Ordered) -> None:
    shown = markdown(found)
    _, code, _ = shown.split("```")
    assert code.startswith("text\nbytes alive while each layer runs")
    assert "█" in code
