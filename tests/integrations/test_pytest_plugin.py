"""The pytest plug-in: what a test that holds a model to its budgets shows where it passes, fails, and cannot tell."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.integrations import scratch

pytest_plugins = ["pytester"]

NAMED = 'def test_model(weighbridge_budget):\n    weighbridge_budget("keyword_spotter")\n'
INEXACT = """
import onnx
from onnx import helper
nodes = [helper.make_node("Unheard", ["x"], ["y"], domain="elsewhere")]
ends = [helper.make_tensor_value_info(name, 1, [1, 8]) for name in ("x", "y")]
domains = [helper.make_opsetid(name, 17) for name in ("", "elsewhere")]
onnx.save(helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:]), opset_imports=domains), "unknown.onnx")
"""


def pytest_in(repository: Path, *arguments: str) -> tuple[int, str]:
    """The exit code of pytest in a repository, and what it shows."""
    done = scratch.run(repository, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments)
    return done.returncode, done.stdout


def called(pytester: pytest.Pytester, call: str, *arguments: str) -> pytest.RunResult:
    """What becomes of a test that makes this one call."""
    pytester.makepyfile(f"def test_call(weighbridge_budget):\n    weighbridge_budget({call})\n")
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", *arguments)


def refused(result: pytest.RunResult) -> str:
    """What a test that failed shows: nothing of ours but the message."""
    result.assert_outcomes(failed=1)
    shown = result.stdout.str()
    for inside in ("Traceback", "pytest_plugin.py", "Error:", "internal error"):
        assert inside not in shown
    return shown


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


def test_the_tests_of_the_example_can_be_shared_out(example: Path) -> None:
    code, shown = pytest_in(example, "-n", "2")
    assert code == 0, shown


def test_the_file_of_budgets_is_sought_from_the_test_upwards(example: Path) -> None:
    """Wherever pytest is started: a repository may hold others, each with its budgets."""
    inner = example / "packages" / "inner"
    shutil.copytree(example, inner, ignore=shutil.ignore_patterns("packages", ".git", "tests"))
    (inner / "tests" / "deep").mkdir(parents=True)
    (inner / "tests" / "deep" / "test_inner.py").write_text(NAMED, encoding="utf-8")
    scratch.changed(inner, scratch.WIDENED)
    assert pytest_in(example, "tests")[0] == 0
    for folder in (example, inner, example.parent):
        code, shown = pytest_in(folder, str(inner / "tests"))
        assert code == 1, shown
        assert "block2.pointwise" in shown


def test_another_file_of_budgets_can_be_named(pytester: pytest.Pytester) -> None:
    shutil.copytree(scratch.EXAMPLE, pytester.path / "models", ignore=shutil.ignore_patterns("tests"))
    called(pytester, '"keyword_spotter", file="models/weighbridge.toml"').assert_outcomes(passed=1)
    assert "elsewhere.toml" in refused(called(pytester, '"keyword_spotter", file="elsewhere.toml"'))


def test_no_file_of_budgets_fails_the_test(pytester: pytest.Pytester) -> None:
    assert "weighbridge.toml" in refused(called(pytester, '"keyword_spotter"'))


def test_a_model_that_the_file_does_not_have_fails_the_test_with_the_nearest(pytester: pytest.Pytester) -> None:
    shutil.copytree(scratch.EXAMPLE, pytester.path, ignore=shutil.ignore_patterns("tests"), dirs_exist_ok=True)
    shown = refused(called(pytester, '"keyword_spoter"'))
    assert "keyword_spotter" in shown


def test_budgets_beside_a_source_need_no_file(pytester: pytest.Pytester) -> None:
    called(pytester, '"lenet5", "macs <= 1 M", "fits on stm32f746", on="stm32f746", precision="int8"').assert_outcomes(
        passed=1
    )


def test_what_breaks_is_shown_with_the_layers_and_without_a_traceback(pytester: pytest.Pytester) -> None:
    shown = refused(called(pytester, '"alexnet", "macs <= 700 M", "parameters <= 100 M"'))
    assert "over budget" in shown
    assert "724,406,816" in shown
    assert "conv2" in shown
    assert "passed" in shown


def test_what_it_finds_is_given_to_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_call(weighbridge_budget):
            checked = weighbridge_budget("alexnet", "macs <= 1 G", "macs == 724406816", batch=1)
            assert checked.report.facts.macs == 724_406_816
            assert [result.status for result in checked.results] == ["passed", "passed"]
            assert checked.name == "alexnet"
        """
    )
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_a_number_that_is_not_exact_fails_the_test(pytester: pytest.Pytester) -> None:
    pytest.importorskip("onnx")
    pytester.run(sys.executable, "-c", INEXACT)
    shown = refused(called(pytester, '"unknown.onnx", "macs <= 1 G"'))
    assert "not exact" in shown


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ('"alexnet", "mcas <= 1 G"', "macs"),
        ('"alexnet", "peak_bytes <= 1 MB under arena_tfml"', "arena_tflm"),
        ('"alexnet", "floor_s <= 1 s on stm32f764", on="stm32f746"', "stm32f746"),
        ('"alexnet", "floor_s <= 1 s on stm32f764", on="stm32f764"', "stm32f746"),
        ('"alexnet", "floor_s <= 1 s on toy"', "toy"),
        ('"alexnet", "macs <= 1 KiB"', "KiB"),
        ('"alexnet", "macs grow <= 2 %"', "baseline"),
        ('"alexnte", "macs <= 1 G"', "alexnet"),
        ('"nothing.onnx", "macs <= 1 G"', "nothing.onnx"),
        ('"alexnet", "macs <= 1 G", batch=0', "batch"),
        ('"alexnet", 1_000_000_000', "a budget is text"),
        ('object(), "macs <= 1 G"', "type object"),
        ("object()", "budget"),
        ('"alexnet", "macs <= 1 G", file="weighbridge.toml"', "file"),
        ('"alexnet", batch=8', "batch"),
    ],
)
def test_what_cannot_be_checked_fails_the_test_and_says_what_to_do(
    pytester: pytest.Pytester, call: str, says: str
) -> None:
    assert says in refused(called(pytester, call))


