"""PyTorch's operators that make tensors: constants, ranges, windows, random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.frontends.aten_call import As, AtenCall, Rule
from weighbridge.frontends.aten_steps import constant, made_shape, one, stretched
from weighbridge.frontends.foreign import Step
from weighbridge.graph import Attribute

__all__ = ["RULES_GENERATORS"]


def _made(call: AtenCall) -> dict[str, Attribute]:
    """Shape and type as PyTorch made them: from sizes, from a tensor alike, in place."""
    return {"shape": made_shape(call), "dtype": call.made[0].dtype.name}


def _generated(operator: str) -> Rule:
    """Nothing is read: what is written over and what is imitated matter by their shape alone."""

    def rule(call: AtenCall) -> Sequence[Step]:
        return (Step(operator, (), _made(call), call.outputs),)

    return rule


def _fill(call: AtenCall) -> Sequence[Step]:
    """With a number, or with the value of a tensor without axes."""
    if not call.has("value"):
        return (Step("constant_of_shape", (), _made(call), call.outputs),)
    value = call.operand("value")
    if call.type("value").dtype is call.made[0].dtype:
        return (stretched(call, value, call.type("value").shape, made_shape(call), call.outputs[0]),)
    cast = call.inner("cast")
    return (
        Step("cast", [("x", value)], {"dtype": call.made[0].dtype.name}, (cast,)),
        stretched(call, cast, call.type("value").shape, made_shape(call), call.outputs[0]),
    )


def _range(call: AtenCall) -> dict[str, Attribute]:
    """``aten.range`` has its end in it, ``arange`` does not."""
    start, limit, step = call.number("start", 0), call.number("end"), call.number("step", 1)
    if call.op == "aten.range":
        limit = start + made_shape(call)[0] * step
    return {"start": start, "limit": limit, "step": step, "dtype": call.made[0].dtype.name}


def _linspace(call: AtenCall) -> dict[str, Attribute]:
    return {"size": call.integer("steps"), "dtype": call.made[0].dtype.name}


def _logspace(call: AtenCall) -> Sequence[Step]:
    """Powers of the base."""
    exponents = call.inner("exponents")
    base = constant(call, "base", call.made[0].dtype.name)
    return (
        base,
        Step("linspace", (), _linspace(call), (exponents,)),
        Step("pow", [("a", base.outputs[0]), ("b", exponents)], {}, call.outputs),
    )


def _eye(call: AtenCall) -> Sequence[Step]:
    blank = constant(call, "blank", call.made[0].dtype.name, made_shape(call))
    return (blank, Step("eye_like", [("x", blank.outputs[0])], {}, call.outputs))


def _window(operator: str) -> Rule:
    def attributes(call: AtenCall) -> dict[str, Attribute]:
        return {"size": call.integer("window_length"), "dtype": call.made[0].dtype.name}

    return As(operator, "", attributes)


def _normal(call: AtenCall) -> Sequence[Step]:
    """Mean and deviation are numbers, or tensors that stretch and shift standard numbers."""
    if not call.has("mean") and not call.has("std"):
        return (Step("random_normal", (), _made(call), call.outputs),)
    drawn, scaled = call.inner("drawn"), call.inner("scaled")
    steps = [Step("random_normal", (), _made(call), (drawn,))]
    for name in ("std", "mean"):
        if not call.has(name):
            steps.append(constant(call, name, call.made[0].dtype.name))
    std, mean = (call.operand(name) if call.has(name) else call.inner(name) for name in ("std", "mean"))
    return [
        *steps,
        Step("mul", [("a", drawn), ("b", std)], {}, (scaled,)),
        Step("add", [("a", scaled), ("b", mean)], {}, call.outputs),
    ]


def _bernoulli(call: AtenCall) -> Sequence[Step]:
    """A probability for every element is read; one number for all of them is compared with uniform numbers."""
    if call.overload == "default" and "p" not in call.arguments:
        return (one(call, "bernoulli"),)
    if call.has("p"):
        stretch = call.inner("probability")
        return (
            stretched(call, call.operand("p"), call.type("p").shape, made_shape(call), stretch),
            Step("bernoulli", [("x", stretch)], {}, call.outputs),
        )
    drawn, chance = call.inner("drawn"), constant(call, "chance", "float32")
    return (
        chance,
        Step("random_uniform", (), {**_made(call), "dtype": "float32"}, (drawn,)),
        Step("less", [("a", drawn), ("b", chance.outputs[0])], {}, call.outputs),
    )


def _exponential(call: AtenCall) -> Sequence[Step]:
    """-log(u) / lambda of uniform numbers u."""
    drawn, raised = call.inner("drawn"), call.inner("raised")
    factor = constant(call, "factor", call.made[0].dtype.name)
    return (
        factor,
        Step("random_uniform", (), _made(call), (drawn,)),
        Step("log", [("x", drawn)], {}, (raised,)),
        Step("mul", [("a", raised), ("b", factor.outputs[0])], {}, call.outputs),
    )


def _log_normal(call: AtenCall) -> Sequence[Step]:
    drawn = call.inner("drawn")
    return (Step("random_normal", (), _made(call), (drawn,)), Step("exp", [("x", drawn)], {}, call.outputs))


def _permutation(call: AtenCall) -> Sequence[Step]:
    """The order of random numbers."""
    drawn, size = call.inner("drawn"), made_shape(call)
    attributes: dict[str, Attribute] = {"k": size[0], "axis": 0, "largest": False}
    return (
        Step("random_uniform", (), {"shape": size, "dtype": "float32"}, (drawn,)),
        Step("top_k", [("x", drawn)], attributes, (call.inner("values"), *call.outputs)),
    )


def _multinomial(call: AtenCall) -> Sequence[Step]:
    attributes: dict[str, Attribute] = {"sample_size": call.integer("num_samples"), "dtype": "int64"}
    if call.rank("self") == 2:
        return (one(call, "multinomial", attributes),)
    row, drawn = call.inner("row"), call.inner("drawn")
    return (
        one(call, "unsqueeze", {"axes": (0,)})._replace(outputs=(row,)),
        Step("multinomial", [("x", row)], attributes, (drawn,)),
        Step("squeeze", [("x", drawn)], {"axes": (0,)}, call.outputs),
    )


_CONSTANTS: Final = (
    *("zeros", "ones", "full", "empty", "empty_strided", "empty_permuted", "scalar_tensor"),
    *("zeros_like", "ones_like", "full_like", "empty_like"),
    *("new_zeros", "new_ones", "new_full", "new_empty", "new_empty_strided"),
    *("zero", "tril_indices", "triu_indices"),
)

RULES_GENERATORS: Final[Mapping[str, Rule]] = {
    **{f"aten.{name}": _generated("constant_of_shape") for name in _CONSTANTS},
    "aten.fill": _fill,
    "aten.arange": As("range", "", _range),
    "aten.range": As("range", "", _range),
    "aten.linspace": As("linspace", "", _linspace),
    "aten.logspace": _logspace,
    "aten.eye": _eye,
    **{f"aten.{name}_window": _window(f"{name}_window") for name in ("hann", "hamming", "blackman")},
    **{
        f"aten.{name}": _generated("random_uniform")
        for name in ("rand", "rand_like", "randint", "randint_like", "uniform", "random")
    },
    **{f"aten.{name}": _generated("random_normal") for name in ("randn", "randn_like")},
    "aten.normal": _normal,
    "aten.bernoulli": _bernoulli,
    "aten.exponential": _exponential,
    "aten.log_normal": _log_normal,
    "aten.randperm": _permutation,
    "aten.multinomial": _multinomial,
}
