"""Latency and throughput of real networks at batch 1, 4 and 16: "Design 1" and "Design 2" of the source material, measured.

``python benchmarks/batch_sweep.py`` prints a table in Markdown; ``--write`` puts it into docs/measuring.md.  It takes some minutes; nothing
else should run.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.measured_networks import exported_at_any_batch, name_of
from weighbridge import measured
from weighbridge.report.measured import Measured

PAGE = Path(__file__).resolve().parents[1] / "docs/measuring.md"
NETWORKS = ("torchvision:mobilenet_v2", "torchvision:resnet18", "torchvision:resnet50")
BATCHES = (1, 4, 16)
THREADS = 2
SECONDS = 30.0


def rows(source: str, found: Measured) -> Iterator[str]:
    for one in found.measurements:
        interval, where = one.interval, one.conditions
        between = "?" if interval is None else f"{1e3 * interval.low_s:.1f} to {1e3 * interval.high_s:.1f}"
        yield (
            f"| {name_of(source)} | {where.runtime} {where.version} | {where.batch} | {1e3 * one.latency_s:.1f} | {between} "
            f"| {one.throughput_per_s or 0:.1f} | {'noisy' if one.noise else 'quiet'} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/measuring.md")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each batch")
    options = parser.parse_args()
    lines = [
        "| network | runtime | batch | median, ms | 95 %, ms | inferences/s | machine |",
        "|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name in NETWORKS:
            for source in (name, str(exported_at_any_batch(name, Path(folder)))):
                found = measured(source, batches=BATCHES, threads=THREADS, seconds=options.seconds)
                for line in rows(source, found):
                    sys.stderr.write(f"{line}\n")
                    lines.append(line)
    text = "\n".join(lines)
    sys.stdout.write(f"{text}\n")
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        marks = re.compile(r"(?<=<!-- batches -->\n).*?(?=<!-- end -->)", re.DOTALL)
        PAGE.write_text(marks.sub(lambda _: f"\n{text}\n\n", page), encoding="utf-8")


if __name__ == "__main__":
    main()
