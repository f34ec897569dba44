"""``weighbridge check`` in this process and on scratch repositories: what it catches, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.budgeted import committed, edit, shown_on
from tests.cli.test_weigh import one_line
from weighbridge.cli.main import main

_STEM_MACS, _MIDDLE_MACS, _END_MACS, _CLASSES_MACS = 3 * 8 * 9 * 256, 8 * 16 * 9 * 256, 16 * 8 * 256, 80
_MACS = _STEM_MACS + _MIDDLE_MACS + _END_MACS + _CLASSES_MACS


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    return committed(tmp_path, monkeypatch, capsys)


def test_nothing_has_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    shown = shown_on(capsys)
    assert shown.startswith("4 budgets of 2 models: all pass\n")
    assert f"{_MACS:,}" in shown
    assert "layers: 6 as in the baseline\n" in shown


def test_a_layer_that_is_widened_is_caught_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    edit('"middle", op = "conv", out = 16', '"middle", op = "conv", out = 24')
    assert main(["check"]) == 1
    shown = shown_on(capsys)
    more = _MIDDLE_MACS // 2 + _END_MACS // 2
    limit = _MACS * 102 // 100
    assert "4 budgets of 2 models: 3 passed, 1 over budget\n" in shown
    assert f"{_MACS:,} in the baseline, {_MACS + more:,} now" in shown
    assert f"which is {_MACS + more - limit:,} too much" in shown
    assert f"middle has {_MIDDLE_MACS // 2:,} MACs more: {_MIDDLE_MACS:,} -> {_MIDDLE_MACS * 3 // 2:,} " in shown
    assert shown.index("middle has") < shown.index(f"end has {_END_MACS // 2:,} MACs more")
    assert "stem has" not in shown
    assert "layers: 4 as in the baseline, 2 changed\n" in shown


def test_a_layer_that_is_renamed_is_not_one_lost_and_one_new(capsys: pytest.CaptureFixture[str]) -> None:
    edit('"middle"', '"centre"')
    assert main(["check"]) == 0
    shown = shown_on(capsys)
    assert "layers: 6 as in the baseline, 1 of them renamed (middle -> centre)\n" in shown
    for word in ("new", "gone", "changed"):
        assert word not in shown


def test_renamed_and_widened_at_once_is_one_layer(capsys: pytest.CaptureFixture[str]) -> None:
    edit('"middle", op = "conv", out = 16', '"centre", op = "conv", out = 24')
    assert main(["check"]) == 1
    assert f"centre has {_MIDDLE_MACS // 2:,} MACs more" in shown_on(capsys)


@pytest.mark.parametrize("below", ["deep", "deep/er"])
def test_it_is_the_same_from_a_folder_below(
    below: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check"]) == 0
    above = shown_on(capsys)
    before = Path("weighbridge-baseline.json").read_bytes()
    Path(below).mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.chdir(below)
        assert main(["check"]) == 0
        assert shown_on(capsys) == above
        assert main(["check", "--update"]) == 0
    assert Path("weighbridge-baseline.json").read_bytes() == before


def _odd(path: Path) -> None:
    """An ONNX model with a node that nobody knows."""
    onnx = pytest.importorskip("onnx")
    ends = [onnx.helper.make_tensor_value_info(name, 1, [1, 8]) for name in ("x", "y")]
    weight = onnx.numpy_helper.from_array(__import__("numpy").ones((8, 8), "float32"), "w")
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["m"]),
        onnx.helper.make_node("Odd", ["m"], ["y"], domain="mine"),
    ]
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], [weight])
    imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("mine", 1)]
    path.write_bytes(onnx.helper.make_model(graph, opset_imports=imports).SerializeToString())


@pytest.mark.parametrize(
    ("budget", "code", "said"),
    [
        ("macs <= 1 G", 3, ">= 64 is a lower bound, so nobody knows whether it passes"),
        ("macs <= 10", 1, ">= 64, which is >= 54 too much"),
        ("macs == 64", 3, ">= 64 is a lower bound"),
    ],
)
def test_an_inexact_model_is_refused(budget: str, code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    _odd(Path("odd.onnx"))
    edit("net.toml", "odd.onnx", "weighbridge.toml")
    edit("macs grow <= 2 % against the baseline", budget, "weighbridge.toml")
    assert main(["check", "net"]) == code
    shown = shown_on(capsys)
    assert said in shown
    assert "mine.Odd" in shown


def test_growth_from_what_was_not_exact_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    _odd(Path("odd.onnx"))
    edit("net.toml", "odd.onnx", "weighbridge.toml")
    assert main(["check", "--update"]) == 3
    assert "not exact: macs grow <= 2 %" in shown_on(capsys)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("macs grow", "maks grow", "there is no metric 'maks'; did you mean macs?"),
        ("under live", "under life", "there is no memory policy 'life'; did you mean live?"),
        ("64 KiB", "64 KB", "did you mean"),
        ("64 KiB", "64 ms", "is no unit of peak_bytes.live"),
        ("budgets = [", "bugdets = [", "has no key 'bugdets'; did you mean 'budgets'?"),
        ('source = "net.toml"', "", "$.models.net.source: is missing"),
    ],
)
def test_a_fault_in_the_file_is_one_of_input(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    edit(old, new, "weighbridge.toml")
    assert main(["check"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("weighbridge: error: weighbridge.toml: the file of budgets has ")
    assert said in captured.err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("fits on toy", "fits on toi", "this model is not weighed on 'toi'; did you mean toy?"),
        ("fits on toy", "fits on stm32f746", "this model is not weighed on 'stm32f746'"),
        ("under live", "under eager", "eager does not apply to this model"),
        ('source = "net.toml"', 'source = "nett.toml"', "there is no such file; did you mean net.toml?"),
        ('on = ["toy"]', 'on = ["toyy"]', "there is no device 'toyy'; did you mean toy?"),
        ('source = "net.toml"', 'source = "net.toml"\nprecision = "int9"', "int9"),
        ('source = "net.toml"', 'source = "net.toml"\nenergy = "46nm"', "46nm"),
    ],
)
def test_what_cannot_be_checked_never_passes(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    edit(old, new, "weighbridge.toml")
    assert main(["check"]) == 2
    shown = shown_on(capsys)
    assert "\nnot checked\n" in shown
    assert said in shown


def test_a_model_that_cannot_be_read_keeps_no_other_from_being_checked(capsys: pytest.CaptureFixture[str]) -> None:
    Path("net.toml").write_text("layers = 3", encoding="utf-8")
    assert main(["check", "--junit", "-"]) == 2
    captured = capsys.readouterr()
    cases = {
        case.get("name"): [one.tag for one in case] for case in ElementTree.fromstring(captured.out).iter("testcase")
    }
    assert cases == {"can be weighed": ["error"], "parameters == 61706": []}
    assert "1 budget of 1 model: it passes; 1 model could not be weighed: net" in captured.err
    assert "weighbridge: error: net: net.toml: " in captured.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"schema": 2, "models": {}}', "weighbridge-baseline.json: $.schema: the baseline has schema 2"),
        ("{", "weighbridge-baseline.json: this is no baseline"),
        ("", "weighbridge-baseline.json: this is no baseline: it is empty"),
        ('{"schema": 1, "models": {"net": 3}}', "$.models.net"),
    ],
)
@pytest.mark.parametrize("arguments", [[], ["--update"], ["lenet"]])
def test_a_damaged_baseline(content: str, said: str, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("weighbridge-baseline.json").write_text(content, encoding="utf-8")
    assert main(["check", *arguments]) == 2
    assert said in one_line(capsys)
    assert Path("weighbridge-baseline.json").read_text(encoding="utf-8") == content


@pytest.mark.parametrize("arguments", [[], ["--update"], ["--json", "x.json"]])
def test_a_ring_of_links_in_place_of_the_baseline(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("weighbridge-baseline.json").unlink()
    Path("weighbridge-baseline.json").symlink_to("weighbridge-baseline.json")
    assert main(["check", *arguments]) == 2
    assert "weighbridge-baseline.json: the baseline cannot be read: " in one_line(capsys)


def test_growth_without_a_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    Path("weighbridge-baseline.json").unlink()
    assert main(["check"]) == 2
    shown = shown_on(capsys)
    assert "net: macs grow <= 2 % against the baseline: growth is measured from a baseline" in shown
    assert "run `weighbridge check --update`" in shown
    assert "4 budgets of 2 models: 3 passed, 1 not checked" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nett"], "weighbridge.toml: there is no model 'nett' in it; did you mean net?"),
        (["--budgets", "lost.toml"], "lost.toml: the file of budgets cannot be read: No such file or directory"),
        (["--budgets", "."], ".: this is a folder; name the file in it, such as weighbridge.toml"),
        (["-o", "page.html"], "-o: no format has the suffix of 'page.html'; the suffixes are .json, .md"),
        (["--json", "-", "--markdown", "-"], "two formats for the standard output"),
        (["--json", "weighbridge-baseline.json"], "the report would overwrite the baseline"),
        (["--json", "weighbridge.toml"], "the report would overwrite the file of budgets"),
        (["-o", "no/x.json"], "no/x.json: there is no folder 'no'"),
    ],
)
def test_wrong_usage(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *arguments]) == 2
    assert said in one_line(capsys)


def test_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    edit("out = 16", "out = 24")
    files = ["a.json", "b.md", "c.xml", "d.txt"]
    assert main(["check", *(part for file in files for part in ("-o", file))]) == 1
    page = capsys.readouterr().out
    assert json.loads(Path("a.json").read_text(encoding="utf-8"))["exit_code"] == 1
    assert Path("b.md").read_text(encoding="utf-8").startswith("## 4 budgets of 2 models: 3 passed, 1 over budget\n")
    assert ElementTree.parse("c.xml").getroot().get("failures") == "1"
    text = Path("d.txt").read_text(encoding="utf-8")
    assert text.splitlines()[0] == page.splitlines()[0]
    for option, file in (("--json", "a.json"), ("--markdown", "b.md"), ("--junit", "c.xml")):
        assert main(["check", option]) == 1
        captured = capsys.readouterr()
        assert captured.out == Path(file).read_text(encoding="utf-8")
        assert captured.err == "weighbridge: 4 budgets of 2 models: 3 passed, 1 over budget\n"


def test_models_by_name_are_checked_alone(capsys: pytest.CaptureFixture[str]) -> None:
    edit("net.toml", "lost.toml", "weighbridge.toml")
    assert main(["check", "lenet"]) == 0
    assert shown_on(capsys).startswith("1 budget of 1 model: it passes\n\nlenet: lenet5")


def test_completion_offers_the_models_of_the_file() -> None:
    from click.shell_completion import ShellComplete

    from weighbridge.cli.app import app

    def offered(*written: str) -> list[str]:
        *before, last = written
        complete = ShellComplete(app, {}, "weighbridge", "X").get_completions(["check", *before], last)
        return [one.value for one in complete]

    assert offered("") == ["net", "lenet"]
    assert offered("--budgets", "weighbridge.toml", "l") == ["lenet"]
    edit("source", "sauce", "weighbridge.toml")
    assert offered("") == []
