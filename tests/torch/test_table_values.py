"""Every rule for PyTorch's values, run as PyTorch runs it."""

from __future__ import annotations

import pytest

from tests.torch.examples_values import EXAMPLES
from tests.torch.one_call import checked, used
from weighbridge.frontends.aten_table_values import RULES_VALUES


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", EXAMPLES)
def test_results_are_pytorchs(name):
    checked(EXAMPLES[name], seed=1)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_rule_is_run():
    run = set().union(*(used(checked(one, seed=0)[0], RULES_VALUES) for one in EXAMPLES.values()))
    assert set(RULES_VALUES) == run
