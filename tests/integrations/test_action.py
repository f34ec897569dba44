"""The composite action: its steps as a runner carries them out, with the expressions filled in, on a scratch repository."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.integrations import scratch

ACTION: dict[str, Any] = yaml.safe_load((scratch.ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}
INSTALL, CHECK = STEPS
WORKFLOW = scratch.EXAMPLE / ".github" / "workflows" / "budget.yml"
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
SUMMARY, OUTPUT = "summary.md", "output"


class Runner(NamedTuple):
    """A machine of a workflow: its folder for temporary files, the action, and the repository that was checked out."""

    temporary: Path
    action: Path
    repository: Path

    def step(self, name: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Carry a step out: in bash as GitHub calls it, with inputs where the expressions stand."""
        step = STEPS[name]
        assert step["shell"] == "bash"
        stated = {key: one["default"] for key, one in ACTION["inputs"].items()} | inputs
        variables = {key: filled(text, stated) for key, text in step.get("env", {}).items()}
        script = self.temporary / "script.sh"
        script.write_text(step["run"], encoding="utf-8")
        of_runner = {
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_ACTION_PATH": str(self.action),
            "GITHUB_STEP_SUMMARY": str(self.temporary / SUMMARY),
            "GITHUB_OUTPUT": str(self.temporary / OUTPUT),
        }
        folder = self.repository / filled(step.get("working-directory", "."), stated)
        bash = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script)
        return scratch.run(folder, *bash, **of_runner, **variables)

    def check(self, **inputs: str) -> tuple[int, str, str]:
        """The exit code of the check, what it says, and what it adds to the summary."""
        for name in (SUMMARY, OUTPUT):
            (self.temporary / name).write_text("", encoding="utf-8")
        done = self.step(CHECK, **inputs)
        assert (self.temporary / OUTPUT).read_text(encoding="utf-8") == f"exit-code={done.returncode}\n"
        return done.returncode, done.stdout, (self.temporary / SUMMARY).read_text(encoding="utf-8")


def filled(text: str, inputs: dict[str, str]) -> str:
    return EXPRESSION.sub(lambda found: inputs[found[1].removeprefix("inputs.")], text)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, weighbridge_repository: Path, index: None) -> Path:
    """The folder of temporary files of a runner on which the first step was carried out."""
    temporary = tmp_path_factory.mktemp("runner")
    runner = Runner(temporary, weighbridge_repository, temporary)
    done = runner.step(INSTALL, extras="", python=sys.executable)
    assert done.returncode == 0, done.stdout
    return temporary


@pytest.fixture
def runner(installed: Path, weighbridge_repository: Path, example: Path) -> Runner:
    return Runner(installed, weighbridge_repository, example)


def test_what_is_within_its_budgets_passes_and_stands_in_the_summary(runner: Runner) -> None:
    code, said, summary = runner.check()
    assert code == 0, said
    assert "keyword_spotter" in said
    assert "5 budgets of 1 model: all pass" in summary


def test_a_widened_layer_fails_the_job_and_is_named_in_the_summary(runner: Runner) -> None:
    scratch.changed(runner.repository, scratch.WIDENED)
    code, said, summary = runner.check()
    assert code == 1, said
    assert "block2.pointwise" in summary
    assert "over" in summary


def test_the_summary_of_another_step_stays(runner: Runner) -> None:
    runner.check()
    summary = runner.temporary / SUMMARY
    before = summary.read_text(encoding="utf-8")
    runner.step(CHECK)
    assert summary.read_text(encoding="utf-8") == before * 2


def test_bad_input_fails_the_job_and_the_summary_says_that_there_is_no_result(runner: Runner) -> None:
    code, said, summary = runner.check(budgets="budgets.toml")
    assert code == 2
    assert "budgets.toml" in said
    assert "exit code 2" in summary


def test_the_result_of_an_earlier_check_is_not_shown_for_a_later_one(runner: Runner) -> None:
    runner.check()
    assert "budgets of" not in runner.check(budgets="nothing.toml")[2]


def test_a_working_directory_and_arguments_with_spaces_reach_the_command_as_they_are(runner: Runner) -> None:
    inner = runner.repository / "the models"
    inner.mkdir()
    for name in (scratch.NETWORK, "weighbridge.toml", "weighbridge-baseline.json"):
        (runner.repository / name).rename(inner / name.replace("weighbridge.toml", "our budgets.toml"))
    inputs = {"working-directory": "the models", "budgets": "our budgets.toml"}
    arguments = "keyword_spotter\n--junit\nour results.xml\n"
    code, said, _ = runner.check(**inputs, arguments=arguments)
    assert code == 0, said
    assert (inner / "our results.xml").is_file()


@pytest.mark.parametrize("name", sorted(ACTION["inputs"].keys() & {"budgets", "arguments"}))
def test_no_input_is_carried_out_by_the_shell(runner: Runner, name: str) -> None:
    code, _, _ = runner.check(**{name: "$(touch planted) `touch planted`; touch planted"})
    assert code == 2
    assert not list(runner.repository.rglob("planted"))


def test_no_script_has_an_expression_in_it() -> None:
    """What stands in ``run`` is text of a script before the shell sees it."""
    assert not [name for name, step in STEPS.items() if EXPRESSION.search(step["run"])]


def test_every_input_is_used_and_every_input_that_is_used_is_there() -> None:
    used = {name for step in STEPS.values() for name in re.findall(r"inputs\.([\w-]+)", yaml.safe_dump(step))}
    assert used == ACTION["inputs"].keys()
    (exit_code,) = ACTION["outputs"].values()
    assert exit_code["value"] == "${{ steps.check.outputs.exit-code }}"
    assert STEPS[CHECK]["id"] == "check"


def test_the_documentation_has_every_input_with_its_default() -> None:
    page = (scratch.ROOT / "docs" / "in-your-repository.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \| .* \| (.*?) ?\|$", page, re.MULTILINE))
    assert {name: rows.get(name) for name in ACTION["inputs"]} == {
        "budgets": "the one that is found from the working directory upwards",
        "arguments": "",
        "working-directory": "the root of the repository",
        **{name: f"`{ACTION['inputs'][name]['default']}`" for name in ("extras", "python")},
    }


def test_a_python_that_is_too_old_is_refused_with_what_to_do(tmp_path: Path, weighbridge_repository: Path) -> None:
    old = tmp_path / "old"
    # An interpreter of which only the version differs.
    program = f'exec {sys.executable} -c "import sys; sys.version_info = (3, 10); exec(sys.argv[1])" "$2"'
    old.write_text(f"#!/bin/sh\n{program}\n", encoding="utf-8")
    old.chmod(0o755)
    done = Runner(tmp_path, weighbridge_repository, tmp_path).step(INSTALL, python=str(old))
    assert done.returncode == 1
    assert "Python 3.11 or later is needed" in done.stdout
    assert not (tmp_path / "weighbridge").exists()


def test_the_workflow_of_the_example_calls_the_action_with_inputs_that_it_has() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    (step,) = [step for step in workflow["jobs"]["weigh"]["steps"] if "weighbridge" in step["uses"]]
    assert step.get("with", {}).keys() <= ACTION["inputs"].keys()
