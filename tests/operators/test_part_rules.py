"""What a part of a result needs of an operand, worked out by hand, and the attributes of the call that makes that part."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from weighbridge.dtypes import DTYPES
from weighbridge.graph import Attribute, TensorType
from weighbridge.operators.halo import Needs, Span
from weighbridge.operators.record import Call
from weighbridge.operators.table import OPERATORS

FLOAT = DTYPES["float32"]
Spans = tuple[tuple[int, int], ...]
NEAREST = {"mode": "nearest", "coordinates": "asymmetric", "rounding": "floor"}


def part(
    name: str, box: Spans, attributes: Mapping[str, Attribute], operands: Mapping[str, tuple[tuple[int, ...], ...]]
) -> tuple[Needs | None, Mapping[str, Attribute]]:
    """What is needed, and the attributes that differ where no more than that is there."""
    op = OPERATORS[name]
    kinds = {key: tuple(TensorType(shape, FLOAT) for shape in shapes) for key, shapes in operands.items()}
    given = {**op.attributes, **attributes}
    call = Call(kinds, given, tuple(op.infer(Call(kinds, given))))
    made = op.grain(call, tuple(Span(*one) for one in box))
    needed = None if op.halo_rule is None else op.halo_rule(call, made)
    if needed is None:
        return None, {}
    there = {
        slot: tuple(span.within(size) for span, size in zip(spans, kinds[slot[0]][slot[1]].shape, strict=True))
        for slot, spans in needed.items()
    }
    return needed, op.parted(call, made, needed, there)


def sliced(start: int, end: int, step: int) -> dict[str, Attribute]:
    return {"axes": (0,), "starts": (start,), "ends": (end,), "steps": (step,)}


@pytest.mark.parametrize(
    ("name", "box", "attributes", "shape", "expected", "differs"),
    [
        ("slice", ((1, 3),), sliced(1, 9, 2), (10,), ((3, 6),), sliced(0, 3, 2)),
        ("slice", ((0, 4),), sliced(1, 9, 2), (10,), ((0, 10),), sliced(1, 9, 2)),
        ("slice", ((0, 10),), sliced(-1, -11, -1), (10,), ((0, 10),), sliced(9, -(1 << 31), -1)),
        ("slice", ((2, 4),), sliced(-1, -11, -1), (10,), None, {}),
        ("pad", ((1, 5),), {"pads": (2, 1)}, (4,), ((-1, 3),), {"axes": "all", "pads": (1, 0)}),
        ("pad", ((4, 7),), {"pads": (2, 1)}, (4,), ((2, 5),), {"axes": "all", "pads": (0, 1)}),
        ("pad", ((3, 4),), {"pads": (2, 1)}, (4,), ((1, 2),), {"axes": "all", "pads": (0, 0)}),
        ("pad", ((0, 7),), {"pads": (2, 1)}, (4,), ((0, 4),), {"axes": "all", "pads": (2, 1)}),
        ("transpose", ((1, 2), (0, 3), (0, 1)), {}, (2, 3, 4), ((0, 1), (0, 3), (1, 2)), {}),
        (
            "transpose",
            ((0, 1), (1, 3), (0, 2)),
            {"permutation": (1, 2, 0)},
            (2, 3, 4),
            ((0, 2), (0, 1), (1, 3)),
            {},
        ),
        ("expand", ((2, 4), (1, 2)), {"shape": (4, 3)}, (1, 3), ((0, 1), (1, 2)), {"shape": (2, 1)}),
        ("expand", ((2, 4), (1, 2)), {"shape": (4, 3)}, (3,), ((1, 2),), {"shape": (2, 1)}),
        ("tile", ((1, 3), (1, 2)), {"repeats": (2, 1)}, (2, 4), None, {}),
        ("reduce_mean", ((0, 1), (0, 1), (1, 2)), {"axes": (1,)}, (1, 4, 4), ((0, 1), (0, 4), (1, 2)), {}),
        ("reduce_mean", ((0, 1), (2, 3), (1, 2)), {"axes": (1,)}, (1, 4, 4), None, {}),
        ("softmax", ((0, 1), (0, 4), (1, 2)), {"axis": 1, "flatten": True}, (1, 4, 4), None, {}),
        (
            "local_response_norm",
            ((0, 1), (0, 4), (1, 2), (0, 2)),
            {"size": 3},
            (1, 4, 2, 2),
            ((0, 1), (0, 4), (1, 2), (0, 2)),
            {},
        ),
        ("local_response_norm", ((0, 1), (0, 2), (1, 2), (0, 2)), {"size": 3}, (1, 4, 2, 2), None, {}),
        (
            "local_response_norm",
            ((0, 1), (1, 2), (0, 2), (0, 4)),
            {"size": 3, "layout": "channels_last"},
            (1, 2, 2, 4),
            ((0, 1), (1, 2), (0, 2), (0, 4)),
            {},
        ),
        (
            "local_response_norm",
            ((0, 1), (0, 2), (0, 2), (1, 2)),
            {"size": 3, "layout": "channels_last"},
            (1, 2, 2, 4),
            None,
            {},
        ),
        ("resize", ((4, 5),), {"sizes": (9,), "mode": "linear", "coordinates": "align_corners"}, (5,), ((2, 3),), ...),
        ("resize", ((1, 2),), {"sizes": (8,), "mode": "linear"}, (4,), ((0, 2),), ...),
        (
            "resize",
            ((7, 8),),
            {
                "sizes": (8,),
                "mode": "nearest",
                "coordinates": "tf_half_pixel_for_nn",
                "rounding": "round_prefer_ceil",
            },
            (4,),
            ((3, 4),),
            {"axes": (0,), "part_of": (4, 8, 3, 7, 1)},
        ),
        ("resize", ((3, 4),), {"scales": (1.1,), **NEAREST}, (4,), ((2, 3),), ...),
        ("reshape", ((1, 2), (0, 6)), {"shape": (4, 6)}, (6, 4), ((0, 3), (0, 4)), {"shape": (2, 6)}),
        ("reshape", ((2, 3), (0, 6)), {"shape": (4, 6)}, (6, 4), ((3, 6), (0, 4)), {"shape": (2, 6)}),
        ("reshape", ((2, 3), (1, 2)), {"shape": (6, 6)}, (36,), ((12, 18),), {"shape": (1, 6)}),
        ("reshape", ((0, 1), (1, 2), (0, 6)), {"shape": (2, 3, 6)}, (36,), ((0, 18),), {"shape": (1, 3, 6)}),
    ],
)
def test_of_one_operand(
    name: str,
    box: Spans,
    attributes: dict[str, Attribute],
    shape: tuple[int, ...],
    expected: Spans | None,
    differs: object,
) -> None:
    needed, found = part(name, box, attributes, {"x": (shape,)})
    assert (None if needed is None else needed["x", 0]) == expected
    assert differs in (..., found)


def test_what_is_joined_is_needed_all_along_that_axis() -> None:
    both = {"xs": ((2, 3), (2, 5))}
    needed, _ = part("concat", ((1, 2), (0, 8)), {"axis": 1}, both)
    assert needed == {("xs", 0): ((1, 2), (0, 3)), ("xs", 1): ((1, 2), (0, 5))}
    assert part("concat", ((0, 2), (0, 3)), {"axis": 1}, both)[0] is None


def test_products_need_their_rows_and_columns() -> None:
    x, w = ("x", 0), ("w", 0)
    plain, _ = part("matmul", ((1, 2), (0, 2)), {}, {"x": ((4, 5),), "w": ((5, 3),)})
    assert plain == {x: ((1, 2), (0, 5)), w: ((0, 5), (0, 2))}
    turned, _ = part("matmul", ((1, 2), (0, 2)), {"transpose_x": True}, {"x": ((5, 4),), "w": ((5, 3),)})
    assert turned == {x: ((0, 5), (1, 2)), w: ((0, 5), (0, 2))}
    other, _ = part("matmul", ((1, 2), (0, 2)), {"transpose_w": True}, {"x": ((4, 5),), "w": ((3, 5),)})
    assert other == {x: ((1, 2), (0, 5)), w: ((0, 2), (0, 5))}
    many, _ = part("matmul", ((2, 3), (1, 2), (0, 3)), {}, {"x": ((4, 4, 5),), "w": ((1, 5, 3),)})
    assert many == {x: ((2, 3), (1, 2), (0, 5)), w: ((0, 1), (0, 5), (0, 3))}


def test_a_product_with_scales_of_rows_needs_all() -> None:
    shapes = {"x": ((4, 5),), "w": ((5, 3),)}
    assert part("matmul", ((1, 2), (0, 3)), {}, {**shapes, "x_scale": ((4,),)})[0] is None
    assert part("matmul", ((1, 2), (0, 3)), {}, {**shapes, "x_scale": ((1,),)})[0] is not None
    assert part("matmul", ((1, 2), (0, 2)), {}, {**shapes, "w_scale": ((3,),)})[0] is None
    assert part("matmul", ((1, 2), (0, 3)), {}, {**shapes, "w_scale": ((3,),)})[0] is not None


def test_a_linear_layer_of_a_turned_operand_needs_all() -> None:
    box = ((1, 2), (0, 3))
    needed, _ = part("linear", box, {}, {"x": ((4, 5),), "w": ((3, 5),)})
    assert needed is not None
    assert needed["x", 0] == ((1, 2), (0, 5))
    assert part("linear", box, {"transpose_x": True}, {"x": ((5, 4),), "w": ((3, 5),)})[0] is None


def test_scales_of_blocks_need_all() -> None:
    box = ((0, 2), (0, 4))
    assert part("dequantize", box, {"axis": 1, "block_size": 2}, {"x": ((2, 4),), "scale": ((2, 2),)})[0] is None
