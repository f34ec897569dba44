"""The report as a data frame."""

from __future__ import annotations

import sys

import pytest

from weighbridge import MissingExtra, weigh
from weighbridge.report.view import node_table


def test_a_row_a_node_with_exact_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    report = weigh("alexnet", batch=60_000)
    frame = report.to_pandas()
    table = node_table(report)
    assert list(frame.columns) == list(table.columns)
    assert len(frame) == len(report.nodes)
    assert frame["macs"].sum() == report.facts.macs
    assert frame["macs"].sum() > 2**45
    for column, index in zip(table.columns, range(len(table.columns)), strict=True):
        for value, row in zip(frame[column], table.rows, strict=True):
            assert (row[index] is None and pandas.isna(value)) or value == row[index]


def test_without_pandas_an_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match="pip install pandas"):
        weigh("lenet5").to_pandas()
