"""The figures by other counters' conventions, against sums written out by hand from the counters' rules."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from weighbridge.builder import Builder
from weighbridge.counts import ConventionFacts, Uncounted
from weighbridge.counts.conventions import CONVENTIONS, by_convention, convention_named
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.graph import UNKNOWN, Attribute, Role, TensorType
from weighbridge.operators.record import Kind
from weighbridge.operators.table import OPERATORS

FLOAT = DTYPES["float32"]
FVCORE = CONVENTIONS["fvcore"]


def one(
    operator: str, operands: Mapping[str, tuple[int, ...]], attributes: Mapping[str, Attribute] | None = None
) -> ConventionFacts:
    """The figures of a graph of one node; weights, scales and biases are stored, the rest are inputs."""
    builder = Builder("one")
    for name, shape in operands.items():
        if name in ("w", "r", "b", "scale", "bias"):
            builder.stored(name, shape, FLOAT)
        elif name in ("mean", "variance"):
            builder.stored(name, shape, FLOAT, Role.BUFFER)
        else:
            builder.input(name, shape, FLOAT)
    outputs = builder.add(operator, [(name, name) for name in operands], attributes)
    return by_convention(builder.graph(outputs), FVCORE)


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "macs", "activations"),
    [
        # 8 x 8 positions of 16 sums of 3 x 3 x 3 products; a bias costs nothing
        ("conv", {"x": (1, 3, 8, 8), "w": (16, 3, 3, 3), "b": (16,)}, {"padding": 1}, 64 * 16 * 27, 64 * 16),
        ("conv", {"x": (2, 8, 5), "w": (8, 1, 3)}, {"groups": 8}, 2 * 3 * 8 * 3, 2 * 3 * 8),
        ("conv_transpose", {"x": (1, 4, 5, 5), "w": (4, 2, 2, 2)}, {"stride": 2}, 25 * 4 * 2 * 4, 2 * 100),
        ("linear", {"x": (2, 7, 5), "w": (3, 5), "b": (3,)}, {}, 2 * 7 * 5 * 3, 2 * 7 * 3),
        ("matmul", {"x": (2, 4, 5), "w": (2, 5, 6)}, {}, 2 * 4 * 5 * 6, 2 * 4 * 6),
        # the first operand counts once, however often it is stretched; its products are all there as activations
        ("matmul", {"x": (4, 5), "w": (2, 5, 6)}, {}, 4 * 5 * 6, 2 * 4 * 6),
        ("matmul", {"x": (2, 4, 5), "w": (6, 5)}, {"transpose_w": True}, 2 * 4 * 5 * 6, 2 * 4 * 6),
        # 3 heads, 4 queries, 6 keys, 5 and 7 features: the scores, then their products with the values
        (
            "attention",
            {"q": (1, 3, 4, 5), "k": (1, 3, 6, 5), "v": (1, 3, 6, 7)},
            {},
            3 * 4 * 6 * (5 + 7),
            3 * 4 * 6 + 3 * 4 * 7,
        ),
        ("batch_norm", {"x": (2, 3, 4), "scale": (3,), "bias": (3,), "mean": (3,), "variance": (3,)}, {}, 2 * 24, 0),
        ("batch_norm", {"x": (2, 3, 4), "mean": (3,), "variance": (3,)}, {}, 24, 0),
        (
            "batch_norm",
            {"x": (2, 3, 4), "scale": (3,), "bias": (3,), "mean": (3,), "variance": (3,)},
            {"training": True},
            5 * 24,
            0,
        ),
        ("batch_norm", {"x": (1, 3, 4), "mean": (3,), "variance": (3,)}, {"training": True}, 4 * 12, 0),
        ("layer_norm", {"x": (2, 3, 4), "scale": (4,), "bias": (4,)}, {}, 5 * 24, 0),
        ("layer_norm", {"x": (2, 3, 4)}, {}, 4 * 24, 0),
        ("group_norm", {"x": (2, 4, 3), "scale": (4,), "bias": (4,)}, {"groups": 2}, 5 * 24, 0),
        ("instance_norm", {"x": (2, 3, 4)}, {}, 4 * 24, 0),
        ("adaptive_average_pool", {"x": (1, 3, 8, 6)}, {"output_size": (1, 1)}, 3 * 8 * 6, 0),
        ("adaptive_average_pool", {"x": (1, 3, 8)}, {"output_size": (1,)}, 0, 0),
        ("adaptive_average_pool", {"x": (3, 8, 6)}, {"output_size": (1, 1)}, 3 * 8 * 6, 0),
        ("global_average_pool", {"x": (1, 3, 8, 6)}, {}, 3 * 8 * 6, 0),
        ("average_pool", {"x": (1, 3, 8, 8)}, {"kernel": (2, 2), "stride": 2}, 0, 0),
        ("resize", {"x": (1, 3, 4, 4)}, {"sizes": (8, 8), "axes": (2, 3), "mode": "nearest"}, 3 * 64, 0),
        ("resize", {"x": (1, 3, 4, 4)}, {"sizes": (8, 8), "axes": (2, 3), "mode": "linear"}, 4 * 3 * 64, 0),
        ("resize", {"x": (1, 3, 4, 4)}, {"sizes": (8, 8), "axes": (2, 3), "mode": "cubic"}, 0, 0),
        (
            "resize",
            {"x": (1, 3, 8, 8)},
            {"sizes": (4, 4), "axes": (2, 3), "mode": "linear", "antialias": True},
            0,
            0,
        ),
        ("resize", {"x": (1, 3, 4)}, {"sizes": (8,), "axes": (2,), "mode": "linear"}, 0, 0),
        ("grid_sample", {"x": (1, 3, 4, 4), "grid": (1, 5, 6, 2)}, {}, 4 * 3 * 5 * 6, 0),
        ("relu", {"x": (1, 3, 4)}, {}, 0, 0),
        ("softmax", {"x": (1, 3, 4)}, {}, 0, 0),
    ],
    ids=str,
)
def test_fvcore_counts_an_operator_by_its_rule(
    operator: str,
    operands: Mapping[str, tuple[int, ...]],
    attributes: Mapping[str, Attribute],
    macs: int,
    activations: int,
) -> None:
    found = one(operator, operands, attributes)
    assert (found.macs, found.activations, found.exact, found.uncounted) == (macs, activations, True, ())


def test_parameters_are_all_learned_elements_and_a_shared_one_counts_once() -> None:
    builder = Builder("tied")
    builder.input("x", (1, 4), FLOAT)
    builder.stored("w", (4, 4), FLOAT)
    builder.stored("unused", (10,), DTYPES["float16"])
    builder.stored("steps", (7,), FLOAT, Role.BUFFER)
    (first,) = builder.add("linear", [("x", "x"), ("w", "w")])
    found = by_convention(builder.graph(builder.add("linear", [("x", first), ("w", "w")])), FVCORE)
    assert (found.parameters, found.weight_bytes, found.macs) == (26, 16 * 4 + 10 * 2, 32)


def test_what_depends_on_no_input_counts_as_fvcore_sees_it_run() -> None:
    """A weight-standardised convolution normalises its weight in every run of the module."""
    builder = Builder("standardised")
    builder.stored("w", (8, 4), FLOAT)
    builder.stored("mean", (4,), FLOAT, Role.BUFFER)
    (normal,) = builder.add("batch_norm", [("x", "w"), ("mean", "mean"), ("variance", "mean")], {"training": True})
    builder.input("x", (1, 4), FLOAT)
    found = by_convention(builder.graph(builder.add("linear", [("x", "x"), ("w", normal)])), FVCORE)
    assert found.macs == 4 * 32 + 32


def test_a_contraction_without_a_rule_makes_the_figures_lower_bounds() -> None:
    found = one("lstm", {"x": (5, 1, 3), "w": (1, 8, 3), "r": (1, 8, 2)})
    assert (found.macs, found.exact) == (0, False)
    assert found.uncounted == (Uncounted("lstm", "lstm", "the convention has no rule for lstm"),)


def test_an_unknown_operator_makes_the_figures_lower_bounds() -> None:
    builder = Builder("unknown")
    builder.input("x", (1, 4), FLOAT)
    outputs = builder.opaque(UNKNOWN, [("x", "x")], [TensorType((1, 4), FLOAT)], origin="aten.foo")
    found = by_convention(builder.graph(outputs), FVCORE)
    assert not found.exact
    assert found.uncounted == (Uncounted("unknown", "aten.foo", "there is no rule for this operator"),)


def test_an_unknown_shape_makes_the_figures_lower_bounds() -> None:
    builder = Builder("shapeless")
    builder.input("x", None, FLOAT)
    builder.stored("w", (4, 4), FLOAT)
    found = by_convention(builder.graph(builder.add("linear", [("x", "x"), ("w", "w")])), FVCORE)
    assert not found.exact
    assert found.uncounted[0].reason == "the shape of x is unknown"


def test_every_rule_is_for_an_operator_of_the_table() -> None:
    for convention in CONVENTIONS.values():
        activations = convention.activations or {}
        assert {*convention.macs, *activations} <= OPERATORS.keys()
        assert all(OPERATORS[name].kind == Kind.CONTRACTION for name in activations), (
            "activations are results of contractions"
        )


def test_a_convention_that_there_is_none_of_is_refused_by_name() -> None:
    assert convention_named("fvcore") == "fvcore"
    with pytest.raises(BadSpec, match=r"there is no convention 'thop'.*the conventions are fvcore"):
        convention_named("thop")
