"""Calls, composites, branches and what runs once: what is counted how often, and what comes out of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tflite.build import Op, Subgraph, Tensor, graph, load, model, op, operators, shapes, tensor
from tests.tflite.subgraphs import X, Y, layer, macs, number
from weighbridge import weigh
from weighbridge.errors import BadModel
from weighbridge.frontends import tflite_expansion
from weighbridge.graph import BRANCH


def choice(condition: Tensor) -> Subgraph:
    tensors = [X, Y, condition]
    branch = op("IF", "c x", "y", {"then_subgraph_index": 1, "else_subgraph_index": 2})
    return graph(tensors, [branch], "x c" if condition.data is None else "x", "y")


def test_of_two_branches_the_larger_counts_and_the_parameters_of_both() -> None:
    found = load(model(choice(tensor("c", (), "BOOL")), layer(4), layer(16)))
    (node,) = found.nodes
    assert (node.operator, node.operands) == (BRANCH, (("condition", "c"), ("captures", "x")))
    assert [body.graph.inputs for body in node.bodies] == [("x",), ("x",)]
    report = weigh(found)
    facts = report.facts
    assert (facts.macs, facts.weights, facts.exact) == (macs(16), 2 * 8 * 16 + 2 * 8 * 4, True)
    assert shapes(found) == [(2, 8)]
    assert any("counted is the branch else" in note for note in report.notes)


@pytest.mark.parametrize(("condition", "columns"), [(True, 4), (False, 16)])
def test_a_branch_whose_condition_is_stored_joins_the_graph(condition: bool, columns: int) -> None:
    found = load(model(choice(tensor("c", (), "BOOL", data=[condition])), layer(4), layer(16)))
    assert operators(found) == ["linear", "linear"]
    facts = weigh(found).facts
    assert (facts.macs, facts.exact) == (macs(columns), True)
    assert any("its condition is stored" in note for note in found.notes)
    assert not any("nothing calls" in note for note in found.notes)


def test_a_branch_hands_on_what_it_is_given() -> None:
    same = graph([X], [], "x", "x", "same")
    found = load(model(choice(tensor("c", (), "BOOL")), same, layer(4)))
    assert weigh(found).facts.macs == macs(4)
    assert shapes(found) == [(2, 8)]


def test_branches_of_other_shapes_leave_the_files_and_say_so() -> None:
    joined = graph([X, tensor("z", (4, 8))], [op("CONCATENATION", "x x", "z", {"axis": 0})], "x", "z", "joined")
    found = load(model(choice(tensor("c", (), "BOOL")), joined, layer(4)))
    assert shapes(found) == [(2, 8)]
    assert any("the shape of its result 0 depends on the branch" in note for note in found.notes)


def case(index: Tensor) -> Subgraph:
    branch = op("STABLEHLO_CASE", "i x", "y", {"branch_subgraph_indices": [1, 2, 3]})
    return graph([X, Y, index], [branch], "x i" if index.data is None else "x", "y")


@pytest.mark.parametrize(("index", "columns"), [(None, 16), (0, 4), (1, 16), (2, 8), (-1, 8), (3, 8)], ids=str)
def test_of_several_cases_the_one_that_is_known_or_the_largest_counts(index: int | None, columns: int) -> None:
    found = load(model(case(number("i", index)), layer(4), layer(16), layer(8)))
    facts = weigh(found).facts
    assert (facts.macs, facts.exact) == (macs(columns), True)
    if index is None:
        assert [body.name for body in found.nodes[0].bodies] == ["branch0", "branch1", "branch2"]


def calls(*options: str | tuple[str, dict[str, Any]]) -> Subgraph:
    """x through several calls of subgraphs."""
    tensors, operators_, last = [X], list[Op](), "x"
    for place, one in enumerate(options):
        name, given = (one, {"subgraph": 1}) if isinstance(one, str) else one
        tensors.append(tensor(f"h{place}", (2, 8)))
        operators_.append(op(name, last, f"h{place}", given))
        last = f"h{place}"
    return graph(tensors, operators_, "x", last)


def test_a_subgraph_that_is_called_twice_has_its_parameters_once_and_its_nodes_twice() -> None:
    found = load(model(calls("CALL", "CALL"), layer(4)))
    assert operators(found) == ["linear"] * 4
    assert len({node.name for node in found.nodes}) == 4
    facts = weigh(found).facts
    assert (facts.macs, facts.weights, facts.exact) == (2 * macs(4), 2 * 8 * 4, True)


def test_a_composite_is_what_it_decomposes_into_in_a_scope_of_its_name() -> None:
    given = {"name": "odml.rms_norm", "decomposition_subgraph_index": 1}
    found = load(model(calls(("STABLEHLO_COMPOSITE", given)), layer(4)))
    assert {node.scope for node in found.nodes} == {"odml_rms_norm"}
    assert weigh(found).facts.macs == macs(4)


def test_a_variable_of_a_subgraph_is_one_however_often_it_is_called() -> None:
    state = tensor("state", (2, 8), variable=True)
    inner = graph([X, state, Y], [op("ADD", "x state", "y")], "x", "y", "inner")
    found = load(model(calls("CALL", "CALL"), inner))
    assert weigh(found).memory.variable_bytes == 64


# What runs once


def test_what_runs_once_costs_no_inference_and_keeps_what_it_stores() -> None:
    once = graph(
        [tensor("h", (1,), "RESOURCE"), tensor("v0", (4, 8), data=True)],
        [op("VAR_HANDLE", "", "h", {"shared_name": "v"}), op("ASSIGN_VARIABLE", "h v0", "")],
        "",
        "",
        "once",
    )
    tensors = [X, tensor("h", (1,), "RESOURCE"), tensor("v", (4, 8)), tensor("y", (2, 4))]
    main = graph(
        tensors,
        [
            op("CALL_ONCE", "", "", {"init_subgraph_index": 1}),
            op("VAR_HANDLE", "", "h", {"shared_name": "v"}),
            op("READ_VARIABLE", "h", "v"),
            op("FULLY_CONNECTED", "x v -", "y"),
        ],
        "x",
        "y",
    )
    report = weigh(load(model(main, once)))
    assert (report.facts.macs, report.facts.exact, report.facts.work_exact) == (2 * 8 * 4, True, True)
    assert (report.facts.parameters, report.facts.constant_bytes, report.memory.variable_bytes) == (0, 128, 128)
    assert any("subgraph 1 runs once, before the first inference, and costs none" in note for note in report.notes)
    assert report.facts.deployed_bytes == 128


# Bad files


def test_a_subgraph_that_calls_itself_is_refused() -> None:
    again = calls("CALL")._replace(name="again")
    with pytest.raises(BadModel, match="calls itself"):
        load(model(calls("CALL"), again))


def test_calls_that_double_at_every_level_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tflite_expansion, "MAX_EXPANDED", 5_000)
    doubled = [
        graph(
            [X, tensor("h", (2, 8)), Y],
            [op("CALL", "x", "h", {"subgraph": level + 1}), op("CALL", "h", "y", {"subgraph": level + 1})],
            "x",
            "y",
        )
        for level in range(40)
    ]
    with pytest.raises(BadModel, match="expand to 5,000 nodes more"):
        load(model(*doubled, layer(4)))


def test_deep_nesting_is_refused() -> None:
    chain = [graph([X, Y], [op("CALL", "x", "y", {"subgraph": level + 1})], "x", "y") for level in range(300)]
    with pytest.raises(BadModel, match="nested more than"):
        load(model(*chain, layer(4)))


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("CALL", {"subgraph": 9}, "there is no subgraph 9"),
        ("WHILE", {"cond_subgraph_index": -3, "body_subgraph_index": 1}, "there is no subgraph -3"),
        ("WHILE", {"cond_subgraph_index": 1, "body_subgraph_index": 2}, "its condition is one of"),
        ("IF", {"then_subgraph_index": 1, "else_subgraph_index": 1}, "takes 1 tensors, and there are 0"),
        ("STABLEHLO_CASE", {"branch_subgraph_indices": []}, "there is no subgraph -1"),
        ("CALL_ONCE", {"init_subgraph_index": 1}, "it has 0 tensors"),
    ],
)
def test_what_does_not_fit_is_said(name: str, options: dict[str, Any], said: str) -> None:
    two = graph([X, Y], [], "x", "x x")
    with pytest.raises(BadModel, match=said):
        load(model(graph([X, Y], [op(name, "x", "y", options)], "x", "y"), two, layer(4)))


@pytest.mark.parametrize(("kind", "products"), [("mha", 32), ("gqa", 32), ("mqa", 32)])
def test_composites_of_files_have_the_macs_of_attention(kind: str, products: int, shared: Path) -> None:
    report = weigh(shared / "data" / "tflite" / "litert" / f"odml_sdpa_composite_{kind}.tflite.bin")
    assert report.facts.macs == 2 * products * 64 * 4
    assert {node.scope for node in report.facts.nodes} == {"odml_scaled_dot_product_attention"}
