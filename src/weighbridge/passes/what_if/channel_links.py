"""Which channels of a graph have to have one size: the rule of each operator, and the graph gone through with them.

An operator without a rule here, a node with bodies, and one whose shapes are unknown hold all that they touch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from weighbridge.dtypes import DType
from weighbridge.errors import GraphError
from weighbridge.graph import Graph, Node, TensorType
from weighbridge.operators.record import Call, Kind, Op
from weighbridge.operators.rules import reads_nothing
from weighbridge.passes.rewrite import body_tensors, call_of
from weighbridge.passes.what_if import channel_layers as layers
from weighbridge.passes.what_if import channel_moves as moves
from weighbridge.passes.what_if.channel_site import Axes, Mend, NotFollowed, Site
from weighbridge.passes.what_if.channel_spaces import Spaces, Term

__all__ = ["Links", "link"]

Rule = Callable[[Site], tuple[Axes, ...]]

_RULES: Final[Mapping[str, Rule]] = {
    "conv": layers.convolution,
    "deformable_conv": layers.convolution,
    "conv_transpose": layers.transposed_convolution,
    "linear": layers.linear,
    "matmul": layers.matmul,
    "einsum": layers.einsum,
    "attention": layers.attention,
    "embedding": layers.embedding,
    "batch_norm": layers.batch_norm,
    "instance_norm": layers.batch_norm,
    "group_norm": layers.group_norm,
    "layer_norm": layers.layer_norm,
    "rms_norm": layers.layer_norm,
    "resize": moves.resize,
    "reshape": moves.reshape,
    "flatten": moves.reshape,
    "squeeze": moves.reshape,
    "unsqueeze": moves.reshape,
    "transpose": moves.transpose,
    "concat": moves.concat,
    "split": moves.split,
    "slice": moves.slices,
    "pad": moves.pad,
    "expand": moves.expand,
    "tile": moves.tile,
    "gather": moves.gather,
    "depth_to_space": moves.depth_to_space,
    "space_to_depth": moves.space_to_depth,
    "space_to_batch": moves.batch_blocks,
    "batch_to_space": moves.batch_blocks,
    "grid_sample": layers.sampled,
    **dict.fromkeys(("constant_of_shape", "random_uniform", "random_normal"), moves.filled),
    **dict.fromkeys(("quantize", "dequantize", "requantize", "fake_quantize"), layers.quantisation),
    **dict.fromkeys(
        (
            "identity",
            "dropout",
            "updated",
            "roll",
            "cast",
            "is_nan",
            "is_inf",
            "is_finite",
            "random_uniform_like",
            "random_normal_like",
        ),
        layers.same,
    ),
    **dict.fromkeys(
        ("softmax", "log_softmax", "hardmax", "mean_variance_norm", "local_response_norm", "lp_norm"), layers.same
    ),
    **dict.fromkeys(("cumsum", "cumprod", "cumulative_log_sum_exp", "cumulative_max", "cumulative_min"), layers.same),
    **dict.fromkeys(("add", "sub", "mul", "div", "floor_div", "mod", "squared_difference", "pow"), layers.stretched),
    **dict.fromkeys(("atan2", "hypot", "log_add_exp", "copy_sign", "heaviside"), layers.stretched),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "bit_shift", "and", "or", "xor"), layers.stretched),
    **dict.fromkeys(("equal", "not_equal", "greater", "greater_or_equal", "less"), layers.stretched),
    **dict.fromkeys(("less_or_equal", "sum", "mean", "max", "min", "where", "prelu"), layers.stretched),
    **dict.fromkeys(("max_pool", "average_pool", "lp_pool", "adaptive_max_pool"), layers.pool),
    **dict.fromkeys(("adaptive_average_pool", "fractional_max_pool", "global_max_pool"), layers.pool),
    **dict.fromkeys(("global_average_pool", "global_lp_pool", "max_unpool"), layers.pool),
    **dict.fromkeys(("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"), layers.reduction),
    **dict.fromkeys(("reduce_l1", "reduce_l2", "reduce_sum_square", "reduce_log_sum"), layers.reduction),
    **dict.fromkeys(("reduce_log_sum_exp", "variance", "arg_max", "arg_min"), layers.reduction),
}
"""By operator; functions of one tensor are followed by their kind, and what looks at shapes alone holds nothing."""

_LOOKS_AHEAD: Final = 8
"""So many functions may stand between a reshape and the layer that says which axis has the channels."""

_OUTPUTS: Final = "its channels are the network's outputs"


class Links:
    """The axes of every tensor, by its id, and what follows for the nodes, by their names.

    ``made`` are the output channels of layers, ``mends`` renew the attributes that hold sizes, ``lost`` says of nodes that
    are not followed why.
    """

    def __init__(self, graph: Graph, operators: Mapping[str, Op]) -> None:
        self.graph = graph
        self.operators = operators
        self.spaces = Spaces()
        self.axes: dict[str, Axes] = {}
        self.made: dict[str, Term] = {}
        self.mends: dict[str, Mend] = {}
        self.lost: dict[str, str] = {}
        self._readers = graph.readers()

    def axes_of(self, tensor: str) -> Axes:
        """The axes of a tensor; those of a stored one are free until it is read, those of what nobody follows keep their size."""
        found = self.axes.get(tensor)
        if found is None:
            held = self.graph.tensors[tensor]
            shape = held.shape or ()
            free = held.role.is_stored
            found = tuple(self.spaces.new(size) if free and size > 1 else None for size in shape)
            self.axes[tensor] = found
        return found

    def hold_node(self, node: Node, reason: str) -> None:
        """Keep all that a node touches."""
        for tensor in (*node.inputs, *node.outputs):
            self.hold(tensor, reason)

    def hold(self, tensor: str, reason: str) -> None:
        """Keep all axes of a tensor."""
        for axis in self.axes_of(tensor):
            self.spaces.hold(axis, reason)

    def follow(self, node: Node) -> None:
        """Tie what a node ties, and say what its results are made of."""
        op = self.operators.get(node.operator)
        rule = None if op is None or node.bodies else _rule_of(op)
        call = None if rule is None or op is None else self._call(node, op)
        if op is not None and op.traffic is reads_nothing and rule is None and not node.bodies:
            return
        if rule is None or call is None:
            self._lose(node, f"nobody knows how {node.name} ({node.origin or node.operator}) ties channels")
            return
        operands: dict[str, list[Axes]] = {}
        for name, tensor in node.operands:
            operands.setdefault(name, []).append(self.axes_of(tensor))
        site = Site(node, call, operands, self.spaces, self._hint(node))
        try:
            results = rule(site)
            self._check(call, results)
        except (NotFollowed, GraphError):
            self._lose(node, f"{node.name} ({node.operator}) ties channels in a way that is not followed")
            return
        self.axes.update(zip(node.outputs, results, strict=True))
        if site.mend is not None:
            self.mends[node.name] = site.mend
        if site.made is not None:
            self.made[node.name] = site.made

    def _lose(self, node: Node, reason: str) -> None:
        self.lost[node.name] = reason
        self.hold_node(node, reason)

    def _check(self, call: Call, results: tuple[Axes, ...]) -> None:
        """Whether the axes that a rule answers are of the sizes that the results have."""
        if len(results) != len(call.outputs):
            raise NotFollowed
        for kind, axes in zip(call.outputs, results, strict=True):
            sizes = [
                size if axis is None else self.spaces.size(axis) for axis, size in zip(axes, kind.shape, strict=False)
            ]
            if len(axes) != len(kind.shape) or tuple(sizes) != kind.shape:
                raise NotFollowed

    def _call(self, node: Node, op: Op) -> Call | None:
        """What the rules see of a node; None where a shape is unknown, or not what the operator's own rule says."""
        try:
            call = call_of(node, self.graph)
            inferred = op.infer(Call(call.operands, call.attributes))
        except GraphError:
            return None
        return call if _shapes(inferred) == _shapes(call.outputs) else None

    def _hint(self, node: Node) -> int | None:
        """The axis that a layer behind ``node`` has its channels on, other functions of single elements in between."""
        if node.operator != "reshape":
            return None
        tensor = node.outputs[0]
        for _ in range(_LOOKS_AHEAD):
            readers = [self.graph.nodes[place] for place in self._readers.get(tensor, ())]
            if not readers or not readers[0].outputs:
                return None
            reader = readers[0]
            shape, result = self.graph.tensors[tensor].shape, self.graph.tensors[reader.outputs[0]].shape
            if "layout" in reader.attributes and shape is not None and ("x", tensor) in reader.operands:
                return 1 if reader.attributes["layout"] == "channels_first" else len(shape) - 1
            op = self.operators.get(reader.operator)
            if shape != result or op is None or _rule_of(op) is None:
                return None
            tensor = reader.outputs[0]
        return None


def _rule_of(op: Op) -> Rule | None:
    return _RULES.get(op.name) or (layers.same if op.kind == Kind.UNARY else None)


def _shapes(types: tuple[TensorType | DType, ...]) -> list[object]:
    return [one.shape if isinstance(one, TensorType) else None for one in types]


def link(graph: Graph, operators: Mapping[str, Op]) -> Links:
    """Go through a graph: its inputs and outputs keep their sizes, and so does what bodies of nodes mention."""
    links = Links(graph, operators)
    inside = body_tensors(graph)
    for node in graph.nodes:
        links.follow(node)
    for tensor in graph.outputs:
        links.hold(tensor, _OUTPUTS)
    for tensor in inside & graph.tensors.keys():
        links.hold(tensor, "a loop or a branch reads its channels")
    return links
