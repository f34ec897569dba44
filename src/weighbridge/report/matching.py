"""Which layer of one network is which of another: by name, by shape, and last by position."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.layers import NAME, Layer, LayerChange, LayerFigures, lengths, plain_operator

__all__ = ["POSITION", "SHAPE", "Differences", "Match", "differences", "matched"]

SHAPE: Final = "shape"
POSITION: Final = "position"
_ROUNDS: Final = 8
"""Of looking between the pairs that were found: each finds less, and two are mostly enough."""
_Pairs = dict[int, int]
_Keys = Sequence[Hashable]


class Match(NamedTuple):
    """A layer of each side by its place there; the other is None of a layer that only one side has, as is ``by`` then.

    ``by`` says how sure that is: ``name``; ``shape``, where names differ and operator, output, weights and MACs are the same; or
    ``position``, where the layers around it are matched and only the operator is the same, or all but the operator.
    """

    before: int | None
    after: int | None
    by: str | None


class Differences(NamedTuple):
    """How two lists of layers differ: ``layers`` are those that do, in the order in which they run.

    ``same`` is the number of layers that both have alike, and ``renamed`` those of them that are called otherwise, before and after.
    """

    layers: tuple[LayerChange, ...]
    same: int
    renamed: tuple[tuple[str, str], ...]


def differences(before: Sequence[Layer], after: Sequence[Layer]) -> Differences:
    """What differs between layers that ``matched`` finds to be one, and those that only one side has.

    Two are alike where all figures are and the output has the same lengths, in whatever order: channels may come first or last.
    """
    changes: list[LayerChange] = []
    renamed: list[tuple[str, str]] = []
    same = 0
    for old, new, by in matched(before, after):
        one, other = None if old is None else before[old], None if new is None else after[new]
        if one is None or other is None:
            changes += (LayerChange(gone.name, gone.figures, None) for gone in (one,) if gone)
            changes += (LayerChange(added.name, None, added.figures) for added in (other,) if added)
            continue
        called = one.name if one.name != other.name else None
        if _whole(one.figures) != _whole(other.figures):
            changes.append(LayerChange(other.name, one.figures, other.figures, called, by))
            continue
        same += 1
        if called is not None:
            renamed.append((called, other.name))
    return Differences(tuple(changes), same, tuple(renamed))


def matched(before: Sequence[Layer], after: Sequence[Layer]) -> tuple[Match, ...]:
    """Every layer of both sides once, in the order of ``after``; what is gone stands behind what ran before it.

    Layers of one name pair first, then those of one shape in their order.  A name that went over to another operator of another size
    waits for those: a converter that puts ``dequantize`` behind a linear layer gives it the name of the output, which the linear
    layer had.  Between the same pairs those of one operator follow where both sides have the same number of them, and then those that
    are alike but for the operator: exporters have several for one thing.
    Names are believed unless more than twice as many layers differ by them as by shapes: then the names are numbers that an
    exporter gave (``Conv_5``), which move on where a layer is put in, and shapes go first.
    """
    sides = _Sides(
        *([layer.name for layer in side] for side in (before, after)),
        *([_shape(layer.figures) for layer in side] for side in (before, after)),
        *([plain_operator(layer.figures) for layer in side] for side in (before, after)),
        *([_size(layer.figures) for layer in side] for side in (before, after)),
    )
    pairs = _found(sides, (_by_sure_name, _by_shape, _by_name))
    differ = sides.differ(pairs)
    if differ > 1:
        other = _found(sides, (_by_shape, _by_name))
        if 2 * sides.differ(other) < differ:
            pairs = other
    return tuple(_ordered(pairs, sides))


def _shape(figures: LayerFigures) -> Hashable:
    """What a layer is, whatever it is called, whatever was fused into it, and at whatever width it is stored."""
    return plain_operator(figures), _size(figures)


def _size(figures: LayerFigures) -> Hashable:
    """What a layer is but for its operator, which stays where nobody knows the output: two unknowns are not alike."""
    return lengths(figures), figures.weights, figures.macs, plain_operator(figures) if figures.output is None else ""


def _whole(figures: LayerFigures) -> Hashable:
    return figures._replace(output=lengths(figures))


class _Sides(NamedTuple):
    """Names, shapes, operators and sizes of both sides."""

    old_names: _Keys
    new_names: _Keys
    old_shapes: _Keys
    new_shapes: _Keys
    old_operators: _Keys
    new_operators: _Keys
    old_sizes: _Keys
    new_sizes: _Keys

    def differ(self, pairs: _Pairs) -> int:
        """How many layers are not the same on both sides, or are on one alone."""
        same = sum(self.old_shapes[old] == self.new_shapes[new] for old, new in pairs.items())
        return len(self.old_names) + len(self.new_names) - len(pairs) - same

    def by(self, old: int, new: int) -> str:
        """The surest sign that two layers are one."""
        if self.old_names[old] == self.new_names[new]:
            return NAME
        return SHAPE if self.old_shapes[old] == self.new_shapes[new] else POSITION


def _found(sides: _Sides, steps: Iterable[Callable[[_Pairs, _Sides], None]]) -> _Pairs:
    pairs: _Pairs = {}
    for step in steps:
        step(pairs, sides)
    for old, new in ((sides.old_operators, sides.new_operators), (sides.old_sizes, sides.new_sizes)):
        for gap in list(_gaps(pairs, len(sides.old_names), len(sides.new_names))):
            pairs.update(_same_number(old, new, *gap))
    return pairs


def _by_sure_name(pairs: _Pairs, sides: _Sides) -> None:
    """Of one name, and of one operator or one size at least."""
    pairs.update(
        (old, new)
        for old, new in _once_each(sides.old_names, sides.new_names, *_left(pairs, sides))
        if sides.old_operators[old] == sides.new_operators[new] or sides.old_sizes[old] == sides.new_sizes[new]
    )


def _by_name(pairs: _Pairs, sides: _Sides) -> None:
    pairs.update(_once_each(sides.old_names, sides.new_names, *_left(pairs, sides)))


def _by_shape(pairs: _Pairs, sides: _Sides) -> None:
    """Between pairs those of one shape in their order, and then what each side has one left of anywhere."""
    for _ in range(_ROUNDS):
        found: _Pairs = {}
        for gap in _gaps(pairs, len(sides.old_names), len(sides.new_names)):
            at_place = _place_by_place(sides.old_shapes, sides.new_shapes, *gap)
            in_order = _in_order(sides.old_shapes, sides.new_shapes, *gap)
            found.update(in_order if len(in_order) > len(at_place) else at_place)
        if not found:
            break
        pairs.update(found)
    pairs.update(_once_each(sides.old_shapes, sides.new_shapes, *_left(pairs, sides)))


def _places(keys: _Keys, places: Iterable[int]) -> Mapping[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = defaultdict(list)
    for place in places:
        found[keys[place]].append(place)
    return found


def _once_each(old: _Keys, new: _Keys, before: Iterable[int], after: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Of these places those whose key each side has once among them."""
    others = _places(new, after)
    for key, at in _places(old, before).items():
        if len(at) == len(others.get(key, ())) == 1:
            yield at[0], others[key][0]


