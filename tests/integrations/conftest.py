"""What the tests of the hook and of the action share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.integrations import scratch


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A package index, which the hook and the action install from; where none answers tests are skipped, and fail where CI is true."""
    folder = tmp_path_factory.mktemp("index")
    download = ("-m", "pip", "download", "--quiet", "--no-deps", "--retries", "1", "hatchling")
    done = scratch.run(folder, sys.executable, *download)
    if done.returncode:
        reason = "no package index answers, from which the hook and the action install"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{reason}: {done.stdout}")
        pytest.skip(reason)


@pytest.fixture(scope="session")
def weighbridge_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This working tree as a repository that the hook and the action are taken from."""
    return scratch.working_tree(tmp_path_factory.mktemp("weighbridge") / "weighbridge")


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The example as a git repository of its own."""
    return scratch.example(tmp_path / "repository")
