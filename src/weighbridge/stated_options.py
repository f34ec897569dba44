"""Options as a command line or an address states them, of more than one word: ``seq=128``, ``1,8,32``, and how to train."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from weighbridge.errors import BadSpec
from weighbridge.stated_inputs import is_size

__all__ = ["batches_of", "dims_of", "training_stated"]


def dims_of(options: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Name and size of ``NAME=N``.  Raises ``BadSpec``."""
    for option in options:
        name, _, size = option.rpartition("=")
        if not name or not is_size(size):
            raise BadSpec(f"{option!r} is no dimension", where="--dim", hint="write NAME=N, as in --dim seq=128")
        yield name, int(size)


def batches_of(option: str | None) -> tuple[int, ...]:
    """The batch sizes of ``1,8,32``.  Raises ``BadSpec``."""
    if option is None:
        return ()
    sizes = [size.strip() for size in option.split(",")]
    wrong = next((size for size in sizes if not is_size(size)), None)
    if wrong is not None:
        raise BadSpec(f"{wrong!r} is no batch size", where="--batches", hint="write them as in --batches 1,8,32")
    return tuple(map(int, sizes))


def training_stated(optimiser: str | None, said: Mapping[str, object]) -> Mapping[str, object] | None:
    """How to train, as ``weigh`` takes it: the optimiser, and whatever else is ``said`` by the names that ``weigh`` has for it.

    Raises ``BadSpec`` for an option of training without an optimiser.
    """
    stated = {name: value for name, value in said.items() if value}
    if optimiser is None:
        if stated:
            name = next(iter(stated)).replace("_", "-")
            option = "--train-rule" if name == "rule" else f"--{name}"
            raise BadSpec("this is about training", where=option, hint="add --train and an optimiser: --train adam")
        return None
    return {"optimiser": optimiser, **stated}
