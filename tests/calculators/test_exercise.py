"""A column to work out: figures are those of the counts, what they are made of multiplies to them, mistakes lead to other values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weighbridge
from weighbridge.calculators import preset
from weighbridge.calculators.exercise import COLUMNS, Task, tasks

NETWORKS = ("alexnet", "lenet5", "mlp", "depthwise_separable", "vgg16", "mobilenet_v1")


def of(network: str, column: str, batch: int = 1) -> dict[str, Task]:
    nodes = [one for one in weighbridge.weigh(network, batch=batch).nodes if one.operator not in ("flatten", "add")]
    specs = [preset(f"{network}.{one.name}:batch={batch}") for one in nodes]
    return {one.name: one for one in tasks(nodes, specs)[column]}


def hint(column: str, name: str, answer: int, network: str = "alexnet", batch: int = 1) -> str:
    return of(network, column, batch)[name].hint(answer)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("network", NETWORKS)
def test_a_figure_is_what_it_is_made_of(network: str, batch: int, column: str) -> None:
    """Of a network whose layers with weights are convolutions and linear ones, as the textbook's are."""
    for task in of(network, column, batch).values():
        if not task.symbols:
            assert task.value == 0
            assert task.worked.startswith("0, as ")
            continue
        symbols, *numbers = task.worked.split(" = ")
        assert symbols == task.symbols or not numbers
        assert len(symbols.split(" x ")) == len(numbers[0].split(" x "))
        assert evaluated(numbers[0]) == task.value
        assert numbers[-1] == f"{task.value:,}"


def evaluated(text: str) -> int:
    return sum(prod(int(one.replace(",", "")) for one in part.split(" x ")) for part in text.split(" + "))


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("network", NETWORKS)
def test_no_mistake_has_the_value_itself_and_none_is_there_twice(network: str, column: str) -> None:
    for task in of(network, column, batch=4).values():
        values = [one.value for one in task.mistakes]
        assert task.value not in values
        assert len(values) == len(set(values))


def test_the_values_are_those_of_the_report() -> None:
    nodes = {one.name: one for one in weighbridge.weigh("alexnet").nodes}
    for column, field in (("weights", "weights"), ("parameters", "parameters"), ("macs", "macs")):
        for name, task in of("alexnet", column).items():
            assert task.value == getattr(nodes[name], field)
    for name, task in of("alexnet", "activations").items():
        assert task.value == prod(nodes[name].output or ())


def mistakes() -> Iterator[tuple[str, str, int, str]]:
    yield "parameters", "conv1", 34_848, "biases are missing"
    yield "weights", "conv1", 34_944, "biases are not counted"
    yield "weights", "conv2", 614_400, "its own group"
    yield "parameters", "conv2", 614_656, "its own group"
    yield "weights", "conv4", 331_776, "divide it once"
    yield "weights", "conv3", 442_368, "no groups"
    yield "weights", "conv3", 149_520_384, "MACs"
    yield "weights", "conv3", 294_912, "height and a width"
    yield "weights", "conv3", 98_304, "kernel is missing"
    yield "weights", "fc6", 177_209_344, "pool5 stands before it"
    yield "weights", "conv3", 3_538_944, "bytes"
    yield "macs", "conv1", 210_830_400, "FLOPs"
    yield "macs", "conv1", 34_848, "every place"
    yield "macs", "conv2", 447_897_600, "its own group"
    yield "macs", "conv2", 929_280_000, "pool1 stands before it"
    yield "macs", "conv1", 105_415_200 + 290_400, "a bias is an addition"
    yield "macs", "conv1", 34_848 * 224 * 224, "the map that comes out"
    yield "macs", "pool1", 69_984, "nothing is multiplied"
    yield "activations", "conv1", 150_528, "what goes in"
    yield "activations", "conv1", 440_928, "goes in and what comes out"
    yield "activations", "conv1", 3_025, "channels are missing"
    yield "activations", "conv2", 93_312, "all 2 groups"
    yield "activations", "conv1", 1_161_600, "bytes"
    yield "activations", "pool5", 0, "all the same"
    yield "activations", "conv3", 384 * 27 * 27, "pool2 stands before it"


@pytest.mark.parametrize(("column", "name", "answer", "said"), list(mistakes()))
def test_a_common_mistake_is_recognised(column: str, name: str, answer: int, said: str) -> None:
    assert said in hint(column, name, answer)


def test_a_batch_multiplies_what_grows_with_it_and_nothing_else() -> None:
    assert "multiplies no weights" in hint("weights", "conv3", 8 * 884_736, batch=8)
    assert "one input" in hint("macs", "conv3", 149_520_384, batch=8)
    assert "one input" in hint("activations", "conv3", 64_896, batch=8)


@given(st.integers(0, 10**12))
def test_any_other_answer_is_told_what_the_figure_is_made_of(answer: int) -> None:
    task = CONV3
    known = {task.value, *(one.value for one in task.mistakes)}
    if answer not in known:
        assert task.hint(answer) == "it is c_o x c_i x k_h x k_w x h_o x w_o"


CONV3 = of("alexnet", "macs")["conv3"]


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("conv1", r"11x11, stride 4, padding 2"),
        ("conv2", r"5x5, padding 2, 2 groups"),
        ("pool5", "3x3, stride 2"),
        ("fc6", ""),
    ],
)
def test_a_window_is_said_as_one_says_it(name: str, window: str) -> None:
    task = of("alexnet", "macs", batch=2)[name]
    assert task.window == window
    assert re.fullmatch(r"\d+(, \d+){0,2}", ", ".join(map(str, task.output_shape)))
    assert 2 not in (task.input_shape[0], task.output_shape[0])
