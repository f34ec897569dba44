"""A file that was written in another order of execution: what it needs, weighed again, and how that is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from weighbridge.errors import printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.units import exact

__all__ = ["Exported", "exported_sentences"]

_NAME: Final = 200


class Exported(NamedTuple):
    """The file at ``path``: its ``nodes``, and of them ``moved`` at another place than in the source, whose bytes it has where none is.

    ``before_bytes`` is the peak under ``live`` of the source, ``promised_bytes`` that of the best order that was found, and
    ``peak_bytes`` that of the file as it was written and read again; so are the peaks by ``arena_tflm``, None where that does not
    apply.  ``notes`` say what else than the order was changed.
    """

    path: str
    format: str
    nodes: int
    moved: int
    before_bytes: int
    promised_bytes: int
    peak_bytes: int
    arena_before_bytes: int | None
    arena_bytes: int | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> Mapping[str, object]:
        """Plain dicts, lists, numbers and strings, as the JSON has them."""
        return {**self._asdict(), "notes": list(self.notes)}


def exported_sentences(found: Exported) -> Iterator[str]:
    """What was written, whether it is what the search promised, and what a runtime with one arena makes of it."""
    path = printable(found.path, _NAME)
    if not found.moved:
        why = "no better order was found" if found.promised_bytes >= found.before_bytes else _HELD
        yield f"{path} is the source byte for byte: {why}"
        return
    head = (
        f"{path} has {exact(found.moved)} of {exact(found.nodes)} nodes at another place; weighed again, its peak is "
    )
    if found.peak_bytes == found.promised_bytes:
        yield f"{head}{exact(found.peak_bytes)} B by live, as found"
    else:
        yield f"{head}{exact(found.peak_bytes)} B by live and not {exact(found.promised_bytes)} B: {_LIMIT}"
    if found.format == "onnx":
        yield _SORTS
    yield from _arena(found.arena_before_bytes, found.arena_bytes)
    yield from (f"in the file {printable(note, 400)}" for note in found.notes)


_SORTS: Final = (
    "ONNX Runtime follows the file where its execution_order is PRIORITY_BASED; by default it sorts the nodes itself"
)
_LIMIT: Final = "some layers above are one node of the file, or keep an order there"
_HELD: Final = f"the better order is none that the file could have, as {_LIMIT}"


def _arena(before: int | None, after: int | None) -> Iterator[str]:
    if before is None or after is None:
        return
    sizes = f"{exact(after)} B by arena_tflm in place of {exact(before)} B"
    if after > before:
        yield f"packed into one arena it is WORSE, {sizes}: for a runtime that does so keep the source"
    elif after < before:
        yield f"packed into one arena it is smaller as well, {sizes}"
    else:
        yield f"packed into one arena it is as large as before, {exact(after)} B by arena_tflm"
