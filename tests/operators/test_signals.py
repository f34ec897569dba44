"""Signals and states, executed: short-time transforms, mel filters, linear attention."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, macs_of, shape_of, typed, work_of
from tests.operators.reference import run
from tests.operators.test_spectral import fast
from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError

FOURIER, SHORT_TIME = "fourier_transform", "short_time_fourier_transform"
SIZES = st.integers(1, 4)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple), st.data())
def test_pairs_are_complex_numbers_in_another_layout(shape, data):
    axes = tuple(data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True)))
    sizes = tuple(data.draw(st.integers(2, 6)) for _ in axes)
    for form, parts, dtype in (
        ("complex", 2, "complex64"),
        ("real_to_full", 1, "float32"),
        ("real_to_half", 1, "float32"),
        ("half_to_real", 2, "complex64"),
    ):
        for scaled in (False, True):
            attributes = {"axes": axes, "sizes": sizes, "form": form, "scaled": scaled}
            plain = call(FOURIER, attributes, x=typed(shape, dtype))
            pairs = call(FOURIER, {**attributes, "pairs": True}, x=(*shape, parts))
            assert shape_of(pairs) == (*shape_of(plain), 1 if form == "half_to_real" else 2)
            assert work_of(FOURIER, pairs) == work_of(FOURIER, plain)
            with pytest.raises(GraphError, match="parts of a number"):
                call(FOURIER, {**attributes, "pairs": True}, x=(*shape, 3 - parts))


@pytest.mark.parametrize("windowed", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
def test_a_short_time_transform_is_one_of_every_frame(windowed, parts):
    batch, samples, size, step = 2, 21, 8, 3
    t, whole = Tally(), Tally()
    frames = 0
    for _ in range(batch):
        start = 0
        while start + size <= samples:
            for _ in range(size * parts if windowed else 0):
                t.mul(0.5, 0.5)
            fast(whole, [1j] * size)
            frames, start = frames + 1, start + step
    x = np.zeros((batch, samples, parts), np.float32)
    window = [np.ones(size, np.float32)] if windowed else [None]
    for one_sided in (False, True):
        (wanted,) = run("STFT", [x, np.array(step), *window, np.array(size)], onesided=int(one_sided))
        operands = {"x": x.shape, "window": (size,)} if windowed else {"x": x.shape}
        found = call(SHORT_TIME, {"size": size, "step": step, "one_sided": one_sided}, **operands)
        assert shape_of(found) == wanted.shape
        assert shape_of(found)[1] * batch == frames
        times = 3 - parts  # a transform of real numbers is half of one of complex ones
        assert work_of(SHORT_TIME, found).times(times) == whole.work.plus(t.work.times(times))


def test_a_frame_is_as_long_as_the_window_or_the_signal():
    assert shape_of(call(SHORT_TIME, {"step": 2}, x=(1, 10, 1), window=(4,))) == (1, 4, 3, 2)
    assert shape_of(call(SHORT_TIME, {"step": 2}, x=(1, 10, 1))) == (1, 1, 6, 2)
    assert call(SHORT_TIME, {"step": "unknown"}, x=(1, 10, 1)).outputs == (DTYPES["float32"],)
    for attributes, shapes in (
        ({"step": 0}, {"x": (1, 10, 1)}),
        ({"step": 1, "size": 11}, {"x": (1, 10, 1)}),
        ({"step": 1, "size": 0}, {"x": (1, 10, 1)}),
        ({"step": 1, "size": 4}, {"x": (1, 10, 1), "window": (5,)}),
        ({"step": 1}, {"x": (1, 10, 3)}),
        ({"step": 1}, {"x": (1, 10)}),
    ):
        with pytest.raises(GraphError):
            call(SHORT_TIME, attributes, **shapes)


@given(st.integers(1, 12), st.integers(1, 5))
def test_mel_filters(size, bands):
    """By the definition: edges at equal steps of the mel scale, and a triangle between every two edges apart."""
    t, low, high, rate = Tally(), 0.0, 4000.0, 8000

    def mel(hertz):
        return t.mul(2595, t.special(math.log10, t.add(1, t.mul(hertz, 1 / 700))))

    first, last = mel(low), mel(high)
    step = t.div(t.sub(last, first), bands + 2)
    edges = []
    for index in range(bands + 2):
        at = t.mul(t.add(t.mul(index, step), first), 1 / 2595)
        hertz = t.mul(700, t.sub(t.special(lambda x: 10**x, at), 1))
        edges.append(t.add(t.div(t.mul(size + 1, hertz), rate), -0.5))
    values = np.zeros((size // 2 + 1, bands))
    for row, band in np.ndindex(*values.shape):
        rises = t.select(row <= edges[band + 1], True, False)
        inside = t.select(edges[band] <= row < edges[band + 2], 1.0, 0.0)
        side = edges[band] if rises else edges[band + 2]
        values[row, band] = inside * abs(t.div(t.sub(row, side), (edges[band + 1] - side) or 1))
    numbers = [typed((), "int64")] * 3 + [typed(())] * 2
    found = call("mel_weights", {"size": size, "bands": bands}, numbers=numbers)
    (wanted,) = run("MelWeightMatrix", [np.array(one) for one in (bands, size, rate)] + [np.array(low), np.array(high)])
    assert found.outputs == (typed(wanted.shape),)
    assert work_of("mel_weights", found) == t.work
    assert call("mel_weights", {"size": "unknown", "bands": 3}, numbers=numbers).outputs == (DTYPES["float32"],)


RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}


@given(SIZES, SIZES, SIZES, SIZES, st.integers(1, 2), st.sampled_from([*RULES]), st.data())
def test_linear_attention_is_its_recurrence(batch, tokens, key, value, kv_heads, rule, data):
    decays, corrects = RULES[rule]
    group = data.draw(st.integers(1, 2))
    heads, has_state, by_head = kv_heads * group, data.draw(st.booleans()), data.draw(st.booleans())
    width = 1 if by_head else key
    t = Tally()
    for _ in range(batch):
        state = np.zeros((kv_heads, key, value))
        for _, head in np.ndindex(tokens, kv_heads):
            decay = [t.special(math.exp, -0.5) for _ in range(width)] if decays else []
            new = [0.5] * value
            for i, j in np.ndindex(key, value):
                state[head, i, j] = t.mul(state[head, i, j], decay[i % width]) if decays else state[head, i, j]
            for j in range(value if corrects else 0):
                read = 0.0
                for i in range(key):
                    read = t.mac(read, state[head, i, j], 0.5)
                new[j] = t.mul(0.5, t.sub(new[j], read))
            for i, j in np.ndindex(key, value):
                state[head, i, j] = t.mac(state[head, i, j], 0.5, new[j])
            for _, j in np.ndindex(group, value):
                total = 0.0
                for i in range(key):
                    total = t.mac(total, 0.5, state[head, i, j])
                t.mul(0.5, total)
    shapes = {
        "q": (batch, tokens, heads * key),
        "k": (batch, tokens, kv_heads * key),
        "v": (batch, tokens, kv_heads * value),
        "state": (batch, kv_heads, key, value) if has_state else None,
        "decay": (batch, tokens, kv_heads * width) if decays else None,
        "beta": (batch, tokens, kv_heads) if corrects else None,
    }
    arrays = [None if shape is None else np.zeros(shape, np.float32) for shape in shapes.values()]
    while arrays[-1] is None:
        arrays.pop()
    names = {"q_num_heads": heads, "kv_num_heads": kv_heads, "update_rule": rule}
    wanted = run("LinearAttention", arrays, outputs=2, opset=27, **names)
    attributes = {"heads": heads, "kv_heads": kv_heads, "rule": rule, "outputs": ("y", "state")}
    found = call("linear_attention", attributes, **{name: shape for name, shape in shapes.items() if shape is not None})
    assert [one.shape for one in found.outputs] == [one.shape for one in wanted]
    assert macs_of("linear_attention", found) == t.macs
    assert work_of("linear_attention", found) == t.work


@pytest.mark.parametrize(
    ("attributes", "changed", "says"),
    [
        ({"heads": 3}, {}, "3 heads of queries for 2"),
        ({"heads": 0}, {}, "0 heads"),
        ({"rule": "x"}, {}, "not updated by 'x'"),
        ({"rule": "linear"}, {}, "has no decay"),
        ({}, {"beta": None}, "needs beta"),
        ({}, {"k": (1, 4, 7)}, "features of"),
        ({}, {"k": (1, 3, 8)}, "no batch x tokens x heads"),
        ({}, {"state": (1, 2, 4, 5)}, "a state of shape"),
    ],
)
def test_linear_attention_of_parts_that_do_not_fit(attributes, changed, says):
    shapes = {"q": (1, 4, 8), "k": (1, 4, 8), "v": (1, 4, 8), "decay": (1, 4, 2), "beta": (1, 4, 2), **changed}
    with pytest.raises(GraphError, match=says):
        call(
            "linear_attention",
            {"heads": 2, "kv_heads": 2, **attributes},
            **{name: shape for name, shape in shapes.items() if shape is not None},
        )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("apart", [False, True])
def test_a_projection_sums_the_hashes_of_all_rows(weighted, apart):
    t, numbers = Tally(), []
    for number in range(2):
        bits = []
        for bit in range(3):
            score = 0.0
            for row in range(5):
                value = hash((number, bit, row)) / 7
                score = t.add(score, t.mul(value, 0.5) if weighted else value)
            bits.append(t.select(score > 0, 1, 0))
        numbers += bits if apart else [int("".join(map(str, bits)), 2)]
    operands = {"x": typed((5, 4), "int32"), "hashes": (2, 3), **({"weights": (5,)} if weighted else {})}
    found = call("hash_projection", {"apart": apart}, **operands)
    assert found.outputs == (typed((len(numbers),), "int32"),)
    assert work_of("hash_projection", found) == t.work


@pytest.mark.parametrize("operands", [{"x": (), "hashes": (2, 3)}, {"x": (5,), "hashes": (6,)}, {"weights": (4,)}])
def test_projections_that_do_not_fit_are_an_error(operands):
    with pytest.raises(GraphError):
        call("hash_projection", {}, **{"x": (5,), "hashes": (2, 3), **operands})
