"""PyTorch's products of matrices and vectors as ours; its convolutions have a module of their own.

Linear algebra beyond products (solvers, factorisations, inverses) has no rule: what it takes depends on the algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, prod
from string import ascii_letters
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.aten_call import As, AtenCall, Rule
from weighbridge.frontends.aten_steps import scaled
from weighbridge.frontends.aten_table_convolutions import RULES_CONVOLUTIONS
from weighbridge.frontends.foreign import Step
from weighbridge.frontends.matrix_chain import cheapest_order
from weighbridge.graph import Attribute

__all__ = ["RULES_CONTRACTIONS"]

# Products


def _linear(call: AtenCall) -> Sequence[Step]:
    """PyTorch keeps a weight as (output, input); a vector in its place gives one value a row."""
    x = "input" if call.has("input") else "self"
    pairs = [("x", call.operand(x)), ("w", call.operand("weight"))]
    if call.has("bias"):
        pairs.append(("b", call.operand("bias")))
    return (Step("linear" if call.rank("weight") == 2 else "matmul", pairs, {}, call.outputs),)


def _product(x: str, w: str) -> Rule:
    return As("matmul", f"x={x} w={w}", _result_type)


def _result_type(call: AtenCall) -> dict[str, Attribute]:
    found = call.get("out_dtype")
    return {"output_dtype": found} if isinstance(found, str) else {}


def _added_product(operator: str, x: str, w: str, attributes: Mapping[str, Attribute]) -> Rule:
    """The sum beta self + alpha x w; with a beta of 0 nothing reads ``self``."""

    def rule(call: AtenCall) -> Sequence[Step]:
        pairs = [("x", call.operand(x)), ("w", call.operand(w))]
        return (Step(operator, *_added(call, pairs, attributes), call.outputs),)

    return rule


def _added(
    call: AtenCall, pairs: list[tuple[str, str]], attributes: Mapping[str, Attribute]
) -> tuple[list[tuple[str, str]], dict[str, Attribute]]:
    """The operands and attributes of a product to which beta x ``self`` is added."""
    alpha, beta = call.number("alpha", 1), call.number("beta", 1)
    given: dict[str, Attribute] = {**attributes, **_result_type(call), "alpha": alpha}
    return (pairs, given) if beta == 0 else ([*pairs, ("b", call.operand("self"))], {**given, "beta": beta})


def _activated_product(call: AtenCall) -> Sequence[Step]:
    """An addmm and the function behind it."""
    made = call.inner("product")
    pairs = [("x", call.operand("mat1")), ("w", call.operand("mat2"))]
    first = Step("linear", *_added(call, pairs, {"weight_layout": "io"}), [made])
    return first, Step("gelu" if call.get("use_gelu", False) else "relu", [("x", made)], {}, call.outputs)


def _summed_products(call: AtenCall) -> Sequence[Step]:
    """addbmm: a sum of products is one product over all their inner axes, laid end to end."""
    batch, rows, k = call.type("batch1").shape
    columns = call.type("batch2").shape[2]
    swapped, left, right = call.inner("rows_first"), call.inner("left"), call.inner("right")
    pairs = [("x", left), ("w", right)]
    return (
        Step("transpose", [("x", call.operand("batch1"))], {"permutation": (1, 0, 2)}, [swapped]),
        Step("reshape", [("x", swapped)], {"shape": (rows, batch * k), "allow_zero": True}, [left]),
        Step(
            "reshape",
            [("x", call.operand("batch2"))],
            {"shape": (batch * k, columns), "allow_zero": True},
            [right],
        ),
        Step("linear", *_added(call, pairs, {"weight_layout": "io"}), call.outputs),
    )


def _grouped(call: AtenCall) -> Sequence[Step]:
    """A product in groups (experts) where the ends of the groups are given, else one for each matrix."""
    pairs = [("x", call.operand("self")), ("w", call.operand("mat2"))]
    bias = [("b", call.operand("bias"))] if call.has("bias") else []
    if call.has("offs"):
        pairs.append(("ends", call.operand("offs")))
        return (Step("grouped_matmul", [*pairs, *bias], _result_type(call), call.outputs),)
    return (Step("matmul", [*pairs, *bias], _result_type(call), call.outputs),)


def _chain(call: AtenCall) -> Sequence[Step]:
    """A product of several matrices in the order that takes the fewest MACs, which is PyTorch's rule, too."""
    tensors = call.operands("matrices" if "matrices" in call.arguments else "tensors")
    shapes = [call.types[tensor].shape for tensor in tensors]
    rows = 1 if len(shapes[0]) == 1 else shapes[0][0]
    columns = 1 if len(shapes[-1]) == 1 else shapes[-1][-1]
    sizes = [rows, *(shape[0] for shape in shapes[1:]), columns]
    if len(tensors) < 2:
        return (Step("identity", [("x", tensors[0])], {}, call.outputs),)
    held = list(tensors)
    steps = []
    order = cheapest_order(sizes)
    for number, (left, right) in enumerate(order):
        made = call.outputs if number == len(order) - 1 else [call.inner(f"product.{number}")]
        steps.append(Step("matmul", [("x", held[left]), ("w", held[right])], {}, made))
        held.append(made[0])
    return steps


