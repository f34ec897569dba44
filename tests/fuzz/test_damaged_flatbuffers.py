"""Thousands of damaged TensorFlow Lite files, weighed whole: each ends in a report or in one clear error, never in anything else.

``WEIGHBRIDGE_FUZZ_CASES`` and ``WEIGHBRIDGE_FUZZ_FIRST`` choose more and other cases.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.campaign import ENDINGS, run, small_models

CASES = int(os.environ.get("WEIGHBRIDGE_FUZZ_CASES", "6000"))
FIRST = int(os.environ.get("WEIGHBRIDGE_FUZZ_FIRST", "0"))


def test_damaged_flatbuffers_end_in_a_report_or_one_clear_error(
    shared: Path, record_property: Callable[[str, object], None]
) -> None:
    files = small_models(shared / "data" / "tflite", ENDINGS["tflite"])
    assert len(files) > 120
    outcome = run(files, CASES, FIRST)
    record_property("figures", f"damaged TensorFlow Lite files: {outcome}")
    assert outcome.cases == CASES
    assert not outcome.faults, "\n".join(
        f"case {number}: {fault}" for number, fault in sorted(outcome.faults.items())[:3]
    )
    assert outcome.share > 1 / 3
    assert outcome.by_name["ok"] > CASES / 10
    assert outcome.peak_kib < 300_000
