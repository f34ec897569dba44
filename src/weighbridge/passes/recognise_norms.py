"""Layer norm and RMS norm, written as means, squares and a root."""

from __future__ import annotations

from collections.abc import Iterator

from weighbridge.errors import GraphError
from weighbridge.graph import UNKNOWN, Node
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.rules import axes_of
from weighbridge.passes.wiring import Match, Wiring, other_operand

__all__ = ["normalisation"]


class _Deviation(NamedTuple):
    """The root of the mean square of ``centred`` over so many last axes, and the nodes that compute it."""

    centred: str
    axes: int
    parts: tuple[Node, ...]


class _Norm(NamedTuple):
    """A normalised tensor as far as it is followed: of ``x``, by the nodes ``parts``, the last of which makes it.

    ``name`` is the operator that it is, ``wide`` x in the type in which it is computed, where that is there; ``scale`` and
    ``bias`` are "" where there are none.
    """

    name: str
    x: str
    wide: str
    parts: tuple[Node, ...]
    scale: str = ""
    bias: str = ""

    @property
    def result(self) -> str:
        return self.parts[-1].outputs[0]


def normalisation(wiring: Wiring, root: Node) -> Match | None:
    """The layer norm or RMS norm around ``root``: the sqrt or rsqrt of a mean square and a number.

    Layer norm is (x - mean) / sqrt(mean((x - mean)^2) + c), RMS norm x / sqrt(mean(x^2) + c), over one or several last axes.
    A stored scale of their size that follows is part of it, and in layer norm a bias.  The square is a product or a
    power, the division one by the root or a product with its inverse, which the scale may multiply first; the difference may be
    computed twice, and all of it in a wider type if the result returns to that of x.  As a graph holds no values, the exponent
    is any stored number: below a root nobody writes another than 2.
    """
    deviation = _deviation(wiring, root)
    if deviation is None or deviation.centred in wiring.static:
        return None
    for norm in _divided(wiring, root, deviation):
        match = _match(wiring, _followed(wiring, norm, deviation.axes), deviation.axes)
        if match is not None:
            return match
    return None


def _deviation(wiring: Wiring, root: Node) -> _Deviation | None:
    total = wiring.part(root.operands[0][1], "add")
    mean = None if total is None else wiring.part(wiring.beside_number(total), "reduce_mean")
    square = None if mean is None else wiring.part(mean.operands[0][1], "mul", "pow", "square")
    if total is None or mean is None or square is None:
        return None
    axes, centred = _last_axes(wiring, mean), _squared(wiring, square)
    return _Deviation(centred, axes, (root, total, mean, square)) if axes and centred else None


def _last_axes(wiring: Wiring, mean: Node) -> int:
    """Over how many last axes a mean is taken; 0 where it is over others, or they are not kept."""
    call = wiring.call(mean, {})
    if call is None or not call["keep_dims"]:
        return 0
    rank = len(call.x.shape)
    try:
        axes = axes_of(call, rank)
    except GraphError:
        return 0
    return len(axes) if sorted(axes) == list(range(rank - len(axes), rank)) else 0


def _squared(wiring: Wiring, square: Node) -> str:
    """What is squared; "" where two different tensors are multiplied, or the exponent is no number."""
    base, *others = square.inputs
    if square.operator == "pow":
        return base if wiring.is_number(others[0]) else ""
    return base if all(other == base for other in others) else ""


def _divided(wiring: Wiring, root: Node, deviation: _Deviation) -> Iterator[_Norm]:
    """The ways in which what is divided by ``root`` can be understood."""
    inverse, parts = root.outputs[0], deviation.parts
    if root.operator == "sqrt":
        reader = wiring.reader(inverse, "div", "reciprocal")
        if reader is None or reader.operands[-1][1] != inverse:
            return
        if reader.operator == "div" and not wiring.is_number(reader.operands[0][1]):
            yield from _normalised(wiring, reader.operands[0][1], deviation, (*parts, reader))
            return
        inverse, parts = reader.outputs[0], (*parts, reader)
    scale = ""
    for _ in range(2):
        product = wiring.reader(inverse, "mul")
        if product is None:
            yield from _shifted(wiring, inverse, scale, deviation, parts)
            return
        other = other_operand(product, inverse)
        if scale or not _is_affine(wiring, other, deviation.centred, deviation.axes):
            for norm in _normalised(wiring, other, deviation, (*parts, product)):
                yield norm._replace(scale=scale)
            return
        inverse, scale, parts = product.outputs[0], other, (*parts, product)


def _normalised(wiring: Wiring, numerator: str, deviation: _Deviation, parts: tuple[Node, ...]) -> Iterator[_Norm]:
    """A layer norm where the mean is taken off the numerator, an RMS norm where it is the tensor whose square is averaged."""
    centred = deviation.centred
    differences = _differences(wiring, numerator, centred)
    for difference in differences:
        if difference.operator == "sub":
            x, mean = difference.inputs
            middle = _mean_of(wiring, x, mean, deviation.axes)
            if middle is not None:
                yield _Norm("layer_norm", _uncast(wiring, x), x, (middle, *differences, *parts))
                return
    x = _uncast(wiring, centred)
    if _uncast(wiring, numerator) == x:
        yield _Norm("rms_norm", x, numerator if centred == x else centred, parts)


