"""``weighbridge weigh --policy``: which memory policy the bytes alive follow."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path

import pytest

from weighbridge.cli.main import main

MOBILENET = ("weigh", "mobilenet_v2", "--precision", "int8")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def test_the_page_follows_the_policy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*MOBILENET, "--policy", "pair_in_place"]) == 0
    shown = capsys.readouterr().out
    assert "memory over the run (pair_in_place)" in shown
    assert "peak 1.405 MB (1.340 MiB) at block2.expand.conv, node 4 of 65" in shown
    assert "1.505 MB" not in shown


def test_without_the_option_it_is_live(capsys: pytest.CaptureFixture[str]) -> None:
    pages = []
    for more in ([], ["--policy", "live"]):
        assert main([*MOBILENET, *more]) == 0
        pages.append(capsys.readouterr().out)
    assert pages[0] == pages[1]
    assert "memory over the run (live)" in pages[0]


def test_every_format_follows_but_the_json_which_has_all(capsys: pytest.CaptureFixture[str]) -> None:
    printed = {}
    for option in ("--csv", "--json", "--markdown"):
        assert main([*MOBILENET, "--policy", "pair_in_place", option, "-"]) == 0
        printed[option] = capsys.readouterr().out
    alive = [int(row["alive_bytes"]) for row in csv.DictReader(StringIO(printed["--csv"], newline=""))]
    assert alive == json.loads(printed["--json"])["memory"]["profile"]["pair_in_place"]
    assert max(alive) == 1_404_928
    assert "alive (pair\\_in\\_place)" in printed["--markdown"]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("largest", "--policy: there is no memory policy 'largest'; the policies are pair, live, held, "),
        (
            "eager",
            "--policy: eager does not apply: there is no record of a run in PyTorch; policies with a profile are ",
        ),
        ("held_contractions", "--policy: held_contractions has no profile of its own: it is the largest of held at "),
    ],
)
def test_what_cannot_be_followed_is_bad_input(
    policy: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*MOBILENET, "--policy", policy, "--csv", str(tmp_path / "out.csv")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"weighbridge: error: {message}")
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()
