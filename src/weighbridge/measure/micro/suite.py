"""Every single operator in one process of one runtime, in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from weighbridge.errors import BadSpec, MeasureError, MissingExtra
from weighbridge.measure.apart import Apart
from weighbridge.measure.harness import Runs
from weighbridge.measure.machine import hardware, watching
from weighbridge.measure.micro.orders import operator_by_name
from weighbridge.measure.micro.record import OperatorTime, Spec, SuiteTimes
from weighbridge.measure.micro.specs import SPECS
from weighbridge.measure.micro.turns import in_turns
from weighbridge.measure.noise import noises_of_load
from weighbridge.measure.runners.runner import Order

__all__ = ["RUNTIMES", "suite"]

RUNTIMES: Final = ("onnxruntime", "pytorch")
"""The runtimes that run single operators."""
_SECONDS: Final = 30.0


def suite(
    runtime: str,
    threads: int = 1,
    pinned: Sequence[int] = (),
    seconds: float = _SECONDS,
    progress: Callable[[str], None] | None = None,
    specs: Sequence[Spec] = SPECS,
) -> SuiteTimes:
    """How long each of ``specs`` takes in ``runtime``: all of them ready in one process, in rounds for so many ``seconds``, after loading.

    What a version of the runtime refuses is left out, and a note says so.

    Raises ``BadSpec`` for a runtime that runs none and for processors that it cannot be held to, ``MissingExtra`` for one that is not
    installed, and ``MeasureError`` where it refuses the first of ``specs``, or its process ends.
    """
    if runtime not in RUNTIMES:
        raise BadSpec(f"{runtime} runs no single operators", where="runtime", hint=f"there is {', '.join(RUNTIMES)}")
    tell = progress or (lambda _: None)
    with TemporaryDirectory() as name:
        folder = Path(name)
        tell(f"loading {len(specs)} single operators into {runtime}")
        with Apart(runtime, _order(runtime, specs[0], threads, folder), pinned) as apart:
            numbers, notes = {specs[0].name: 0}, []
            for spec in specs[1:]:
                try:
                    numbers[spec.name] = apart.also(_order(runtime, spec, threads, folder))
                except MissingExtra:
                    raise
                except MeasureError as error:
                    notes.append(f"{spec.name} is left out: {error.what}")
            runs = [_runs(apart, number) for number in numbers.values()]
            watched = watching([apart.number])()
            taken, rounds = in_turns(
                runs, seconds, time.perf_counter, lambda done: tell(f"single operators in {runtime}: round {done}")
            )
            return SuiteTimes(
                runtime=runtime,
                version=apart.about.version,
                mode=apart.about.mode,
                precision="float32",
                threads=threads,
                hardware=hardware(),
                libraries=apart.about.libraries,
                times=tuple(
                    OperatorTime(spec, median(one.samples_s), min(one.samples_s), one.samples_s, one.runs_per_sample)
                    for spec, one in zip(numbers, taken, strict=True)
                ),
                pinned=tuple(pinned),
                rounds=rounds,
                noise=noises_of_load(watched()),
                notes=tuple(notes),
            )


def _runs(apart: Apart, number: int) -> Runs:
    return lambda count, runs: apart.samples(count, runs, number)


def _order(runtime: str, spec: Spec, threads: int, folder: Path) -> Order:
    try:
        from weighbridge.measure.micro.values import inputs, picked

        values = dict(picked(spec, folder))
        if runtime == "pytorch":
            return operator_by_name(spec, threads, dict(inputs(spec)), values)
        from weighbridge.measure.micro.onnx_file import written

        return Order(str(written(spec, folder)), "", threads, {}, values)
    except ImportError as error:
        what = f"single operators are written with numpy and onnx: {error}"
        raise MissingExtra(what, hint="pip install 'weighbridge[measure]'") from None
