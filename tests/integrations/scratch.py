"""Scratch git repositories: the example of a repository with budgets, and this working tree as one that others install from."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "budget_repository"
NETWORK = "keyword_spotter.toml"
WIDENED = ('name = "block2", block = "separable", out = 64', 'name = "block2", block = "separable", out = 96')
"""A line of the example's network, and what a change that widens a layer makes of it."""
RENAMED = ('name = "block2"', 'name = "middle"')
UNKNOWN = ("macs grow", "mcas grow")
"""A budget of the example, and one of a metric that does not exist."""


def environment(**more: str) -> dict[str, str]:
    """That of this process without what git and pre-commit set for a hook, with a git that knows no settings of its user."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT", "GITHUB_"))}
    someone = {f"GIT_{role}_{what}": "tests@invalid" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "NO_COLOR": "1", "COLUMNS": "110"}
    return {**kept, **someone, **alone, **more}


def run(folder: Path, *command: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    """What became of a command; both its outputs are in ``stdout``."""
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )


def git(folder: Path, *arguments: str) -> str:
    done = run(folder, "git", *arguments)
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()


def committed(folder: Path) -> Path:
    """``folder`` as a git repository in which everything is committed."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message", "Begin")
    return folder


def example(folder: Path) -> Path:
    """The example in ``folder``, as a git repository of its own."""
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    return committed(folder)


def working_tree(folder: Path) -> Path:
    """What an installation is made of, as it is now in this working tree and committed or not, as a git repository."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml", "action.yml"):
        shutil.copy(ROOT / name, folder)
    return committed(folder)


def changed(repository: Path, change: tuple[str, str], name: str = NETWORK) -> None:
    """Replace the one text by the other in a file of the repository, where it stands once."""
    before, after = change
    path = repository / name
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, before
    path.write_text(text.replace(before, after), encoding="utf-8")
