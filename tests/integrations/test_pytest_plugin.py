"""The pytest plug-in: what the fixture that holds a model to its budgets gives, refuses and shows.

The plug-in is loaded in this run as in every other, so most tests use its fixture; what pytest shows is looked at in runs of their own.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.integrations import scratch
from weighbridge.pytest_plugin import BudgetCheck

pytest_plugins = ["pytester"]

ALEXNET_MACS = 724_406_816


def pytest_in(repository: Path) -> tuple[int, str]:
    """The exit code of pytest in a repository, and what it shows."""
    done = scratch.run(repository, sys.executable, "-m", "pytest", "-p", "no:cacheprovider")
    return done.returncode, done.stdout


def test_the_tests_of_the_example_pass(example: Path) -> None:
    code, shown = pytest_in(example)
    assert code == 0, shown
    assert "2 passed" in shown


def test_a_widened_layer_fails_a_test_of_the_example_and_is_named(example: Path) -> None:
    scratch.changed(example, scratch.WIDENED)
    code, shown = pytest_in(example)
    assert code == 1
    assert "1 failed, 1 passed" in shown
    assert "block2.pointwise" in shown
    assert "Traceback" not in shown


def test_a_renamed_layer_fails_no_test_of_the_example(example: Path) -> None:
    scratch.changed(example, scratch.RENAMED)
    code, shown = pytest_in(example)
    assert code == 0, shown


def test_the_file_of_budgets_is_sought_from_the_test_upwards(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever pytest is started: a repository may hold others, each with its budgets."""
    inner = example / "packages" / "inner"
    shutil.copytree(example, inner, ignore=shutil.ignore_patterns("packages", ".git"))
    (inner / "tests" / "deep").mkdir()
    scratch.changed(inner, scratch.WIDENED)
    for folder in (example, inner, example.parent):
        monkeypatch.chdir(folder)
        assert BudgetCheck(example / "tests")("keyword_spotter").report.facts.exact
        with pytest.raises(pytest.fail.Exception, match=r"block2\.pointwise"):
            BudgetCheck(inner / "tests" / "deep")("keyword_spotter")


def test_what_was_weighed_is_named_as_in_the_file(example: Path) -> None:
    checked = BudgetCheck(example)("keyword_spotter")
    assert (checked.name, checked.source) == ("keyword_spotter", scratch.NETWORK)
    assert {result.status for result in checked.results} == {"passed"}


def test_another_file_of_budgets_can_be_named(tmp_path: Path, weighbridge_budget: BudgetCheck) -> None:
    models = tmp_path / "models"
    shutil.copytree(scratch.EXAMPLE, models)
    assert weighbridge_budget("keyword_spotter", file=models / "weighbridge.toml").results
    with pytest.raises(pytest.fail.Exception, match=r"elsewhere\.toml"):
        weighbridge_budget("keyword_spotter", file=os.fspath(models / "elsewhere.toml"))


def test_no_file_of_budgets_fails_the_test(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"there is no weighbridge\.toml"):
        BudgetCheck(tmp_path)("keyword_spotter")


def test_a_model_that_the_file_does_not_have_fails_the_test_with_the_nearest(example: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match="did you mean keyword_spotter"):
        BudgetCheck(example)("keyword_spoter")


def test_growth_fails_the_test_where_the_baseline_is_gone(example: Path) -> None:
    (example / "weighbridge-baseline.json").unlink()
    with pytest.raises(pytest.fail.Exception, match="weighbridge check --update"):
        BudgetCheck(example)("keyword_spotter")


def test_budgets_beside_a_source_need_no_file(weighbridge_budget: BudgetCheck) -> None:
    checked = weighbridge_budget("alexnet", "macs <= 1 G", f"macs == {ALEXNET_MACS}", batch=1)
    assert checked.report.facts.macs == ALEXNET_MACS
    assert [result.status for result in checked.results] == ["passed", "passed"]
    assert checked.name == "alexnet"


@pytest.mark.parametrize("on", ["stm32f746", ["stm32f746"], iter(["stm32f746"])], ids=["name", "list", "iterator"])
def test_devices_are_given_as_to_weigh(weighbridge_budget: BudgetCheck, on: object) -> None:
    checked = weighbridge_budget("lenet5", "fits on stm32f746", on=on, precision="int8")
    assert [one.device for one in checked.report.on] == ["stm32f746"]


def test_a_number_that_is_not_exact_fails_the_test(tmp_path: Path, weighbridge_budget: BudgetCheck) -> None:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    nodes = [helper.make_node("Unheard", ["x"], ["y"], domain="elsewhere")]
    ends = [helper.make_tensor_value_info(name, 1, [1, 8]) for name in ("x", "y")]
    domains = [helper.make_opsetid(name, 17) for name in ("", "elsewhere")]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=domains), tmp_path / "unknown.onnx")
    with pytest.raises(pytest.fail.Exception, match="not exact"):
        weighbridge_budget(tmp_path / "unknown.onnx", "macs <= 1 G")


