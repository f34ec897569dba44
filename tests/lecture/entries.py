"""Checks of entries of lecture.toml: a registry, and reports made once."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import cache

import weighbridge
from weighbridge.report import Report

Check = Callable[..., None]
CHECKS: dict[tuple[str, str], Check] = {}


def check(table: str, *keys: str) -> Callable[[Check], Check]:
    """Registers a check of these entries; it is called with the stated value, and with the key if there are several."""

    def register(function: Check) -> Check:
        for key in keys:
            assert (table, key) not in CHECKS
            CHECKS[table, key] = function
        return function

    return register


def weigh(source: str, **options: object) -> Report:
    """The report, made once; every number of it must be exact."""
    return _weigh(source, tuple(options.items()))


@cache
def _weigh(source: str, options: tuple[tuple[str, object], ...]) -> Report:
    report = weighbridge.weigh(source, **dict(options))
    assert report.is_exact
    return report


def node(source: str, name: str, **options: object):
    """A node by its name."""
    return next(one for one in weigh(source, **options).nodes if one.name == name)


def profile(report: Report, policy: str = "pair") -> dict[str, int]:
    """Bytes alive while each node runs."""
    return dict(zip([one.name for one in report.nodes], report.memory.profile[policy], strict=True))


def rounds_to(number: float | Fraction, stated: Decimal | int) -> bool:
    """Whether ``number`` is the stated one, to as many digits as are stated."""
    exact = Decimal(Fraction(number).numerator) / Decimal(Fraction(number).denominator)
    return exact.quantize(Decimal(str(stated)), ROUND_HALF_UP) == Decimal(str(stated))
