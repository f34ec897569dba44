"""``weighbridge compress``: tables, JSON, CSV, Markdown, files, exit codes."""

from __future__ import annotations

import csv
import json
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

import weighbridge
from weighbridge.cli.main import main


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    from safetensors.numpy import save_file

    path = tmp_path / "model.safetensors"
    save_file({"fc.weight": np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)}, path)
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["compress", *arguments]) == 0
    captured = capsys.readouterr()
    assert max(map(len, captured.out.splitlines())) <= 120 or "--json" in arguments
    return captured.out


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["compress", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


@pytest.mark.parametrize("width", ["60", "80", "120"])
def test_the_page_of_the_plan(capsys, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    page = printed(capsys, "alexnet", "--plan", "deep-compression")
    assert max(map(len, page.splitlines())) <= int(width)
    for figure in ("6,796,192", "8.969 times fewer", ">= 6,205,225 B", "240 MB", "6.9 MB", "34.48", "6.91 MB"):
        assert figure in " ".join(page.split())


def test_json_is_the_record_and_alone(capsys) -> None:
    text = printed(capsys, "alexnet", "--plan", "deep-compression", "--json", "-")
    data = json.loads(text)
    found = weighbridge.compress("alexnet", plan="deep-compression").to_dict()
    assert data == json.loads(json.dumps(found))
    assert data["total"]["kept"] == 6_796_192
    assert data["total"]["exact"] is False
    assert data["layers"][5]["values"]["huffman_bits_each"] == 3.9


def test_rules_of_the_command_are_those_of_python(capsys, model: Path) -> None:
    data = json.loads(printed(capsys, str(model), "--keep", "fc=0.25", "--codebook", "4", "--json", "-"))
    found = weighbridge.compress(model, keep=["fc=0.25"], codebook=4)
    assert data["layers"] == json.loads(json.dumps(found.to_dict()))["layers"]
    assert data["source"] == str(model)
    (layer,) = found.layers
    assert (layer.kept, layer.codebook_entries, layer.basis) == (1024, 16, "weights")


def test_formats(capsys, model: Path, tmp_path: Path) -> None:
    arguments = [str(model), "--keep", "0.25", "--codebook", "4"]
    page = printed(capsys, *arguments, "-o", "a.json", "-o", "a.csv", "-o", "a.md", "-o", "a.txt")
    assert Path("a.txt").read_text(encoding="utf-8") == page
    (row,) = csv.DictReader(StringIO(Path("a.csv").read_text(encoding="utf-8")))
    layer = json.loads(Path("a.json").read_text(encoding="utf-8"))["layers"][0]
    assert (int(row["bits"]), int(row["values_huffman_bits"])) == (layer["bits"], layer["values"]["huffman_bits"])
    assert "| fc | 4,096 | 25.00 % |" in Path("a.md").read_text(encoding="utf-8")


def test_what_is_not_exact_is_said_where_no_page_is_seen(capsys) -> None:
    assert main(["compress", "alexnet", "--keep", "0.5", "--csv", "-"]) == 0
    assert "not exact" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("alexnet", "--keep", "0"), "--keep: must be a share above 0 and at most 1, not 0"),
        (("alexnet", "--keep", "fc6=1.5"), "--keep: fc6: must be a share above 0"),
        (("alexnet", "--keep", "fc9=0.5"), "no layer, scope or parameter is called 'fc9'"),
        (("alexnet", "--keep", "=0.5"), "--keep: "),
        (("alexnet", "--keep", "biases=0.5"), "names no weights"),
        (("alexnet", "--keep", "conv1=0.00001"), "conv1: keeping 1e-05 of 34,848 weights leaves less than one"),
        (("alexnet", "--codebook", "0"), "--codebook: must be a whole number of bits from 1 to 16"),
        (("alexnet", "--codebook", "5", "--huffman-values", "6"), "more than the 5 without it"),
        (("alexnet", "--index-bits", "x"), "--index-bits: must be a whole number of bits"),
        (("alexnet", "--keep", "1e99999999"), "--keep: must be a share"),
        (("alexnet", "--plan", "deep"), "neither a plan of this name nor such a file"),
        (("alexnet", "-o", "a.html"), "no format has the suffix"),
        (("alexnet", "--batch", "0"), "--batch"),
        (("nothing.safetensors",), "there is no such file"),
        (("alexnet:resolution=1",), "resolution"),
    ],
)
def test_bad_input(capsys, arguments: tuple[str, ...], said: str) -> None:
    assert said in refusal(capsys, *arguments)


