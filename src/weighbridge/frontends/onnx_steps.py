"""Steps of one foreign operator that is several of ours, put together one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import Foreign, Held, Step, asked_step
from weighbridge.graph import UNKNOWN, Attribute, TensorType

__all__ = ["PACKED", "Pairs", "Steps", "heads_of", "number_in", "required"]

PACKED: Final[Mapping[int, str]] = {2: "uint2", 4: "uint4", 8: "uint8"}
"""Unsigned integers that bytes hold whole numbers of, by their bits."""
Pairs = Sequence[tuple[str, str]]
"""Operands as (name, tensor id); "" for one that is absent."""


class Steps:
    """The steps of ``call`` so far.  What a step makes gets an id of its own, unless it is a result of the call."""

    def __init__(self, call: Foreign) -> None:
        self.call = call
        self.steps: list[Step] = []

    def optional(self, position: int | None) -> str:
        """An operand of the call, "" where it is absent; at no position where the operator has none."""
        return self.call.operand(position) if position is not None and self.call.has(position) else ""

    def make(
        self,
        operator: str,
        operands: Pairs,
        attributes: Mapping[str, Attribute] | None = None,
        *,
        held: Sequence[Held] = (),
        into: str = "",
    ) -> str:
        """Add a step with one result; returns its id."""
        made = into or self.call.inner(f"{operator}.{len(self.steps)}")
        self.steps.append(Step(operator, _present(operands), attributes or {}, [made], (), held))
        return made

    def split(self, x: str, parts: int, attributes: Mapping[str, Attribute]) -> list[str]:
        """Add a step that takes ``x`` apart; returns the ids of the parts."""
        made = [self.call.inner(f"split.{len(self.steps)}.{part}") for part in range(parts)]
        self.steps.append(Step("split", [("x", x)], {"parts": parts, **attributes}, made))
        return made

    def largest(self, x: str, count: int, axis: int) -> tuple[str, str]:
        """Add a step that finds the largest values along an axis; returns the ids of these and of their places."""
        values, places = (self.call.inner(f"top_k.{len(self.steps)}.{name}") for name in ("values", "places"))
        self.steps.append(Step("top_k", [("x", x)], {"k": count, "axis": axis}, [values, places]))
        return values, places

    def ask(
        self,
        operator: str,
        operands: Pairs,
        attributes: Mapping[str, Attribute],
        results: str,
        outputs: Sequence[str],
        declared: Mapping[str, TensorType | None] | None = None,
    ) -> None:
        """Add a step that makes those of its ``results`` whose id in ``outputs`` is not "".

        ``declared`` are types of results, by name, that the operator's rule may not know.
        """
        step = asked_step(operator, _present(operands), attributes, results, outputs)
        asked = step.attributes["outputs"]
        if declared and isinstance(asked, tuple):
            step = step._replace(declared=[declared.get(str(name)) for name in asked])
        self.steps.append(step)

    def set_aside(self, x: str, outputs: Sequence[str], declared: Sequence[TensorType | None], reason: str) -> None:
        """Add a step that nobody can count."""
        self.steps.append(Step(UNKNOWN, [("inputs", x)], {}, outputs, declared, reason=reason))

    def done(self, operator: str, operands: Pairs, attributes: Mapping[str, Attribute] | None = None) -> Sequence[Step]:
        """All steps, the last of which makes the results of the call."""
        self.steps.append(Step(operator, _present(operands), attributes or {}, self.call.outputs))
        return self.steps


def _present(operands: Pairs) -> Pairs:
    return [(name, tensor) for name, tensor in operands if tensor]


def required(call: Foreign, name: str) -> int:
    """A whole number in an attribute that the operator cannot do without.  Raises ``BadModel`` where it is missing."""
    found = call.get(name)
    if found is None:
        raise BadModel(f"this {call.op} lacks its attribute {name!r}", where=call.name)
    return int(found)


def heads_of(call: Foreign, name: str = "num_heads") -> int:
    """How many heads there are.  Raises ``BadModel`` where the attribute is missing, or less than 1."""
    heads = required(call, name)
    if heads < 1:
        raise BadModel(f"{name} is {heads}", where=call.name)
    return heads


def number_in(call: Foreign, position: int, absent: Attribute = UNKNOWN) -> Attribute:
    """The one whole number that an operand holds, unknown where that is not known before inference; ``absent`` without one."""
    if not call.has(position):
        return absent
    values = call.sizes(position)
    return values[0] if values is not None and len(values) == 1 else UNKNOWN
