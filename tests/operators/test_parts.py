"""Which operators can lie in a stage that runs in patches: decided for every one, so that a new one is decided knowingly."""

from __future__ import annotations

import pytest

from weighbridge.dtypes import DTYPES
from weighbridge.graph import TensorType
from weighbridge.operators.halo import Span, needs_all, no_halo
from weighbridge.operators.record import Call, Kind
from weighbridge.operators.table import OPERATORS

ELEMENT_BY_ELEMENT = (Kind.UNARY, Kind.ELEMENTWISE, Kind.IDENTITY)

WITH_A_RULE = [
    "conv",
    "conv_transpose",
    "linear",
    "matmul",
    "max_pool",
    "average_pool",
    "lp_pool",
    "adaptive_max_pool",
    "adaptive_average_pool",
    "cast_like",
    "cross",
    "reshape",
    "flatten",
    "squeeze",
    "unsqueeze",
    "transpose",
    "concat",
    "split",
    "slice",
    "expand",
    "tile",
    "pad",
    "depth_to_space",
    "space_to_depth",
    "roll",
    "reduce_sum",
    "reduce_mean",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_l1",
    "reduce_l2",
    "reduce_sum_square",
    "reduce_log_sum",
    "reduce_log_sum_exp",
    "variance",
    "arg_max",
    "arg_min",
    "cumsum",
    "cumprod",
    "cumulative_log_sum_exp",
    "cumulative_max",
    "cumulative_min",
    "softmax",
    "log_softmax",
    "hardmax",
    "batch_norm",
    "layer_norm",
    "rms_norm",
    "group_norm",
    "instance_norm",
    "mean_variance_norm",
    "local_response_norm",
    "lp_norm",
    "quantize",
    "dequantize",
    "requantize",
    "fake_quantize",
    "gather",
    "resize",
]
"""Beside the functions of single elements."""

NEEDS_ALL = [
    "deformable_conv",
    "attention",
    "global_max_pool",
    "global_average_pool",
    "global_lp_pool",
    "dynamic_quantize",
    "grid_sample",
]

NO_FUNCTIONS_OF_SINGLE_ELEMENTS = [
    "lstm_cell",
    "distance_matrix",
    "distances_within",
    "auto_scale",
    "channel_root",
    "channel_log",
    "spectral_subtraction",
    "gain_control",
    "inverse",
    "triangular_solve",
    "rotary_embedding",
    "accumulate",
    "impute",
    "radial_kernel",
    "both_scores",
    "optimiser_step",
]
"""Of the kind of these all the same."""


def test_operators_with_a_rule_of_their_own() -> None:
    own = [op.name for op in OPERATORS.values() if op.halo not in (None, needs_all, no_halo)]
    assert own == WITH_A_RULE


def test_operators_that_need_all() -> None:
    assert [op.name for op in OPERATORS.values() if op.halo is needs_all] == NEEDS_ALL


def test_operators_that_only_look_like_functions_of_single_elements() -> None:
    found = [op.name for op in OPERATORS.values() if op.halo is no_halo]
    assert found == NO_FUNCTIONS_OF_SINGLE_ELEMENTS
    assert all(OPERATORS[name].kind in ELEMENT_BY_ELEMENT for name in found)


FLOAT = DTYPES["float32"]


def needs(name: str, box: tuple[tuple[int, int], ...], attributes: dict[str, object], **shapes: tuple[int, ...]):
    op = OPERATORS[name]
    operands = {key: (TensorType(shape, FLOAT),) for key, shape in shapes.items()}
    given = {**op.attributes, **attributes}
    call = Call(operands, given, tuple(op.infer(Call(operands, given))))
    found = op.halo_rule(call, op.grain(call, tuple(Span(*one) for one in box)))
    return None if found is None else found["x", 0]


