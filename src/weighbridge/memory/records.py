"""A memory plan as records, with the names of the report's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from weighbridge.arena import PersistentBytes
from weighbridge.memory.training.records import TrainingPlan
from weighbridge.named_tuple import NamedTuple

__all__ = ["ARENA", "IN_PLACE", "NHCWB16", "POLICIES", "ArenaPlan", "MemoryPlan", "PlacedBuffer", "TensorSpan"]

IN_PLACE: Final = "_in_place"
"""Ends the name of a policy under which results are written over operands that die."""

NHCWB16: Final = "nhcwb16_vela"
"""The policy that has feature maps in bricks of 16 channels, as Vela lays them out for an Ethos-U."""

ARENA: Final = "arena_tflm"
"""The policy under which everything has an offset, as TensorFlow Lite Micro gives it one."""

_PLAIN: Final = ("pair", "live", "held", "held_contractions")

POLICIES: Final = (*_PLAIN, *(f"{policy}{IN_PLACE}" for policy in _PLAIN), "eager", ARENA, NHCWB16)
"""The policies that a plan has a peak for, or says why not."""


class TensorSpan(NamedTuple):
    """A storage of the running network: alive from node ``first`` to node ``last``, both included, counted over the nodes that run.

    ``name`` is the tensor that owns the values (views share its storage).  ``bytes`` is None where the size is unknown.
    ``offset`` is where it lies under ``arena_tflm``, None where that policy does not apply or the runtime has no such buffer.
    """

    name: str
    bytes: int | None
    first: int
    last: int
    offset: int | None = None


class PlacedBuffer(NamedTuple):
    """A buffer of an arena: at ``offset``, from scope ``first`` to scope ``last``, both included.

    ``aligned_bytes`` are ``bytes`` rounded up to the alignment.  ``name`` is the tensor that lies in it, or what the scratch is
    for; ``node`` is where it is first needed, "" for an input.  ``first`` and ``last`` are None of what the runtime places
    and no operator touches.
    """

    name: str
    bytes: int
    aligned_bytes: int
    offset: int
    first: int | None
    last: int | None
    node: str = ""
    is_scratch: bool = False


class ArenaPlan(NamedTuple):
    """The arena under ``arena_tflm``: ``bytes`` is the highest end of a buffer.

    ``source`` is ``runtime`` where the file is for TensorFlow Lite Micro, with what its reference kernels ask for, and
    ``graph`` where the storages of the deployed graph are packed in its way.  ``scratch`` names the scratch that was added on
    request, "" for none.

    ``no_reuse_bytes`` are all buffers beside each other.  ``lower_bound_bytes`` are those that are alive at once, at most,
    which no plan can do without (where the file itself puts two of them in one place, it counts once); ``excess_bytes`` is how
    far the arena is above them.  ``peak_scope`` is the scope, of an operator where there is one, at which most is alive among
    those at which the highest end is in use; ``peak_node`` is the node there, and ``fragmentation_bytes`` is what is free below
    that end then.  Both are None without buffers.  ``scopes`` has the node of each scope, "" for the one in which inputs are
    filled.
    """

    source: str
    scratch: str
    bytes: int
    no_reuse_bytes: int
    lower_bound_bytes: int
    excess_bytes: int
    fragmentation_bytes: int
    peak_scope: int | None
    peak_node: str | None
    scopes: tuple[str, ...]
    buffers: tuple[PlacedBuffer, ...]


class MemoryPlan(NamedTuple):
    """Peaks by policy, in bytes and in elements, and the profile over the nodes that run (aligned with ``NetworkFacts.nodes``).

    ``peak_node`` is the first node at which the peak in bytes is reached; None without nodes or without a peak.
    ``peak_elements`` has a worst moment of its own where element types differ in size.  ``profile`` has the bytes alive at each
    node.  ``held_contractions``, in place or not, has none of its own: it is the profile of ``held``, of which the largest at
    convolutions and linear layers is taken.
    A policy that does not apply has the reason in ``inapplicable``, no profile, and None for its peak: ``held`` where the blocks
    of the model are not known, ``held_contractions`` also without such layers, ``eager`` where no framework ran the model,
    ``arena_tflm`` where the runtime refuses the model or a size is unknown, ``nhcwb16_vela`` where layers compute in floating
    point, there is control flow or a layer that Vela takes apart, or nobody knows which axis of a tensor holds channels.
    ``eager`` knows no elements, its node is one of the graph as written, and its profile, which is missing where the nodes run
    in another order than the calls, has what was held from a node to the next.  ``arena_tflm`` knows no elements either; its
    profile has the highest end in use from a node to the next, its node is the fullest of those that reach the peak, and
    ``arena`` is the whole plan.
    ``tensors`` are all storages with the first and the last node at which each is alive: the profile of ``live`` at a node is
    the sum of those that are alive at it, unless bodies of control flow need more.
    A figure that depends on a tensor of unknown size is None, ``exact`` is then false and ``notes`` names the tensor.
    ``variable_bytes`` are tensors that survive from one inference to the next (role ``state``), those in bodies as well: beside
    the peaks, not in them; each rounded up to 16 B where TensorFlow Lite Micro keeps them.  ``persistent`` is what that runtime
    keeps beside arena and variables as long as the model is loaded, by library of kernels and size of a pointer;
    ``persistent_bytes``, an estimate, is the sum of the entry for its reference kernels and pointers of 32 bits.  Empty and None
    where the file is for no such runtime.  ``training`` is None unless a training plan was asked for.
    """

    peak_bytes: Mapping[str, int | None]
    peak_elements: Mapping[str, int | None]
    peak_node: Mapping[str, str | None]
    profile: Mapping[str, tuple[int | None, ...]]
    tensors: tuple[TensorSpan, ...]
    variable_bytes: int | None
    persistent_bytes: int | None
    exact: bool
    training: TrainingPlan | None = None
    inapplicable: Mapping[str, str] = MappingProxyType({})
    arena: ArenaPlan | None = None
    persistent: tuple[PersistentBytes, ...] = ()
    notes: tuple[str, ...] = ()
