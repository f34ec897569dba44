"""What a network costs, from the network alone: parameters, sizes, MACs, operations, activations, bytes moved.

``count`` makes ``NetworkFacts``.  Every number is exact under the convention named in docs/conventions.md, or None, or
(for totals) marked by ``exact`` and listed in ``uncounted``.
"""

from weighbridge.counts.facts import Activations, ConventionFacts, NetworkFacts, NodeFacts, Uncounted
from weighbridge.counts.network import count, parameters

__all__ = ["Activations", "ConventionFacts", "NetworkFacts", "NodeFacts", "Uncounted", "count", "parameters"]
