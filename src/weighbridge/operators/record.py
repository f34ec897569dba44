"""What an operator's record holds, and what its rules may see.

A rule is a function of a ``Call``: the types of the operands and the attributes, nothing else.  It can be tested alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from weighbridge.dtypes import DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, TensorType
from weighbridge.named_tuple import NamedTuple

from .halo import Box, Needs, as_it_is, everywhere, no_halo, nothing_differs
from .time_class import TimeClass

__all__ = [
    "REQUIRED",
    "Call",
    "DependsOnValues",
    "Keeps",
    "Kind",
    "Loops",
    "Op",
    "Operand",
    "Traffic",
    "Work",
    "grouped",
    "known_total",
    "nothing",
    "parse_operands",
    "read_all_write_all",
    "rounded_up",
    "types_of",
]


class Work(NamedTuple):
    """Scalar operations by kind.  ``macs`` are the multiply-accumulates of contractions and nothing else.

    ``compare`` covers comparisons, minimum, maximum, logic and selection; ``special`` covers what a processor has no
    single instruction for (exp, log, erf, tanh, square root, sine, power).
    """

    macs: int = 0
    add: int = 0
    mul: int = 0
    div: int = 0
    compare: int = 0
    special: int = 0

    def plus(self, other: Work) -> Work:
        m, a, u, d, c, s = self
        n, b, v, e, f, t = other
        return Work(m + n, a + b, u + v, d + e, c + f, s + t)

    def times(self, count: int) -> Work:
        m, a, u, d, c, s = self
        return Work(m * count, a * count, u * count, d * count, c * count, s * count)


class Loops(NamedTuple):
    """A contraction as matrix products: ``groups`` independent products of an m x k by a k x n matrix.

    For a convolution m = c_o/groups, k = c_i/groups x taps, n = batch x output positions, and ``im2col_elements`` is
    the size of the unrolled input; for a transposed one, of the products before they are added up.
    """

    m: int
    n: int
    k: int
    groups: int = 1
    label: str = ""
    im2col_elements: int = 0

    @property
    def macs(self) -> int:
        return self.groups * self.m * self.n * self.k


class Traffic(NamedTuple):
    """Bytes that have to be read and written however the operator is implemented; None where a size is unknown."""

    read_bytes: int | None
    write_bytes: int | None


class Call:
    """One use of an operator: ``call.x`` is the type of operand x, ``call["stride"]`` an attribute, ``outputs`` the result types.

    While shapes are being inferred ``outputs`` is empty.
    """

    __slots__ = ("attributes", "operands", "outputs")

    def __init__(
        self,
        operands: Mapping[str, tuple[TensorType, ...]],
        attributes: Mapping[str, Attribute],
        outputs: tuple[TensorType, ...] = (),
    ) -> None:
        self.operands = operands
        self.attributes = attributes
        self.outputs = outputs

    def __getattr__(self, name: str) -> TensorType:
        found = self.operands.get(name)
        if not found:
            raise AttributeError(f"the call has no operand {name!r}")
        return found[0]

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[name]

    def has(self, name: str) -> bool:
        """Whether an optional operand is there."""
        return bool(self.operands.get(name))

    def all(self, name: str) -> tuple[TensorType, ...]:
        """The types of a variadic operand, in order."""
        return self.operands.get(name, ())

    def integer(self, name: str) -> int:
        """An attribute that must be an int."""
        value = self.attributes[name]
        if isinstance(value, int):
            return int(value)
        raise GraphError(f"{name} must be a whole number, not {value!r}")

    def integers(self, name: str) -> tuple[int, ...]:
        """An attribute that must be ints; a lone int is a tuple of one."""
        value = self.attributes[name]
        numbers: list[int] = []
        for item in value if isinstance(value, tuple) else (value,):
            if not isinstance(item, int):
                raise GraphError(f"{name} must be whole numbers, not {value!r}")
            numbers.append(int(item))
        return tuple(numbers)

    def text(self, name: str) -> str:
        """An attribute that must be text."""
        value = self.attributes[name]
        if isinstance(value, str):
            return value
        raise GraphError(f"{name} must be text, not {value!r}")


class DependsOnValues(GraphError):
    """What a rule cannot tell before inference; the message says why."""


def grouped(types: Iterable[tuple[str, TensorType]]) -> dict[str, tuple[TensorType, ...]]:
    """The types of a call's operands by operand name; a variadic operand has several."""
    groups: dict[str, list[TensorType]] = {}
    for name, kind in types:
        groups.setdefault(name, []).append(kind)
    return {name: tuple(group) for name, group in groups.items()}


class Operand(NamedTuple):
    """A slot of an operator.

    ``use`` says what a stored tensor in this slot is: ``weight`` (of a contraction or a lookup), ``bias``, ``affine``
    (another learned operand: normalisation scale and shift, slopes), ``statistic`` (running statistics, quantisation
    scales and zero points: not learned), ``control`` (shapes, axes, indices, thresholds), or ``data``.
    """

    name: str
    use: str = "data"
    optional: bool = False
    variadic: bool = False

    @property
    def is_added(self) -> bool:
        """Whether it is only added to what the operator computes: the bias of a contraction or of a normalisation."""
        return self.use == "bias" or (self.use == "affine" and self.name == "bias")


