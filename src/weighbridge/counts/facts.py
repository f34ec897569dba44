"""The network facts as records, with the names of the report's JSON.

They are named tuples, not dataclasses: a network has as many ``NodeFacts`` as nodes, and start-up pays for every dataclass.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from weighbridge.graph import FileNode, Shape
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Loops, Work

__all__ = ["Activations", "ConventionFacts", "NetworkFacts", "NodeFacts", "Uncounted"]


class Uncounted(NamedTuple):
    """A node whose MACs the total misses, or of a loop all trips but one: its name (``loop/body/node`` in a body), what the
    file calls it, and why.
    """

    node: str
    operator: str
    reason: str


class Activations(NamedTuple):
    """Values that exist while the network runs, of the deployed graph.

    ``total`` and ``total_bytes``: the graph's inputs plus every node's outputs, views owning none; None where a shape is
    unknown.  ``peak``: elements at the worst moment by memory policy, None where unknown.
    """

    total: int | None
    total_bytes: int | None
    peak: Mapping[str, int | None] = MappingProxyType({})


class ConventionFacts(NamedTuple):
    """The figures of a network by a convention that is not ours; docs/conventions.md says what each counts.

    Unless ``exact`` they are lower bounds, and ``uncounted`` names the nodes that the convention has no rule for.
    ``activations`` are None by a convention that has no such figure, ``weight_bytes`` also where an element type has no size.
    """

    macs: int
    activations: int | None
    parameters: int
    weight_bytes: int | None
    exact: bool
    uncounted: tuple[Uncounted, ...]


class NodeFacts(NamedTuple):
    """One node of the deployed graph that runs once an inference.  None is unknown, never zero.

    ``parameters`` and ``weights`` are elements that its operands hold (a tensor that two nodes share is in both), and
    ``weight_bytes`` those of ``weights`` (a report saved by a version that had no such key does not know them);
    ``macs``, ``flops`` (2 x macs) and ``work`` include the functions in ``fused``; ``work.macs`` equals ``macs``.  ``output`` is
    the shape of the first output, ``output_bytes`` the bytes of all outputs (0 for a view, which owns none).
    ``read_bytes`` and ``write_bytes`` are compulsory traffic, weights included.  ``loops`` are its contractions as
    matrix products; ``uses_per_weight`` is macs / weights.  ``exact``: macs and parameters are both known for certain.
    ``file_node`` is the node of the model's file that it comes from (of several that were made one, that which made the
    result or held the weights), None for a network that no file with nodes holds, and in a report without the key.
    ``nonzero_weights`` are those of ``weights`` that are not zero, as far as that was said, and ``nonzero_macs`` the MACs by them;
    None where that is unknown, and in a report without the keys.
    """

    name: str
    scope: str
    module_call: int | None
    operator: str
    kind: str
    origin: str
    fused: tuple[str, ...]
    parameters: int | None
    weights: int | None
    macs: int | None
    flops: int | None
    work: Work | None
    output: Shape | None
    output_dtype: str
    output_bytes: int | None
    read_bytes: int | None
    write_bytes: int | None
    loops: tuple[Loops, ...]
    uses_per_weight: int | float | None
    exact: bool
    weight_bytes: int | None = None
    file_node: FileNode | None = None
    nonzero_weights: int | None = None
    nonzero_macs: int | None = None

    @property
    def macs_exact(self) -> bool:
        """Whether ``macs`` is the number itself: it is None where nothing is known, and a lower bound of a node in which a part,
        or how often it runs, is not.
        """
        return self.macs is not None and self.exact


class NetworkFacts(NamedTuple):
    """The facts of a network.

    Of the graph as the model holds it: ``parameters`` = ``weights`` + ``biases`` + ``other_parameters`` (elements, each
    storage once), ``parameter_bytes``, ``weight_bytes`` and ``constant_bytes`` (buffers and constants).  Of the deployed
    graph: ``deployed_parameters``, ``deployed_bytes`` (all that it stores), ``macs``, ``flops`` = ``ops`` = 2 x ``macs``,
    ``work``, ``activations`` and ``nodes``.
    Unless ``exact`` MACs and parameters are lower bounds and ``uncounted`` says what they miss; unless ``work_exact`` the same
    holds for the rest of ``work``.  Bytes are None where an element type has no size (strings).  ``conventions`` are the
    figures by other conventions, as far as they were asked for.

    ``nonzero_parameters`` are ``parameters`` without those that are zero and that a format could leave out, ``nonzero_macs`` the
    MACs by weights that are not zero: all of them where nobody said that any are zero.  They are beside the others and in none
    of them: bytes, MACs and times are those of dense tensors, as no runtime leaves zeros out by itself.  ``nonzero_macs`` is
    None where an operator may use some weights more often than others; both in a report that was saved without the keys.
    """

    parameters: int
    weights: int
    biases: int
    other_parameters: int
    deployed_parameters: int
    parameter_bytes: int | None
    weight_bytes: int | None
    constant_bytes: int | None
    deployed_bytes: int | None
    macs: int
    flops: int
    ops: int
    work: Work
    activations: Activations
    exact: bool
    work_exact: bool
    uncounted: tuple[Uncounted, ...]
    nodes: tuple[NodeFacts, ...]
    conventions: Mapping[str, ConventionFacts] = MappingProxyType({})
    notes: tuple[str, ...] = ()
    nonzero_parameters: int | None = None
    nonzero_macs: int | None = None
