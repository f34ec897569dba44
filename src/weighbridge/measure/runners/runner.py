"""What a runner is asked, and what it does."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Protocol

from weighbridge.named_tuple import NamedTuple

if TYPE_CHECKING:
    from weighbridge.measure.conditions import Accelerator, InputShape
    from weighbridge.measure.record import Profile

__all__ = ["About", "Order", "Runner", "libraries", "timed"]


class Order(NamedTuple):
    """What is to be run: a file or the name of a network, how the runtime is to run it, with so many threads, on inputs of these shapes.

    ``inputs`` are shapes and types by name, of the sizes that were asked for; of what is not named the file's own stand.  ``values`` are
    the paths of files of values by name.  ``choices`` are the sizes as they were asked for, which a network that is built by name takes.
    """

    source: str
    mode: str
    threads: int
    inputs: Mapping[str, tuple[tuple[int, ...], str]]
    values: Mapping[str, str] = {}
    choices: Mapping[str, Any] = {}


class About(NamedTuple):
    """What a runner says of what it runs: the conditions that it alone knows."""

    version: str
    mode: str
    inputs: tuple[InputShape, ...]
    libraries: Mapping[str, str]
    accelerator: Accelerator | None = None
    notes: tuple[str, ...] = ()


class Runner(Protocol):
    """A network that is ready to run."""

    about: About

    def samples(self, count: int, runs: int) -> Sequence[float]:
        """The seconds of one run in each of ``count`` samples of ``runs`` runs."""

    def profile(self, runs: int) -> Profile | None:
        """What the runtime's own profiler says; None where it has none."""


def libraries(**versions: str) -> Mapping[str, str]:
    """Versions of libraries beside the runtime, with that of Python."""
    return {"python": platform.python_version(), **versions}


def timed(run: Callable[[], object], wait: Callable[[], object] | None, count: int, runs: int) -> list[float]:
    """Seconds of one run in each of ``count`` samples.  ``wait`` returns when all that was begun has ended, for devices that work on."""
    found = []
    for _ in range(count):
        begun = perf_counter_ns()
        for _ in range(runs):
            run()
        if wait is not None:
            wait()
        found.append((perf_counter_ns() - begun) / runs / 1e9)
    return found
