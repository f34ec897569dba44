"""Whole processes side by side: ``weighbridge weigh`` against ``onnx.load`` and ``onnx.shape_inference.infer_shapes``.

Every line is one process from its start to its end: wall-clock time and peak resident memory as the kernel reports them
(``os.wait4``).  The programs of a comparison take turns, so that a busy minute of the machine meets all of them; medians
are compared.  See benchmarks/README.md for how to set up a fair environment.

    python benchmarks/bench_onnx.py [--repeats 7] [--folder DIR] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_MODELS = ("resnet50", "vit_b_16")
_BUILD = str(Path(__file__).with_name("onnx_models.py"))
_INFER = "import sys, onnx, onnx.shape_inference; onnx.shape_inference.infer_shapes(onnx.load(sys.argv[1]))"
_NODES = (5_000, 10_000, 20_000, 40_000)
_QUIET = os.open(os.devnull, os.O_WRONLY)

MAX_RATIO_TO_ONNX = 0.4
MAX_MB = 80.0
MAX_SECONDS_20000 = 3.0
MAX_GROWTH = 2.4
"""Twice the nodes may take this many times as long: twice, and the noise of a shared machine."""
MAX_RATIO_TO_IMPORTS = 2.5


class Run(NamedTuple):
    seconds: float
    cpu_seconds: float
    megabytes: float


class Check(NamedTuple):
    what: str
    value: float
    limit: float

    @property
    def holds(self) -> bool:
        return self.value <= self.limit


def measure(command: Sequence[str]) -> Run:
    """One process from start to end.

    A process starts with the peak memory of the one that started it, so this one must stay small: it imports nothing
    large, and models are built by processes of their own.
    """
    actions = [(os.POSIX_SPAWN_DUP2, _QUIET, 1)]
    start = time.perf_counter()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"{' '.join(command)} ended with status {os.waitstatus_to_exitcode(status)}")
    # Linux reports KiB, macOS bytes.
    cpu_seconds = usage.ru_utime + usage.ru_stime
    return Run(seconds, cpu_seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6)


def side_by_side(commands: Mapping[str, Sequence[str]], repeats: int) -> dict[str, Run]:
    """Medians of programs that take turns; the first round warms the disk cache and is not counted."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for turn in range(repeats + 1):
        for name, command in commands.items():
            run = measure(command)
            if turn:
                runs[name].append(run)
    return {name: Run(*map(statistics.median, zip(*own, strict=True))) for name, own in runs.items()}


def _built(folder: Path, name: str) -> Path:
    """A generated model, built if it is not there yet."""
    path = folder / f"{name}.onnx"
    if not path.exists():
        measure([sys.executable, _BUILD, name, str(path)])
    return path


def show(title: str, runs: Mapping[str, Run]) -> None:
    print(f"\n{title}")
    for name, run in runs.items():
        print(f"  {name:<34}{run.seconds:8.3f} s {run.cpu_seconds:8.3f} s of CPU {run.megabytes:8.1f} MB")


def against_onnx(weigh: Sequence[str], folder: Path, repeats: int) -> list[Check]:
    checks = []
    for name in _MODELS:
        path = _built(folder, name)
        commands = {
            "weighbridge weigh": [*weigh, str(path)],
            "onnx load + infer_shapes": [sys.executable, "-c", _INFER, str(path)],
        }
        runs = side_by_side(commands, repeats)
        show(f"{name}, {path.stat().st_size / 1e6:.0f} MB", runs)
        ours, theirs = runs.values()
        checks.append(Check(f"{name}: share of onnx's time", ours.seconds / theirs.seconds, MAX_RATIO_TO_ONNX))
        checks.append(Check(f"{name}: MB of memory", ours.megabytes, MAX_MB))
    return checks


def growth(weigh: Sequence[str], folder: Path, repeats: int) -> list[Check]:
    commands = {}
    for nodes in _NODES:
        commands[f"{nodes:,} nodes"] = [*weigh, str(_built(folder, f"chain_{nodes}"))]
    runs = side_by_side(commands, repeats)
    show("generated graphs", runs)
    seconds = [run.seconds for run in runs.values()]
    checks = [Check("20,000 nodes: seconds", seconds[_NODES.index(20_000)], MAX_SECONDS_20000)]
    for nodes, shorter, longer in zip(_NODES[1:], seconds, seconds[1:], strict=False):
        checks.append(Check(f"{nodes:,} nodes: times as long as half of them", longer / shorter, MAX_GROWTH))
    return checks


def start(weigh: Sequence[str], repeats: int) -> list[Check]:
    commands = {
        "weighbridge weigh alexnet": [*weigh, "alexnet"],
        "import typer, rich.table": [sys.executable, "-c", "import typer, rich.table"],
        "weighbridge --help": [weigh[0], "--help"],
        "python -c pass": [sys.executable, "-c", "pass"],
    }
    runs = side_by_side(commands, 3 * repeats)
    show("start-up", runs)
    ratio = runs["weighbridge weigh alexnet"].seconds / runs["import typer, rich.table"].seconds
    return [Check("alexnet: times as long as import typer, rich.table", ratio, MAX_RATIO_TO_IMPORTS)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7, help="processes of each kind (default 7)")
    parser.add_argument(
        "--folder", type=Path, help="where the models are kept between runs (default: a temporary folder)"
    )
    parser.add_argument("--json", type=Path, help="write the checks to this file")
    options = parser.parse_args()
    program = Path(sys.executable).with_name("weighbridge")
    if not program.exists():
        sys.exit(f"there is no {program}: install weighbridge[onnx] for {sys.executable}")
    weigh = [str(program), "weigh"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{platform.platform()}, {os.cpu_count()} processors, Python {platform.python_version()}")
        checks = [
            *start(weigh, options.repeats),
            *against_onnx(weigh, folder, options.repeats),
            *growth(weigh, folder, options.repeats),
        ]
    print()
    for check in checks:
        print(f"{'ok  ' if check.holds else 'MISS'} {check.what}: {check.value:.3g} (at most {check.limit:g})")
    if options.json:
        options.json.write_text(json.dumps([{**check._asdict(), "holds": check.holds} for check in checks], indent=1))
    return 0 if all(check.holds for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
