"""PyTorch's operators in the tables, which need no PyTorch."""

from __future__ import annotations

from weighbridge.frontends import aten_table
from weighbridge.frontends.aten_table_contractions import RULES_CONTRACTIONS
from weighbridge.frontends.aten_table_convolutions import RULES_CONVOLUTIONS
from weighbridge.frontends.aten_table_functions import RULES_FUNCTIONS
from weighbridge.frontends.aten_table_generators import RULES_GENERATORS
from weighbridge.frontends.aten_table_reductions import RULES_REDUCTIONS


def test_no_operator_is_in_two_tables() -> None:
    """Where tables are merged the last one would win in silence."""
    tables = [table for name, table in vars(aten_table).items() if name.startswith("RULES_")]
    foreign = [key for key in aten_table.RULES if not key.startswith("weighbridge.")]
    assert tables
    assert len(foreign) == sum(map(len, tables))


def test_nor_in_two_parts_of_one() -> None:
    values = (RULES_FUNCTIONS, RULES_REDUCTIONS, RULES_GENERATORS)
    assert len({key for table in values for key in table}) == sum(map(len, values))
    assert RULES_CONVOLUTIONS.items() <= RULES_CONTRACTIONS.items()
