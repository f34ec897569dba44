"""``weighbridge compare`` in this process: what it takes, output, files, exit codes, messages."""

from __future__ import annotations

import io
import json
import sys
import tempfile
from pathlib import Path

import pytest

from tests.cli.saved import save
from tests.cli.test_weigh import one_line
from tests.revisions.scratch import Scratch
from weighbridge import Comparison, compare, weigh
from weighbridge.cli.main import main

NETWORK = """
name = "net"
source = "a test"
inputs = [{{ name = "x", shape = [1, {width}] }}]
layers = [
  {{ name = "first", op = "linear", out = {out} }},
  {{ name = "{last}", op = "linear", out = 4 }},
]
"""


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> Comparison:
    """What the command prints as JSON, with nothing on standard error."""
    assert main(["compare", *arguments, "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return Comparison.from_json(captured.out)


def odd(width: int = 8) -> bytes:
    """An ONNX model with an operator that nobody knows."""
    onnx = pytest.importorskip("onnx")
    numpy = pytest.importorskip("numpy")
    ends = [onnx.helper.make_tensor_value_info(name, 1, [1, 8]) for name in ("x", "y")]
    weight = onnx.numpy_helper.from_array(numpy.ones((8, width), "float32"), "w")
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["m"]),
        onnx.helper.make_node("Odd", ["m"], ["y"], domain="mine"),
    ]
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], [weight])
    imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("mine", 1)]
    return onnx.helper.make_model(graph, opset_imports=imports).SerializeToString()


def test_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "resnet18", "resnet34", "--on", "toy", "--fps", "30"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out == str(compare(["resnet18", "resnet34"], on="toy", fps=30))


def test_json_stands_alone_on_standard_output_and_is_what_python_gets(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--on", "toy", "--precision", "fp32", "--weight-bits", "first=8", "--energy", "45nm", "--train", "adam")
    found = compared(capsys, "lenet5", "mlp", "alexnet", *options)
    assert found == compare(
        ["lenet5", "mlp", "alexnet"], on=["toy"], precision="fp32", weight_bits=["first=8"], energy="45nm", train="adam"
    )
    assert [model.name for model in found.models] == ["lenet5", "mlp", "alexnet"]
    assert found.metric("training.total_bytes").values == tuple(
        weigh(name, precision="fp32", weight_bits="first=8", train="adam").memory.training.total_bytes
        for name in ("lenet5", "mlp", "alexnet")
    )


def test_files_by_suffix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["a.json", "b.csv", "c.md", "d.txt"]
    assert main(["compare", "mlp", "lenet5", *(part for file in files for part in ("-o", file))]) == 0
    starts = [Path(file).read_text(encoding="utf-8").splitlines()[0] for file in files]
    assert (starts[0], starts[2][:2]) == ("{", "# ")
    assert starts[1].startswith("device,name,unit,")
    assert capsys.readouterr().out.splitlines()[0] == starts[3]


def test_html_has_the_reports_below_the_comparison() -> None:
    pytest.importorskip("altair")
    assert main(["compare", "mlp", "lenet5", "-o", "page.html"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    places = [
        page.index(part)
        for part in ("<h2>Side by side</h2>", "layers of lenet5 that differ", '<section id="verdicts">')
    ]
    assert places == sorted(places)
    assert "Before and after" not in page
    assert main(["compare", "published:tsm_8f_batch_16", "published:i3d", "-o", "published.html"]) == 0
    page = Path("published.html").read_text(encoding="utf-8")
    assert "TSM, 8 frames" in page
    assert '<section id="verdicts">' not in page


def test_a_file_at_two_revisions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The renamed layer is one layer, the widened one is named, and nothing tells where the old file was read from."""
    repository = Scratch(tmp_path / "repository")
    repository.commit({"models/net.toml": text(16, "head")})
    repository.git("tag", "before")
    repository.commit({"models/net.toml": text(32, "classifier")})
    monkeypatch.chdir(repository.folder)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    found = compared(capsys, "models/net.toml@before", "models/net.toml")
    assert [(model.name, model.source, model.report.network.source) for model in found.models] == [
        ("net.toml@before", "models/net.toml@before", "models/net.toml@before"),
        ("net.toml", "models/net.toml", "models/net.toml"),
    ]
    assert found.metric("weights").values == (8 * 16 + 16 * 4, 8 * 32 + 32 * 4)
    (difference,) = found.differences
    assert {(change.name, change.before_name) for change in difference.layers} == {
        ("first", None),
        ("classifier", "head"),
    }
    assert all(change.before and change.after for change in difference.layers)
    assert str(tmp_path) not in found.to_json()
    assert list((tmp_path / "temporary").iterdir()) == []


def text(out: int, last: str) -> str:
    return NETWORK.format(width=8, out=out, last=last)


def test_weights_in_another_file_are_those_of_the_revision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shape is computed from a tensor in the file beside: the MACs follow from what stood in that file then."""
    onnx = pytest.importorskip("onnx")
    numpy = pytest.importorskip("numpy")
    shape = onnx.numpy_helper.from_array(numpy.array([3, 8]), "shape")
    onnx.external_data_helper.set_external_data(shape, "data/shape.bin")
    shape.ClearField("raw_data")
    shape.data_location = onnx.TensorProto.EXTERNAL
    ends = [onnx.helper.make_tensor_value_info("x", 1, [1, 8]), onnx.helper.make_tensor_value_info("y", 1, None)]
    weight = onnx.numpy_helper.from_array(numpy.ones((8, 4), "float32"), "w")
    nodes = [
        onnx.helper.make_node("Expand", ["x", "shape"], ["e"]),
        onnx.helper.make_node("MatMul", ["e", "w"], ["y"]),
    ]
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], [shape, weight])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]).SerializeToString()
    repository = Scratch(tmp_path / "repository")
    repository.commit({"m/model.onnx": model, "m/data/shape.bin": numpy.array([3, 8]).tobytes(), "m/other.bin": b"x"})
    repository.commit({"m/data/shape.bin": numpy.array([5, 8]).tobytes()})
    monkeypatch.chdir(repository.folder)
    found = compared(capsys, "m/model.onnx@HEAD~1", "m/model.onnx")
    assert found.metric("macs").values == (3 * 8 * 4, 5 * 8 * 4)
    Path("m/data/shape.bin").unlink()
    assert main(["compare", "m/model.onnx@main", "m/model.onnx"]) == 2
    assert "its data file 'data/shape.bin' cannot be read" in one_line(capsys)


