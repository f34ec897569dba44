"""One layer from its symbols: everything that is known about it, and its time on devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Final

from weighbridge.counts import NetworkFacts, count
from weighbridge.devices.device import ACTIVATIONS, PRECISIONS, WEIGHTS, Device, Figure, Memory, Peak
from weighbridge.errors import BadSpec
from weighbridge.estimates import Demand, demand, latency, moved_on, node_times, placed
from weighbridge.estimates.roofline import ratio
from weighbridge.graph import Graph, Role, Shape, Tensor
from weighbridge.memory import plan
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Work, known_total
from weighbridge.passes import BitRules, set_bits
from weighbridge.written import whole

from .kinds import Conv, Depthwise, LayerSpec, Matmul, Operation
from .plain import plain
from .symbols import SYMBOLS, axes

__all__ = ["Gemm", "Layer", "LayerTime", "Symbols", "given_device", "layer"]

Symbols = Mapping[str, bool | int | tuple[int, ...]]

_GIVEN: Final = "given"
_FASTEST: Final = 10**30


class Gemm(NamedTuple):
    """The layer as matrix products: ``products`` of an ``m`` x ``k`` by a ``k`` x ``n`` matrix.

    Of a layer with weights, these are the m x k matrix.  ``im2col_values`` is the size of the unrolled input of a
    convolution, or of the products of a transposed one before they are added up; 0 where nothing is unrolled.
    """

    products: int
    m: int
    k: int
    n: int
    im2col_values: int


class LayerTime(NamedTuple):
    """The layer on one device: ``time_s`` is the larger of ``compute_s`` and ``memory_s``, and ``bound`` names it.

    ``compute_s`` is operations / peak at ``precision``, ``memory_s`` bytes moved / bandwidth, ``ridge_ops_per_byte`` the
    operational intensity at which they are equal.  None is unknown, and ``notes`` say why; ``verified`` is False where a
    figure of the device is not.
    """

    device: str
    hardware: str
    precision: str | None
    peak_ops_per_s: int | None
    unit: str | None
    compute_s: float | None
    memory_s: float | None
    time_s: float | None
    bound: str | None
    ridge_ops_per_byte: float | None
    verified: bool
    notes: tuple[str, ...]


class Layer(NamedTuple):
    """All readouts of one layer.  Values are elements of tensors; bytes are rounded up a tensor, bits are exact.

    ``symbols`` are those of its kind, the ones that follow from others included; of an operation without symbols none.
    ``parameters`` = ``weights`` + ``biases`` + ``other_parameters``.  ``flops`` = ``ops`` = 2 x ``macs``; ``work`` has them and
    everything else that is computed, None where that depends on values.  ``uses_per_weight`` is macs / weights.
    ``moved_bytes``: inputs and stored tensors read once, outputs written once.  ``intensity_ops_per_byte`` is ops /
    ``moved_bytes``, None where nothing moves.
    """

    kind: str
    symbols: Symbols
    input_shapes: tuple[Shape, ...]
    output_shape: Shape
    activation_dtype: str
    weight_dtype: str | None
    parameters: int
    weights: int
    biases: int
    other_parameters: int
    parameter_bits: int | Fraction
    parameter_bytes: int | None
    weight_bytes: int | None
    input_values: int
    input_bytes: int | None
    output_values: int
    output_bytes: int | None
    activation_values: int
    activation_bytes: int | None
    macs: int
    flops: int
    ops: int
    work: Work | None
    uses_per_weight: int | float | None
    gemm: tuple[Gemm, ...]
    moved_bytes: int | None
    intensity_ops_per_byte: float | None
    on: tuple[LayerTime, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Plain dicts, lists, numbers and strings for JSON."""
        return plain(self)


def layer(spec: LayerSpec, on: Iterable[Device] = ()) -> Layer:
    """Everything about the layer that ``spec`` describes, and its time on each device.

    The layer is a graph of one node, and the counts and estimates are those of any graph.  Raises ``BadSpec``, located at a
    symbol, where symbols do not fit each other.
    """
    graph = _at_widths(spec)
    facts = count(graph, graph)
    node = facts.nodes[0]
    inputs, outputs = ([graph.tensors[one] for one in ids] for ids in (graph.inputs, graph.outputs))
    learned = [tensor for tensor in graph.stored() if tensor.role is Role.PARAMETER]
    moved = known_total((node.read_bytes, node.write_bytes))
    symbols = dict(_symbols(spec, graph))
    return Layer(
        kind=spec.kind,
        symbols=symbols,
        input_shapes=tuple(tensor.shape or () for tensor in inputs),
        output_shape=node.output or (),
        activation_dtype=node.output_dtype,
        weight_dtype=learned[0].dtype.name if facts.weights else None,
        parameters=facts.parameters,
        weights=facts.weights,
        biases=facts.biases,
        other_parameters=facts.other_parameters,
        parameter_bits=sum(_bits(tensor) for tensor in learned),
        parameter_bytes=facts.parameter_bytes,
        weight_bytes=facts.weight_bytes,
        input_values=sum(tensor.elements or 0 for tensor in inputs),
        input_bytes=known_total(tensor.bytes for tensor in inputs),
        output_values=sum(tensor.elements or 0 for tensor in outputs),
        output_bytes=known_total(tensor.bytes for tensor in outputs),
        activation_values=sum(tensor.elements or 0 for tensor in (*inputs, *outputs)),
        activation_bytes=known_total(tensor.bytes for tensor in (*inputs, *outputs)),
        macs=facts.macs,
        flops=facts.flops,
        ops=facts.ops,
        work=node.work,
        uses_per_weight=node.uses_per_weight,
        gemm=tuple(Gemm(one.groups, one.m, one.k, one.n, one.im2col_elements) for one in node.loops),
        moved_bytes=moved,
        intensity_ops_per_byte=None if moved is None else ratio(facts.ops, moved),
        on=tuple(_times(graph, facts, on)),
        notes=tuple(_notes(spec, symbols)),
    )


