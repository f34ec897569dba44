"""Which layer is which: names that hold, names that are numbers, layers put in, taken out, renamed and widened."""

from __future__ import annotations

from random import Random

import pytest

from weighbridge import weigh
from weighbridge.report.layers import Layer, LayerFigures, layers_of
from weighbridge.report.matching import Match, differences, matched


def layer(name: str, width: int = 8, operator: str = "conv") -> Layer:
    weights = None if operator != "conv" else 9 * width
    return Layer(name, LayerFigures(operator, (1, width, 4, 4), weights, weights, weights, weights, 64 * width))


def network(*widths: int, name: str = "conv{}") -> list[Layer]:
    return [layer(name.format(place), width) for place, width in enumerate(widths)]


def names(before: list[Layer], after: list[Layer]) -> list[tuple[str | None, str | None, str | None]]:
    return [
        (None if old is None else before[old].name, None if new is None else after[new].name, by)
        for old, new, by in matched(before, after)
    ]


def test_the_same_network_has_no_differences() -> None:
    net = network(8, 16, 32, 16)
    assert differences(net, net) == ((), 4, ())


def test_a_widened_layer_is_one_change() -> None:
    before, after = network(8, 16, 32), network(8, 24, 32)
    (change,) = differences(before, after).layers
    assert (change.name, change.before_name, change.matched_by) == ("conv1", None, "name")
    assert change.before is not None and change.after is not None
    assert (change.before.weights, change.after.weights) == (144, 216)


def test_a_renamed_layer_is_not_one_lost_and_one_new() -> None:
    before = network(8, 16, 32)
    after = [before[0], layer("expand", 16), before[2]]
    assert names(before, after)[1] == ("conv1", "expand", "shape")
    assert differences(before, after) == ((), 3, (("conv1", "expand"),))


def test_a_layer_that_is_renamed_and_widened_is_found_by_its_place() -> None:
    before = network(8, 16, 32)
    after = [before[0], layer("expand", 24), before[2]]
    (change,) = differences(before, after).layers
    assert (change.before_name, change.name, change.matched_by) == ("conv1", "expand", "position")


def test_every_layer_renamed() -> None:
    before, after = network(8, 16, 8, 16, 8), network(8, 16, 8, 16, 8, name="/net/conv.{}/Conv")
    assert differences(before, after).same == 5
    assert [by for *_, by in matched(before, after)] == ["shape"] * 5


def test_a_layer_put_in_front_of_numbered_names_moves_no_other() -> None:
    before = network(8, 16, 32, 64, 16, 8, name="Conv_{}")
    after = network(12, 8, 16, 32, 64, 16, 8, name="Conv_{}")
    found = differences(before, after)
    assert [(one.name, one.before) for one in found.layers] == [("Conv_0", None)]
    assert found.same == 6
    assert found.renamed[0] == ("Conv_0", "Conv_1")


def test_names_hold_where_all_widths_change() -> None:
    before, after = network(8, 16, 16, 32, 32, 64), network(16, 32, 32, 64, 64, 128)
    assert [by for *_, by in matched(before, after)] == ["name"] * 6


def test_what_is_gone_stands_behind_what_ran_before_it() -> None:
    before, after = network(8, 16, 32), [layer("conv0", 8), layer("conv2", 32), layer("pool", operator="max_pool")]
    assert names(before, after) == [
        ("conv0", "conv0", "name"),
        ("conv1", None, None),
        ("conv2", "conv2", "name"),
        (None, "pool", None),
    ]


def test_layers_that_swap_places_stay_themselves() -> None:
    before, after = network(8, 16, 32), network(8, 16, 32)
    after[0], after[2] = after[2], after[0]
    assert differences(before, after) == ((), 3, ())


def test_channels_first_or_last_make_no_difference() -> None:
    first = layer("conv", 8)
    last = first._replace(figures=first.figures._replace(output=(1, 4, 4, 8)))
    assert differences([first], [last]) == ((), 1, ())


def test_an_operator_of_which_there_are_more_is_not_guessed() -> None:
    before = [layer("a", 8), layer("x", 16), layer("b", 8)]
    after = [layer("a", 8), layer("y", 24), layer("z", 24), layer("b", 8)]
    assert names(before, after)[1:-1] == [("x", None, None), (None, "y", None), (None, "z", None)]


def test_an_operator_that_an_exporter_calls_otherwise_is_found_by_its_place() -> None:
    before = [layer("a", 8), layer("pool", 8, "adaptive_average_pool"), layer("flatten", 8, "flatten"), layer("fc", 16)]
    after = [layer("A", 8), layer("Mean", 8, "reduce_mean"), layer("Reshape", 8, "reshape"), layer("FC", 16)]
    assert names(before, after)[1:-1] == [("pool", "Mean", "position"), ("flatten", "Reshape", "position")]
    wider = [after[0], layer("Mean", 12, "reduce_mean"), *after[2:]]
    assert all(
        by is None for *_, by in names(before, wider)[1:-1]
    )  # two of one size against one: which it is is not guessed


