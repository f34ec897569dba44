from weighbridge.pytest_plugin import BudgetCheck


def test_the_keyword_spotter_keeps_its_budgets(weighbridge_budget: BudgetCheck) -> None:
    weighbridge_budget("keyword_spotter")


def test_a_network_of_another_project_stays_small(weighbridge_budget: BudgetCheck) -> None:
    checked = weighbridge_budget("lenet5", "macs <= 1 M", "peak_bytes <= 64 KiB under live")
    assert checked.report.facts.parameters < 100_000
