"""Values and types against onnx's own conversion to numpy."""

from __future__ import annotations

import math

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from weighbridge.errors import BadModel
from weighbridge.frontends.onnx_tensors import check_payload, decode, dims_of, dtype_of, type_of

_READABLE = [
    number
    for name, number in TensorProto.DataType.items()
    if name not in ("UNDEFINED", "STRING") and not name.startswith(("COMPLEX", "FLOAT4", "FLOAT6", "FLOAT8"))
]


def _same(found: tuple[object, ...], expected: list[object]) -> bool:
    return len(found) == len(expected) and all(
        a == b or (a != a and b != b) for a, b in zip(found, expected, strict=True)
    )


@settings(max_examples=400, deadline=None)
@given(data=st.data(), kind=st.sampled_from(_READABLE), raw=st.booleans())
def test_values_are_those_that_onnx_reads(data: st.DataObject, kind: int, raw: bool) -> None:
    shape = data.draw(st.lists(st.integers(0, 4), max_size=3))
    count = math.prod(shape)
    numpy_type = helper.tensor_dtype_to_np_dtype(kind)
    bits = data.draw(st.binary(min_size=8 * count, max_size=8 * count))
    values = numpy.frombuffer(bits, dtype=numpy.int64).reshape(shape)
    with numpy.errstate(all="ignore"):
        small = values % 4 if dtype_of(kind).bits < 8 else values
        array = small.astype(numpy_type)
    if raw:
        tensor = numpy_helper.from_array(array, "t")
    else:
        tensor = helper.make_tensor("t", kind, shape, array.astype(numpy_type).flatten().tolist())
    expected = numpy_helper.to_array(tensor).astype(object).flatten().tolist()
    found = decode(tensor)
    if found is None:
        assert count == 0
        return
    assert found[0] == tuple(shape)
    assert _same(found[1], [value.item() if hasattr(value, "item") else value for value in expected] if count else [])


@pytest.mark.parametrize("kind", sorted(TensorProto.DataType.values()))
def test_every_type_has_the_size_that_onnx_gives_it(kind: int) -> None:
    dtype = dtype_of(kind)
    if kind in (TensorProto.UNDEFINED, TensorProto.STRING):
        assert dtype.bits is None
        return
    name = TensorProto.DataType.Name(kind).lower().replace("_", "")
    own = dtype.name.replace("_", "")
    assert own == {"float": "float32", "double": "float64"}.get(name, name).removesuffix("_")
    if kind not in _READABLE or dtype.name == "bfloat16" or dtype.bits < 8:  # older versions of onnx do not pack these
        return
    raw = numpy_helper.from_array(numpy.zeros(64, dtype=helper.tensor_dtype_to_np_dtype(kind)), "t").raw_data
    assert len(raw) == dtype.bytes_of(64)


@pytest.mark.parametrize("number", [-1, -100, 29, 1000, 2**31 - 1])
def test_a_type_that_onnx_never_had_is_refused(number: int) -> None:
    with pytest.raises(BadModel, match=f"element type {number} is not in ONNX"):
        dtype_of(number)
    with pytest.raises(BadModel, match=r"^t: the element type"):
        decode(TensorProto(name="t", data_type=number, dims=[1], raw_data=b"1234"))


@pytest.mark.parametrize(
    "tensor",
    [
        TensorProto(dims=[3], data_type=1, raw_data=b"\0" * 11),
        TensorProto(dims=[3], data_type=1, raw_data=b"\0" * 16),
        TensorProto(dims=[2, 2], data_type=7, int64_data=[1, 2, 3]),
        TensorProto(dims=[], data_type=1, float_data=[1, 2]),
        TensorProto(dims=[9], data_type=22, raw_data=b"\0" * 4),
        TensorProto(dims=[9], data_type=22, int32_data=[0] * 4),
        TensorProto(dims=[4], data_type=14, float_data=[0] * 4),
        TensorProto(dims=[2], data_type=1, float_data=[0] * 2, int64_data=[1]),
        TensorProto(dims=[2], data_type=8, string_data=[b"one"]),
        TensorProto(dims=[2], data_type=8, raw_data=b"one"),
        TensorProto(dims=[1000], data_type=1, segment=TensorProto.Segment(begin=-10, end=3999)),
        TensorProto(dims=[1000], data_type=1, segment=TensorProto.Segment(begin=-5, end=4004)),
        TensorProto(dims=[1000], data_type=3, segment=TensorProto.Segment(begin=-6, end=999)),
        TensorProto(dims=[1000], data_type=3, segment=TensorProto.Segment(begin=-6, end=10001)),
        TensorProto(dims=[-1], data_type=1),
        TensorProto(dims=[2**62], data_type=1),
    ],
)
def test_a_payload_that_contradicts_the_shape_is_refused(tensor: TensorProto) -> None:
    tensor.name = "weight"
    with pytest.raises(BadModel, match=r"^weight: "):
        check_payload(tensor, type_of(tensor))
        dims_of(tensor)


@pytest.mark.parametrize(
    "tensor",
    [
        TensorProto(dims=[3], data_type=1, raw_data=b"\0" * 12),
        TensorProto(dims=[2**40], data_type=1),
        TensorProto(dims=[3], data_type=1, raw_data=b"\0", data_location=1),
        TensorProto(dims=[9], data_type=22, int32_data=[0] * 5),
        TensorProto(dims=[9], data_type=27, int32_data=[0] * 9),
        TensorProto(dims=[9], data_type=27, raw_data=bytes(7)),
        TensorProto(dims=[2], data_type=14, float_data=[0] * 4),
        TensorProto(dims=[1000], data_type=3, segment=TensorProto.Segment(begin=-6, end=5000)),
        TensorProto(dims=[1000], data_type=10, segment=TensorProto.Segment(begin=-10, end=2000)),
    ],
)
def test_a_payload_that_fits_passes(tensor: TensorProto) -> None:
    check_payload(tensor, type_of(tensor))


def test_what_is_elsewhere_or_no_number_has_no_values() -> None:
    assert decode(TensorProto(dims=[3], data_type=7)) is None
    assert decode(TensorProto(dims=[3], data_type=7, data_location=1)) is None
    assert decode(TensorProto(dims=[3], data_type=7, segment=TensorProto.Segment(begin=-10, end=24))) is None
    assert decode(helper.make_tensor("s", TensorProto.STRING, [1], [b"word"])) is None
    assert decode(TensorProto(dims=[1], data_type=17, raw_data=b"\0")) is None
    assert decode(TensorProto(dims=[0], data_type=7)) == ((0,), ())
