"""Numbers that no size can be, as every operand of every operator: the file is weighed or refused, never a crash."""

from __future__ import annotations

from contextlib import suppress

import onnx
import pytest
from onnx import helper

from tests.onnx.build import graph, load, model, node, tensor, value
from weighbridge.errors import WeighbridgeError

_SCHEMAS = {one.name: one for one in onnx.defs.get_all_schemas() if one.domain == "" and one.max_input}
_NASTY = {
    "not a number": tensor("v", [float("nan")], "float64"),
    "infinity": tensor("v", [float("-inf")], "float32"),
    "a fraction": tensor("v", [2.5], "float32"),
    "the least integer": tensor("v", [-(2**63)]),
    "text": helper.make_tensor("v", onnx.TensorProto.STRING, [1], [b"\xff8"]),
}


def _call(name: str, position: int, rank: int) -> onnx.ModelProto:
    """One call whose operand at ``position`` is the stored tensor v; the others are an input."""
    schema = _SCHEMAS[name]
    count = max(schema.min_input, min(position + 1, schema.max_input))
    operands = ["v" if index == position else "x" for index in range(count)]
    results = [f"y{index}" for index in range(max(1, schema.min_output))]
    outputs = [value(result, None) for result in results]
    return model(graph([node(name, operands, results)], [value("x", [1] * rank)], outputs), opset=23)


@pytest.mark.parametrize("kind", _NASTY)
def test_every_operand_of_every_operator(kind: str) -> None:
    for name, schema in _SCHEMAS.items():
        for position in range(min(schema.max_input, 5)):
            made = _call(name, position, 1 if position else 0)
            made.graph.initializer.append(_NASTY[kind])
            with suppress(WeighbridgeError):
                load(made)


@pytest.mark.parametrize("kind", _NASTY)
@pytest.mark.parametrize(
    ("operator", "operands"),
    [
        ("Reshape", "x v"),
        ("Expand", "x v"),
        ("Tile", "x v"),
        ("ConstantOfShape", "v"),
        ("OneHot", "x v x"),
        ("TopK", "x v"),
        ("Unsqueeze", "x v"),
        ("Slice", "x v v"),
        ("Pad", "x v"),
        ("Resize", "x _ _ v"),
        ("Resize", "x _ v"),
        ("Split", "x v"),
    ],
)
def test_what_is_no_size_gives_no_shape(operator: str, operands: str, kind: str) -> None:
    """A shape is refused or unknown where a size is no whole number: never rounded, never made up."""
    made = model(graph([node(operator, operands.replace("_", "").split(" "), ["y"])], [value("x", [3])], []), opset=18)
    made.graph.output.append(value("y", None))
    made.graph.initializer.append(_NASTY[kind])
    try:
        found = load(made)
    except WeighbridgeError:
        return
    shape = found.tensors[found.outputs[0]].shape
    if (operator, kind) == ("Slice", "the least integer"):
        assert shape == (0,)  # from before the first element to before the first element
    elif (operator, operands, kind) == ("Resize", "x _ v", "a fraction"):
        assert shape == (7,)
    else:
        assert shape is None, (operator, kind, shape)
