"""Calibrates this machine with sixteen networks in two runtimes, and holds what is expected of each, left out, to what it took.

``python benchmarks/expected_time.py`` prints a table in Markdown; ``--write`` puts it into docs/expected-time.md and draws its chart.
``--keep FOLDER`` keeps the ONNX files, the device file and every sample (times.jsonl).  It takes some twenty minutes, in which nothing else
should run.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.measured_networks import in_onnx, in_pytorch, name_of
from weighbridge import calibrated
from weighbridge.devices.write import written
from weighbridge.report.calibrated import Calibration
from weighbridge.report.charts.predicted import predicted_chart
from weighbridge.report.pictures import picture
from weighbridge.report.predicted import Distribution, NetworkTime

DOCS = Path(__file__).resolve().parents[1] / "docs"
SECONDS = 15.0


def rows(networks: Sequence[NetworkTime]) -> Iterator[str]:
    yield "| network | runtime | floor, ms | measured, ms | expected, ms | off | constant on the floor | constant on MACs |"
    yield "|---|---|---|---|---|---|---|---|"
    for one in networks:
        times = (one.floor_s, one.measured_s, one.left_out_s)
        offs = (one.left_out_s, one.by_floor_s, one.by_macs_s)
        figures = [*map(milliseconds, times), *(off(one, each) for each in offs)]
        yield f"| {name_of(one.source)} | {one.runtime} | {' | '.join(figures)} |"


def milliseconds(seconds: float | None) -> str:
    return "?" if seconds is None else f"{1e3 * seconds:.3g}"


def off(one: NetworkTime, expected_s: float | None) -> str:
    return "?" if expected_s is None else f"{expected_s / one.measured_s - 1:+.0%}"


def errors(found: Sequence[Distribution]) -> Iterator[str]:
    yield "| | networks | median | 90 % within | bias | worst |"
    yield "|---|---|---|---|---|---|"
    for one in found:
        each = one.errors
        where = one.runtime or "all"
        worst = f"{each.worst_error:+.0%}, {each.worst}"
        figures = f"{each.networks} | {each.median:.1%} | {each.p90:.1%} | {each.bias:+.1%} | {worst}"
        yield f"| {one.method}, {where} | {figures} |"


def floors(networks: Sequence[NetworkTime]) -> str:
    broken = [name_of(one.source) for one in networks if one.is_floor_broken]
    known = [one.floor_s / one.measured_s for one in networks if one.floor_s]
    above = f"{len(broken)} of them: {', '.join(broken)}" if broken else "none of them"
    return f"The floor is above the measured median by more than its interval in {above}; it is at most {max(known):.0%} of it."


def page(found: Calibration) -> str:
    where = found.hardware
    first = (
        f"{found.tool}, {found.taken_at[:10]}, {where.processor}, {found.threads} thread{'s' if found.threads > 1 else ''}, "
        f"{' and '.join(f'{one.runtime} {one.version} ({one.mode})' for one in found.runtimes)}, float32, batch 1."
    )
    parts = (first, "\n".join(errors(found.errors)), floors(found.networks), "\n".join(rows(found.networks)))
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/expected-time.md")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each network")
    parser.add_argument("--keep", type=Path, help="a folder for what is made on the way")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        found = calibrated(
            *in_onnx(folder),
            *in_pytorch(folder),
            threads=options.threads,
            seconds=options.seconds,
            name="this-machine",
            record=folder / "times.jsonl",
            progress=lambda stage: sys.stderr.write(f"{stage}\n") and None,
        )
        (folder / "machine.toml").write_bytes(written(found.device))
        (folder / "calibration.json").write_text(found.to_json(), encoding="utf-8")
    text = page(found)
    sys.stdout.write(f"{text}\n")
    if options.write:
        write(found, text)


def write(found: Calibration, text: str) -> None:
    place = DOCS / "expected-time.md"
    marks = re.compile(r"(?<=<!-- measured -->\n).*?(?=<!-- end -->)", re.DOTALL)
    place.write_text(marks.sub(lambda _: f"\n{text}\n\n", place.read_text(encoding="utf-8")), encoding="utf-8")
    chart = predicted_chart(found.networks)
    assert chart is not None
    for theme in ("light", "dark"):
        drawn = picture(chart, "svg", [found.device.title], theme=theme)
        (DOCS / f"_static/measured/predicted-{theme}.svg").write_bytes(drawn)


if __name__ == "__main__":
    main()