def test_saved_reports_as_they_are(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    save("before.json", "lenet5", on="toy")
    save("after.JSON", "mlp")
    found = compared(capsys, "before.json", "after.JSON")
    assert [(model.name, model.source) for model in found.models] == [("before.json",) * 2, ("after.JSON",) * 2]
    assert found.models[0].report == weigh("lenet5", on="toy")
    assert found.metric("floor_s", "toy").values[1] is None
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(weigh("lenet5").to_json().encode())))
    found = compared(capsys, "-", "alexnet", "--on", "toy")
    assert [model.name for model in found.models] == ["lenet5", "alexnet"]
    assert found.metric("floor_s", "toy").values[0] is None


def test_a_saved_report_at_a_revision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Scratch(tmp_path / "repository")
    repository.commit({"report.json": weigh("lenet5").to_json(), "bad.json": "{}"})
    monkeypatch.chdir(repository.folder)
    found = compared(capsys, "report.json@main", "lenet5")
    assert found.models[0].report == weigh("lenet5")
    assert found.models[0].source == "report.json@main"
    assert main(["compare", "bad.json@main", "lenet5"]) == 2
    line = one_line(capsys)
    assert "bad.json@main" in line
    assert tempfile.gettempdir() not in line


def test_published_networks_need_no_model(capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(capsys, "published:segformer_b5", "published:EfficientViT-L1", "--fps", "30")
    for name, stated in (("published.macs", 5.2), ("published.latency_s", 13.9)):
        assert round(1 / found.metric(name).ratios[1], 1) == stated
    assert [one.frames_missed for one in found.deadline.by] == [19, 1]
    found = compared(capsys, "published:tsm_8f_batch_16", "published:i3d")
    assert found.metric("published.flops").values == (33e9, 306e9)
    assert found.metric("published.throughput_per_s").values == (77.4, 6.1)


def test_published_and_weighed_are_two_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(capsys, "resnet50", "published:tsm_8f", "--on", "toy")
    assert found.metric("macs").values[1] is None
    assert found.metric("published.flops").values[0] is None


def test_sizes_go_to_those_who_can_have_them(capsys: pytest.CaptureFixture[str]) -> None:
    """A network of TOML has a batch and no inputs of a file; the file has both."""
    Path("model.onnx").write_bytes(odd())
    found = compared_anyway(capsys, "lenet5", "model.onnx", "--input", "x=1x8")
    assert found.metric("parameters").values == (weigh("lenet5").facts.parameters, 64)
    assert main(["compare", "lenet5", "mlp", "--input", "x=1x8"]) == 2
    assert "follows from this network's own parameters" in one_line(capsys)
    save("saved.json", "lenet5")
    found = compared(capsys, "saved.json", "lenet5", "--batch", "4")
    assert found.metric("macs").ratios == (1, 4)


def compared_anyway(capsys: pytest.CaptureFixture[str], *arguments: str) -> Comparison:
    assert main(["compare", *arguments, "--json", "-"]) == 0
    return Comparison.from_json(capsys.readouterr().out)


def test_training_by_other_rules_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    save("adam.json", "lenet5", train="adam")
    save("sgd.json", "lenet5", train="sgd")
    assert main(["compare", "adam.json", "sgd.json"]) == 0
    said = "careful: training is by the rule paper with adam for adam.json and by the rule paper with sgd for sgd.json"
    assert said in capsys.readouterr().out.replace("\n  ", " ")


def test_names_are_short_where_they_are_different_so(capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("a", "b"):
        Path(folder).mkdir()
        for name in ("net", folder):
            Path(folder, f"{name}.toml").write_text(text(16, "head"))
    found = compared(capsys, "a/a.toml", "b/b.toml", "a/net.toml", "b/net.toml", "lenet5", "lenet5")
    names = ["a.toml", "b.toml", "a/net.toml", "b/net.toml", "lenet5", "lenet5 (2)"]
    assert [model.name for model in found.models] == names


def test_what_is_not_exact(capsys: pytest.CaptureFixture[str]) -> None:
    Path("odd.onnx").write_bytes(odd())
    assert main(["compare", "mlp", "odd.onnx", "--strict"]) == 3
    captured = capsys.readouterr()
    assert ">= 64" in captured.out
    assert captured.err == "weighbridge: odd.onnx is not exact: 1 node not counted: mine.Odd x1\n"
    assert main(["compare", "mlp", "odd.onnx", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("weighbridge: warning: odd.onnx is not exact: ")
    macs = next(one for one in json.loads(captured.out)["metrics"] if one["name"] == "macs")
    assert macs["exact"] == [True, False]
    assert main(["compare", "mlp", "odd.onnx"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["mlp", "lenet5", "--strict"], 0, ""),
        (["mlp", "lenet5", "--on", "nrf52840", "--precision", "fp16"], 2, "nrf52840 has no rate at float16"),
        (["alexnet", "mlp", "--on", "stm32f746"], 0, ""),
    ],
)
def test_exit_codes(arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *arguments]) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'MODEL...'; `weighbridge compare --help` shows how it is called"),
        (["alexnet"], "one model is nothing to compare; give two or more"),
        (["alexnet", "alexnett"], "there is neither a file nor a textbook network 'alexnett'; did you mean alexnet?"),
        (["alexnet", "gone.onnx"], "gone.onnx: there is no such file"),
        (["alexnet", "gone.json"], "gone.json: there is no such file"),
        (["alexnet", "net.py:Net"], "net.py: there is no such file"),
        (["alexnet", "published:segformer"], "there is no published network 'segformer'; did you mean published:segf"),
        (["alexnet", "published:"], "there is no published network ''; there are efficientvit_b1_nano"),
        (["alexnet", "model.onnx@main"], "model.onnx@main: there is no git repository here"),
        (["-", "-"], "-: the standard input is one report"),
        (["published:i3d", "published:tsm_8f", "--on", "toy"], "--on: nothing is left to be weighed"),
        (["published:i3d", "published:tsm_8f", "--batch", "1"], "--batch: nothing is left to be weighed"),
        (["published:i3d", "published:tsm_8f", "--input", "1x3"], "--input: nothing is left to be weighed"),
        (["published:i3d", "published:i3d", "--fps", "30"], "--fps: frames missed need a device"),
        (["alexnet", "mlp", "--fps", "30"], "--fps: frames missed need a device"),
        (["alexnet", "mlp", "--on", "toy", "--fps", "fast"], "--fps: 'fast' is no frame rate"),
        (["alexnet", "mlp", "--on", "abacus"], "abacus"),
        (["alexnet", "mlp", "--precision", "int9"], "int9"),
        (["alexnet", "mlp", "--dim", "n"], "--dim: 'n' is no dimension"),
        (["alexnet", "mlp", "-o", "x.pdf"], "-o: no format has the suffix of 'x.pdf'"),
    ],
)
def test_bad_input(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *arguments]) == 2
    assert message in one_line(capsys)


def test_what_is_read_is_not_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    save("saved.json")
    Path("net.toml").write_text(text(16, "head"))
    Path("link.md").symlink_to("net.toml")
    assert main(["compare", "saved.json", "mlp", "-o", "saved.json"]) == 2
    assert "would overwrite the saved report" in one_line(capsys)
    assert main(["compare", "mlp", "net.toml", "-o", "link.md"]) == 2
    assert "would overwrite the network" in one_line(capsys)


def test_completion_offers_networks_and_published_rows() -> None:
    from click.shell_completion import ShellComplete

    from weighbridge.cli.app import app

    def offered(*written: str) -> set[str]:
        *before, last = written
        return {
            one.value for one in ShellComplete(app, {}, "weighbridge", "X").get_completions(["compare", *before], last)
        }

    assert {"alexnet", "published:"} <= offered("")
    assert offered("resnet18", "resnet3") == {"resnet34"}
    assert offered("published:i") == {"published:i3d"}
