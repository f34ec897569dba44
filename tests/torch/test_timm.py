"""timm's published table, counted with fvcore, against ours under the convention fvcore: a sample that nobody chose."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("timm", reason="timm is not installed")

from benchmarks.timm_models import rows
from benchmarks.timm_table import agrees, explained, printed, recomputed, smallest_hashes

SAMPLE = 60
TABLE = 925


def test_the_table_is_whole(shared: Path) -> None:
    assert len(rows(shared / "facts" / "timm.csv")) == TABLE


@pytest.mark.parametrize("place", range(SAMPLE))
def test_a_row_agrees_at_the_printed_decimals(place: int, shared: Path) -> None:
    """Or agrees with the model that its cause names; what fvcore has no rule for is all that may be missing."""
    row = smallest_hashes(rows(shared / "facts" / "timm.csv"), SAMPLE)[place]
    found = recomputed(row)
    assert found.error == ""
    assert found.exact == (not found.uncounted)
    assert set(found.uncounted) <= {"aten.lstm"}
    assert agrees(row, found) or explained(row, found), f"{row.name}: {row[2:]}, ours {printed(found[1:4])}"