def _place_by_place(old: _Keys, new: _Keys, before: Sequence[int], after: Sequence[int]) -> list[tuple[int, int]]:
    """Those of a key that stand at the same place among equally many: what differs beside them moved none of them."""
    if len(before) != len(after):
        return []
    return [(one, other) for one, other in zip(before, after, strict=True) if old[one] == new[other]]


def _in_order(old: _Keys, new: _Keys, before: Iterable[int], after: Iterable[int]) -> list[tuple[int, int]]:
    """The first of a key with the first, the second with the second, as far as that keeps the order of all."""
    others = _places(new, after)
    return _rising(
        pair for key, at in _places(old, before).items() for pair in zip(at, others.get(key, ()), strict=False)
    )


def _same_number(old: _Keys, new: _Keys, before: Iterable[int], after: Iterable[int]) -> list[tuple[int, int]]:
    """Those of an operator that each side has the same number of, as far as that keeps the order of all."""
    others = _places(new, after)
    same = ((at, others[key]) for key, at in _places(old, before).items() if len(at) == len(others.get(key, ())))
    return _rising(pair for sides in same for pair in zip(*sides, strict=True))


def _left(pairs: _Pairs, sides: _Sides) -> tuple[list[int], list[int]]:
    """The places without a pair."""
    taken = set(pairs.values())
    return (
        [place for place in range(len(sides.old_names)) if place not in pairs],
        [place for place in range(len(sides.new_names)) if place not in taken],
    )


def _gaps(pairs: _Pairs, before: int, after: int) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """The places without a pair between those that have one, as far as their order is that of both sides."""
    taken = set(pairs.values())
    last_old = last_new = -1
    for old, new in (*_rising(pairs.items()), (before, after)):
        old_places = [place for place in range(last_old + 1, old) if place not in pairs]
        new_places = [place for place in range(last_new + 1, new) if place not in taken]
        if old_places and new_places:
            yield old_places, new_places
        last_old, last_new = old, new


def _rising(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs whose places rise on both sides: layers that moved are no landmarks."""
    ordered = sorted(pairs)
    ends: list[int] = []
    at: list[int] = []
    behind: list[int] = []
    for place, (_, new) in enumerate(ordered):
        length = bisect_left(ends, new)
        behind.append(at[length - 1] if length else -1)
        if length == len(ends):
            ends.append(new)
            at.append(place)
        else:
            ends[length], at[length] = new, place
    chain, place = [], at[-1] if at else -1
    while place >= 0:
        chain.append(ordered[place])
        place = behind[place]
    return chain[::-1]


def _ordered(pairs: _Pairs, sides: _Sides) -> Iterator[Match]:
    before, after = len(sides.old_names), len(sides.new_names)
    partners = {new: old for old, new in pairs.items()}
    behind: dict[int, list[int]] = defaultdict(list)
    last = -1
    for old in range(before):
        if old in pairs:
            last = pairs[old]
        else:
            behind[last].append(old)
    yield from (Match(old, None, None) for old in behind[-1])
    for new in range(after):
        partner = partners.get(new)
        yield Match(partner, new, None if partner is None else sides.by(partner, new))
        yield from (Match(old, None, None) for old in behind[new])