USES: Final = frozenset({"data", "weight", "bias", "affine", "statistic", "control"})


@cache
def parse_operands(text: str) -> tuple[Operand, ...]:
    """``"x w:weight b:bias?"`` as slots; ``*xs`` is variadic and comes last, ``?`` marks an optional one."""
    operands = []
    for word in text.split():
        optional = word.endswith("?")
        name, _, use = word.rstrip("?").partition(":")
        if (use or "data") not in USES:
            raise ValueError(f"{use!r} is no use of an operand")
        operands.append(Operand(name.lstrip("*"), use or "data", optional, name.startswith("*")))
    return tuple(operands)


REQUIRED: Final = "<required>"
"""The default of an attribute that has none."""


class Kind:
    """How an operator behaves in the passes, and where it stands in the generated table."""

    CONTRACTION: Final = "contraction"
    UNARY: Final = "unary"  # one tensor in, one of the same shape out, element by element: fused into its producer
    ELEMENTWISE: Final = "elementwise"
    IDENTITY: Final = "identity"  # nothing at inference: removed from the deployed graph
    VIEW: Final = "view"  # the output is the operand's storage
    MOVE: Final = "move"  # values are copied or placed elsewhere, none computed
    REDUCTION: Final = "reduction"
    NORMALISATION: Final = "normalisation"
    POOLING: Final = "pooling"
    SPECTRAL: Final = "spectral"
    QUANTISATION: Final = "quantisation"
    INDEX: Final = "index"  # shapes, comparisons of indices, sorting, selection
    GENERATOR: Final = (
        "generator"  # values from nothing but a shape and numbers: constants, ranges, windows, random numbers
    )
    CONTROL: Final = "control"
    SEQUENCE: Final = "sequence"


class Keeps:
    """What an operator needs again in the backward pass, by the rule ``paper`` of training memory."""

    NOTHING: Final = "nothing"  # it adds, moves or picks: its gradient is the gradient that arrives
    BITS: Final = "bits"  # a function that switches (ReLU): one bit a value says which side a value is on
    INPUT: Final = "input"  # its first operand, where that or what is learned in it has a gradient
    OTHERS: Final = "others"  # of operands that multiply each other, each where another one has a gradient
    SECOND: Final = (
        "second"  # of a / b, or where b says how a is spread: b where either has a gradient, a where b has one
    )
    OPERANDS: Final = "operands"  # all of them, where one has a gradient


_HALOS: Final = dict.fromkeys((Kind.UNARY, Kind.ELEMENTWISE, Kind.IDENTITY), everywhere)
_KEEPS: Final = {Kind.CONTRACTION: Keeps.OTHERS, Kind.UNARY: Keeps.INPUT, Kind.NORMALISATION: Keeps.INPUT}
_TIMES: Final = {
    Kind.CONTRACTION: TimeClass.LINEAR,
    Kind.UNARY: TimeClass.ELEMENTWISE,
    Kind.ELEMENTWISE: TimeClass.ELEMENTWISE,
    Kind.QUANTISATION: TimeClass.ELEMENTWISE,
    Kind.IDENTITY: TimeClass.NONE,
    Kind.VIEW: TimeClass.NONE,
    Kind.MOVE: TimeClass.COPY,
    Kind.REDUCTION: TimeClass.REDUCTION,
    Kind.POOLING: TimeClass.POOLING,
    Kind.NORMALISATION: TimeClass.NORMALISATION,
}
"""The class of a kind's operators; those of the rest are ``other``."""


def nothing(call: Call) -> Work:
    """The rule of an operator that computes nothing.  Whatever uses it stands in the reviewed list of free operators."""
    return Work()


