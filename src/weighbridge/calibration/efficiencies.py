"""How much of the speed of single operators whole networks reach, by class of operators.

A network's time is call + the sum over its classes of the seconds that single operators would take, over the class's efficiency.  A
dozen networks do not tell fifteen efficiencies apart.  Each is therefore drawn to the common one, as strongly as serves best those
networks that are left out in turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from weighbridge.calibration.solve import Toward, coefficients
from weighbridge.named_tuple import NamedTuple

__all__ = ["FEWEST", "STRENGTHS", "Efficiencies", "Single", "expected_s", "fit_efficiencies"]

FEWEST: Final = 4
"""Networks below which no efficiency is fitted."""
STRENGTHS: Final = (0.1, 0.2, 0.4, 0.8, 1.6, 100.0)
"""How strongly the efficiencies may be drawn to the common one: how far networks are off over how far classes lie apart.

The first is for classes far apart in networks without noise (0.05 over 0.5), the last is one factor for all.
"""
_FASTEST: Final = 8.0
"""No class is so many times as efficient as all of them together."""
_FOLDS: Final = 12


class Single(NamedTuple):
    """A network: the seconds of each class at the speed of single operators, and the median that was measured.

    Those of one ``group`` are left out together.  ``call_s`` is what a run takes beside its operators.
    """

    name: str
    group: str
    by: Mapping[str, float]
    call_s: float
    time_s: float
    weight: float = 1.0


class Efficiencies(NamedTuple):
    """The common efficiency, those of the classes that a network has, and how strongly these are drawn to that."""

    common: float
    classes: Mapping[str, float]
    strength: float

    def of(self, operators: str) -> float:
        """That of a class; the common one where no network has it."""
        return self.classes.get(operators, self.common)


def expected_s(one: Single, found: Efficiencies) -> float:
    """What the network is expected to take."""
    return one.call_s + sum(seconds / found.of(operators) for operators, seconds in one.by.items())


def fit_efficiencies(networks: Sequence[Single], strengths: Sequence[float] = STRENGTHS) -> Efficiencies:
    """The efficiencies that come nearest to all ``networks``, which have seconds in some class each.

    Of ``strengths`` that one is taken with which networks left out are expected best.
    """
    groups = list(dict.fromkeys(one.group for one in networks))
    if len(strengths) == 1 or len(groups) < 3:
        return _fitted(networks, strengths[-1])
    folds = [frozenset(groups[place::_FOLDS]) for place in range(min(_FOLDS, len(groups)))]
    return _fitted(networks, min(strengths, key=lambda strength: _left_out_error(networks, folds, strength)))


def _left_out_error(networks: Sequence[Single], folds: Sequence[frozenset[str]], strength: float) -> float:
    """The mean size of the logarithmic error of each network, expected without those of its fold."""
    errors = []
    for fold in folds:
        found = _fitted([one for one in networks if one.group not in fold], strength)
        errors += [abs(math.log(expected_s(one, found) / one.time_s)) for one in networks if one.group in fold]
    return sum(errors) / len(errors)


def _fitted(networks: Sequence[Single], strength: float) -> Efficiencies:
    """Slownesses (one over an efficiency) are what the time is linear in."""
    common = _common(networks)
    classes = tuple(dict.fromkeys(operators for one in networks for operators in one.by))
    slow = coefficients(
        [[one.by.get(operators, 0.0) for operators in classes] for one in networks],
        [one.time_s for one in networks],
        [common / _FASTEST] * len(classes),
        beside_s=[one.call_s for one in networks],
        weights=[one.weight for one in networks],
        toward=Toward([common] * len(classes), strength),
    )
    return Efficiencies(1 / common, {name: 1 / each for name, each in zip(classes, slow, strict=True)}, strength)


def _common(networks: Sequence[Single]) -> float:
    """How many times the seconds of single operators the networks take, in the median."""
    return median(max(one.time_s - one.call_s, one.time_s / _FASTEST) / sum(one.by.values()) for one in networks)
