"""What both readers of PyTorch programs do alike, so that a module and its export give the same tensors, calls and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from weighbridge.dtypes import DTYPES
from weighbridge.frontends.aten_call import AtenCall, AtenTensor, Ref
from weighbridge.graph import Role, TensorType

__all__ = ["NUMBER_ARGUMENTS", "Recording", "base_name"]

NUMBER_ARGUMENTS: Final = frozenset({"self", "other", "exponent", "b"})
"""Number arguments that stand in the place of a tensor; ``b`` is that of quantised operators."""


def base_name(name: str) -> str:
    """The name of the operator whose in-place form this may be: ``add`` for ``add_``, ``__and__`` as it is."""
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


class Recording:
    """The tensors and calls of one program while it is read; ``tensors`` are those that exist before the first call."""

    def __init__(self) -> None:
        self.tensors: dict[str, AtenTensor] = {}
        self.calls: list[AtenCall] = []
        self._used: Counter[str] = Counter()
        self._begins_with: dict[str, str] = {}
        self._numbers: dict[tuple[str, str], Ref] = {}

    def unused(self, name: str) -> str:
        """``name``, or ``name`` with the first free number behind it; taken from now on."""
        self._used[name] += 1
        while (count := self._used[name]) > 1:
            numbered = f"{name}#{count}"
            self._used[numbered] += 1
            if self._used[numbered] == 1:
                return numbered
            self._used[name] += 1
        return name

    def call_name(self, scope: str, word: str, *, is_leaf: bool) -> str:
        """A new name for a call of the operator ``word``: its module's and the word.

        A module with none inside gives its own name to the operator that it begins with, which mostly is its only one.
        """
        if scope and is_leaf and self._begins_with.setdefault(scope, word) == word:
            return self.unused(scope)
        return self.unused(f"{scope}.{word}" if scope else word)

    def number(self, number: complex | str) -> Ref:
        """A number in the place of a tensor, as a constant without dimensions, each once; text names one that is not known."""
        dtype = _number_dtype(number)
        key = repr(number), dtype
        if key not in self._numbers:
            name = self.unused(f"constant.{number}")
            self.tensors[name] = AtenTensor(name, TensorType((), DTYPES[dtype]), Role.CONSTANT)
            self._numbers[key] = Ref(name)
        return self._numbers[key]

    def finished(self, outputs: Iterable[str]) -> tuple[AtenCall, ...]:
        """The calls, with "" for every further result that nobody reads; the first stays, so that the call does."""
        read = set(outputs).union(*[call.types for call in self.calls])
        return tuple(
            call
            if len(call.outputs) < 2
            else call._replace(
                outputs=tuple([one if place == 0 or one in read else "" for place, one in enumerate(call.outputs)])
            )
            for call in self.calls
        )


def _number_dtype(number: complex | str) -> str:
    if isinstance(number, bool):
        return "bool"
    return "int64" if isinstance(number, int) else "complex64" if isinstance(number, complex) else "float32"