def given_device(ops_per_s: int | None = None, bandwidth_bytes_per_s: int | None = None) -> Device:
    """A device of which only a peak rate, for any precision, or a bandwidth is known.

    Raises ``BadSpec`` for a rate that is no whole number above zero, and without either.
    """
    if ops_per_s is None and bandwidth_bytes_per_s is None:
        raise BadSpec("a device has a rate or a bandwidth", where="ops_per_s", hint="give one of them or both")
    peaks: tuple[Peak, ...] = ()
    memories: tuple[Memory, ...] = ()
    if ops_per_s is not None:
        rate = _figure("ops_per_s", ops_per_s)
        peaks = tuple(Peak("rate given", precision, rate) for precision in PRECISIONS)
    if bandwidth_bytes_per_s is not None:
        rate = _figure("bandwidth_bytes_per_s", bandwidth_bytes_per_s)
        # How much it holds is nobody's question here: a layer's time does not depend on it.
        size = Figure(_FASTEST, "not stated, taken as large enough")
        memories = (Memory("memory", (WEIGHTS, ACTIVATIONS), size, rate),)
    return Device(_GIVEN, "a device of the rates given", "other", "not stated", peaks, memories)


def _figure(name: str, rate: int) -> Figure:
    found = whole(rate)
    if found is None or not 0 < found <= _FASTEST:
        raise BadSpec("must be a whole number above zero, at most 1e30", where=name)
    return Figure(found, "given on the command line or in Python")


def _at_widths(spec: LayerSpec) -> Graph:
    weight_bits = None if isinstance(spec, Matmul) else spec.weight_bits
    weights = () if weight_bits is None else (("rest", weight_bits),)
    return set_bits(spec.graph(), BitRules(weights, spec.activation_bits))


def _bits(tensor: Tensor) -> int | Fraction:
    bits = (tensor.elements or 0) * (tensor.dtype.bits or 0)
    return int(bits) if bits.denominator == 1 else bits


def _symbols(spec: LayerSpec, graph: Graph) -> Iterator[tuple[str, bool | int | tuple[int, ...]]]:
    """Those of the kind with their values, in the order of ``SYMBOLS``; what is not given follows from the shapes."""
    if isinstance(spec, Operation):
        return
    ends = {"_i": graph.tensors[graph.inputs[0]].shape or (), "_o": graph.tensors[graph.outputs[0]].shape or ()}
    for name, symbol in SYMBOLS.items():
        value = getattr(spec, name, None)
        if name[1:] in ends and not isinstance(spec, Matmul):
            place = "nchw".index(name[0])
            if place < len(ends[name[1:]]):
                yield name, ends[name[1:]][place]
        elif value is not None:
            yield name, axes(value) if symbol.most > 1 and not isinstance(spec, Matmul) else value
    if not isinstance(spec, Matmul):
        yield "bias", spec.bias


def _notes(spec: LayerSpec, symbols: Symbols) -> Iterator[str]:
    if isinstance(spec, Operation):
        return
    if isinstance(spec, Matmul):
        yield "both matrices are activations: nothing is stored, and no weight is used"
        return
    if not spec.bias:
        yield f"weights only: a bias would add {symbols['c_o']:,} parameters"
    if isinstance(spec, Conv | Depthwise) and spec.h_i is spec.w_i is None and max(axes(spec.stride)) > 1:
        yield "the input is the smallest that makes this output: with a stride, larger ones make it too"


def _any_precision(device: Device) -> str | None:
    """One that stands for all where the device has the same rate at each: it holds then for formats without a name too."""
    rates = [peak.ops_per_s.value if peak else None for peak in map(device.peak, PRECISIONS)]
    return PRECISIONS[0] if rates[0] is not None and len(set(rates)) == 1 else None


def _times(graph: Graph, facts: NetworkFacts, on: Iterable[Device]) -> Iterator[LayerTime]:
    """On each device; without one the memory is not planned, which takes longer than all else that is known about a layer."""
    needs: Demand | None = None
    for device in on:
        needs = needs or demand(graph, facts, plan(graph))
        yield _time(needs, device)


def _time(needs: Demand, device: Device) -> LayerTime:
    rated = needs.precision or _any_precision(device)
    lying = placed(needs, device)
    time, floor = node_times(needs, lying, rated)[0], latency(needs, lying, rated)
    return LayerTime(
        device=device.name,
        hardware=device.title,
        precision=needs.precision,
        peak_ops_per_s=floor.peak_ops_per_s,
        unit=floor.unit,
        compute_s=time.compute_s,
        memory_s=time.memory_s,
        time_s=time.time_s,
        bound=time.bound,
        ridge_ops_per_byte=floor.ridge_ops_per_byte,
        verified=floor.verified,
        notes=(*floor.notes, *moved_on(needs, device, lying)),
    )
