"""What the form of a weighing has beside the network: each field named, and meant, as on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from weighbridge.choices import conventions_of, fps_of, scratch_of, training_asked, widths_of
from weighbridge.devices.device import PRECISIONS
from weighbridge.errors import BadSpec, printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.stated_inputs import is_size, parse
from weighbridge.stated_options import batches_of, dims_of
from weighbridge.web.references import OWN, energies_offered, energy_named

__all__ = ["FIELDS", "SIZES", "TRAINING", "Field", "in_words"]


class Field(NamedTuple):
    """A field by its name: what it is called, what it means, and how an example is written.

    ``read`` makes of its values what ``weigh`` takes, or raises ``BadSpec``.  ``kind`` is how it looks: ``line``; ``lines`` where there
    can be several, one a line; ``choice`` and ``several`` of what ``offers`` has; ``switch``.
    """

    name: str
    label: str
    meaning: str
    read: Callable[[tuple[str, ...]], Any]
    example: str = ""
    kind: str = "line"
    offers: Callable[[], tuple[tuple[str, str], ...]] = tuple
    commas: bool = False
    """Whether a comma parts its values as a new line does."""

    @property
    def is_single(self) -> bool:
        """Whether it has one value."""
        return self.kind in ("line", "choice", "switch")

    def values(self, given: tuple[str, ...]) -> tuple[str, ...]:
        """The values that were given, one by one, without those that say nothing."""
        parts: Iterator[str] = (part for one in given for part in one.splitlines())
        if self.commas:
            parts = (piece for part in parts for piece in part.split(","))
        return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _size(most: int | None = None) -> Callable[[tuple[str, ...]], int]:
    def read(values: tuple[str, ...]) -> int:
        size = int(values[0]) if is_size(values[0]) else 0
        if size < 1 or (most is not None and size > most):
            wanted = "a whole number from 1 on" if most is None else f"a whole number from 1 to {most}"
            raise BadSpec(f"must be {wanted}, not {printable(values[0], 40)!r}")
        return size

    return read


def _trained(name: str) -> Callable[[tuple[str, ...]], tuple[str, ...]]:
    def read(values: tuple[str, ...]) -> tuple[str, ...]:
        training_asked({"optimiser": "sgd", name: values})
        return values

    return read


def _first(check: Callable[[str], object]) -> Callable[[tuple[str, ...]], str]:
    """Reads a single value, which ``weigh`` takes as it is written once it has been checked."""

    def read(values: tuple[str, ...]) -> str:
        check(values[0])
        return values[0]

    return read


def _all(check: Callable[[tuple[str, ...]], object]) -> Callable[[tuple[str, ...]], tuple[str, ...]]:
    def read(values: tuple[str, ...]) -> tuple[str, ...]:
        check(values)
        return values

    return read


def _battery(text: str) -> object:
    from weighbridge.estimates import battery_named

    return battery_named(text)


def _switched(values: tuple[str, ...]) -> bool:
    if values[0] not in ("1", "0"):
        raise BadSpec("must be 1 or 0")
    return values[0] == "1"


def _reserved(values: tuple[str, ...]) -> None:
    wrong = next((one for one in values if not one.partition("=")[2]), None)
    if wrong is not None:
        raise BadSpec(f"{printable(wrong, 60)!r} reserves nothing", hint="write NAME=SIZE, as in sram=64KiB")


def _named(*names: str) -> Callable[[], tuple[tuple[str, str], ...]]:
    return lambda: tuple((name, name) for name in names)


def _optimisers() -> tuple[tuple[str, str], ...]:
    from weighbridge.memory.training.optimisers import OPTIMISERS

    return tuple((name, name) for name in OPTIMISERS)


def _conventions() -> tuple[tuple[str, str], ...]:
    from weighbridge.counts.conventions import CONVENTIONS

    return tuple((name, name) for name in CONVENTIONS)


def _scratches() -> tuple[tuple[str, str], ...]:
    from weighbridge.memory import SCRATCH

    return tuple((name, name) for name in SCRATCH)


FIELDS: Final = (
    Field("batch", "batch", "Inputs at once.", _size(), "1"),
    Field(
        "weight_bits",
        "weight bits",
        "Of all weights, or of the first, the last, the rest, a layer's name or a pattern.",
        _all(lambda values: widths_of(values, None, None)),
        "8, or first=8, rest=4",
        "lines",
        commas=True,
    ),
    Field("activation_bits", "activation bits", "Of everything that passes between layers.", _size(64), "8"),
    Field(
        "precision",
        "precision",
        "Weights, activations and the device's peak rate; the bits beside it override it.",
        _first(lambda name: widths_of(None, None, name)),
        kind="choice",
        offers=_named(*PRECISIONS),
    ),
    Field("sequence", "sequence", "Of the dimensions named like a sequence (seq, sequence_length).", _size(), "128"),
    Field(
        "dims",
        "dimensions",
        "That a file leaves open, by their names.",
        lambda values: dict(dims_of(values)),
        "seq=128",
        "lines",
        commas=True,
    ),
    Field("inputs", "inputs", "The whole shape of an input, by its name.", _all(parse), "x=1x3x224x224", "lines"),
    Field(
        "batches",
        "batches",
        "Throughput at these batch sizes.",
        lambda values: batches_of(",".join(values)),
        "1, 8, 32",
    ),
    Field("fps", "frames a second", "How many frames an inference misses at this rate.", _first(fps_of), "30"),
    Field(
        "reserve",
        "reserve",
        "Bytes of a device's memory that something else needs.",
        _all(_reserved),
        "sram=64KiB",
        "lines",
        commas=True,
    ),
    Field(
        "energy",
        "energy table",
        "What an inference draws by this table; a device may have one of its own.",
        _first(energy_named),
        kind="choice",
        offers=energies_offered,
    ),
    Field(
        "battery", "battery", "The charge of an inference, and how many it pays for.", _first(_battery), "2000mAh@3.7V"
    ),
    Field(
        "scratch",
        "scratch",
        "Adds the working memory of kernels to the memory policy arena_tflm.",
        _first(scratch_of),
        kind="choice",
        offers=_scratches,
    ),
    Field(
        "convention",
        "convention",
        "The figures of another counter beside ours.",
        _all(conventions_of),
        kind="several",
        offers=_conventions,
    ),
    Field("as_written", "as written", "Fold and fuse nothing: weigh every node of the file.", _switched, kind="switch"),
    Field(
        "train",
        "train with",
        "The optimiser: what a step of training takes, and the largest batch for each device.",
        _first(training_asked),
        kind="choice",
        offers=_optimisers,
    ),
    Field(
        "mixed_precision",
        "mixed precision",
        "Weights, gradients and activations at 16 bits, with a 32-bit master copy of the weights.",
        _switched,
        kind="switch",
    ),
    Field(
        "update",
        "update",
        "Train this alone: biases, last-3, a layer, a module, a pattern; of its input channels a share.",
        _trained("update"),
        "biases",
        "lines",
        commas=True,
    ),
    Field("freeze", "freeze", "Do not train this.", _trained("freeze"), "conv*", "lines", commas=True),
    Field(
        "lora",
        "low-rank adapters",
        "Train these beside linear layers, and nothing else unless it is to be updated.",
        _trained("lora"),
        "fc*=8",
        "lines",
        commas=True,
    ),
    Field(
        "checkpoint",
        "checkpoint",
        "Keep only what this module is given, and run it again in the backward pass.",
        _trained("checkpoint"),
        "block*",
        "lines",
        commas=True,
    ),
)
"""All of them, in the order in which an address has them."""
SIZES: Final[tuple[str, ...]] = ("batch", "sequence", "dims", "inputs")
"""Those that say sizes which a source leaves open."""
TRAINING: Final[tuple[str, ...]] = ("mixed_precision", "update", "freeze", "lora", "checkpoint")
"""Those that mean something with an optimiser alone."""


def in_words(values: Mapping[str, tuple[str, ...]], fields: Iterable[Field]) -> Iterator[tuple[str, str]]:
    """What was asked for, by field: devices first, then the label of each of ``fields`` that says something, with its values."""
    if "on" in values:
        yield "on", ", ".join(one.removeprefix(OWN) for one in values["on"])
    for field in fields:
        if field.kind == "switch" and values.get(field.name) == ("1",):
            yield field.label, "yes"
        elif field.kind != "switch" and field.name in values:
            yield field.label, ", ".join(values[field.name])
