"""docs/lecture.md: the figures that it states are those of lecture.toml, and none is missing.

That ours are these is checked where the page is made: ``generate_lecture.page`` refuses another figure.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from docs import generate_lecture

TEXTS = {"part", "what", "rule", "axis", "conditions"}
"""Keys that hold words, which need no entry of their own."""


@pytest.fixture(scope="session")
def facts(shared: Path) -> dict[str, object]:
    """Every value of lecture.toml by its path, ``alexnet_totals.macs``, tables and what is in them."""
    text = (shared / "facts" / "lecture.toml").read_text(encoding="utf-8")
    return dict(flat(tomllib.loads(text, parse_float=Decimal)))


def flat(table: dict[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        yield f"{path}{key}", value
        if isinstance(value, dict):
            yield from flat(value, f"{path}{key}.")


def test_what_the_page_states_is_what_the_source_states(facts: dict[str, object]) -> None:
    for path, entry in generate_lecture.entries():
        assert path in facts, path
        value, stated = facts[path], entry.get("stated")
        if isinstance(value, str) and isinstance(stated, int):
            assert stated in [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\d|\d", value)], path
        elif stated is not None:
            assert stated == value, path
        elif not isinstance(value, str):
            pytest.fail(f"{path} is a number, and the page has none")


def test_no_number_of_the_source_is_missing(facts: dict[str, object]) -> None:
    told = {path for path, _ in generate_lecture.entries()} | generate_lecture.later()
    leaves = [path for path, value in facts.items() if not isinstance(value, dict)]
    missing = [
        path
        for path in leaves
        if path.rpartition(".")[2] not in TEXTS and not any(f"{path}.".startswith(f"{known}.") for known in told)
    ]
    assert missing == []
    assert told <= set(facts)
    assert all(any(f"{path}.".startswith(f"{table}.") for path in told) for table in facts if "." not in table)


def test_a_figure_that_is_not_the_stated_one_is_refused() -> None:
    assert generate_lecture.agrees(243.818624, Decimal("243.818624"))
    assert generate_lecture.agrees(1.7894, Decimal("1.79"))
    assert not generate_lecture.agrees(1.7849, Decimal("1.79"))
    assert not generate_lecture.agrees(60954657, 60954656)
    assert not generate_lecture.agrees([1, 2], [1, 2, 3])
