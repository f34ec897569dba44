"""What a convention's record holds, and what its rules may see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Final, NoReturn

from weighbridge.errors import GraphError
from weighbridge.graph import Graph, Node, Role
from weighbridge.memory.channels import Places, channel_axes
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Call, Kind, Op, known_total
from weighbridge.operators.rules import axes_of
from weighbridge.operators.shapes import frame_of
from weighbridge.passes.padding import is_convolutions_own
from weighbridge.passes.rewrite import body_tensors
from weighbridge.passes.static import runs, static_tensors

__all__ = [
    "POOLS",
    "Around",
    "Convention",
    "Rule",
    "Use",
    "every_tap",
    "is_no_contraction",
    "is_over_places",
    "learned_bytes",
    "products",
    "refuse",
    "transposed_channels",
    "window_values",
]


class Use(NamedTuple):
    """One use of an operator, and what its graph does with the tensors around it.

    ``stored`` are the operands that depend on no input; ``own`` has for each operand, in order, whether a node that runs makes it
    for this node alone; ``leaves`` has for each result whether it is a result of the network.  ``is_taken_over``: whether it is
    padding that convolutions alone read, which could do it themselves.  ``channels`` are those of the first result, None where
    nobody says which axis they are on.
    """

    op: Op
    call: Call
    stored: frozenset[str] = frozenset()
    own: tuple[bool, ...] = ()
    leaves: tuple[bool, ...] = (False,)
    is_taken_over: bool = False
    channels: int | None = None

    @property
    def result(self) -> int:
        """Elements of the first result."""
        return self.call.outputs[0].elements


Rule = Callable[[Use], int]
"""Raises ``GraphError`` where the convention has no figure for such a use."""


class Convention(NamedTuple):
    """How another counter counts: rules by operator.

    An operator without a rule counts nothing if ``is_free`` says so; else it is not counted and makes the figures lower
    bounds.  ``fused`` is the rule for functions that are merged into the operator before them, None where they count nothing.
    ``activations`` is None where the counter has no such figure.  ``weight_bytes`` are the bytes of what it calls weights.

    ``deployed``: whether it reads the graph as it runs, as a compiler does that folds and fuses, or as the model holds it.
    ``sentence`` stands beside the figures, and ``figure`` is what the counter calls that of ``macs``.
    """

    sentence: str
    macs: Mapping[str, Rule]
    activations: Mapping[str, Rule] | None
    is_free: Callable[[Op], bool]
    weight_bytes: Callable[[Graph, Sequence[Use]], int | None]
    fused: Rule | None = None
    deployed: bool = False
    figure: str = "MACs"


class Around:
    """The surroundings of the nodes of one graph."""

    def __init__(self, graph: Graph, operators: Mapping[str, Op]) -> None:
        self.graph, self.operators = graph, operators
        self.static = static_tensors(graph, operators)
        self._places: Places | None = None
        self._made = set(chain.from_iterable(node.outputs for node in graph.nodes))
        self._leaves = frozenset(graph.outputs) | body_tensors(graph)
        self._readers: dict[str, list[Node]] = {}
        for node in graph.nodes:
            for _, tensor in node.operands:
                self._readers.setdefault(tensor, []).append(node)

    def use(self, op: Op, node: Node, call: Call) -> Use:
        static = self.static
        return Use(
            op,
            call,
            frozenset(name for name, tensor in node.operands if tensor in static),
            tuple(self._is_own(tensor) for _, tensor in node.operands),
            tuple(tensor in self._leaves for tensor in node.outputs),
            op.name == "pad" and self._is_taken_over(node),
            self.channels(node),
        )

    def channels(self, node: Node) -> int | None:
        """The channels of the first result of a node, None where nobody says which axis they are on."""
        if self._places is None:
            nodes = [one for one in self.graph.nodes if runs(one, self.static)]
            running = [tensor for tensor in self.graph.tensors if tensor not in self.static]
            self._places = channel_axes(self.graph, nodes, running, self.operators)
        result = node.outputs[0]
        shape, axis = self.graph.tensors[result].shape, self._places.axes.get(result)
        return None if axis is None or shape is None else shape[axis]

    def _is_taken_over(self, node: Node) -> bool:
        (padded,) = node.outputs
        return padded not in self._leaves and is_convolutions_own(node, self._readers.get(padded, ()), self.graph)

    def _is_own(self, tensor: str) -> bool:
        is_read_once = len(self._readers[tensor]) == 1 and tensor not in self._leaves
        return is_read_once and tensor in self._made and tensor not in self.static


POOLS: Final = frozenset(
    {
        "max_pool",
        "average_pool",
        "global_max_pool",
        "global_average_pool",
        "adaptive_max_pool",
        "adaptive_average_pool",
    }
)
"""The pools whose windows compilers for small devices count value by value."""

_PLACES: Final = ({1, 2}, {2, 3})
"""The axes of a map's places, with the channels last or first."""


def is_over_places(use: Use) -> bool:
    """Whether a reduction is over the places of a map, so that it is a pool."""
    return len(use.call.x.shape) == 4 and set(axes_of(use.call, 4)) in _PLACES


def is_no_contraction(op: Op) -> bool:
    return op.kind != Kind.CONTRACTION


def learned_bytes(graph: Graph, uses: Iterable[Use]) -> int | None:
    """The bytes of all learned elements, each storage once; None where an element type has no size."""
    return known_total(tensor.bytes for tensor in graph.stored() if tensor.role is Role.PARAMETER)


def products(use: Use) -> int:
    """The multiply-accumulates that the operator's own record states."""
    return use.op.macs(use.call)


def window_values(use: Use) -> int:
    """The values that all windows of a pool hold together, padding included: a result takes one operation fewer than it has values."""
    work = use.op.work(use.call)
    return use.result if work is None else use.result + work.add + work.compare


def every_tap(use: Use) -> int:
    """The multiply-accumulates of a transposed convolution that runs as a convolution of the stretched input: zeros count."""
    (loops,) = use.op.loops(use.call) if use.op.loops is not None else ()
    return loops.groups * loops.m * loops.k * (use.result // transposed_channels(use))


def transposed_channels(use: Use) -> int:
    """The output channels of a transposed convolution."""
    call = use.call
    return frame_of(call.outputs[0], len(call.w.shape) - 2, call.text("layout")).channels


def refuse(reason: str) -> NoReturn:
    """What a rule does that has no figure for a use: raises ``GraphError``."""
    raise GraphError(reason)
