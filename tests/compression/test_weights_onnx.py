"""Values of ONNX files, in every way that a file can store them, against onnx's own reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, external_data_helper, numpy_helper

import weighbridge
from tests.onnx.build import graph, model, node, value
from tests.onnx.files import OPEN, REFUSED, Sizes, onnx_files
from weighbridge.errors import BadModel
from weighbridge.frontends.from_onnx import load_stored
from weighbridge.frontends.weights_onnx import values_of

NUMBERS = np.random.default_rng(3).standard_normal((24, 40)).astype(np.float32)  # more than what is kept of a payload


def one_layer(weight: Any, *, large: bool = True) -> onnx.ModelProto:
    """A linear layer of this TensorProto; ``large`` ones are left out by the scan."""
    assert (weight.ByteSize() > 1024) == large
    ends = [value("x", (1, weight.dims[0]), weight.data_type)], [value("y", None, weight.data_type)]
    return model(graph([node("MatMul", ["x", "w"], ["y"], name="fc")], *ends, [weight]), opset=21, ir_version=10)


def read_back(path: Path) -> np.ndarray:
    found = load_stored(path)
    stored = values_of(found)["w"]
    assert stored.read is not None
    values: np.ndarray = stored.read()
    return values


def written(folder: Path, made: onnx.ModelProto) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    return path


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int8", "uint8", "int32", "int64", "uint64", "int16"]
)
@pytest.mark.parametrize("is_raw", [True, False])
@pytest.mark.parametrize("rows", [2, 24])
def test_raw_and_typed(tmp_path: Path, dtype: str, is_raw: bool, rows: int) -> None:
    numbers = (
        (100 * NUMBERS[:rows]).astype(dtype) if dtype[0] == "f" else (20 * NUMBERS[:rows]).astype(np.int8).astype(dtype)
    )
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    if is_raw:
        weight = numpy_helper.from_array(numbers, "w")
    else:
        weight = onnx.helper.make_tensor("w", kind, numbers.shape, numbers.reshape(-1).tolist())
    path = written(tmp_path, one_layer(weight, large=weight.ByteSize() > 1024))
    np.testing.assert_array_equal(read_back(path), numpy_helper.to_array(weight).reshape(-1))


@pytest.mark.parametrize("kind", [TensorProto.BFLOAT16, TensorProto.INT4, TensorProto.UINT4])
@pytest.mark.parametrize("is_raw", [True, False])
@pytest.mark.parametrize("rows", [2, 120])
def test_types_that_numpy_lacks(tmp_path: Path, kind: int, is_raw: bool, rows: int) -> None:
    low = -8 if kind == TensorProto.INT4 else 0
    numbers = np.clip(np.resize(NUMBERS, (rows, 40)) * 3, low, 7).round().astype(np.float32)
    weight = onnx.helper.make_tensor("w", kind, numbers.shape, numbers.reshape(-1).tolist())
    if is_raw:
        weight = numpy_helper.from_array(numpy_helper.to_array(weight), "w")
    made = one_layer(weight, large=weight.ByteSize() > 1024)
    if kind != TensorProto.BFLOAT16:
        dequantised = node("DequantizeLinear", ["w", "s"], ["d"])
        scale = numpy_helper.from_array(np.float32(1), "s")
        made = model(
            graph(
                [dequantised, node("MatMul", ["x", "d"], ["y"], name="fc")],
                [value("x", (1, rows))],
                [value("y", None)],
                [weight, scale],
            ),
            opset=21,
            ir_version=10,
        )
    np.testing.assert_array_equal(read_back(written(tmp_path, made)), numbers.reshape(-1))


def test_a_field_of_single_numbers(tmp_path: Path) -> None:
    """As protobuf wrote repeated fields before it packed them: a tag in front of every number."""
    import struct

    numbers = NUMBERS.reshape(-1)
    packed = onnx.TensorProto(dims=NUMBERS.shape, data_type=TensorProto.FLOAT, name="w")
    unpacked = packed.SerializeToString() + b"".join(b"\x25" + struct.pack("<f", number) for number in numbers)
    weight = onnx.TensorProto.FromString(unpacked)
    made = one_layer(weight)
    whole = made.SerializeToString()
    inner = weight.SerializeToString()
    assert inner in whole
    del made.graph.initializer[:]
    body = made.graph.SerializeToString() + b"\x2a" + _varint(len(unpacked)) + unpacked
    made.ClearField("graph")
    path = tmp_path / "model.onnx"
    path.write_bytes(made.SerializeToString() + b"\x3a" + _varint(len(body)) + body)
    np.testing.assert_array_equal(read_back(path), numbers)


@pytest.mark.parametrize("rows", [2, 120])
@pytest.mark.parametrize(
    ("kind", "dtype"), [(TensorProto.INT8, np.int8), (TensorProto.UINT8, np.uint8), (TensorProto.INT16, np.int16)]
)
def test_numbers_beyond_their_type_are_cut(tmp_path: Path, kind: int, dtype: type, rows: int) -> None:
    """As ONNX's own reader does it, whether a tensor is small or large."""
    numbers = np.resize(np.array([70_000, -3, 300, -70_000], np.int32), (rows, 16))
    weight = TensorProto(name="w", data_type=kind, dims=numbers.shape, int32_data=numbers.reshape(-1).tolist())
    path = written(tmp_path, one_layer(weight, large=rows > 2))
    np.testing.assert_array_equal(read_back(path), numbers.astype(dtype).reshape(-1))


