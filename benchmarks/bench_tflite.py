"""Whole processes side by side: ``weighbridge weigh`` of a TensorFlow Lite file against the import of the terminal libraries.

What is measured, and how, is as in bench_onnx.py; generated chains of operators show that time grows no faster than their
number (left out where the package ``tflite`` is not installed).

    python benchmarks/bench_tflite.py [MODEL] [--repeats 15] [--folder DIR] [--json FILE]

MODEL is person_detect.tflite of tensorflow/tflite-micro unless another is given.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from bench_onnx import MAX_GROWTH, Check, measure, show, side_by_side

_MODEL = Path(__file__).resolve().parents[2] / "shared" / "data" / "tflite" / "tflm" / "person_detect.tflite"
_BUILD = str(Path(__file__).with_name("tflite_models.py"))
_NODES = (5_000, 10_000, 20_000)

MAX_RATIO_TO_IMPORTS = 1.5
MAX_RATIO_OF_CPU = 1.5


def start(weigh: Sequence[str], model: Path, repeats: int) -> list[Check]:
    commands = {
        f"weighbridge weigh {model.name}": [*weigh, str(model)],
        "import typer, rich.table": [sys.executable, "-c", "import typer, rich.table"],
        "weighbridge weigh alexnet": [*weigh, "alexnet"],
        "python -c pass": [sys.executable, "-c", "pass"],
    }
    runs = side_by_side(commands, repeats)
    show("start-up", runs)
    ours, theirs, *_ = runs.values()
    return [
        Check(
            f"{model.name}: times as long as import typer, rich.table",
            ours.seconds / theirs.seconds,
            MAX_RATIO_TO_IMPORTS,
        ),
        Check(f"{model.name}: times the processor time of it", ours.cpu_seconds / theirs.cpu_seconds, MAX_RATIO_OF_CPU),
    ]


def growth(weigh: Sequence[str], folder: Path, repeats: int) -> list[Check]:
    commands = {}
    for nodes in _NODES:
        path = folder / f"chain_{nodes}.tflite"
        if not path.exists():
            measure([sys.executable, _BUILD, f"chain_{nodes}", str(path)])
        commands[f"{nodes:,} operators"] = [*weigh, str(path)]
    runs = side_by_side(commands, repeats)
    show("generated chains", runs)
    seconds = [run.seconds for run in runs.values()]
    pairs = zip(_NODES[1:], seconds, seconds[1:], strict=False)
    return [
        Check(f"{nodes:,} operators: times as long as half of them", longer / shorter, MAX_GROWTH)
        for nodes, shorter, longer in pairs
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?", default=_MODEL)
    parser.add_argument("--repeats", type=int, default=15, help="processes of each kind (default 15)")
    parser.add_argument(
        "--folder", type=Path, help="where the models are kept between runs (default: a temporary folder)"
    )
    parser.add_argument("--json", type=Path, help="write the checks to this file")
    options = parser.parse_args()
    program = Path(sys.executable).with_name("weighbridge")
    if not program.exists() or not options.model.exists():
        sys.exit(f"there is no {program if not program.exists() else options.model}")
    weigh = [str(program), "weigh"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{platform.platform()}, {os.cpu_count()} processors, Python {platform.python_version()}")
        checks = start(weigh, options.model, options.repeats)
        if find_spec("tflite") is not None:
            checks += growth(weigh, folder, max(1, options.repeats // 5))
    print()
    for check in checks:
        print(f"{'ok  ' if check.holds else 'MISS'} {check.what}: {check.value:.3g} (at most {check.limit:g})")
    if options.json:
        options.json.write_text(json.dumps([{**check._asdict(), "holds": check.holds} for check in checks], indent=1))
    return 0 if all(check.holds for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
