"""The documentation shows what is: true outputs, every option, links that lead somewhere."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path

import pytest

from docs import generate_commands, generate_json
from scripts.refresh_docs import GENERATED, PAGES, refreshed, words
from weighbridge import weigh
from weighbridge.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_shows_what_the_commands_print(page: Path) -> None:
    """Fails? ``python scripts/refresh_docs.py`` writes the pages anew."""
    assert words(page.read_text(encoding="utf-8")) == words(refreshed(page))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```pycon\n" in page.read_text(encoding="utf-8")], ids=name_of
)
def test_python_sessions_are_true(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS / "examples")
    blocks = re.findall(r"^```pycon\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    session = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, name_of(page), str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE)
    results = runner.run(session)
    assert results.attempted
    assert not results.failed


def test_every_option_is_in_the_command_reference() -> None:
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert set(app.commands) == set(re.findall(r"^## weighbridge (\w+)$", page, re.MULTILINE))
    for command in app.commands.values():
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert re.search(rf"`{re.escape(option)}( [^`]+)?`", page), option


def test_the_reference_explains_every_parameter() -> None:
    rows = [line for line in generate_commands.page().splitlines() if line.startswith("| `")]
    assert len(rows) > 15
    for row in rows:
        assert len(row.replace("\\|", "").split("|")[2].strip()) > 10, row


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_links_between_files_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not re.match(r"\w+:", target):
            assert (page.parent / target).exists(), target


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = set(re.findall(r"^([\w-]+)$", (DOCS / "index.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert {page.stem for page in DOCS.glob("*.md")} - {"index"} <= listed


def test_generated_pages_are_among_those_that_are_checked() -> None:
    assert set(GENERATED) <= set(PAGES)


def test_the_page_on_json_has_the_keys_of_a_report() -> None:
    keys: set[str] = set()

    def collect(value: object) -> None:
        if isinstance(value, dict):
            keys.update(value)
            for inner in value.values():
                collect(inner)
        elif isinstance(value, list):
            for inner in value:
                collect(inner)

    report = weigh("alexnet", on="toy")
    collect(json.loads(report.to_json()))
    documented = set(re.findall(r"^\| `(\w+)` \|", generate_json.page(), re.MULTILINE))
    assert keys - report.memory.peak_bytes.keys() <= documented
    assert documented - keys == {"node", "reason"}  # of nodes that are not counted, of which AlexNet has none
