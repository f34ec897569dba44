"""Graphs as JSON: the same graph after a round trip, and a path to every fault."""

from __future__ import annotations

import json
from copy import deepcopy
from math import inf, isnan, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.random_graphs import graphs, with_odd_types
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec, GraphError, WeighbridgeError
from weighbridge.graph import LOOP, UNKNOWN, Body, FileNode, Graph, Node
from weighbridge.graph_json import graph_from_dict, graph_from_json, graph_to_dict, graph_to_json
from weighbridge.passes import deploy

FLOAT = DTYPES["float32"]


@settings(max_examples=100, deadline=None)
@given(graph=graphs(), data=st.data())
def test_a_round_trip_changes_nothing(graph: Graph, data: st.DataObject) -> None:
    for one in (graph, deploy(graph), with_odd_types(graph, data.draw)):
        assert graph_from_dict(graph_to_dict(one)) == one
        text = graph_to_json(one)
        again = graph_from_json(text)
        assert again == one
        assert list(again.tensors) == list(one.tensors)
        assert graph_to_json(again) == text


VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=10,
)


@settings(max_examples=200, deadline=None)
@given(attributes=st.dictionaries(st.text(), VALUES, max_size=4), name=st.text())
def test_attributes_and_strings_of_any_kind(attributes: dict, name: str) -> None:
    graph = Graph(name, {}, (Node(name, UNKNOWN, (), (), attributes, name, name, reason=name),), (), (), (name,))
    again = graph_from_json(graph_to_json(graph))
    assert again == graph
    assert repr(again) == repr(graph)  # 1, 1.0 and True are equal, and not the same


def test_where_a_node_comes_from() -> None:
    graph = Graph("g", {}, (Node("n", UNKNOWN, (), (), file_node=FileNode("main", 7, "conv")),), (), ())
    assert graph_to_dict(graph)["nodes"][0]["file_node"] == ["main", 7, "conv"]
    assert graph_from_json(graph_to_json(graph)) == graph


def test_numbers_that_json_lacks() -> None:
    graph = Graph("g", {}, (Node("n", UNKNOWN, (), (), {"a": (nan, inf, -inf)}),), (), ())
    text = graph_to_json(graph)
    assert "NaN" not in text
    values = graph_from_json(text).nodes[0].attributes["a"]
    assert isnan(values[0])
    assert values[1:] == (inf, -inf)


def sample() -> dict:
    inner = Builder("body")
    inner.input("x", (2,), FLOAT)
    inner.add("relu", [("x", "x")], name="inner")
    builder = Builder("sample")
    builder.input("x", (2,), FLOAT)
    builder.stored("w", (2,), FLOAT)
    builder.add("mul", [("a", "x"), ("b", "w")], name="y", scope="s", origin="Mul")
    builder.opaque(
        LOOP,
        [("captures", "x")],
        [None],
        name="z",
        bodies=[Body("body", inner.graph(["inner"]), None)],
        attributes={"a": 1},
    )
    return graph_to_dict(builder.graph(["y", "z"]))


