"""The sentences of a comparison: true for every kind of difference, and loud about what makes the sides no equals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from tests.report.compared import EFFICIENTVIT, SEGFORMER, published, side_by_side
from tests.report.samples import alexnet, node, on_device, report
from weighbridge import weigh
from weighbridge.counts import NodeFacts
from weighbridge.report import Report
from weighbridge.report.comparison import comparison_of
from weighbridge.report.comparison_sentences import sentences
from weighbridge.report.record import NetworkInput

ODD = node("odd", operator="unknown", origin="my.Op", macs=None)

A, B, C, D = (node(name, weights=place, macs=9 * place) for place, name in enumerate("abcd", 2))
WIDER = B._replace(weights=30, macs=270, output=(1, 16, 4, 4))
CODED = [one._replace(weight_bytes=one.weight_bytes // 4) for one in (A, B, C)]
CALLED = [one._replace(name=f"/net/{one.name}") for one in (A, B, C)]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ([A, B, C], [A, B, C], "B has every layer of A and no other: 3 layers"),
        ([A, B], [A, B, C, D], "B has every layer of A and 2 more"),
        ([A, B, C], [A, B], "B has no layer that A does not have, and lacks 1 layer of it"),
        (
            [A, B, C],
            [A, WIDER, C],
            "B has the layers of A, one for one: 1 differs in shape of output, weights or MACs, 2 are alike",
        ),
        ([A, B, C], CODED, "B has the layers of A, one for one: all 3 differ in bytes of the weights"),
        ([B], [WIDER], "B has the layers of A, one for one: the only one differs in shape of output, weights or MACs"),
        ([A, B, C], CALLED, "B has every layer of A and no other: 3 layers; all of those alike are called otherwise"),
        (
            [A, B, C],
            [A, B, CALLED[2]],
            "B has every layer of A and no other: 3 layers; 1 of those alike is called otherwise",
        ),
        (
            [A, B, C],
            [A, WIDER, node("e", operator="linear", weights=7, output=(1, 7))],
            "of the layers of B 1 is as in A; 1 differs in shape of output, weights or MACs, 1 is new and 1 of A is gone",
        ),
        ([A], [node("z", operator="pool", output=(1, 2))], "no layer of B is one of A: 1 layer against 1"),
        ([], [], "neither A nor B has a layer"),
        ([A, B], [A._replace(fused=("relu",)), B], "one for one: 1 differs in what is fused into them, 1 is alike"),
        ([A, B], [A._replace(nonzero_weights=1), B], "one for one: 1 differs in zeros, 1 is alike"),
        ([A, B], [A._replace(output_bytes=1), B], "one for one: 1 differs in bytes of the output, 1 is alike"),
    ],
)
def test_what_became_of_the_layers(before: list[NodeFacts], after: list[NodeFacts], said: str) -> None:
    assert said in " ".join(sentences(side_by_side(report(before), report(after))))


def test_the_same_network_is_equal_in_every_figure_unless_a_figure_is_a_bound() -> None:
    assert "B and A are equal in every figure" in list(sentences(side_by_side(weigh("mlp"), weigh("mlp"))))
    odd = report([*alexnet(), ODD])
    assert "equal in every figure" not in " ".join(sentences(side_by_side(odd, odd)))


def taking(*inputs: tuple[tuple[int, ...] | None, str]) -> Report:
    made = report(alexnet())
    given = tuple(NetworkInput("x", shape, dtype) for shape, dtype in inputs)
    return replace(made, network=made.network._replace(inputs=given))


@pytest.mark.parametrize(
    ("first", "later", "said"),
    [
        (
            [((1, 3, 8, 8), "float32")],
            [((8, 3, 8, 8), "float32")],
            "careful: A takes 1x3x8x8 of float32 and B takes 8x3x8x8 of",
        ),
        ([((1, 3, 8, 8), "float32")], [((1, 3, 9, 9), "float32")], "careful: the inputs differ: A takes 1x3x8x8 of"),
        (
            [((1, 3), "float32")],
            [((1, 3), "float32"), ((), "int64")],
            "B takes 2 inputs: 1x3 of float32, a scalar of int64",
        ),
        ([((1, 3), "float32")], [], "careful: the inputs differ: A takes 1x3 of float32 and B takes 0 inputs"),
        (
            [((1, 8, 8, 3), "float32")],
            [((1, 3, 8, 8), "int8")],
            "A takes 1x8x8x3 of float32 and B takes 1x3x8x8 of int8",
        ),
        ([(None, "float32")], [((1, 3), "float32")], "careful: the inputs differ: A takes an unknown shape of float32"),
        ([((1, 8, 8, 3), "float32")], [((1, 3, 8, 8), "float32")], ""),
    ],
)
def test_other_inputs_are_said_first(first, later, said: str) -> None:
    shown = list(sentences(side_by_side(taking(*first), taking(*later))))
    if said:
        assert said in shown[0]
    assert any(" takes " in sentence for sentence in shown) == bool(said)


def test_other_graphs_widths_and_precisions_are_said() -> None:
    one = replace(report(alexnet()), on=(on_device(),))
    there = one.on[0]
    at_int8 = there._replace(conditions=there.conditions._replace(precision="int8"))
    other = replace(one, network=one.network._replace(graph="as written"), on=(at_int8,))
    found = side_by_side(one, other, weigh("mlp", weight_bits=4))
    shown = " ".join(sentences(found))
    assert "careful: A is weighed deployed and B as written" in shown
    assert "on stm32f746, A runs at float32 and B runs at int8" in shown
    assert "careful: the weights of C are at the widths asked for, those of A as they are stored" in shown
    assert "on stm32f746, A and B do not fit" in shown


def test_where_there_are_many_devices_verdicts_are_counted() -> None:
    fits, not_fits = on_device(needed=10, peak=10), on_device()
    on = tuple(one._replace(device=f"d{place}") for place, one in enumerate((fits, fits, not_fits, not_fits)))
    shown = list(sentences(side_by_side(replace(report(alexnet()), on=on), replace(report(alexnet()), on=on[:1]))))
    assert "A fits on 2 of 4 devices" in shown
    assert "B fits on 1 of 1 devices" in shown


def test_why_times_are_not_in_the_ratio_of_macs() -> None:
    shown = list(sentences(comparison_of([EFFICIENTVIT, SEGFORMER], tool="t")))
    where = "(Jetson AGX Orin, TensorRT, fp16, batch 1)"
    assert shown == [
        f"as published, segformer_b5 takes 13.90 times as long as efficientvit_l1 for 5.177 times the MACs {where}",
        "MACs are not time: segformer_b5 runs 2.288 T MACs a second there and efficientvit_l1 6.144 T MACs a second",
    ]
    as_fast = published("twice", macs=Fraction(200), latency_s=Fraction("0.2"))
    assert len(list(sentences(comparison_of([published("one"), as_fast], tool="t")))) == 1


@pytest.mark.parametrize(
    ("weights", "parameters", "said"),
    [
        (0, -3, "B has as many weights, 0.7000 times the parameters"),
        (0, 0, "B has as many parameters"),
        (2, 2, "B has 1.200 times the parameters"),
    ],
)
def test_weights_are_said_where_they_are_all_that_stayed(weights: int, parameters: int, said: str) -> None:
    before = report([node("conv", weights=9, biases=1, macs=81), node("pool", operator="max_pool")])
    facts = before.facts._replace(parameters=10, weights=9, macs=81)
    changed = facts._replace(parameters=10 + parameters, weights=9 + weights, macs=82)
    sides = (replace(before, facts=facts), replace(before, facts=changed))
    assert said in " ".join(sentences(side_by_side(*sides)))
