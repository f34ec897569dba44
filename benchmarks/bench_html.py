"""Pages of saved reports: their size, the time that making one takes, and the time until the browser has drawn all its charts.

What is made is measured as in bench_onnx.py, whole processes that take turns: ``weighbridge report`` writes a page, and the
text of the screen beside it; a process that only asks vl-convert for its JavaScript says how much of the first that is.
Chromium then opens each page from its file, in a window of its own every time: until something is to be read, and until the
page says that it is drawn.  Needs Playwright, and Chromium on the path.

    python benchmarks/bench_html.py [--repeats 7] [--folder DIR] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from bench_onnx import MAX_GROWTH, Check, measure, show, side_by_side

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

_BUILD = str(Path(__file__).with_name("html_models.py"))
_NODES = {1_004: "decoder_91", 5_008: "decoder_455", 10_013: "decoder_910"}
_BUNDLE = "import vl_convert; vl_convert.javascript_bundle()"
_PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"

MAX_MB_1000 = 3.0


def made(program: str, folder: Path, repeats: int) -> list[Check]:
    """Pages of all sizes, side by side."""
    commands = {"vl-convert's JavaScript alone": [sys.executable, "-c", _BUNDLE]}
    for nodes, name in _NODES.items():
        saved = folder / f"{name}.json"
        if not saved.exists():
            measure([sys.executable, _BUILD, name, str(saved)])
        commands[f"a page of {nodes:,} nodes"] = [program, "report", str(saved), "-o", str(folder / f"{name}.html")]
        commands[f"text of {nodes:,} nodes"] = [program, "report", str(saved)]
    runs = side_by_side(commands, repeats)
    show("made of saved reports", runs)
    _, _, half, whole = (run.cpu_seconds for name, run in runs.items() if not name.startswith("text"))
    thousand, *others = ((folder / f"{name}.html").stat().st_size / 1e6 for name in _NODES.values())
    print(f"  {thousand:.2f} MB, {', '.join(f'{size:.2f} MB' for size in others)}")
    return [
        Check("a page of 1,004 nodes: MB", thousand, MAX_MB_1000),
        Check("a page of 10,013 nodes: times the processor time of half of them", whole / half, MAX_GROWTH),
    ]


def opened(folder: Path, repeats: int) -> list[Check]:
    """How long the browser takes for each page, the sizes taking turns; the least counts, as every other had to wait."""
    from tests.browser.chromium import chromium, launched

    program = chromium()
    if program is None:
        sys.exit("there is no Chromium on the path")
    empty = folder / "empty.html"
    empty.write_text("<!doctype html><html data-drawn><title>empty</title><p>nothing</p></html>")
    pages = {"an empty page": empty, **{f"{nodes:,} nodes": folder / f"{name}.html" for nodes, name in _NODES.items()}}
    readable: Mapping[str, list[float]] = {name: [] for name in pages}
    drawn: Mapping[str, list[float]] = {name: [] for name in pages}
    with launched(program) as browser:
        for _ in range(repeats):
            for name, path in pages.items():
                page = browser.new_context().new_page()
                start = time.perf_counter()
                page.goto(path.as_uri(), wait_until="commit")
                page.locator("html[data-drawn]").wait_for(state="attached", timeout=300_000)
                drawn[name].append(time.perf_counter() - start)
                readable[name].append(page.evaluate(_PAINTED) / 1000)
                page.context.close()
        version = browser.version
    print(f"\nopened in Chromium {version}")
    for name in pages:
        first, last = min(readable[name]), min(drawn[name])
        print(f"  {name:<34}{first:8.3f} s until it can be read {last:8.3f} s until all is drawn")
    _, _, half, whole = map(min, drawn.values())
    return [Check("10,013 nodes opened: times as long as half of them", whole / half, MAX_GROWTH)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7, help="times that each page is made and opened (default 7)")
    parser.add_argument("--folder", type=Path, help="where reports and pages are kept (default: a temporary folder)")
    parser.add_argument("--json", type=Path, help="write the checks to this file")
    options = parser.parse_args()
    program = Path(sys.executable).with_name("weighbridge")
    if not program.exists():
        sys.exit(f"there is no {program}: install weighbridge[report] for {sys.executable}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{platform.platform()}, {os.cpu_count()} processors, Python {platform.python_version()}")
        checks = [*made(str(program), folder, options.repeats), *opened(folder, options.repeats)]
    print()
    for check in checks:
        print(f"{'ok  ' if check.holds else 'MISS'} {check.what}: {check.value:.3g} (at most {check.limit:g})")
    if options.json:
        options.json.write_text(json.dumps([{**check._asdict(), "holds": check.holds} for check in checks], indent=1))
    return 0 if all(check.holds for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
