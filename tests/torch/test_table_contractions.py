"""PyTorch's convolutions and products: shapes and MACs against PyTorch's own parts, and closed forms where it counts none."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tests.torch.aten_calls import decomposed_macs, graph_of, weighed
from weighbridge.errors import GraphError
from weighbridge.frontends.aten_table_contractions import RULES_CONTRACTIONS
from weighbridge.frontends.matrix_chain import cheapest_order

A = torch.ops.aten
SIZES = st.integers(1, 4)


def r(*shape):
    return torch.ones(shape)


# Convolutions

CONVOLUTIONS = {1: A.conv1d, 2: A.conv2d, 3: A.conv3d}
TRANSPOSED = {1: A.conv_transpose1d.default, 2: A.conv_transpose2d.input, 3: A.conv_transpose3d.input}


@st.composite
def convolutions(draw):
    rank, groups = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    each = st.lists(st.integers(1, 3), min_size=rank, max_size=rank)
    taps, dilation = draw(each), draw(each)
    reach = [d * (k - 1) + 1 for k, d in zip(taps, dilation, strict=True)]
    return {
        "rank": rank,
        "groups": groups,
        "batch": draw(st.lists(st.integers(1, 2), max_size=1)),
        "c_in": groups * draw(st.integers(1, 2)),
        "c_out": groups * draw(st.integers(1, 2)),
        "taps": taps,
        "dilation": dilation,
        "stride": draw(each),
        "sizes": [size + draw(st.integers(0, 3)) for size in reach],
        "padding": draw(st.lists(st.integers(0, 2), min_size=rank, max_size=rank)),
        "bias": draw(st.booleans()),
    }


@settings(deadline=None, max_examples=60)
@given(convolutions())
def test_a_convolution_is_what_pytorch_counts(c):
    x, w = r(*c["batch"], c["c_in"], *c["sizes"]), r(c["c_out"], c["c_in"] // c["groups"], *c["taps"])
    args = (x, w, r(c["c_out"]) if c["bias"] else None, c["stride"], c["padding"], c["dilation"], c["groups"])
    operator = CONVOLUTIONS[c["rank"]].default
    assert weighed(operator, *args).macs == decomposed_macs(operator, *args)


@settings(deadline=None, max_examples=60)
@given(convolutions())
def test_a_transposed_convolution_counts_each_product_of_an_input_value(c):
    x, w = r(*c["batch"], c["c_in"], *c["sizes"]), r(c["c_in"], c["c_out"] // c["groups"], *c["taps"])
    padding = [min(p, d * (k - 1)) for p, k, d in zip(c["padding"], c["taps"], c["dilation"], strict=True)]
    extra = [max(s, d) - 1 for s, d in zip(c["stride"], c["dilation"], strict=True)]
    args = (x, w, r(c["c_out"]) if c["bias"] else None, c["stride"], padding, extra, c["groups"], c["dilation"])
    operator = TRANSPOSED[c["rank"]]
    assert weighed(operator, *args).macs == decomposed_macs(operator, *args)


@settings(deadline=None, max_examples=40)
@given(convolutions(), st.sampled_from(["same", "valid"]))
def test_padding_by_word_is_asymmetric_for_even_kernels(c, word):
    x, w = r(1, c["c_in"], *c["sizes"]), r(c["c_out"], c["c_in"] // c["groups"], *c["taps"])
    operator = CONVOLUTIONS[c["rank"]].padding
    args = (x, w, None, [1] * c["rank"], word, c["dilation"], c["groups"])
    output = c["sizes"]
    if word == "valid":
        output = [s - d * (k - 1) for s, k, d in zip(c["sizes"], c["taps"], c["dilation"], strict=True)]
    assert weighed(operator, *args).macs == c["c_out"] * math.prod(output) * math.prod(w.shape[1:])


def test_the_odd_element_of_an_even_kernel_is_behind():
    """The attribute means what PyTorch does: its result equals that of padding behind by hand."""
    x, w = torch.arange(6.0).reshape(1, 1, 6), torch.tensor([[[1.0, 10.0]]])
    by_word = A.conv1d.padding(x, w, None, [1], "same")
    assert torch.equal(by_word, A.conv1d.default(nn.functional.pad(x, (0, 1)), w))
    (node,) = graph_of(A.conv1d.padding, x, w, None, [1], "same").nodes
    assert node.attributes["padding"] == "same_upper"


X1, X2, X3 = r(2, 4, 9), r(2, 4, 9, 8), r(2, 4, 5, 6, 7)
W1, W2, W3 = r(6, 4, 3), r(6, 4, 3, 3), r(6, 4, 3, 3, 3)
T2, T3 = r(4, 6, 3, 3), r(4, 6, 3, 3, 3)
B = r(6)
Y2 = A.conv2d.default(X2, W2, B, [2, 2], [1, 1])
Y3 = A.conv3d.default(X3, W3, B, [2] * 3, [1] * 3)
DEPTHWISE = A.conv2d.default(X2, r(8, 1, 3, 3), None, [1, 1], [1, 1], [1, 1], 4)
M2, M3 = Y2.numel() * 36, Y3.numel() * 108
TRANSPOSED_2 = A.conv_transpose2d.input(X2, T2, B, [2, 2], [1, 1], [1, 1])
TRANSPOSED_3 = A.conv_transpose3d.input(X3, T3, B, [2] * 3, [1] * 3, [1] * 3)

# key: (operator, arguments, what it makes, MACs)
FORMS = {
    "aten.conv1d": (A.conv1d.default, (X1, W1, B, [2], [1]), None, 2 * 6 * 5 * 12),
    "aten.conv2d": (A.conv2d.default, (X2, W2, B, [2, 2], [1, 1]), None, M2),
    "aten.conv3d": (A.conv3d.default, (X3, W3, B, [2] * 3, [1] * 3), None, M3),
    "aten._convolution_mode": (A._convolution_mode.default, (X2, W2, B, [1, 1], "same", [1, 1], 1), None, 2 * 6 * 72 * 36),
    "aten._nnpack_spatial_convolution": (
        A._nnpack_spatial_convolution.default, (X2, W2, B, [1, 1], [2, 2]), Y2, M2,
    ),
    "aten.mkldnn_convolution": (
        A.mkldnn_convolution.default, (X2, W2, B, [1, 1], [2, 2], [1, 1], 1), Y2, M2,
    ),
    "aten.cudnn_convolution": (
        A.cudnn_convolution.default, (X2, W2, [1, 1], [2, 2], [1, 1], 1, False, False, False), Y2, M2,
    ),
    "aten.miopen_convolution": (
        A.miopen_convolution.default, (X2, W2, B, [1, 1], [2, 2], [1, 1], 1, False, False), Y2, M2,
    ),
    "aten._slow_conv2d_forward": (A._slow_conv2d_forward.default, (X2, W2, [3, 3], B, [2, 2], [1, 1]), Y2, M2),
    "aten.thnn_conv2d": (A.thnn_conv2d.default, (X2, W2, [3, 3], B, [2, 2], [1, 1]), Y2, M2),
    "aten.slow_conv_dilated2d": (A.slow_conv_dilated2d.default, (X2, W2, [3, 3], B, [2, 2], [1, 1]), None, M2),
    "aten.slow_conv3d": (A.slow_conv3d.default, (X3, W3, [3] * 3, B, [2] * 3, [1] * 3), Y3, M3),
    "aten.slow_conv3d_forward": (A.slow_conv3d_forward.default, (X3, W3, [3] * 3, B, [2] * 3, [1] * 3), Y3, M3),
    "aten.slow_conv_dilated3d": (A.slow_conv_dilated3d.default, (X3, W3, [3] * 3, B, [2] * 3, [1] * 3), None, M3),
    "aten._conv_depthwise2d": (
        A._conv_depthwise2d.default, (X2, r(8, 1, 3, 3), [3, 3], None, [1, 1], [1, 1], [1, 1]), DEPTHWISE,
        DEPTHWISE.numel() * 9,
    ),
    "aten.conv_depthwise3d": (
        A.conv_depthwise3d.default, (X3, r(4, 1, 3, 3, 3), [3] * 3, None, [1] * 3, [1] * 3, [1] * 3), X3, X3.numel() * 27,
    ),
    "aten.miopen_depthwise_convolution": (
        A.miopen_depthwise_convolution.default,
        (X2, r(8, 1, 3, 3), None, [1, 1], [1, 1], [1, 1], 4, False, False), DEPTHWISE, DEPTHWISE.numel() * 9,
    ),
    "aten.conv_transpose1d": (A.conv_transpose1d.default, (X1, r(4, 6, 3), B, [2], [1], [1]), None, X1.numel() * 18),
    "aten.conv_transpose2d": (A.conv_transpose2d.input, (X2, T2, B, [2, 2], [1, 1], [1, 1]), None, X2.numel() * 54),
    "aten.conv_transpose3d": (A.conv_transpose3d.input, (X3, T3, B, [2] * 3, [1] * 3, [1] * 3), None, X3.numel() * 162),
    "aten.slow_conv_transpose2d": (
        A.slow_conv_transpose2d.default, (X2, T2, [3, 3], B, [2, 2], [1, 1], [1, 1]), None, X2.numel() * 54,
    ),
    "aten.slow_conv_transpose3d": (
        A.slow_conv_transpose3d.default, (X3, T3, [3] * 3, B, [2] * 3, [1] * 3, [1] * 3), None, X3.numel() * 162,
    ),
    "aten.cudnn_convolution_transpose": (
        A.cudnn_convolution_transpose.default,
        (X2, T2, [1, 1], [1, 1], [2, 2], [1, 1], 1, False, False, False), TRANSPOSED_2, X2.numel() * 54,
    ),
    "aten.miopen_convolution_transpose": (
        A.miopen_convolution_transpose.default,
        (X2, T2, B, [1, 1], [1, 1], [2, 2], [1, 1], 1, False, False), TRANSPOSED_2, X2.numel() * 54,
    ),
    "aten.convolution": (A.convolution.default, (X2, W2, B, [2, 2], [1, 1], [1, 1], False, [0, 0], 1), None, M2),
    "aten.convolution transposed": (
        A.convolution.default, (X3, T3, B, [2] * 3, [1] * 3, [1] * 3, True, [1] * 3, 1), TRANSPOSED_3, X3.numel() * 162,
    ),
    "aten._convolution": (
        A._convolution.default, (X2, W2, B, [2, 2], [1, 1], [1, 1], False, [0, 0], 1, False, False, False, False), None, M2,
    ),
    "aten.convolution_overrideable": (
        A.convolution_overrideable.default, (X2, W2, B, [2, 2], [1, 1], [1, 1], False, [0, 0], 1), Y2, M2,
    ),
    "aten.conv_tbc": (A.conv_tbc.default, (r(9, 2, 4), r(3, 4, 6), B, 1), None, 9 * 2 * 6 * 12),
    "aten.cudnn_convolution_relu": (
        A.cudnn_convolution_relu.default, (X2, W2, B, [2, 2], [1, 1], [1, 1], 1), Y2, M2,
    ),
    "aten.cudnn_convolution_add_relu": (
        A.cudnn_convolution_add_relu.default, (X2, W2, Y2, 1, B, [2, 2], [1, 1], [1, 1], 1), Y2, M2,
    ),
    "aten.linear": (A.linear.default, (r(2, 10, 16), r(32, 16), r(32)), None, 10_240),
    "aten.linear vector": (A.linear.default, (r(2, 10, 16), r(16)), None, 320),
    "aten.mkldnn_linear": (A.mkldnn_linear.default, (r(2, 10, 16), r(32, 16), r(32)), r(2, 10, 32), 10_240),
    "aten.mm": (A.mm.default, (r(4, 8), r(8, 16)), None, 512),
    "aten.mm type": (A.mm.dtype, (r(4, 8).half(), r(8, 16).half(), torch.float32), r(4, 16), 512),
    "aten._int_mm": (A._int_mm.default, (r(32, 8).to(torch.int8), r(8, 16).to(torch.int8)), None, 4096),
    "aten.bmm": (A.bmm.default, (r(2, 4, 8), r(2, 8, 5)), None, 320),
    "aten.mv": (A.mv.default, (r(4, 8), r(8)), None, 32),
    "aten.dot": (A.dot.default, (r(8), r(8)), None, 8),
    "aten.vdot": (A.vdot.default, (r(8), r(8)), None, 8),
    "aten.matmul": (A.matmul.default, (r(2, 1, 4, 8), r(3, 8, 5)), None, 960),
    "aten.linalg_matmul": (A.linalg_matmul.default, (r(8), r(3, 8, 5)), None, 120),
    "aten.addmm": (A.addmm.default, (r(16), r(4, 8), r(8, 16)), None, 512),
    "aten._addmm_activation": (A._addmm_activation.default, (r(16), r(4, 8), r(8, 16)), None, 512),
    "aten.baddbmm": (A.baddbmm.default, (r(2, 1, 5), r(2, 4, 8), r(2, 8, 5)), None, 320),
    "aten.addmv": (A.addmv.default, (r(4), r(4, 8), r(8)), None, 32),
    "aten.addbmm": (A.addbmm.default, (r(4, 5), r(2, 4, 8), r(2, 8, 5)), None, 320),
    "aten._grouped_mm": (
        A._grouped_mm.default, (r(12, 16).bfloat16(), r(3, 16, 8).bfloat16(), torch.tensor([4, 8, 12], dtype=torch.int32)),
        r(12, 8).bfloat16(), 12 * 16 * 8,
    ),
    "aten._grouped_mm batched": (
        A._grouped_mm.default, (r(3, 12, 16).bfloat16(), r(3, 16, 8).bfloat16()), r(3, 12, 8).bfloat16(), 3 * 12 * 16 * 8,
    ),
    "aten.chain_matmul": (A.chain_matmul.default, ([r(10, 30), r(30, 5), r(5, 60)],), None, 4500),
    "aten.linalg_multi_dot": (A.linalg_multi_dot.default, ([r(30), r(30, 5), r(5, 60), r(60)],), None, 150 + 300 + 5),
    "aten.einsum": (A.einsum.default, ("bhid,bhjd->bhij", [r(2, 4, 10, 16), r(2, 4, 10, 16)]), None, 12_800),
    "aten.tensordot": (A.tensordot.default, (r(3, 4, 5), r(4, 3, 2), [1, 0], [0, 1]), None, 120),
    "aten.inner": (A.inner.default, (r(2, 3, 4), r(5, 4)), None, 120),
    "aten.linalg_vecdot": (A.linalg_vecdot.default, (r(2, 3, 4), r(3, 4)), None, 24),
    "aten._trilinear": (A._trilinear.default, (r(3, 4), r(6, 4, 5), r(3, 5), [1, 3], [0], [1, 2], [2, 3]), None, 450),
    "aten.bilinear": (A.bilinear.default, (r(2, 3, 4), r(2, 3, 5), r(6, 4, 5), r(6)), None, 6 * 6 * 20 + 6 * 6 * 5),
    "aten.outer": (A.outer.default, (r(3), r(4)), None, 0),
    "aten.ger": (A.ger.default, (r(3), r(4)), None, 0),
    "aten.addr": (A.addr.default, (r(3, 4), r(3), r(4)), None, 0),
    "aten.kron": (A.kron.default, (r(2, 3), r(4, 5)), None, 0),
    "aten.linalg_solve_triangular": (
        A.linalg_solve_triangular.default, (r(2, 3, 3), r(2, 3, 5)), None, 0, {"upper": False},
    ),
    "aten.linalg_solve_triangular behind": (
        A.linalg_solve_triangular.default, (r(3, 3), r(4, 5, 3)), None, 0, {"upper": True, "left": False},
    ),
    "aten.cdist": (A.cdist.default, (r(2, 4, 3), r(1, 5, 3)), None, 0),
    "aten._cdist_forward": (A._cdist_forward.default, (r(2, 4, 3), r(2, 5, 3), math.inf, None), None, 0),
    "aten.pdist": (A.pdist.default, (r(5, 3),), None, 0),
    "aten._pdist_forward": (A._pdist_forward.default, (r(5, 3), 1.0), None, 0),
    "aten._euclidean_dist": (A._euclidean_dist.default, (r(4, 3), r(5, 3)), None, 0),
    "aten.cross": (A.cross.default, (r(3, 4, 3), r(3, 4, 3)), None, 0),
    "aten.linalg_cross": (A.linalg_cross.default, (r(4, 2, 3), r(1, 2, 3)), None, 0),
    "aten.cosine_similarity": (A.cosine_similarity.default, (r(2, 8), r(2, 8)), None, 0),
    "aten._weight_norm": (A._weight_norm.default, (r(6, 4, 3), r(6, 1, 1), 0), None, 0),
    "aten._weight_norm_interface": (A._weight_norm_interface.default, (r(6, 4), r(6, 1), 0), None, 0),
}  # fmt: skip


def test_every_rule_has_a_form():
    assert {name.split()[0] for name in FORMS} == set(RULES_CONTRACTIONS)


@pytest.mark.parametrize("name", FORMS)
def test_shapes_are_those_that_pytorch_makes(name):
    operator, args, made, macs, *named = FORMS[name]
    assert weighed(operator, *args, made=made, **dict(*named)).macs == macs


# One kernel that runs here and that PyTorch neither counts nor takes apart, or products of vectors.
NOT_COUNTED = {
    *("aten.mv", "aten.dot", "aten.vdot", "aten.addmv", "aten.linear vector", "aten.linalg_vecdot"),
    *(
        "aten.slow_conv_dilated2d",
        "aten.slow_conv_dilated3d",
        "aten.slow_conv_transpose2d",
        "aten.slow_conv_transpose3d",
    ),
    *("aten.conv_tbc", "aten._int_mm", "aten._addmm_activation", "aten.addbmm", "aten._trilinear", "aten.bilinear"),
}
COUNTED = [name for name, (_, _, made, macs, *_) in FORMS.items() if made is None and macs and name not in NOT_COUNTED]


@pytest.mark.parametrize("name", COUNTED)
def test_macs_are_those_of_the_parts(name):
    operator, args, _, macs, *_ = FORMS[name]
    found = decomposed_macs(operator, *args)
    assert found == macs


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_matmul_by_numpys_rules(data):
    k = data.draw(SIZES)
    batch = data.draw(st.lists(SIZES, max_size=2))

    def lead():
        kept = batch[data.draw(st.integers(0, len(batch))) :]
        return [1 if data.draw(st.booleans()) else size for size in kept]

    left = [k] if data.draw(st.integers(0, 3)) == 0 else [*lead(), data.draw(SIZES), k]
    right = [k] if data.draw(st.integers(0, 3)) == 0 else [*lead(), k, data.draw(SIZES)]
    x, w = r(*left), r(*right)
    expected = torch.matmul(x, w).numel() * k
    assert weighed(A.matmul.default, x, w).macs == expected


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 9), min_size=3, max_size=8))
def test_a_chain_takes_as_few_macs_as_any_order_does(sizes):
    def fewest(first, last):
        if last - first == 1:
            return 0
        cuts = range(first + 1, last)
        return min(fewest(first, cut) + fewest(cut, last) + sizes[first] * sizes[cut] * sizes[last] for cut in cuts)

    matrices = [r(rows, columns) for rows, columns in pairwise(sizes)]
    assert weighed(A.linalg_multi_dot.default, matrices).macs == fewest(0, len(sizes) - 1)


def test_one_matrix_is_its_own_product():
    assert cheapest_order([3, 4]) == []
    assert weighed(A.chain_matmul.default, [r(3, 4)]).macs == 0


def test_a_chain_too_long_to_order_is_an_error():
    with pytest.raises(GraphError, match="more than"):
        cheapest_order([1] * 300)


EQUATIONS = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("...ij,...jk->...ik", [(5, 2, 3), (1, 3, 4)]),
    ("bij,bjk,bkl->bil", [(2, 3, 4), (2, 4, 5), (2, 5, 6)]),
    ("i,ij,j->", [(3,), (3, 4), (4,)]),
    ("bi,oij,bj->bo", [(3, 4), (6, 4, 5), (3, 5)]),
    ("nhwc,hkc->nhwk", [(2, 3, 4, 5), (3, 6, 5)]),
    ("Ab,bC", [(2, 3), (3, 4)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
def test_an_einstein_sum_counts_the_products_that_pytorch_makes(equation, shapes):
    tensors = [r(*shape) for shape in shapes]
    assert weighed(A.einsum.default, equation, tensors).macs == decomposed_macs(A.einsum.default, equation, tensors)


def test_an_installed_optimiser_does_not_change_the_count():
    tensors = [r(2, 3), r(3, 4), r(4, 5)]
    left_to_right = weighed(A.einsum.default, "ij,jk,kl->il", tensors).macs
    assert weighed(A.einsum.default, "ij,jk,kl->il", tensors, path=[1, 2, 0, 1]).macs == left_to_right == 24 + 40


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_tensordot_over_any_axes(data):
    summed = data.draw(st.lists(SIZES, max_size=2))
    left, right = data.draw(st.lists(SIZES, max_size=2)), data.draw(st.lists(SIZES, max_size=2))
    places = data.draw(st.permutations(range(len(left) + len(summed))))
    others = data.draw(st.permutations(range(len(right) + len(summed))))
    x, y = [0] * len(places), [0] * len(others)
    for place, size in zip(places, [*summed, *left], strict=True):
        x[place] = size
    for place, size in zip(others, [*summed, *right], strict=True):
        y[place] = size
    dims = list(places[: len(summed)]), [place - len(others) for place in others[: len(summed)]]
    found = weighed(A.tensordot.default, r(*x), r(*y), *dims)
    assert found.macs == math.prod([*summed, *left, *right])


@pytest.mark.parametrize("offsets", [[4, 8, 12], [0, 0, 12]])
@pytest.mark.parametrize(
    ("x", "w", "made"),
    [((12, 5), (3, 5, 7), (12, 7)), ((3, 4, 5), (5, 12), (4, 12)), ((4, 12), (12, 7), (3, 4, 7))],
)
def test_a_product_in_groups_counts_what_its_execution_does(x, w, made, offsets):
    """By execution: every group on its own, by an ordinary product."""
    a, b, macs, start = r(*x), r(*w), 0, 0
    for group, end in enumerate(offsets):
        left = a[group] if a.ndim == 3 else a[start:end] if b.ndim == 3 else a[:, start:end]
        right = b[group] if b.ndim == 3 else b[:, start:end] if a.ndim == 3 else b[start:end]
        macs += (left @ right).numel() * left.shape[-1]
        start = end
    ends = torch.tensor(offsets, dtype=torch.int32)
    assert weighed(A._grouped_mm.default, a, b, ends, made=r(*made)).macs == macs


def test_factors_cost_work_and_an_unread_operand_is_left_out():
    (node,) = graph_of(A.baddbmm.default, r(2, 4, 5), r(2, 4, 8), r(2, 8, 5), beta=0, alpha=0.5).nodes
    assert [operand for operand, _ in node.operands] == ["x", "w"]
    facts = weighed(A.baddbmm.default, r(2, 4, 5), r(2, 4, 8), r(2, 8, 5), beta=3, alpha=0.5)
    assert (facts.work.mul, facts.work.add) == (2 * 40, 40)
    facts = weighed(A.addr.default, r(3, 4), r(3), r(4), beta=2, alpha=3)
    assert (facts.work.mul, facts.work.add) == (3 * 12, 12)


@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, 2.0, math.inf])
def test_distances_cost_what_their_definition_says(p):
    """By execution, a pair of points of 4 coordinates."""
    adds, muls, compares, specials = 4 + 3, 0, 0, 0
    if p == math.inf:
        adds, compares = 4, 4 + 3
    elif p == 2:
        muls, specials = 4, 1
    else:
        compares, specials = 4, 5 if p == 1.5 else 0
    work = weighed(A.cdist.default, r(2, 4), r(3, 4), p).work
    assert (work.add, work.mul, work.compare, work.special) == tuple(6 * n for n in (adds, muls, compares, specials))


def test_parameters_are_weights_and_biases_by_where_they_go():
    x, w, b = r(4, 8), nn.Parameter(r(8, 16)), nn.Parameter(r(16))
    facts = weighed(A.addmm.default, b, x, w)
    assert (facts.weights, facts.biases, facts.other_parameters) == (128, 16, 0)
    facts = weighed(A.bilinear.default, r(2, 4), r(2, 5), nn.Parameter(r(6, 4, 5)), nn.Parameter(r(6)))
    assert (facts.weights, facts.biases) == (120, 6)


def test_a_factorisation_stays_unknown():
    matrix = torch.eye(3)
    (node,) = graph_of(A.linalg_cholesky.default, matrix).nodes
    assert node.operator == "unknown" and "no rule" in node.reason
