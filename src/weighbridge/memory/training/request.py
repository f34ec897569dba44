"""What a user asks of a training plan, read from words."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from fractions import Fraction
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.memory.training.optimisers import OPTIMISERS
from weighbridge.named_tuple import NamedTuple
from weighbridge.written import number, shown

__all__ = ["ATTENTION", "AUTOGRAD", "PAPER", "Training", "training_of"]

PAPER: Final = "paper"
AUTOGRAD: Final = "autograd"
_RULES: Final = (PAPER, AUTOGRAD)
ATTENTION: Final = ("flash", "math")
"""Kernels of scaled dot product attention; the first is what a processor takes."""
_LARGEST_RANK: Final = 1 << 20


class Training(NamedTuple):
    """How a network is to be trained, and by which ``rule`` to say what that takes ("" is the best there is for the source).

    ``mixed_precision`` has weights, gradients and activations at 16 bits and a 32-bit master copy of every weight.  ``updates`` are
    targets with the share of their input channels that is trained; none: everything, or with ``adapters`` (low-rank adapters by
    target: a rank) these alone.  ``frozen`` are targets that are not trained whatever else says so.  ``checkpoints`` are modules,
    by name or pattern, that keep nothing but what they are given and run again in the backward pass.  ``attention`` is the kernel
    that the rule ``autograd`` follows, "" for the processor's.
    """

    optimiser: str = "sgd"
    rule: str = ""
    mixed_precision: bool = False
    updates: tuple[tuple[str, Fraction], ...] = ()
    frozen: tuple[str, ...] = ()
    adapters: tuple[tuple[str, int], ...] = ()
    checkpoints: tuple[str, ...] = ()
    attention: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """What is not everywhere the same, as one would write it: ``update biases``, ``checkpoint layer1``."""
        updates = (f"update {name}" if share == 1 else f"update {name}={share}" for name, share in self.updates)
        return (
            *updates,
            *(f"freeze {name}" for name in self.frozen),
            *(f"lora {name}={rank}" for name, rank in self.adapters),
            *(f"checkpoint {name}" for name in self.checkpoints),
            *((f"attention {self.attention}",) if self.attention else ()),
        )


def training_of(
    optimiser: str,
    *,
    rule: str | None = "",
    mixed_precision: bool = False,
    updates: Iterable[str | tuple[str, object]] = (),
    frozen: Iterable[str] = (),
    adapters: Iterable[str | tuple[str, object]] = (),
    checkpoints: Iterable[str] = (),
    attention: str | None = "",
) -> Training:
    """The request as it is written: ``updates`` as ``biases``, ``last-3`` or ``conv*=1/4``, ``adapters`` as ``fc*=8``, or as pairs.

    Raises ``BadSpec`` for an optimiser, rule or kernel that there is none, a share that is none, a rank that is none, a kernel of
    attention under the rule ``paper``, which knows none, and for what is neither True nor False.
    """
    _one_of(optimiser, OPTIMISERS, "optimiser", "the optimiser")
    if not isinstance(mixed_precision, bool):
        raise BadSpec(f"must be True or False, not {shown(mixed_precision)}", where="mixed precision")
    rule, attention = rule if rule is not None else "", attention if attention is not None else ""
    if rule != "":
        _one_of(rule, _RULES, "rule of training memory", "the rule of training memory")
    if attention != "":
        _one_of(attention, ATTENTION, "kernel of attention", "the kernel of attention")
        if rule == PAPER:
            what = "the rule paper is about layers and knows no kernel of attention"
            raise BadSpec(what, where="the kernel of attention", hint="leave one of the two out")
    return Training(
        optimiser,
        rule,
        mixed_precision,
        tuple(map(_update, updates)),
        tuple(_name(one, "a frozen part") for one in frozen),
        tuple(map(_adapter, adapters)),
        tuple(_name(one, "a checkpoint") for one in checkpoints),
        attention,
    )


def _one_of(given: object, known: Iterable[str], what: str, where: str) -> None:
    names = list(known)
    if given in names:
        return
    near = get_close_matches(given.lower(), names, 1) if isinstance(given, str) else []
    meant = f"did you mean {near[0]}? " if near else ""
    raise BadSpec(f"there is no {what} {shown(given)}", where=where, hint=f"{meant}there are {', '.join(names)}")


def _name(given: object, what: str) -> str:
    if not isinstance(given, str) or not given.strip():
        raise BadSpec(f"{shown(given)} names nothing", where=what, hint="give a layer, a module or a pattern")
    return given.strip()


def _halves(rule: object) -> tuple[str, object] | None:
    """A target and what is said of it: of ``conv*=1/4`` the text in front of the last ``=`` and behind it; None for neither."""
    if isinstance(rule, tuple) and len(rule) == 2 and isinstance(rule[0], str):
        return rule[0].strip(), rule[1]
    target, separator, written = rule.rpartition("=") if isinstance(rule, str) else ("", "", "")
    return (target.strip(), written.strip()) if separator else None


def _update(rule: str | tuple[str, object]) -> tuple[str, Fraction]:
    halves = _halves(rule)
    if halves is None:
        return _name(rule, "what is updated"), Fraction(1)
    target, share = halves[0], number(halves[1])
    if not target or share is None or not 0 < share <= 1:
        hint = "write biases, last-3, or a layer and the share of its input channels: conv*=1/4"
        raise BadSpec(f"{shown(rule)} updates nothing", where="what is updated", hint=hint)
    return target, share


def _adapter(rule: str | tuple[str, object]) -> tuple[str, int]:
    target, written = _halves(rule) or ("", "")
    rank = number(written)
    if not target or rank is None or rank.denominator != 1 or not 0 < rank <= _LARGEST_RANK:
        raise BadSpec(
            f"{shown(rule)} is no adapter", where="a low-rank adapter", hint="write a target and a rank: fc*=8"
        )
    return target, int(rank)
