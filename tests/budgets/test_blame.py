"""Who is to blame: the layer that was widened, never one that was renamed, and without a baseline the largest."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random

import pytest

from tests.budgets.made import result
from tests.report.samples import alexnet, node, report
from weighbridge import load, weigh
from weighbridge.budgets.blame import Blamed
from weighbridge.budgets.language import budget_of
from weighbridge.budgets.record import OVER, PASSED
from weighbridge.counts import NodeFacts
from weighbridge.memory import TensorSpan
from weighbridge.report import Report
from weighbridge.report.layers import LayerChange, layers_of
from weighbridge.report.matching import Differences
from weighbridge.textbook import __file__ as textbook

SHARES = {
    "macs": ("macs", 1),
    "flops": ("macs", 1),
    "nonzero_macs": ("macs", 1),
    "parameters": ("weights", 1),
    "weights": ("weights", 1),
    "nonzero_parameters": ("nonzero_weights", 1),
    "deployed_parameters": ("weights", 1),
    "parameter_bytes": ("weight_bytes", 4),
    "weight_bytes": ("weight_bytes", 4),
    "deployed_bytes": ("weight_bytes", 4),
}
"""Metrics with a share of each layer, what that is called, and what one weight more adds to it."""


def layer(name: str, width: int) -> NodeFacts:
    made = node(name, weights=9 * width, macs=9 * width, output=(1, width, 4, 4))
    return made._replace(nonzero_weights=9 * width, nonzero_macs=9 * width)


def of(nodes: list[NodeFacts]) -> Report:
    made = report(nodes)
    facts = made.facts
    return replace(made, facts=facts._replace(nonzero_parameters=facts.parameters, nonzero_macs=facts.macs))


def widened_and_renamed(seed: int) -> tuple[Report, Report, str]:
    """A network before and after one layer is widened and another renamed, and the name of the first."""
    random = Random(seed)
    widths = [random.choice((8, 16, 24, 32)) for _ in range(random.randint(4, 12))]
    wide, renamed = random.sample(range(len(widths)), 2)
    before = [layer(f"stage{place}.conv", width) for place, width in enumerate(widths)]
    widths[wide] += 1
    after = [layer(f"stage{place}.conv", width) for place, width in enumerate(widths)]
    after[renamed] = after[renamed]._replace(name="expand")
    return of(before), of(after), after[wide].name


@pytest.mark.parametrize("metric", SHARES)
@pytest.mark.parametrize("seed", range(12))
def test_the_widened_layer_is_named_and_the_renamed_one_is_not(metric: str, seed: int) -> None:
    before, after, name = widened_and_renamed(seed)
    by, size = SHARES[metric]
    found = result(after, f"{metric} grows <= 0 %", before)
    assert found.status == OVER
    (blame,) = found.blame
    assert (blame.name, blame.by, blame.growth) == (name, by, 9 * size)
    assert blame.before is not None
    assert getattr(blame.after, by) - getattr(blame.before, by) == blame.growth
    if metric != "flops":
        assert found.over_by == blame.growth


@pytest.mark.parametrize("seed", range(12))
def test_a_renamed_layer_alone_breaks_nothing(seed: int) -> None:
    before, _, name = widened_and_renamed(seed)
    after = of([one._replace(name="renamed") if one.name == name else one for one in before.nodes])
    for metric in SHARES:
        assert result(after, f"{metric} grows <= 0 %", before).status == PASSED
        broken = result(after, f"{metric} <= 1", before)
        assert all(blame.growth is None for blame in broken.blame)
        assert all(blame.before == blame.after for blame in broken.blame)


def test_several_layers_that_grew_come_by_their_growth_and_new_ones_with_all_they_have() -> None:
    before = of([layer("a", 8), layer("b", 8), layer("c", 8)])
    after = of([layer("a", 9), layer("b", 30), layer("c", 4), layer("d", 16)])
    found = result(after, "macs grow <= 2 %", before)
    assert [(one.name, one.growth) for one in found.blame] == [("b", 198), ("d", 144), ("a", 9)]
    assert found.blame[1].before is None


def test_without_a_baseline_the_largest_are_named() -> None:
    made = report(alexnet())
    macs = [blame.name for blame in result(made, "macs <= 1 M").blame]
    assert macs == ["conv2", "conv3", "conv4", "conv1", "conv5"]
    sizes = result(made, "parameter_bytes <= 1 MB").blame
    assert [blame.name for blame in sizes][:2] == ["fc6", "fc7"]
    assert {(blame.before, blame.growth, blame.by) for blame in sizes} == {(None, None, "weight_bytes")}


def test_nobody_is_to_blame_for_what_passes() -> None:
    assert result(report(alexnet()), "macs <= 1 G").blame == ()


def lenet5(tmp_path, name: str, *changes: tuple[str, str]) -> str:
    """LeNet-5 with these texts of its file changed."""
    from pathlib import Path

    text = (Path(textbook).parent / "lenet5.toml").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


WIDER = ('name = "c3", op = "conv", out = 16', 'name = "c3", op = "conv", out = 20')
RENAMED = ('name = "c1"', 'name = "stem"')


def test_a_widened_convolution_of_a_network_and_the_layer_that_reads_it(tmp_path) -> None:
    before = weigh(lenet5(tmp_path, "before"))
    after = weigh(lenet5(tmp_path, "after", WIDER, RENAMED))
    found = result(after, "macs grow <= 2 % against the baseline", before)
    # c3: 5 x 5 x 6 for each of 4 maps of 10 x 10; c5: 5 x 5 for each of 4 maps more and 120 outputs
    assert [(one.name, one.growth) for one in found.blame] == [("c3", 150 * 4 * 100), ("c5", 25 * 4 * 120)]
    assert found.over_by == 150 * 4 * 100 + 25 * 4 * 120 - 416_520 * 2 // 100
    assert found.baseline == 416_520


def test_a_peak_names_the_widened_layer_and_the_one_that_sets_it(tmp_path) -> None:
    before = weigh(lenet5(tmp_path, "before"))
    wider = ('name = "c1", op = "conv", out = 6', 'name = "c1", op = "conv", out = 8')
    after = weigh(lenet5(tmp_path, "after", wider))
    for policy in ("live", "arena_tflm"):
        found = result(after, f"peak_bytes grows <= 0 % under {policy}", before)
        grown, setter = found.blame
        assert (grown.name, grown.by, grown.growth) == ("c1", "output_bytes", 2 * 28 * 28 * 4)
        assert (setter.name, setter.by) == ("s2", "output_bytes")
        assert "the peak is set at s2" in found.notes
        assert any(note.startswith("alive there: tanh1 (25,088 B), s2 (6,272 B)") for note in found.notes)


def test_a_peak_that_moved_says_from_where_and_one_whose_layer_was_renamed_does_not(tmp_path) -> None:
    before = weigh(lenet5(tmp_path, "before"))
    renamed = weigh(lenet5(tmp_path, "renamed", ('name = "s2"', 'name = "pool"')))
    said = result(renamed, "peak_bytes <= 1 under live", before).notes
    assert said[0] == "the peak is set at pool"
    wide = weigh(lenet5(tmp_path, "wide", ('name = "c3", op = "conv", out = 16', 'name = "c3", op = "conv", out = 80')))
    moved = result(wide, "peak_bytes grows <= 0 % under live", before)
    assert moved.notes[0] == "the peak is set at s4, and was at s2 in the baseline"
    assert [one.name for one in moved.blame] == ["c3", "s4"]


def test_an_input_that_is_alive_blames_no_layer(tmp_path) -> None:
    """The first layer makes no more than before; what grew beside it is the input, which no layer makes."""
    found = result(weigh("lenet5:batch=2"), "peak_bytes grows <= 0 % under live", weigh("lenet5"))
    assert {one.name for one in found.blame} == {"c1", "s2"}
    assert "digit" not in {one.name for one in found.blame}


@pytest.mark.parametrize("metric", ["floor_s", "layerwise_s", "energy_j", "needed_bytes.memory"])
def test_a_figure_of_a_device_names_the_widened_layer(metric: str, tmp_path) -> None:
    before = weigh(lenet5(tmp_path, "before"), on="toy")
    after = weigh(lenet5(tmp_path, "after", WIDER, RENAMED), on="toy")
    found = result(after, f"{metric} grows <= 0 % on toy", before, ["toy"])
    assert found.status == OVER
    assert {one.name for one in found.blame} >= {"c3"}
    assert "stem" not in {one.name for one in found.blame}


def test_what_does_not_fit_names_the_largest_weights_or_what_sets_the_peak() -> None:
    """Both memories are too small: each has somebody to blame."""
    made = weigh("alexnet", on="stm32f746")
    assert [bool(region.short_bytes) for region in made.on[0].fit.regions] == [True, True]
    names = [one.name for one in result(made, "fits", on=["stm32f746"]).blame]
    assert names == ["fc6", "fc7", "fc8", made.memory.peak_node["live"]]


def test_a_name_from_a_file_is_printable() -> None:
    odd = node("a\x1b[31m", weights=9, macs=9)
    found = result(report([odd]), "peak_bytes <= 1 under live")
    assert all(note.isprintable() for note in found.notes)


def test_the_graph_is_not_needed() -> None:
    """A saved report is judged as the one that was saved."""
    found = weigh(load("lenet5"), on="toy")
    again = Report.from_json(found.to_json())
    for budget in ("macs <= 1", "peak_bytes <= 1 under live", "floor_s <= 1 ns", "fits"):
        assert result(again, budget, on=["toy"])[1:] == result(found, budget, on=["toy"])[1:]


def test_a_memory_of_activations_names_who_fills_it(tmp_path) -> None:
    before = weigh(lenet5(tmp_path, "before"), on="stm32f746")
    wider = ('name = "c1", op = "conv", out = 6', 'name = "c1", op = "conv", out = 8')
    after = weigh(lenet5(tmp_path, "after", wider), on="stm32f746")
    found = result(after, "needed_bytes.SRAM grows <= 0 %", before, ["stm32f746"])
    assert [(one.name, one.by) for one in found.blame] == [("c1", "output_bytes"), ("s2", "output_bytes")]
    flash = result(after, "needed_bytes.flash grows <= 0 %", before, ["stm32f746"])
    assert {one.by for one in flash.blame} == {"weight_bytes"}


def test_an_input_that_outlives_the_first_layer_does_not_blame_it() -> None:
    """The input is alive from the first node on, as the output of that node is, which is gone when the peak comes."""

    def made(width: int) -> Report:
        nodes = [layer("first", width), layer("second", 4), layer("third", 90)]
        whole = of(nodes)
        spans = [("x", 0, 2), ("first", 0, 1), ("second", 1, 2), ("third", 2, 2)]
        sizes = {"x": 9000, **{one.name: one.output_bytes for one in nodes}}
        memory = whole.memory._replace(
            tensors=tuple(TensorSpan(name, sizes[name], first, last) for name, first, last in spans),
            peak_node={"live": "third"},
            peak_bytes={"live": 20_000 + width},
        )
        return replace(whole, memory=memory)

    found = result(made(9), "peak_bytes grows <= 0 % under live", made(8))
    assert [one.name for one in found.blame] == ["third"]


def test_a_name_that_two_layers_had_is_that_of_the_one_that_is_there() -> None:
    """``Conv_0`` is gone, and what was ``Conv_1`` is ``Conv_0`` now, and wider."""
    gone, old, new = (layers_of([layer("Conv_0", width)])[0].figures for width in (64, 8, 9))
    after = of([layer("Conv_0", 9)])
    moved = LayerChange("Conv_0", old, new, "Conv_1", "shape")
    for changes in itertools.permutations((LayerChange("Conv_0", gone, None), moved)):
        blamed = Blamed(after, layers_of(after.nodes), Differences(changes, 0, ()), {})
        (blame,) = blamed.layers(budget_of("macs grow <= 0 %"))
        assert (blame.before, blame.growth) == (old, 9)
