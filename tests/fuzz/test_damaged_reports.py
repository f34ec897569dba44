"""A thousand damaged reports, read and shown: each ends in a page, a chart, a table, or in one clear error, never in anything else.

``WEIGHBRIDGE_FUZZ_CASES`` and ``WEIGHBRIDGE_FUZZ_FIRST`` choose more and other cases, as for models: one for each twenty of
those, as the drawings take that much longer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.campaign import run
from tests.report.samples import alexnet, node, on_device, report
from weighbridge import Report, weigh

CASES = int(os.environ.get("WEIGHBRIDGE_FUZZ_CASES", "20000")) // 20
FIRST = int(os.environ.get("WEIGHBRIDGE_FUZZ_FIRST", "0"))


def reports() -> dict[str, Report]:
    """One with all that can be asked for, one in modules on devices of several memories, one that is not exact."""
    return {
        "all": weigh(
            "lenet5",
            on=["toy", "stm32f746"],
            energy="45nm",
            fps=30,
            batches=[2, 4],
            battery="1Ah@1V",
            convention=["fvcore", "vela"],
            scratch="im2col",
        ),
        "deep": weigh(
            "mobilenet_v2:width=0.35,resolution=96", precision="int8", on=["a100", "coral-edge-tpu"], batches=[8]
        ),
        "inexact": report([*alexnet(), node("odd", operator="unknown", macs=None)], on=(on_device(),)),
    }


def test_damaged_reports_end_in_a_page_or_one_clear_error(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    files = []
    for name, saved in reports().items():
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(saved.to_json(), encoding="utf-8")
    outcome = run(files, CASES, FIRST)
    record_property("figures", f"damaged reports: {outcome}")
    assert outcome.cases == CASES
    assert not outcome.faults, "\n".join(
        f"case {number}: {fault}" for number, fault in sorted(outcome.faults.items())[:3]
    )
    assert outcome.share > 1 / 3
    assert outcome.by_name["ok"] > CASES / 3
