"""Sizes of element types are exact, and bytes are rounded up once a tensor."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.dtypes import DTYPES, integer_of

PLAIN = [dtype for dtype in DTYPES.values() if dtype.block_length == 1 and dtype.block_bits is not None]


@given(dtype=st.sampled_from(PLAIN), elements=st.integers(0, 10**6))
def test_ordinary_types_fill_whole_bytes(dtype, elements: int) -> None:
    bits = sum(dtype.block_bits for _ in range(min(elements, 50))) if elements <= 50 else elements * dtype.block_bits
    size = dtype.bytes_of(elements)
    assert 8 * size >= bits > 8 * (size - 1) if elements else size == 0


@given(dtype=st.sampled_from([t for t in DTYPES.values() if t.block_length > 1]), elements=st.integers(0, 10**6))
def test_block_formats_fill_whole_blocks(dtype, elements: int) -> None:
    blocks = len(range(0, elements, dtype.block_length))
    assert dtype.bytes_of(elements) == blocks * dtype.block_bits // 8


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("int4", 4),
        ("uint1", 1),
        ("bfloat16", 16),
        ("float8_e4m3fn", 8),
        ("q8_0", "17/2"),
        ("q4_0", "9/2"),
        ("mxfp4", "17/4"),
    ],
)
def test_bits_an_element(name: str, bits: int | str) -> None:
    assert DTYPES[name].bits == Fraction(bits)


def test_an_odd_number_of_4_bit_values_takes_half_a_byte_more() -> None:
    assert [DTYPES["int4"].bytes_of(n) for n in range(5)] == [0, 1, 1, 2, 2]


def test_the_ggml_block_structures() -> None:
    """sizeof(block_q4_0) = 18, block_q4_1 = 20, block_q5_0 = 22, block_q5_1 = 24, block_q8_0 = 34 (ggml-common.h)."""
    sizes = {name: DTYPES[name].bytes_of(32) for name in ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0")}
    assert sizes == {"q4_0": 18, "q4_1": 20, "q5_0": 22, "q5_1": 24, "q8_0": 34}


def test_text_has_no_size() -> None:
    assert DTYPES["string"].bytes_of(3) is None
    assert DTYPES["string"].bits is None


@given(st.integers(1, 64))
def test_integers_of_any_width(bits: int) -> None:
    dtype = integer_of(bits)
    assert (dtype.bits, dtype.kind, dtype.name) == (bits, "int", f"int{bits}")
    if f"int{bits}" in DTYPES:
        assert dtype is DTYPES[f"int{bits}"]


def test_what_can_be_learned() -> None:
    assert {name for name, dtype in DTYPES.items() if dtype.is_learnable} == {
        name for name in DTYPES if name.startswith(("float", "bfloat", "complex", "q", "mxfp"))
    }
