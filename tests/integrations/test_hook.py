"""The pre-commit hook, installed by pre-commit itself into a scratch repository: what git may commit and what it may not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

from tests.integrations import scratch

HOOKS = scratch.ROOT / ".pre-commit-hooks.yaml"
CONFIGURATION = ".pre-commit-config.yaml"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where pre-commit keeps what it installs: once for all of these tests."""
    return str(tmp_path_factory.mktemp("pre-commit"))


def pre_commit(folder: Path, home: str, *arguments: str) -> None:
    done = scratch.run(folder, sys.executable, "-m", "pre_commit", *arguments, PRE_COMMIT_HOME=home)
    assert done.returncode == 0, done.stdout


@pytest.fixture
def hooked(example: Path, weighbridge_repository: Path, home: str, index: None) -> Path:
    """The example with its own configuration, of which the address and the revision alone are others."""
    path = example / CONFIGURATION
    configuration = yaml.safe_load(path.read_text(encoding="utf-8"))
    (entry,) = configuration["repos"]
    entry |= {"repo": str(weighbridge_repository), "rev": scratch.git(weighbridge_repository, "rev-parse", "HEAD")}
    path.write_text(yaml.safe_dump(configuration), encoding="utf-8")
    scratch.git(example, "commit", "--quiet", "--all", "--message", "Take the hook from here")
    pre_commit(example, home, "install", "--install-hooks")
    return example


def commit(repository: Path, home: str) -> tuple[int, str]:
    done = scratch.run(repository, "git", "commit", "--all", "--message", "Change", PRE_COMMIT_HOME=home)
    return done.returncode, done.stdout


def test_git_commits_what_is_within_its_budgets_and_refuses_what_is_not(hooked: Path, home: str) -> None:
    first = scratch.git(hooked, "rev-parse", "HEAD")
    scratch.changed(hooked, scratch.WIDENED)
    code, said = commit(hooked, home)
    assert code == 1, said
    assert "Failed" in said
    assert "block2.pointwise" in said
    assert scratch.git(hooked, "rev-parse", "HEAD") == first
    scratch.changed(hooked, scratch.WIDENED[::-1])
    scratch.changed(hooked, scratch.RENAMED)
    code, said = commit(hooked, home)
    assert code == 0, said
    assert "Passed" in said
    assert scratch.git(hooked, "rev-parse", "HEAD^") == first


def test_what_is_not_staged_is_not_what_is_checked(hooked: Path, home: str) -> None:
    """pre-commit puts it aside, so that a good working tree does not let a bad commit pass."""
    scratch.changed(hooked, scratch.WIDENED)
    scratch.git(hooked, "add", scratch.NETWORK)
    scratch.changed(hooked, scratch.WIDENED[::-1])
    done = scratch.run(hooked, "git", "commit", "--message", "Change", PRE_COMMIT_HOME=home)
    assert done.returncode == 1, done.stdout


def test_a_budget_that_cannot_be_read_keeps_git_from_committing(hooked: Path, home: str) -> None:
    scratch.changed(hooked, scratch.UNKNOWN, "weighbridge.toml")
    code, said = commit(hooked, home)
    assert code == 1, said
    assert "exit code: 2" in said
    assert "macs" in said


def test_the_hook_reads_onnx_files(hooked: Path, home: str) -> None:
    """What is installed beside the readers that need nothing."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    ends = [helper.make_tensor_value_info(name, 1, [1, 8]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), hooked / "relu.onnx")
    with (hooked / "weighbridge.toml").open("a", encoding="utf-8") as budgets:
        budgets.write('\n[models.relu]\nsource = "relu.onnx"\nbudgets = ["macs == 0"]\n')
    scratch.git(hooked, "add", "--all")
    code, said = commit(hooked, home)
    assert code == 0, said


def test_the_manifest_is_what_pre_commit_takes() -> None:
    done = scratch.run(scratch.ROOT, sys.executable, "-m", "pre_commit", "validate-manifest", HOOKS)
    assert done.returncode == 0, done.stdout
    hooks = {hook["id"]: hook for hook in yaml.safe_load(HOOKS.read_text(encoding="utf-8"))}
    configuration = yaml.safe_load((scratch.EXAMPLE / CONFIGURATION).read_text(encoding="utf-8"))
    assert {hook["id"] for repository in configuration["repos"] for hook in repository["hooks"]} <= hooks.keys()
