"""The page that explains how to add an operator is followed to the letter: its code is run, in order."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.operators.execution import Tally, call, macs_of
from weighbridge.dtypes import DTYPES
from weighbridge.frontends import onnx_table, onnx_table_shapes
from weighbridge.frontends.foreign import As, Step
from weighbridge.frontends.from_onnx import load_onnx
from weighbridge.graph import UNKNOWN, TensorType
from weighbridge.operators import rules, shapes
from weighbridge.operators.record import Call, Kind, Loops, Op, nothing
from weighbridge.operators.rules import dtype_of, known, same, sizes_of
from weighbridge.operators.table import OPERATORS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "add-an-operator.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.S | re.M)
RECORD, GENERATOR, CONTRACTION, PROOF, LINE, TAKEN, SEVERAL = BLOCKS


def run(text, **names):
    space = {"__name__": "page", **names}
    exec(compile(text, "<add-an-operator>", "exec"), space)
    return space


@pytest.fixture
def added(monkeypatch):
    """The table with the page's operator in it."""
    (op,) = run(RECORD)["DISTANCE_OPERATORS"]
    monkeypatch.setitem(OPERATORS._known, op.name, op)
    return op


def test_the_proof_holds(added):
    tests = [one for name, one in run(PROOF).items() if name.startswith("test_")]
    assert len(tests) == 2
    for one in tests:
        one()


def model(tmp_path, operator):
    node = helper.make_node(operator, ["a", "b"], ["y"], domain="com.microsoft", metric="sqeuclidean")
    inputs = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("a", [5, 3]), ("b", [4, 3]))]
    graph = helper.make_graph([node], "one", inputs, [helper.make_tensor_value_info("y", 1, None)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets), tmp_path / "one.onnx")
    return tmp_path / "one.onnx"


def test_a_file_is_read_with_the_new_line(added, monkeypatch, tmp_path):
    line = run(LINE, As=As)["CDIST"]
    rules = dict(onnx_table.RULES.get("com.microsoft", {}))
    monkeypatch.setitem(onnx_table.RULES, "com.microsoft", {**rules, "CDist": line})
    graph = load_onnx(model(tmp_path, "CDist"))
    (node,) = graph.nodes
    assert (node.operator, node.attributes["metric"]) == ("pairwise_distance", "squared_euclidean")
    assert graph.tensors[node.outputs[0]].shape == (5, 4)


def test_an_attribute_that_is_an_operand(monkeypatch, tmp_path):
    line = run(TAKEN, As=As, _ints=onnx_table_shapes._ints)["EXPAND_DIMS"]
    monkeypatch.setitem(onnx_table.RULES, "com.microsoft", {"ExpandDims": line})
    proto = onnx.load(model(tmp_path, "ExpandDims"))
    del proto.graph.node[0].attribute[:], proto.graph.input[1]
    proto.graph.initializer.append(helper.make_tensor("b", TensorProto.INT64, [1], [1]))
    onnx.save(proto, tmp_path / "one.onnx")
    graph = load_onnx(tmp_path / "one.onnx")
    assert graph.tensors[graph.nodes[0].outputs[0]].shape == (5, 1, 3)


def test_a_generator_of_known_and_of_unknown_size():
    infer = run(GENERATOR, dtype_of=dtype_of, known=known, sizes_of=sizes_of, TensorType=TensorType)["_ramp"]
    attributes = {"size": 7, "dtype": "float16"}
    assert infer(Call({}, attributes)) == (TensorType((7,), DTYPES["float16"]),)
    assert infer(Call({}, {**attributes, "size": UNKNOWN})) == (DTYPES["float16"],)


@pytest.mark.parametrize(
    "rule",
    [
        *(rules.number, rules.sizes_of, rules.axes_of, rules.dtype_of, rules.known, rules.when_known),
        *(shapes.broadcast, shapes.axis_of, shapes.per_axis, shapes.sliding_output, shapes.asked_outputs),
        *(vars(onnx_table_shapes)[name] for name in ("_ints", "_number", "_dtype", "_axis_of", "_sized")),
    ],
    ids=lambda one: one.__name__,
)
def test_a_signature_is_the_real_one(rule):
    written = re.search(rf"`{rule.__name__}\((.*?)\)`", PAGE.read_text(encoding="utf-8"))
    assert written, rule
    names = [name.lstrip("*").partition("=")[0] for name in written[1].split(", ") if name != "*"]
    assert names == list(inspect.signature(rule).parameters)


def test_an_operator_that_is_several(monkeypatch, tmp_path):
    rule = run(SEVERAL, Step=Step)["bias_gelu"]
    monkeypatch.setitem(onnx_table.RULES, "com.microsoft", {"BiasGelu": rule})
    path = model(tmp_path, "BiasGelu")
    proto = onnx.load(path)
    proto.graph.input[1].type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(proto, path)
    assert [node.operator for node in load_onnx(path).nodes] == ["add", "gelu"]


def test_the_contraction_is_what_its_sums_are(monkeypatch):
    loops = run(CONTRACTION, Call=Call, Loops=Loops)["_bilinear_loops"]
    op = Op("bilinear", Kind.CONTRACTION, "x z w:weight b:bias?", same, nothing, loops=loops)
    monkeypatch.setitem(OPERATORS._known, "bilinear", op)
    batch, o, i, j = 2, 3, 4, 5
    t = Tally()
    for _ in range(batch * o):
        for _ in range(j):
            for _ in range(i):
                t.mac(0, 1, 1)
            t.mac(0, 1, 1)
    assert macs_of("bilinear", call("bilinear", {}, x=(batch, i), z=(batch, j), w=(o, i, j))) == t.macs


def test_every_field_is_explained():
    text = PAGE.read_text(encoding="utf-8")
    for field in inspect.signature(Op).parameters:
        assert f"`{field}`" in text, field
    for kind in (value for value in vars(Kind) if value.isupper() and value != "CONTROL"):
        assert f"`{kind}`" in text or f"`Kind.{kind}`" in text, kind
