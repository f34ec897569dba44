"""Runs many damaged files through worker processes and adds up what came of them.

By hand: ``python tests/fuzz/campaign.py --cases 200000 --first 1000000``, and with ``--format tflite`` for TensorFlow Lite.
With ``--format reports --folder FOLDER`` the saved reports of a folder are damaged and shown.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer

__all__ = ["Outcome", "run", "small_models"]

CHUNK = 500
CHUNK_SECONDS = 600
MAX_FILE_BYTES = 12_000
MAX_REPORT_BYTES = 100_000
ENDINGS = {"onnx": (".onnx",), "tflite": (".tflite", ".bin"), "reports": (".json",)}
_FAULTS = ("TRACEBACK", "TIMEOUT", "DEATH", "UNCLEAR")


@dataclass
class Outcome:
    """What came of all cases: outcomes by name, faults by case, the slowest, and the largest memory of a worker."""

    cases: int = 0
    past_header: int = 0
    by_name: Counter[str] = field(default_factory=Counter)
    faults: dict[int, str] = field(default_factory=dict)
    slowest: list[tuple[float, int]] = field(default_factory=list)
    peak_kib: int = 0

    @property
    def share(self) -> float:
        return self.past_header / self.cases if self.cases else 0.0

    def add(self, number: int, past: bool, taken_ms: float, outcome: str) -> None:
        self.cases += 1
        self.past_header += past
        name = outcome.partition(" ")[0]
        self.by_name[name] += 1
        if name in _FAULTS:
            self.faults[number] = outcome
        self.slowest = sorted([*self.slowest, (taken_ms, number)], reverse=True)[:5]

    def __str__(self) -> str:
        named = ", ".join(f"{count:,} {name}" for name, count in self.by_name.most_common())
        slow = ", ".join(f"case {number} {taken:.0f} ms" for taken, number in self.slowest)
        share = f"{self.past_header:,} of {self.cases:,} damaged files ({self.share:.1%}) got past their header"
        return f"{share}: {named}; slowest {slow}; memory {self.peak_kib / 1000:.0f} MB"


def small_models(folder: Path, endings: Sequence[str] = (".onnx",), most_bytes: int = MAX_FILE_BYTES) -> list[Path]:
    """The models that are small enough to be weighed thousands of times, in an order that does not change."""
    found = sorted(path for path in folder.rglob("*") if path.suffix in endings)
    return [path for path in found if path.stat().st_size <= most_bytes]


def run(files: Sequence[Path], cases: int, first: int = 0, workers: int | None = None) -> Outcome:
    """Runs cases ``first`` to ``first + cases`` on ``files``; a worker that dies is a fault of the case it was at."""
    outcome = Outcome()
    chunks = [(start, min(start + CHUNK, first + cases)) for start in range(first, first + cases, CHUNK)]
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        for lines in pool.map(lambda chunk: list(_chunk(*chunk, files)), chunks):
            for line in lines:
                number, past, taken_ms, what = line.split(" ", 3)
                if number == "peak":
                    outcome.peak_kib = max(outcome.peak_kib, int(past))
                else:
                    outcome.add(int(number), past == "1", float(taken_ms), what)
    return outcome


def _chunk(first: int, stop: int, files: Sequence[Path]) -> Iterator[str]:
    while first < stop:
        command = [sys.executable, str(Path(__file__).with_name("worker.py")), str(first), str(stop), *map(str, files)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            timer = Timer(CHUNK_SECONDS, child.kill)
            timer.start()
            output, errors = child.communicate()
            timer.cancel()
        for line in output.splitlines():
            if line.startswith("peak "):
                yield f"{line} 0 -"
            else:
                yield line
                first = int(line.partition(" ")[0]) + 1
        if first < stop:
            yield f"{first} 0 0 DEATH exit {child.returncode}: {errors[-1000:]!r}"
            first += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--format", choices=ENDINGS, default="onnx")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    folder = options.folder or Path(__file__).resolve().parents[3] / "shared" / "data" / options.format
    most_bytes = MAX_REPORT_BYTES if options.format == "reports" else MAX_FILE_BYTES
    files = small_models(folder, ENDINGS[options.format], most_bytes)
    outcome = run(files, options.cases, options.first, options.workers)
    for number, fault in sorted(outcome.faults.items()):
        sys.stdout.write(f"--- case {number}\n{fault.encode().decode('unicode_escape', 'replace')}\n")
    sys.stdout.write(f"{outcome}\n")
    return 1 if outcome.faults else 0


if __name__ == "__main__":
    sys.exit(main())
