"""Bytes as numbers, against Python's own reading of them and against protobuf's."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadModel
from weighbridge.frontends.onnx_tensors import unpack
from weighbridge.frontends.weights_values import decoded, from_varints, is_decodable

NAMES = [name for name, dtype in DTYPES.items() if is_decodable(dtype) and name not in ("int1", "uint1")]


@pytest.mark.parametrize("name", NAMES)
@given(data=st.binary(min_size=8, max_size=64))
def test_values_are_those_of_the_plain_reader(name: str, data: bytes) -> None:
    dtype = DTYPES[name]
    bits = dtype.block_bits or 0
    elements = len(data) * 8 // bits - (1 if bits == 4 else 0)  # also a half byte that nothing fills
    data = data[: dtype.bytes_of(elements)]
    found = decoded(data, dtype, elements)
    expected = unpack(data, dtype, elements)
    assert expected is not None
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found.astype(np.float64), np.array(expected, np.float64))


def test_as_many_bytes_as_the_shape_says() -> None:
    with pytest.raises(BadModel, match="7 bytes are stored for 2 values of float32"):
        decoded(bytes(7), DTYPES["float32"], 2)


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1))
def test_varints_are_protobufs(numbers: list[int]) -> None:
    message = onnx.TensorProto(int32_data=numbers)
    (field,) = [content for number, content in _fields(message.SerializeToString()) if number == 5]
    for width, dtype in ((4, "<i4"), (2, "<i2"), (1, "i1")):
        expected = np.array(numbers, np.int64).astype(dtype)
        assert np.frombuffer(from_varints(field, width), dtype).tolist() == expected.tolist()


@pytest.mark.parametrize("data", [b"\x80", b"\x01\xff", b"\xff" * 11 + b"\x01"])
def test_varints_without_an_end(data: bytes) -> None:
    with pytest.raises(BadModel):
        from_varints(data, 4)


def _fields(data: bytes) -> list[tuple[int, bytes]]:
    """Length-delimited fields of a message that has no others."""
    found, place = [], 0
    while place < len(data):
        number, place = data[place] >> 3, place + 1
        length = shift = 0
        while True:
            byte, place = data[place], place + 1
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        found.append((number, data[place : place + length]))
        place += length
    return found
