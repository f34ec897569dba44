"""Compare: several sources are weighed, or known already, and set side by side."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from weighbridge.api import Inputs, Module, weigh
from weighbridge.choices import Reserve, WeightBits, devices_of, fps_of, training_asked
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.named_tuple import NamedTuple
from weighbridge.published import SCHEME, Published, find
from weighbridge.report.comparison import Comparison, Model, comparison_of
from weighbridge.report.record import Report, told_apart
from weighbridge.revisions import Checkout, at_revision, has_revision
from weighbridge.sources import USER_FILE, Source, check_there, file_of, is_module, is_named_model

if TYPE_CHECKING:
    from fractions import Fraction

    from weighbridge.devices.device import Device, EnergyTable
    from weighbridge.memory.training.request import Training

__all__ = ["Side", "check_options", "compare", "compared", "options_of", "sides_of", "takes"]

_FOLDERS: Final = re.compile(r"[^:@]*/")
_SIZES: Final = ("batch", "sequence", "dims", "inputs", "kwargs")
_TAKES: Final[Mapping[str, tuple[str, ...]]] = {
    "batch": ("file", "parameters", "library"),
    "sequence": ("file", "parameters", "library"),
    "dims": ("file", "parameters"),
    "inputs": ("file", "module", "library"),
    "positional inputs": ("module", "library"),
    "kwargs": ("module", "library"),
}
"""Which kinds of source each of the options can mean that say sizes."""


class Side(NamedTuple):
    """One of the models before it is weighed: ``written`` is what the user wrote, "" of an object, and ``name`` is how it is to be called,
    "" where that follows from its report.

    ``source`` is to be weighed, unless it is ``known`` already; one at a revision has a ``checkout``.
    """

    written: str
    name: str
    source: Any = None
    known: Report | Published | None = None
    checkout: Checkout | None = None

    @property
    def kind(self) -> str:
        """What kind of source this is, as far as it matters for who takes which sizes."""
        if self.known is not None or isinstance(self.source, Graph):
            return "finished"
        if is_module(self.source) or USER_FILE.fullmatch(str(self.source)):
            return "module"
        path = str(self.source)
        if is_named_model(path):
            return "library"
        file = file_of(path)
        return "parameters" if file is None or file[0].suffix.lower() == ".toml" else "file"


def compare(  # noqa: PLR0913 - the options are those of the command
    models: Iterable[Source | Graph | Module | Report | Published] | Mapping[str, Any],
    *,
    on: Source | Device | Iterable[Source | Device] = (),
    reserve: Reserve = (),
    batch: int | None = None,
    sequence: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Inputs = None,
    kwargs: Mapping[str, Any] | None = None,
    weight_bits: WeightBits | None = None,
    activation_bits: int | None = None,
    precision: str | None = None,
    as_written: bool = False,
    energy: Source | EnergyTable | None = None,
    train: str | Mapping[str, Any] | Training | None = None,
    fps: float | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Two models or more side by side: every figure with its ratio to the first, the layers that differ, the models that no other beats.

    A model is whatever ``weigh`` takes, a file at a revision of its repository (``"model.onnx@main"``), a ``Report``, or a published
    network (``"published:segformer_b5"``), of which nothing is counted.  A mapping gives them names of one's own.  What is weighed is
    weighed with the same options, which are those of ``weigh``; of the sizes each source gets those that its kind can have, and a report
    keeps its own: weigh a model by itself to give it others.  ``fps`` is a frame rate, whose missed frames are then in ``deadline``.

    Raises what ``weigh`` does, and ``BadSpec`` for fewer than two models, for a revision, a file in it or a published network that is
    not there, and for options that nothing is left to be weighed with.
    """
    if isinstance(models, (str, bytes, os.PathLike)) or not isinstance(models, Iterable):
        raise BadSpec("several models are compared", where="models", hint="give a list: compare(['a.onnx', 'b.onnx'])")
    names = list(models) if isinstance(models, Mapping) else []
    given = list(models.values()) if isinstance(models, Mapping) else list(models)
    options: dict[str, Any] = {
        "reserve": reserve,
        "weight_bits": weight_bits,
        "activation_bits": activation_bits,
        "precision": precision,
        "as_written": as_written,
        "energy": energy,
    }
    sizes = dict(zip(_SIZES, (batch, sequence, dims, inputs, kwargs), strict=True))
    rate = None if fps is None else fps_of(fps)
    with sides_of(given) as sides:
        options = options_of(sides, on=on, train=train, **options)
        check_options(sides, rate, options | sizes)

        def weighed(side: Side) -> Report:
            taken = {name: size for name, size in sizes.items() if _is_asked(size) and takes(side, sides, name, size)}
            return weigh(side.source, **options, **taken, progress=progress)

        named = [side._replace(name=str(name)) for side, name in zip(sides, names, strict=True)] if names else sides
        return compared(named, weighed, rate)


