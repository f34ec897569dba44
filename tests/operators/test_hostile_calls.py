"""Whatever a file makes of shapes and attributes, a rule answers with ``GraphError`` or with counts that can be."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import typed
from weighbridge.errors import GraphError
from weighbridge.operators.attention import ATTENTION_OPERATORS
from weighbridge.operators.convolution import CONVOLUTION_OPERATORS
from weighbridge.operators.einsum import EINSUM_OPERATORS
from weighbridge.operators.embedding import EMBEDDING_OPERATORS
from weighbridge.operators.linear import LINEAR_OPERATORS
from weighbridge.operators.pooling import POOLING_OPERATORS
from weighbridge.operators.record import REQUIRED, Call
from weighbridge.operators.recurrent import RECURRENT_OPERATORS

RECORDS = (
    *CONVOLUTION_OPERATORS,
    *LINEAR_OPERATORS,
    *EINSUM_OPERATORS,
    *ATTENTION_OPERATORS,
    *RECURRENT_OPERATORS,
    *EMBEDDING_OPERATORS,
    *POOLING_OPERATORS,
)

# A call of each record that is right, to be spoiled.
RIGHT = {
    "conv": ({}, {"x": (1, 4, 8, 8), "w": (6, 4, 3, 3), "b": (6,)}),
    "conv_transpose": ({}, {"x": (1, 4, 8, 8), "w": (4, 6, 3, 3), "b": (6,)}),
    "deformable_conv": ({}, {"x": (1, 4, 8, 8), "w": (6, 4, 3, 3), "offset": (1, 18, 6, 6), "mask": (1, 9, 6, 6)}),
    "linear": ({}, {"x": (2, 8), "w": (5, 8), "b": (5,)}),
    "matmul": ({}, {"x": (2, 4, 8), "w": (2, 8, 5), "b": (5,)}),
    "grouped_matmul": ({}, {"x": (6, 8), "w": (3, 8, 5), "ends": (3,), "b": (3, 5)}),
    "bilinear": ({}, {"x": (2, 4), "z": (2, 3), "w": (5, 4, 3), "b": (5,)}),
    "einsum": ({"equation": "bij,bjk->bik"}, {"xs": [(2, 4, 8), (2, 8, 5)]}),
    "attention": (
        {},
        {"q": (1, 4, 5, 8), "k": (1, 2, 7, 8), "v": (1, 2, 7, 8), "mask": (5, 7)},
    ),
    "lstm": ({}, {"x": (5, 3, 10), "w": (1, 80, 10), "r": (1, 80, 20), "b": (1, 160), "p": (1, 60)}),
    "gru": ({}, {"x": (5, 3, 10), "w": (1, 60, 10), "r": (1, 60, 20), "b": (1, 120)}),
    "rnn": ({}, {"x": (5, 3, 10), "w": (1, 20, 10), "r": (1, 20, 20), "b": (1, 40)}),
    "embedding": ({}, {"w": (100, 8), "indices": (2, 5)}),
    "pack_sequences": ({"steps": 12, "longest": 7}, {"x": (7, 3, 10), "lengths": (3,)}),
    "unpack_sequences": ({"steps": 7, "batch": 3}, {"x": (12, 20), "batch_sizes": (7,)}),
    "embedding_renorm": ({}, {"w": (100, 8), "indices": (12,)}),
    "embedding_bag": ({"mode": "mean"}, {"w": (100, 8), "indices": (12,), "offsets": (4,), "sample_weights": (12,)}),
    "sparse_embedding_bag": (
        {"shape": (4, 3)},
        {"w": (100, 8), "ids": (12,), "places": (12, 2), "sample_weights": (12,)},
    ),
    "keyed_embedding": ({}, {"w": (100, 8), "indices": (5,), "keys": (100,)}),
    "lstm_cell": ({}, {"gates": (3, 80), "c": (3, 20)}),
    "max_pool": ({"kernel": 3, "stride": 2}, {"x": (1, 4, 8, 8)}),
    "average_pool": ({"kernel": 3, "stride": 2}, {"x": (1, 4, 8, 8)}),
    "lp_pool": ({"kernel": 3, "stride": 2}, {"x": (1, 4, 8, 8)}),
    "global_max_pool": ({}, {"x": (1, 4, 8, 8)}),
    "global_average_pool": ({}, {"x": (1, 4, 8, 8)}),
    "global_lp_pool": ({}, {"x": (1, 4, 8, 8)}),
    "adaptive_max_pool": ({"output_size": (2, 3)}, {"x": (1, 4, 8, 8)}),
    "adaptive_average_pool": ({"output_size": (2, 3)}, {"x": (1, 4, 8, 8)}),
    "fractional_max_pool": ({"kernel": 2, "output_size": (3, 4)}, {"x": (1, 4, 8, 8), "samples": (1, 4, 2)}),
    "max_unpool": ({"kernel": 2, "stride": 2}, {"x": (1, 4, 8, 8), "indices": (1, 4, 8, 8)}),
}

SHAPES = st.lists(st.sampled_from([0, 1, 2, 3, 4, 5, 8, 1 << 40, 1 << 48]), max_size=6).map(tuple)
TYPES = st.builds(typed, SHAPES, st.sampled_from(["float32", "int8", "bool", "int4", "string", "opaque", "q4_0"]))
SCALARS = st.one_of(
    st.integers(-3, 9),
    st.sampled_from([-(1 << 63), 1 << 40, (1 << 63) - 1, 0.0, -1.5, float("nan"), float("inf"), True, False]),
    st.sampled_from(
        ["", "valid", "same_upper", "same_lower", "channels_last", "NHWC", "io", "io_spatial", "spatial_io", "y", "y_h"]
    ),
    st.sampled_from(["int8", "float99", "tanh", "ij,jk", "...i->i", "...,...", "->", ",", "i\u202e", "\x00", "ii->"]),
)
ATTRIBUTES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=5)


def weigh(op, attributes, operands):
    """Everything that is asked of a record."""
    asked = Call(operands, attributes)
    outputs = tuple(op.infer(asked))
    assert outputs
    for output in outputs:
        assert all(type(size) is int and size >= 0 for size in output.shape)
    found = Call(operands, attributes, outputs)
    assert all(type(count) is int and count >= 0 for count in op.work(found) or ())
    for loops in op.loops(found) if op.loops else ():
        assert all(type(size) is int and size >= 0 for size in (loops.m, loops.n, loops.k, loops.groups))
        assert loops.im2col_elements >= 0
    assert op.macs(found) >= 0
    assert all(count is None or count >= 0 for count in op.traffic(found))


def right(op):
    attributes, shapes = RIGHT[op.name]
    operands = {
        name: tuple(typed(shape) for shape in (given if isinstance(given, list) else [given]))
        for name, given in shapes.items()
    }
    return {**op.attributes, **attributes}, operands


@pytest.mark.parametrize("op", RECORDS, ids=lambda op: op.name)
def test_the_call_to_be_spoiled_is_right(op):
    attributes, operands = right(op)
    assert REQUIRED not in attributes.values()
    weigh(op, attributes, operands)


@pytest.mark.parametrize("op", RECORDS, ids=lambda op: op.name)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_spoiled_call_is_an_error_or_has_counts(op, data):
    attributes, operands = right(op)
    for _ in range(data.draw(st.integers(1, 2))):
        if op.attributes and data.draw(st.booleans()):
            attributes[data.draw(st.sampled_from(sorted(op.attributes)))] = data.draw(ATTRIBUTES)
        else:
            slot = data.draw(st.sampled_from(op.slots))
            several = st.lists(TYPES, max_size=3).map(tuple) if slot.variadic else TYPES.map(lambda one: (one,))
            operands[slot.name] = data.draw(several)
    try:
        weigh(op, attributes, operands)
    except GraphError as error:
        assert "\n" not in str(error)
        assert str(error).isprintable()


@pytest.mark.parametrize("op", RECORDS, ids=lambda op: op.name)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_senseless_call_is_an_error_or_has_counts(op, data):
    attributes = {name: data.draw(st.one_of(st.just(value), ATTRIBUTES)) for name, value in op.attributes.items()}
    operands = {}
    for slot in op.slots:
        if slot.variadic:
            operands[slot.name] = data.draw(st.lists(TYPES, max_size=4).map(tuple))
        elif not slot.optional or data.draw(st.booleans()):
            operands[slot.name] = (data.draw(TYPES),)
    try:
        weigh(op, attributes, operands)
    except GraphError as error:
        assert str(error).isprintable()
