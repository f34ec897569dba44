"""Matrix products: linear layers, matmul, products of grouped rows, and bilinear layers."""

from __future__ import annotations

from math import prod
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import Shape, TensorType
from weighbridge.named_tuple import NamedTuple

from .arithmetic import real_parts
from .halo_axes import linear_halo, matmul_halo
from .quantised import QUANTISED, QUANTISED_SLOTS, contraction_work, multiplied_types, result_dtype
from .record import Call, Kind, Loops, Op, Traffic, Work, known_total
from .rules import dtype_of, number
from .shapes import broadcast

__all__ = ["LINEAR_OPERATORS"]


class _Product(NamedTuple):
    """``batch`` independent products of (rows x k) by (k x columns); ``output`` is the shape of the result."""

    batch: int
    rows: int
    k: int
    columns: int
    output: Shape


def _transposed(shape: Shape, name: str) -> Shape:
    if len(shape) < 2:
        raise GraphError(f"{name} of {len(shape)} dimensions cannot be transposed")
    return (*shape[:-2], shape[-1], shape[-2])


def _linear_product(call: Call) -> _Product:
    layout, x, w = call.text("weight_layout"), call.x.shape, call.w.shape
    if layout not in ("oi", "io"):
        raise GraphError(f"there is no weight layout {layout!r}", hint="it is oi or io")
    if len(w) != 2:
        raise GraphError(f"the weight of a linear layer has 2 dimensions, not {len(w)}")
    if call.integer("transpose_x"):
        x = _transposed(x, "x")
    features, k = w if layout == "oi" else (w[1], w[0])
    if not x or x[-1] != k:
        raise GraphError(f"an input of shape {x} under a weight for {k} features")
    return _Product(1, prod(x[:-1]), k, features, (*x[:-1], features))


def _matmul_product(call: Call) -> _Product:
    """By numpy's rules: a vector on the left is a row, on the right a column; leading axes broadcast."""
    x, w = call.x.shape, call.w.shape
    if not x or not w:
        raise GraphError("a matrix product takes no scalar")
    if call.integer("transpose_x"):
        x = _transposed(x, "x")
    if call.integer("transpose_w"):
        w = _transposed(w, "w")
    k = x[-1]
    inner, columns, column_axis = (w[-2], w[-1], (w[-1],)) if len(w) > 1 else (w[0], 1, ())
    if k != inner:
        raise GraphError(f"the shapes {x} and {w} do not multiply: {k} against {inner}")
    if len(w) <= 2:
        # One matrix for every row of x, however many axes they lie on: a linear layer.
        return _Product(1, prod(x[:-1]), k, columns, (*x[:-1], *column_axis))
    batch = broadcast(x[:-2], w[:-2])
    rows, row_axis = (x[-2], (x[-2],)) if len(x) > 1 else (1, ())
    return _Product(prod(batch), rows, k, columns, (*batch, *row_axis, *column_axis))


def _result(call: Call, product: _Product) -> tuple[TensorType, ...]:
    if call.has("b") and broadcast(product.output, call.b.shape) != product.output:
        raise GraphError(f"a bias of shape {call.b.shape} does not fit a result of shape {product.output}")
    return (TensorType(product.output, result_dtype(call)),)


def _parts(call: Call) -> int:
    """Products of real numbers in one of a value of x and a weight: 4 if both are complex."""
    return real_parts(call.x) * real_parts(call.w)


def _loops(call: Call, product: _Product) -> tuple[Loops, ...]:
    """Features (columns of w) are m and rows of x are n, as for a convolution of one tap."""
    return (Loops(product.columns, product.rows, product.k, product.batch * _parts(call)),)


def _infer_linear(call: Call) -> tuple[TensorType, ...]:
    return _result(call, _linear_product(call))


def _linear_loops(call: Call) -> tuple[Loops, ...]:
    """Each value of the result is a sum of as many products as x has features."""
    return _loops(call, _linear_product(call))


def _infer_matmul(call: Call) -> tuple[TensorType, ...]:
    return _result(call, _matmul_product(call))


def _matmul_loops(call: Call) -> tuple[Loops, ...]:
    """Each value of the result is a sum of as many products as a row of x has values."""
    return _loops(call, _matmul_product(call))


def _product_work(call: Call) -> Work:
    """One addition an output value where there is a bias, and what quantised operands need.  A factor other than 1 costs a
    multiplication for every value that it scales.
    """
    scaled = call.outputs[0].elements if number(call, "alpha") != 1 else 0
    scaled += call.b.elements if call.has("b") and number(call, "beta") != 1 else 0
    scaled *= real_parts(call.outputs[0])
    work = contraction_work(call)
    return work._replace(mul=work.mul + scaled) if scaled else work


class _Grouped(NamedTuple):
    """One product for each of ``groups`` runs; the runs together are as long as ``m``, ``n`` or ``k``, the axis they lie on."""

    m: int
    n: int
    k: int
    groups: int
    output: Shape


