"""``ATen`` nodes: functions of PyTorch in an ONNX file.  tests/torch/test_onnx_aten.py holds them against PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.onnx.build import graph, load, model, node, operators, shapes, tensor, value, weight
from tests.onnx.files import onnx_files, report_of
from tests.operators.execution import Tally
from weighbridge import weigh
from weighbridge.errors import BadModel
from weighbridge.frontends.aten_table import rule_of
from weighbridge.frontends.onnx_table_aten import ATEN_DOMAIN, SCHEMAS
from weighbridge.graph import Graph

IMPORTS = [helper.make_opsetid(ATEN_DOMAIN, 1)]
INT64 = onnx.TensorProto.INT64


def aten(operands: list[str], results: list[str], **attributes: Any) -> onnx.NodeProto:
    return node("ATen", operands, results, name="aten", domain=ATEN_DOMAIN, **attributes)


def loaded(made: onnx.NodeProto, inputs: list[onnx.ValueInfoProto], *stored: onnx.TensorProto, read: int = 1) -> Graph:
    results = [onnx.ValueInfoProto(name=one) for one in made.output[:read]]
    return load(model(graph([made], inputs, results, stored), opset_imports=IMPORTS))


def reason_of(found: Graph) -> str:
    (missing,) = weigh(found).facts.uncounted
    assert missing.operator == "org.pytorch.aten.ATen"
    return missing.reason


def test_every_function_has_a_rule() -> None:
    for name in SCHEMAS.keys() - {"embedding_backward"}:
        function, _, overload = name.partition(".")
        assert rule_of(f"aten.{function}", overload or "default") is not None, name


@pytest.mark.parametrize("prefix", ["", "aten::"])
def test_an_embedding_is_one(prefix: str) -> None:
    numbers = [tensor("pad", -1), numpy_helper.from_array(np.array(False), "no")]
    made = aten(["w", "i", "pad", "no", "no"], ["y"], operator=f"{prefix}embedding")
    found = loaded(made, [value("i", [2, 3], INT64)], weight("w", 10, 4), *numbers)
    facts = weigh(found).facts
    assert (operators(found), shapes(found)) == (["embedding"], [(2, 3, 4)])
    assert (facts.macs, facts.weights, facts.exact) == (0, 40, True)


@pytest.mark.parametrize("rows", [7, [7]])
def test_the_derivative_of_an_embedding_adds_rows_up(rows: Any) -> None:
    numbers = [tensor("rows", rows), tensor("pad", -1), numpy_helper.from_array(np.array(False), "no")]
    made = aten(["g", "i", "rows", "pad", "no", "no"], ["y"], operator="embedding_backward")
    found = loaded(made, [value("g", [2, 3, 4]), value("i", [2, 3], INT64)], *numbers)
    t, table = Tally(), np.zeros((7, 4))
    for row, column, feature in np.ndindex(2, 3, 4):
        place = (row + column) % 7
        table[place, feature] = t.add(table[place, feature], 1.0)
    facts = weigh(found).facts
    assert (shapes(found), facts.work, facts.exact) == ([table.shape], t.work, True)


def test_numbers_as_attributes() -> None:
    """As an older exporter writes them; results beside the first are named by it and read by nobody."""
    made = aten(["w", "i", "o"], ["y", "a", "b", "c"], operator="embedding_bag", mode=1, include_last_offset=0)
    found = loaded(made, [value("i", [6], INT64), value("o", [3], INT64)], weight("w", 10, 4))
    facts = weigh(found).facts
    assert (shapes(found), facts.work.div, facts.exact) == ([(3, 4)], 12, True)
    read = loaded(made, [value("i", [6], INT64), value("o", [3], INT64)], weight("w", 10, 4), read=2)
    assert reason_of(read) == "there is no rule for result 1 of org.pytorch.aten.ATen"


@pytest.mark.parametrize(
    ("operands", "attributes", "says"),
    [
        (["x"], {"operator": "special"}, "there is no rule for aten.special"),
        (["x"], {"operator": "max", "overload_name": "odd"}, "there is no rule for aten.max.odd"),
        (["x"], {}, "there is no rule for aten."),
        (["x", "n", "n", "n"], {"operator": "max"}, "aten.max: it has 4 arguments and not 1 at most"),
        (["x", "n", "m", "n"], {"operator": "unfold"}, "aten.unfold: its size is known only as it runs"),
        (["x", "n", "v", "n"], {"operator": "unfold"}, "aten.unfold: its size is known only as it runs"),
        (
            ["x", "", "v"],
            {"operator": "upsample_nearest2d", "overload_name": "vec"},
            "aten.upsample_nearest2d.vec: its arguments are none that the function takes",
        ),
        (["", "n", "n", "n"], {"operator": "unfold"}, "aten.unfold: aten.unfold lacks its argument self"),
    ],
)
def test_what_cannot_be_told_is_said(operands: list[str], attributes: dict[str, Any], says: str) -> None:
    given = [value("x", [4, 4]), value("m", [], INT64)]
    stored = [tensor("n", 1), tensor("v", [1, 2])]
    assert reason_of(loaded(aten(operands, ["y"], **attributes), given, *stored)) == says


def test_names_that_are_none_are_refused() -> None:
    with pytest.raises(BadModel, match="aten: it names no function of PyTorch"):
        loaded(aten(["x"], ["y"], operator=3), [value("x", [4])])


def test_a_shape_that_values_decide_stays_open() -> None:
    made = [node("NonZero", ["x"], ["nz"]), aten(["nz", "n", "n", "n"], ["y"], operator="unfold")]
    whole = graph(made, [value("x", [4])], [onnx.ValueInfoProto(name="y")], [tensor("n", 1)])
    found = load(model(whole, opset_imports=IMPORTS))
    assert reason_of(found).startswith("aten.unfold: the shape of nz is unknown")


def test_a_training_graph(shared: Path) -> None:
    name = "ort_odd/3layer_bloom_optimized_training.onnx"
    facts = report_of(name, onnx_files(shared)[name]).facts
    assert not [one for one in facts.uncounted if "ATen" in one.operator]
