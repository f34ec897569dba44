"""Every error a user can meet.

``WeighbridgeError``
  - ``BadModel``: a model file or object that cannot be what it claims to be
  - ``BadSpec``: a network, device, option or budget written by hand, with a fault in it
  - ``UnsupportedFormat``: a source that no front end reads
  - ``MissingExtra``: a front end whose library is not installed
  - ``NeedsShape``: a dynamic dimension that only the user can decide
  - ``MeasureError``: a run that did not come about: a runtime that refuses the model, or ended
  - ``GraphError``: a graph that contradicts itself

A message is one line: where, what, what to do next; a file with several faults adds one line for each (``details``).
The text of a hostile file never carries control characters into it.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "BadModel",
    "BadSpec",
    "GraphError",
    "MeasureError",
    "MissingExtra",
    "NeedsShape",
    "UnsupportedFormat",
    "WeighbridgeError",
    "internal",
    "printable",
    "said_by",
]


def printable(text: str, limit: int = 200) -> str:
    """``text`` on one line, with control and bidirectional characters escaped, cut after ``limit`` characters."""
    if len(text) <= limit and text.isprintable():
        return text
    seen = text[:limit]  # what is behind it is cut, however long
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in seen)
    return shown if max(len(shown), len(text)) <= limit else shown[: limit - 1] + "…"


def said_by(error: BaseException) -> str:
    """What somebody else's exception says; "" where it says nothing, or cannot even do that."""
    try:
        return str(error)
    except Exception:
        return ""


def internal(error: BaseException) -> str:
    """What is said, on one line, of an exception that nothing of ours expects."""
    kind = printable(f"{type(error).__name__}: {said_by(error)}")
    advice = "this is a fault of weighbridge, not yours; please report it with the output of WEIGHBRIDGE_DEBUG=1"
    return f"internal error: {kind}; {advice}"


class WeighbridgeError(Exception):
    """The base of the tree: ``what`` is wrong, ``where`` (file, node, ``$.path``), and a ``hint`` of what to do.

    ``details`` are the single faults, a line each, where one file has several.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "", details: Sequence[str] = ()) -> None:
        self.what = printable(what, 600)
        self.where = printable(where)
        self.hint = printable(hint, 400)
        self.details = tuple(printable(detail, 400) for detail in details)
        super().__init__(what, where, hint)

    def __str__(self) -> str:
        located = f"{self.where}: {self.what}" if self.where else self.what
        summary = f"{located}; {self.hint}" if self.hint else located
        if len(self.details) == 1:
            return f"{summary}: {self.details[0]}"
        return "\n".join((summary, *(f"  {detail}" for detail in self.details)))

    def at(self, where: str) -> WeighbridgeError:
        """The same error, placed inside an outer location such as a file."""
        inner = f"{where}: {self.where}" if self.where else where
        return type(self)(self.what, where=inner, hint=self.hint, details=self.details)


class BadModel(WeighbridgeError):
    """A model that is damaged, hostile or inconsistent."""


class BadSpec(WeighbridgeError):
    """A hand-written network, device, option or budget with a fault."""


class UnsupportedFormat(WeighbridgeError):
    """No front end reads this source."""


class MissingExtra(WeighbridgeError):
    """The library that reads this source is not installed."""


class NeedsShape(WeighbridgeError):
    """The model leaves a dimension open and the user did not give it."""


class MeasureError(WeighbridgeError):
    """A run that did not come about: the runtime refuses the model, has no memory for it, or ended without a word."""


class GraphError(WeighbridgeError):
    """A graph that contradicts itself: an operand nobody makes, shapes an operator cannot take."""