# Sums over labels


def _einsum(call: AtenCall) -> Sequence[Step]:
    """The equation alone decides, whichever path an optimiser that happens to be installed would take."""
    return (_sum(call, str(call.get("equation", "")), call.operands("tensors")),)


def _sum(call: AtenCall, equation: str, tensors: Sequence[str]) -> Step:
    return Step("einsum", [("xs", tensor) for tensor in tensors], {"equation": equation}, call.outputs)


def _labels(call: AtenCall, count: int) -> str:
    if count > len(ascii_letters):
        raise GraphError(f"{count} axes are more than an equation has letters for", where=call.name)
    return ascii_letters[:count]


def _axes(call: AtenCall, name: str, rank: int) -> list[int]:
    axes = [axis % rank if -rank <= axis < rank else -1 for axis in call.integers(name)]
    if -1 in axes:
        raise GraphError(f"{name} names an axis that does not exist", where=call.name)
    return axes


def _tensordot(call: AtenCall) -> Sequence[Step]:
    """The axes named in pairs are summed over; the others of both follow each other."""
    rank, other_rank = call.rank("self"), call.rank("other")
    first, second = _axes(call, "dims_self", rank), _axes(call, "dims_other", other_rank)
    letters = _labels(call, rank + other_rank)
    left, right = letters[:rank], list(letters[rank:])
    for axis, other in zip(first, second, strict=True):
        right[other] = left[axis]
    kept = [label for axis, label in enumerate(left) if axis not in first]
    kept += [label for axis, label in enumerate(right) if axis not in second]
    equation = f"{left},{''.join(right)}->{''.join(kept)}"
    return (_sum(call, equation, (call.operand("self"), call.operand("other"))),)


def _inner(call: AtenCall) -> Sequence[Step]:
    """Sums over the last axes; with a single number it is a multiplication."""
    rank, other_rank = call.rank("self"), call.rank("other")
    pair = call.operand("self"), call.operand("other")
    if not rank or not other_rank:
        return (Step("mul", list(zip("ab", pair, strict=True)), {}, call.outputs),)
    letters = _labels(call, rank + other_rank - 1)
    left, right = letters[:rank], letters[rank:]
    last = left[-1]
    return (_sum(call, f"{left},{right}{last}->{left[:-1]}{right}", pair),)


def _vector_products(call: AtenCall) -> Sequence[Step]:
    """linalg_vecdot: sums over one axis of both, the others broadcast."""
    axis, x, y = call.integer("dim", -1), call.type("x").shape, call.type("y").shape
    rank = max(len(x), len(y))
    behind = _labels(call, -1 - (axis if axis < 0 else axis - rank) + 1)
    summed, rest = behind[0], behind[1:]
    return (_sum(call, f"...{summed}{rest},...{summed}{rest}->...{rest}", (call.operand("x"), call.operand("y"))),)


