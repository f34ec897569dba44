"""A memory plan as records, with the names of the report's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["MemoryPlan", "TensorSpan"]


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

    ``peak_node`` is the first node at which the peak in bytes is reached; None without nodes or without a peak.  A policy
    that does not apply (``held`` where the blocks of the model are not known, ``held_contractions`` without such layers) has
    None; ``held`` then has no profile, and ``held_contractions``, whose profile is that of ``held``, never has one.  The policy
    ``eager`` is there where a framework ran the model; it knows no elements, its node is one of the graph as written, and its
    profile, which is missing where the nodes run in another order than the calls, has what was held from a node to the next.  A figure
    that depends on a tensor of unknown size is None, ``exact`` is then false and ``notes`` names the tensor.
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
    notes: tuple[str, ...] = ()
