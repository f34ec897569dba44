"""The documentation shows what is: true outputs, every option, links that lead somewhere."""

from __future__ import annotations

import doctest
import json
import re
from dataclasses import MISSING, fields
from pathlib import Path

import click
import pytest

from docs import generate_commands, generate_json
from scripts.refresh_docs import GENERATED, PAGES, refreshed, words
from weighbridge import check, compare, compress, weigh, what_if
from weighbridge.compression.record import CONVENTION
from weighbridge.devices.device import (
    KINDS,
    OPERATIONS,
    PRECISIONS,
    AccessEnergy,
    Device,
    EnergyTable,
    Figure,
    Memory,
    OperationEnergy,
    Peak,
)
from weighbridge.devices.measured import Efficiency, Measured, Power
from weighbridge.devices.timed import TIME_CLASSES, ClassRates, Timed
from weighbridge.memory import POLICIES
from weighbridge.report import calibrated, measured, measured_history, validated

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


COMMANDS = generate_commands.commands()
COMMAND_PAGES = {page.stem: page.read_text(encoding="utf-8") for page in sorted((DOCS / "commands").glob("*.md"))}


def test_every_command_has_its_usage_on_one_page_and_no_page_is_about_another() -> None:
    """Fails? A page in docs/commands is written by hand around the lines that docs/generate_commands.py shows."""
    shown = {name: generate_commands.usages(text) for name, text in COMMAND_PAGES.items()}
    assert sorted(command for commands in shown.values() for command in commands) == sorted(COMMANDS)
    for name, commands in shown.items():
        assert {command.split()[0] for command in commands} == {name}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_of_a_command_has_its_arguments_options_and_a_worked_example(name: str) -> None:
    text, command = COMMAND_PAGES[name.split(maxsplit=1)[0]], COMMANDS[name]
    found = re.search(rf"^<!-- usage: weighbridge {name} -->$(.*?)^<!-- end of usage -->$", text, re.M | re.DOTALL)
    assert found, name
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            for option in (*parameter.opts, *parameter.secondary_opts):
                assert re.search(rf"`{re.escape(option)}( [^`]+)?`", found[1]), option
        else:
            metavar = parameter.make_metavar(click.Context(command)).strip("[].")
            assert re.search(rf"\n\n{re.escape(metavar)} ", found[1]), f"{metavar} is not explained"
    assert re.search(rf"^```console( torch)?\n\$ weighbridge {name}\b", text, re.MULTILINE), "no example that is run"


def test_the_page_of_a_command_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="'wiegh', which is no command"):
        generate_commands.filled("<!-- usage: weighbridge wiegh -->\n<!-- end of usage -->\n")


def test_every_exit_code_is_a_number_and_says_all_that_the_command_does() -> None:
    """A row of a command's help that goes on below belongs to the code above it."""
    for name, command in COMMANDS.items():
        _, is_there, listed = (command.epilog or "").partition("Exit codes:\n")
        _, _, shown = generate_commands.reference(name, command).partition("| code | meaning |\n|---|---|\n")
        rows = [row.strip("| ").split(" | ") for row in shown.splitlines()] if is_there else []
        assert all(code.isdigit() for code, _ in rows), name
        said = " ".join(f"{code} {meaning}" for code, meaning in rows).replace("`", "")
        assert said == " ".join(listed.partition("\n\n")[0].replace("`", "").split()), name


def test_the_index_of_commands_names_all_of_them() -> None:
    assert re.findall(r"^\| \[`weighbridge ([a-z -]+)`]", generate_commands.page(), re.MULTILINE) == list(COMMANDS)


def test_the_reference_explains_every_option() -> None:
    texts = [generate_commands.page(), *(generate_commands.reference(*item) for item in COMMANDS.items())]
    rows = [line for text in texts for line in text.splitlines() if line.startswith("| `-")]
    assert len(rows) > 15
    for row in rows:
        assert len(row.replace("\\|", "").split("|")[2].strip()) > 10, row


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_links_between_files_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not re.match(r"\w+:", target):
            assert (page.parent / target).exists(), target


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = {DOCS / "index.md"}
    for page in PAGES:
        for contents in re.findall(
            r"^:{3,}\{toctree\}\n(.*?)^:{3,}$", page.read_text(encoding="utf-8"), re.M | re.DOTALL
        ):
            listed |= {page.parent / f"{name}.md" for name in re.findall(r"^[\w/-]+$", contents, re.MULTILINE)}
    assert {page for page in PAGES if page.is_relative_to(DOCS)} == listed