def test_a_module_is_held_to_its_budgets_and_left_as_it_is(weighbridge_budget: BudgetCheck) -> None:
    nn = pytest.importorskip("torch").nn
    head = nn.Sequential(nn.Flatten(), nn.Linear(64 * 8, 10))
    checked = weighbridge_budget(head, "macs <= 20 k", "parameter_bytes <= 64 KiB", inputs=(1, 64, 8))
    assert checked.report.facts.macs == 5120
    assert checked.name == "Sequential"
    assert head.training
    with pytest.raises(pytest.fail.Exception, match="5,120"):
        weighbridge_budget(head, "macs <= 5 k", inputs=(1, 64, 8))


def test_a_model_that_a_python_file_makes_is_checked_as_the_command_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    (tmp_path / "net.py").write_text("from torch import nn\ndef net(): return nn.Linear(8, 4)\n", encoding="utf-8")
    entry = '[models.net]\nsource = "net.py:net"\ninput = "1x8"\nbudgets = ["macs == 32"]\n'
    (tmp_path / "weighbridge.toml").write_text(entry, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert BudgetCheck(tmp_path)("net").report.facts.macs == 32
    assert scratch.run(tmp_path, sys.executable, "-m", "weighbridge", "check").returncode == 0


@pytest.mark.parametrize(
    ("source", "budgets", "options", "says"),
    [
        ("alexnet", ["mcas <= 1 G"], {}, "macs"),
        ("alexnet", ["peak_bytes <= 1 MB under arena_tfml"], {}, "arena_tflm"),
        ("alexnet", ["floor_s <= 1 s on stm32f764"], {"on": "stm32f746"}, "stm32f746"),
        ("alexnet", ["floor_s <= 1 s"], {"on": "stm32f764"}, "stm32f746"),
        ("alexnet", ["floor_s <= 1 s on toy"], {}, "toy"),
        ("alexnet", ["macs <= 1 KiB"], {}, "KiB"),
        ("alexnet", ["macs grow <= 2 %"], {}, "baseline"),
        ("alexnte", ["macs <= 1 G"], {}, "alexnet"),
        ("nothing.onnx", ["macs <= 1 G"], {}, "nothing.onnx"),
        ("alexnet", ["macs <= 1 G"], {"batch": 0}, "batch"),
        ("alexnet", [1_000_000_000], {}, "a budget is text"),
        (object(), ["macs <= 1 G"], {}, "type object"),
        (object(), [], {}, "there is no budget"),
        ("alexnet", ["macs <= 1 G"], {"file": "weighbridge.toml"}, "leave file out"),
        (
            "alexnet",
            ["macs <= 1 G", "macs grow <= 2 %"],
            {},
            "macs grow <= 2 %: only models of a file of budgets have a",
        ),
        ("alexnet", [], {"batch": 8}, "the file of budgets says how its models are weighed"),
    ],
    ids=lambda one: type(one).__name__ if type(one) is object else None,
)
def test_what_cannot_be_checked_fails_the_test_and_says_what_to_do(
    weighbridge_budget: BudgetCheck, source: object, budgets: list[str], options: dict[str, object], says: str
) -> None:
    with pytest.raises(pytest.fail.Exception) as failure:
        weighbridge_budget(source, *budgets, **options)
    assert says in str(failure.value)


def test_a_failure_shows_what_broke_and_no_line_of_ours(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_over(weighbridge_budget):
            weighbridge_budget("alexnet", "macs <= 700 M", "parameters <= 100 M")

        def test_wrong(weighbridge_budget):
            weighbridge_budget("alexnet", "mcas <= 700 M")

        def test_misspelt(weighbridge_budget):
            weighbridge_budget("alexnet", "macs <= 1 G", bacth=1)
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=3)
    shown = result.stdout.str()
    assert f"{ALEXNET_MACS:,}" in shown
    assert "conv2" in shown
    assert "2 budgets of 1 model: 1 passed, 1 over budget" in shown
    assert "weighbridge: error: mcas <= 700 M" in shown
    assert "unexpected keyword argument 'bacth'" in shown
    for inside in ("Traceback", "pytest_plugin.py", "During handling", "--all"):
        assert inside not in shown


def test_the_fixture_explains_itself(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    shown = pytester.runpytest_subprocess("--fixtures").stdout.str()
    assert "weighbridge_budget" in shown
    assert "Holds a model to its budgets" in shown


def test_a_run_that_asks_for_no_budget_loads_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_modules():
            ours = {name for name in sys.modules if name.startswith("weighbridge")}
            assert ours == {"weighbridge", "weighbridge.pytest_plugin"}
            assert not {"cattrs", "click", "rich", "onnx", "numpy", "torch"} & sys.modules.keys()
        """
    )
    arguments = ("--strict-markers", "--strict-config", "-W", "error", "-p", "no:hypothesispytest", "-p", "no:xdist")
    pytester.runpytest_subprocess(*arguments).assert_outcomes(passed=1)
