"""The parameters of a network file: what the user gave, checked against what the file allows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Final

from weighbridge.graph import MAX_DIMENSION

from .toml_expression import Value
from .toml_read import nearest
from .toml_schema import Fault, Parameter, listed, refuse

__all__ = ["choose", "described", "limits"]

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,40}")
_TRUTHS: Final = {"true": True, "false": False, "yes": True, "no": False}


def choose(parameters: Mapping[str, Parameter], given: Mapping[str, Value], where: str) -> dict[str, Value]:
    """A value for every parameter: the one given, as a value or as text, or the default.

    Raises ``BadSpec`` with every fault: a name that does not exist, a value of another kind or out of range.
    """
    faults = list(_unknown(parameters, given))
    chosen: dict[str, Value] = {}
    for name, parameter in parameters.items():
        try:
            chosen[name] = _checked(parameter, given[name]) if name in given else parameter.default
        except ValueError as error:
            faults.append(Fault(name, f"must be {described(parameter)}, not {error.args[0]}"))
    refuse(faults, where, "the choice of parameters")
    return chosen


def _unknown(parameters: Mapping[str, Parameter], given: Mapping[str, Value]) -> Iterator[Fault]:
    for name in given:
        if name not in parameters:
            known = f"the parameters are {listed(parameters)}"
            yield Fault(name, f"there is no such parameter{nearest(name, parameters)}; {known}")


def limits(parameter: Parameter) -> tuple[int | float, int | float]:
    """The least and the greatest value; where a file is silent, sizes start at 1 and factors at 0."""
    default, least, most = parameter.default, parameter.minimum, parameter.maximum
    if isinstance(default, str):
        return 0, 0
    if least is None:
        least = min(0.0 if isinstance(default, float) else 1, default)
    return least, MAX_DIMENSION if most is None else most


def described(parameter: Parameter) -> str:
    """What may be chosen, in words."""
    default = parameter.default
    if isinstance(default, bool):
        return "true or false"
    if isinstance(default, str):
        return f"one of {listed(parameter.choices)}"
    least, most = limits(parameter)
    kind = "a whole number" if isinstance(default, int) else "a number"
    return f"{kind} from {least:,} to {most:,}"


def _checked(parameter: Parameter, value: Value) -> Value:
    """``value`` as the parameter's kind.  Raises ``ValueError`` with the value as it is shown to the user."""
    shown = repr(value) if isinstance(value, str) else str(value)
    default = parameter.default
    read = _as_kind(default, value)
    if read is None or (isinstance(default, str) and read not in parameter.choices):
        raise ValueError(shown)
    if not isinstance(read, bool | str):
        least, most = limits(parameter)
        if not least <= read <= most:
            raise ValueError(shown)
    return read


def _as_kind(default: Value, value: Value) -> Value | None:
    if isinstance(default, bool):
        return value if isinstance(value, bool) else _TRUTHS.get(str(value).lower())
    if isinstance(default, str):
        return value if isinstance(value, str) else None
    if isinstance(value, bool):
        return None
    if isinstance(default, int):
        return _whole(value)
    return _factor(value)


def _whole(value: Value) -> int | None:
    if isinstance(value, str):
        return int(value) if _WHOLE.fullmatch(value) else None
    return value if isinstance(value, int) else None


def _factor(value: Value) -> float | None:
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) else None
