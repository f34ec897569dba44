"""What a target stands for: numbers of layers, scopes and what is in them, names, patterns, uses."""

from __future__ import annotations

import pytest

from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.passes.targets import targets_of

FLOAT = DTYPES["float32"]


def stages() -> Graph:
    """A layer in each of layer1, layer1.0 and layer10, and one in none, all with biases."""
    build = Builder("stages")
    x = build.input("x", (1, 4), FLOAT)
    for name, scope in (("a", "layer1"), ("b", "layer1.0"), ("c", "layer10"), ("d", "")):
        operands = [
            ("x", x),
            ("w", build.stored(f"{name}.w", (4, 4), FLOAT)),
            ("b", build.stored(f"{name}.b", (4,), FLOAT)),
        ]
        (x,) = build.add("linear", operands, name=name, scope=scope)
    return build.graph([x])


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("layer1", "a.w b.w"),
        ("layer1.0", "b.w"),
        ("layer10", "c.w"),
        ("layer1*", "a.w b.w c.w"),
        ("first", "a.w"),
        ("first-2", "a.w b.w"),
        ("last", "d.w"),
        ("last-3", "b.w c.w d.w"),
        ("b", "b.w"),
        ("[cd]", "c.w d.w"),
        ("c.b", "c.b"),
        ("*.b", "a.b b.b c.b d.b"),
        ("biases", "a.b b.b c.b d.b"),
    ],
)
def test_what_a_target_stands_for(target: str, names: str) -> None:
    assert targets_of(stages()).named(target) == tuple(names.split())


@pytest.mark.parametrize("target", ["layer", "layer1.", "first-5", "first-0", "x"])
def test_what_is_not_there_is_said(target: str) -> None:
    with pytest.raises(BadSpec):
        targets_of(stages()).named(target)


def bracketed() -> Graph:
    """Layers with names and scopes that look like patterns, one of which stands for another layer."""
    build = Builder("bracketed")
    x = build.input("x", (1, 4), FLOAT)
    for name, scope in (("conv[1]", ""), ("conv1", ""), ("x*", "block[0]"), ("xy", "block0"), ("a[b", "")):
        (x,) = build.add("linear", [("x", x), ("w", build.stored(f"{name}.w", (4, 4), FLOAT))], name=name, scope=scope)
    return build.graph([x])


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("conv[1]", "conv[1].w"),
        ("conv[1]*", "conv1.w"),
        ("block[0]", "x*.w"),
        ("x*", "x*.w"),
        ("x*y", "xy.w"),
        ("a[b", "a[b.w"),
        ("conv[1].w", "conv[1].w"),
    ],
)
def test_a_name_is_itself_before_it_is_a_pattern(target: str, names: str) -> None:
    assert targets_of(bracketed()).named(target) == tuple(names.split())


def test_the_hint_of_a_network_without_layers_is_whole() -> None:
    build = Builder("none")
    with pytest.raises(BadSpec) as caught:
        targets_of(build.graph([build.input("x", (1, 4), FLOAT)])).named("x")
    assert caught.value.hint == "there are first, last, rest, biases, other"
