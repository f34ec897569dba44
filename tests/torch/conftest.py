"""The tests of the PyTorch front end need PyTorch: elsewhere they are skipped, each module with the reason; in CI never."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest

HAS_TORCH = importlib.util.find_spec("torch") is not None
IN_CI = os.environ.get("CI", "").lower() in ("1", "true")
WHY = "PyTorch is not installed: scripts/test tells why, or pip install 'weighbridge[torch,test-torch]'"

# Models are built from their configurations alone; nothing may ask a hub.
os.environ["HF_HUB_OFFLINE"] = "1"
# Each worker has a core of its own, and PyTorch would start a thread for every core in each.
os.environ.setdefault("OMP_NUM_THREADS", "1")

if IN_CI and not HAS_TORCH:
    raise pytest.UsageError(f"in CI the tests of the PyTorch front end must run. {WHY}")


class _Skipped(pytest.Module):
    """A module of tests that is not even imported."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        pytest.skip(WHY, allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return None if HAS_TORCH else _Skipped.from_parent(parent, path=module_path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a skipped test of this folder is a failure: a library that it compares with was not installed."""
    report = yield
    if report.skipped and IN_CI and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped in CI: {report.longrepr}"
    return report
