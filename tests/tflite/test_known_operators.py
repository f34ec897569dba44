"""Every builtin operator of the schema has a rule, or stands here with the reason why it has none."""

from __future__ import annotations

from tests.tflite.build import graph, load, model, op, operators, roles, shapes, tensor
from tests.tflite.single import operand, stored
from weighbridge import weigh
from weighbridge.frontends.tflite_control import SPECIAL
from weighbridge.frontends.tflite_schema import BUILTIN_OPERATORS
from weighbridge.frontends.tflite_table import RULES
from weighbridge.graph import Role
from weighbridge.operators.table import OPERATORS

# Reviewed: what they compute the schema does not say.
WITHOUT_RULE = {
    "CUSTOM": "known by its own name: the table of custom operators",
    "DELEGATE": "put in by a runtime for a part that it hands to an accelerator; no file has it",
    "PLACEHOLDER_FOR_GREATER_OP_CODES": "stands in the old field of the code for all operators beyond 127",
}


def test_every_builtin_operator_is_known():
    plain = {name for name in BUILTIN_OPERATORS if not name.startswith("STABLEHLO_")}
    assert plain == {*RULES, *SPECIAL, *WITHOUT_RULE} & plain
    assert not WITHOUT_RULE.keys() & {*RULES, *SPECIAL}
    assert {*RULES, *SPECIAL} <= set(BUILTIN_OPERATORS)


def test_rules_of_one_operator_name_one_that_there_is():
    named = [rule.operator for rule in RULES.values() if hasattr(rule, "operator")]
    assert len(named) > 80
    assert set(named) <= set(OPERATORS)


def test_hash_tables():
    """A table is filled once, before the first inference, and looked up; its handle is no tensor of ours."""
    table = tensor("t", (1,), "RESOURCE")
    keys, values = stored("k", [1, 2, 3], "INT64"), stored("v", [4, 5, 6], "INT64")
    fills = [op("HASHTABLE", "", "t", {"table_id": 7}), op("HASHTABLE_IMPORT", "t k v", "")]
    start = graph([table, keys, values], fills, "", "", "start")
    queries, nothing = operand("x", (2, 5), "INT64"), stored("n", -1, "INT64")
    found, size = tensor("y", None, "INT64"), tensor("s", None, "INT64")
    looks = [
        op("CALL_ONCE", "", "", {"init_subgraph_index": 1}),
        op("HASHTABLE", "", "t", {"table_id": 7}),
        op("HASHTABLE_FIND", "t x n", "y"),
        op("HASHTABLE_SIZE", "t", "s"),
    ]
    made = load(model(graph([table, queries, nothing, found, size], looks, "x", "y s"), start))
    assert shapes(made) == [(2, 5), (1,)]
    assert operators(made)[1:] == ["hash_table_find", "hash_table_size"]
    assert roles(made)["n"] is Role.CONSTANT
    report = weigh(made)
    assert (report.facts.exact, report.facts.macs) == (True, 0)
    assert report.memory.peak_bytes["pair"] is not None


def test_a_table_that_is_filled_as_the_network_runs():
    tensors = [tensor("t", (1,), "RESOURCE"), operand("k", (3,), "INT64"), stored("v", [4, 5, 6], "INT64")]
    fills = [op("HASHTABLE", "", "t"), op("HASHTABLE_IMPORT", "t k v", "")]
    made = load(model(graph(tensors, fills, "k", "")))
    assert operators(made) == ["hash_table_import"]
