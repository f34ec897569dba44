"""How channels pass through layers: contractions, normalisations, pools and functions of single elements."""

from __future__ import annotations

from weighbridge.errors import GraphError
from weighbridge.operators.convolution import weight_axes
from weighbridge.operators.einsum import axis_labels
from weighbridge.operators.rules import axes_of
from weighbridge.operators.shapes import axis_of, broadcast
from weighbridge.passes.what_if.channel_site import Axes, NotFollowed, Site
from weighbridge.passes.what_if.channel_spaces import Axis

__all__ = [
    "attention",
    "batch_norm",
    "convolution",
    "einsum",
    "embedding",
    "group_norm",
    "layer_norm",
    "linear",
    "matmul",
    "pool",
    "quantisation",
    "reduction",
    "same",
    "sampled",
    "stretched",
    "transposed_convolution",
]


def same(site: Site) -> tuple[Axes, ...]:
    """Every result has the axes of x."""
    if any(kind.shape != site.call.x.shape for kind in site.results):
        raise NotFollowed
    return (site.of("x"),) * len(site.results)


def stretched(site: Site) -> tuple[Axes, ...]:
    """Operands that stretch to one shape, element by element."""
    shape = site.results[0].shape
    given = [
        (kind.shape, axes)
        for name, kinds in site.call.operands.items()
        for kind, axes in zip(kinds, site.all(name), strict=True)
    ]
    if broadcast(*(one for one, _ in given)) != shape:
        raise NotFollowed
    return (site.joined(shape, *given),) * len(site.results)


def _map_axis(site: Site, taps: int, rank: int) -> int:
    """The axis of channels of a map with so many spatial axes."""
    return rank - taps - 1 if site.call.text("layout") == "channels_first" else rank - 1


def _hold_taps(site: Site, weight: Axes, *channels: int) -> None:
    for place, axis in enumerate(weight):
        if place not in channels:
            site.hold(axis)


def _map_result(site: Site, place: int, axis: Axis) -> tuple[Axes, ...]:
    """The axes of a map whose channels are ``axis``: a batch passes, space stays as it is."""
    found: list[Axis] = [None] * len(site.results[0].shape)
    for one, passed in enumerate(site.of("x")):
        if site.call.x.shape[one] == site.results[0].shape[one] and one != place:
            found[one] = passed
        elif one != place:
            site.hold(passed)
    found[place] = axis
    return (tuple(found),)


def _tie_quantisation(site: Site, made: Axis, size: int) -> None:
    """Scales and zero points: those of x are single values, those of weight and result may be one an output channel."""
    for name in ("w_scale", "w_zero_point", "y_scale", "y_zero_point"):
        site.tie_vector(name, made, size)
    if any(kind.elements != 1 for name in ("x_scale", "x_zero_point") for kind in site.call.all(name)):
        raise NotFollowed


