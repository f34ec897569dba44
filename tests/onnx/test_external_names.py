"""The files that an ONNX model keeps weights in, found in its bytes: those that onnx wrote, and none outside the folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from weighbridge.frontends.onnx_external import data_files, names_as_data


def model(path: Path, *locations: str) -> Path:
    """A model whose weights are said to be at these places."""
    weights = []
    for number, location in enumerate(locations):
        weight = onnx.numpy_helper.from_array(np.zeros(2, np.float32), f"w{number}")
        onnx.external_data_helper.set_external_data(weight, location)
        weight.ClearField("raw_data")
        weight.data_location = onnx.TensorProto.EXTERNAL
        weights.append(weight)
    path.write_bytes(onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [], weights)).SerializeToString())
    return path


@pytest.mark.parametrize("name", ["weights.bin", "a/b c/é.data", "x" * 127, "y" * 128, "z" * 300, "./here.bin"])
def test_every_name_that_onnx_writes_is_found(tmp_path: Path, name: str) -> None:
    assert data_files(model(tmp_path / "m.onnx", "first", name, name)) == ("first", name)


@pytest.mark.parametrize("name", ["/etc/passwd", "../up", "a/../../up", "a//b", "", "a\0b", ".", "long" * 2000])
def test_names_that_lead_elsewhere_are_left_out(tmp_path: Path, name: str) -> None:
    assert data_files(model(tmp_path / "m.onnx", "first", name)) == ("first",)


def test_both_ways_to_ask_agree(tmp_path: Path) -> None:
    path = model(tmp_path / "m.onnx", "one.bin", "folder/two.bin")
    for name in data_files(path):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
        assert names_as_data(path, tmp_path / name)


@pytest.mark.parametrize(
    "content", [b"", b"\x0a\x08location\x12", b"\x0a\x08location\x12\xff\xff\xff\xff\xff\x01", b"[toml]"]
)
def test_what_is_no_model_has_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m"
    path.write_bytes(content)
    assert data_files(path) == ()