@pytest.mark.parametrize(
    ("name", "box", "attributes", "shape", "expected"),
    [
        (
            "reshape",
            ((0, 1), (0, 2), (0, 4), (2, 5), (0, 6)),
            {"shape": (1, 2, 4, 6, 6)},
            (1, 8, 6, 6),
            ((0, 1), (0, 8), (2, 5), (0, 6)),
        ),
        ("reshape", ((0, 1), (2, 5), (1, 2), (0, 6)), {"shape": (1, 6, 2, 6)}, (1, 12, 6), ((0, 1), (4, 10), (0, 6))),
        ("reshape", ((0, 1), (3, 8)), {"shape": (1, 36)}, (1, 6, 6), ((0, 1), (0, 2), (0, 6))),
        (
            "depth_to_space",
            ((0, 1), (0, 1), (3, 5), (0, 8)),
            {"block_size": 2},
            (1, 4, 4, 4),
            ((0, 1), (0, 4), (1, 3), (0, 4)),
        ),
        ("softmax", ((0, 1), (0, 4), (1, 2)), {"axis": 1}, (1, 4, 4), ((0, 1), (0, 4), (1, 2))),
        ("softmax", ((0, 1), (0, 4), (1, 2)), {"axis": 2}, (1, 4, 4), None),
        ("reduce_mean", ((0, 1), (1, 2)), {"axes": (1,), "keep_dims": False}, (1, 4, 4), ((0, 1), (0, 4), (1, 2))),
        (
            "resize",
            ((2, 4),),
            {"sizes": (8,), "mode": "nearest", "coordinates": "asymmetric", "rounding": "floor"},
            (4,),
            ((1, 2),),
        ),
        ("resize", ((2, 4),), {"sizes": (8,), "mode": "linear"}, (4,), ((0, 3),)),
        ("resize", ((4, 6),), {"sizes": (8,), "mode": "cubic"}, (4,), ((0, 4),)),
        ("resize", ((0, 2),), {"sizes": (4,), "mode": "linear", "antialias": True}, (8,), None),
        ("resize", ((0, 2),), {"sizes": (8,), "mode": "linear", "coordinates": "tf_crop_and_resize"}, (4,), None),
        (
            "adaptive_average_pool",
            ((0, 1), (0, 3), (1, 2), (0, 2)),
            {"output_size": (2, 2)},
            (1, 3, 6, 6),
            ((0, 1), (0, 3), (3, 6), (0, 6)),
        ),
        ("adaptive_average_pool", ((0, 1), (0, 3), (1, 2), (0, 4)), {"output_size": (4, 4)}, (1, 3, 6, 6), None),
        ("global_average_pool", ((0, 1), (0, 3), (0, 1), (0, 1)), {}, (1, 3, 6, 6), None),
        ("tile", ((0, 2), (1, 2)), {"repeats": (2, 1)}, (1, 4), ((0, 1), (1, 2))),
        ("pad", ((0, 1), (0, 2)), {"pads": (0, 1, 0, 1), "mode": "reflect"}, (1, 4), None),
    ],
)
def test_what_a_part_needs(name, box, attributes, shape, expected) -> None:
    assert needs(name, box, attributes, x=shape) == expected


def test_scales_of_an_axis_that_is_cut() -> None:
    box = ((0, 2), (0, 2))
    assert needs("dequantize", box, {"axis": 0}, x=(2, 4), scale=(2,)) == box
    assert needs("dequantize", box, {"axis": 1}, x=(2, 4), scale=(4,)) is None


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ((0, 3), (5, 7), (0, 7)),
        ((5, 7), (0, 3), (0, 7)),
        ((1, 9), (2, 3), (1, 9)),
        ((-4, -4), (2, 3), (2, 3)),
        ((2, 3), (-4, -4), (2, 3)),
        ((9, 9), (2, 3), (2, 3)),
    ],
)
def test_around_two_spans_and_around_nothing(
    one: tuple[int, int], other: tuple[int, int], both: tuple[int, int]
) -> None:
    assert Span(*one).around(Span(*other)) == both


@pytest.mark.parametrize(
    ("span", "there"),
    [
        ((-2, 3), (0, 3)),
        ((2, 9), (2, 5)),
        ((-2, 9), (0, 5)),
        ((-3, -1), (-1, -1)),
        ((-3, 0), (0, 0)),
        ((5, 7), (5, 5)),
        ((6, 7), (6, 6)),
    ],
)
def test_of_a_span_that_lies_outside_there_is_nothing(span: tuple[int, int], there: tuple[int, int]) -> None:
    assert Span(*span).within(5) == there