@pytest.mark.parametrize("layers", range(4))
def test_an_operator_put_in_takes_no_name_away_from_a_layer(layers: int) -> None:
    before = [*network(*range(8, 8 + layers)), layer("Identity", 16, "linear")]
    after = [layer("in", 3, "quantize"), *before[:-1], layer("Identity_int8", 16, "linear")]
    after.append(
        layer("Identity", 16, "dequantize")._replace(figures=before[-1].figures._replace(operator="dequantize"))
    )
    linear = before[-1].figures._replace(weights=256, macs=256)
    before[-1], after[-2] = before[-1]._replace(figures=linear), after[-2]._replace(figures=linear)
    found = differences(before, after)
    assert [(one.name, one.before) for one in found.layers] == [("in", None), ("Identity", None)]
    assert found.renamed == (("Identity", "Identity_int8"),)
    back = differences(after, before)
    assert [(one.name, one.after) for one in back.layers] == [("in", None), ("Identity", None)]
    assert back.renamed == (("Identity_int8", "Identity"),)


def test_a_name_holds_where_the_operator_alone_or_nothing_else_is_another() -> None:
    before = [layer("a", 8), layer("act", 8, "relu"), layer("b", 8)]
    alone = [before[0], layer("act", 8, "gelu"), layer("more", 8, "relu"), before[2]]
    assert names(before, alone)[1:3] == [("act", "act", "name"), (None, "more", None)]
    wider = [before[0], layer("act", 12, "gelu"), before[2]]
    assert names(before, wider)[1] == ("act", "act", "name")


@pytest.mark.parametrize("place", range(3))
def test_a_layer_like_its_neighbour_stays_at_its_place(place: int) -> None:
    before = network(8, 8, 8)
    after = [layer(f"other{at}", 24 if at == place else 8) for at in range(3)]
    assert names(before, after) == [
        (f"conv{at}", f"other{at}", "position" if at == place else "shape") for at in range(3)
    ]


def test_two_operators_of_which_nothing_is_known_are_not_one() -> None:
    unknown = LayerFigures("my.Op", None, None, None, None, None, None)
    before = [layer("a", 8), Layer("x", unknown), layer("b", 8)]
    after = [layer("a", 8), Layer("y", unknown._replace(operator="your.Op")), layer("b", 8)]
    assert names(before, after)[1:-1] == [("x", None, None), (None, "y", None)]


@pytest.mark.parametrize("seed", range(30))
def test_every_layer_of_both_sides_is_there_once(seed: int) -> None:
    random = Random(seed)

    def made() -> list[Layer]:
        return [
            layer(f"n{random.randrange(12)}", random.choice((8, 16)), random.choice(("conv", "relu")))
            for _ in range(random.randrange(25))
        ]

    before, after = made(), made()
    found = matched(before, after)
    assert sorted(old for old, *_ in found if old is not None) == list(range(len(before)))
    assert [new for _, new, _ in found if new is not None] == list(range(len(after)))
    for old, new, by in found:
        assert (by is None) == (old is None or new is None)
        if old is not None and new is not None and by != "name":
            assert before[old].figures.operator == after[new].figures.operator
    result = differences(before, after)
    both = sum(one.before is not None and one.after is not None for one in result.layers)
    assert result.same + both == sum(by is not None for *_, by in found)


def test_no_layers() -> None:
    assert matched([], []) == ()
    assert matched([layer("a")], []) == (Match(0, None, None),)
    assert matched([], [layer("a")]) == (Match(None, 0, None),)


def test_a_resnet_of_34_layers_has_all_blocks_of_one_of_18() -> None:
    small, large = (layers_of(weigh(name).nodes) for name in ("resnet18", "resnet34"))
    found = differences(small, large)
    assert found.same == len(small)
    assert all(one.before is None for one in found.layers)
    assert not found.renamed


def of(widths: str, name: str) -> list[Layer]:
    """A layer for each letter, of a width of its own, none of them called as on the other side."""
    return [layer(f"{name}{place}", 1 + ord(letter)) for place, letter in enumerate(widths)]


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [
        ("abcu", "uabc", {(0, 1), (1, 2), (2, 3), (3, 0)}),  # moved and renamed: the only one of its shape anywhere
        ("abcuu", "uuabc", {(0, 2), (1, 3), (2, 4)}),  # two that moved: nobody knows which is which
        (
            "ssts",
            "tssttts",
            {(0, 1), (1, 2), (2, 3), (3, 6)},
        ),  # what is left over is in order between those that were found
        ("xabcd", "abedx", {(0, 4), (1, 0), (2, 1), (3, 2), (4, 3)}),  # one that moved is no landmark for the others
    ],
)
def test_layers_that_were_renamed_and_moved(before: str, after: str, pairs: set[tuple[int, int]]) -> None:
    found = matched(of(before, "a"), of(after, "b"))
    assert {(old, new) for old, new, _ in found if old is not None and new is not None} == pairs
