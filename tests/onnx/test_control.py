"""Functions, branches, loops and scans: what is counted how often, and shapes that come out of them."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from tests.onnx.build import BOOL, FLOAT, INT64, graph, load, model, node, operators, shapes, tensor, value, weight
from weighbridge import weigh
from weighbridge.errors import BadModel
from weighbridge.frontends import onnx_capture, onnx_control
from weighbridge.frontends.onnx_expansion import Expansion
from weighbridge.graph import BRANCH, LOOP, SCAN, UNKNOWN

X, Y, CONDITION = value("x", [2, 8]), value("y", None), value("c", [], BOOL)


def _branch(columns: int, name: str) -> onnx.GraphProto:
    """x times a stored matrix of this many columns, back to 8 of them."""
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("MatMul", ["h", "v"], [name])]
    return graph(nodes, [], [value(name, None)], [weight("w", 8, columns), weight("v", columns, 8)])


def _if(nodes: list[onnx.NodeProto], inputs: list[onnx.ValueInfoProto], *stored: onnx.TensorProto) -> onnx.ModelProto:
    choice = node("If", ["c"], ["y"], then_branch=_branch(4, "t"), else_branch=_branch(16, "e"))
    return model(graph([*nodes, choice], inputs, [Y], stored))


def test_of_two_branches_the_larger_counts_and_the_parameters_of_both() -> None:
    found = load(_if([], [X, CONDITION]))
    assert [one.operator for one in found.nodes] == [BRANCH]
    choice = found.nodes[0]
    assert choice.operands == (("condition", "c"), ("captures", "x"))
    assert [body.graph.inputs for body in choice.bodies] == [("x",), ("x",)]
    assert len({one.id for body in choice.bodies for one in body.graph.stored()}) == 4
    facts = weigh(found).facts
    assert facts.macs == 2 * 2 * 8 * 16
    assert facts.weights == 2 * 8 * 16 + 2 * 8 * 4
    assert facts.exact
    assert shapes(found) == [(2, 8)]


@pytest.mark.parametrize(("rank", "columns"), [(2, 4), (3, 16)])
def test_a_branch_that_is_known_to_be_taken_joins_the_graph(rank: int, columns: int) -> None:
    nodes = [node("Shape", ["x"], ["s"]), node("Size", ["s"], ["rank"]), node("Equal", ["rank", "rank_2"], ["c"])]
    found = load(_if(nodes, [value("x", [8] * rank)], tensor("rank_2", 2)))
    assert operators(found) == ["equal", "linear", "linear"]
    assert weigh(found).facts.macs == 2 * 8 ** (rank - 1) * 8 * columns


def _loop(condition: str = "keep", limit: str = "m", carried: tuple[int, ...] = (2, 8)) -> onnx.ModelProto:
    """h := h w, collected in every round; ``keep`` comes out as it went in, ``stop`` is computed."""
    nodes = [
        node("MatMul", ["h", "w"], ["h_out"]),
        node("Identity", ["keep"], ["on"]),
        node("ReduceMax", ["h_out"], ["most"], keepdims=0),
        node("Less", ["most", "bound"], ["stop"]),
        node("Identity", ["h_out"], ["each"]),
    ]
    out = {"keep": "on", "computed": "stop"}[condition]
    body = graph(
        nodes,
        [value("i", [], INT64), value("keep", [], BOOL), value("h", None)],
        [value(out, [], BOOL), value("h_out", None), value("each", None)],
        [weight("w", 8, 8), tensor("bound", 1.0, "float32")],
    )
    loop = node("Loop", [limit, "", "x"], ["last", "y"], body=body)
    made = graph(
        [loop],
        [value("x", carried), value("n", [], INT64)],
        [value("last", None), Y],
        [tensor("m", 5), weight("w", 8, 8)],
    )
    return model(made)


def test_a_loop_of_known_trips_multiplies() -> None:
    found = load(_loop())
    (loop,) = found.nodes
    assert (loop.operator, loop.bodies[0].trips, loop.reason) == (LOOP, 5, "")
    assert shapes(found) == [(2, 8), (5, 2, 8)]
    facts = weigh(found).facts
    assert (facts.macs, facts.weights, facts.exact) == (5 * 2 * 8 * 8, 64, True)


@pytest.mark.parametrize(("condition", "limit"), [("computed", "m"), ("keep", "n"), ("keep", "")])
def test_a_loop_whose_end_depends_on_values_counts_one_trip_and_says_so(condition: str, limit: str) -> None:
    found = load(_loop(condition, limit))
    assert found.nodes[0].bodies[0].trips is None
    assert shapes(found) == [(2, 8), None]
    facts = weigh(found).facts
    assert (facts.macs, facts.exact) == (2 * 8 * 8, False)
    assert [one.node for one in facts.uncounted] == [found.nodes[0].name]


def test_a_loop_without_macs_has_none_however_often_it_runs() -> None:
    body = graph(
        [node("Relu", ["h"], ["h_out"]), node("Identity", ["keep"], ["on"])],
        [value("i", [], INT64), value("keep", [], BOOL), value("h", None)],
        [value("on", [], BOOL), value("h_out", None)],
    )
    made = graph([node("Loop", ["n", "", "x"], ["y"], body=body, name="again")], [X, value("n", [], INT64)], [Y])
    facts = weigh(load(model(made))).facts
    assert (facts.macs, facts.exact, facts.uncounted) == (0, True, ())
    assert any(
        "again: how often it runs depends on values; it has no MACs" in text for text in weigh(load(model(made))).notes
    )


def test_a_loop_that_never_starts_counts_nothing() -> None:
    made = _loop()
    made.graph.initializer[0].CopyFrom(tensor("m", 0))
    found = load(made)
    assert found.nodes[0].bodies[0].trips == 0
    assert shapes(found) == [(2, 8), (0, 2, 8)]
    assert weigh(found).facts.macs == 0


def test_a_tensor_that_grows_in_a_loop_has_no_shape() -> None:
    body = graph(
        [node("Concat", ["h", "x"], ["h_out"], axis=0), node("Identity", ["keep"], ["on"])],
        [value("i", [], INT64), value("keep", [], BOOL), value("h", None)],
        [value("on", [], BOOL), value("h_out", None)],
    )
    made = graph([node("Loop", ["m", "", "x"], ["y"], body=body)], [X], [Y], [tensor("m", 3)])
    found = load(model(made))
    assert shapes(found) == [None]
    assert found.nodes[0].bodies[0].trips == 3


def _scan(opset: int, inputs: list[str], shapes_of: dict[str, list[int]], **more: Any) -> onnx.ModelProto:
    nodes = [
        node("MatMul", ["row", "w"], ["p"]),
        node("Add", ["p", "sum"], ["next"]),
        node("Identity", ["p"], ["each"]),
    ]
    body = graph(
        nodes,
        [value("sum", None), value("row", None)],
        [value("next", None), value("each", None)],
        [weight("w", 8, 8)],
    )
    scan = node("Scan", inputs, ["last", "y"], body=body, num_scan_inputs=1, **more)
    return model(graph([scan], [value(*one) for one in shapes_of.items()], [value("last", None), Y]), opset=opset)


def test_a_scan_runs_once_an_element() -> None:
    found = load(_scan(11, ["s", "x"], {"s": [2, 8], "x": [7, 2, 8]}))
    assert (found.nodes[0].operator, found.nodes[0].bodies[0].trips) == (SCAN, 7)
    assert shapes(found) == [(2, 8), (7, 2, 8)]
    assert weigh(found).facts.macs == 7 * 2 * 8 * 8


def test_a_scan_walks_and_collects_along_the_axes_it_names() -> None:
    made = _scan(11, ["s", "x"], {"s": [2, 8], "x": [2, 7, 8]}, scan_input_axes=[1], scan_output_axes=[-1])
    found = load(made)
    assert found.nodes[0].bodies[0].trips == 7
    assert shapes(found) == [(2, 8), (2, 8, 7)]


def test_a_scan_of_opset_8_runs_over_the_batch_too() -> None:
    found = load(_scan(8, ["", "s", "x"], {"s": [3, 2, 8], "x": [3, 7, 2, 8]}))
    assert found.nodes[0].bodies[0].trips == 21
    assert shapes(found) == [(3, 2, 8), (3, 7, 2, 8)]
    assert weigh(found).facts.macs == 21 * 2 * 8 * 8


def test_a_body_that_does_not_fit_its_node_is_refused() -> None:
    made = _scan(11, ["s", "x"], {"s": [2, 8], "x": [7, 2, 9]})
    with pytest.raises(BadModel, match=r"model\.onnx: Scan_0: MatMul_0: an input of shape"):
        load(made)


def _function(name: str, *nodes: onnx.NodeProto, attributes: tuple[str, ...] = ()) -> onnx.FunctionProto:
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    return helper.make_function("mine", name, ["a", "b"], ["r"], list(nodes), imports, list(attributes))


def _calling(*functions: onnx.FunctionProto, **attributes: Any) -> onnx.ModelProto:
    call = node(functions[0].name, ["x", "w"], ["y"], domain="mine", name="call", **attributes)
    made = graph([call], [X], [Y], [weight("w", 8, 4)])
    return model(made, functions=list(functions), opset_imports=[helper.make_opsetid("mine", 1)])


def test_a_function_is_put_in_the_place_of_its_call() -> None:
    body = [node("MatMul", ["a", "b"], ["m"]), node("LeakyRelu", ["m"], ["r"])]
    body[1].attribute.append(onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope"))
    found = load(_calling(_function("Layer", *body, attributes=("slope",)), slope=0.25))
    assert [(one.name, one.operator, one.origin) for one in found.nodes] == [
        ("call/MatMul_0", "linear", "MatMul"),
        ("call/LeakyRelu_0", "leaky_relu", "LeakyRelu"),
    ]
    assert found.nodes[1].attributes["alpha"] == pytest.approx(0.25)
    assert found.outputs == (found.nodes[1].outputs[0],)
    assert weigh(found).facts.macs == 2 * 8 * 4


_HELD = {
    "value": ({"value": weight("k", 8, 8)}, 64),
    "sparse_value": (
        {"sparse_value": helper.make_sparse_tensor(tensor("k", [1.0], "float32"), tensor("i", [3]), [8, 8])},
        64,
    ),
    "value_floats": ({"value_floats": [0.5] * 8}, 8),
}


def _loop_over(operator: str, result: str) -> onnx.GraphProto:
    nodes = [node("Identity", ["on"], ["stay"]), node(operator, ["h", "h"], [result], domain="mine")]
    inputs = [value("i", [], INT64), value("on", [], BOOL), value("h", [2, 8])]
    return graph(nodes, inputs, [value("stay", [], BOOL), value(result, [2, 8])])


@pytest.mark.parametrize("form", _HELD)
@pytest.mark.parametrize("places", ["graph graph", "graph loop", "loop graph", "loop loop"])
def test_what_a_function_stores_is_one_storage_however_often_it_is_called(form: str, places: str) -> None:
    attributes, elements = _HELD[form]
    reader = "Add" if form == "value_floats" else "MatMul"
    layer = _function("Layer", node("Constant", [], ["k"], **attributes), node(reader, ["a", "k"], ["r"]))
    nodes, before = [], "x"
    for index, place in enumerate(places.split()):
        after = "xhy"[index + 1]
        if place == "graph":
            nodes.append(node("Layer", [before, before], [after], domain="mine"))
        else:
            nodes.append(node("Loop", ["trips", "", before], [after], body=_loop_over("Layer", f"r{index}")))
        before = after
    made = graph(nodes, [X], [Y], [tensor("trips", 3)])
    facts = weigh(load(model(made, functions=[layer], opset_imports=[helper.make_opsetid("mine", 1)]))).facts
    calls = sum(1 if place == "graph" else 3 for place in places.split())
    assert (facts.parameters, facts.deployed_parameters) == (elements, elements)
    assert facts.macs == (0 if reader == "Add" else calls * 2 * 8 * 8)


def test_what_the_calls_of_a_function_give_it_are_storages_of_their_own() -> None:
    constant = onnx.NodeProto(op_type="Constant", output=["k"])
    constant.attribute.add(name="value", type=onnx.AttributeProto.TENSOR, ref_attr_name="given")
    layer = _function("Layer", constant, node("MatMul", ["a", "k"], ["r"]), attributes=("given",))
    nodes = [
        node("Layer", ["x", "x"], ["h"], domain="mine", given=weight("first", 8, 8)),
        node("Layer", ["h", "h"], ["y"], domain="mine", given=weight("second", 8, 8)),
    ]
    made = model(graph(nodes, [X], [Y]), functions=[layer], opset_imports=[helper.make_opsetid("mine", 1)])
    assert weigh(load(made)).facts.parameters == 2 * 64


def test_functions_of_one_name_are_told_apart_by_their_overload() -> None:
    made = _calling(
        _function("Layer", node("MatMul", ["a", "b"], ["r"])), _function("Layer", node("Relu", ["a"], ["r"]))
    )
    made.functions[1].overload = made.graph.node[0].overload = "other"
    assert operators(load(made)) == ["relu"]


def test_a_function_that_calls_itself_is_refused() -> None:
    first = _function("A", node("B", ["a", "b"], ["r"], domain="mine"))
    second = _function("B", node("A", ["a", "b"], ["r"], domain="mine"))
    with pytest.raises(BadModel, match="the function 'A' calls itself"):
        load(_calling(first, second))


def test_functions_that_double_at_every_level_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_capture, "MAX_EXPANDED", 2_000)
    levels = [
        _function(
            f"F{level}",
            node(f"F{level + 1}", ["a", "b"], ["h"], domain="mine"),
            node(f"F{level + 1}", ["a", "b"], ["r"], domain="mine"),
        )
        for level in range(40)
    ]
    with pytest.raises(BadModel, match="functions and bodies expand to more than 2,000 nodes"):
        load(_calling(*levels, _function("F40", node("MatMul", ["a", "b"], ["r"]))))


def test_the_size_of_functions_is_known_before_any_of_them_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("a node was built")

    levels = [
        _function(f"F{level}", *(node(f"F{level + 1}", ["a", "b"], [f"r{one}"], domain="mine") for one in range(20)))
        for level in range(40)
    ]
    for one in levels:
        one.node[-1].output[0] = "r"
    last = _function("F40", node("MatMul", ["a", "b"], ["r"]))
    calling = _calling(*levels, last)
    monkeypatch.setattr(onnx_capture.Capture, "translate", never)
    with pytest.raises(BadModel, match="functions and bodies expand to more than 200,000 nodes"):
        load(calling)


@given(st.lists(st.lists(st.integers(0, 7), max_size=4), min_size=8, max_size=8))
def test_the_expected_size_is_what_expansion_gives(calls: list[list[int]]) -> None:
    """Functions that call only later ones, against expansion by recursion."""
    protos = {
        ("mine", f"F{index}", ""): helper.make_function(
            "mine",
            f"F{index}",
            [],
            [],
            [
                node(f"F{one}" if one > index else "Relu", [], [], domain="mine" if one > index else "")
                for one in callees
            ],
            [],
        )
        for index, callees in enumerate(calls)
    }

    def expand(index: int) -> int:
        return sum(expand(one) if one > index else 1 for one in calls[index])

    expansion = Expansion(protos)
    assert [expansion.nodes(("mine", f"F{index}", "")) for index in range(8)] == [expand(index) for index in range(8)]


def test_a_long_chain_of_functions_is_refused() -> None:
    count = onnx_control.MAX_DEPTH + 20
    chain = [_function(f"F{one}", node(f"F{one + 1}", ["a", "b"], ["r"], domain="mine")) for one in range(count)]
    with pytest.raises(BadModel, match="nested more than 100 deep"):
        load(_calling(*chain, _function(f"F{count}", node("MatMul", ["a", "b"], ["r"]))))


def test_subgraphs_of_an_unknown_operator_are_not_forgotten() -> None:
    odd = node("Search", ["x"], ["y"], domain="elsewhere", decoder=_branch(4, "t"))
    made = graph([odd], [X], [Y], [weight("outside", 3)])
    odd.attribute[0].g.node.append(node("Add", ["t", "outside"], ["u"]))
    made.node[0].CopyFrom(odd)
    found = load(model(made, opset_imports=[helper.make_opsetid("elsewhere", 1)]))
    (only,) = found.nodes
    assert only.operator == UNKNOWN
    assert only.operands == (("inputs", "x"), ("captures", "outside"), ("captures", "x"))
    assert (
        only.reason == "there is no rule for elsewhere.Search, and its subgraphs store 64 values that are not counted"
    )


def test_sequences_and_optionals_are_carried() -> None:
    nodes = [
        node("SplitToSequence", ["x"], ["s"], axis=1),
        node("SequenceAt", ["s", "zero"], ["part"]),
        node("Optional", ["x"], ["o"]),
        node("OptionalGetElement", ["o"], ["back"]),
        node("MatMul", ["back", "w"], ["y"]),
    ]
    made = graph(nodes, [X], [Y, value("part", None)], [tensor("zero", 0), weight("w", 8, 4)])
    found = load(model(made, opset=18))
    assert shapes(found) == [(2, 4), None]
    facts = weigh(found).facts
    assert (facts.macs, facts.exact) == (64, True)
    assert FLOAT == 1
