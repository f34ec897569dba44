"""Networks in a process of their own, ready to be run: what a runtime does to that process ends no measurement but its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from weighbridge import errors
from weighbridge.errors import BadSpec, MeasureError, printable
from weighbridge.measure.conditions import Accelerator, InputShape
from weighbridge.measure.record import Profile, ProfiledClass
from weighbridge.measure.runners.runner import About, Order

__all__ = ["Apart"]

_THREADS: Final = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""What libraries of kernels read before anybody can tell them."""
_SET: Final = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "HF_HUB_OFFLINE": "1"}
"""No processes beside this one compile, nothing is downloaded."""
_COUNTED: Final = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
"""Unless the user says otherwise graphics processors are counted as NVIDIA's library does, which reads their energy."""
_COMMAND: Final = (sys.executable, "-P", "-m", "weighbridge.measure.worker")
_PATIENCE_S: Final = 5.0
_LAST_WORDS: Final = 2_000


class Apart:
    """A process in which ``runtime`` runs what ``order`` says, held to the logical processors ``pinned`` where there are any.

    ``with`` ends it, and whatever it started: at once where an error or the user ends the measurement.  It may hold more than one network
    ready, each under a number; that of the first is 0.

    Raises what the runner does, ``BadSpec`` for processors that it cannot be held to, and ``MeasureError`` where the process ends without
    an answer.
    """

    def __init__(
        self, runtime: str, order: Order, pinned: Sequence[int] = (), *, command: Sequence[str] = _COMMAND
    ) -> None:
        self._source, self._runtime, self._made = order.source, runtime, 0
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        self._process = subprocess.Popen(  # noqa: S603 (this module's own command, no shell)
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            encoding="utf-8",
            env={**_COUNTED, **os.environ, **dict.fromkeys(_THREADS, str(order.threads)), **_SET},
            process_group=0 if hasattr(os, "killpg") else None,
        )
        try:
            if pinned:
                _hold(self._process.pid, pinned)
            self.about = self._ready(order)
        except BaseException:
            self.kill()
            raise

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.kill()

    @property
    def number(self) -> int:
        """That of the process."""
        return self._process.pid

    def also(self, order: Order) -> int:
        """The number under which a further network is held ready; with as many threads as the first one."""
        self._made += 1
        self._ready(order)
        return self._made

    def drop(self, number: int) -> None:
        """Hold that network no longer."""
        self._asked({"do": "drop", "number": number})

    def samples(self, count: int, runs: int, number: int = 0) -> Sequence[float]:
        """The seconds of one run in each of ``count`` samples of ``runs`` runs."""
        found: Sequence[float] = self._asked({"do": "samples", "number": number, "count": count, "runs": runs})
        return found

    def profile(self, runs: int) -> Profile | None:
        """What the runtime's own profiler says of so many runs of the first network; None where it has none."""
        said = self._asked({"do": "profile", "number": 0, "runs": runs})
        if said is None:
            return None
        method, counted, total, classes = said
        return Profile(method, counted, total, tuple(ProfiledClass(*one) for one in classes))

    def close(self) -> None:
        """Let the process end, and end it where it does not."""
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE_S)
        self.kill()

    def kill(self) -> None:
        """End the process and those that it started, now."""
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._said):
            with suppress(OSError):
                if stream is not None:
                    stream.close()

    def _ready(self, order: Order) -> About:
        request = {"do": "ready", "number": self._made, "runtime": self._runtime, "order": order._asdict()}
        return _about(self._asked(request))

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
        how = _signal(-code) if code < 0 else f"exit code {code}"
        words = self._last_words()
        return MeasureError(f"the runtime ended its process ({how}){': ' if words else ''}{words}", where=self._source)

    def _last_words(self) -> str:
        """The last line that the process wrote where programs complain."""
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - _LAST_WORDS))
        lines = self._said.read(_LAST_WORDS).decode("utf-8", "replace").split("\n")
        return printable(next((line.strip() for line in reversed(lines) if line.strip()), ""), 300)


def _signal(number: int) -> str:
    with suppress(ValueError):
        return f"signal {signal.Signals(number).name}"
    return f"signal {number}"


def _hold(process: int, processors: Sequence[int]) -> None:
    named = ", ".join(map(str, processors))
    if not hasattr(os, "sched_setaffinity"):
        raise BadSpec("this system holds no process to processors", where="pinned", hint="leave it out")
    there = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
    try:
        os.sched_setaffinity(process, processors)
        held = os.sched_getaffinity(process)
    except (OSError, OverflowError, ValueError):
        held = set()
    if held != set(processors):
        raise BadSpec(f"no process can be held to processors {named}", where="pinned", hint=f"there are {there}")


def _about(said: Mapping[str, Any]) -> About:
    shapes = tuple(InputShape(name, tuple(shape), dtype, how) for name, shape, dtype, how in said["inputs"])
    accelerator = None if said["accelerator"] is None else Accelerator(*said["accelerator"])
    fields = {**said, "inputs": shapes, "accelerator": accelerator, "notes": tuple(said["notes"])}
    return About(**fields)
