"""Operators with thousands of operands or results, and calls that add up: twice of them take twice the work, or are refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.steps import steps
from tests.tflite.build import graph, load, model, op, operators, tensor
from tests.tflite.writer import Tensor
from weighbridge.errors import BadModel
from weighbridge.graph import UNKNOWN


def named(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def of(names: list[str], kind: str = "FLOAT32", size: int = 1) -> list[Tensor]:
    return [tensor(name, (size,), kind) for name in names]


def without_rules(count: int) -> bytes:
    """An operator with operands and results that its rule does not know."""
    outputs = named("y", count)
    tensors = [tensor("x", (1,), signature=(-1,)), *(tensor(one, (1,), signature=(-1,)) for one in outputs)]
    return model(graph(tensors, [op("RELU", ["x"] * count, outputs)], "x", outputs))


def loop(count: int, *, grows: bool) -> bytes:
    """A loop in which each tensor becomes the next; where the first one grows, no shape is left after ``count`` passes."""
    inputs, outputs = named("x", count), named("y", count)
    first = op("CONCATENATION", "x0 x0", "y0", {}) if grows else op("RELU", "x0", "y0")
    rest = [op("RELU", one, other) for one, other in zip(inputs, outputs[1:], strict=False)]
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    return model(
        graph([*of(inputs), *of(outputs)], [op("WHILE", inputs, outputs, options)], inputs, outputs),
        graph([*of(inputs), tensor("c", (1,), "BOOL", data=True)], [], inputs, "c"),
        graph([*of(inputs), *of(outputs)], [first, *rest], inputs, outputs),
    )


def branches(count: int) -> bytes:
    """A branch whose results have other shapes than those of the other one."""
    inputs, outputs = named("x", count), named("y", count)
    options = {"then_subgraph_index": 1, "else_subgraph_index": 2}
    one = [op("RELU", x, y) for x, y in zip(inputs, outputs, strict=True)]
    other = [op("CONCATENATION", [x, x], y, {}) for x, y in zip(inputs, outputs, strict=True)]
    condition = tensor("c", (1,), "BOOL")
    return model(
        graph(
            [condition, *of(inputs), *of(outputs)],
            [op("IF", ["c", *inputs], outputs, options)],
            ["c", *inputs],
            outputs,
        ),
        graph([*of(inputs), *of(outputs)], one, inputs, outputs),
        graph([*of(inputs), *of(outputs, size=2)], other, inputs, outputs),
    )


def unpacked(count: int) -> bytes:
    outputs = named("y", count)
    made = [op("UNPACK", "x", outputs, {"num": count, "axis": 0})]
    return model(graph([tensor("x", (count, 1)), *of(outputs)], made, "x", outputs))


@pytest.mark.parametrize(
    "made",
    [without_rules, lambda count: loop(count, grows=True), lambda count: loop(count, grows=False), branches, unpacked],
    ids=["results without a rule", "a loop that grows", "a loop", "branches", "parts"],
)
def test_twice_the_tensors_take_twice_the_work(made: Callable[[int], bytes]) -> None:
    load(made(2))  # what is imported on the way is no work
    few, many = made(150), made(300)
    assert steps(lambda: load(many)) < 2.3 * steps(lambda: load(few))


def test_results_that_a_rule_does_not_have_are_one_node() -> None:
    found = load(without_rules(3))
    assert [(one.operator, len(one.outputs), one.reason) for one in found.nodes] == [
        ("relu", 1, ""),
        (UNKNOWN, 2, "there is no rule for results 1 to 2 of RELU"),
    ]
    assert [found.tensors[one].shape for one in found.outputs] == [(1,)] * 3


def test_a_loop_in_which_all_shapes_change_sooner_or_later_keeps_none() -> None:
    for grows, lost in ((True, 5), (False, 0)):
        found = load(loop(5, grows=grows))
        assert sum(found.tensors[one].shape is None for one in found.outputs) == lost


def test_a_tensor_that_is_packed_a_hundred_times_is_raised_once() -> None:
    made = [op("PACK", ["x"] * 100, "y", {"axis": 0})]
    found = load(model(graph([tensor("x", (4,)), tensor("y", (100, 4))], made, "x", "y")))
    assert operators(found) == ["unsqueeze", "concat"]
    assert found.tensors[found.outputs[0]].shape == (100, 4)


def test_a_subgraph_with_many_results_is_not_called_over_and_over() -> None:
    """Each call is an operator without a tensor, of a subgraph without an operator."""
    init = graph([tensor("c", (1,), data=True)], [], "", ["c"] * 50_000)
    once = [op("CALL_ONCE", "", "", {"init_subgraph_index": 1})]
    main = graph([tensor("x", (1,)), tensor("y", (1,))], [op("RELU", "x", "y"), *once * 100], "x", "y")
    with pytest.raises(BadModel, match="its subgraphs expand to 20,000 nodes more than they have"):
        load(model(main, init))
