"""What micro-benchmarks are of, and what comes back from them; nothing in it is an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from weighbridge.measure.conditions import Hardware
from weighbridge.named_tuple import NamedTuple

__all__ = ["Bandwidth", "MachineTimes", "OperatorTime", "Rate", "Spec", "SuiteTimes"]


class Spec(NamedTuple):
    """A network of one operator, or of a chain of ``chain`` of the same, each working on what the one before it puts out.

    ``operators`` is the class of operators that it stands for, ``operator`` ONNX's word for the operator.  ``shape`` is that of the input;
    ``others`` are shapes of further inputs, which all of the chain take.  ``weights`` are the shapes of stored values, which each of the
    chain has of its own, and ``numbers`` stored whole numbers, such as the places at which a slice begins.  ``rows`` is how many rows
    there are to pick where the input is whole numbers that pick them, None where the input is in floating point.  All floating point is
    float32.
    """

    name: str
    operators: str
    operator: str
    shape: tuple[int, ...]
    weights: tuple[tuple[int, ...], ...] = ()
    others: tuple[tuple[int, ...], ...] = ()
    numbers: tuple[tuple[int, ...], ...] = ()
    attributes: Mapping[str, int | float | str | tuple[int, ...]] = MappingProxyType({})
    chain: int = 1
    rows: int | None = None


class OperatorTime(NamedTuple):
    """The seconds of one run of the spec of that name: the median, the least, and every sample in the order in which they were taken.

    Each sample is the mean of ``runs_per_sample`` runs.
    """

    name: str
    median_s: float
    least_s: float
    samples_s: tuple[float, ...]
    runs_per_sample: int = 1


class SuiteTimes(NamedTuple):
    """The times of single operators in one runtime, taken in so many ``rounds``, and the conditions.

    ``noise`` says what disturbed it, ``notes`` what was left out, and why.
    """

    runtime: str
    version: str
    mode: str
    precision: str
    threads: int
    hardware: Hardware
    libraries: Mapping[str, str]
    times: tuple[OperatorTime, ...]
    pinned: tuple[int, ...] = ()
    rounds: int = 0
    noise: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Rate(NamedTuple):
    """How many operations a second products of matrices reached at one precision: a multiply-accumulate is two; ``how`` says of what."""

    precision: str
    ops_per_s: float
    how: str


class Bandwidth(NamedTuple):
    """How many bytes a second were read and written, added, of ``working_set_bytes`` that were touched again and again."""

    working_set_bytes: int
    bytes_per_s: float
    how: str


class MachineTimes(NamedTuple):
    """How fast a machine multiplied matrices, by precision, and moved bytes, by working set.

    ``noise`` says what disturbed it, ``notes`` what was left out, and why.
    """

    rates: tuple[Rate, ...]
    bandwidths: tuple[Bandwidth, ...]
    hardware: Hardware
    threads: int
    libraries: Mapping[str, str]
    pinned: tuple[int, ...] = ()
    noise: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
