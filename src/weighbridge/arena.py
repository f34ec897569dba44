"""What a runtime that plans its memory beforehand asks for: the buffers of its arena, and what it keeps beside them.

A front end fills this in where a file is made for such a runtime; the packing itself is a memory policy.
"""

from __future__ import annotations

from weighbridge.named_tuple import NamedTuple

__all__ = ["Arena", "ArenaBuffer", "PersistentBytes"]


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


class Arena(NamedTuple):
    """The requests of one model, in the order in which the runtime makes them, which decides between buffers of one size.

    ``scopes`` has the node of every scope, "" for the one in which the inputs are filled.  ``reason`` says why there is no
    plan; then there are no buffers.
    """

    buffers: tuple[ArenaBuffer, ...] = ()
    scopes: tuple[str, ...] = ()
    persistent: tuple[PersistentBytes, ...] = ()
    reason: str = ""