def convolution(site: Site) -> tuple[Axes, ...]:
    """Input channels meet those of the weight, group by group; a depthwise layer has a group for every input channel.

    With one group the output channels are those of the weight.  In groups each has as many, of the input too.
    """
    call, weight = site.call, site.of("w")
    o, i = weight_axes(call.text("weight_layout"), len(weight))
    place = _map_axis(site, len(weight) - 2, len(call.x.shape))
    x, groups, c_i, c_o = site.of("x")[place], call.integer("groups"), call.x.shape[place], call.w.shape[o]
    _hold_taps(site, weight, o, i)
    made = site.made = weight[o]
    if groups == c_i > 1 and (c_i == c_o or not site.spaces.is_held(x)):
        made = site.tie(site.times(x, c_o // c_i), weight[o])
        site.mend = lambda size: {"groups": size(x, c_i)}
    elif groups > 1:
        site.tie(site.share(x, groups), weight[i])
        site.share(made, groups)
    else:
        site.tie(x, weight[i])
    site.tie_vector("b", made, c_o)
    if call.has("offset"):
        _hold_all(site, "offset", "mask")
    else:
        _tie_quantisation(site, made, c_o)
    return _map_result(site, place, made)


def transposed_convolution(site: Site) -> tuple[Axes, ...]:
    """As a convolution, but the weight holds all input channels, and the output channels of one group."""
    call, weight = site.call, site.of("w")
    o, i = weight_axes(call.text("weight_layout"), len(weight))
    place = _map_axis(site, len(weight) - 2, len(call.x.shape))
    x, groups, c_i = site.of("x")[place], call.integer("groups"), call.x.shape[place]
    _hold_taps(site, weight, o, i)
    site.tie(x, weight[i])
    made: Axis = weight[o]
    if groups == c_i > 1 and not site.spaces.is_held(x):
        site.hold(made)
        made = site.times(x, call.w.shape[o])
        site.mend = lambda size: {"groups": size(x, c_i)}
    elif groups > 1:
        site.share(x, groups)
        made = site.times(made, groups)
    c_o = site.results[0].shape[place]
    site.tie_vector("b", made, c_o)
    _tie_quantisation(site, made, c_o)
    site.made = made
    return _map_result(site, place, made)


def _hold_all(site: Site, *operands: str) -> None:
    for operand in operands:
        for axes in site.all(operand):
            for axis in axes:
                site.hold(axis)


def linear(site: Site) -> tuple[Axes, ...]:
    """The last axis of x meets the weight's input features; a result has its output features."""
    call, x, weight = site.call, site.of("x"), site.of("w")
    o, i = (0, 1) if call.text("weight_layout") == "oi" else (1, 0)
    if call.integer("transpose_x"):
        x = (*x[:-2], x[-1], x[-2])
    site.tie(x[-1], weight[i])
    return _product(site, (*x[:-1], weight[o]))


def matmul(site: Site) -> tuple[Axes, ...]:
    """The last axis of x meets the last but one of w; leading axes stretch to each other."""
    call = site.call
    x, w, x_shape, w_shape = site.of("x"), site.of("w"), call.x.shape, call.w.shape
    if len(x) < 2 or len(w) < 2:
        raise NotFollowed
    if call.integer("transpose_x"):
        x, x_shape = (*x[:-2], x[-1], x[-2]), (*x_shape[:-2], x_shape[-1], x_shape[-2])
    if call.integer("transpose_w"):
        w, w_shape = (*w[:-2], w[-1], w[-2]), (*w_shape[:-2], w_shape[-1], w_shape[-2])
    site.tie(x[-1], w[-2])
    lead = site.joined(site.results[0].shape[:-2], (x_shape[:-2], x[:-2]), (w_shape[:-2], w[:-2]))
    return _product(site, (*lead, x[-2], w[-1]))


def _product(site: Site, result: Axes) -> tuple[Axes, ...]:
    """The features of a matrix product, with its bias and its scales."""
    shape = site.results[0].shape
    site.made = result[-1]
    if site.call.has("b"):
        if site.call.b.elements == 1:
            result = site.joined(shape, (shape, result))
        else:
            result = site.joined(shape, (shape, result), (site.call.b.shape, site.of("b")))
    _tie_quantisation(site, result[-1], shape[-1])
    return (result,)


def einsum(site: Site) -> tuple[Axes, ...]:
    """Axes of one label are tied, whichever operands have it; a diagonal is not followed.

    The output channels of a layer are on the one axis of the result that the first operand does not have.
    """
    labels, result = axis_labels(site.call)
    found: dict[str, Axis] = {}
    for names, axes, kind in zip(labels, site.all("xs"), site.call.all("xs"), strict=True):
        if len(set(names)) != len(names):
            raise NotFollowed
        for name, axis, size in zip(names, axes, kind.shape, strict=True):
            if size > 1:
                found[name] = site.tie(found[name], axis) if name in found else axis
    own = [name for name in result if name not in labels[0]]
    if len(own) == 1:
        site.made = found.get(own[0])
    return (tuple(found.get(name) for name in result),)


def embedding(site: Site) -> tuple[Axes, ...]:
    """The rows of a table keep their number; a result has their features."""
    weight, indices = site.of("w"), site.of("indices")
    site.hold(weight[0])
    if len(weight) == 2:
        site.made = weight[1]
    return ((*indices, *weight[1:]),)


def attention(site: Site) -> tuple[Axes, ...]:
    """Heads keep their number; queries and keys of all of them have as many features, and so have the values.

    Not followed with a cache.
    """
    call = site.call
    if any(map(call.has, ("past", "past_key", "past_value"))) or len(site.results) != 1:
        raise NotFollowed
    heads = call.integer("heads")
    count = {"q": heads, "k": call.integer("kv_heads") or heads, "v": call.integer("kv_heads") or heads}
    q, k, v = (site.of(name) for name in "qkv")
    in_features = bool(heads) and len(q) == 3
    one = {name: site.share(site.of(name)[-1], count[name] if in_features else 1) for name in "qkv"}
    site.tie(one["q"], one["k"])
    _hold_all(site, "mask", "score_bias", "sinks")
    for axes in (q, k, v):
        for axis in axes[:-1]:
            site.hold(axis)
    made = site.times(one["v"], heads) if in_features else one["v"]
    return ((*[None] * (len(site.results[0].shape) - 1), made),)


def batch_norm(site: Site) -> tuple[Axes, ...]:
    """Scale, shift and statistics have a value for every channel."""
    call, x = site.call, site.of("x")
    if len(site.results) != 1 or len(x) < 2:
        raise NotFollowed
    place = 1 if call.text("layout") == "channels_first" else len(x) - 1
    for name in ("scale", "bias", "mean", "variance"):
        site.tie_vector(name, x[place], call.x.shape[place])
    return (x,)


def group_norm(site: Site) -> tuple[Axes, ...]:
    """Groups keep their number; scale and shift have a value for every channel, or for every group."""
    call, x = site.call, site.of("x")
    if len(site.results) != 1:
        raise NotFollowed
    place = 1 if call.text("layout") == "channels_first" else len(x) - 1
    groups, channels = call.integer("groups"), call.x.shape[place]
    site.share(x[place], groups)
    for name in ("scale", "bias"):
        for kind in call.all(name):
            if kind.elements == channels:
                site.tie_vector(name, x[place], channels)
            else:
                _hold_all(site, name)
    return (x,)


def layer_norm(site: Site) -> tuple[Axes, ...]:
    """Scale and shift stretch to the axes that are normalised."""
    call, x = site.call, site.of("x")
    if len(site.results) != 1:
        raise NotFollowed
    vectors = [(call.all(name)[0].shape, site.of(name)) for name in ("scale", "bias") if call.has(name)]
    return (site.joined(call.x.shape, (call.x.shape, x), *vectors),)


def pool(site: Site) -> tuple[Axes, ...]:
    """Batch and channels pass, space stays as it is."""
    call, rank = site.call, len(site.call.x.shape)
    window = call.attributes.get("kernel", call.attributes.get("output_size"))
    taps = len(window) if isinstance(window, tuple) and len(window) > 1 else max(rank - 2, 1)
    place = _map_axis(site, taps, rank)
    return _map_result(site, place, site.of("x")[place]) * len(site.results)


def quantisation(site: Site) -> tuple[Axes, ...]:
    """As x; scales and zero points of single channels go with these."""
    call, x = site.call, site.of("x")
    if not call.has("scale") or call.scale.elements == 1:
        return same(site)
    if call.integer("block_size"):
        raise NotFollowed
    place = axis_of(call.integer("axis"), len(x))
    for name in ("scale", "zero_point"):
        site.tie_vector(name, x[place], call.x.shape[place])
    return same(site)


def reduction(site: Site) -> tuple[Axes, ...]:
    """Axes that are reduced go, whatever their size; the others pass."""
    call, x = site.call, site.of("x")
    name = "axes" if "axes" in call.attributes else "axis"
    gone = axes_of(call, len(x), name)
    if call["keep_dims"]:
        kept: Axes = tuple(None if place in gone else axis for place, axis in enumerate(x))
    else:
        kept = tuple(axis for place, axis in enumerate(x) if place not in gone)
    if any(len(kind.shape) != len(kept) for kind in site.results):
        raise GraphError("a reduction of other dimensions")
    return (kept,) * len(site.results)


def sampled(site: Site) -> tuple[Axes, ...]:
    """An image sampled at the positions of a grid: batch and channels pass."""
    x = site.of("x")
    for axis in (*x[2:], *site.of("grid")):
        site.hold(axis)
    return ((x[0], x[1], *[None] * (len(x) - 2)),)
