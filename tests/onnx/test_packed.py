"""Weights of a few bits that a file packs into bytes: counted as what they hold, in the bytes that the file takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.onnx.build import graph, load, model, node, operators, roles, tensor, value
from tests.onnx.microsoft_cases import MICROSOFT
from weighbridge import weigh
from weighbridge.graph import Graph, Role
from weighbridge.graph_json import graph_from_json, graph_to_json

FOUR = {"N": 6, "bits": 4, "block_size": 32, "domain": MICROSOFT}


def loaded(nodes: list[Any], inputs: list[Any], results: list[str], stored: list[Any]) -> Graph:
    made = graph(nodes, inputs, [value(name, None) for name in results], stored)
    return load(model(made, opset=18, opset_imports=[helper.make_opsetid(MICROSOFT, 1)]))


def packed(name: str, *shape: int) -> Any:
    return tensor(name, np.zeros(shape), "uint8")


def scales(name: str, *shape: int) -> Any:
    return tensor(name, np.zeros(shape), "float32")


def product(k: int, *more: Any, weight: str = "w", result: str = "y", **attributes: Any) -> Any:
    return node("MatMulNBits", ["x", weight, "s", *more], [result], **{**FOUR, "K": k, **attributes})


@pytest.mark.parametrize(("k", "blocks"), [(64, 2), (40, 2), (2, 1)])
def test_a_weight_has_its_values_as_parameters_and_its_bytes_from_the_file(k: int, blocks: int) -> None:
    stored = [packed("w", 6, blocks, 16), scales("s", 6, blocks), packed("z", 6, -(-blocks // 2))]
    found = loaded([product(k, "z")], [value("x", [3, k])], ["y"], stored)
    held = found.tensors["w"]
    assert (held.shape, held.bytes, held.role) == ((6, k), 6 * blocks * 16, Role.PARAMETER)
    assert held.dtype.kind == "uint"
    assert roles(found) == {"w": Role.PARAMETER, "s": Role.BUFFER, "z": Role.BUFFER}
    facts = weigh(found).facts
    assert (facts.parameters, facts.weights, facts.deployed_parameters) == (6 * k, 6 * k, 6 * k)
    assert (facts.parameter_bytes, facts.weight_bytes) == (6 * blocks * 16, 6 * blocks * 16)
    assert facts.constant_bytes == 6 * blocks * 4 + 6 * -(-blocks // 2)
    assert facts.macs == 3 * k * 6


def test_whole_rows_are_of_the_plain_type() -> None:
    found = loaded([product(64)], [value("x", [3, 64])], ["y"], [packed("w", 6, 2, 16), scales("s", 6, 2)])
    assert found.tensors["w"].dtype.name == "uint4"
    assert operators(found) == ["dequantize", "linear"]


def test_rows_with_unused_bits_survive_the_way_through_json() -> None:
    found = loaded([product(40)], [value("x", [3, 40])], ["y"], [packed("w", 6, 2, 16), scales("s", 6, 2)])
    assert found.tensors["w"].dtype.name == "uint4 in rows of 40 (256 bits)"
    assert graph_from_json(graph_to_json(found)) == found


def test_a_table_tied_to_a_weight_counts_once() -> None:
    """Looked up as it is, and multiplied by in another shape."""
    gathered = {"block_size": 32, "bits": 4, "quantize_axis": 1, "domain": MICROSOFT}
    nodes = [
        node("GatherBlockQuantized", ["w", "ids", "s"], ["rows"], **gathered),
        node("Reshape", ["w", "shape"], ["blocks"]),
        product(64, weight="blocks"),
    ]
    stored = [packed("w", 6, 32), scales("s", 6, 2), tensor("shape", [6, 2, 16])]
    found = loaded(nodes, [value("x", [3, 64]), value("ids", [5], 7)], ["rows", "y"], stored)
    assert (found.tensors["w"].shape, found.tensors["w"].dtype.name) == ((6, 64), "uint4")
    facts = weigh(found).facts
    assert (facts.parameters, facts.weights, facts.parameter_bytes) == (6 * 64, 6 * 64, 6 * 32)
    assert [found.tensors[name].shape for name in found.outputs] == [(5, 64), (3, 6)]


@pytest.mark.parametrize("reader", ["node", "output", "shapes"])
def test_bytes_that_something_else_reads_stay_bytes(reader: str) -> None:
    """They are the weight all the same, and its result is right; unpacking them is a step of its own."""
    nodes, results = [product(64)], ["y"]
    if reader == "node":
        nodes, results = [*nodes, node("Cast", ["w"], ["wide"], to=7)], [*results, "wide"]
    elif reader == "output":
        results.append("w")
    else:
        nodes, results = [*nodes, product(62, result="other")], [*results, "other"]
    inputs, stored = [value("x", [3, 64])], [packed("w", 6, 2, 16), scales("s", 6, 2)]
    if reader == "shapes":
        nodes[1].input[0] = "narrow"
        inputs.append(value("narrow", [3, 62]))
    found = loaded(nodes, inputs, results, stored)
    held = found.tensors["w"]
    assert (held.shape, held.dtype.name, held.role) == ((6, 2, 16), "uint8", Role.PARAMETER)
    assert "unpack" in operators(found)
    assert found.tensors["y"].shape == (3, 6)
    assert weigh(found).facts.macs == 3 * 64 * 6 + (3 * 62 * 6 if reader == "shapes" else 0)


def test_weights_that_come_with_the_data_are_unpacked_as_the_network_runs() -> None:
    inputs = [value("x", [3, 64]), value("w", [6, 2, 16], 2), value("s", [6, 2])]
    found = loaded([product(64)], inputs, ["y"], [])
    assert operators(found) == ["unpack", "dequantize", "linear"]
    facts = weigh(found).facts
    assert (facts.parameters, facts.macs, facts.exact) == (0, 3 * 64 * 6, True)
