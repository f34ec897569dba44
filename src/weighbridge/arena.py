"""What a runtime that plans its memory beforehand asks for: the buffers of its arena, and what it keeps beside them.

A front end fills this in where a file is made for such a runtime; the packing itself is a memory policy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from weighbridge.named_tuple import NamedTuple

__all__ = ["ALIGNMENT_BYTES", "REFERENCE", "Arena", "ArenaBuffer", "PersistentBytes", "kept_on_boards"]

ALIGNMENT_BYTES: Final = 16
"""Every buffer is rounded up to this (micro_arena_constants.h, tensorflow/tflite-micro)."""

REFERENCE: Final = "reference"
"""The library of kernels that every port of the runtime has."""

_POINTER_BYTES: Final = 4
"""Microcontrollers that run TensorFlow Lite Micro have addresses of 32 bits."""


class ArenaBuffer(NamedTuple):
    """A piece of the arena, ``bytes`` long before alignment, taken from scope ``first`` to scope ``last``, both included.

    ``name`` is the tensor that lies in it, or what the scratch is for; ``node`` the node in whose scope it is first needed,
    "" for an input of the network.  ``offset`` is where the file's own plan puts it, None where the runtime decides.
    """

    name: str
    bytes: int
    first: int
    last: int
    node: str = ""
    offset: int | None = None
    is_scratch: bool = False


class PersistentBytes(NamedTuple):
    """What a runtime keeps as long as the model is loaded, beside the arena's plan: an estimate, except for its structures.

    ``structure_bytes`` are those of the runtime's own structures, exact for a pointer of ``pointer_bytes``;
    ``kernel_bytes`` what the kernels of ``library`` keep, estimated as ``basis`` says, None where nobody knows.
    """

    library: str
    pointer_bytes: int
    structure_bytes: int
    kernel_bytes: int | None
    basis: str

    @property
    def total_bytes(self) -> int | None:
        """Structures and kernels, None where the kernels' part is not known."""
        return None if self.kernel_bytes is None else self.structure_bytes + self.kernel_bytes


def kept_on_boards(persistent: Iterable[PersistentBytes], library: str = REFERENCE) -> PersistentBytes | None:
    """What is kept where a pointer takes 4 bytes, with the kernels of ``library`` in whatever capitals; None without an entry."""
    for one in persistent:
        if one.pointer_bytes == _POINTER_BYTES and one.library.lower() == library.lower():
            return one
    return None


class Arena(NamedTuple):
    """The requests of one model, in the order in which the runtime makes them, which decides between buffers of one size.

    ``scopes`` has the node of every scope, "" for the one in which the inputs are filled.  ``reason`` says why there is no
    plan; then there are no buffers.  Without scopes and without a reason the requests are not known: those of a file that is
    weighed in other sizes or widths than its own.  Its graph is packed then, without the kernels' scratch, a lower bound.
    """

    buffers: tuple[ArenaBuffer, ...] = ()
    scopes: tuple[str, ...] = ()
    persistent: tuple[PersistentBytes, ...] = ()
    reason: str = ""

    @property
    def is_known(self) -> bool:
        """Whether the requests are those of the runtime, or there is a reason why there are none."""
        return bool(self.scopes or self.reason)
