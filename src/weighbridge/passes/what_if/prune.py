"""Structured pruning: what a network weighs with a part of its channels gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import itemgetter
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.targets import EVERY, Layer, Targets, in_force, targets_of
from weighbridge.passes.what_if.channel_links import Links, link
from weighbridge.passes.what_if.layers import Left, left_note, nothing_changed, rebuilt_without_run
from weighbridge.passes.what_if.prune_rebuild import Draft, misfits, resized

__all__ = ["prune_channels"]

_CHANGE: Final = "prune"


class _Wish(NamedTuple):
    """A ratio, and the place of its rule among those in force: of two that meet the later one holds."""

    place: int
    ratio: Fraction


def prune_channels(
    graph: Graph, rules: Sequence[tuple[str, Fraction]], operators: Mapping[str, Op] = OPERATORS
) -> Graph:
    """``graph`` with a part of the output channels of its layers gone, and all that is tied to them.

    A rule is a target and a ratio in [0, 1): of c channels floor(c x ratio) go.  A target is one of weights, as for bit
    widths (``first``, ``last-3``, the name of a layer, a scope or a parameter, a pattern); ``rest``, ``all`` or "" are
    the layers that no other rule names.  Later rules override earlier ones.

    What follows: biases, normalisation, depthwise layers, the inputs of the layers behind.  Layers whose results are added,
    or multiplied element by element, are pruned together, by the last rule that names one of them.  A concatenation loses what
    each of its parts does, a part that is cut out what lies in it.  Where channels are in g groups of equal size, for a grouped
    convolution, a channel shuffle, heads of an attention or group normalisation, g x floor(c / g x ratio) go.  The inputs and
    outputs of the network keep their sizes.  What cannot be followed stays whole with all that is tied to it, and
    ``notes`` say which layers keep their channels, and why.

    Only the numbers of channels are decided, not which ones go.  Of a parameter of which a part is zero, as large a part of
    what is left is.  What a framework held while it ran the network, and what a runtime asks for to run its file, are dropped.

    Raises ``BadSpec`` for a ratio outside [0, 1), a target that is not in the graph or has no layers, and where none of the
    layers that rules name can be pruned.
    """
    wishes = _wishes(targets_of(graph, operators), rules)
    if not any(wish.ratio for wish in wishes.values()):
        return graph
    links = link(graph, operators)
    removed, draft = _settled(links, _wished_spaces(links, wishes))
    left = list(_left(links, wishes, removed))
    if not removed and all(_is_whole(links, name) for name, wish in wishes.items() if wish.ratio):
        raise nothing_changed(_CHANGE, "no layer whose channels can be pruned", left)
    notes = [left_note(_CHANGE, left)] if left else []
    if not removed:
        return replace(graph, notes=(*graph.notes, *notes))
    return rebuilt_without_run(graph, draft.nodes, draft.tensors, notes)


def _wishes(targets: Targets, rules: Sequence[tuple[str, Fraction]]) -> dict[str, _Wish]:
    """What the rules say of each layer, by its name."""
    wishes: dict[str, _Wish] = {}
    for place, (target, ratio) in enumerate(in_force(rules, itemgetter(0))):
        is_rest = target in EVERY
        named = [layer.name for layer in (targets.layers if is_rest else _layers(targets, target))]
        if not named:
            raise BadSpec("no layer has weights, so there are no channels to prune", where=target or "rest")
        _check(target or "rest", ratio, named[0])
        wishes.update(dict.fromkeys(named, _Wish(place, ratio)))
    return wishes


def _layers(targets: Targets, target: str) -> list[Layer]:
    held = frozenset(targets.named(target))
    found = [layer for layer in targets.layers if not held.isdisjoint(layer.weights)]
    if not found:
        raise BadSpec("no layer has these as its weights", where=target, hint="name a layer or a scope")
    return found


def _check(target: str, ratio: Fraction, layer: str) -> None:
    if ratio == 1:
        raise BadSpec(f"a ratio of 1 leaves {layer} no channels", where=target, hint="give a ratio below 1")
    if not 0 <= ratio < 1:
        raise BadSpec(f"the ratio {ratio} is not from 0 up to, but not including, 1", where=target, hint="write 0.3")


def _wished_spaces(links: Links, wishes: Mapping[str, _Wish]) -> dict[int, Fraction]:
    """The ratio for each space that layers have in their output channels."""
    found: dict[int, _Wish] = {}
    for name, wish in wishes.items():
        for space, _ in links.spaces.flat(links.made.get(name, ())):
            if space not in found or wish.place > found[space].place:
                found[space] = wish
    return {space: wish.ratio for space, wish in found.items()}


def _settled(links: Links, ratios: Mapping[int, Fraction]) -> tuple[dict[int, int], Draft]:
    """The channels that go, by space, and the nodes and tensors without them, which the operators' own rules agree to.

    A node whose rule does not agree is held whole, with all that it touches, and the rest is looked at again.
    """
    while True:
        removed = {
            space: links.spaces.channels(space) * ratio.numerator // ratio.denominator
            for space, ratio in ratios.items()
            if links.spaces.reason(space) is None
        }
        removed = {space: count for space, count in removed.items() if count}
        draft = resized(links, removed)
        wrong = list(misfits(links, draft))
        for node in wrong:
            links.hold_node(node, f"{node.name} ({node.operator}) does not fit fewer channels")
        if not wrong:
            return removed, draft


def _is_whole(links: Links, layer: str) -> bool:
    """Whether all channels of a layer are held, or not known."""
    return links.spaces.is_held(links.made.get(layer))


def _left(links: Links, wishes: Mapping[str, _Wish], removed: Mapping[int, int]) -> Iterator[Left]:
    """The layers that keep channels although a rule is for them, and why."""
    for name, wish in wishes.items():
        if not wish.ratio:
            continue
        spaces = [space for space, _ in links.spaces.flat(links.made.get(name, ()))]
        reasons = [reason for reason in map(links.spaces.reason, spaces) if reason]
        if not spaces:
            yield Left(name, links.lost.get(name) or _unknown(links, name))
        elif reasons:
            yield Left(name, reasons[0] if len(reasons) == len(spaces) else f"in part: {reasons[0]}")
        elif not any(space in removed for space in spaces):
            yield Left(name, "too few channels for the ratio to remove one")


def _unknown(links: Links, layer: str) -> str:
    """Why a layer has no output channels that could be followed."""
    node = next((node for node in links.graph.nodes if node.name == layer), None)
    if node is None:
        return "it lies in a loop or a branch"
    weights = [links.graph.tensors[tensor] for name, tensor in node.operands if name == "w"]
    if weights and not weights[0].role.is_stored and weights[0].elements != 1:
        return "its weight is computed in a way that is not followed"
    return "it has no axis of output channels, or a single one"