def test_a_model_is_weighed_once_for_all_of_its_budgets_and_left_as_it_is(pytester: pytest.Pytester) -> None:
    pytest.importorskip("torch")
    pytester.makepyfile(
        """
        import pytest
        from torch import nn

        @pytest.fixture
        def head():
            return nn.Sequential(nn.Flatten(), nn.Linear(64 * 8, 10))

        def test_passes(weighbridge_budget, head):
            checked = weighbridge_budget(head, "macs <= 20 k", "parameter_bytes <= 64 KiB", inputs=(1, 64, 8))
            assert checked.report.facts.macs == 5120
            assert checked.name == "Sequential"
            assert head.training

        def test_fails(weighbridge_budget, head):
            weighbridge_budget(head, "macs <= 5 k", inputs=(1, 64, 8))
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    assert "5,120" in result.stdout.str()


def test_a_model_that_a_python_file_makes_is_checked_as_the_command_does(pytester: pytest.Pytester) -> None:
    pytest.importorskip("torch")
    (pytester.path / "net.py").write_text("from torch import nn\ndef net(): return nn.Linear(8, 4)\n", encoding="utf-8")
    entry = '[models.net]\nsource = "net.py:net"\ninput = "1x8"\nbudgets = ["macs == 32"]\n'
    (pytester.path / "weighbridge.toml").write_text(entry, encoding="utf-8")
    pytester.makepyfile('def test_call(weighbridge_budget):\n    weighbridge_budget("net")\n')
    # In a process of its own, as PyTorch cannot be imported twice in one.
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
    assert scratch.run(pytester.path, sys.executable, "-m", "weighbridge", "check").returncode == 0


def test_the_fixture_is_there_and_explains_itself(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    shown = pytester.runpytest_inprocess("--fixtures").stdout.str()
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
