"""A memory plan as records, with the names of the report's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

__all__ = ["IN_PLACE", "POLICIES", "MemoryPlan", "TensorSpan"]

IN_PLACE: Final = "_in_place"
"""Ends the name of a policy under which results are written over operands that die."""

_PLAIN: Final = ("pair", "live", "held", "held_contractions")

POLICIES: Final = (*_PLAIN, *(f"{policy}{IN_PLACE}" for policy in _PLAIN), "eager")
"""The policies that a plan has a peak for, or says why not."""


class TensorSpan(NamedTuple):
    """A storage of the running network: alive from node ``first`` to node ``last``, both included, counted over the nodes that run.

    ``name`` is the tensor that owns the values (views share its storage).  ``bytes`` is None where the size is unknown,
    ``offset`` where no policy places tensors in an arena.
    """

    name: str
    bytes: int | None
    first: int
    last: int
    offset: int | None = None


class MemoryPlan(NamedTuple):
    """Peaks by policy, in bytes and in elements, and the profile over the nodes that run (aligned with ``NetworkFacts.nodes``).

    ``peak_node`` is the first node at which the peak in bytes is reached; None without nodes or without a peak.
    ``peak_elements`` has a worst moment of its own where element types differ in size.  ``profile`` has the bytes alive at each
    node.  ``held_contractions``, in place or not, has none of its own: it is the profile of ``held``, of which the largest at
    convolutions and linear layers is taken.
    A policy that does not apply has the reason in ``inapplicable``, no profile, and None for its peak: ``held`` where the blocks
    of the model are not known, ``held_contractions`` also without such layers, ``eager`` where no framework ran the model.
    ``eager`` knows no elements, its node is one of the graph as written, and its profile, which is missing where the nodes run
    in another order than the calls, has what was held from a node to the next.
    ``tensors`` are all storages with the first and the last node at which each is alive: the profile of ``live`` at a node is
    the sum of those that are alive at it, unless bodies of control flow need more.
    A figure that depends on a tensor of unknown size is None, ``exact`` is then false and ``notes`` names the tensor.
    ``variable_bytes`` are tensors that survive from one inference to the next (role ``state``): beside the peaks, not in
    them.  ``persistent_bytes`` are a runtime's own structures: None where no runtime is modelled.  ``training`` is None
    unless a training plan was asked for.
    """

    peak_bytes: Mapping[str, int | None]
    peak_elements: Mapping[str, int | None]
    peak_node: Mapping[str, str | None]
    profile: Mapping[str, tuple[int | None, ...]]
    tensors: tuple[TensorSpan, ...]
    variable_bytes: int | None
    persistent_bytes: int | None
    exact: bool
    training: Mapping[str, int | None] | None = None
    inapplicable: Mapping[str, str] = MappingProxyType({})
    notes: tuple[str, ...] = ()
