"""Images sampled at other places: resizing, grids, regions of interest.

The work of an output element is the sum over its taps: taps mul and taps - 1 add.  Linear interpolation has 2 taps an axis,
cubic 4, Lanczos 6; a resize counts only axes whose size changes, and with antialiasing shrinks over 2 ceil(in / out) taps
(linear), 2 ceil(2 in / out) (cubic) or 2 ceil(3 in / out) (Lanczos).  The weights of the taps are not counted: a resize
computes them once an axis, a grid once a position.  Nearest neighbours count nothing.  A grid's position takes 1 mul and
1 add a coordinate to leave the range -1 … 1.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, prod
from struct import pack, unpack
from typing import Final

from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Shape, TensorType

from .halo import needs_all
from .halo_sampling import part_shape, resize_halo, resize_parted, resized_axes
from .record import REQUIRED, Call, Keeps, Kind, Op, Traffic, Work, read_all_write_all
from .rules import axes_of, selects, sizes_of, when_known
from .shapes import asked_outputs
from .time_class import TimeClass

__all__ = ["SAMPLING_OPERATORS"]

_INT32: Final = DTYPES["int32"]


def _floats(call: Call, name: str) -> tuple[float, ...]:
    value = call[name]
    values = value if isinstance(value, tuple) else (value,)
    if all(isinstance(item, int | float) and 0 <= item < float("inf") for item in values):
        return tuple(float(item) for item in values if isinstance(item, int | float))
    raise GraphError(f"{name} must be numbers that are not negative, not {value!r}")


def _scaled(size: int, scale: float) -> int:
    """floor(size x scale) as runtimes compute it: the product rounded to single precision first."""
    try:
        rounded: float = unpack("<f", pack("<f", size * scale))[0]
    except OverflowError:
        raise GraphError(f"a scale of {scale} for {size} elements") from None
    return floor(rounded)


def _one_ratio(sizes: Shape, wanted: Shape, policy: str) -> Shape:
    """The one scale that keeps the aspect ratio and the result within (or without) the sizes asked for; halves round up."""
    if policy == "stretch":
        return wanted
    if policy not in ("not_larger", "not_smaller"):
        raise GraphError(f"a resize has no policy {policy!r}")
    if not sizes or 0 in sizes:
        raise GraphError(f"no scale makes {sizes} {wanted}")
    better = min if policy == "not_larger" else max
    ratios = list(zip(wanted, sizes, strict=True))
    goal, size = better(ratios, key=lambda ratio: Fraction(*ratio))
    return tuple((2 * one * goal + size) // (2 * size) for one in sizes)


@when_known("sizes", "scales", "axes")
def _resize(call: Call) -> tuple[TensorType, ...]:
    """Exactly one of ``sizes`` and ``scales`` is given, a value for each of the axes."""
    axes = axes_of(call, len(call.x.shape))
    old = tuple(call.x.shape[axis] for axis in axes)
    if call["part_of"] != ():
        return (TensorType(part_shape(call, axes), call.x.dtype),)
    if (call["sizes"] == "none") == (call["scales"] == "none"):
        raise GraphError("a resize has either sizes or scales")
    values = _floats(call, "scales") if call["sizes"] == "none" else sizes_of(call, "sizes")
    if len(values) != len(axes):
        raise GraphError(f"{len(values)} values for {len(axes)} axes to resize")
    if call["sizes"] == "none":
        new = tuple(_scaled(size, scale) for size, scale in zip(old, values, strict=True))
    else:
        new = _one_ratio(old, sizes_of(call, "sizes"), call.text("policy"))
    shape = list(call.x.shape)
    for axis, size in zip(axes, new, strict=True):
        shape[axis] = size
    return (TensorType(tuple(shape), call.x.dtype),)


_REACH: Final = {"nearest": 0, "linear": 1, "cubic": 2, "lanczos": 3}


def _reach(mode: str) -> int:
    """Taps to either side of a position."""
    if mode not in _REACH:
        raise GraphError(f"there is no interpolation {mode!r}")
    return _REACH[mode]


def _resize_work(call: Call) -> Work | None:
    """Taps mul, taps - 1 add an element; nearest neighbours: none.

    Unknown where a file states a result of other dimensions than x, of which the sizes are not known.
    """
    reach, taps = _reach(call.text("mode")), 1
    if not reach:
        return Work()
    if len(call.x.shape) != len(call.outputs[0].shape):
        return None
    for old, new in resized_axes(call):
        if old != new and new:
            shrinks = bool(call["antialias"]) and new < old
            taps *= 2 * -(-reach * old // new) if shrinks else 2 * reach
    return Work(add=taps - 1, mul=taps).times(call.outputs[0].elements) if taps > 1 else Work()


def _resize_traffic(call: Call) -> Traffic:
    """Nearest neighbours read no more of x than comes out."""
    return selects("x")(call) if call["mode"] == "nearest" else read_all_write_all(call)


@when_known("size")
def _affine_grid(call: Call) -> tuple[TensorType, ...]:
    """``size`` is the shape of the image to make, batch and channels first; a position has a coordinate a spatial axis."""
    size = sizes_of(call, "size")
    rank = len(size) - 2
    if rank not in (2, 3) or call.theta.shape != (size[0], rank, rank + 1):
        raise GraphError(f"theta of shape {call.theta.shape} for an image of {size}")
    return (TensorType((size[0], *size[2:], rank), call.theta.dtype),)


def _affine_grid_work(call: Call) -> Work:
    """As many mul and add a coordinate as there are spatial axes."""
    rank = call.theta.shape[1]
    return Work(add=rank, mul=rank).times(call.outputs[0].elements)


def _grid_sample(call: Call) -> tuple[TensorType, ...]:
    x, grid = call.x.shape, call.grid.shape
    if len(x) < 3 or len(grid) != len(x) or grid[0] != x[0] or grid[-1] != len(x) - 2:
        raise GraphError(f"a grid of shape {grid} for an image of shape {x}")
    return (TensorType((*x[:2], *grid[1:-1]), call.x.dtype),)


def _grid_sample_work(call: Call) -> Work:
    """Taps mul, taps - 1 add an element; 1 mul, 1 add a coordinate of the grid."""
    taps = (2 * _reach(call.text("mode"))) ** (len(call.x.shape) - 2)
    positions = Work(add=1, mul=1).times(call.grid.elements)
    return positions.plus(Work(add=max(taps - 1, 0), mul=taps).times(call.outputs[0].elements))


def _pooled(call: Call, regions: int, *, position_sensitive: bool = False) -> TensorType:
    """Of a position-sensitive region every cell has channels of its own, one after the other."""
    size = sizes_of(call, "size")
    if len(call.x.shape) != 4 or len(size) != 2:
        raise GraphError(f"regions of size {size} from an image of {len(call.x.shape)} dimensions")
    channels = call.x.shape[1]
    if position_sensitive:
        cells = prod(size)
        if not cells or channels % cells:
            raise GraphError(f"{channels} channels cannot be split into {cells} cells")
        channels //= cells
    return TensorType((regions, channels, *size), call.x.dtype)


def _with_map(call: Call, y: TensorType) -> tuple[TensorType, ...]:
    """The regions, and where it is asked for which value or channel each came from."""
    return asked_outputs(call, {"y": y, "map": TensorType(y.shape, _INT32)})


def _roi_align(call: Call) -> tuple[TensorType, ...]:
    """Regions are 4 corners each; ``batches`` says which image a region is of, or else the region's first number."""
    regions = call.regions.shape
    numbers = 4 if call.has("batches") else 5
    if len(regions) != 2 or regions[1] != numbers or (call.has("batches") and call.batches.shape != regions[:1]):
        raise GraphError(f"regions of shape {regions}, not of {numbers} numbers each, or not as many as images")
    y = _pooled(call, regions[0], position_sensitive=bool(call["position_sensitive"]))
    return _with_map(call, y)


