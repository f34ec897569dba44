"""``weighbridge order`` in this process: output, files, exit codes, messages."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.cli.test_weigh import one_line
from weighbridge import best_order
from weighbridge.cli.main import main

AREA = 8 * 8


@pytest.fixture(autouse=True)
def wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with four branches that widen and end narrow, written a layer of all branches at a time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    nodes, weights, ends = [], [], ["x"] * 4
    for step, channels in enumerate((16, 1)):
        for branch in range(4):
            given = 16 if step else 2
            name = f"w{step}_{branch}"
            weights.append(
                helper.make_tensor(name, TensorProto.FLOAT, (channels, given, 1, 1), [0.0] * channels * given)
            )
            made = f"t{step}_{branch}"
            nodes.append(helper.make_node("Conv", [ends[branch], name], [made], name=f"conv{step}_{branch}"))
            ends[branch] = made
    nodes.append(helper.make_node("Concat", ends, ["y"], name="join", axis=1))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 2, 8, 8))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 4, 8, 8))
    graph = helper.make_graph(nodes, "wide", [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), "wide.onnx")


def test_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["order", "wide.onnx"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    # as written three maps of 16 are there with the input when the fourth is made; reordered one map, with the input and three ends
    before, after = (4 * 16 + 2) * AREA * 4, (16 + 2 + 2 + 1) * AREA * 4
    assert f"peak {after:,} B" in captured.out
    assert f"in place of {before:,} B" in captured.out
    assert "no order has a smaller peak" in captured.out


def test_it_is_what_the_python_interface_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["order", "wide.onnx", "--json", "-"]) == 0
    found = best_order("wide.onnx")
    assert capsys.readouterr().out == found.to_json()
    data = json.loads(found.to_json())
    assert data["order"].index("conv1_0") < data["order"].index("conv0_2")
    assert data["policies"]["live"] == {"before_bytes": found.before_bytes, "after_bytes": found.peak_bytes}
    assert {one["name"] for one in data["moved"]} <= set(data["order"])


def test_files_of_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    suffixes = ("json", "csv", "md", "txt", "html")
    assert main(["order", "wide.onnx", *(part for one in suffixes for part in ("-o", f"page.{one}"))]) == 0
    rows = list(csv.DictReader(Path("page.csv").read_text().splitlines()))
    assert [row["layer"] for row in rows] == list(best_order("wide.onnx").order)
    for one in ("md", "txt", "html"):
        assert "no order has a smaller peak" in Path(f"page.{one}").read_text()


def test_a_search_that_is_stopped_says_its_bound(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["order", "wide.onnx", "--most-states", "0"]) == 0
    out = capsys.readouterr().out
    found = best_order("wide.onnx", most_states=0)
    assert found.bound_bytes < found.peak_bytes or found.is_least
    assert ("no order has a peak below" in out) == (not found.is_least)


def test_kernels_in_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["order", "mobilenet_v2", "--precision", "int8"]) == 0
    out = capsys.readouterr().out
    assert "the order as it is has a peak of 1,505,280 B" in out
    assert "block2.depthwise.conv" in out
    found = best_order("mobilenet_v2", precision="int8")
    best = max(found.overwrites, key=lambda one: one.peak_saved_bytes)
    # the depthwise layer that halves the map reads 96 x 112 x 112 and writes a quarter of it over that, by way of one spare channel
    assert (best.name, best.saved_bytes) == ("block2.depthwise.conv", 95 * 56 * 56)
    assert best.peak_saved_bytes == 1_505_280 - max(1_404_928, 1_505_280 - best.saved_bytes)


def test_what_is_open_or_no_network_is_one_line_and_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["order", "nothing.onnx"]) == 2
    assert "there is no such file" in one_line(capsys)