def _grouped(call: Call) -> _Grouped:
    """Which axis is in runs follows from the dimensions, as in PyTorch: 2 and 3, 3 and 2, or 2 and 2."""
    x, w = call.x.shape, call.w.shape
    ranks = len(x), len(w)
    if ranks not in ((2, 3), (3, 2), (2, 2)) or len(call.ends.shape) != 1:
        raise GraphError(f"shapes of {x}, {w} and {call.ends.shape} are no product in groups")
    groups, rows, k, columns = call.ends.shape[0], x[-2], x[-1], w[-1]
    if k != w[-2] or any(shape[0] != groups for shape in (x, w) if len(shape) == 3):
        raise GraphError(f"the shapes {x} and {w} do not multiply in {groups} groups")
    output = (groups, rows, columns) if ranks == (2, 2) else (rows, columns)
    return _Grouped(columns, rows, k, groups, output)


def _infer_grouped(call: Call) -> tuple[TensorType, ...]:
    output = _grouped(call).output
    bias = (call.ends.shape[0], output[-1])
    if call.has("b") and call.b.shape != bias:
        raise GraphError(f"a bias of shape {call.b.shape} does not fit {bias[0]} groups of {bias[1]} columns")
    return (TensorType(output, dtype_of(call, call.x.dtype, "output_dtype")),)


def _grouped_loops(call: Call) -> tuple[Loops, ...]:
    """Every row (column, place on the inner axis) meets the matrix of its group alone, however long the groups are."""
    product = _grouped(call)
    return (Loops(product.m, product.n, product.k, _parts(call)),)


def _grouped_traffic(call: Call) -> Traffic:
    """Of the matrices of the groups, and of their biases, no more are read than there are rows (columns) to meet them."""
    product = _grouped(call)
    groups = product.groups
    by_rows, by_columns = len(call.w.shape) == 3, len(call.x.shape) == 3
    met = min(groups, product.n if by_rows else product.m if by_columns else groups)
    stacked = {"x": by_columns, "w": by_rows, "b": True}
    reads = [
        one.dtype.bytes_of(one.elements // groups * met if groups and stacked.get(name) else one.elements)
        for name, types in call.operands.items()
        for one in types
    ]
    return Traffic(known_total(reads), known_total(output.bytes for output in call.outputs))


def _bias_work(call: Call) -> Work:
    """One addition an output value where there is a bias."""
    return Work(add=call.outputs[0].elements * real_parts(call.outputs[0]) if call.has("b") else 0)


def _bilinear(call: Call) -> tuple[int, int, int, int]:
    """(rows, features of x, features of z, output features)."""
    x, z, w = call.x.shape, call.z.shape, call.w.shape
    if len(w) != 3 or not x or not z or x[:-1] != z[:-1] or (x[-1], z[-1]) != w[1:]:
        raise GraphError(f"inputs of shape {x} and {z} under a bilinear weight of shape {w}")
    if call.has("b") and call.b.shape != w[:1]:
        raise GraphError(f"a bias of shape {call.b.shape} for {w[0]} output features")
    return prod(x[:-1]), x[-1], z[-1], w[0]


def _infer_bilinear(call: Call) -> tuple[TensorType, ...]:
    return (TensorType((*call.x.shape[:-1], _bilinear(call)[3]), call.x.dtype),)


def _bilinear_loops(call: Call) -> tuple[Loops, ...]:
    """All of w by x; then for every row and output feature as many products with z as z has features."""
    rows, i, j, o = _bilinear(call)
    first, second = _parts(call), real_parts(call.x, call.w) * real_parts(call.z)
    return Loops(o * j, rows, i, first, "first"), Loops(o, 1, j, rows * second, "second")


LINEAR_OPERATORS: Final = (
    Op(
        "linear",
        Kind.CONTRACTION,
        f"x:weight w:weight b:bias? {QUANTISED_SLOTS}",
        _infer_linear,
        _product_work,
        loops=_linear_loops,
        multiplies=multiplied_types,
        attributes={
            "weight_layout": "oi",
            "transpose_x": False,
            "alpha": 1.0,
            "beta": 1.0,
            "output_dtype": "",
            **QUANTISED,
        },
        fuses=True,
        summary="linear layer over the last axis: alpha x w + beta b",
        halo=linear_halo,
    ),
    Op(
        "matmul",
        Kind.CONTRACTION,
        f"x:weight w:weight b:bias? {QUANTISED_SLOTS}",
        _infer_matmul,
        _product_work,
        loops=_matmul_loops,
        multiplies=multiplied_types,
        attributes={
            "transpose_x": False,
            "transpose_w": False,
            "alpha": 1.0,
            "beta": 1.0,
            "output_dtype": "",
            **QUANTISED,
        },
        fuses=True,
        summary="matrix product by numpy's rules, leading axes broadcast: alpha x w + beta b; quantised too",
        halo=matmul_halo,
    ),
    Op(
        "grouped_matmul",
        Kind.CONTRACTION,
        "x:weight w:weight ends:control b:bias?",
        _infer_grouped,
        _bias_work,
        loops=_grouped_loops,
        traffic=_grouped_traffic,
        attributes={"output_dtype": ""},
        summary="runs of rows (of columns, of the inner axis) that end at ``ends``, each by a matrix of its own",
    ),
    Op(
        "bilinear",
        Kind.CONTRACTION,
        "x:weight z:weight w:weight b:bias?",
        _infer_bilinear,
        _bias_work,
        loops=_bilinear_loops,
        summary="x w z for every output feature, w a matrix each",
    ),
)