def _roi_align_work(call: Call) -> Work | None:
    """4 mul, 3 add a sample; 1 add a sample and 1 div an element for the mean, 1 compare a sample for the largest.

    Unknown where ``samples`` is 0, as values then decide how many there are.
    """
    samples = call.integer("samples") ** 2
    if not samples:
        return None
    combine = Work(compare=samples) if call["mode"] == "max" else Work(add=samples, div=1)
    return Work(add=3, mul=4).times(samples).plus(combine).times(call.outputs[0].elements)


def _roi_pool(call: Call) -> tuple[TensorType, ...]:
    """Regions are an image's number and 4 corners."""
    regions = call.regions.shape
    if len(regions) != 2 or regions[1] != 5:
        raise GraphError(f"regions of shape {regions}")
    return _with_map(call, _pooled(call, regions[0]))


def _sensitive_roi_pool(call: Call) -> tuple[TensorType, ...]:
    """Regions are an image's number and 4 corners."""
    _roi_pool(call)
    return _with_map(call, _pooled(call, call.regions.shape[0], position_sensitive=True))


@when_known("size")
def _crop_and_resize(call: Call) -> tuple[TensorType, ...]:
    """Regions are 4 corners each; ``batches`` says which image a region is of."""
    regions = call.regions.shape
    if len(regions) != 2 or regions[1] != 4 or call.batches.shape != regions[:1]:
        raise GraphError(f"regions of shape {regions} for {call.batches.elements} images")
    return (_pooled(call, regions[0]),)


