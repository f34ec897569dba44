"""``weighbridge check --update``: what it writes to the baseline, and what keeps that from being lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.budgeted import committed, edit, git, shown_on
from tests.cli.test_weigh import one_line
from weighbridge.cli.main import main


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    return committed(tmp_path, monkeypatch, capsys)


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_an_update_is_reviewed_like_code(capsys: pytest.CaptureFixture[str]) -> None:
    edit('"middle", op = "conv", out = 16', '"middle", op = "conv", out = 24')
    assert main(["check", "--update"]) == 0
    shown = shown_on(capsys)
    assert shown.startswith("baseline weighbridge-baseline.json: 1 model changed, 1 is as before\n\nnet\n")
    assert "layers that differ: 2\n" in shown
    assert "4 budgets of 2 models: all pass\n" in shown
    changed = [line[1:] for line in git("diff", "-U0", "weighbridge-baseline.json").splitlines() if line[0] in "+-"]
    layers = {json.loads(line.rstrip(","))["name"] for line in changed if '"operator"' in line}
    assert layers == {"middle", "end"}
    assert git("status", "--porcelain") == " M net.toml\n M weighbridge-baseline.json\n"
    edit('"middle", op = "conv", out = 24', '"middle", op = "conv", out = 16')
    assert main(["check", "--update"]) == 0
    assert git("status", "--porcelain") == ""


def test_an_update_of_one_model_keeps_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    before = json.loads(Path("weighbridge-baseline.json").read_text(encoding="utf-8"))["models"]
    edit("out = 16", "out = 24")
    edit("lenet5", "alexnet", "weighbridge.toml")
    assert main(["check", "--update", "net"]) == 0
    after = json.loads(Path("weighbridge-baseline.json").read_text(encoding="utf-8"))["models"]
    assert after["lenet"] == before["lenet"]
    assert after["net"] != before["net"]
    assert "lenet" not in shown_on(capsys)


def test_an_update_of_all_forgets_models_that_are_gone(capsys: pytest.CaptureFixture[str]) -> None:
    edit("[models.lenet]", "[models.other]", "weighbridge.toml")
    assert main(["check", "--update"]) == 0
    shown = shown_on(capsys)
    assert "other: new in the baseline\n" in shown
    assert "lenet: gone: no model of the file has this name\n" in shown
    assert list(json.loads(Path("weighbridge-baseline.json").read_text(encoding="utf-8"))["models"]) == ["net", "other"]


def test_nothing_is_updated_where_a_model_cannot_be_weighed(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path("weighbridge-baseline.json").read_bytes()
    edit("out = 16", "out = 24")
    edit("lenet5", "lost.onnx", "weighbridge.toml")
    assert main(["check", "--update"]) == 2
    assert "the baseline stays as it was" in one_line(capsys)
    assert Path("weighbridge-baseline.json").read_bytes() == before
    assert main(["check", "--update", "net"]) == 0
    assert {path.name for path in repository.iterdir() if path.name != ".git"} == {
        "net.toml",
        "weighbridge.toml",
        "weighbridge-baseline.json",
    }


def test_a_baseline_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    edit("[defaults]", 'baseline = "no/such/folder.json"\n[defaults]', "weighbridge.toml")
    assert main(["check", "--update"]) == 2
    assert "folder.json: cannot be written: No such file or directory; make its folder first" in one_line(capsys)


def test_an_update_that_fails_half_way_leaves_the_baseline(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    files = {path.name: path.read_bytes() for path in repository.iterdir() if path.is_file()}
    edit("lenet5", "alexnet", "weighbridge.toml")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        assert main(["check", "--update"]) == 2
    assert "cannot be written: No space left on device; nothing was updated" in one_line(capsys)
    edit("alexnet", "lenet5", "weighbridge.toml")
    assert {path.name: path.read_bytes() for path in repository.iterdir() if path.is_file()} == files


def test_an_update_that_is_interrupted_leaves_the_baseline(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    files = {path.name: path.read_bytes() for path in repository.iterdir() if path.is_file()}
    monkeypatch.setattr(Path, "replace", interrupted)
    assert main(["check", "--update"]) not in (0, 1, 3)
    capsys.readouterr()
    assert {path.name: path.read_bytes() for path in repository.iterdir() if path.is_file()} == files


def test_an_update_of_one_model_keeps_what_another_wrote_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    from weighbridge.cli import check

    weigh_each = check.weigh_each
    edit("out = 16", "out = 24")

    def weighed_slowly(*arguments: Any) -> Any:
        monkeypatch.setattr(check, "weigh_each", weigh_each)
        assert main(["check", "--update", "net"]) == 0
        return weigh_each(*arguments)

    monkeypatch.setattr(check, "weigh_each", weighed_slowly)
    assert main(["check", "--update", "lenet"]) == 0
    assert main(["check"]) == 0


def test_a_baseline_that_is_a_link_stays_one(capsys: pytest.CaptureFixture[str]) -> None:
    link, place = Path("weighbridge-baseline.json"), Path("kept.json")
    link.rename(place)
    link.symlink_to(place)
    before = place.read_bytes()
    edit("out = 16", "out = 24")
    assert main(["check", "--update"]) == 0
    assert link.is_symlink()
    assert place.read_bytes() != before
    assert not place.is_symlink()


def test_a_report_is_not_written_over_a_baseline_that_is_about_to_be_there(capsys: pytest.CaptureFixture[str]) -> None:
    Path("weighbridge-baseline.json").unlink()
    assert main(["check", "--update", "--json", "./weighbridge-baseline.json"]) == 2
    assert "the report would overwrite the baseline" in one_line(capsys)
    assert not Path("weighbridge-baseline.json").exists()


@pytest.mark.parametrize(
    ("option", "said"),
    [("precision = 'int8'", 'precision = "int8"'), ("as_written = true", "as_written = true")],
)
def test_a_baseline_by_other_options_is_none_to_grow_from(
    option: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    edit('source = "net.toml"', f'source = "net.toml"\n{option}', "weighbridge.toml")
    assert main(["check"]) == 2
    shown = capsys.readouterr()
    assert f"the baseline was weighed with no option, and the model is weighed with {said} now" in " ".join(
        shown.out.split()
    )
    assert main(["check", "--update"]) == 0
    assert f"net: weighed with no option -> {said}\n" in shown_on(capsys)
    assert main(["check"]) == 0
