"""Loops: how often they run where the file tells it, what they hand on unchanged, and what comes out of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tflite.build import Subgraph, Tensor, graph, load, model, op, shapes, tensor
from tests.tflite.subgraphs import X, Y, matrix, number
from weighbridge import weigh
from weighbridge.errors import BadModel
from weighbridge.frontends.from_tflite import load_tflite
from weighbridge.graph import LOOP, Graph


def counter(test: str, limit: Tensor, step: int | None = 1, more: str = "ADD") -> tuple[Subgraph, Subgraph]:
    """Condition and body: as long as the test of counter and limit holds, x goes through a layer, and the counter counts."""
    truth = tensor("c", (), "BOOL")
    carried = [number("i"), X] + ([limit] if limit.data is None else [])
    names = " ".join(one.name for one in carried)
    condition = graph(
        [*dict.fromkeys((*carried, limit)), truth], [op(test, f"i {limit.name}", "c")], names, "c", "cond"
    )
    tensors = [*carried, matrix("w"), Y, number("one", step), number("next")]
    counts = op(more, "i one", "next")
    rest = " ".join(one.name for one in carried[2:])
    body = graph(tensors, [op("FULLY_CONNECTED", "x w -", "y"), counts], names, f"next y {rest}", "body")
    return condition, body


def loop(condition: Subgraph, body: Subgraph, *starts: Tensor, op_name: str = "WHILE") -> Graph:
    """A loop over the counter, x, and more."""
    begins = [starts[0], X, *starts[1:]]
    ends = [one._replace(name=f"{one.name}_out", data=None) for one in begins]
    given = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    inputs, outputs = (" ".join(one.name for one in some) for some in (begins, ends))
    free = " ".join(one.name for one in begins if one.data is None)
    main = graph([*begins, *ends], [op(op_name, inputs, outputs, given)], free, ends[1].name)
    return load(model(main, condition, body))


def trips(found: Graph) -> int | None:
    (node,) = [one for one in found.nodes if one.operator == LOOP]
    return node.bodies[0].trips


def test_a_loop_whose_counter_and_limit_are_stored_multiplies() -> None:
    found = loop(*counter("LESS", number("limit", 7)), number("i0", 2))
    (node,) = [one for one in found.nodes if one.operator == LOOP]
    assert (node.bodies[0].trips, node.reason) == (5, "")
    assert node.operands == (("condition", node.operands[0][1]), ("carried", "i0"), ("carried", "x"))
    assert shapes(found) == [(2, 8)]
    assert weigh(found).facts.macs == 5 * 2 * 8 * 8


def test_a_limit_that_is_carried_unchanged_is_taken_from_outside() -> None:
    found = loop(*counter("LESS", number("n")), number("i0", 0), number("n0", 3))
    (node,) = [one for one in found.nodes if one.operator == LOOP]
    assert node.bodies[0].trips == 3
    assert [name for name, _ in node.operands] == ["condition", "carried", "carried"]
    assert "n0" in {one.id for one in node.bodies[0].graph.stored()}
    assert weigh(found).facts.macs == 3 * 2 * 8 * 8


@pytest.mark.parametrize(
    ("limit", "start"), [(number("n"), number("i0")), (number("limit", 7), number("i0"))], ids=["limit", "start"]
)
def test_a_loop_whose_end_depends_on_values_counts_one_pass_and_says_so(limit: Tensor, start: Tensor) -> None:
    more = [number("n0")] if limit.data is None else []
    found = loop(*counter("LESS", limit), start, *more)
    assert trips(found) is None
    facts = weigh(found).facts
    assert (facts.macs, facts.exact) == (2 * 8 * 8, False)
    assert [one.operator for one in facts.uncounted if "one trip" in one.reason] == ["WHILE"]


def test_a_step_that_depends_on_values_leaves_the_number_of_passes_open() -> None:
    condition, body = counter("LESS", number("limit", 7), None)
    body = body._replace(inputs=[*body.inputs, "one"], outputs=[*body.outputs, "one"])
    condition = condition._replace(tensors=[*condition.tensors, number("one")], inputs=[*condition.inputs, "one"])
    assert trips(loop(condition, body, number("i0", 0), number("step"))) is None
    assert trips(loop(condition, body, number("i0", 0), number("step", 2))) == 4


def test_two_conditions_hold_as_long_as_both_do() -> None:
    condition, body = counter("LESS", number("limit", 7))
    tensors = [*condition.tensors, number("most", 4), tensor("d", (), "BOOL"), tensor("e", (), "BOOL")]
    both = [*condition.operators, op("LESS_EQUAL", "i most", "d"), op("LOGICAL_AND", "c d", "e")]
    found = loop(condition._replace(tensors=tensors, operators=both, outputs=["e"]), body, number("i0", 0))
    assert trips(found) == 5


SAFE = st.integers(-12, 12)
TESTS = {
    "LESS": lambda a, b: a < b,
    "LESS_EQUAL": lambda a, b: a <= b,
    "GREATER": lambda a, b: a > b,
    "GREATER_EQUAL": lambda a, b: a >= b,
    "EQUAL": lambda a, b: a == b,
    "NOT_EQUAL": lambda a, b: a != b,
}


def executed(test: str, start: int, limit: int, step: int) -> int | None:
    """How often a loop runs, by running it; None for one that does not end soon."""
    for passes in range(100):
        if not TESTS[test](start, limit):
            return passes
        start += step
    return None


@given(st.sampled_from(sorted(TESTS)), SAFE, SAFE, SAFE, st.sampled_from(["ADD", "SUB"]))
def test_the_number_of_passes_is_that_of_an_execution(test: str, start: int, limit: int, step: int, more: str) -> None:
    found = loop(*counter(test, number("limit", limit), step, more), number("i0", start))
    assert trips(found) == executed(test, start, limit, step if more == "ADD" else -step)


@given(st.sampled_from(range(6)), SAFE, SAFE, SAFE)
def test_so_it_is_of_stablehlo(direction: int, start: int, limit: int, step: int) -> None:
    condition, body = counter("STABLEHLO_COMPARE", number("limit", limit), step, "STABLEHLO_ADD")
    compared = condition.operators[0]._replace(options={"comparison_direction": direction})
    condition = condition._replace(operators=[compared])
    test = ("EQUAL", "NOT_EQUAL", "GREATER_EQUAL", "GREATER", "LESS_EQUAL", "LESS")[direction]
    found = loop(condition, body, number("i0", start), op_name="STABLEHLO_WHILE")
    assert trips(found) == executed(test, start, limit, step)


def test_a_counter_that_would_overflow_ends_nobody_knows_when() -> None:
    condition, body = counter("LESS_EQUAL", number("limit", 127, "INT8"))
    tensors = [one._replace(type="INT8") if one.type == "INT32" else one for one in (*condition.tensors, *body.tensors)]
    parts = (len(condition.tensors), None)
    condition = condition._replace(tensors=tensors[: parts[0]])
    body = body._replace(tensors=tensors[parts[0] :])
    assert trips(loop(condition, body, number("i0", 0, "INT8"))) is None


def test_a_counter_that_follows_another() -> None:
    """TensorFlow counts twice: for the loop, and for who wrote it; the second number is the first of the next pass."""
    condition, body = counter("LESS", number("limit", 7))
    condition = condition._replace(
        tensors=[*condition.tensors, number("j")],
        inputs=[*condition.inputs, "j"],
        operators=[op("LESS", "j limit", "c")],
    )
    body = body._replace(
        tensors=[*body.tensors, number("j")], inputs=[*body.inputs, "j"], outputs=[*body.outputs, "next"]
    )
    assert trips(loop(condition, body, number("i0", 0), number("j0", 0))) == 7
    # It starts behind: one pass more.
    assert trips(loop(condition, body, number("i0", 0), number("j0", -5))) == 7
    assert trips(loop(condition, body, number("i0", 0), number("j0", 9))) == 0


def test_loops_in_loops_multiply_and_share_what_they_hand_on() -> None:
    """The inner limit and the weight go through the outer loop unchanged."""
    condition, body = counter("LESS", number("n"))
    weight = matrix("w")._replace(data=None)
    inner = body._replace(
        tensors=[weight if one.name == "w" else one for one in body.tensors],
        inputs=[*body.inputs, "w"],
        outputs=[*body.outputs, "w"],
    )
    tests = condition._replace(tensors=[*condition.tensors, weight], inputs=[*condition.inputs, "w"])
    carried = [number("i"), X, number("n"), weight]
    ends = [one._replace(name=f"{one.name}_out") for one in carried]
    given = {"cond_subgraph_index": 3, "body_subgraph_index": 4}
    names = "i x n w"
    outer_body = graph(
        [*carried, *ends, number("zero", 0), number("one", 1), number("next")],
        [op("WHILE", "zero x n w", "i_out x_out n_out w_out", given), op("ADD", "i one", "next")],
        names,
        "next x_out n_out w_out",
        "outer",
    )
    begins = [number("i0", 0), X, number("n0", 3), matrix("w0")]
    results = [one._replace(name=f"{one.name}_end", data=None) for one in begins]
    outer = op(
        "WHILE", "i0 x n0 w0", "i0_end x_end n0_end w0_end", {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    )
    main = graph([*begins, *results], [outer], "x", "x_end")
    found = load(model(main, tests, outer_body, tests, inner))
    (node,) = [one for one in found.nodes if one.operator == LOOP]
    (nested,) = [one for one in node.bodies[0].graph.nodes if one.operator == LOOP]
    assert (node.bodies[0].trips, nested.bodies[0].trips) == (3, 3)
    facts = weigh(found).facts
    assert (facts.macs, facts.weights) == (9 * 2 * 8 * 8, 64)


def test_a_loop_that_calls_itself_is_refused() -> None:
    condition, body = counter("LESS", number("limit", 7))
    with pytest.raises(BadModel, match="calls itself"):
        loop(condition._replace(operators=[op("CALL", "i", "c", {"subgraph": 1})]), body, number("i0", 0))


def test_a_tensor_that_grows_in_a_loop_has_no_shape() -> None:
    condition, body = counter("LESS", number("limit", 7))
    grown = [op("CONCATENATION", "x x", "y", {"axis": 0}), body.operators[1]]
    tensors = [tensor("y", (4, 8)) if one.name == "y" else one for one in body.tensors]
    found = loop(condition, body._replace(operators=grown, tensors=tensors), number("i0", 0))
    assert shapes(found) == [None]
    (node,) = [one for one in found.nodes if one.operator == LOOP]
    inner = node.bodies[0].graph
    assert [inner.tensors[one].shape for one in inner.outputs] == [(), (), None]


@pytest.mark.parametrize(
    ("name", "passes"),
    [("multi_subgraphs_while.bin", 2), ("nested_while.bin", None), ("while_op_with_forwarding_input.bin", None)],
)
def test_loops_of_files(name: str, passes: int | None, shared: Path) -> None:
    found = load_tflite(shared / "data" / "tflite" / "litert" / name)
    assert trips(found) == passes


def test_what_a_loop_hands_on_is_the_input_itself(shared: Path) -> None:
    found = load_tflite(shared / "data" / "tflite" / "litert" / "while_op_with_forwarding_input.bin")
    assert found.outputs[2] == "increment_value"


def test_a_limit_that_follows_from_a_shape() -> None:
    """As many passes as x has columns, asked for in the condition at every pass."""
    condition, body = counter("LESS", number("limit", 7))
    sizes = [tensor("s", (2,), "INT32"), tensor("one", (), "INT32", data=(1,)), number("columns")]
    asked = [op("SHAPE", "x", "s", {"out_type": 2}), op("GATHER", "s one", "columns"), op("LESS", "i columns", "c")]
    condition = condition._replace(tensors=[*condition.tensors, *sizes], operators=asked)
    found = loop(condition, body, number("i0", 0))
    assert trips(found) == 8
    assert weigh(found).facts.macs == 8 * 2 * 8 * 8


def test_a_limit_that_follows_from_a_shape_that_grows_is_not_known() -> None:
    condition, body = counter("LESS", number("limit", 7))
    sizes = [tensor("s", (2,), "INT32"), tensor("one", (), "INT32", data=(0,)), number("rows")]
    asked = [op("SHAPE", "x", "s", {"out_type": 2}), op("GATHER", "s one", "rows"), op("LESS", "i rows", "c")]
    condition = condition._replace(tensors=[*condition.tensors, *sizes], operators=asked)
    tensors = [tensor("y", (4, 8)) if one.name == "y" else one for one in body.tensors]
    grown = body._replace(tensors=tensors, operators=[op("CONCATENATION", "x x", "y", {"axis": 0}), body.operators[1]])
    assert trips(loop(condition, grown, number("i0", 0))) is None


@pytest.mark.parametrize(("start", "passes"), [(10, 0), (0, None)])
def test_a_flag_that_the_body_sets_once_and_for_all(start: int, passes: int | None) -> None:
    """The condition looks at what it makes of the flag: before the first pass that is another number."""
    condition, body = counter("LESS", number("limit", 7))
    tests = [op("ADD", "j one", "more"), op("LESS", "more limit", "c")]
    condition = condition._replace(
        tensors=[*condition.tensors, number("j"), number("one", 1), number("more")],
        inputs=[*condition.inputs, "j"],
        operators=tests,
    )
    body = body._replace(
        tensors=[*body.tensors, number("j"), number("zero", 0)],
        inputs=[*body.inputs, "j"],
        outputs=[*body.outputs, "zero"],
    )
    assert trips(loop(condition, body, number("i0", 0), number("j0", start))) == passes
