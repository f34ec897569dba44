"""Pools against their execution: windows are walked, and every comparison, addition and division in them is counted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, everywhere, macs_of, shape_of, walked_same, work_of
from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError

SLIDING = ("max_pool", "average_pool", "lp_pool")


@st.composite
def pools(draw, paddings=("valid", "same_upper", "same_lower", "numbers", "pairs")):
    rank = draw(st.integers(1, 3))

    def axes(low, high):
        return tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))

    pool = {
        "operator": draw(st.sampled_from(SLIDING)),
        "batch": draw(st.integers(1, 2)),
        "channels": draw(st.integers(1, 2)),
        "sizes": axes(1, 9 - 2 * rank),
        "kernel": axes(1, 3),
        "stride": axes(1, 3),
        "dilation": axes(1, 2),
        "ceil_mode": draw(st.booleans()),
        "layout": draw(st.sampled_from(["channels_first", "channels_last"])),
        "unbatched": rank > 1 and draw(st.booleans()),
        "p": draw(st.sampled_from([1, 2, 3])),
        "mean": draw(st.booleans()),
    }
    kind = draw(st.sampled_from(paddings))
    pool["padding"] = {"numbers": axes(0, 1), "pairs": axes(0, 2) + axes(0, 2)}.get(kind, kind)
    if pool["unbatched"]:
        pool["batch"] = 1
    return pool


def arrange(p, sizes):
    placed = (p["channels"], *sizes) if p["layout"] == "channels_first" else (*sizes, p["channels"])
    return placed if p["unbatched"] else (p["batch"], *placed)


def reaches(p):
    return [d * (k - 1) + 1 for k, d in zip(p["kernel"], p["dilation"], strict=True)]


def pads(p):
    rank, padding = len(p["sizes"]), p["padding"]
    if padding == "valid":
        return [(0, 0)] * rank
    if isinstance(padding, str):
        triples = zip(p["sizes"], reaches(p), p["stride"], strict=True)
        return [walked_same(size, far, s, behind=padding == "same_upper") for size, far, s in triples]
    if len(padding) == rank:
        return [(one, one) for one in padding]
    return list(zip(padding[:rank], padding[rank:], strict=True))


def walked(p):
    """Where the windows start along each axis: with ceil_mode one may reach over the end by less than a stride."""
    lines = []
    for size, far, stride, (before, after) in zip(p["sizes"], reaches(p), p["stride"], pads(p), strict=True):
        line, start, padded = [], 0, before + size + after
        while start + far <= padded or (p["ceil_mode"] and start + far < padded + stride and start < before + size):
            line.append(start)
            start += stride
        lines.append(line)
    return lines


def pool_window(operator, values, p, tally, mean=False):
    if operator.endswith("max_pool"):
        largest = values[0]
        for value in values[1:]:
            largest = tally.maximum(largest, value)
        return largest
    if operator.endswith("lp_pool"):
        if p == 2:
            values = [tally.mul(value, value) for value in values]
        else:
            values = [tally.select(value < 0, -value, value) for value in values]
            if p != 1:
                values = [tally.special(pow, value, p) for value in values]
    total = values[0]
    for value in values[1:]:
        total = tally.add(total, value)
    if operator.endswith("average_pool") or mean:
        total = tally.div(total, len(values))
    if operator.endswith("average_pool"):
        return total
    return total if p == 1 else tally.special(pow, total, 1 / p)


def attributes_of(p):
    names = ["kernel", "stride", "padding", "dilation", "ceil_mode", "layout"]
    return {name: p[name] for name in names + (["p", "mean"] if p["operator"] == "lp_pool" else [])}


@settings(deadline=None, max_examples=100)
@given(pools())
def test_a_pool_counts_what_its_execution_does(p):
    lines = walked(p)
    assume(all(lines))
    tally = Tally()
    for _ in everywhere((p["batch"], p["channels"], *map(len, lines))):
        values = [float(i % 3) for i, _ in enumerate(everywhere(p["kernel"]))]
        pool_window(p["operator"], values, p["p"], tally, p["mean"] and p["operator"] == "lp_pool")
    found = call(p["operator"], attributes_of(p), x=arrange(p, p["sizes"]))
    assert shape_of(found) == arrange(p, [len(line) for line in lines])
    assert work_of(p["operator"], found) == tally.work
    assert macs_of(p["operator"], found) == 0


@settings(deadline=None, max_examples=40)
@given(pools())
def test_no_window_at_all_is_an_error(p):
    p["sizes"] = tuple(1 for _ in p["sizes"])
    p["kernel"], p["ceil_mode"], p["padding"] = tuple(k + 2 for k in p["kernel"]), False, "valid"
    assert not all(walked(p))
    with pytest.raises(GraphError):
        call(p["operator"], attributes_of(p), x=arrange(p, p["sizes"]))


@settings(deadline=None, max_examples=60)
@given(pools(paddings=("valid", "numbers", "pairs", "same_upper", "same_lower")))
def test_shapes_are_those_that_onnx_infers(p):
    onnx = pytest.importorskip("onnx")
    assume(not p["unbatched"] and p["operator"] != "lp_pool" and all(walked(p)))
    assume(all(max(pair) < k for pair, k in zip(pads(p), p["kernel"], strict=True)))
    p["layout"] = "channels_first"
    explicit = not isinstance(p["padding"], str)
    padding = (
        {"pads": [pair[end] for end in (0, 1) for pair in pads(p)]} if explicit else {"auto_pad": p["padding"].upper()}
    )
    node = onnx.helper.make_node(
        {"max_pool": "MaxPool", "average_pool": "AveragePool"}[p["operator"]],
        ["x"],
        ["y"],
        kernel_shape=p["kernel"],
        strides=p["stride"],
        dilations=p["dilation"],
        ceil_mode=int(p["ceil_mode"]),
        **padding,
    )
    # ONNX says nothing of ceil_mode together with SAME, which leaves no rest to round.
    assume(explicit or not p["ceil_mode"])
    float_type, shape = onnx.TensorProto.FLOAT, arrange(p, p["sizes"])
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [onnx.helper.make_tensor_value_info("x", float_type, shape)],
        [onnx.helper.make_tensor_value_info("y", float_type, None)],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 22)])
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph.output[0].type.tensor_type.shape
    found = call(p["operator"], attributes_of(p), x=shape)
    assert shape_of(found) == tuple(dimension.dim_value for dimension in inferred.dim)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["max", "average", "lp"]),
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.integers(1, 2),
    st.integers(1, 2),
    st.sampled_from(["channels_first", "channels_last"]),
    st.sampled_from([1, 2, 3]),
)
def test_a_global_pool_is_one_window_a_channel(kind, sizes, batch, channels, layout, p):
    operator = f"global_{kind}_pool"
    tally = Tally()
    for _ in everywhere((batch, channels)):
        pool_window(operator, [float(i) for i, _ in enumerate(everywhere(sizes))], p, tally)
    frame = {"batch": batch, "channels": channels, "layout": layout, "unbatched": False}
    attributes = {"layout": layout} | ({"p": p} if kind == "lp" else {})
    found = call(operator, attributes, x=arrange(frame, sizes))
    assert shape_of(found) == arrange(frame, [1] * len(sizes))
    assert work_of(operator, found) == tally.work


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["adaptive_max_pool", "adaptive_average_pool"]),
    st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), min_size=1, max_size=2),
    st.integers(1, 2),
    st.sampled_from(["channels_first", "channels_last"]),
)
def test_an_adaptive_pool_walks_windows_that_may_overlap(operator, axes, channels, layout):
    sizes, output = zip(*axes, strict=True)
    tally = Tally()
    for place in everywhere((channels, *output)):
        lengths = [
            math.ceil((i + 1) * n / o) - math.floor(i * n / o) for i, n, o in zip(place[1:], sizes, output, strict=True)
        ]
        pool_window(operator, [float(i) for i, _ in enumerate(everywhere(lengths))], None, tally)
    frame = {"batch": 1, "channels": channels, "layout": layout, "unbatched": False}
    found = call(operator, {"output_size": output, "layout": layout}, x=arrange(frame, sizes))
    assert shape_of(found) == arrange(frame, output)
    assert work_of(operator, found) == tally.work


def test_an_adaptive_pool_to_a_huge_size_takes_no_time():
    found = call("adaptive_average_pool", {"output_size": 1 << 40}, x=(1, 1, 3))
    assert work_of("adaptive_average_pool", found).div == 1 << 40


def test_indices_are_an_output_where_they_are_asked_for():
    found = call("max_pool", {"kernel": 2, "stride": 2, "outputs": ("y", "indices")}, x=(1, 3, 8, 8))
    assert [(output.shape, output.dtype.name) for output in found.outputs] == [
        ((1, 3, 4, 4), "float32"),
        ((1, 3, 4, 4), "int64"),
    ]


@settings(deadline=None, max_examples=60)
@given(pools(paddings=("numbers", "pairs")))
def test_unpooling_undoes_the_sizes_of_a_pool(p):
    p["operator"], p["dilation"], p["ceil_mode"] = "max_pool", tuple(1 for _ in p["sizes"]), False
    fits = zip(p["sizes"], p["kernel"], p["stride"], pads(p), strict=True)
    assume(all(n + sum(pad) >= k and (n + sum(pad) - k) % s == 0 for n, k, s, pad in fits))
    pooled = call("max_pool", attributes_of(p), x=arrange(p, p["sizes"]))
    back = {name: p[name] for name in ("kernel", "stride", "padding", "layout")}
    found = call("max_unpool", back, x=shape_of(pooled), indices=shape_of(pooled))
    assert shape_of(found) == arrange(p, p["sizes"])
    wider = call(
        "max_unpool",
        {**back, "output_size": tuple(n + 1 for n in p["sizes"])},
        x=shape_of(pooled),
        indices=shape_of(pooled),
    )
    assert shape_of(wider) == arrange(p, [n + 1 for n in p["sizes"]])


def test_unpooling_to_a_size_that_is_not_known_has_no_shape():
    """A shape computed at run time: better none than the wrong one."""
    attributes = {"kernel": 2, "stride": 2, "output_size": "unknown"}
    assert call("max_unpool", attributes, x=(1, 1, 2, 2), indices=(1, 1, 2, 2)).outputs == (DTYPES["float32"],)


def test_a_ceil_window_that_would_start_behind_the_input_does_not_count():
    """Two values and two padded places behind them: windows start at 0 and 2, one at 4 would reach over the end."""
    attributes = {"kernel": 1, "stride": 2, "padding": (0, 2), "ceil_mode": True}
    assert shape_of(call("max_pool", attributes, x=(1, 1, 2))) == (1, 1, 2)
    assert shape_of(call("max_pool", {**attributes, "ceil_mode": False}, x=(1, 1, 2))) == (1, 1, 2)


@pytest.mark.parametrize(
    ("operator", "attributes", "x"),
    [
        ("max_pool", {"kernel": 3, "stride": 0}, (1, 3, 8, 8)),
        ("max_pool", {"kernel": 0, "stride": 1}, (1, 3, 8, 8)),
        ("max_pool", {"kernel": (3, 3), "stride": 1}, (8, 8)),
        ("max_pool", {"kernel": 3, "stride": 1}, (8,)),
        ("max_pool", {"kernel": 3, "stride": 1, "padding": "same"}, (1, 3, 8, 8)),
        ("max_pool", {"kernel": 3, "stride": 1, "padding": (1, 2, 3)}, (1, 3, 8, 8)),
        ("max_pool", {"kernel": 9, "stride": 1}, (1, 3, 8, 8)),
        ("max_pool", {"kernel": (), "stride": 1}, (1, 3, 8, 8)),
        ("max_pool", {"kernel": 2, "stride": 1, "outputs": "indexes"}, (1, 3, 8, 8)),
        ("lp_pool", {"kernel": 2, "stride": 1, "p": "two"}, (1, 3, 8, 8)),
        ("global_average_pool", {}, (3,)),
        ("global_average_pool", {}, (1, 3, 0, 8)),
        ("adaptive_average_pool", {"output_size": 0}, (1, 3, 8, 8)),
        ("adaptive_average_pool", {"output_size": 2}, (1, 3, 0)),
        ("adaptive_average_pool", {"output_size": ()}, (1, 3, 8)),
    ],
)
def test_a_contradiction_is_an_error(operator, attributes, x):
    with pytest.raises(GraphError):
        work_of(operator, call(operator, attributes, x=x))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(0, 3)), min_size=2, max_size=3),
    st.integers(1, 3),
)
def test_a_fractional_pool_compares_within_its_windows(axes, channels):
    kernel, output = tuple(k for k, _, _ in axes), tuple(o for _, o, _ in axes)
    sizes = tuple(o + k - 1 + more for k, o, more in axes)
    t, x = Tally(), np.arange(math.prod(sizes)).reshape(sizes)
    for _ in range(channels):
        for start in np.ndindex(*output):
            window = x[tuple(slice(s, s + k) for s, k in zip(start, kernel, strict=True))].ravel()
            largest = window[0]
            for value in window[1:]:
                largest = t.maximum(largest, value)
    attributes = {"kernel": kernel, "output_size": output, "outputs": ("y", "indices")}
    samples = (1, channels, len(axes))
    found = call("fractional_max_pool", attributes, x=(1, channels, *sizes), samples=samples)
    assert [one.shape for one in found.outputs] == [(1, channels, *output)] * 2
    assert work_of("fractional_max_pool", found) == t.work
    with pytest.raises(GraphError, match="do not fit"):
        call(
            "fractional_max_pool",
            {**attributes, "output_size": sizes[:1] + output[1:], "kernel": tuple(k + 1 for k in kernel)},
            x=(1, channels, *sizes),
            samples=samples,
        )