def test_a_report_never_overwrites_what_is_read(capsys, model: Path) -> None:
    link = Path("weights.json")
    link.symlink_to(model)
    before = model.read_bytes()
    assert "would overwrite the network" in refusal(capsys, str(model), "-o", str(link))
    Path("plan.json").write_text('name = "p"\n[layers.fc]\nkeep = 0.5\n', encoding="utf-8")
    assert "would overwrite the plan" in refusal(capsys, str(model), "--plan", "plan.json", "-o", "plan.json")
    assert model.read_bytes() == before


def test_no_layer_is_pruned_to_nothing(capsys, model: Path) -> None:
    assert "keeping 0.0002 of 4,096 weights leaves less than one" in refusal(capsys, str(model), "--keep", "0.0002")


@pytest.mark.parametrize("library", ["numpy", "safetensors"])
def test_a_library_that_is_not_there(capsys, monkeypatch: pytest.MonkeyPatch, model: Path, library: str) -> None:
    for name in [name for name in sys.modules if name.startswith("weighbridge.frontends.weights_")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    said = refusal(capsys, str(model))
    assert f"needs {library}" in said
    assert "weighbridge[compress]" in said


def test_a_file_of_pytorch_without_pytorch(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("model.pth").write_bytes(b"\x80\x02}q\x00.")
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "weighbridge[compress,torch]" in refusal(capsys, "model.pth")


@pytest.mark.parametrize("source", [3, {}, {"w": 3}, {"w": np.ones((2, 2))}, None, b"alexnet"])
def test_what_is_no_source(source: object) -> None:
    with pytest.raises(weighbridge.BadSpec):
        weighbridge.compress(source)


@pytest.mark.parametrize("plan", [3, b"deep-compression", ["deep-compression"]])
def test_what_is_no_plan(plan: object) -> None:
    with pytest.raises(weighbridge.BadSpec, match="name or the path of a plan"):
        weighbridge.compress("alexnet", plan=plan)  # type: ignore[arg-type]


@pytest.mark.parametrize("keep", [True, b"0.5", {"fc6": None}, {3: 0.5}, [{}], float("nan"), "0.5.5"])
def test_what_is_no_ratio(keep: object) -> None:
    with pytest.raises(weighbridge.BadSpec, match="keep: "):
        weighbridge.compress("alexnet", keep=keep)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["keep", "codebook", "index_bits", "huffman_values", "huffman_indices", "fillers"])
@pytest.mark.parametrize(
    "given", [b"1", bytearray(b"1"), b"\x01", 1j, object()], ids=lambda given: type(given).__name__
)
def test_bytes_are_no_numbers(name: str, given: object) -> None:
    with pytest.raises(weighbridge.BadSpec, match=f"{name}: "):
        weighbridge.compress("lenet5", **{name: given})  # type: ignore[arg-type]


def test_given_averages_are_not_mixed_with_measured_ones(capsys, model: Path) -> None:
    page = printed(capsys, str(model), "--keep", "0.5", "--codebook", "4", "--huffman-values", "1")
    assert "are not used: the weights were read" in " ".join(page.split())
    only = printed(capsys, str(model), "--keep", "0.5", "--codebook", "4", "--huffman-values", "1", "--ratios-only")
    assert "no weights were read" in " ".join(only.split())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_file_that_cannot_be_written_keeps_no_other_from_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Neither another file nor the screen."""
    other = tmp_path / "out.md"
    assert main(["compress", "lenet5", "--keep", "0.5", "--json", "/dev/full", "--markdown", str(other)]) == 2
    captured = capsys.readouterr()
    assert "/dev/full: cannot be written" in captured.err
    assert "everything else was written" in captured.err
    assert captured.out.startswith("lenet5 compressed")
    assert other.read_text(encoding="utf-8").startswith("# ")
