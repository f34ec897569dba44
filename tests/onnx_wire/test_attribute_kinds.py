"""The kinds of attributes against the schemas of all operator versions that onnx has."""

from __future__ import annotations

import pytest
from onnx import TensorProto, defs, helper

from weighbridge.errors import BadModel
from weighbridge.frontends import onnx_attributes
from weighbridge.frontends.onnx_attributes import KINDS, attributes_of, check_kinds

_NAMES = {
    "INT": {"a whole number", "a number"},
    "FLOAT": {"a number"},
    "STRING": {"text"},
    "INTS": {"whole numbers"},
    "FLOATS": {"numbers"},
    "STRINGS": {"texts"},
    "GRAPH": {"a graph"},
    "SPARSE_TENSOR": {"a sparse tensor"},
}


def test_every_attribute_of_every_operator_is_what_its_name_says() -> None:
    seen = set()
    for schema in defs.get_all_schemas_with_history():
        for name, attribute in schema.attributes.items():
            kind = attribute.type.name
            # Operator sets of newer versions of onnx may have names that the table does not know; those pass unseen.
            if schema.domain or name not in KINDS or (name == "to" and kind == "STRING"):
                continue
            seen.add(name)
            assert KINDS[name] in _NAMES[kind], (schema.name, name)
    own = {name for names in onnx_attributes._NAMES.values() for name in names.split()}
    assert own <= seen <= set(KINDS) or defs.onnx_opset_version() < 26


@pytest.mark.parametrize(
    ("operator", "attribute", "says"),
    [
        ("Conv", {"strides": "2x2"}, "the attribute 'strides' of Conv is text, not whole numbers"),
        ("Conv", {"strides": [2.0, 2.0]}, "is numbers, not whole numbers"),
        ("Conv", {"group": [1, 2]}, "is whole numbers, not a whole number"),
        ("If", {"then_branch": 3}, "is a whole number, not a graph"),
        ("Constant", {"value": 3}, "is a whole number, not a tensor"),
        ("Pad", {"value": helper.make_tensor("t", TensorProto.FLOAT, [], [1.0])}, "is a tensor, not a number"),
        ("Einsum", {"equation": 1.5}, "is a number, not text"),
    ],
)
def test_another_kind_is_refused(operator: str, attribute: dict[str, object], says: str) -> None:
    node = helper.make_node(operator, [], [], **attribute)
    with pytest.raises(BadModel, match=says):
        check_kinds(operator, attributes_of(node.attribute))


def test_whole_numbers_are_numbers_and_unknown_names_pass() -> None:
    node = helper.make_node("LeakyRelu", [], [], alpha=1, mine="text", scales=[1, 2])
    check_kinds("LeakyRelu", attributes_of(node.attribute))
