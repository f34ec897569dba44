"""Every rule for PyTorch's values, shapes, Fourier transforms and complex numbers, run as PyTorch runs it."""

from __future__ import annotations

import pytest

from tests.torch import examples_shapes, examples_spectral, examples_values
from tests.torch.one_call import checked, used
from weighbridge.frontends.aten_table_shapes import RULES_SHAPES
from weighbridge.frontends.aten_table_spectral import RULES_SPECTRAL
from weighbridge.frontends.aten_table_values import RULES_VALUES

TABLES = {
    "shapes": (examples_shapes.EXAMPLES, RULES_SHAPES),
    "spectral": (examples_spectral.EXAMPLES, RULES_SPECTRAL),
    "values": (examples_values.EXAMPLES, RULES_VALUES),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("table", "name"), [(table, name) for table, (found, _) in TABLES.items() for name in found])
def test_results_are_pytorchs(table, name):
    examples, _ = TABLES[table]
    checked(examples[name], seed=1)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("table", TABLES)
def test_every_rule_is_run(table):
    examples, rules = TABLES[table]
    run = set().union(*(used(checked(one, seed=0)[0], rules) for one in examples.values()))
    assert set(rules) == run