@pytest.mark.parametrize("options", [{}, {"ratios_only": True, "keep": 0.5}])
def test_a_type_without_a_width_is_no_zero(tmp_path: Path, options: dict[str, Any]) -> None:
    made = one_layer(
        TensorProto(name="w", data_type=TensorProto.STRING, dims=(4, 16), string_data=[b"x"] * 64), large=False
    )
    found = weighbridge.compress(written(tmp_path, made), **options)
    assert not found.is_exact
    assert any("how many bits a value of string takes is not known" in note for note in found.notes)


def _varint(number: int) -> bytes:
    data = b""
    while number > 127:
        data += bytes([number & 127 | 128])
        number >>= 7
    return data + bytes([number])


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    made = one_layer(numpy_helper.from_array(NUMBERS, "w"))
    external_data_helper.convert_model_to_external_data(made, location="w.bin", size_threshold=0)
    path = tmp_path / "model.onnx"
    onnx.save(made, path)
    return path


def test_external_data(beside: Path) -> None:
    np.testing.assert_array_equal(read_back(beside), NUMBERS.reshape(-1))


def test_external_data_that_are_gone_or_cut(beside: Path) -> None:
    data = beside.with_name("w.bin")
    data.write_bytes(data.read_bytes()[:-1])
    with pytest.raises(BadModel, match=r"w.*ends before byte"):
        weighbridge.compress(beside)
    data.unlink()
    with pytest.raises(BadModel, match="cannot be read"):
        weighbridge.compress(beside)
    assert weighbridge.compress(beside, ratios_only=True).is_exact


def test_a_constant_is_a_weight_as_well(tmp_path: Path) -> None:
    constant = node("Constant", [], ["w"], value=numpy_helper.from_array(NUMBERS, ""))
    nodes = [constant, node("MatMul", ["x", "w"], ["y"], name="fc")]
    path = written(tmp_path, model(graph(nodes, [value("x", (1, 24))], [value("y", None)])))
    np.testing.assert_array_equal(read_back(path), NUMBERS.reshape(-1))


@pytest.mark.parametrize(("points", "zero"), [([128], 128), ([128] * 40, 128), ([128, *[0] * 39], None)])
def test_the_zero_of_quantised_weights(tmp_path: Path, points: list[int], zero: int | None) -> None:
    weight = numpy_helper.from_array((NUMBERS * 20 + 128).astype(np.uint8), "w")
    scales, zeros = np.full(len(points), 0.5, np.float32), np.array(points, np.uint8)
    if len(points) == 1:
        scales, zeros = scales[0], zeros[0]
    stored = [weight, numpy_helper.from_array(np.asarray(scales), "s"), numpy_helper.from_array(np.asarray(zeros), "z")]
    nodes = [node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=1), node("MatMul", ["x", "d"], ["y"], name="fc")]
    path = written(tmp_path, model(graph(nodes, [value("x", (1, 24))], [value("y", None)], stored)))
    assert values_of(load_stored(path))["w"].zero == zero


def test_real_files_have_the_values_that_onnx_reads(shared: Path) -> None:
    checked = 0
    for name, path in onnx_files(shared).items():
        if name in REFUSED:
            continue
        sizes = OPEN.get(name, Sizes())
        found = load_stored(path, dims=sizes.dims, inputs=sizes.inputs)
        whole = onnx.load(path, load_external_data=False)
        stored = {one.name: one for one in whole.graph.initializer}
        for weight, values in values_of(found).items():
            message = stored.get(weight)
            if message is None or values.read is None or message.data_location == 1:
                continue
            expected = numpy_helper.to_array(message).reshape(-1)
            if expected.size == found.graph.tensors[weight].elements:
                np.testing.assert_array_equal(values.read().astype(np.float64), expected.astype(np.float64))
                checked += 1
    assert checked > 400


def test_real_files_are_compressed_or_refused_for_their_own_faults(shared: Path) -> None:
    """Every code lies between the entropy and a bit more for each number; only files without their weights are refused."""
    refused = []
    measured = 0
    for name, path in onnx_files(shared).items():
        sizes = OPEN.get(name, Sizes())
        try:
            found = weighbridge.compress(path, keep=0.5, codebook=4, dims=sizes.dims, inputs=sizes.inputs)
        except BadModel:
            refused.append(name)
            continue
        for layer in found.layers:
            for stream in (layer.values, layer.indices):
                if stream is not None and stream.entropy_bits is not None:
                    assert stream.entropy_bits <= stream.huffman_bits <= stream.entropy_bits + stream.entries
                    measured += 1
    assert set(refused) == {*REFUSED, "external_data/resnet18/resnet18.onnx"}
    assert measured > 400
