"""Budgets as they are written: ``peak_bytes <= 256 KiB under arena_tflm on stm32f746``, ``macs grow <= 2 %``, ``fits on stm32f746``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from weighbridge.budgets.metrics import VERDICT, Metric, metric_named, nearest
from weighbridge.budgets.record import FITS, Budget
from weighbridge.errors import BadSpec
from weighbridge.memory import POLICIES
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.figures import PEAK
from weighbridge.written import BYTE_UNITS, DECIMAL, number, shown

__all__ = ["FORM", "budget_of"]

FORM: Final = "METRIC [grows] <= VALUE[UNIT] [under POLICY] [on DEVICE]"
_LONGEST: Final = 500
_PEAKS: Final = PEAK.removesuffix(".")
_LIMIT: Final = re.compile(r"(?P<metric>[^<>=≤≥!]+)(?P<relation>[<>=≤≥!]+)(?P<rest>.*)")
_GROWS: Final = re.compile(r"(\S.*?)\s+grows?")
_VALUE: Final = re.compile(rf"({DECIMAL})\s*([^0-9\s.,]\S*|)")
_CLAUSE: Final = re.compile(r"(?:^|\s)(under|on|against)(?=\s|$)")
_RELATIONS: Final = ("<=", "<", "==")
_PERCENT: Final = "%"
_UNITS: Final[Mapping[str, Mapping[str, Fraction]]] = {
    "": {prefix: Fraction(1000**power) for power, prefix in enumerate(("", "k", "M", "G", "T"))},
    "B": {"": Fraction(1), **{unit: Fraction(size) for unit, size in BYTE_UNITS.items()}},
    **{
        unit: {
            "": Fraction(1),
            **{f"{prefix}{unit}": Fraction(1, 1000**power) for power, prefix in enumerate(("", "m", "u", "n"))},
        }
        for unit in ("s", "J")
    },
}
_NAMES: Final = {"": "a count", "B": "a number of bytes", "s": "a time", "J": "an energy"}


class _Clauses(NamedTuple):
    """What stands behind the value; None is not there."""

    policy: str | None
    device: str | None
    is_against: bool


def budget_of(text: str) -> Budget:
    """The budget that ``text`` says; its device is as it was written, or None.

    A limit is in the unit of the metric: counts take k, M, G, T; bytes ``B``, ``kB`` … and ``KiB`` …; times s, ms, us, ns; energies J,
    mJ, uJ, nJ; without a unit it is what the name of the metric says.  Growth is a share with ``%``, or an amount.

    Raises ``BadSpec``: a metric, a policy or a unit that does not exist, with the nearest one; what cannot be a limit; and a device
    of a figure that is the same on all.  Whether the device is weighed, and the model has such a figure, shows when it is checked.
    """
    if not isinstance(text, str):
        raise BadSpec(f"a budget is text, not a {type(text).__name__}", hint=f"write {FORM}")
    if len(text) > _LONGEST:
        raise BadSpec(f"a budget of {len(text):,} characters", where=text[:40], hint=f"it has {_LONGEST} at most")
    written = " ".join(text.split())
    try:
        return _fit(written) if re.match(r"fits?(\s|$)", written) else _limit(written)
    except BadSpec as error:
        raise error.at(written) from None


def _fit(text: str) -> Budget:
    between, clauses = _clauses(text.partition(" ")[2])
    if between or clauses.policy is not None or clauses.is_against:
        raise BadSpec("this cannot be read", hint="write `fits on DEVICE`")
    return Budget(text, VERDICT, clauses.device, FITS)


def _limit(text: str) -> Budget:
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise BadSpec("there is no limit in it", hint=f"write {FORM}, or `fits on DEVICE`")
    relation = found["relation"]
    if relation not in _RELATIONS:
        hint = "write ==" if relation == "=" else "a budget is a limit from above: <=, < or =="
        raise BadSpec(f"{shown(relation)} is no limit", hint=hint)
    name, growing = found["metric"].strip(), _GROWS.fullmatch(found["metric"].strip())
    value, clauses = _clauses(found["rest"])
    metric = _metric(growing[1] if growing else name, clauses.policy)
    if clauses.is_against and not growing:
        raise BadSpec(
            "nothing is measured against the baseline but growth", hint=f"write {metric.name} grows {relation} …"
        )
    device = _device(metric, clauses.device)
    bound, is_share = _bound(value, metric, relation, grows=growing is not None)
    return Budget(text, metric.name, device, relation, bound, growing is not None, is_share)


def _clauses(text: str) -> tuple[str, _Clauses]:
    """What stands in front of ``under``, ``on`` and ``against``, and what stands behind each of them."""
    value, *parts = _CLAUSE.split(text)
    said: dict[str, str] = {}
    for word, argument in zip(parts[::2], parts[1::2], strict=True):
        if word in said:
            raise BadSpec(f"{word} is there twice", hint="once is enough")
        said[word] = argument.strip()
        if not said[word]:
            raise BadSpec(f"nothing stands behind {word}", hint=f"write {FORM}")
    against = said.get("against")
    if against not in (None, "the baseline", "baseline"):
        raise BadSpec(f"growth is not measured against {shown(against)}", hint="write against the baseline, or nothing")
    return value.strip(), _Clauses(said.get("under"), said.get("on"), against is not None)


def _metric(name: str, policy: str | None) -> Metric:
    if policy is not None and policy not in POLICIES:
        raise BadSpec(f"there is no memory policy {shown(policy)}", hint=nearest(policy, POLICIES, "the policies are"))
    if name == _PEAKS:
        if policy is None:
            raise BadSpec("a peak has a policy", hint=f"write under POLICY: {', '.join(POLICIES)}")
        return metric_named(f"{PEAK}{policy}")
    metric = metric_named(name)
    if policy is not None:
        has_one = metric.name.startswith(PEAK)
        hint = f"write {_PEAKS} … under {policy}" if has_one else "leave it out"
        raise BadSpec("the policy is there twice" if has_one else f"{name} has no memory policy", hint=hint)
    return metric


def _device(metric: Metric, device: str | None) -> str | None:
    """Raises ``BadSpec`` for the device of a figure that does not depend on one.

    A peak may name the board that it must fit, as people say it so: the figure is the same on all.
    """
    if device is not None and not metric.of_device and not metric.name.startswith(PEAK):
        raise BadSpec(f"{metric.name} is the same on every device", hint=f"leave out on {device}")
    return device


def _bound(text: str, metric: Metric, relation: str, *, grows: bool) -> tuple[Fraction, bool]:
    """The limit in the unit of the metric, and whether it is a share of the baseline."""
    found = _VALUE.fullmatch(text)
    value = number(found[1]) if found else None
    if found is None or value is None:
        example = "2 %" if grows else "30 M" if not metric.unit else f"30 {metric.unit}"
        raise BadSpec(
            f"{shown(text)} is no limit" if text else "the limit is missing", hint=f"write {example}, as digits alone"
        )
    unit = found[2].replace("µ", "u").replace("μ", "u")
    if unit == _PERCENT:
        if not grows:
            hint = f"write {metric.name} grows {relation} {text}"
            raise BadSpec(f"{shown(text)} does not say of what it is a share", hint=hint)
        value /= 100
        if value < -1:
            raise BadSpec("nothing shrinks by more than all of it", hint="give a share from -100 % on")
    else:
        value *= _unit(unit, found[2], metric)
    if not grows and (value < 0 or (relation == "<" and not value)):
        hint = "give a limit from 0 on" if value else f"write {metric.name} <= 0"
        raise BadSpec("nothing is below 0", hint=hint)
    if unit != _PERCENT:
        _check_whole(value, metric, has_unit=bool(unit), relation=relation, grows=grows)
    if metric.unit in ("s", "J") and relation == "==":
        raise BadSpec(f"{_NAMES[metric.unit]} is computed with rounding and equals nothing", hint="write <=")
    return value, unit == _PERCENT


def _unit(unit: str, written: str, metric: Metric) -> Fraction:
    known = _UNITS[metric.unit]
    if unit in known:
        return known[unit]
    near = [one for one in known if one and _prefix(one) == _prefix(unit)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"it takes {', '.join(filter(None, known))}"
    raise BadSpec(f"{shown(written)} is no unit of {metric.name}, which is {_NAMES[metric.unit]}", hint=hint)


def _prefix(unit: str) -> str:
    """What is left of a unit of bytes where nobody minds capitals and powers of 1000 or 1024: K, KB and KiB are one."""
    return unit.lower().removesuffix("b").removesuffix("i")


def _check_whole(value: Fraction, metric: Metric, *, has_unit: bool, relation: str, grows: bool) -> None:
    """Raises ``BadSpec`` for a part of a byte or of a count, unless it comes of a unit, where the whole ones below it pass."""
    if metric.unit not in ("", "B") or value.denominator == 1 or (has_unit and relation != "=="):
        return
    hint = "write a share with %, as in 2 %" if grows else "give a whole number"
    raise BadSpec(f"{metric.name} is {_NAMES[metric.unit]}, and {shown(value)} is not whole", hint=hint)