def test_generated_pages_are_among_those_that_are_checked() -> None:
    assert set(GENERATED) <= set(PAGES)


def test_the_page_on_json_has_the_keys_of_a_report(tmp_path: Path) -> None:
    keys: set[str] = set()

    def collect(value: object) -> None:
        if isinstance(value, dict):
            keys.update(value)
            for inner in value.values():
                collect(inner)
        elif isinstance(value, list):
            for inner in value:
                collect(inner)

    report = weigh("alexnet", on="toy", fps=30, energy="45nm", battery="2000mAh@3.7V", train="adam", batches=[2])
    collect(json.loads(report.to_json()))
    (board,) = weigh("alexnet", on="stm32l4r5", precision="int8", fps=30).to_dict()["on"]
    collect([{key: value for key, value in one.items() if key != "by"} for one in board["expected"]])
    collect(board["deadline"])
    collect(weigh("alexnet", on="stm32f746", precision="int8", patches=True).to_dict()["on"][0]["patches"])
    collect(compress("alexnet", plan="deep-compression").to_dict())
    comparison = what_if("mlp", "low-rank=8").to_dict()
    collect({key: value for key, value in comparison.items() if key not in ("before", "after")})
    side_by_side = compare(["mlp", "lenet5", "published:segformer_b5", "published:efficientvit_l1"], fps=30).to_dict()
    collect({key: value for key, value in side_by_side.items() if key != "models"})
    collect([{**model, "report": None} for model in side_by_side["models"]])
    budgets = tmp_path / "weighbridge.toml"
    budgets.write_text(
        '[models.net]\nsource = "lenet5"\nbudgets = ["macs <= 1", "macs grow <= 1 %"]\n', encoding="utf-8"
    )
    collect(check(budgets).to_dict())
    # tests/cli/test_measure.py holds that what is measured has no other keys
    records = [*generate_json.OF_MEASURED.values(), *generate_json.OF_HISTORY.values()]
    records += [measured.Measured, measured_history.History]
    records += [*generate_json.OF_CALIBRATED.values(), calibrated.Calibration, validated.Validation]
    keys |= {name for record in records for name in generate_json.fields(record)}
    documented = set(re.findall(r"^\| `(\w+)` \|", generate_json.page(), re.MULTILINE))
    assert keys - set(POLICIES) - report.on[0].energy.by.keys() - CONVENTION.keys() <= documented
    runtime, in_a_file = {"library", "pointer_bytes", "structure_bytes", "kernel_bytes"}, {"position"}
    assert documented - keys == runtime | in_a_file  # of which AlexNet has none


def test_the_device_format_is_told_key_by_key() -> None:
    page = (DOCS / "devices.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(\w+)` \| (yes|no) \|", page, re.MULTILINE)
    keys = [(field.name, field.default) for record in (Device, Figure, Peak, Memory) for field in fields(record)]
    keys += [(field.name, field.default) for record in (OperationEnergy, AccessEnergy) for field in fields(record)]
    keys += [(field.name, field.default) for record in (Measured, Efficiency, Power) for field in fields(record)]
    keys += [(field.name, field.default) for record in (Timed, ClassRates) for field in fields(record)]
    # A device's own table of energies has the device's name and title.
    keys += [(one.name, one.default) for one in fields(EnergyTable) if one.name not in ("name", "title")]
    assert sorted(told) == sorted((key.rstrip("_"), "yes" if default is MISSING else "no") for key, default in keys)


def test_the_device_format_names_every_precision_operation_and_kind() -> None:
    rows = (DOCS / "devices.md").read_text(encoding="utf-8").splitlines()
    precisions, operations = (next(row for row in rows if f"| `{key}` |" in row) for key in ("precision", "operation"))
    assert re.findall(r"`(\w+)`", precisions)[1:] == list(PRECISIONS)
    assert re.findall(r"`(\w+)`", operations)[1:] == list(OPERATIONS)
    classes = rows[rows.index("| class | what is of it |") + 2 :]
    assert [re.match(r"\| `([\w ]+)` \|", row)[1] for row in classes[: len(TIME_CLASSES)]] == list(TIME_CLASSES)
    assert not classes[len(TIME_CLASSES)]
    kinds = rows[rows.index("| kind | what it is | where weights and activations lie |") + 2 :]
    assert [re.match(r"\| `(\w+)` \|", row)[1] for row in kinds[: len(KINDS)]] == list(KINDS)