def _crop_and_resize_work(call: Call) -> Work:
    """4 mul, 3 add an element; nearest neighbours: none."""
    taps = (2 * _reach(call.text("mode"))) ** 2
    return Work(add=max(taps - 1, 0), mul=taps).times(call.outputs[0].elements)


def _depends_on_values(call: Call) -> None:
    """Unknown: how many elements lie in a region, and are compared, only the regions' corners tell."""


_MODE: Final[dict[str, Attribute]] = {"mode": "nearest"}

SAMPLING_OPERATORS: Final = (
    Op(
        "resize",
        Kind.POOLING,
        "x roi:control? scales:control? sizes:control?",
        _resize,
        _resize_work,
        traffic=_resize_traffic,
        attributes={
            "sizes": "none",
            "scales": "none",
            "axes": "all",
            "policy": "stretch",
            "antialias": False,
            **_MODE,
            "coordinates": "half_pixel",
            "rounding": "round_prefer_floor",
            "part_of": (),
        },
        summary="an image of another size, by nearest neighbours, linear or cubic interpolation",
        halo=resize_halo,
        parted=resize_parted,
    ),
    Op(
        "affine_grid",
        Kind.POOLING,
        "theta size:control?",
        _affine_grid,
        _affine_grid_work,
        attributes={"size": REQUIRED},
        summary="positions of an image's elements under an affine map",
        time=TimeClass.ELEMENTWISE,
    ),
    Op(
        "grid_sample",
        Kind.POOLING,
        "x grid",
        _grid_sample,
        _grid_sample_work,
        attributes={"mode": "linear"},
        summary="an image sampled at the positions of a grid",
        halo=needs_all,
        keeps=Keeps.SECOND,
    ),
    Op(
        "roi_align",
        Kind.POOLING,
        "x regions batches:control?",
        _roi_align,
        _roi_align_work,
        attributes={"size": (1, 1), "samples": 0, "mode": "average", "position_sensitive": False, "outputs": ("y",)},
        summary="regions of an image, interpolated to one size; position-sensitive ones have channels for every cell",
        keeps=Keeps.SECOND,
    ),
    Op(
        "crop_and_resize",
        Kind.POOLING,
        "x regions batches:control size:control?",
        _crop_and_resize,
        _crop_and_resize_work,
        attributes={"size": REQUIRED, "mode": "linear"},
        summary="regions of an image, each cut out and resized",
        keeps=Keeps.SECOND,
    ),
    Op(
        "max_roi_pool",
        Kind.POOLING,
        "x regions",
        _roi_pool,
        _depends_on_values,
        attributes={"size": REQUIRED, "outputs": ("y",)},
        summary="regions of an image, the largest of every cell",
    ),
    Op(
        "position_sensitive_roi_pool",
        Kind.POOLING,
        "x regions",
        _sensitive_roi_pool,
        _depends_on_values,
        attributes={"size": REQUIRED, "outputs": ("y",)},
        summary="regions of an image, the mean of every cell, which has channels of its own",
        keeps=Keeps.SECOND,
    ),
)