def _differences(wiring: Wiring, *tensors: str) -> tuple[Node, ...]:
    """The nodes that make all of these tensors, if each is the difference of the same two, perhaps cast."""
    found: dict[str, Node] = {}
    of_what: set[tuple[str, ...]] = set()
    for tensor in tensors:
        difference, cast = wiring.maker(_uncast(wiring, tensor), "sub"), wiring.maker(tensor, "cast")
        if difference is None:
            return ()
        of_what.add(difference.inputs)
        found.update((node.name, node) for node in (difference, cast) if node is not None)
    return tuple(found.values()) if len(of_what) == 1 else ()


def _mean_of(wiring: Wiring, x: str, mean: str, axes: int) -> Node | None:
    """The node that makes ``mean`` of ``x`` over so many last axes."""
    node = wiring.maker(mean, "reduce_mean")
    return node if node is not None and node.operands[0][1] == x and _last_axes(wiring, node) == axes else None


def _uncast(wiring: Wiring, tensor: str) -> str:
    """What ``tensor`` is in a wider type; itself where it is made otherwise."""
    node = wiring.maker(tensor, "cast")
    if node is None:
        return tensor
    narrow, wide = wiring.tensors[node.inputs[0]].dtype, wiring.tensors[tensor].dtype
    is_wider = narrow.kind == wide.kind == "float" and (narrow.bits or 0) < (wide.bits or 0)
    return node.inputs[0] if is_wider else tensor


def _shifted(
    wiring: Wiring, inverse: str, scale: str, deviation: _Deviation, parts: tuple[Node, ...]
) -> Iterator[_Norm]:
    """TensorFlow's layer norm: x times the (scaled) inverse, and a bias less the mean times that."""
    difference = wiring.maker(deviation.centred, "sub")
    products = [wiring.maker(node.outputs[0], "mul") for node in wiring.readers(inverse)]
    if difference is None or len(products) != 2:
        return
    x, mean = difference.inputs
    middle = _mean_of(wiring, x, mean, deviation.axes)
    for of_x, of_mean in (products, products[::-1]):
        if of_x is None or of_mean is None or middle is None:
            return
        shift = wiring.reader(of_mean.outputs[0], "sub")
        total = wiring.reader(of_x.outputs[0], "add")
        if other_operand(of_x, inverse) != x or other_operand(of_mean, inverse) != mean or shift is None:
            continue
        bias, taken = shift.inputs
        if total is None or total is not wiring.reader(shift.outputs[0], "add"):
            continue
        if taken == of_mean.outputs[0] and _is_affine(wiring, bias, x, deviation.axes):
            nodes = (middle, difference, *parts, of_x, of_mean, shift, total)
            yield _Norm("layer_norm", _uncast(wiring, x), x, nodes, scale, bias)


def _followed(wiring: Wiring, norm: _Norm, axes: int) -> _Norm:
    """``norm`` with the scale and bias that follow, and with a cast to a type that x has."""
    types = {wiring.tensors[tensor].dtype for tensor in (norm.x, norm.wide)}
    is_cast = False
    while True:
        reader = wiring.reader(norm.result, "mul", "add", "cast")
        if reader is None:
            return norm
        parts = (*norm.parts, reader)
        if reader.operator == "cast":
            if is_cast or wiring.tensors[reader.outputs[0]].dtype not in types:
                return norm
            norm, is_cast = norm._replace(parts=parts), True
            continue
        other = other_operand(reader, norm.result)
        if not _is_affine(wiring, other, norm.x, axes):
            return norm
        if reader.operator == "mul" and not norm.scale:
            norm = norm._replace(scale=other, parts=parts)
        elif reader.operator == "add" and norm.name == "layer_norm" and norm.scale and not norm.bias:
            norm = norm._replace(bias=other, parts=parts)
        else:
            return norm


def _is_affine(wiring: Wiring, tensor: str, x: str, axes: int) -> bool:
    """Whether a tensor is stored, or computed from what is, and has the shape of what is normalised together."""
    shape = wiring.shape(x)
    return tensor in wiring.static and shape is not None and wiring.shape(tensor) == shape[-axes:]


def _match(wiring: Wiring, norm: _Norm, axes: int) -> Match | None:
    *inside, last = norm.parts
    kind = wiring.tensors[norm.result].type
    operand = next((one for one in (norm.x, norm.wide) if wiring.tensors[one].type == kind), None)
    if operand is None or wiring.tensors[operand].dtype.kind == "complex" or not wiring.is_closed(inside, last):
        return None
    operands = (("x", operand), ("scale", norm.scale), ("bias", norm.bias))
    attributes = wiring.attributes(norm.name, axis=-axes, epsilon=UNKNOWN)
    present = tuple([(name, tensor) for name, tensor in operands if tensor])
    node = Node(
        last.name, norm.name, present, last.outputs, attributes, last.scope, last.origin, file_node=last.file_node
    )
    if not wiring.makes(node, kind):
        return None
    return Match({last.name: (node,)}, [part.name for part in (*inside, *_casts(wiring, norm))])


def _casts(wiring: Wiring, norm: _Norm) -> list[Node]:
    """The casts that made x wider, which nobody may need any more."""
    casts = [wiring.maker(tensor, "cast") for node in norm.parts for tensor in node.inputs]
    return [node for node in casts if node is not None]
