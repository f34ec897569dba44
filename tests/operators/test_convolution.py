"""Convolutions against their execution: the oracle pads an array, walks windows over it and counts its products."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.operators.execution import (
    Tally,
    call,
    everywhere,
    integers,
    loops_of,
    macs_of,
    shape_of,
    starts,
    typed,
    walked_same,
    work_of,
)
from weighbridge.errors import GraphError
from weighbridge.operators.shapes import window_padding

WEIGHT_ORDER = {
    "oi_spatial": lambda rank: (0, 1, *range(2, rank + 2)),
    "io_spatial": lambda rank: (1, 0, *range(2, rank + 2)),
    "o_spatial_i": lambda rank: (0, *range(2, rank + 2), 1),
    "1_spatial_o": lambda rank: (1, *range(2, rank + 2), 0),
    "spatial_io": lambda rank: (*range(2, rank + 2), 1, 0),
    "spatial_oi": lambda rank: (*range(2, rank + 2), 0, 1),
}
PADDINGS = ("valid", "same_upper", "same_lower", "numbers", "pairs")


@st.composite
def windows(draw, paddings=PADDINGS):
    """A convolution over 1 to 3 axes: sizes of everything, in the order batch, channels, axes."""
    rank = draw(st.integers(1, 3))
    small = {1: 9, 2: 6, 3: 4}[rank]

    def axes(low, high):
        return tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))

    window = {
        "batch": draw(st.integers(1, 2)),
        "groups": draw(st.integers(1, 3)),
        "c_i_group": draw(st.integers(1, 2)),
        "c_o_group": draw(st.integers(1, 2)),
        "sizes": axes(1, small),
        "taps": axes(1, 3),
        "stride": axes(1, 3),
        "dilation": axes(1, 2),
        "unbatched": draw(st.booleans()),
        "layout": draw(st.sampled_from(["channels_first", "channels_last"])),
        "weight_layout": draw(st.sampled_from(list(WEIGHT_ORDER))),
        "bias": draw(st.booleans()),
    }
    kind = draw(st.sampled_from(paddings))
    window["padding"] = {"numbers": axes(0, 2), "pairs": axes(0, 2) + axes(0, 2)}.get(kind, kind)
    if window["unbatched"]:
        window["batch"] = 1
    return window


def reach(w):
    return tuple(d * (k - 1) + 1 for k, d in zip(w["taps"], w["dilation"], strict=True))


def pads(w):
    rank, padding = len(w["sizes"]), w["padding"]
    if padding == "valid":
        return [(0, 0)] * rank
    if isinstance(padding, str):
        behind = padding == "same_upper"
        triples = zip(w["sizes"], reach(w), w["stride"], strict=True)
        return [walked_same(size, far, s, behind=behind) for size, far, s in triples]
    if len(padding) == rank:
        return [(p, p) for p in padding]
    return list(zip(padding[:rank], padding[rank:], strict=True))


def arrange(shape, w):
    """The shape of a map in the layout asked for, from (batch, channels, axes)."""
    batch, channels, *axes = shape
    placed = (channels, *axes) if w["layout"] == "channels_first" else (*axes, channels)
    return placed if w["unbatched"] else (batch, *placed)


def attributes_of(w, *more):
    names = ("stride", "dilation", "padding", "groups", "layout", "weight_layout", *more)
    return {name: w[name] for name in names}


def operands_of(w, *, transposed=False):
    groups, (o, i) = w["groups"], (w["c_o_group"], w["c_i_group"])
    channels = (o, i * groups) if transposed else (o * groups, i)
    weight = (*channels, *w["taps"])
    placed = tuple(weight[axis] for axis in WEIGHT_ORDER[w["weight_layout"]](len(w["taps"])))
    operands = {"x": arrange((w["batch"], i * groups, *w["sizes"]), w), "w": placed}
    if w["bias"]:
        operands["b"] = (o * groups,)
    return operands


def convolve(x, weight, bias, w, tally):
    """(result, values in the unrolled patches, weights read), all by walking."""
    padded = np.pad(x, [(0, 0), (0, 0), *pads(w)])
    places = [starts(n, far, s) for n, far, s in zip(padded.shape[2:], reach(w), w["stride"], strict=True)]
    c_o, c_i_group = weight.shape[:2]
    result = np.zeros((x.shape[0], c_o, *map(len, places)), dtype=object)
    touched, patches = set(), 0
    for batch, *place in everywhere((x.shape[0], *map(len, places))):
        corner = [line[p] for line, p in zip(places, place, strict=True)]
        for group in range(w["groups"]):
            patch = []
            for channel, *tap in everywhere((c_i_group, *w["taps"])):
                at = [c + t * d for c, t, d in zip(corner, tap, w["dilation"], strict=True)]
                patch.append(((channel, *tap), padded[(batch, group * c_i_group + channel, *at)]))
            patches += len(patch)
            for channel in range(group * c_o // w["groups"], (group + 1) * c_o // w["groups"]):
                total = 0
                for tap, value in patch:
                    touched.add((channel, *tap))
                    total = tally.mac(total, value, weight[(channel, *tap)])
                if bias is not None:
                    total = tally.add(total, bias[channel])
                result[(batch, channel, *place)] = total
    return result, patches, len(touched)


def arrays_of(w, *, transposed=False):
    groups, (o, i) = w["groups"], (w["c_o_group"], w["c_i_group"])
    x = integers((w["batch"], i * groups, *w["sizes"]))
    weight = integers(((o, i * groups) if transposed else (o * groups, i)) + tuple(w["taps"]), 3)
    return x, weight, integers((o * groups,)) if w["bias"] else None


@settings(deadline=None, max_examples=80)
@given(windows())
def test_a_convolution_counts_what_its_execution_does(w):
    assume(all(n + sum(p) >= far for n, p, far in zip(w["sizes"], pads(w), reach(w), strict=True)))
    tally = Tally()
    result, patches, touched = convolve(*arrays_of(w), w, tally)
    found = call("conv", attributes_of(w), **operands_of(w))
    (loops,) = loops_of("conv", found)
    assert shape_of(found) == arrange(result.shape, w)
    assert macs_of("conv", found) == loops.groups * loops.m * loops.n * loops.k == tally.macs
    assert work_of("conv", found) == tally.work
    assert loops.im2col_elements == patches
    assert touched == found.w.elements


@settings(deadline=None, max_examples=30)
@given(windows(paddings=("valid", "numbers", "pairs")))
def test_a_window_that_does_not_fit_is_an_error(w):
    assume(any(far > sum(p) for far, p in zip(reach(w), pads(w), strict=True)))
    w["sizes"] = tuple(max(far - sum(p) - 1, 0) for far, p in zip(reach(w), pads(w), strict=True))
    with pytest.raises(GraphError):
        call("conv", attributes_of(w), **operands_of(w))


def scatter(x, weight, bias, w, tally):
    """The transposed convolution: each input value is multiplied with its weights and added where the products belong."""
    c_i, c_o_group = x.shape[1], weight.shape[0]
    reached = {}
    touched, products = set(), 0
    for batch, channel, *at in everywhere(x.shape):
        group = channel // (c_i // w["groups"])
        for out, *tap in everywhere((c_o_group, *w["taps"])):
            place = [p * s + t * d for p, s, t, d in zip(at, w["stride"], tap, w["dilation"], strict=True)]
            key = (batch, group * c_o_group + out, *place)
            touched.add((out, channel, *tap))
            reached[key] = tally.mac(reached.get(key, 0), x[(batch, channel, *at)], weight[(out, channel, *tap)])
    products = c_o_group * math.prod(w["taps"]) * x.shape[0] * math.prod(x.shape[2:]) * w["groups"]
    full = [max(key[axis + 2] for key in reached) + 1 for axis in range(len(w["taps"]))]
    before, after = zip(*pads(w), strict=True)
    sizes = [n + e - b - a for n, e, b, a in zip(full, w["output_padding"], before, after, strict=True)]
    if min(sizes) < 1:
        return None
    result = np.zeros((x.shape[0], c_o_group * w["groups"], *sizes), dtype=object)
    for batch, channel, *at in everywhere(result.shape):
        value = reached.get((batch, channel, *(p + b for p, b in zip(at, before, strict=True))), 0)
        result[(batch, channel, *at)] = value if bias is None else tally.add(value, bias[channel])
    return result, products, len(touched)


@settings(deadline=None, max_examples=60)
@given(windows(paddings=("valid", "numbers", "pairs")), st.data())
def test_a_transposed_convolution_counts_each_product_of_an_input_value_once(w, data):
    extra = [st.integers(0, max(s, d) - 1) for s, d in zip(w["stride"], w["dilation"], strict=True)]
    w["output_padding"] = data.draw(st.tuples(*extra))
    w["output_size"] = ()
    tally = Tally()
    executed = scatter(*arrays_of(w, transposed=True), w, tally)
    assume(executed is not None)
    result, products, touched = executed
    found = call("conv_transpose", attributes_of(w, "output_padding", "output_size"), **operands_of(w, transposed=True))
    (loops,) = loops_of("conv_transpose", found)
    assert shape_of(found) == arrange(result.shape, w)
    assert macs_of("conv_transpose", found) == loops.groups * loops.m * loops.n * loops.k == tally.macs
    assert work_of("conv_transpose", found) == tally.work
    assert loops.im2col_elements == products
    assert touched == found.w.elements


@settings(deadline=None, max_examples=40)
@given(windows(paddings=("same_upper", "same_lower")))
def test_a_transposed_convolution_with_same_padding_undoes_the_sizes_of_a_strided_one(w):
    w["output_padding"], w["output_size"] = 0, ()
    attributes = attributes_of(w, "output_padding", "output_size")
    found = call("conv_transpose", attributes, **operands_of(w, transposed=True))
    frame = shape_of(found) if w["unbatched"] else shape_of(found)[1:]
    sizes = frame[1:] if w["layout"] == "channels_first" else frame[:-1]
    back = [len(range(0, size, s)) for size, s in zip(sizes, w["stride"], strict=True)]
    assert tuple(back) == tuple(w["sizes"])
    assert all(size % s == 0 for size, s in zip(sizes, w["stride"], strict=True))
    asked = tuple(size + 1 for size in sizes)
    wider = call("conv_transpose", {**attributes, "output_size": asked}, **operands_of(w, transposed=True))
    assert shape_of(wider) == arrange((w["batch"], w["c_o_group"] * w["groups"], *asked), w)
    assert macs_of("conv_transpose", wider) == macs_of("conv_transpose", found)


def interpolate(padded, at, tally):
    """The value between the neighbours of a point, one axis after the other; outside there are zeros."""
    if not at:
        return padded
    low = math.floor(at[0])
    part = at[0] - low
    near, far = (
        interpolate(padded[i] if 0 <= i < len(padded) else np.zeros(np.shape(padded)[1:]), at[1:], tally)
        for i in (low, low + 1)
    )
    return tally.add(near, tally.mul(part, tally.sub(far, near)))


@settings(deadline=None, max_examples=30)
@given(windows(paddings=("numbers", "pairs")), st.booleans(), st.data())
def test_a_deformable_convolution_interpolates_every_unrolled_value(w, masked, data):
    assume(len(w["sizes"]) < 3)
    assume(all(n + sum(p) >= far for n, p, far in zip(w["sizes"], pads(w), reach(w), strict=True)))
    w["layout"], w["weight_layout"] = "channels_first", "oi_spatial"
    c_i = w["groups"] * w["c_i_group"]
    w["offset_groups"] = data.draw(st.sampled_from([g for g in range(1, c_i + 1) if c_i % g == 0]))
    tally = Tally()
    x, weight, bias = arrays_of(w)
    rank, taps = len(w["sizes"]), math.prod(w["taps"])
    padded_sizes = [n + sum(p) for n, p in zip(w["sizes"], pads(w), strict=True)]
    places = [starts(n, far, s) for n, far, s in zip(padded_sizes, reach(w), w["stride"], strict=True)]
    output = tuple(map(len, places))
    for batch, group, *place in everywhere((x.shape[0], w["offset_groups"], *output)):
        for tap in everywhere(w["taps"]):
            at = []
            for axis in range(rank):
                corner = places[axis][place[axis]] + tap[axis] * w["dilation"][axis] - pads(w)[axis][0]
                shifted = tally.add(corner, 0.25)
                tally.sub(shifted, math.floor(shifted))
                at.append(shifted)
            for channel in range(c_i // w["offset_groups"]):
                value = interpolate(x[batch, group * (c_i // w["offset_groups"]) + channel], at, tally)
                if masked:
                    tally.mul(value, 0.5)
    convolve(x, weight, bias, w, tally)
    points = w["offset_groups"] * taps
    operands = operands_of(w)
    operands["offset"] = arrange((w["batch"], points * rank, *output), w)
    if masked:
        operands["mask"] = arrange((w["batch"], points, *output), w)
    found = call("deformable_conv", attributes_of(w, "offset_groups"), **operands)
    assert macs_of("deformable_conv", found) == tally.macs
    assert work_of("deformable_conv", found) == tally.work


@settings(deadline=None, max_examples=60)
@given(windows(paddings=("same_upper", "same_lower")))
def test_same_padding_is_the_least_that_gives_every_stride_a_window(w):
    found = window_padding(w["padding"], w["sizes"], w["taps"], w["stride"], w["dilation"])
    assert list(found) == pads(w)


def test_a_transposed_convolution_needs_taps():
    with pytest.raises(GraphError):
        call("conv_transpose", {}, x=(1, 3, 8, 8), w=(3, 4, 3, 0))


@pytest.mark.parametrize(
    ("attributes", "operands"),
    [
        ({}, {"x": (1, 3, 8, 8), "w": (8, 4, 3, 3)}),
        ({"groups": 2}, {"x": (1, 4, 8, 8), "w": (3, 2, 3, 3)}),
        ({"groups": 0}, {"x": (1, 3, 8, 8), "w": (8, 3, 3, 3)}),
        ({}, {"x": (3, 8), "w": (8, 3, 3, 3)}),
        ({}, {"x": (1, 3, 8, 8), "w": (8, 3)}),
        ({}, {"x": (1, 3, 8, 8), "w": (8, 3, 3, 3), "b": (7,)}),
        ({"layout": "NHWC"}, {"x": (1, 3, 8, 8), "w": (8, 3, 3, 3)}),
        ({"weight_layout": "oihw"}, {"x": (1, 3, 8, 8), "w": (8, 3, 3, 3)}),
        ({"padding": -1}, {"x": (1, 3, 8, 8), "w": (8, 3, 3, 3)}),
        ({"padding": "same_upper", "stride": 0}, {"x": (1, 3, 8, 8), "w": (8, 3, 3, 3)}),
        ({"stride": (1, 1, 1)}, {"x": (1, 3, 8, 8), "w": (8, 3, 3, 3)}),
        ({}, {"x": (1, 3, 8, 8), "w": (8, 3, 0, 3)}),
    ],
)
def test_a_contradiction_is_an_error(attributes, operands):
    with pytest.raises(GraphError):
        call("conv", attributes, **operands)


def test_a_depthwise_weight_of_tflite_is_a_convolution_of_as_many_groups_as_channels():
    attributes = {"groups": 8, "layout": "channels_last", "weight_layout": "1_spatial_o", "padding": "same_upper"}
    found = call("conv", attributes, x=(1, 16, 16, 8), w=(1, 3, 3, 16))
    assert shape_of(found) == (1, 16, 16, 16)
    assert macs_of("conv", found) == 16 * 256 * 9


def test_an_empty_batch_costs_nothing():
    found = call("conv", {}, x=(0, 3, 8, 8), w=(8, 3, 3, 3))
    assert shape_of(found) == (0, 8, 6, 6)
    assert macs_of("conv", found) == 0


@pytest.mark.parametrize("operator", ["conv", "conv_transpose"])
def test_the_oracle_itself_gives_what_onnx_gives(operator):
    """The walking above is a convolution: its values are those of the reference implementation."""
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    w = {
        "batch": 2, "groups": 1, "c_i_group": 3, "c_o_group": 4, "sizes": (6, 5), "taps": (3, 2), "stride": (2, 1),
        "dilation": (1, 2), "unbatched": False, "bias": True, "padding": (1, 0, 2, 1), "output_padding": (1, 0),
    }  # fmt: skip
    transposed = operator == "conv_transpose"
    x, weight, bias = arrays_of(w, transposed=transposed)
    ours = (scatter if transposed else convolve)(x, weight, bias, w, Tally())[0]
    node = onnx.helper.make_node(
        "ConvTranspose" if transposed else "Conv",
        ["x", "w", "b"],
        ["y"],
        pads=w["padding"],
        strides=w["stride"],
        dilations=w["dilation"],
        **({"output_padding": w["output_padding"]} if transposed else {}),
    )
    kept = weight.swapaxes(0, 1) if transposed else weight
    feeds = {"x": x.astype("float32"), "w": kept.astype("float32"), "b": bias.astype("float32")}
    float_type = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [onnx.helper.make_tensor_value_info(name, float_type, value.shape) for name, value in feeds.items()],
        [onnx.helper.make_tensor_value_info("y", float_type, None)],
    )
    (theirs,) = ReferenceEvaluator(onnx.helper.make_model(graph)).run(None, feeds)
    np.testing.assert_array_equal(ours.astype("float32"), theirs)


def test_a_quantised_convolution_has_the_counts_of_the_float_one_and_its_own_types():
    scales = {f"{name}_{what}": typed((), dtype) for name in "xwy" for what, dtype in (("scale", "float32"),)}
    points = {"x_zero_point": typed((), "uint8"), "w_zero_point": typed((), "int8"), "y_zero_point": typed((), "int8")}
    operands = {"x": typed((1, 3, 16, 16), "uint8"), "w": typed((8, 3, 3, 3), "int8"), "b": typed((8,), "int32")}
    quantised = call("conv", {"padding": 1}, **operands, **scales, **points)
    plain = call("conv", {"padding": 1}, x=(1, 3, 16, 16), w=(8, 3, 3, 3))
    assert quantised.outputs[0].dtype.name == "int8"
    assert loops_of("conv", quantised) == loops_of("conv", plain)
    tally = Tally()
    for _ in everywhere((1, 3, 16, 16)):
        tally.sub(0, 0)
    for _ in everywhere((8, 3, 3, 3)):
        tally.sub(0, 0)
    for _ in everywhere((1, 8, 16, 16)):
        shifted = tally.add(tally.mul(tally.add(0, 0), 1), 0)
        tally.clip(shifted, 127)
    assert work_of("conv", quantised) == tally.work
    integer = call("conv", {"padding": 1, "output_dtype": "int32"}, x=operands["x"], w=operands["w"])
    assert integer.outputs[0].dtype.name == "int32"
