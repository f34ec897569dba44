"""What the interpreter of the package ``tflite_micro`` says of models, each loaded in a process of its own.

As a program it reads paths, one a line, and prints a line of JSON for each: forked after the imports, a crash costs one model.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

try:
    from tflite_micro import runtime
except ImportError:  # other machines than x86-64 with Linux have no such package
    runtime = None

ARENA = 50_000_000


class Loaded(NamedTuple):
    """Bytes of the arena that are planned and those that are kept, by category too; or what was said when it was refused."""

    head: int | None
    tail: int
    categories: dict[str, int]
    said: str


def load(paths: Sequence[Path]) -> list[Loaded]:
    """What becomes of each model.  Two processes at once would be as many as a small machine has cores."""
    told = "\n".join(map(str, paths))
    run = subprocess.run([sys.executable, __file__], input=told, capture_output=True, text=True, check=True)
    return [_loaded(json.loads(line)) for line in run.stdout.splitlines()]


def _loaded(said: str) -> Loaded:
    found = dict(re.findall(r"Arena allocation (head|tail) (\d+) bytes", said))
    categories = {name: int(used) for name, used in re.findall(r"'([^']+)' used (\d+) bytes", said)}
    head = int(found["head"]) if "head" in found else None
    return Loaded(head, int(found.get("tail", 0)), categories, said)


def _interpret(model: bytes) -> NoReturn:
    try:
        runtime.Interpreter.from_bytes(model, arena_size=ARENA).print_allocations()
    except RuntimeError as error:
        os.write(2, str(error).encode())
    finally:
        os._exit(0)


def _serve() -> None:
    for line in sys.stdin.read().splitlines():
        with tempfile.TemporaryFile() as said:
            child = os.fork()
            if not child:
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                _interpret(Path(line).read_bytes())
            os.waitpid(child, 0)
            said.seek(0)
            sys.stdout.write(json.dumps(said.read().decode("utf8", "replace")) + "\n")


if __name__ == "__main__":
    _serve()
