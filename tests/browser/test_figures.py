"""What the reader of cells takes for the same number, and what it does not."""

from __future__ import annotations

import pytest

from tests.browser.figures import says


@pytest.mark.parametrize(
    ("cell", "value", "unit"),
    [
        *(("1,234", 1234, ""), ("1,234 5.1%", 1234, ""), (">= 1,234", 1234, ""), ("1,234 B peak", 1234, "B")),
        *(("3.505 M", 3_504_872, ""), ("1.436 MiB", 1_505_280, "B"), ("1.505 MB", 1_505_280, "B"), ("0", 0, "")),
        *((">= ~696.2 ms", 0.69624, "s"), ("11.29 /s", 11.294, "/s"), ("~459.4%", 4.594, "%"), ("<0.1%", 1e-5, "%")),
        *(("?", None, ""), ("unknown", None, "s"), ("1.286e-25 s", 1.2865e-25, "s"), ("39.608 mJ", 0.0396079, "J")),
    ],
)
def test_the_same(cell: str, value: float | None, unit: str) -> None:
    assert says(cell, value, unit)


@pytest.mark.parametrize(
    ("cell", "value", "unit"),
    [
        *(("1,235", 1234, ""), ("12,340", 1234, ""), ("1,234", 1234, "B"), ("1,234 B", 1234, ""), ("", 0, "")),
        *(("3.505 k", 3_504_872, ""), ("1.505 MiB", 1_505_280, "B"), ("697.2 ms", 0.69624, "s"), ("?", 0, "")),
        *(("0", None, ""), ("unknown", 0, ""), ("459.4 ms", 0.459, ""), ("459.3%", 4.594, "%"), ("0.0%", 1e-5, "%")),
    ],
)
def test_not_the_same(cell: str, value: float | None, unit: str) -> None:
    assert not says(cell, value, unit)
