"""What is asked of the weights of a layer: how many are kept, how they are shared, how they are coded."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from operator import attrgetter
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.passes.targets import REST, Targets, in_force
from weighbridge.written import number, shown, whole

__all__ = ["MOST_CODEBOOK_BITS", "MOST_INDEX_BITS", "Published", "Rule", "TargetRule", "checked", "rules_of"]

MOST_INDEX_BITS: Final = 16
MOST_CODEBOOK_BITS: Final = 16


class Published(NamedTuple):
    """What a paper prints of a layer: its size in percent of the dense one, before and after Huffman coding.

    ``digits`` are the decimal places of the two, as they are printed.
    """

    before_huffman_percent: Fraction
    percent: Fraction
    digits: tuple[int, int] = (1, 2)


class Rule(NamedTuple):
    """What is asked of a layer's weights; None where nothing is.

    ``keep`` is the share of weights that pruning leaves, above 0 and at most 1; ``codebook_bits`` those of a value's place in a
    codebook of ``2**codebook_bits`` values of 32 bits; ``index_bits`` those of a relative index.  ``huffman_value_bits`` and
    ``huffman_index_bits`` are averages over what is stored, ``fillers`` how many there are for every kept weight: for a layer
    whose weights are not at hand.
    """

    keep: Fraction | None = None
    codebook_bits: int | None = None
    index_bits: int | None = None
    huffman_value_bits: Fraction | None = None
    huffman_index_bits: Fraction | None = None
    fillers: Fraction | None = None
    published: Published | None = None


class TargetRule(NamedTuple):
    """A rule for what a target names; ``field`` is one of ``Rule``, ``where`` what a user wrote it as."""

    target: str
    field: str
    value: object
    where: str = ""


def checked(field: str, value: object, where: str = "") -> Fraction | int:
    """``value`` as ``field`` of a ``Rule`` has it.  Raises ``BadSpec`` for what it cannot be."""
    if field in ("codebook_bits", "index_bits"):
        most = MOST_CODEBOOK_BITS if field == "codebook_bits" else MOST_INDEX_BITS
        bits = _whole_number(value)
        if bits is None or not 1 <= bits <= most:
            raise BadSpec(f"must be a whole number of bits from 1 to {most}, not {_said(value)}", where=where)
        return bits
    found = number(value)
    low, high, what = _RANGES[field]
    if found is None or not low <= found <= high or (field == "keep" and not found):
        raise BadSpec(f"must be {what}, not {_said(value)}", where=where)
    return found


_RANGES: Final = {
    "keep": (0, 1, "a share above 0 and at most 1"),
    "huffman_value_bits": (0, 64, "a number of bits from 0 to 64"),
    "huffman_index_bits": (0, 64, "a number of bits from 0 to 64"),
    "fillers": (0, 10**6, "a number of fillers for each kept weight, from 0 to 1,000,000"),
}


def _whole_number(value: object) -> int | None:
    if isinstance(value, str):
        found = number(value)
        return int(found) if found is not None and found.denominator == 1 else None
    return whole(value)


def _said(value: object) -> str:
    return value[:60] if isinstance(value, str) else shown(value)


def rules_of(targets: Targets, rules: Iterable[TargetRule]) -> dict[str, Rule]:
    """The rule of every weight in ``targets``, by its id.

    A later rule overrides an earlier one in what it says, ``rest`` holds for what no other rule of its field names, wherever it
    stands.  Raises ``BadSpec`` for a target that is not there or that names no weights, and for a value that cannot be.
    """
    fields: dict[str, dict[str, object]] = {name: {} for name, use in targets.uses.items() if use == "weight"}
    for one in in_force(rules, attrgetter("target")):
        value: object = one.value if one.field == "published" else checked(one.field, one.value, one.where)
        for name in fields if one.target == REST else _weights(targets, one):
            fields[name][one.field] = value
    return {name: Rule(**said) for name, said in fields.items()}  # type: ignore[arg-type]


def _weights(targets: Targets, rule: TargetRule) -> list[str]:
    try:
        found = [name for name in targets.named(rule.target) if targets.uses[name] == "weight"]
    except BadSpec as error:
        raise error.at(rule.where) if rule.where else error from None
    if not found:
        hint = "weights alone are compressed: biases and normalisation stay as they are"
        raise BadSpec(f"{rule.target!r} names no weights", where=rule.where, hint=hint)
    return found
