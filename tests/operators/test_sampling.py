"""Resizing, grids, regions and columns: shapes as ONNX's reference implementation executes them, work by counted taps."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx.reference.ops.op_resize import _linear_coeffs, _linear_coeffs_antialias

from tests.operators.execution import Tally, call, shape_of, typed, work_of
from tests.operators.reference import run
from weighbridge.errors import GraphError
from weighbridge.operators.record import Work
from weighbridge.operators.table import OPERATORS

FEW = settings(max_examples=25, deadline=None)
SIZES = st.integers(1, 5)
IMAGES = st.lists(SIZES, min_size=3, max_size=4).map(tuple)


def zeros(shape):
    return np.zeros(shape, dtype=np.float32)


@FEW
@given(IMAGES, st.data())
def test_resize_to_sizes(shape, data):
    wanted = tuple(data.draw(st.lists(SIZES, min_size=len(shape), max_size=len(shape))))
    executed = run("Resize", [zeros(shape), None, None, np.array(wanted)], mode="nearest")[0]
    assert shape_of(call("resize", {"sizes": wanted}, x=shape)) == executed.shape


@FEW
@given(IMAGES, st.data())
def test_resize_by_scales(shape, data):
    scales = data.draw(st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0]), min_size=len(shape), max_size=len(shape)))
    if any(int(size * scale) == 0 for size, scale in zip(shape, scales, strict=True)):
        return
    executed = run("Resize", [zeros(shape), None, np.array(scales, dtype=np.float32)], mode="nearest")[0]
    assert shape_of(call("resize", {"scales": tuple(scales)}, x=shape)) == executed.shape


@given(st.integers(1, 1 << 20), st.integers(1, 1 << 20))
def test_a_scale_is_single_precision(size, wanted):
    """The ratio that an exporter writes gives back the size it came from, as a product in single precision does."""
    scale = np.float32(wanted) / np.float32(size)
    product = int(np.floor(np.float32(size) * scale))
    assert shape_of(call("resize", {"scales": (float(scale),)}, x=(size,))) == (product,)


@FEW
@given(
    st.tuples(SIZES, SIZES),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.sampled_from(["not_larger", "not_smaller"]),
)
def test_resize_keeps_the_aspect_ratio(space, wanted, policy):
    ratios = [Fraction(w, s) for w, s in zip(wanted, space, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    rounded = tuple(math.floor(size * scale + Fraction(1, 2)) for size in space)
    attributes = {"sizes": wanted, "axes": (2, 3), "policy": policy}
    assert shape_of(call("resize", attributes, x=(1, 2, *space))) == (1, 2, *rounded)
    if 0 not in rounded:
        executed = run(
            "Resize",
            [zeros((1, 2, *space)), None, None, np.array(wanted)],
            axes=[2, 3],
            keep_aspect_ratio_policy=policy,
            mode="nearest",
        )[0]
        assert executed.shape == (1, 2, *rounded)


def taps_of(mode, old, new, antialias):
    """How many elements of an axis go into one of the result, by the reference implementation where it says so."""
    if old == new:
        return 1
    if antialias and new < old and mode == "linear":
        return len(_linear_coeffs_antialias(0.5, new / old))
    return len(_linear_coeffs(0.5)) if mode == "linear" else 4


@given(SIZES, st.lists(st.tuples(SIZES, SIZES), min_size=1, max_size=3), st.sampled_from(["linear", "cubic"]))
def test_interpolation_sums_its_taps(channels, axes, mode):
    antialias = mode == "linear" and len(axes) % 2 == 0
    old, new = (channels, *(a for a, _ in axes)), (channels, *(b for _, b in axes))
    reach = [range(taps_of(mode, a, b, antialias)) for a, b in axes]
    t = Tally()
    if math.prod(map(len, reach)) > 1:
        for _ in np.ndindex(*new):
            products = [t.mul(0.5, 1.0) for _ in itertools.product(*reach)]
            value = products[0]
            for product in products[1:]:
                value = t.add(value, product)
    found = call("resize", {"sizes": new, "mode": mode, "antialias": antialias}, x=old)
    assert work_of("resize", found) == t.work


def test_nearest_neighbours_copy_no_more_than_comes_out():
    found = call("resize", {"sizes": (2, 2)}, x=(8, 8))
    assert work_of("resize", found) == Work()
    assert OPERATORS["resize"].traffic(found) == (16, 16)
    assert OPERATORS["resize"].traffic(call("resize", {"sizes": (9, 9)}, x=(8, 8))) == (256, 324)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"sizes": (2, 2), "scales": (1.0, 1.0)},
        {"sizes": (2,)},
        {"scales": (float("nan"), 1.0)},
        {"scales": (1e38, 1e300)},
        {"sizes": (2, 2), "policy": "any"},
    ],
)
def test_a_resize_that_says_too_little_or_too_much(attributes):
    with pytest.raises(GraphError):
        call("resize", attributes, x=(3, 3))


@FEW
@given(SIZES, SIZES, st.lists(st.integers(2, 4), min_size=2, max_size=3), st.lists(SIZES, min_size=3, max_size=3))
def test_grid_sample(batch, channels, space, wanted):
    wanted = wanted[: len(space)]
    grid = (batch, *wanted, len(space))
    executed = run("GridSample", [zeros((batch, channels, *space)), zeros(grid)], mode="linear")[0]
    found = call("grid_sample", {}, x=(batch, channels, *space), grid=grid)
    assert shape_of(found) == executed.shape
    t = Tally()
    for _ in np.ndindex(*grid):
        t.add(t.mul(0.5, 1.0), 0.5)
    for _ in np.ndindex(*executed.shape):
        value, first = 0.0, True
        for _ in itertools.product(range(2), repeat=len(space)):
            product = t.mul(0.5, 1.0)
            value, first = (product, False) if first else (t.add(value, product), False)
    assert work_of("grid_sample", found) == t.work


@FEW
@given(SIZES, SIZES, st.lists(SIZES, min_size=2, max_size=3))
def test_affine_grid(batch, channels, space):
    rank = len(space)
    theta = (batch, rank, rank + 1)
    executed = run("AffineGrid", [zeros(theta), np.array([batch, channels, *space])])[0]
    found = call("affine_grid", {"size": (batch, channels, *space)}, theta=theta)
    assert shape_of(found) == executed.shape
    t = Tally()
    for _ in np.ndindex(*executed.shape):
        coordinate = 1.0
        for _ in range(rank):
            coordinate = t.add(coordinate, t.mul(0.5, 1.0))
    assert work_of("affine_grid", found) == t.work


@FEW
@given(SIZES, SIZES, st.tuples(SIZES, SIZES), st.integers(1, 3), st.sampled_from(["average", "max"]))
def test_roi_align(regions, channels, size, samples, mode):
    operands = [zeros((1, channels, 8, 8)), zeros((regions, 4)), np.zeros(regions, dtype=np.int64)]
    attributes = {"output_height": size[0], "output_width": size[1], "sampling_ratio": samples}
    executed = run("RoiAlign", operands, mode={"average": "avg"}.get(mode, mode), **attributes)[0]
    asked = {"size": size, "samples": samples, "mode": mode}
    found = call("roi_align", asked, x=(1, channels, 8, 8), regions=(regions, 4), batches=typed((regions,), "int64"))
    assert shape_of(found) == executed.shape
    t = Tally()
    for _ in np.ndindex(*executed.shape):
        value = 0.0
        for _ in range(samples * samples):
            tap = t.mul(0.25, 1.0)
            for _ in range(3):
                tap = t.add(tap, t.mul(0.25, 1.0))
            value = t.maximum(value, tap) if mode == "max" else t.add(value, tap)
        if mode == "average":
            t.div(value, samples * samples)
    assert work_of("roi_align", found) == t.work


def test_work_that_only_values_decide_is_unknown():
    align = call("roi_align", {"size": (2, 2)}, x=(1, 3, 8, 8), regions=(5, 4), batches=(5,))
    assert work_of("roi_align", align) is None
    pool = call("max_roi_pool", {"size": (2, 2)}, x=(1, 3, 8, 8), regions=(5, 5))
    assert shape_of(pool) == (5, 3, 2, 2)
    assert work_of("max_roi_pool", pool) is None


@FEW
@given(st.integers(1, 2), st.integers(1, 2), st.lists(st.integers(2, 5), min_size=2, max_size=2), st.data())
def test_col2im(batch, channels, image, data):
    block, dilation, stride = (
        data.draw(st.lists(st.integers(1, 2), min_size=2, max_size=2)) for _ in ("block", "dilation", "stride")
    )
    pads = data.draw(st.lists(st.integers(0, 1), min_size=4, max_size=4))
    spans = [d * (b - 1) + 1 for d, b in zip(dilation, block, strict=True)]
    if any(span > size + pads[i] + pads[i + 2] for i, (span, size) in enumerate(zip(spans, image, strict=True))):
        return
    blocks = 1
    for i, (span, size) in enumerate(zip(spans, image, strict=True)):
        blocks *= len(range(0, size + pads[i] + pads[i + 2] - span + 1, stride[i]))
    columns = (batch, channels * math.prod(block), blocks)
    ours = {
        "image_shape": tuple(image),
        "block_shape": tuple(block),
        "padding": tuple(pads),
        "stride": tuple(stride),
        "dilation": tuple(dilation),
    }
    found = call("col2im", ours, x=columns)
    executed = run(
        "Col2Im",
        [zeros(columns), np.array(image), np.array(block)],
        dilations=dilation,
        strides=stride,
        pads=pads,
    )[0]
    assert shape_of(found) == executed.shape
    assert work_of("col2im", found) == Work(add=math.prod(columns))


@FEW
@given(IMAGES, st.data())
def test_center_crop_pad(shape, data):
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
    wanted = data.draw(st.lists(SIZES, min_size=len(axes), max_size=len(axes)))
    executed = run("CenterCropPad", [zeros(shape), np.array(wanted)], axes=axes)[0]
    assert shape_of(call("center_crop_pad", {"shape": tuple(wanted), "axes": tuple(axes)}, x=shape)) == executed.shape


@pytest.mark.parametrize(("old", "new", "taps"), [(8, 12, 6), (12, 8, 10), (9, 3, 18)])
def test_lanczos_reaches_three_elements_of_the_larger_image(old, new, taps):
    """Pillow's support: 3 to either side, stretched by the factor that the image shrinks by."""
    t = Tally()
    for _ in range(2 * new):
        value = t.mul(0.5, 1.0)
        for _ in range(taps - 1):
            value = t.add(value, t.mul(0.5, 1.0))
    found = call("resize", {"sizes": (2, new), "mode": "lanczos", "antialias": True}, x=(2, old))
    assert work_of("resize", found) == t.work