def rounded_up(size: int, step: int) -> int:
    """The next multiple of ``step``."""
    return -(-size // step) * step


def known_total(sizes: Iterable[int | None]) -> int | None:
    """The sum of sizes, or None where one of them is unknown."""
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total


def read_all_write_all(call: Call) -> Traffic:
    """Every operand is read once and every output written once."""
    reads = known_total(operand.bytes for operands in call.operands.values() for operand in operands)
    return Traffic(reads, known_total(output.bytes for output in call.outputs))


def types_of(call: Call, *names: str) -> tuple[DType, ...]:
    """The element types of these operands, of those that are there."""
    return tuple(one.dtype for name in names for one in call.all(name))


@dataclass(frozen=True, slots=True)
class Op:
    """An operator, defined once.

    ``infer`` gives the outputs' types; a bare ``DType`` in their place says that the shape depends on values.  ``loops``
    are its contractions, the one place where MACs come from; ``work`` is everything else it computes, or None where that
    depends on values: ``least_work`` is then what it computes whatever they are.  ``does_nothing`` tells of a call whose
    result is its first operand (a pool of single values), which no runtime runs.  ``fuses`` marks a producer that a
    following unary function is fused into; ``random`` an operator whose result is new every time, so that it is never
    computed in advance.  ``may_overwrite`` says whether the result may be written where an operand lies, given its slot and
    type: the elements of the result that are kept apart meanwhile, None where it may not.

    ``multiplies`` gives the types whose values the contractions multiply, by default those of all data and weights: what is
    only added to a product, or multiplied in another form than it is kept in, has no say in the precision.

    ``halo`` says which part of its operands it needs for a part of its result, by the box of that, and ``parted`` the attributes of
    the call that computes that part of the parts that are there; without ``halo`` it is what its kind has (``halo_rule``).  A rule
    gives None where a part of the result needs all; ``needs_all`` says so of every call, ``no_halo`` that nobody knows.  ``grain`` is
    the smallest box that can be made around one that is asked for: of an operator that makes whole blocks, those.

    ``keeps`` is what the backward pass needs of it (``Keeps``), "" for what its kind does: a contraction the operands that multiply
    each other, a function and a normalisation their input, everything else nothing.

    ``time`` is the class of operators that it takes time as one of (``TimeClass``), or tells it of a call; "" for that of its kind.
    ``linear`` is a ``matrix product`` where no weight is stored.
    ``steps`` tells how many of its kernels start one after the other, and ``passes`` how often it reads what is stored, where that is not
    one; ``lane_macs`` are its MACs where channels are computed so many at a time, of which the last may be padding: by default the rows
    of each product (m) are.
    """

    name: str
    kind: str
    operands: str
    infer: Callable[[Call], tuple[TensorType | DType, ...]]
    work: Callable[[Call], Work | None]
    loops: Callable[[Call], tuple[Loops, ...]] | None = None
    least_work: Callable[[Call], Work] = nothing
    traffic: Callable[[Call], Traffic] = read_all_write_all
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    view_of: str | None = None
    fuses: bool = False
    random: bool = False
    summary: str = ""
    does_nothing: Callable[[Call], bool] | None = None
    may_overwrite: Callable[[Call, str, TensorType], int | None] | None = None
    multiplies: Callable[[Call], tuple[DType, ...]] | None = None
    keeps: str = ""
    halo: Callable[[Call, Box], Needs | None] | None = None
    parted: Callable[[Call, Box, Needs, Needs], Mapping[str, Attribute]] = nothing_differs
    grain: Callable[[Call, Box], Box] = as_it_is
    time: str | Callable[[Call], str] = ""
    steps: Callable[[Call], int] | None = None
    passes: Callable[[Call], int] | None = None
    lane_macs: Callable[[Call, int], int] | None = None

    @property
    def halo_rule(self) -> Callable[[Call, Box], Needs | None] | None:
        """Which part of its operands a part of its result needs; None where nobody knows."""
        return None if self.halo is no_halo else self.halo or _HALOS.get(self.kind)

    @property
    def kept(self) -> str:
        """What the backward pass needs of it, as ``Keeps`` names it."""
        return self.keeps or _KEEPS.get(self.kind, Keeps.NOTHING)

    @property
    def slots(self) -> tuple[Operand, ...]:
        return parse_operands(self.operands)

    @property
    def is_free(self) -> bool:
        """Whether it computes nothing at all, by rule."""
        return self.work is nothing and self.loops is None

    @property
    def timed_as(self) -> str | Callable[[Call], str]:
        """The class of operators that it takes time as one of, "" for none, or the rule that tells it of a call."""
        if self.view_of is not None:
            return TimeClass.NONE
        return self.time or _TIMES.get(self.kind, TimeClass.OTHER)

    def time_class(self, call: Call, has_weights: bool) -> str:
        """The class of operators that a call takes time as one of, "" where it takes none.

        ``has_weights`` says whether a weight of it is stored.  Raises ``GraphError`` for a call that the rule does not have.
        """
        if self.does_nothing is not None and self.does_nothing(call):
            return TimeClass.NONE
        timed = self.timed_as
        found = timed if isinstance(timed, str) else timed(call)
        return TimeClass.MATRIX_PRODUCT if found == TimeClass.LINEAR and not has_weights else found

    def multiplied(self, call: Call) -> tuple[DType, ...]:
        """The element types that the contractions of a call multiply."""
        if self.multiplies is not None:
            return self.multiplies(call)
        return types_of(call, *(slot.name for slot in self.slots if slot.use in ("data", "weight")))

    def macs_in_lanes(self, call: Call, lanes: int) -> int:
        """Multiply-accumulates of the call where ``lanes`` channels are computed at a time, padded ones among them."""
        if self.lane_macs is not None:
            return self.lane_macs(call, lanes)
        products = () if self.loops is None else self.loops(call)
        return sum(one.groups * rounded_up(one.m, lanes) * one.n * one.k for one in products)

    def macs(self, call: Call) -> int:
        """Multiply-accumulates of the call: the sum over its contractions."""
        return 0 if self.loops is None else sum(loops.macs for loops in self.loops(call))
