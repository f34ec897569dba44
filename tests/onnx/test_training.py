"""Gradients of a part of the graph and optimisers: MACs against loops over the definition, shapes and work against executions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tests.onnx.build import graph, load, model, node, operators, shapes, tensor, value, weight
from tests.onnx.execute import Single, model_of
from tests.operators.execution import Tally
from weighbridge import weigh
from weighbridge.errors import BadModel
from weighbridge.frontends import onnx_training
from weighbridge.frontends.onnx_table import RULES
from weighbridge.graph import Graph, Role

DOMAIN = "ai.onnx.preview.training"
IMPORTS = [helper.make_opsetid(DOMAIN, 1)]


def gradient(
    xs: Sequence[str], y: str = "y", zs: Sequence[str] = (), at: Sequence[str] = (), results: Sequence[str] = ()
) -> onnx.NodeProto:
    outputs = list(results) or [f"d{name}" for name in xs]
    attributes = {"y": y, "xs": list(xs), **({"zs": list(zs)} if zs else {})}
    return node("Gradient", list(at) or [*xs, *zs], outputs, name="gradient", domain=DOMAIN, **attributes)


def loaded(nodes: Sequence[onnx.NodeProto], inputs: dict[str, Sequence[int]], *stored: onnx.TensorProto) -> Graph:
    given = [value(name, shape) for name, shape in inputs.items()]
    results = [one for made in nodes if made.op_type == "Gradient" for one in made.output if one]
    return load(model(graph(nodes, given, [value(one, None) for one in results], stored), opset_imports=IMPORTS))


def own_macs(found: Graph) -> int:
    """Those of the Gradient nodes alone."""
    return sum(one.macs for one in weigh(found, as_written=True).nodes if one.operator == "gradient")


def test_a_graph_without_contractions_has_a_gradient_without_macs() -> None:
    nodes = [
        node("Mul", ["a", "b"], ["p"]),
        node("Exp", ["p"], ["e"]),
        node("ReduceSum", ["e"], ["y"]),
        gradient(["a"], zs=["b"]),
    ]
    found = loaded(nodes, {"a": [2, 3], "b": [3]})
    facts = weigh(found).facts
    assert (shapes(found), facts.macs, facts.exact, facts.work_exact) == ([(2, 3)], 0, True, False)


def _linear(rows: int, k: int, columns: int) -> tuple[int, int]:
    """Products of the gradients by the operands of a matrix product, element by element."""
    by_x = sum(1 for _ in product(range(rows), range(k), range(columns)))
    by_w = sum(1 for _ in product(range(k), range(columns), range(rows)))
    return by_x, by_w


@pytest.mark.parametrize(("xs", "which"), [(["x"], [0]), (["w"], [1]), (["w", "x"], [0, 1])])
def test_each_operand_that_is_varied_takes_a_product(xs: list[str], which: list[int]) -> None:
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("Relu", ["h"], ["y"])]
    rest = [name for name in ("x", "w") if name not in xs]
    found = loaded([*nodes, gradient(xs, zs=rest)], {"x": [5, 4], "w": [4, 3]})
    both = _linear(5, 4, 3)
    assert own_macs(found) == sum(both[index] for index in which)
    assert shapes(found) == [{"x": (5, 4), "w": (4, 3)}[name] for name in xs]


def test_only_what_is_asked_for_and_what_lies_between_counts() -> None:
    nodes = [
        node("Gemm", ["x", "w", "b"], ["h"]),
        node("Relu", ["h"], ["r"]),
        node("MatMul", ["r", "v"], ["y"]),
        node("MatMul", ["y", "u"], ["beyond"]),
    ]
    inputs = {"x": [5, 4], "w": [4, 3], "b": [3], "v": [3, 2], "u": [2, 7]}
    first, second = _linear(5, 4, 3), _linear(5, 3, 2)
    for asked, expected in (
        (gradient(["v"], zs=["w", "b", "x"]), second[1]),
        (gradient(["b"], zs=["w", "v", "x"]), second[0]),
        (gradient(["w", "v"], zs=["b", "x"]), second[0] + second[1] + first[1]),
        (gradient(["w", "v"], zs=["b", "x"], results=["", "dv"]), second[1]),
        (gradient(["r", "v"]), sum(second)),
        (gradient(["x", "w"], zs=["b", "v"]), second[0] + sum(first)),
    ):
        assert own_macs(loaded([*nodes, asked], inputs)) == expected, asked.attribute


def test_at_other_values_the_graph_between_runs_again() -> None:
    nodes = [
        node("MatMul", ["x", "w"], ["h"]),
        node("MatMul", ["h", "v"], ["y"]),
        node("MatMul", ["c", "d"], ["apart"]),
    ]
    inputs = {"x": [5, 4], "w": [4, 3], "v": [3, 2], "w2": [4, 3], "c": [9, 9], "d": [9, 9]}
    same = loaded([*nodes, gradient(["w"], zs=["x", "v"])], inputs)
    other = loaded([*nodes, gradient(["w"], zs=["x", "v"], at=["w2", "x", "v"])], inputs)
    assert own_macs(other) - own_macs(same) == 5 * 4 * 3 + 5 * 3 * 2


@pytest.mark.parametrize("groups", [1, 2])
def test_a_convolution_by_image_and_weight(groups: int) -> None:
    """Every tap of every output position, padding included, takes part once in either gradient."""
    conv = node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1], strides=[2, 2], group=groups)
    inputs = {"x": [2, 4, 7, 6], "w": [6, 4 // groups, 3, 3], "b": [6]}
    macs = {"x": 0, "w": 0}
    for _ in np.ndindex(2, 6, 4, 3):  # images, output channels, output rows and columns
        for _ in np.ndindex(4 // groups, 3, 3):
            macs["x"] += 1  # dy times a weight, added to where the tap lies
            macs["w"] += 1  # dy times what the tap reads, added to the weight
    for name in ("x", "w"):
        rest = [one for one in ("x", "w", "b") if one != name]
        assert own_macs(loaded([conv, gradient([name], zs=rest)], inputs)) == macs[name]
    assert own_macs(loaded([conv, gradient(["b"], zs=["x", "w"])], inputs)) == 0


def test_parameters_stay_parameters() -> None:
    nodes = [node("MatMul", ["x", "w"], ["y"]), gradient(["w"], zs=["x"])]
    found = loaded(nodes, {"x": [5, 4]}, weight("w", 4, 3))
    facts = weigh(found).facts
    assert (facts.macs, facts.weights, facts.exact) == (2 * 5 * 4 * 3, 12, True)


def test_a_gradient_may_stand_before_what_it_derives() -> None:
    found = loaded([gradient(["x"]), node("Relu", ["x"], ["y"])], {"x": [5, 4]})
    assert operators(found) == ["relu", "gradient"]


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        (
            [node("Softmax", ["x"], ["h"]), node("Einsum", ["h", "h"], ["y"], equation="ij,ij->i")],
            "derivative of Einsum has no rule",
        ),
        ([node("Det", ["x"], ["y"])], "the derivative of Det has no rule"),
        ([node("Foo", ["x"], ["y"], domain="mine")], "what mine.Foo computes is differentiated, which has no rule"),
        (
            [node("Relu", ["x"], ["y"]), gradient(["x"]), gradient(["x"], y="dx", results=["ddx"])],
            "derivative of .*Gradient",
        ),
    ],
)
def test_what_has_no_rule_is_said(nodes: list[onnx.NodeProto], reason: str) -> None:
    if nodes[-1].op_type != "Gradient":
        nodes = [*nodes, gradient(["x"])]
    nodes[-1].name = "last"
    imports = [*IMPORTS, helper.make_opsetid("mine", 1)]
    made = graph(nodes, [value("x", [4, 4])], [value(nodes[-1].output[0], None)])
    found = load(model(made, opset_imports=imports))
    (missing,) = [one for one in weigh(found).facts.uncounted if one.node == "last"]
    assert missing.operator == f"{DOMAIN}.Gradient"
    assert re.search(reason, missing.reason)
    assert shapes(found) == [(4, 4)]


def test_what_a_body_derives_of_its_surroundings_is_not_known() -> None:
    branch = graph([gradient(["x"], results=["t"])], [], [value("t", None)])
    nodes = [node("Relu", ["x"], ["y"]), node("If", ["c"], ["z"], then_branch=branch, else_branch=branch)]
    given = [value("x", [4]), value("c", [], onnx.TensorProto.BOOL)]
    found = load(model(graph(nodes, given, [value("z", None)]), opset_imports=IMPORTS))
    reasons = {one.reason for one in weigh(found).facts.uncounted}
    assert reasons == {"what is derived is not computed in this graph"}


def test_many_gradients_of_a_long_graph_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_training, "MAX_WALKED", 100)
    chain = [node("Relu", ["x" if index == 0 else f"h{index}"], [f"h{index + 1}"]) for index in range(40)]
    asked = [gradient(["x"], y="h40", results=[f"d{index}"]) for index in range(4)]
    uncounted = weigh(loaded([*chain, *asked], {"x": [2]})).facts.uncounted
    assert [one.reason for one in uncounted] == ["more than 100 nodes lie between the tensors of all gradients"] * 2


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"y": "gone"}, "reads 'gone', which nothing makes"),
        ({"xs": ["gone"]}, "reads 'gone', which nothing makes"),
        ({"xs": ["x", "x"]}, "names 2 and 0 tensors and is given 1"),
        ({"y": 3}, "does not say what is derived by what"),
        ({"xs": 3}, "does not say what is derived by what"),
        ({"zs": [1, 2]}, "does not say what is derived by what"),
    ],
)
def test_gradients_that_contradict_themselves(changed: dict[str, Any], says: str) -> None:
    attributes = {"y": "y", "xs": ["x"], **changed}
    asked = node("Gradient", ["x"], ["dx"], name="gradient", domain=DOMAIN, **attributes)
    with pytest.raises(BadModel, match=rf"gradient: {says}|lacks"):
        loaded([node("Relu", ["x"], ["y"]), asked], {"x": [4]})


# Optimisers


def adam(t: Tally, x: float, g: float, v: float, h: float) -> None:
    regular = t.add(t.mul(0.1, x), g)
    new_v = t.add(t.mul(0.9, v), t.mul(0.1, regular))
    new_h = t.add(t.mul(0.9, h), t.mul(t.mul(0.1, regular), regular))
    root = t.add(t.special(np.sqrt, new_h), 1e-6)
    t.mul(0.9, t.sub(x, t.div(t.mul(0.1, new_v), root)))


def adam_once(t: Tally) -> None:
    powers = t.special(pow, 0.9, 2), t.special(pow, 0.8, 2)
    rate = t.div(t.mul(0.1, t.special(np.sqrt, t.sub(1, powers[0]))), t.sub(1, powers[1]))
    t.select(True, rate, 0.1)


def adagrad(t: Tally, x: float, g: float, h: float) -> None:
    regular = t.add(t.mul(0.1, x), g)
    root = t.add(t.special(np.sqrt, t.add(h, t.mul(regular, regular))), 1e-6)
    t.sub(x, t.div(t.mul(0.1, regular), root))


def adagrad_once(t: Tally) -> None:
    t.div(0.1, t.add(1, t.mul(2, 0.1)))


def momentum(t: Tally, x: float, g: float, v: float) -> None:
    regular = t.add(t.mul(0.1, x), g)
    t.sub(x, t.mul(0.1, t.add(t.mul(0.9, v), t.mul(0.1, regular))))


def nesterov(t: Tally, x: float, g: float, v: float) -> None:
    regular = t.add(t.mul(0.1, x), g)
    new = t.add(t.mul(0.9, v), t.mul(0.1, regular))
    t.sub(x, t.mul(0.1, t.add(regular, t.mul(0.9, new))))


def momentum_once(t: Tally) -> None:
    t.select(True, 0.1, 1)


MOMENTUM = {"alpha": 0.9, "beta": 0.1, "norm_coefficient": 0.1}
STEPS: list[tuple[str, dict[str, Any], int, Callable[..., None], Callable[[Tally], None]]] = [
    ("Adam", {}, 2, adam, adam_once),
    ("Adagrad", {}, 1, adagrad, adagrad_once),
    ("Momentum", {**MOMENTUM, "mode": "standard"}, 1, momentum, momentum_once),
    ("Momentum", {**MOMENTUM, "mode": "nesterov"}, 1, nesterov, momentum_once),
]


@pytest.mark.parametrize(("op", "attributes", "states", "element", "once"), STEPS)
@pytest.mark.parametrize("sizes", [[(2, 3)], [(2, 3), (4,)]])
def test_steps_of_optimisers(
    op: str,
    attributes: dict[str, Any],
    states: int,
    element: Callable[..., None],
    once: Callable[[Tally], None],
    sizes: list[tuple[int, ...]],
) -> None:
    arrays = [np.array(0.1, "float32"), np.array(2)]
    arrays += [np.ones(size, "float32") for size in sizes * (2 + states)]
    call = Single(op, arrays, attributes, len(sizes) * (1 + states), DOMAIN, 1)
    made = model_of(call)
    results = ReferenceEvaluator(made).run(None, {f"i{index}": array for index, array in enumerate(arrays)})
    found = load(made)
    assert shapes(found) == [one.shape for one in results]
    t = Tally()
    for size in sizes:
        for _ in np.ndindex(size):
            element(t, 0.5, 0.5, *[0.5] * states)
    once(t)
    facts = weigh(found).facts
    assert (facts.work, facts.macs, facts.exact) == (t.work, 0, True)


def test_what_an_optimiser_keeps_is_no_parameter() -> None:
    names = ["rate", "count", "w", "dw", "v", "h"]
    stored = [
        tensor("rate", 0.1, "float32"),
        tensor("count", 1),
        weight("w", 4, 3),
        weight("v", 4, 3),
        weight("h", 4, 3),
    ]
    nodes = [node("Adam", names, ["w2", "v2", "h2"], domain=DOMAIN)]
    made = graph(nodes, [value("dw", [4, 3])], [value(one, None) for one in ("w2", "v2", "h2")], stored)
    found = load(model(made, opset_imports=IMPORTS))
    assert {one.id: one.role for one in found.stored()} == {
        "rate": Role.CONSTANT,
        "count": Role.CONSTANT,
        "w": Role.PARAMETER,
        "v": Role.BUFFER,
        "h": Role.BUFFER,
    }


@pytest.mark.parametrize(
    ("op", "count", "attributes", "says"),
    [
        ("Adam", 7, {}, "has 7 operands, which are no rate, count and xs, gradients, momenta, squares"),
        ("Adam", 2, {}, "has 2 operands"),
        ("Momentum", 5, {"mode": "fast"}, "its mode is 'fast', neither standard nor nesterov"),
        ("Momentum", 5, {"mode": 3}, "its mode is 3"),
    ],
)
def test_steps_that_contradict_themselves(op: str, count: int, attributes: dict[str, Any], says: str) -> None:
    with pytest.raises(BadModel, match=says):
        load(model_of(Single(op, [np.ones(3, "float32")] * count, attributes, 1, DOMAIN, 1)))


def test_states_of_another_shape_are_refused() -> None:
    arrays = [np.array(0.1, "float32"), np.array(2), *(np.ones(size, "float32") for size in (3, 3, 3, 4))]
    with pytest.raises(BadModel, match="the squares are not of the shapes of the tensors"):
        load(model_of(Single("Adam", arrays, {}, 3, DOMAIN, 1)))


def test_every_operator_of_the_domain_is_described() -> None:
    known = {one.name for one in onnx.defs.get_all_schemas_with_history() if one.domain == DOMAIN}
    assert set(RULES[DOMAIN]) | set(onnx_training.TRAINING_SPECIAL) == known
