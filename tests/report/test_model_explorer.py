"""Node data for Model Explorer: every key is a node of the file, every value is the report's, and nothing unknown is 0."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import weighbridge
from tests.onnx import build as onnx_build
from tests.onnx.files import onnx_files, report_of
from tests.pt2.build import entries, program, written
from tests.pt2.build import node as pt2_node
from tests.report.samples import node, on_device, report
from tests.report.viewer import landed, opened
from tests.tflite.build import graph, model, op, tensor
from tests.tflite.files import tflite_files
from tests.tflite.subgraphs import X, Y, layer, macs
from weighbridge import BadSpec, Report
from weighbridge.cli.main import main
from weighbridge.estimates import NodeTime
from weighbridge.frontends.onnx_names import told_apart
from weighbridge.frontends.onnx_scope import graphs_of
from weighbridge.graph import FileNode
from weighbridge.report import OnDevice
from weighbridge.report.model_explorer import GRADIENT, may_be_named, node_data

TFLITE = (
    "mlperf_tiny/vww_96_int8.tflite",
    "mlperf_tiny/kws_ref_model.tflite",
    "mlperf_tiny/pretrainedResnet.tflite",
    "tflm/person_detect.tflite",
    "tflm/keyword_scrambled.tflite",
    "tflm/trained_lstm_int8.tflite",
    "litert/dynamic_shapes.bin",
    "litert/multi_subgraphs_while.bin",
    "litert/odml_sdpa_composite_gqa.tflite.bin",
    "litert/topo_sort_fork_violation.tflite",
    "glow_single_op/unpack.tflite",
)
ONNX = (
    "external_data/resnet18/resnet18.onnx",
    "onnx_light/light_bvlc_alexnet.onnx",
    "real_models/FastestDet.onnx",
    "real_models/Ultraface_version-RFB-320.onnx",
    "real_models/kws_ref_model.onnx",
    "real_models/swiglu_4096_4096_14336.onnx",
    "ort_odd/bert_toy_optimized.onnx",
    "ort_odd/models__relu.onnx",
)

Values = Mapping[tuple[str, str], int | float]


def values(found: Mapping[str, str], file: str) -> Values:
    """The values of a file by graph and key."""
    data = json.loads(found[file])
    return {(graph, key): one["value"] for graph, of in data.items() for key, one in of["results"].items()}


def check(path: Path, made: Report) -> None:
    """Every key is a node of the file, of the operator that the report says it is, and no node has two."""
    shown = opened(path)
    found = node_data(made)
    totals: dict[str, int] = {"macs": made.facts.macs, "output_bytes": sum(one.output_bytes or 0 for one in made.nodes)}
    for file in found.files:
        keys = values(found.files, file)
        nodes = {(of, landed(key, shown[of])) for of, key in keys}
        assert len(nodes) == len(keys)
        total = totals.get(file.removesuffix(".json"))
        assert total is None or sum(keys.values()) == total
    labels = {}
    for one in made.nodes:
        assert one.file_node is not None
        of, position, name = one.file_node
        key = name or str(position)
        labels[of, key] = label = shown[of][landed(key, shown[of])][0]
        origin = one.origin.rpartition(".")[2].lower().replace("_", "")
        if "/" not in one.name or path.suffix == ".onnx":  # what is called stands at the call
            assert origin in (label, label.rpartition("::")[2], "custom"), one
    assert found.nodes == len(labels)


@pytest.mark.parametrize("name", TFLITE)
def test_every_key_is_an_operator_of_the_file(name: str, shared: Path) -> None:
    path = tflite_files(shared)[name]
    check(path, weighbridge.weigh(path))


@pytest.mark.parametrize("name", ONNX)
def test_every_key_is_a_node_of_the_file(name: str, shared: Path) -> None:
    path = onnx_files(shared)[name]
    check(path, report_of(name, path))


def test_as_written_every_node_has_a_value(shared: Path) -> None:
    """But those that depend on no input."""
    path = onnx_files(shared)["external_data/resnet18/resnet18.onnx"]
    fused, apart = weighbridge.weigh(path), weighbridge.weigh(path, as_written=True)
    (nodes,) = opened(path).values()
    operators = {key for key, (label, _) in nodes.items() if label not in ("input", "output", "initializer")}
    assert {key for _, key in values(node_data(apart).files, "macs.json")} == operators
    keys = {key for _, key in values(node_data(fused).files, "macs.json")}
    assert {nodes[key][0] for key in operators - keys} <= {"relu", "batchnormalization"}
    assert values(node_data(apart).files, "macs.json").items() >= values(node_data(fused).files, "macs.json").items()
    assert any("folded or fused" in note for note in node_data(fused).notes)
    assert not any("folded or fused" in note for note in node_data(apart).notes)


def test_the_layout_is_the_viewers(tmp_path: Path) -> None:
    made = model(
        graph([X, tensor("w", (4, 8), data=True), tensor("y", (2, 4))], [op("FULLY_CONNECTED", "x w -", "y")], "x", "y")
    )
    (tmp_path / "net.tflite").write_bytes(made)
    found = node_data(weighbridge.weigh(tmp_path / "net.tflite")).files
    assert list(found) == [
        "macs.json",
        "parameters.json",
        "output_bytes.json",
        "moved_bytes.json",
        "alive_bytes.live.json",
    ]
    stops = [{"stop": place / 4, "bgColor": colour} for place, colour in enumerate(GRADIENT)]
    expected: dict[str, Any] = {"name": "MACs", "results": {"y": {"value": 2 * 4 * 8}}, "gradient": stops}
    assert json.loads(found["macs.json"]) == {"main": expected}
    assert values(found, "parameters.json") == {("main", "y"): 32}
    assert values(found, "output_bytes.json") == {("main", "y"): 4 * 2 * 4}
    assert values(found, "moved_bytes.json") == {("main", "y"): 4 * (2 * 8 + 4 * 8 + 2 * 4)}
    assert values(found, "alive_bytes.live.json") == {("main", "y"): 4 * (2 * 8 + 2 * 4)}
    alive = json.loads(found["alive_bytes.live.json"])["main"]
    assert (alive["hideAggregatedStats"], alive["hideInChildrenStatsTable"]) == (["sum"], True)
    assert all(may_be_named(file) for file in found)
    assert not may_be_named("report.json")


def test_what_is_called_stands_at_the_call(tmp_path: Path) -> None:
    """Its parts add up there, but what is alive at one time, and parameters that may be the same."""
    calls = [op("CALL", "x", "h", {"subgraph": 1}), op("CALL", "h", "y", {"subgraph": 1})]
    (tmp_path / "net.tflite").write_bytes(model(graph([X, tensor("h", (2, 8)), Y], calls, "x", "y"), layer(4)))
    made = weighbridge.weigh(tmp_path / "net.tflite")
    assert len(made.nodes) == 4
    found = node_data(made)
    assert values(found.files, "macs.json") == {("main", "h"): macs(4), ("main", "y"): macs(4)}
    assert values(found.files, "output_bytes.json") == {("main", "h"): 4 * 24, ("main", "y"): 4 * 24}
    assert values(found.files, "alive_bytes.live.json") == {("main", "h"): 4 * 24, ("main", "y"): 4 * 24}
    assert "parameters.json" not in found.files
    assert "parameters: not known of any node, so left out" in found.notes


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        (("h", "y"), ["h", "y"]),
        (("", ""), ["0", "1"]),  # names were removed
        (("x", "y"), ["0", "y"]),  # a tensor of the name of another
        (("1", "0"), ["1", "0"]),  # the names of results, though they look like positions
        (("q", "q"), ["0", "1"]),
    ],
)
def test_operators_are_found_by_their_results_or_by_their_position(
    names: tuple[str, str], keys: list[str], tmp_path: Path
) -> None:
    tensors = [X, tensor("h", (2, 8)), tensor("y", (2, 8))]
    made = model(graph(tensors, [op("FLOOR", "x", "h"), op("CEIL", "h", "y")], "x", "y"))
    # Tensors are told apart by their names while a model is written, so they are renamed in its bytes.
    for old, new in zip(("h", "y"), names, strict=True):
        length, text = (1).to_bytes(4, "little"), f"{old}\0".encode()
        assert made.count(length + text) == 1
        made = made.replace(length + text, len(new).to_bytes(4, "little") + f"{new}\0".encode().ljust(2, b"\0"))
    path = tmp_path / "net.tflite"
    path.write_bytes(made)
    report = weighbridge.weigh(path)
    assert [key for _, key in values(node_data(report).files, "macs.json")] == keys
    (nodes,) = opened(path).values()
    assert [landed(key, nodes) for key in keys] == ["0", "1"]


def test_a_position_that_is_the_name_of_a_tensor_is_no_key(tmp_path: Path) -> None:
    tensors = [tensor("0", (2, 8)), tensor("h", (2, 8)), tensor("y", (2, 8))]
    made = model(graph(tensors, [op("FLOOR", "0", "h"), op("CEIL", "h", "y")], "0", "y"))
    (tmp_path / "net.tflite").write_bytes(made.replace(b"\1\0\0\0h\0", b"\0\0\0\0\0\0"))
    found = node_data(weighbridge.weigh(tmp_path / "net.tflite"))
    assert list(values(found.files, "macs.json")) == [("main", "y")]
    assert "1 of 2 nodes have no name in the file that the viewer knows, so they are left out" in found.notes


def test_names_of_nodes_are_told_apart_as_onnx_tools_do() -> None:
    """Looked up once in what NameFixPass of onnx-ir 1.1.0 makes of the same model."""
    inner = onnx_build.graph(
        [onnx_build.node("Relu", ["x"], ["a"]), onnx_build.node("Neg", ["a"], ["b"])], [], [onnx_build.value("b", (2,))]
    )
    choice = onnx_build.node("If", ["c"], ["d"], then_branch=inner, else_branch=inner)
    nodes = [
        onnx_build.node("Relu", ["x"], ["p"]),
        choice,
        onnx_build.node("Relu", ["p"], ["q"]),
        onnx_build.node("Relu", ["q"], ["r"], name="conv"),
        onnx_build.node("Relu", ["r"], ["s"], name="conv"),
        onnx_build.node("Relu", ["s"], ["t"], name="node_5"),
        onnx_build.node("Relu", ["t"], ["u"]),
    ]
    assert told_apart(nodes, graphs_of) == ["node", "node_1", "node_4", "conv", "conv_1", "node_5", "node_6"]


def test_a_node_of_an_exported_program_has_its_own_name(tmp_path: Path) -> None:
    nodes = [
        pt2_node("aten.relu.default", {"self": "x"}, ["relu"]),
        pt2_node("aten.max.dim", {"self": "relu", "dim": 0}, ["getitem", "getitem_1"]),
        pt2_node("aten.relu.default", {"self": "getitem"}, ["relu_1"]),
    ]
    nodes[1]["name"] = "max_1"
    sizes = {"x": (2, 3), "relu": (2, 3), "getitem": (3,), "getitem_1": (3,), "relu_1": (3,)}
    path = tmp_path / "net.pt2"
    path.write_bytes(written(entries(program(nodes, sizes, ["relu_1", "getitem_1"]))))
    made = weighbridge.weigh(path)
    assert list(values(node_data(made).files, "macs.json")) == [
        ("graph", "relu"),
        ("graph", "max_1"),
        ("graph", "relu_1"),
    ]
    del nodes[1]["name"], nodes[2]["name"]  # as PyTorch 2.7 and before wrote them
    path.write_bytes(written(entries(program(nodes, sizes, ["relu_1", "getitem_1"]))))
    found = node_data(weighbridge.weigh(path))
    assert list(values(found.files, "macs.json")) == [("graph", "relu"), ("graph", "relu_1")]
    assert any(
        "nodes have no name in the file that the viewer knows, so they are left out" in one for one in found.notes
    )


def placed(made: Report, *names: str) -> Report:
    """The report with nodes of a file of these names."""
    pairs = zip(made.nodes, names, strict=True)
    nodes = tuple(one._replace(file_node=FileNode("g", at, name)) for at, (one, name) in enumerate(pairs))
    return replace(made, facts=made.facts._replace(nodes=nodes))


def on(device: str, *times: float | None) -> OnDevice:
    nodes = tuple(NodeTime("n", one, None, None, one, None, exact=one != 0.5) for one in times)
    return on_device()._replace(device=device, nodes=nodes)


def test_what_is_unknown_is_left_out_and_said() -> None:
    loop = node("d", macs=9)._replace(exact=False)  # of which one trip is counted
    nodes = [node("a", macs=7, weights=3), node("b", macs=None), node("c", output=None), loop]
    made = placed(report(nodes, on=(on("board", 0.25, None, 0.5, 0.5),)), "a", "b", "c", "d")
    found = node_data(made)
    assert values(found.files, "macs.json") == {("g", "a"): 7, ("g", "c"): 0}
    assert {key for _, key in values(found.files, "moved_bytes.json")} == {"a", "b", "d"}
    # of the last two there is a lower bound alone
    assert values(found.files, "time_s.board.json") == {("g", "a"): 0.25}
    assert "MACs: not known of 2 of 4 nodes, so left out" in found.notes
    assert "time on board (s): not known of 3 of 4 nodes, so left out" in found.notes


def test_without_a_profile_or_a_time_there_is_no_file() -> None:
    made = placed(report([node("a")], on=(on("board", None), on("other", 1.0)._replace(nodes=None))), "a")
    found = node_data(made, "held")
    assert sorted(found.files) == ["macs.json", "moved_bytes.json", "output_bytes.json", "parameters.json"]
    assert "bytes alive, held (B): not known of any node, so left out" in found.notes
    assert "time on board (s): not known of any node, so left out" in found.notes
    assert "no time on other: the report has none for its nodes" in found.notes


def test_notes_are_printable_whatever_a_device_is_called() -> None:
    named = (on("\x1b[31m", None), on("\u202e", 1.0)._replace(nodes=None))
    found = node_data(placed(report([node("a")], on=named), "a"))
    assert r"time on \x1b[31m (s): not known of any node, so left out" in found.notes
    assert all(note.isprintable() for note in found.notes)


def test_odd_reports() -> None:
    """Whatever stands in a report: numbers that no float holds, names that are no names of files, devices of one name."""
    hostile = 'a"</script>\n\N{RIGHT-TO-LEFT OVERRIDE}\ud800' + 10_000 * "x"
    nodes = [node(hostile, macs=1 << 70, output=(1 << 40, 1 << 40)), node("b")]
    devices = (on("../Etc/passwd", float("inf"), 1e-9), on("../etc/passwd", 0.0, 1.0))
    found = node_data(placed(report(nodes, on=devices), hostile, "b"))
    assert values(found.files, "macs.json") == {("g", hostile): 1 << 70, ("g", "b"): 0}
    assert list(found.files)[-2:] == ["time_s..._etc_passwd.json", "time_s..._etc_passwd (2).json"]
    assert values(found.files, "time_s..._etc_passwd.json") == {("g", "b"): 1e-9}
    assert any("rounds whole numbers beyond 2^53" in note for note in found.notes)
    assert all(text.isascii() for text in found.files.values())


def test_what_the_viewer_does_not_open_is_refused() -> None:
    with pytest.raises(
        BadSpec, match=r"lenet5: Model Explorer opens files of models, and this report is of the format textbook"
    ):
        node_data(weighbridge.weigh("lenet5"))
    with pytest.raises(BadSpec, match="does not say which nodes of the file its nodes come from"):
        node_data(report([node("a")]))
    with pytest.raises(BadSpec, match="the report has no nodes"):
        node_data(report([]))


def test_a_saved_report_gives_the_same_and_an_old_one_is_refused(shared: Path) -> None:
    made = weighbridge.weigh(tflite_files(shared)[TFLITE[0]], on="stm32f746", precision="int8")
    again = Report.from_json(made.to_json())
    assert again == made
    assert node_data(again) == node_data(made)
    old = made.to_dict()
    for one in old["nodes"]:  # type: ignore[attr-defined]
        del one["file_node"]
    assert all(one.file_node is None for one in Report.from_dict(old).nodes)
    with pytest.raises(BadSpec, match="weigh the file anew"):
        node_data(Report.from_dict(old))


class TestCommand:
    """``--model-explorer FOLDER`` of weigh and report."""

    @pytest.fixture(autouse=True)
    def in_an_empty_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        made = graph(
            [X, tensor("w", (4, 8), data=True), tensor("y", (2, 4))], [op("FULLY_CONNECTED", "x w -", "y")], "x", "y"
        )
        Path("net.tflite").write_bytes(model(made))

    def test_weigh_and_report_write_the_same(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["weigh", "net.tflite", "--json", "net.json", "--model-explorer", "one", "--policy", "pair"]) == 0
        first = capsys.readouterr()
        assert "net.tflite" in first.out
        assert all(line.startswith("weighbridge: node data: ") for line in first.err.splitlines())
        assert main(["report", "net.json", "--model-explorer", "two", "--policy", "pair"]) == 0
        assert capsys.readouterr().err == first.err
        written = {path.name: path.read_text() for path in Path("one").iterdir()}
        assert sorted(written) == [
            *("alive_bytes.pair.json", "macs.json", "moved_bytes.json", "output_bytes.json", "parameters.json"),
        ]
        assert written == {path.name: path.read_text() for path in Path("two").iterdir()}
        assert written == node_data(weighbridge.weigh("net.tflite"), "pair").files

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["weigh", "alexnet", "--model-explorer", "new"], "alexnet: Model Explorer opens files of models"),
            (["weigh", "net.tflite", "--model-explorer", "net.tflite"], "take a folder"),
            (["weigh", "net.tflite", "--model-explorer", "-"], "take a folder"),
            (["weigh", "net.tflite", "--model-explorer", "a/b"], "there is no folder 'a'"),
            (["weigh", "net.tflite", "-o", "macs.json", "--model-explorer", "."], "macs.json in it is another report"),
            (["weigh", "net.tflite", "--model-explorer", "a\0b"], "cannot be written"),
        ],
    )
    def test_errors(self, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert error.startswith("weighbridge: error: ")
        assert message in error
        assert not Path("new").exists()

    def test_a_saved_report_is_not_written_over(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["weigh", "net.tflite", "--json", "macs.json"]) == 0
        saved = Path("macs.json").read_text()
        capsys.readouterr()
        assert main(["report", "macs.json", "--model-explorer", "."]) == 2
        assert "macs.json in it is the saved report" in capsys.readouterr().err
        assert Path("macs.json").read_text() == saved

    def test_a_file_that_cannot_be_written_keeps_no_other_from_it(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("costs", "macs.json").mkdir(parents=True)
        assert main(["weigh", "net.tflite", "--model-explorer", "costs"]) == 2
        where = str(Path("costs", "macs.json"))
        assert (
            f"error: {where}: cannot be written: Is a directory; everything else was written" in capsys.readouterr().err
        )
        assert len(list(Path("costs").iterdir())) == 5

    def test_one_report_at_a_time(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["weigh", "net.tflite", "--json", "a"]) == 0
        capsys.readouterr()
        assert main(["report", "a", "a", "--model-explorer", "new"]) == 2
        assert "2 reports for a format that takes one" in capsys.readouterr().err