def _trilinear(call: AtenCall) -> Sequence[Step]:
    """Three tensors, each stretched along its own ``expand`` axes, multiplied and summed over ``sumdim``."""
    rank = call.rank("i1") + len(call.integers("expand1"))
    letters = _labels(call, rank)
    terms = [
        "".join(letter for axis, letter in enumerate(letters) if axis not in call.integers(f"expand{place}"))
        for place in (1, 2, 3)
    ]
    kept = "".join(letter for axis, letter in enumerate(letters) if axis not in call.integers("sumdim"))
    return (_sum(call, f"{','.join(terms)}->{kept}", [call.operand(name) for name in ("i1", "i2", "i3")]),)


# Products without a sum


def _outer(call: AtenCall) -> Sequence[Step]:
    """Every value of one vector times every value of the other: no sum, so no contraction."""
    column = call.inner("column")
    return (
        Step("unsqueeze", [("x", call.operand("self"))], {"axes": (1,)}, [column]),
        Step("mul", [("a", column), ("b", call.operand("vec2"))], {}, call.outputs),
    )


def _added_outer(call: AtenCall) -> Sequence[Step]:
    """Addr: an outer product and an addition, each with its factor."""
    column, product = call.inner("column"), call.inner("product")
    before, added = scaled(call, call.operand("self"), "beta")
    behind, addend = scaled(call, product, "alpha")
    return (
        Step("unsqueeze", [("x", call.operand("vec1"))], {"axes": (1,)}, [column]),
        Step("mul", [("a", column), ("b", call.operand("vec2"))], {}, [product]),
        *before,
        *behind,
        Step("add", [("a", added), ("b", addend)], {}, call.outputs),
    )


def _kron(call: AtenCall) -> Sequence[Step]:
    """Every value of one tensor times all of the other: their axes side by side, then merged in pairs."""
    a, b = call.type("self").shape, call.type("other").shape
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    left, right, product = call.inner("left"), call.inner("right"), call.inner("product")
    shapes = [tuple(size for one in a for size in (one, 1)), tuple(size for one in b for size in (1, one))]
    merged = tuple(map(prod, zip(a, b, strict=True)))
    return (
        Step("reshape", [("x", call.operand("self"))], {"shape": shapes[0], "allow_zero": True}, [left]),
        Step("reshape", [("x", call.operand("other"))], {"shape": shapes[1], "allow_zero": True}, [right]),
        Step("mul", [("a", left), ("b", right)], {}, [product]),
        Step("reshape", [("x", product)], {"shape": merged, "allow_zero": True}, call.outputs),
    )


def _degree(call: AtenCall) -> dict[str, Attribute]:
    degree = call.number("p", 2.0)
    return {"p": "infinite" if degree == inf else degree}


def _cross(call: AtenCall) -> dict[str, Attribute]:
    """``cross`` without an axis takes the first of three components, ``linalg_cross`` the last axis."""
    if call.op != "aten.cross" or call.get("dim") is not None:
        return {"axis": call.integer("dim", -1)}
    shape = call.made[0].shape
    if 3 not in shape:
        raise GraphError(f"no axis of {shape} has three components", where=call.name)
    return {"axis": shape.index(3)}


