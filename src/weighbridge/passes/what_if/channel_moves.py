"""How channels pass through what moves values and computes none: views, joins, cuts, borders, expansions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from weighbridge.graph import Attribute, Shape
from weighbridge.operators.rules import axes_of
from weighbridge.operators.shapes import axis_of
from weighbridge.passes.what_if.channel_site import Axes, NotFollowed, Site, Sizes
from weighbridge.passes.what_if.channel_spaces import Axis, Term

__all__ = [
    "batch_blocks",
    "concat",
    "depth_to_space",
    "expand",
    "filled",
    "gather",
    "pad",
    "reshape",
    "resize",
    "slices",
    "space_to_depth",
    "split",
    "tile",
    "transpose",
]


def transpose(site: Site) -> tuple[Axes, ...]:
    """The axes in another order."""
    x = site.of("x")
    if site.call["permutation"] == "reversed":
        return (x[::-1],)
    return (tuple(x[place] for place in axes_of(site.call, len(x), "permutation")),)


def concat(site: Site) -> tuple[Axes, ...]:
    """Along the axis that grows one operand stands behind the other; the other axes are tied."""
    xs, shapes = site.all("xs"), [kind.shape for kind in site.call.all("xs")]
    along = axis_of(site.call.integer("axis"), len(shapes[0]))
    found: list[Axis] = []
    for place in range(len(shapes[0])):
        axes = [axes[place] for axes in xs]
        if place == along:
            found.append(_side_by_side(site, axes, [shape[place] for shape in shapes]))
        else:
            axis = axes[0]
            for other in axes[1:]:
                axis = site.tie(axis, other)
            found.append(axis)
    return (tuple(found),)


def _side_by_side(site: Site, axes: list[Axis], sizes: list[int]) -> Axis:
    """One axis behind the other; those that keep their size are spaces that are held."""
    if all(axis is None for axis in axes):
        return None
    found: Term = ()
    for axis, size in zip(axes, sizes, strict=True):
        found += _term(site, axis, size)
    return found


def _term(site: Site, axis: Axis, size: int) -> Term:
    """An axis as segments, where it has none as one that is held."""
    if axis is not None:
        return axis
    if not size:
        return ()
    made = site.spaces.new(size)
    site.hold(made)
    return made


def split(site: Site) -> tuple[Axes, ...]:
    """Parts along an axis, each with the channels that lie there."""
    x, call = site.of("x"), site.call
    along = axis_of(call.integer("axis"), len(x))
    whole, size = x[along], call.x.shape[along]
    sizes = [kind.shape[along] for kind in site.results]
    if whole is None:
        return tuple(x for _ in sizes)
    parts: list[Term] = []
    start = 0
    for one in sizes:
        found = site.spaces.part(whole, start, start + one)
        if found is None:
            raise NotFollowed
        parts.append(found.within)
        start += one

    def mend(new: Sizes) -> Mapping[str, Attribute]:
        lengths = [new(part, one) for part, one in zip(parts, sizes, strict=True)]
        each = -(-new(whole, size) // len(lengths))
        as_equal = [each] * (len(lengths) - 1) + [new(whole, size) - each * (len(lengths) - 1)]
        is_equal = call["sizes"] == "equal" and lengths == as_equal
        return {} if is_equal else {"sizes": tuple(lengths)}

    site.mend = mend
    return tuple((*x[:along], part, *x[along + 1 :]) for part in parts)


def slices(site: Site) -> tuple[Axes, ...]:
    """A range of every axis: of channels those that lie in it.  Not followed where only every so many are taken."""
    x, call = list(site.of("x")), site.call
    starts, ends = list(call.integers("starts")), list(call.integers("ends"))
    along = axes_of(call, len(x)) if call["axes"] != "all" else tuple(range(len(starts)))
    steps = call.integers("steps") if call["steps"] != 1 else (1,) * len(starts)
    cuts: list[tuple[int, Term, Term]] = []
    for number, place in enumerate(along):
        axis, size = x[place], call.x.shape[place]
        if axis is None:
            continue
        first, last, step = slice(starts[number], ends[number], steps[number]).indices(size)
        part = site.spaces.part(axis, first, max(first, last)) if step == 1 else None
        if part is None:
            raise NotFollowed
        x[place] = part.within
        cuts.append((number, part.before, part.within))

    def mend(new: Sizes) -> Mapping[str, Attribute]:
        for number, before, within in cuts:
            starts[number] = new(before, 0)
            ends[number] = starts[number] + new(within, 0)
        return {"starts": tuple(starts), "ends": tuple(ends)}

    site.mend = mend
    return (tuple(x),)


def pad(site: Site) -> tuple[Axes, ...]:
    """A border of channels, as a shortcut has that adds some, keeps its size."""
    x, call = list(site.of("x")), site.call
    along, pads = axes_of(call, len(x)), call.integers("pads")
    for place, before, after in zip(along, pads[: len(along)], pads[len(along) :], strict=True):
        if not (before or after) or x[place] is None:
            continue
        if call["mode"] != "constant" or min(before, after) < 0:
            raise NotFollowed
        x[place] = _side_by_side(site, [None, x[place], None], [before, call.x.shape[place], after])
    return (tuple(x),)


def expand(site: Site) -> tuple[Axes, ...]:
    """An axis that is stretched has whatever size is needed; the others pass."""
    result = site.results[0].shape
    x_shape, x = site.call.x.shape, site.of("x")
    passed = site.joined(result, (x_shape, x))
    missing = len(result) - len(x_shape)
    stretched = [place < missing or x_shape[place - missing] == 1 != size for place, size in enumerate(result)]
    axes = tuple(
        site.spaces.new(size) if is_new and size > 1 else axis
        for axis, size, is_new in zip(passed, result, stretched, strict=True)
    )
    asked = site.call.integers("shape")

    def mend(new: Sizes) -> Mapping[str, Attribute]:
        last = len(result) - len(asked)
        sizes = [new(axis, size) for axis, size in zip(axes[last:], result[last:], strict=True)]
        return {"shape": tuple(1 if old == 1 else size for old, size in zip(asked, sizes, strict=True))}

    site.mend = mend
    return (axes,)


def filled(site: Site) -> tuple[Axes, ...]:
    """A tensor of a constant, or of random numbers, has whatever size is needed."""
    shape = site.results[0].shape
    axes: Axes = tuple(site.spaces.new(size) if size > 1 else None for size in shape)
    site.mend = lambda new: {"shape": tuple(new(axis, size) for axis, size in zip(axes, shape, strict=True))}
    return (axes,)


def tile(site: Site) -> tuple[Axes, ...]:
    """An axis that is repeated has its channels as often."""
    repeats, x = site.call.integers("repeats"), site.of("x")
    return (tuple(site.times(axis, copies) for axis, copies in zip(x, repeats, strict=True)),)


def gather(site: Site) -> tuple[Axes, ...]:
    """The axis that is picked from keeps its size; the others pass."""
    x, call = site.of("x"), site.call
    along = axis_of(call.integer("axis"), len(x))
    if call.integer("batch_dims"):
        raise NotFollowed
    site.hold(x[along])
    return ((*x[:along], *site.of("indices"), *x[along + 1 :]),)


def resize(site: Site) -> tuple[Axes, ...]:
    """Axes that keep their size pass, the others are space."""
    x, call, result = list(site.of("x")), site.call, site.results[0].shape
    along = axes_of(call, len(x))
    for place, (old, new) in enumerate(zip(call.x.shape, result, strict=True)):
        if old != new:
            site.hold(x[place])
            x[place] = None
    axes = tuple(x)
    if call["sizes"] != "none":
        if call["policy"] != "stretch" and any(axes[place] is not None for place in along):
            raise NotFollowed
        site.mend = lambda size: {"sizes": tuple(size(axes[place], result[place]) for place in along)}
    return (axes,)


def batch_blocks(site: Site) -> tuple[Axes, ...]:
    """Positions of an image that join the batch, or leave it: what is neither batch nor space passes."""
    space = len(site.call.integers("block_shape")) + 1
    for axis in site.of("x")[:space]:
        site.hold(axis)
    return ((*[None] * space, *site.of("x")[space:]),)


def depth_to_space(site: Site) -> tuple[Axes, ...]:
    """Each channel of the result is made of so many of x."""
    return _blocks(site, becomes_space=True)


def space_to_depth(site: Site) -> tuple[Axes, ...]:
    """Each channel of x becomes so many."""
    return _blocks(site, becomes_space=False)


def _blocks(site: Site, *, becomes_space: bool) -> tuple[Axes, ...]:
    x, call = list(site.of("x")), site.call
    place = 1 if call.text("layout") == "channels_first" else len(x) - 1
    for one in range(1, len(x)):
        if one != place:
            site.hold(x[one])
            x[one] = None
    axis, each = x[place], call.integer("block_size") ** (len(x) - 2)
    if axis is not None:
        x[place] = site.share(axis, each) if becomes_space else site.times(axis, each)
    return (tuple(x),)


def reshape(site: Site) -> tuple[Axes, ...]:
    """Dimensions are grouped so that those of x and of the result have as many elements; channels stay within their group.

    Merged with others, a dimension leaves each channel the values of these.  Where it is taken apart, one dimension takes the
    channels: that which a layer behind has them on, else one that they lie on as they came, else the widest.
    """
    x, old, new = site.of("x"), site.call.x.shape, site.results[0].shape
    found: list[Axis] = [None] * len(new)
    if 0 in old and any(axis is not None for axis in x):
        raise NotFollowed
    for before, after in _groups(old, new):
        free = [place for place in before if not site.spaces.is_held(x[place])]
        if len(free) > 1:
            raise NotFollowed
        for place in free:
            inner = prod(old[place + 1 : before.stop])
            target, axis = _placed(site, x[place], old[place], inner, [(one, new[one]) for one in after])
            found[target] = axis
    axes = tuple(found)
    asked = site.call.attributes.get("shape", ())
    if isinstance(asked, tuple) and asked:
        site.mend = lambda size: {"shape": _new_shape(site, asked, axes, size)}
    return (axes,)


def _new_shape(site: Site, asked: tuple[Attribute, ...], axes: Axes, size: Sizes) -> Shape:
    """What a reshape asks for, once sizes are known: -1 takes what is left, and stays; so does a 0 on an axis that passes as it is."""
    new, old = site.results[0].shape, site.call.x.shape
    found: list[int] = []
    for place, wanted in enumerate(asked):
        keeps = wanted == -1 or (wanted == 0 and size(axes[place], new[place]) == size(site.of("x")[place], old[place]))
        found.append(int(wanted) if keeps and isinstance(wanted, int) else size(axes[place], new[place]))
    return tuple(found)


def _groups(old: Shape, new: Shape) -> Iterator[tuple[range, range]]:
    """Ranges of dimensions with as many elements, as short as can be, in order."""
    i = j = 0
    while i < len(old) or j < len(new):
        first, second = i, j
        left, i = (old[i], i + 1) if i < len(old) else (1, i)
        right, j = (new[j], j + 1) if j < len(new) else (1, j)
        while left != right:
            if left < right:
                left, i = left * old[i], i + 1
            else:
                right, j = right * new[j], j + 1
        yield range(first, i), range(second, j)


def _placed(site: Site, axis: Axis, size: int, inner: int, after: list[tuple[int, int]]) -> tuple[int, Axis]:
    """Which of the dimensions ``after``, given with their sizes, takes an axis that had ``inner`` values behind it; and as what."""
    parts: dict[int, int] = {}  # what each dimension has of the axis
    sizes = dict(after)
    stride = 1
    for place, length in reversed(after):
        first, last = max(stride, inner), min(stride * length, inner * size)
        if first < last:
            if last % first or first % stride or stride * length % last:
                raise NotFollowed
            parts[place] = last // first
        stride *= length
    if not parts:
        raise NotFollowed
    flat = site.spaces.flat(axis or ())
    lying = [place for place in sorted(parts) if all(one.each % (size // parts[place]) == 0 for one in flat)]
    widest = max(parts, key=lambda place: (parts[place], place))
    place = site.hint if site.hint in parts else (lying or [widest])[0]
    return place, site.times(site.share(axis, size // parts[place]), sizes[place] // parts[place])
