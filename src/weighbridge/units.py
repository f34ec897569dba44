"""Numbers for people: exact with thousands, short with a prefix; decimal (MB) and binary (MiB) units never confused.

Counts and bytes are done on ints, so a rounded number is the exact one rounded, whatever its size; times are rounded down,
energies and ratios to the nearest.  What is infinite or no number is ``?``, as whatever is unknown.  Fractions become the numbers
that JSON has here as well.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = [
    "as_number",
    "binary_bytes",
    "decimal_bytes",
    "exact",
    "in_full",
    "joules",
    "rough_joules",
    "rough_ratio",
    "rough_seconds",
    "seconds",
    "short",
    "significant",
    "stated",
]

_UNKNOWN: Final = "?"
_DECIMAL: Final = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi")
_SECONDS: Final = ("s", "ms", "µs", "ns", "ps")
_JOULES: Final = ("J", "mJ", "µJ", "nJ", "pJ", "fJ")


def exact(value: int) -> str:
    """``60,965,224``."""
    return f"{value:,}"


def stated(value: float) -> Fraction:
    """``value`` as it was written, 3.7 as 37/10: a float stands for the shortest decimal that is read as it."""
    from fractions import Fraction

    return Fraction(str(value))


def as_number(value: Fraction) -> int | float:
    """``value`` as JSON and tables have it: whole, or else the nearest float."""
    return value.numerator if value.denominator == 1 else float(value)


def in_full(value: Fraction) -> str:
    """All digits of a decimal fraction, not negative: ``1,234,567.891``, ``0.0123``, ``1.5e-09``."""
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    digits = str(int(value * 10**places))
    exponent = len(digits) - 1 - places if value else 0
    if not -4 <= exponent < 16:
        digits = digits.rstrip("0")
        point = "." if len(digits) > 1 else ""
        return f"{digits[0]}{point}{digits[1:]}e{exponent:+03d}"
    digits = digits.rjust(places + 1, "0")
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    return f"{int(whole):,}.{part}" if part else f"{int(whole):,}"


def short(value: int) -> str:
    """A count with a decimal prefix and four significant digits: ``724.4 M``; below 10,000 exactly as it is."""
    if abs(value) < 10_000:
        return exact(value)
    return _scaled(value, 1000, _DECIMAL).rstrip()


def decimal_bytes(value: int) -> str:
    """Bytes in powers of 1000: ``243.9 MB``."""
    return f"{value:,} B" if abs(value) < 1000 else _scaled(value, 1000, _DECIMAL) + "B"


def binary_bytes(value: int) -> str:
    """Bytes in powers of 1024: ``232.6 MiB``."""
    return f"{value:,} B" if abs(value) < 1024 else _scaled(value, 1024, _BINARY) + "B"


def seconds(value: float) -> str:
    """A time with four significant digits, rounded towards zero so that a floor stays one: ``483.9 ms``."""
    if not value:
        return "0 s"
    if not isfinite(value):
        return _UNKNOWN
    if value < 0:
        return f"-{seconds(-value)}"
    mantissa, _, power = f"{value:.15e}".partition("e")
    return _prefixed(mantissa.replace(".", "")[:4], power, _SECONDS, largest=9)


def joules(value: float) -> str:
    """An energy with five significant digits: ``39.608 mJ``."""
    if not value:
        return "0 J"
    if not isfinite(value):
        return _UNKNOWN
    if value < 0:
        return f"-{joules(-value)}"
    mantissa, _, power = f"{value:.4e}".partition("e")
    return _prefixed(mantissa.replace(".", ""), power, _JOULES, largest=12)


def rough_seconds(value: float) -> str:
    """A time that is known to some tens of percent, with two significant digits to the nearest: ``35 ms``, ``160 ms``."""
    return _rough(value, _SECONDS, largest=9)


def rough_joules(value: float) -> str:
    """An energy that is known to some tens of percent, with two significant digits: ``1.5 mJ``."""
    return _rough(value, _JOULES, largest=12)


def rough_ratio(value: float) -> str:
    """A ratio of what is known to some tens of percent, with two significant digits: ``4.6``, ``120``."""
    if not isfinite(value):
        return _UNKNOWN
    return f"{float(f'{value:.1e}'):,g}"


def _rough(value: float, units: tuple[str, ...], largest: int) -> str:
    if not value:
        return f"0 {units[0]}"
    if not isfinite(value):
        return _UNKNOWN
    if value < 0:
        return f"-{_rough(-value, units, largest)}"
    mantissa, _, power = f"{value:.1e}".partition("e")
    exponent = int(power)
    hundreds = exponent % 3 == 2 and 3 - 3 * len(units) <= exponent < 0
    return _prefixed(mantissa.replace(".", "") + "0" * hundreds, power, units, largest).replace(". ", " ")


def _prefixed(digits: str, power: str, units: tuple[str, ...], largest: int) -> str:
    """``digits``, of which the first counts ``10**power``, in the unit that leaves 1 to 3 of them before the point.

    ``units`` fall by thousands; beyond the last, and from ``10**largest`` on, the power is written out.
    """
    exponent = int(power)
    step = max(0, -(exponent // 3))
    if step >= len(units) or exponent >= largest:
        return f"{digits[0]}.{digits[1:]}e{power} {units[0]}"
    behind = exponent - len(digits) + 1
    if behind >= 0:
        return f"{int(digits) * 10**behind:,} {units[0]}"
    whole = exponent + 3 * step + 1
    return f"{int(digits[:whole]):,}.{digits[whole:]} {units[step]}"


def significant(value: float) -> str:
    """A ratio or a rate with four significant digits: ``5.926``, ``13,460``, ``0.01230``."""
    if not value:
        return "0"
    if not isfinite(value):
        return _UNKNOWN
    if value < 0:
        return f"-{significant(-value)}"
    mantissa, _, power = f"{value:.3e}".partition("e")
    exponent = int(power)
    if not -4 <= exponent < 15:
        return f"{mantissa}e{power}"
    return f"{float(f'{value:.3e}'):,.{max(0, 3 - exponent)}f}"


def _scaled(value: int, base: int, prefixes: tuple[str, ...]) -> str:
    """``value`` at the prefix that leaves 1 to 4 digits before the point, four significant digits, rounded half up."""
    size, unit = abs(value), 1
    for prefix in prefixes:
        places = _places(size, unit)
        rounded = (2 * size * 10**places + unit) // (2 * unit)
        if rounded < base * 10**places or prefix == prefixes[-1]:
            break
        unit *= base
    whole, part = divmod(rounded, 10**places)
    fraction = f".{part:0{places}d}" if places else ""
    return f"{'-' if value < 0 else ''}{whole:,}{fraction} {prefix}"


def _places(size: int, unit: int) -> int:
    """Decimal places that show four significant digits of ``size`` in ``unit``."""
    for places, limit in ((3, 10), (2, 100), (1, 1000)):
        if size * 10**places * 2 + unit < limit * 10**places * unit * 2:
            return places
    return 0