def _cosine(call: AtenCall) -> Sequence[Step]:
    """Both divided by their norms, which are at least eps; then products and their sum."""
    axis: dict[str, Attribute] = {"axes": (call.integer("dim", 1),), "keep_dims": True}
    steps = []
    for name in ("x1", "x2"):
        x, norm, bounded = call.operand(name), call.inner(f"{name}.norm"), call.inner(f"{name}.bounded")
        steps += [
            Step("reduce_l2", [("x", x)], axis, [norm]),
            Step("clip", [("x", norm)], {"low": call.number("eps", 1e-8)}, [bounded]),
            Step("div", [("a", x), ("b", bounded)], {}, [call.inner(f"{name}.unit")]),
        ]
    product = call.inner("product")
    steps.append(Step("mul", [("a", call.inner("x1.unit")), ("b", call.inner("x2.unit"))], {}, [product]))
    return (*steps, Step("reduce_sum", [("x", product)], {**axis, "keep_dims": False}, call.outputs))


def _weight_norm(call: AtenCall) -> Sequence[Step]:
    """The weight g v / |v|, the norm taken over all axes but one (-1: over all)."""
    rank, kept = call.rank("v"), call.integer("dim")
    axes: Attribute = "all" if kept == -1 else tuple(axis for axis in range(rank) if axis != kept % rank)
    v, scale = call.operand("v"), call.inner("scale")
    norm = call.outputs[1] if call.has_output(1) else call.inner("norm")
    return (
        Step("reduce_l2", [("x", v)], {"axes": axes, "keep_dims": True}, [norm]),
        Step("div", [("a", call.operand("g")), ("b", norm)], {}, [scale]),
        Step("mul", [("a", v), ("b", scale)], {}, call.outputs[:1]),
    )


def _substitution(call: AtenCall) -> dict[str, Attribute]:
    return {"left": bool(call.get("left", True)), "unit_diagonal": bool(call.get("unitriangular", False))}


RULES_CONTRACTIONS: Final[Mapping[str, Rule]] = {
    **RULES_CONVOLUTIONS,
    "aten.linear": _linear,
    "aten.mkldnn_linear": _linear,
    "aten.mm": _product("self", "mat2"),
    "aten._int_mm": As("matmul", "x=self w=mat2", lambda call: {"output_dtype": "int32"}),
    "aten.bmm": _product("self", "mat2"),
    "aten.mv": _product("self", "vec"),
    "aten.dot": _product("self", "tensor"),
    "aten.vdot": _product("self", "other"),
    "aten.matmul": _product("self", "other"),
    "aten.linalg_matmul": _product("self", "other"),
    "aten.addmm": _added_product("linear", "mat1", "mat2", {"weight_layout": "io"}),
    "aten._addmm_activation": _activated_product,
    "aten.baddbmm": _added_product("matmul", "batch1", "batch2", {}),
    "aten.addmv": _added_product("matmul", "mat", "vec", {}),
    "aten.addbmm": _summed_products,
    "aten._grouped_mm": _grouped,
    "aten.chain_matmul": _chain,
    "aten.linalg_multi_dot": _chain,
    "aten.einsum": _einsum,
    "aten.tensordot": _tensordot,
    "aten.inner": _inner,
    "aten.linalg_vecdot": _vector_products,
    "aten._trilinear": _trilinear,
    "aten.bilinear": As("bilinear", "x=input1 z=input2 w=weight b=bias"),
    "aten.outer": _outer,
    "aten.ger": _outer,
    "aten.addr": _added_outer,
    "aten.kron": _kron,
    "aten.cdist": As("distance_matrix", "a=x1 b=x2", _degree),
    "aten._cdist_forward": As("distance_matrix", "a=x1 b=x2", _degree),
    "aten.pdist": As("distances_within", "a=self", _degree),
    "aten._pdist_forward": As("distances_within", "a=self", _degree),
    "aten._euclidean_dist": As("distance_matrix", "a=x1 b=x2"),
    "aten.linalg_solve_triangular": As("triangular_solve", "a=self b=B", _substitution),
    "aten.cross": As("cross", "a=self b=other", _cross),
    "aten.linalg_cross": As("cross", "a=self b=other", _cross),
    "aten.cosine_similarity": _cosine,
    "aten._weight_norm": _weight_norm,
    "aten._weight_norm_interface": _weight_norm,
}
