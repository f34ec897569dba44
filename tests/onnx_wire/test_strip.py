"""The scan against onnx itself: what is left must be what onnx reads, less the payloads that the rule drops."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from weighbridge.errors import BadModel
from weighbridge.frontends import onnx_proto, onnx_wire
from weighbridge.frontends.onnx_wire import Note, payload_note, strip

INTEGERS = {2, 3, 4, 5, 6, 7, 9, 12, 13, 21, 22, 25, 26}
"""Integers and bool as TensorProto.DataType numbers them; by number, since older versions of onnx lack the last two."""
PAYLOADS = {
    "float_data": 4,
    "int32_data": 5,
    "string_data": 6,
    "int64_data": 7,
    "raw_data": 9,
    "double_data": 10,
    "uint64_data": 11,
}


def _varint_bytes(value: int) -> int:
    value &= 0xFFFFFFFFFFFFFFFF
    return max(1, -(-value.bit_length() // 7))


def _payload(tensor: TensorProto) -> dict[int, int]:
    """Bytes stored in each payload field, counted from the values."""
    sizes = {}
    for name, number in PAYLOADS.items():
        values = getattr(tensor, name)
        if not values:
            continue
        if name == "raw_data":
            sizes[number] = len(values)
        elif name == "string_data":
            sizes[number] = sum(map(len, values))
        elif name in ("float_data", "double_data"):
            sizes[number] = len(values) * (4 if name == "float_data" else 8)
        else:
            sizes[number] = sum(_varint_bytes(value) * times for value, times in Counter(values).items())
    return sizes


def _found(message: Any, kind: type) -> list[Any]:
    """Every message of a type anywhere in a message, in an order that depends on its structure only."""
    found = [message] if isinstance(message, kind) else []
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.full_name == "onnx.TrainingInfoProto":
            continue
        for item in value if field.is_repeated else [value]:
            found += _found(item, kind)
    return found


def _tensors(message: Any) -> list[TensorProto]:
    return _found(message, TensorProto)


def _expected(model: onnx.ModelProto) -> list[Note | None]:
    """Applies the rule of the scan to a model that onnx parsed."""
    model.ClearField("training_info")
    for attribute in _found(model, onnx.AttributeProto):
        if len(attribute.s) > 64 << 10:
            attribute.ClearField("s")
    notes = []
    for tensor in _tensors(model):
        sizes = _payload(tensor)
        stored = sum(sizes.values())
        if stored <= (64 << 10 if tensor.data_type in INTEGERS else 1 << 10):
            notes.append(None)
            continue
        notes.append(Note(next(iter(sizes)) if len(sizes) == 1 else 0, stored))
        for name in PAYLOADS:
            tensor.ClearField(name)
    return notes


def _check(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    expected = onnx.ModelProto.FromString(data)
    notes = _expected(expected)
    found = onnx_proto.parse(strip(path))
    tensors = _tensors(found)
    assert [payload_note(tensor) for tensor in tensors] == notes
    for tensor in tensors:
        if payload_note(tensor):
            tensor.ClearField("segment")
    assert found == expected


def test_every_real_model_is_what_onnx_reads(shared: Path, tmp_path: Path) -> None:
    files = sorted((shared / "data" / "onnx").rglob("*.onnx"))
    assert len(files) == 147
    for file in files:
        _check(file.read_bytes(), tmp_path / "model.onnx")


_SIZES = st.sampled_from([0, 1, 255, 256, 257, 300, 8192, 8193, 16384, 16385, 70000])


@st.composite
def _tensor(draw: st.DrawFn) -> TensorProto:
    kind = draw(st.sampled_from(["raw", "float", "int32", "int64", "double", "uint64", "string", "two"]))
    count = draw(_SIZES)
    tensor = TensorProto(name=draw(st.text(max_size=20)), dims=[count], data_type=draw(st.integers(0, 30)))
    value = draw(st.integers(-(2**31), 2**31 - 1))
    if kind in ("raw", "two"):
        tensor.raw_data = bytes(count)
    if kind == "float":
        tensor.float_data.extend([0.5] * count)
    if kind in ("int32", "two"):
        tensor.int32_data.extend([value] * count)
    if kind == "int64":
        tensor.int64_data.extend([value] * count)
    if kind == "double":
        tensor.double_data.extend([0.5] * count)
    if kind == "uint64":
        tensor.uint64_data.extend([abs(value)] * count)
    if kind == "string":
        tensor.string_data.extend([b"word"] * count)
    return tensor


@st.composite
def _graph(draw: st.DrawFn, depth: int) -> onnx.GraphProto:
    graph = onnx.GraphProto(name=draw(st.text(max_size=300)))
    graph.initializer.extend(draw(st.lists(_tensor(), max_size=3)))
    for _ in range(draw(st.integers(0, 2))):
        graph.sparse_initializer.add(values=draw(_tensor()), indices=draw(_tensor()), dims=[4])
    for _ in range(draw(st.integers(0, 3))):
        graph.node.append(draw(_node(depth)))
    graph.value_info.add(name=draw(st.text(max_size=2000)))
    return graph


@st.composite
def _node(draw: st.DrawFn, depth: int) -> onnx.NodeProto:
    node = helper.make_node(draw(st.text(max_size=9)), ["x"] * draw(st.integers(0, 700)), ["y"], doc_string="why")
    attribute = node.attribute.add(name="a", type=draw(st.integers(0, 14)))
    attribute.ints.extend(
        draw(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5)) * draw(st.sampled_from([1, 200]))
    )
    if draw(st.booleans()):
        attribute.t.CopyFrom(draw(_tensor()))
        attribute.tensors.append(draw(_tensor()))
        attribute.sparse_tensors.add(values=draw(_tensor()))
    if depth and draw(st.booleans()):
        attribute.g.CopyFrom(draw(_graph(depth - 1)))
        attribute.graphs.append(draw(_graph(depth - 1)))
    return node


@st.composite
def _models(draw: st.DrawFn) -> onnx.ModelProto:
    model = onnx.ModelProto(ir_version=8, graph=draw(_graph(2)), producer_name=draw(st.text(max_size=30)))
    model.opset_import.add(version=17)
    function = model.functions.add(name="f")
    function.node.append(draw(_node(1)))
    function.attribute_proto.add(name="d", t=draw(_tensor()))
    model.training_info.add(algorithm=draw(_graph(0)))
    return model


@settings(max_examples=40, deadline=None)
@given(model=_models())
def test_any_model_is_what_onnx_reads(tmp_path_factory: pytest.TempPathFactory, model: onnx.ModelProto) -> None:
    _check(model.SerializeToString(), tmp_path_factory.getbasetemp() / "any.onnx")


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=200))
def test_arbitrary_bytes_end_in_a_model_or_one_clear_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "noise.onnx"
    path.write_bytes(data)
    try:
        found = onnx_proto.parse(strip(path))
    except BadModel as error:
        assert "\n" not in str(error)
    else:
        expected = onnx.ModelProto.FromString(data)
        expected.ClearField("training_info")
        assert found.SerializeToString(deterministic=True) == expected.SerializeToString(deterministic=True)


def _field(number: int, body: bytes) -> bytes:
    return onnx_wire._encode(number << 3 | 2) + onnx_wire._encode(len(body)) + body


def _strip(data: bytes, tmp_path: Path) -> bytes:
    path = tmp_path / "made.onnx"
    path.write_bytes(data)
    return strip(path)


def test_payloads_that_are_not_packed_are_added_up(tmp_path: Path) -> None:
    tensor = b"\x08\x90\x03" + b"\x10\x01" + b"\x25\0\0\x80\x3f" * 400
    found = onnx_proto.parse(_strip(_field(7, _field(5, tensor)), tmp_path))
    assert payload_note(found.graph.initializer[0]) == Note(4, 1600)
    assert list(found.graph.initializer[0].dims) == [400]


def test_long_text_is_left_out_and_short_text_stays(tmp_path: Path) -> None:
    model = helper.make_model(
        helper.make_graph([helper.make_node("EPContext", [], ["y"], blob=b"x" * 70000)], "g", [], [])
    )
    model.graph.doc_string = "short " * 200
    found = onnx_proto.parse(_strip(model.SerializeToString(), tmp_path))
    assert found.graph.doc_string == "short " * 200
    assert not found.graph.node[0].attribute[0].s


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x08", "truncated: a number at byte 1 runs to byte 2, but the file ends at byte 1"),
        (b"\x3a\x80", "truncated: field 7 at byte 0 runs to byte 3, but the file ends at byte 2"),
        (b"\x3a\x80\x80", "truncated: a number at byte 1 runs to byte 4"),
        (b"\x3a\x10ab", "truncated: field 7 at byte 0 runs to byte 18, but the file ends at byte 4"),
        (b"\x08" + b"\xff" * 11, "takes more than 10 bytes"),
        (b"\x00\x00", "no protobuf field at byte 0"),
        (b"\x0b\x0c", "wire type 3"),
        (b"\x0c", "wire type 4"),
        (b"\x0e\x00", "wire type 6"),
        (b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01ab", "runs to byte 18,446,744,073,709,551,626"),
        (_field(7, _field(5, b"\x10\x01" * 600 + b"\x4a\x7f")) + b"\x08\x08", "longer than the message around it"),
    ],
)
def test_a_damaged_file_says_at_which_byte(data: bytes, says: str, tmp_path: Path) -> None:
    with pytest.raises(BadModel, match=says) as caught:
        _strip(data, tmp_path)
    assert caught.value.where == "made.onnx"
    assert caught.value.hint


def test_every_cut_of_a_model_is_an_error_or_a_whole_prefix(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    inputs = [helper.make_tensor_value_info("x", 1, [2])]
    model = helper.make_model(helper.make_graph(nodes, "g", inputs, []), producer_name="test")
    data = model.SerializeToString()
    whole = 0
    for end in range(1, len(data)):
        try:
            stripped = _strip(data[:end], tmp_path)
        except BadModel as error:
            assert "truncated" in error.what
        else:
            whole += 1
            assert stripped == data[:end]
    assert whole <= 4


def _nested(levels: int) -> bytes:
    body = b""
    for _ in range(levels):
        body = _field(1, _field(5, _field(6, body)))
    return _field(7, body)


def test_thirty_nested_subgraphs_are_read(tmp_path: Path) -> None:
    assert _strip(_nested(30), tmp_path) == _nested(30)


@pytest.mark.parametrize("levels", [3_000, 30_000])
def test_thousands_of_nested_subgraphs_are_one_clear_error(levels: int, tmp_path: Path) -> None:
    with pytest.raises(BadModel, match="nested more than 100 deep at byte"):
        _strip(_nested(levels), tmp_path)


def test_nesting_that_fits_a_kilobyte_is_refused_by_the_parser(tmp_path: Path) -> None:
    data = _strip(_nested(100), tmp_path)
    with pytest.raises(BadModel, match="nested too deep"):
        onnx_proto.parse(data)


def test_limits_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = _field(7, b"".join(_field(1, _field(3, b"n" * 2000)) for _ in range(20)))
    monkeypatch.setattr(onnx_wire, "MAX_MESSAGES", 10)
    with pytest.raises(BadModel, match="more than 10 nodes, attributes and tensors"):
        _strip(many, tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(onnx_wire, "MAX_FIELDS", 10)
    with pytest.raises(BadModel, match="more than 10 fields"):
        _strip(many, tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(onnx_wire, "MAX_KEPT_BYTES", 32 << 10)
    with pytest.raises(BadModel, match="0 MiB of structure beside the weights"):
        _strip(many, tmp_path)


def test_small_messages_are_walked_once_they_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = _field(7, b"".join(_field(1, b"") for _ in range(3000)))
    assert _strip(many, tmp_path) == many
    monkeypatch.setattr(onnx_wire, "UNWALKED_BYTES", 1000)
    monkeypatch.setattr(onnx_wire, "MAX_MESSAGES", 2000)
    with pytest.raises(BadModel, match="more than 2,000"):
        _strip(many, tmp_path)
