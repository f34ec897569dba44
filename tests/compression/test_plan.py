"""Plans of compression as TOML: every fault at once, each with its path."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from weighbridge.cli.main import main
from weighbridge.compression import Rule, rules_of
from weighbridge.errors import BadSpec
from weighbridge.frontends.compression_plan import plan_names, read_plan
from weighbridge.passes.targets import targets_of
from weighbridge.textbook import find

FAULTY = """
name = 3
titel = "x"
[layers.conv1]
keep = 1.5
codebook = 8
[layers."conv*"]
index_bits = 4.5
keep = nan
huffman_index_bits = true
published_percent = [1]
[published]
unknown = 1
ratio = -1
rounding = { keep = "a" }
"""


def test_every_fault_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(FAULTY)
    assert main(["compress", "alexnet", "--plan", str(path)]) == 2
    said = capsys.readouterr().err
    assert "the plan has 11 faults" in said
    paths = [line.strip().partition(": ")[0] for line in said.splitlines()[1:]]
    assert sorted(paths) == sorted(
        [
            "$",
            "$.name",
            "$.layers.conv1",
            "$.layers.conv1.keep",
            "$.layers.conv*.index_bits",
            "$.layers.conv*.keep",
            "$.layers.conv*.huffman_index_bits",
            "$.layers.conv*.published_percent",
            "$.published",
            "$.published.ratio",
            "$.published.rounding.keep",
        ]
    )
    assert "has no key 'codebook'; the keys here are keep, codebook_bits" in said


@pytest.mark.parametrize(
    "text",
    ["", "name = 'x'", "name = 'x'\nlayers = 3", "name = 'x'\n[layers]\na = 3", "=", "\0", "name = 'x'\nlayers = {}"],
)
def test_what_is_no_plan_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(BadSpec):
        read_plan(str(path))


def test_a_plan_is_found_by_its_name() -> None:
    for name in plan_names():
        assert read_plan(name).name == name
    with pytest.raises(BadSpec, match="did you mean deep-compression"):
        read_plan("deep-compresion")
    with pytest.raises(BadSpec, match="neither a plan"):
        read_plan("\0")


def test_a_plan_of_a_user(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        'name = "mine"\n[layers.rest]\nkeep = 0.5\n[layers."conv*"]\nkeep = 0.25\ncodebook_bits = 6\n[layers.conv1]\nfillers = 0\n'
    )
    rules = rules_of(targets_of(find("alexnet")), read_plan(str(path)).rules)
    assert rules["fc6.weight"] == Rule(keep=Fraction(1, 2))
    assert rules["conv2.weight"] == Rule(keep=Fraction(1, 4), codebook_bits=6)
    assert rules["conv1.weight"] == Rule(keep=Fraction(1, 4), codebook_bits=6, fillers=Fraction(0))
