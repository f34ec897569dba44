"""A network in a process of its own, ready to be run: what a runtime does to that process ends no measurement but its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from weighbridge import errors
from weighbridge.errors import MeasureError, printable
from weighbridge.measure.conditions import Accelerator, InputShape
from weighbridge.measure.record import Profile, ProfiledClass
from weighbridge.measure.runners.runner import About, Order

__all__ = ["Apart"]

_THREADS: Final = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""What libraries of kernels read before anybody can tell them."""
_PATIENCE_S: Final = 5.0


class Apart:
    """A process in which ``runtime`` runs what ``order`` says; ``with`` ends it.

    Raises what the runner does, and ``MeasureError`` where the process ends without an answer.
    """

    def __init__(self, runtime: str, order: Order, pinned: Sequence[int] = ()) -> None:
        self._source = order.source
        environment = {**os.environ, **dict.fromkeys(_THREADS, str(order.threads))}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "weighbridge.measure.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env=environment,
        )
        try:
            if pinned and hasattr(os, "sched_setaffinity"):
                os.sched_setaffinity(self._process.pid, pinned)
            said = self._asked({"do": "ready", "runtime": runtime, "order": order._asdict()})
        except BaseException:
            self.close()
            raise
        self.about = _about(said)

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def number(self) -> int:
        """That of the process."""
        return self._process.pid

    def samples(self, count: int, runs: int) -> Sequence[float]:
        """The seconds of one run in each of ``count`` samples of ``runs`` runs."""
        found: Sequence[float] = self._asked({"do": "samples", "count": count, "runs": runs})
        return found

    def profile(self, runs: int) -> Profile | None:
        """What the runtime's own profiler says of so many runs; None where it has none."""
        said = self._asked({"do": "profile", "runs": runs})
        if said is None:
            return None
        method, counted, total, classes = said
        return Profile(method, counted, total, tuple(ProfiledClass(*one) for one in classes))

    def close(self) -> None:
        """End the process."""
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _asked(self, request: Mapping[str, Any]) -> Any:
        there, back = self._process.stdin, self._process.stdout
        assert there is not None
        assert back is not None
        with suppress(OSError):  # that it has ended is seen below
            there.write(json.dumps(request) + "\n")
            there.flush()
        line = back.readline()
        if not line.endswith("\n"):
            raise self._ended()
        answer = json.loads(line)
        if "error" in answer:
            said = answer["error"]
            kind = getattr(errors, said.pop("kind"))
            raise kind(said.pop("what"), **said)
        return answer["said"]

    def _ended(self) -> MeasureError:
        code = self._process.wait()
        if code == -signal.SIGKILL:
            what = "the system ended the run, as it does where memory is used up"
            return MeasureError(what, where=self._source, hint="try a smaller batch")
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return MeasureError(f"the runtime ended its process ({printable(how)})", where=self._source)


def _about(said: Mapping[str, Any]) -> About:
    shapes = tuple(InputShape(name, tuple(shape), dtype, how) for name, shape, dtype, how in said["inputs"])
    accelerator = None if said["accelerator"] is None else Accelerator(*said["accelerator"])
    fields = {**said, "inputs": shapes, "accelerator": accelerator, "notes": tuple(said["notes"])}
    return About(**fields)
