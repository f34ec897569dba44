"""``weighbridge what-if`` in this process: output, files, exit codes, messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_weigh import one_line
from weighbridge import WhatIf, what_if
from weighbridge.cli.main import main

__all__ = ["in_an_empty_folder"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


def test_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["what-if", "alexnet", "prune:fc*=50%", "--on", "toy"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out == str(what_if("alexnet", "prune:fc*=50%", on="toy"))
    for part in (
        "60,965,224",
        "27,455,848",
        "0.4504",
        "times smaller",
        "58,621,952 of 60,954,656 weights (96.2%)",
        "fc7",
    ):
        assert part in captured.out


def test_json_stands_alone_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["what-if", "mlp", "low-rank=10", "bits=8", "--steps", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert WhatIf.from_json(captured.out) == what_if("mlp", ["low-rank=10", "bits=8"], steps=True)
    assert captured.err == ""


def test_files_by_suffix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["a.json", "b.csv", "c.md", "d.txt"]
    assert main(["what-if", "mlp", "bits=8", *(part for file in files for part in ("-o", file))]) == 0
    starts = [(tmp_path / file).read_text(encoding="utf-8").splitlines()[0] for file in files]
    assert starts == [
        "{",
        "device,name,unit,before,after,ratio,times_smaller,exact,exact_before,exact_after",
        *["# mlp with bits=8"],
        "mlp with bits=8",
    ]
    assert capsys.readouterr().out.startswith("mlp with bits=8")


def test_html_has_both_reports_side_by_side(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    assert main(["what-if", "mlp", "bits=8", "sparsity=0.5", "--steps", "-o", "page.html"]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for title in ("mlp", "mlp, step 1: bits=8", "mlp with bits=8 sparsity=0.5"):
        assert f">{title}<" in page
    assert page.index(">Before and after<") < page.index(">Verdict<")
    assert "<td>model size</td>" in page or ">model size</th>" in page
    assert page.count(">times smaller<") == 1


@pytest.mark.parametrize(("option", "start"), [("--csv", "device,name"), ("--markdown", "# mlp with bits=8")])
def test_formats_on_standard_output(option: str, start: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["what-if", "mlp", "bits=8", option]) == 0
    assert capsys.readouterr().out.startswith(start)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["alexnet", "low-rank=64", "--on", "stm32f746", "--require-fit"], 1, "does not fit stm32f746"),
        (["mlp", "bits=8", "--on", "toy", "--require-fit"], 0, ""),
        (["alexnet", "bits=8", "--on", "nrf52840", "--precision", "fp16"], 2, "has no rate at float16"),
        (["mlp", "bits=8", "--strict"], 0, ""),
    ],
)
def test_exit_codes(arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["what-if", *arguments]) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out.startswith(f"{arguments[0]} with")


def test_what_is_not_exact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx = pytest.importorskip("onnx")
    ends = [onnx.helper.make_tensor_value_info(name, 1, [1, 8]) for name in ("x", "y")]
    weight = onnx.numpy_helper.from_array(__import__("numpy").ones((8, 8), "float32"), "w")
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["m"]),
        onnx.helper.make_node("Odd", ["m"], ["y"], domain="mine"),
    ]
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], [weight])
    imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("mine", 1)]
    (tmp_path / "odd.onnx").write_bytes(onnx.helper.make_model(graph, opset_imports=imports).SerializeToString())
    assert main(["what-if", "odd.onnx", "low-rank=2", "--strict"]) == 3
    captured = capsys.readouterr()
    assert ">= 64" in captured.out
    assert "* 0.5" in captured.out
    assert "not exact: 1 node not counted: mine.Odd x1" in captured.err
    assert main(["what-if", "odd.onnx", "low-rank=2", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert [
        one["exact"] for one in json.loads(captured.out)["metrics"] if one["name"] in ("macs", "peak_bytes.live")
    ] == [False, True]
    assert "warning: not exact" in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["alexnet"], "Missing argument 'CHANGE...'; `weighbridge what-if --help` shows how it is called"),
        (["alexnet", "prune=100%"], "prune=100%: '100%' is no share from 0 to below 1; write 30% or 0.3"),
        (
            ["alexnet", "sparcity=0.5"],
            "sparcity=0.5: there is no change 'sparcity'; did you mean sparsity[:TARGET]=RATIO?",
        ),
        (["alexnet", "prune:fc9=0.5"], "prune:fc9=0.5: no layer, scope or parameter is called 'fc9'"),
        (["resnet18", "global-pool"], "global-pool: there is no map that is flattened for a linear layer"),
        (["alexnet", "bits=8", "--require-fit"], "--require-fit without a device"),
        (["alexnet", "bits=8", "-o", "x.pdf"], "-o: no format has the suffix of 'x.pdf'"),
        (["alexnet", "bits=8", "--dim", "n"], "--dim: 'n' is no dimension"),
        (["nothing", "bits=8"], "there is neither a file nor a textbook network 'nothing'"),
        (["alexnet", "bits=8", "--on", "abacus"], "abacus"),
        (["torchvision:resnet18", "width=0.5"], "parameters such as width and resolution are of textbook networks"),
        (["net.py:Net", "width=0.5"], "there is no such file"),
    ],
)
def test_bad_input(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["what-if", *arguments]) == 2
    assert message in one_line(capsys)


def test_what_is_read_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = tmp_path / "net.toml"
    network.write_text("x")
    (tmp_path / "net.json").symlink_to(network)
    assert main(["what-if", "net.toml", "bits=8", "-o", "net.json"]) == 2
    assert "would overwrite the network" in one_line(capsys)


def test_completion_offers_changes_and_the_parameters_of_the_source() -> None:
    from click.shell_completion import ShellComplete

    from weighbridge.cli.app import app

    def offered(*written: str) -> set[str]:
        *before, last = written
        return {
            one.value for one in ShellComplete(app, {}, "weighbridge", "X").get_completions(["what-if", *before], last)
        }

    assert {"prune=", "depthwise", "resolution=", "classes="} <= offered("alexnet", "")
    assert offered("alexnet", "bits=8", "s") == {"sparsity="}
    assert "width=" not in offered("model.onnx", "")
