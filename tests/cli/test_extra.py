"""Without what draws, pages and charts are refused before any work is done, and all else is as it was."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.saved import save

LIBRARIES = ("altair", "jinja2", "vl_convert")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(arguments: Sequence[str], before: str = "") -> subprocess.CompletedProcess[str]:
    program = f"import sys\n{before}\nfrom weighbridge.cli.main import main\nsys.exit(main({list(arguments)!r}))"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "what", "missing"),
    [
        (arguments, what, library)
        for arguments, what, libraries in (
            (["weigh", "not there.onnx", "--json", "x.json", "-o", "x.html"], "a page in HTML", LIBRARIES),
            (["report", "not there.json", "-o", "x.html"], "a page in HTML", LIBRARIES),
            (["plot", "not there.json", "inversion", "-o", "x.svg"], "a chart", ("altair", "vl_convert")),
        )
        for library in libraries
    ],
    ids=lambda value: value[0] if isinstance(value, list) else value,
)
def test_a_library_that_is_missing_is_said_first(arguments: list[str], what: str, missing: str) -> None:
    """Before it is found out that what is to be drawn is not there."""
    done = run(arguments, f"sys.modules[{missing!r}] = None")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"weighbridge: error: {what} needs packages that are not there (")
    assert missing in done.stderr
    assert done.stderr.endswith('; pip install "weighbridge[report]"\n')
    assert not list(Path().iterdir())


def test_a_module_of_our_own_that_is_missing_is_a_fault_of_ours() -> None:
    done = run(["report", save("a.json"), "-o", "x.html"], "sys.modules['weighbridge.report.html_file'] = None")
    assert done.returncode == 2
    assert done.stderr.startswith("weighbridge: internal error: ")


@pytest.mark.parametrize(
    "arguments", [["--json", "-"], ["--csv"], ["--markdown"], ["-o", "x.txt"], ["--policy", "pair"]], ids=" ".join
)
@pytest.mark.parametrize("command", ["weigh lenet5", "report a.json"])
def test_nothing_else_loads_what_draws(command: str, arguments: list[str]) -> None:
    save("a.json")
    done = run([*command.split(), *arguments], f"sys.modules |= dict.fromkeys({LIBRARIES!r})")
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_a_page_is_written_where_all_is_there() -> None:
    done = run(["weigh", "lenet5", "-o", "x.html"])
    assert done.returncode == 0, done.stderr
    assert Path("x.html").stat().st_size > 100_000