def test_what_is_empty_is_left_out() -> None:
    node = sample()["nodes"][0]
    assert set(node) == {"name", "operator", "operands", "outputs", "scope", "origin"}


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        ((), [], "$"),
        ((), None, "$"),
        (("schema",), 2, "$.schema"),
        (("schema",), True, "$.schema"),
        (("name",), 1, "$.name"),
        (("tensors",), {}, "$.tensors"),
        (("tensors", 0), "x", "$.tensors[0]"),
        (("tensors", 0, "id"), 1, "$.tensors[0].id"),
        (("tensors", 1, "id"), "x", "$.tensors[1].id"),
        (("tensors", 0, "shape"), [1.5], "$.tensors[0].shape[0]"),
        (("tensors", 0, "shape"), [True], "$.tensors[0].shape[0]"),
        (("tensors", 0, "shape"), "2", "$.tensors[0].shape"),
        (("tensors", 0, "dtype"), "float33", "$.tensors[0].dtype"),
        (("tensors", 0, "dtype"), {"name": "odd"}, "$.tensors[0].dtype"),
        (
            ("tensors", 0, "dtype"),
            {"name": "odd", "kind": "int", "block_bits": 0, "block_length": 1},
            "$.tensors[0].dtype",
        ),
        (
            ("tensors", 0, "dtype"),
            {"name": "odd", "kind": "int", "block_bits": 3, "block_length": 0},
            "$.tensors[0].dtype",
        ),
        (("tensors", 0, "role"), "hero", "$.tensors[0].role"),
        (("tensors", 0, "colour"), "red", "$.tensors[0]"),
        (("nodes", 0, "operands"), [["a"]], "$.nodes[0].operands[0]"),
        (("nodes", 0, "operands"), [["a", 1]], "$.nodes[0].operands[0][1]"),
        (("nodes", 0, "attributes"), [], "$.nodes[0].attributes"),
        (("nodes", 0, "attributes"), {"a": None}, "$.nodes[0].attributes.a"),
        (("nodes", 0, "attributes"), {"a": [{}]}, "$.nodes[0].attributes.a[0]"),
        (("nodes", 0, "attributes"), {"a": {"float": "one"}}, "$.nodes[0].attributes.a"),
        (("nodes", 1, "bodies", 0, "trips"), -1, "$.nodes[1].bodies[0].trips"),
        (("nodes", 1, "bodies", 0, "trips"), "two", "$.nodes[1].bodies[0].trips"),
        (("nodes", 1, "bodies", 0, "graph", "nodes", 0, "name"), 1, "$.nodes[1].bodies[0].graph.nodes[0].name"),
        (("nodes", 0, "fused"), [{}], "$.nodes[0].fused[0]"),
        (("nodes", 0, "file_node"), ["main", 1], "$.nodes[0].file_node"),
        (("nodes", 0, "file_node"), ["main", True, "conv"], "$.nodes[0].file_node[1]"),
        (("nodes", 0, "file_node"), ["main", 1, None], "$.nodes[0].file_node[2]"),
        (("outputs",), [1], "$.outputs[0]"),
        (("notes",), "note", "$.notes"),
    ],
)
def test_a_fault_is_reported_with_its_path(path: tuple, value: object, where: str) -> None:
    document = sample()
    place: object = document
    for step in path[:-1]:
        place = place[step]
    if path:
        place[path[-1]] = value
    with pytest.raises(BadSpec) as caught:
        graph_from_dict(document if path else value)
    assert caught.value.where == where


@pytest.mark.parametrize("key", ["schema", "name", "tensors", "nodes", "inputs", "outputs"])
def test_a_missing_field_is_named(key: str) -> None:
    document = sample()
    del document[key]
    with pytest.raises(BadSpec, match=f"the field {key} is missing"):
        graph_from_dict(document)


def test_parts_that_contradict_each_other() -> None:
    document = sample()
    document["nodes"][0]["operands"][0][1] = "nowhere"
    with pytest.raises(GraphError, match="nowhere"):
        graph_from_dict(document)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"schema": ' + "9" * 5000 + "}", "null", '"x"', "nan"])
def test_text_that_is_no_graph(text: str) -> None:
    with pytest.raises(BadSpec):
        graph_from_json(text)


def test_bodies_nested_too_deeply() -> None:
    document = sample()
    bodies = document["nodes"][1]["bodies"][0]
    for _ in range(5000):
        graph = {**document, "nodes": [document["nodes"][0], {**document["nodes"][1], "bodies": [bodies]}]}
        del graph["schema"]
        bodies = {"name": "body", "trips": 1, "graph": graph}
    document["nodes"][1]["bodies"] = [bodies]
    with pytest.raises(BadSpec, match="deeply"):
        graph_from_dict(document)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_damaged_document_is_read_or_refused_but_never_crashes(data: st.DataObject) -> None:
    document = deepcopy(sample())
    for _ in range(data.draw(st.integers(1, 3))):
        place: object = document
        while isinstance(place, dict | list) and place:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = data.draw(st.sampled_from(keys))
            if data.draw(st.integers(0, 2)) == 0 or not isinstance(place[key], dict | list):
                place[key] = data.draw(st.none() | st.integers(-3, 3) | st.text(max_size=3) | st.just([]) | st.just({}))
                break
            place = place[key]
    try:
        graph = graph_from_json(json.dumps(document))
    except WeighbridgeError as error:
        assert str(error)
    else:
        assert graph_from_dict(graph_to_dict(graph)) == graph
