"""The process that networks are measured in: started with the number of threads in its environment, told what to do line by line.

A request is a line of JSON on the standard input, an answer one on what was the standard output: what a runtime writes there goes to
the standard error instead.  Where the process ends without an answer, the runtime ended it.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any, Final

from weighbridge.errors import MeasureError, MissingExtra, WeighbridgeError, internal
from weighbridge.measure.runners.refusal import refusal
from weighbridge.measure.runners.runner import Order, Runner
from weighbridge.named_tuple import NamedTuple

__all__ = ["MODULES", "main"]

MODULES: Final[Mapping[str, tuple[str, str]]] = {
    "onnxruntime": ("weighbridge.measure.runners.with_onnxruntime", "measure"),
    "pytorch": ("weighbridge.measure.runners.with_torch", "torch"),
    "litert": ("weighbridge.measure.runners.with_litert", "measure"),
    "numpy": ("weighbridge.measure.micro.with_numpy", "measure"),
}
"""By the name of a runtime the module that runs it, and the extra that installs it."""
_GRACE_S: Final = 1.0


def main() -> None:
    """Answer requests until there are none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks is told, and ends this process
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    held: dict[int, _Held] = {}
    for line in _lines():
        request = json.loads(line)
        number = request.get("number", 0)
        try:
            if request["do"] == "ready":
                held[number] = one = _ready(request)
                said: Any = one.runner.about._asdict()
                gc.collect()
                gc.freeze()
                gc.disable()  # no collection in the middle of a run
            elif number not in held:
                raise MeasureError("nothing is ready to run")
            elif request["do"] == "drop":
                del held[number]
                said = None
            else:
                said = _ran(held[number], request)
        except Exception as error:
            _answer(answers, error=_told(error))
        else:
            _answer(answers, said=said)


def _lines() -> Iterator[str]:
    """Lines of the standard input, which ends where nobody asks any more, however that ended: then this process does, within a second,
    in the middle of a run and with all that it started, as no run may outlast who wanted to know of it.
    """
    found: SimpleQueue[str] = SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            found.put(line)
        found.put("")
        time.sleep(_GRACE_S)
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    Thread(target=read, daemon=True).start()  # it waits for the system, and takes no time from a run
    return iter(found.get, "")


class _Held(NamedTuple):
    """What is ready to run, by which runtime, and what it was made of."""

    runner: Runner
    runtime: str
    source: str


def _ready(request: Mapping[str, Any]) -> _Held:
    name, extra = MODULES[request["runtime"]]
    try:
        module = import_module(name)
    except ImportError as error:
        what = f"{request['runtime']} is not installed: {error}"
        raise MissingExtra(what, hint=f"pip install 'weighbridge[{extra}]'") from None
    order = Order(**request["order"])
    shapes = {key: (tuple(shape), dtype) for key, (shape, dtype) in order.inputs.items()}
    return _Held(module.ready(order._replace(inputs=shapes)), request["runtime"], order.source)


_DOES: Final[Mapping[str, Callable[[Runner, Mapping[str, Any]], Any]]] = {
    "samples": lambda runner, request: list(runner.samples(request["count"], request["runs"])),
    "profile": lambda runner, request: runner.profile(request["runs"]),
}


def _ran(held: _Held, request: Mapping[str, Any]) -> Any:
    """What the runner says.  It has run the network before: what fails now is the runtime's."""
    try:
        return _DOES[request["do"]](held.runner, request)
    except WeighbridgeError:
        raise
    except Exception as error:
        raise refusal(held.runtime, error, held.source) from None


def _told(error: Exception) -> dict[str, Any]:
    """An error as a line can say it.  What no runner has made ours is a lack of memory, or a fault."""
    if isinstance(error, MemoryError):
        error = MeasureError("there is not enough memory for it", hint="try a smaller batch")
    if not isinstance(error, WeighbridgeError):
        error = MeasureError(internal(error))
    kind, details = type(error).__name__, list(error.details)
    return {"kind": kind, "what": error.what, "where": error.where, "hint": error.hint, "details": details}


def _answer(answers: IO[str], **answer: Any) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