def test_regions_may_say_their_image_themselves():
    attributes = {"size": (3, 2), "samples": 2}
    apart = call("roi_align", attributes, x=(2, 12, 8, 8), regions=(5, 4), batches=(5,))
    together = call("roi_align", attributes, x=(2, 12, 8, 8), regions=(5, 5))
    assert shape_of(apart) == shape_of(together) == (5, 12, 3, 2)
    assert work_of("roi_align", apart) == work_of("roi_align", together)
    for wrong in ({"regions": (5, 4)}, {"regions": (5, 5), "batches": (5,)}):
        with pytest.raises(GraphError, match="regions"):
            call("roi_align", attributes, x=(2, 12, 8, 8), **wrong)


def test_a_position_sensitive_region_has_channels_for_every_cell():
    """Cell (i, j) of result channel c is sampled from channel (c x rows + i) x columns + j alone."""
    rows, columns, channels = 3, 2, 2
    read = {(c * rows + i) * columns + j for c in range(channels) for i in range(rows) for j in range(columns)}
    x = (1, len(read), 8, 8)
    attributes = {"size": (rows, columns), "samples": 2, "position_sensitive": True, "outputs": ("y", "map")}
    found = call("roi_align", attributes, x=x, regions=(5, 5))
    assert [output.shape for output in found.outputs] == [(5, channels, rows, columns)] * 2
    plain = call("roi_align", {"size": (rows, columns), "samples": 2}, x=(1, channels, 8, 8), regions=(5, 5))
    assert work_of("roi_align", found) == work_of("roi_align", plain)
    pooled = call("position_sensitive_roi_pool", {"size": (rows, columns)}, x=x, regions=(5, 5))
    assert shape_of(pooled) == (5, channels, rows, columns)
    assert work_of("position_sensitive_roi_pool", pooled) is None
    with pytest.raises(GraphError, match="cells"):
        call("position_sensitive_roi_pool", {"size": (5, 2)}, x=x, regions=(5, 5))
