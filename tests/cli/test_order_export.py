"""``weighbridge order --export``: the file that is written, what is said of it, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.cli.test_weigh import one_line
from tests.onnx.branches import branches, peaks, write
from weighbridge import best_order, weigh
from weighbridge.cli.main import main

BEFORE, AFTER = peaks()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write(Path("wide.onnx"))
    return tmp_path


def files() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


def names(path: str) -> list[str]:
    return [node.name for node in onnx.load(path, load_external_data=False).graph.node]


def test_the_file_has_the_order_and_the_peak_that_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["order", "wide.onnx", "--export", "better.onnx"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "better.onnx has " in captured.out
    assert f"of 9 nodes at another place; weighed again, its peak is {AFTER:,} B by live, as found" in captured.out
    assert Path("better.onnx").stat().st_size == Path("wide.onnx").stat().st_size
    assert names("wide.onnx") != names("better.onnx")
    assert sorted(names("wide.onnx")) == sorted(names("better.onnx"))
    assert weigh("better.onnx").memory.peak_bytes["live"] == AFTER
    assert weigh("wide.onnx").memory.peak_bytes["live"] == BEFORE
    assert files() == ["better.onnx", "wide.onnx"]  # nothing is left behind


def test_the_json_says_what_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["order", "wide.onnx", "--export", "better.onnx", "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    memory = {name: weigh(f"{name}.onnx").memory.peak_bytes["arena_tflm"] for name in ("wide", "better")}
    assert data["exported"] == {
        "path": "better.onnx",
        "format": "onnx",
        "nodes": 9,
        "moved": sum(one != other for one, other in zip(names("wide.onnx"), names("better.onnx"), strict=True)),
        "before_bytes": BEFORE,
        "promised_bytes": AFTER,
        "peak_bytes": AFTER,
        "arena_before_bytes": memory["wide"],
        "arena_bytes": memory["better"],
        "notes": [],
    }
    assert main(["order", "wide.onnx", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["exported"] is None


def test_what_is_the_best_already_is_copied(capsys: pytest.CaptureFixture[str]) -> None:
    best_order("wide.onnx", export="better.onnx")
    assert main(["order", "better.onnx", "--export", "again.onnx"]) == 0
    assert "again.onnx is the source byte for byte: no better order was found" in capsys.readouterr().out
    assert Path("again.onnx").read_bytes() == Path("better.onnx").read_bytes()
    found = best_order("better.onnx", export="again.onnx").exported
    assert found is not None
    assert (found.moved, found.peak_bytes, found.promised_bytes) == (0, AFTER, AFTER)


def test_a_file_that_is_there_is_written_anew() -> None:
    Path("better.onnx").write_bytes(b"old")
    Path("link.onnx").symlink_to("better.onnx")
    assert main(["order", "wide.onnx", "--export", "link.onnx"]) == 0
    assert Path("link.onnx").is_symlink()
    assert len(names("better.onnx")) == 9


def test_the_sizes_and_widths_hold_for_the_file_as_well() -> None:
    found = best_order("wide.onnx", batch=3, activation_bits=8, export="better.onnx")
    assert found.exported is not None
    assert found.peak_bytes == found.exported.peak_bytes == 3 * AFTER // 4


def test_an_arena_that_grows_is_said(capsys: pytest.CaptureFixture[str], shared: Path) -> None:
    source = shared / "data" / "onnx" / "onnx_light" / "light_shufflenet.onnx"
    assert main(["order", str(source), "--export", "s.onnx"]) == 0
    out = capsys.readouterr().out
    assert "weighed again, its peak is 2,885,120 B by live, as found" in out
    assert "packed into one arena it is WORSE, 3,186,176 B by arena_tflm in place of 3,110,912 B" in out


def test_what_stands_for_several_nodes_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """A function is one node of the file, whose nodes it alone puts in order: here with two wide tensors alive at once."""
    opset = helper.make_opsetid("", 17)
    layers = [
        helper.make_node("Constant", [], ["wide"], value=helper.make_tensor("s", TensorProto.INT64, (1,), (1000,))),
        helper.make_node("Expand", ["a", "wide"], ["b"]),
        helper.make_node("Expand", ["a", "wide"], ["d"]),
        helper.make_node("ReduceMax", ["b"], ["c"], keepdims=0),
        helper.make_node("ReduceMax", ["d"], ["e"], keepdims=0),
    ]
    both = helper.make_function("own", "Both", ["a"], ["c", "e"], layers, [opset])
    node = helper.make_node("Both", ["x"], ["y", "z"], domain="own")
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, (1,) * (name == "x")) for name in "xyz"}
    graph = helper.make_graph([node], "one", [values["x"]], [values["y"], values["z"]])
    imports = [opset, helper.make_opsetid("own", 1)]
    onnx.save(helper.make_model(graph, functions=[both], opset_imports=imports, ir_version=8), "function.onnx")
    assert main(["order", "function.onnx", "--export", "f.onnx", "--all"]) == 0
    out = capsys.readouterr().out
    assert "peak 4,008 B (3.914 KiB) in place of 8,004 B" in out
    assert "f.onnx is the source byte for byte: the better order is none that the file could have" in out
    assert Path("f.onnx").read_bytes() == Path("function.onnx").read_bytes()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("-", "is not called like an ONNX model"),
        ("better.tflite", "is not called like an ONNX model"),
        ("better", "is not called like an ONNX model"),
        ("", "is not called like an ONNX model"),
        ("nowhere/better.onnx", "there is no folder 'nowhere'"),
        ("wide.onnx", "is the network itself, which is never written over"),
        ("./../{here}/wide.onnx", "is the network itself, which is never written over"),
        ("symbolic.onnx", "is the network itself, which is never written over"),
        ("hard.onnx", "is the network itself, which is never written over"),
        ("folder.onnx", "is there and is no file that can be written"),
        ("bad\0.onnx", "cannot be written"),
        ("ring.onnx", "cannot be written"),
        ("x" * 300 + ".onnx", "cannot be written"),
    ],
)
def test_a_place_that_cannot_be_is_refused_before_the_work(
    folder: Path, capsys: pytest.CaptureFixture[str], target: str, said: str
) -> None:
    Path("symbolic.onnx").symlink_to("wide.onnx")
    Path("hard.onnx").hardlink_to("wide.onnx")
    Path("ring.onnx").symlink_to("ring.onnx")
    Path("folder.onnx").mkdir()
    before = Path("wide.onnx").read_bytes()
    assert main(["order", "wide.onnx", "--export", target.format(here=folder.name)]) == 2
    assert said in one_line(capsys)
    assert Path("wide.onnx").read_bytes() == before
    assert files() == ["folder.onnx", "hard.onnx", "ring.onnx", "symbolic.onnx", "wide.onnx"]


def test_a_page_and_the_model_in_one_place_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("page.json").symlink_to("both.onnx")
    assert main(["order", "wide.onnx", "--export", "both.onnx", "-o", "page.json"]) == 2
    assert "two reports for one file" in one_line(capsys)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("mobilenet_v2", "a textbook network has none"),
        ("net.toml", "net.toml is TOML text"),
        ("torchvision:resnet18", "a model in Python has none"),
        ("net.py:make", "a model in Python has none"),
        ("nothing.onnx", "there is no such file"),
    ],
)
def test_a_source_without_a_list_of_nodes_is_refused(
    capsys: pytest.CaptureFixture[str], source: str, said: str
) -> None:
    Path("net.toml").write_text("[network]\n")
    Path("net.py").write_text("def make():\n    raise SystemExit\n")
    assert main(["order", source, "--export", "better.onnx"]) == 2
    assert said in one_line(capsys)


def test_graphs_have_no_file() -> None:
    from weighbridge import BadSpec, load

    with pytest.raises(BadSpec, match="only ONNX and TensorFlow Lite files"):
        best_order(load("wide.onnx"), export="better.onnx")


def test_a_cycle_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    model = branches()
    model.graph.node[0].input[0] = "t1_0"
    onnx.save(model, "ring_of_nodes.onnx")
    assert main(["order", "ring_of_nodes.onnx", "--export", "better.onnx"]) == 2
    assert "convt0_0: waits for its own result: the graph has a cycle" in one_line(capsys)
    assert not Path("better.onnx").exists()


def test_a_damaged_file_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("cut.onnx").write_bytes(Path("wide.onnx").read_bytes()[:-40])
    assert main(["order", "cut.onnx", "--export", "better.onnx"]) == 2
    assert "truncated" in one_line(capsys)


def test_a_folder_that_takes_no_files_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("weighbridge.exporting._copy", full)
    Path("better.onnx").write_bytes(b"old")
    assert main(["order", "wide.onnx", "--export", "better.onnx"]) == 2
    assert "'better.onnx' cannot be written: No space left on device" in one_line(capsys)
    assert Path("better.onnx").read_bytes() == b"old"
    assert files() == ["better.onnx", "wide.onnx"]


def test_weights_in_other_files_have_to_be_there(capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(branches(), "outside.onnx", save_as_external_data=True, location="weights.onnx", size_threshold=0)
    Path("other").mkdir()
    assert main(["order", "outside.onnx", "--export", "other/better.onnx"]) == 2
    assert "the network keeps weights in 'weights.onnx', which is not in the folder of" in one_line(capsys)
    assert main(["order", "outside.onnx", "--export", "weights.onnx"]) == 2
    assert "is the weights of the network, which is never written over" in one_line(capsys)
    Path("other/weights.onnx").write_bytes(Path("weights.onnx").read_bytes())
    assert main(["order", "outside.onnx", "--export", "other/better.onnx"]) == 0
    assert main(["order", "outside.onnx", "--export", "better.onnx"]) == 0
    assert Path("better.onnx").read_bytes() == Path("other/better.onnx").read_bytes()
