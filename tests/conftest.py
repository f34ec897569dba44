"""Fixtures that every test area uses."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no fault of the code: examples have no deadline.  In CI, Hypothesis's own profile stays beneath.
settings.register_profile(
    "patient", parent=settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real models, cases and reference figures that lies beside the repository; skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("shared: the folder of models and figures beside the repository is not there")
    return SHARED


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests must have the same names in every process, or those that share them out disagree and run none."""
    moving = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if moving:
        raise pytest.UsageError(f"a memory address is in the names of {moving[:3]}: give the parameters ids")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests recorded as ``figures``: a worker's own output would be lost."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, text in report.user_properties:
                if name == "figures":
                    terminalreporter.write_line(f"{report.nodeid}: {text}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that reads the shared folder must run where that folder is: skipped there, it fails."""
    report = yield
    reads = "shared" in getattr(item, "fixturenames", ()) or "shared" in str(report.longrepr)
    if report.skipped and not hasattr(report, "wasxfail") and reads and SHARED.is_dir():
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} reads the shared folder, which is there, and was skipped: {report.longrepr}"
    return report
