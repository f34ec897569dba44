"""``weighbridge weigh --map`` and ``--scratch``: the arena drawn, and with the working memory of kernels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weighbridge import BadSpec, weigh
from weighbridge.builder import Builder
from weighbridge.cli.main import main
from weighbridge.dtypes import DTYPES


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["weigh", "lenet5", *arguments]) == 0
    return capsys.readouterr().out


def test_the_map_is_on_the_page_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, "--map")
    assert "arena_tflm step by step: " in shown
    assert "▲ peak, step 1" in shown
    assert "alive at the peak, step 1 (s2)" in shown
    assert "arena_tflm step by step" not in printed(capsys)


@pytest.mark.parametrize("suffix", [".md", ".txt"])
def test_and_in_files(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / f"out{suffix}"
    printed(capsys, "--map", "-o", str(file))
    assert "▲ peak, step 1" in file.read_text(encoding="utf-8")


def test_json_has_the_plan_with_or_without(capsys: pytest.CaptureFixture[str]) -> None:
    found = [json.loads(printed(capsys, "--json", "-", *more))["memory"] for more in ([], ["--map"])]
    assert found[0] == found[1]
    arena = found[0]["arena"]
    assert arena["bytes"] == found[0]["peak_bytes"]["arena_tflm"] == max(found[0]["profile"]["arena_tflm"])
    assert {(one["name"], one["offset"]) for one in arena["buffers"]} == {
        (one["name"], one["offset"]) for one in found[0]["tensors"]
    }


def test_without_a_plan_there_is_no_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx = pytest.importorskip("onnx")
    text = onnx.TensorProto.STRING
    inputs = [onnx.helper.make_tensor_value_info("x", text, [2])]
    outputs = [onnx.helper.make_tensor_value_info("y", text, [4])]
    node = onnx.helper.make_node("Concat", ["x", "x"], ["y"], axis=0)
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "text", inputs, outputs)), tmp_path / "text.onnx")
    assert main(["weigh", str(tmp_path / "text.onnx"), "--map"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "--map: there is no map: arena_tflm does not apply: the size of x is unknown" in captured.err


def test_scratch_is_in_the_arena_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    plain, shown = printed(capsys), printed(capsys, "--map", "--scratch", "im2col")
    assert "and im2col of convolutions" in " ".join(shown.split())
    assert "im2col of convolutions" not in " ".join(plain.split())
    assert "c1: im2col" in shown
    unrolled = 4 * 25 * 28 * 28  # five by five taps of a map of one channel, at 28 x 28 places
    assert f"{unrolled:,}" in shown


def test_what_is_no_scratch_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", "lenet5", "--scratch", "winograd"]) == 2
    assert "--scratch: 'winograd' is no scratch of kernels; there is im2col" in capsys.readouterr().err
    with pytest.raises(BadSpec, match="no scratch of kernels"):
        weigh("lenet5", scratch="winograd")


def test_in_python() -> None:
    builder = Builder("convolution")
    x, w = builder.input("x", (1, 3, 8, 8), DTYPES["int8"]), builder.stored("w", (4, 3, 3, 3), DTYPES["int8"])
    (y,) = builder.add("conv", [("x", x), ("w", w)], name="conv")
    found = weigh(builder.graph([y]), scratch="im2col").memory
    assert found.peak_bytes["arena_tflm"] == 192 + 144 + -(-27 * 36 // 16) * 16
    assert found.peak_bytes["live"] == 192 + 144
