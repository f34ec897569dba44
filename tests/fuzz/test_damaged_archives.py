"""Thousands of damaged exports, weighed whole: each ends in a report or in one clear error, never in anything else.

``WEIGHBRIDGE_FUZZ_CASES`` and ``WEIGHBRIDGE_FUZZ_FIRST`` choose more and other cases.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.campaign import run
from tests.pt2.build import convolutional, dynamic, entries, mixed, written

CASES = int(os.environ.get("WEIGHBRIDGE_FUZZ_CASES", "6000"))
FIRST = int(os.environ.get("WEIGHBRIDGE_FUZZ_FIRST", "0"))


def test_damaged_archives_end_in_a_report_or_one_clear_error(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    batch = "Symbol('s77', positive=True, integer=True)"
    files = []
    for place, made in enumerate((convolutional(), convolutional(batch), dynamic(), mixed())):
        files.append(tmp_path / f"{place}.pt2")
        files[-1].write_bytes(written(entries(made)))
    outcome = run(files, CASES, FIRST)
    record_property("figures", f"damaged archives: {outcome}")
    assert outcome.cases == CASES
    assert not outcome.faults, "\n".join(
        f"case {number}: {fault}" for number, fault in sorted(outcome.faults.items())[:3]
    )
    assert outcome.share > 1 / 2
    assert outcome.by_name["ok"] > CASES / 10
    assert outcome.peak_kib < 300_000