@contextmanager
def sides_of(models: Sequence[Any]) -> Iterator[tuple[Side, ...]]:
    """What each of the models is; files of a revision are there for as long as this lasts.

    Raises ``BadSpec`` for fewer than two, and for a name, a revision or a published network that is not there.
    """
    if len(models) < 2:
        count = "one model is" if models else "no model is"
        raise BadSpec(f"{count} nothing to compare", hint="give two or more")
    with ExitStack() as stack:
        yield tuple(_side(model, stack) for model in models)


def _side(model: Any, stack: ExitStack) -> Side:
    if isinstance(model, Side):
        return model
    if isinstance(model, (Report, Published)):
        return Side("", model.name if isinstance(model, Published) else "", known=model)
    written = os.fspath(model) if isinstance(model, (str, os.PathLike)) else ""
    if isinstance(written, str) and written.startswith(SCHEME):
        row = find(written.removeprefix(SCHEME))
        return Side(written, row.name, known=row)
    if isinstance(written, str) and has_revision(written):
        checkout = stack.enter_context(at_revision(written))
        return Side(written, written, checkout.source, checkout=checkout)
    if isinstance(written, str) and written:
        check_there(written)
    return Side(str(written), str(written), model)


def options_of(
    sides: Iterable[Side],
    *,
    on: Source | Device | Iterable[Source | Device],
    train: str | Mapping[str, Any] | Training | None,
    **others: Any,
) -> dict[str, Any]:
    """The options that every side is weighed with: those for which there is something to look up looked up once, and training counted by
    one rule, ``paper``, unless all sides are modules that a step can be taken with.

    Raises ``BadSpec`` for a device and an optimiser that there are none of.
    """
    training = training_asked(train)
    if training is not None and not training.rule and not training.attention:
        from weighbridge.memory.training.request import PAPER

        kinds = {side.kind for side in sides if side.known is None}
        training = training if kinds <= {"module", "library"} else training._replace(rule=PAPER)
    once = {name: tuple(value) if isinstance(value, Iterator) else value for name, value in others.items()}
    return {"on": devices_of(on), "train": training, **once}


def takes(side: Side, sides: Iterable[Side], option: str, value: object) -> bool:
    """Whether ``side`` is to be weighed with this option for sizes: its kind can have it, or that of no side can, so that it says so."""
    kinds = _TAKES["positional inputs" if option == "inputs" and not isinstance(value, Mapping) else option]
    return side.kind in kinds or all(one.kind not in kinds for one in sides)


def check_options(sides: Sequence[Side], rate: Fraction | None, options: Mapping[str, object]) -> None:
    """Raises ``BadSpec`` for options of weighing where all is known already, and for a frame rate where nothing has a time."""
    if all(side.known is not None for side in sides):
        for name, value in options.items():
            if _is_asked(value):
                hint = (
                    "saved reports and published networks stay as they are; weigh the model with this, and compare that"
                )
                raise BadSpec("nothing is left to be weighed", where=name, hint=hint)
    if rate is not None and not _is_asked(options["on"]) and not any(_has_time(side.known) for side in sides):
        raise BadSpec("frames missed need a device", where="fps", hint="name one; see `weighbridge devices`")


def _has_time(known: Report | Published | None) -> bool:
    if isinstance(known, Report):
        return bool(known.on)
    return known is not None and known.latency_s is not None


def _is_asked(value: object) -> bool:
    return value is not None and value is not False and (not isinstance(value, (tuple, list, Mapping)) or bool(value))


def compared(sides: Sequence[Side], weighed: Callable[[Side], Report], rate: Fraction | None) -> Comparison:
    """The comparison of all sides, those weighed by ``weighed`` that are not known already."""
    from weighbridge import __version__

    found = [_found(side, weighed) for side in sides]
    names = told_apart(_names([_name(side, one) for side, one in zip(sides, found, strict=True)]))
    models = [
        Model(
            name,
            side.written,
            one if isinstance(one, Report) else None,
            one if isinstance(one, Published) else None,
        )
        for name, side, one in zip(names, sides, found, strict=True)
    ]
    return comparison_of(models, tool=f"weighbridge {__version__}", fps=rate)


def _found(side: Side, weighed: Callable[[Side], Report]) -> Report | Published:
    if side.known is not None:
        return side.known
    with nullcontext() if side.checkout is None else side.checkout.explained():
        report = weighed(side)
    if not side.written:
        return report
    notes = report.notes if side.checkout is None else tuple(map(side.checkout.said, report.notes))
    return replace(report, network=report.network._replace(source=side.written), notes=notes)


def _name(side: Side, found: Report | Published) -> str:
    if side.name or isinstance(found, Published):
        return side.name
    return found.network.source or found.network.name or "network"


def _names(names: Sequence[str]) -> list[str]:
    """The names without the folders before them, where they are still different so."""
    short = [_FOLDERS.sub("", name, count=1) if _FOLDERS.match(name) else name for name in names]
    count = Counter(short)
    return [less if count[less] == 1 else name for less, name in zip(short, names, strict=True)]
