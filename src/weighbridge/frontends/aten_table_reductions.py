"""PyTorch's reductions, running sums, sorting and selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.aten_call import As, AtenCall, Rule, translate
from weighbridge.frontends.aten_steps import axes_of, axis_of, constant, made_shape, one, unchanged
from weighbridge.frontends.foreign import Step
from weighbridge.graph import Attribute

__all__ = ["RULES_REDUCTIONS"]


def _reduced(call: AtenCall) -> dict[str, Attribute]:
    return {"axes": axes_of(call, "dim"), "keep_dims": bool(call.integer("keepdim"))}


def _along(call: AtenCall, name: str = "dim", default: int = -1) -> int:
    return axis_of(call.integer(name, default), call.rank("self"))


def _is_number(call: AtenCall) -> bool:
    """Whether the operand has no axes, so that along one there is nothing to do."""
    return call.rank("self") == 0


def _truth(operator: str) -> Rule:
    """Whether any, or all, are not 0: of numbers that are no truth values this is asked first."""

    def rule(call: AtenCall) -> Sequence[Step]:
        if call.type("self").dtype.kind == "bool":
            return (one(call, operator, _reduced(call)),)
        truth = call.inner("truth")
        return (*_not_zero(call, truth), Step(operator, [("x", truth)], _reduced(call), call.outputs))

    return rule


def _not_zero(call: AtenCall, result: str) -> tuple[Step, Step]:
    zero = constant(call, "zero", call.type("self").dtype.name)
    return zero, Step("not_equal", [("a", call.operand("self")), ("b", zero.outputs[0])], {}, (result,))


def _count_nonzero(call: AtenCall) -> Sequence[Step]:
    truth, counted = call.inner("truth"), call.inner("counted")
    return (
        *_not_zero(call, truth),
        Step("cast", [("x", truth)], {"dtype": "int64"}, (counted,)),
        Step("reduce_sum", [("x", counted)], {**_reduced(call), "keep_dims": False}, call.outputs),
    )


def _numbers(call: AtenCall, total: str) -> list[Step]:
    """The sum of what are numbers, 0 standing in for the others; the test is called ``test``."""
    test, kept, x = call.inner("test"), call.inner("kept"), call.operand("self")
    zero = constant(call, "zero", call.type("self").dtype.name)
    return [
        zero,
        Step("is_nan", [("x", x)], {}, (test,)),
        Step("where", [("condition", test), ("x", zero.outputs[0]), ("y", x)], {}, (kept,)),
        Step("reduce_sum", [("x", kept)], _reduced(call), (total,)),
    ]


def _nan_sum(call: AtenCall) -> Sequence[Step]:
    return _numbers(call, call.outputs[0])


def _nan_mean(call: AtenCall) -> Sequence[Step]:
    """Their sum divided by how many there are."""
    total, held, ones, count = (call.inner(word) for word in ("total", "held", "ones", "count"))
    return [
        *_numbers(call, total),
        Step("not", [("x", call.inner("test"))], {}, (held,)),
        Step("cast", [("x", held)], {"dtype": call.made[0].dtype.name}, (ones,)),
        Step("reduce_sum", [("x", ones)], _reduced(call), (count,)),
        Step("div", [("a", total), ("b", count)], {}, call.outputs),
    ]


def _position(call: AtenCall, operator: str) -> Sequence[Step]:
    """Without an axis it is the position in the flattened tensor."""
    if call.get("dim") is not None and not _is_number(call):
        return (one(call, operator, {"axis": _along(call), "keep_dims": bool(call.integer("keepdim"))}),)
    flat, found = call.inner("flat"), call.inner("found")
    return (
        one(call, "reshape", {"shape": (-1,)})._replace(outputs=(flat,)),
        Step(operator, [("x", flat)], {"axis": 0, "keep_dims": False}, (found,)),
        Step("reshape", [("x", found)], {"shape": made_shape(call)}, call.outputs),
    )


def _arg_max(call: AtenCall) -> Sequence[Step]:
    return _position(call, "arg_max")


def _arg_min(call: AtenCall) -> Sequence[Step]:
    return _position(call, "arg_min")


def _extreme(value: str, position: str) -> Rule:
    """The largest along an axis and where it stands: found once, and the value fetched from there."""

    def rule(call: AtenCall) -> Sequence[Step]:
        if _is_number(call):
            return _number_with_position(call)
        axis, keep = _along(call), bool(call.integer("keepdim"))
        if not call.has_output(1):
            return (one(call, value, {"axes": (axis,), "keep_dims": keep})._replace(outputs=call.outputs[:1]),)
        if not call.has_output(0):
            return (one(call, position, {"axis": axis, "keep_dims": keep})._replace(outputs=call.outputs[1:]),)
        places = call.outputs[1] if keep else call.inner("places")
        values = call.outputs[0] if keep else call.inner("values")
        found = [
            one(call, position, {"axis": axis, "keep_dims": True})._replace(outputs=(places,)),
            Step("gather_elements", [("x", call.operand("self")), ("indices", places)], {"axis": axis}, (values,)),
        ]
        if not keep:
            found.append(Step("squeeze", [("x", values)], {"axes": (axis,)}, call.outputs[:1]))
            found.append(Step("squeeze", [("x", places)], {"axes": (axis,)}, call.outputs[1:]))
        return found

    return rule


def _number_with_position(call: AtenCall) -> Sequence[Step]:
    """Of a number alone: itself, at position 0."""
    steps = [one(call, "identity")._replace(outputs=call.outputs[:1])]
    if len(call.outputs) > 1:
        steps.append(Step("constant_of_shape", (), {"shape": made_shape(call, 1), "dtype": "int64"}, call.outputs[1:]))
    return steps


def _both_extremes(call: AtenCall) -> Sequence[Step]:
    attributes: dict[str, Attribute] = {"axes": "all", "keep_dims": bool(call.integer("keepdim"))}
    if call.get("dim") is not None and not _is_number(call):
        attributes["axes"] = (_along(call),)
    return (
        one(call, "reduce_min", attributes)._replace(outputs=call.outputs[:1]),
        one(call, "reduce_max", attributes)._replace(outputs=call.outputs[1:]),
    )


def _variance(rooted: bool, results: str) -> Rule:
    def attributes(call: AtenCall) -> dict[str, Attribute]:
        return {**_reduced(call), "rooted": rooted}

    return As("variance", "x=self", attributes, results)


_NORMS: Final = {1: "reduce_l1", 2: "reduce_l2"}


def _norm(call: AtenCall) -> Sequence[Step]:
    """The root of order p of the sum of the absolute values to the power p; the largest or smallest for an infinite p."""
    order = call.get("p") if call.op == "aten.norm" else call.get("ord")
    order = 2 if order is None else order
    attributes = _reduced(call)
    if isinstance(order, int | float) and order in _NORMS:
        return (one(call, _NORMS[int(order)], attributes),)
    size = call.inner("size")
    absolute = one(call, "abs")._replace(outputs=(size,))
    if order in (inf, -inf):
        return (absolute, Step("reduce_max" if order == inf else "reduce_min", [("x", size)], attributes, call.outputs))
    if order == 0:
        truth, counted = call.inner("truth"), call.inner("counted")
        return (
            *_not_zero(call, truth),
            Step("cast", [("x", truth)], {"dtype": call.made[0].dtype.name}, (counted,)),
            Step("reduce_sum", [("x", counted)], attributes, call.outputs),
        )
    if not isinstance(order, int | float):
        raise GraphError(f"a norm of the order {order!r}", where=call.name)
    raised, total = call.inner("raised"), call.inner("total")
    power = constant(call, "order", call.made[0].dtype.name)
    return (
        power,
        absolute,
        Step("pow", [("a", size), ("b", power.outputs[0])], {}, (raised,)),
        Step("reduce_sum", [("x", raised)], attributes, (total,)),
        Step("pow", [("a", total), ("b", power.outputs[0])], {}, call.outputs),
    )


def _running(operator: str, results: str = "") -> Rule:
    """Along an axis; of a number alone there is nothing to add up."""

    def rule(call: AtenCall) -> Sequence[Step]:
        if _is_number(call):
            return _number_with_position(call)
        return translate(call, As(operator, "x=self", lambda call: {"axis": _along(call)}, results))

    return rule


def _sort(call: AtenCall) -> Sequence[Step]:
    """All of them as the k largest or smallest; ``argsort`` and ``msort`` want one of the two results."""
    if _is_number(call):
        return unchanged(call) if call.op == "aten.msort" else _number_with_position(call)
    axis = 0 if call.op == "aten.msort" else _along(call)
    attributes: dict[str, Attribute] = {
        "k": call.type("self").shape[axis],
        "axis": axis,
        "largest": bool(call.integer("descending")),
    }
    outputs = {"aten.argsort": (call.inner("values"), *call.outputs), "aten.msort": (*call.outputs, "")}
    return (one(call, "top_k", attributes)._replace(outputs=outputs.get(call.op, call.outputs)),)


def _top_k(call: AtenCall) -> Sequence[Step]:
    if _is_number(call):
        return _number_with_position(call)
    attributes: dict[str, Attribute] = {
        "k": call.integer("k"),
        "axis": _along(call),
        "largest": bool(call.integer("largest", 1)),
        "sorted": bool(call.integer("sorted", 1)),
    }
    return (one(call, "top_k", attributes),)


def _kth_value(call: AtenCall) -> Sequence[Step]:
    """The median is the lower one of two in the middle."""
    if _is_number(call):
        return _number_with_position(call)
    axis = _along(call)
    k = call.integer("k", (call.type("self").shape[axis] + 1) // 2)
    attributes: dict[str, Attribute] = {"k": k, "axis": axis, "keep_dims": bool(call.integer("keepdim"))}
    return translate(call, As("kth_value", "x=self", lambda call: attributes, "y indices"))


def _median(call: AtenCall) -> Sequence[Step]:
    """Of all elements."""
    flat = call.inner("flat")
    k = (call.type("self").elements + 1) // 2
    return (
        one(call, "reshape", {"shape": (-1,)})._replace(outputs=(flat,)),
        Step("kth_value", [("x", flat)], {"k": k, "axis": 0}, call.outputs),
    )


def _unique(call: AtenCall) -> Sequence[Step]:
    """How many there are only the values say; the positions have the shape of x, where no axis is given."""
    axis: Attribute = "flat" if call.get("dim") is None else call.integer("dim")
    names = [("y", 0), ("inverse", 1), ("counts", 2)]
    asked = [(name, call.outputs[place]) for name, place in names if call.has_output(place)] or [("y", call.outputs[0])]
    steps = []
    outputs = dict(asked)
    if "inverse" in outputs and len(made_shape(call, 1)) != 1:
        places = call.inner("places")
        made = call.made[1].shape
        if call.made[1].elements:
            steps.append(Step("reshape", [("x", places)], {"shape": made}, (outputs["inverse"],)))
            outputs["inverse"] = places
    attributes = {"axis": axis, "outputs": tuple(outputs)}
    return (one(call, "unique", attributes)._replace(outputs=tuple(outputs.values())), *steps)


def _bins(call: AtenCall) -> dict[str, Attribute]:
    return {"bins": call.integer("bins", 100)}


def _search(call: AtenCall) -> Sequence[Step]:
    operands = [("x", call.operand("self")), ("boundaries", call.operand("sorted_sequence"))]
    return (Step("search_sorted", operands, {}, call.outputs),)


def _is_in(call: AtenCall) -> Sequence[Step]:
    """Every element against every one that it may be; either may be a number."""
    column, row, same = call.inner("column"), call.inner("row"), call.inner("same")
    found = call.inner("found") if call.get("invert") else call.outputs[0]
    elements, tests = (call.has(name) for name in ("elements", "test_elements"))
    shape = (*(call.type("elements").shape if elements else ()), 1)
    steps = [
        one(call, "reshape", {"shape": shape, "allow_zero": True}, "elements")._replace(outputs=(column,))
        if elements
        else constant(call, "column", "int64", shape),
        one(call, "reshape", {"shape": (-1,)}, "test_elements")._replace(outputs=(row,))
        if tests
        else constant(call, "row", "int64", (1,)),
        Step("equal", [("a", column), ("b", row)], {}, (same,)),
        Step("reduce_max", [("x", same)], {"axes": (-1,), "keep_dims": False}, (found,)),
    ]
    return [*steps, Step("not", [("x", found)], {}, call.outputs)] if call.get("invert") else steps


RULES_REDUCTIONS: Final[Mapping[str, Rule]] = {
    **{
        f"aten.{name}": As(ours, "x=self", _reduced)
        for name, ours in (
            ("sum", "reduce_sum"),
            ("mean", "reduce_mean"),
            ("prod", "reduce_prod"),
            ("amax", "reduce_max"),
            ("amin", "reduce_min"),
            ("max", "reduce_max"),
            ("min", "reduce_min"),
            ("logsumexp", "reduce_log_sum_exp"),
            ("special_logsumexp", "reduce_log_sum_exp"),
            ("frobenius_norm", "reduce_l2"),
        )
    },
    "aten.any": _truth("reduce_max"),
    "aten._is_any_true": _truth("reduce_max"),
    "aten.all": _truth("reduce_min"),
    "aten._is_all_true": _truth("reduce_min"),
    "aten.count_nonzero": _count_nonzero,
    "aten.nansum": _nan_sum,
    "aten.nanmean": _nan_mean,
    "aten.argmax": _arg_max,
    "aten.argmin": _arg_min,
    "aten.max.dim": _extreme("reduce_max", "arg_max"),
    "aten.min.dim": _extreme("reduce_min", "arg_min"),
    "aten.aminmax": _both_extremes,
    "aten.var": _variance(False, "variance"),
    "aten.std": _variance(True, "variance"),
    "aten.var_mean": _variance(False, "variance mean"),
    "aten.std_mean": _variance(True, "variance mean"),
    "aten.norm": _norm,
    "aten.linalg_vector_norm": _norm,
    "aten.cumsum": _running("cumsum"),
    "aten.cumprod": _running("cumprod"),
    "aten.logcumsumexp": _running("cumulative_log_sum_exp"),
    "aten.cummax": _running("cumulative_max", "y indices"),
    "aten.cummin": _running("cumulative_min", "y indices"),
    **{f"aten.{name}": _sort for name in ("sort", "argsort", "msort")},
    "aten.topk": _top_k,
    "aten.kthvalue": _kth_value,
    "aten.median": _median,
    "aten.median.dim": _kth_value,
    **{
        f"aten.{name}": _unique
        for name in ("_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive")
    },
    "aten.bincount": As("bin_count", "x=self weights=weights"),
    "aten.histc": As("histogram", "x=self", _bins),
    "aten.bucketize": As("search_sorted", "x=self boundaries=boundaries"),
    "aten.searchsorted": _search,
    "aten.isin": _is_in,
}
