"""Every number of the source material, out of the public interface.

The stated values are read from lecture.toml, never copied.  Each check is given one entry of it; an entry without a check
is one that docs/lecture.md puts off, with the reason.
"""

from __future__ import annotations

import tomllib
from decimal import Decimal

import pytest

from docs import generate_lecture
from tests.lecture import activations, compression, energies, measurements, operations, parameters  # noqa: F401 (they register their checks)
from tests.lecture.entries import CHECKS

LATER = generate_lecture.later()
"""Entries that later issues are about, as the page on the source material lists them."""
TEXTS = {"part", "what"}
"""Keys that say what a table is about; where they hold a rule or a number they have a check."""


@pytest.fixture(scope="session")
def lecture(shared) -> dict[str, dict[str, object]]:
    text = (shared / "facts" / "lecture.toml").read_text(encoding="utf-8")
    return tomllib.loads(text, parse_float=Decimal)


@pytest.mark.parametrize(("table", "key"), CHECKS, ids=map(".".join, CHECKS))
def test_entry(table, key, lecture):
    function = CHECKS[table, key]
    shared_by_several = sum(other is function for other in CHECKS.values()) > 1
    function(lecture[table][key], *([key] if shared_by_several else []))


def test_every_entry_is_checked_or_has_a_reason(lecture):
    entries = {(table, key) for table, values in lecture.items() for key in values if key not in TEXTS}
    postponed = {(t, k) for t, k in entries if t in LATER or f"{t}.{k}" in LATER}
    assert entries - postponed - set(CHECKS) == set()
    assert postponed & set(CHECKS) == set()
    assert {table for table, _ in CHECKS} | {name.partition(".")[0] for name in LATER} == set(lecture)
    named = {f"{t}.{k}" for t, k in entries} | set(lecture)
    assert set(LATER) <= named
