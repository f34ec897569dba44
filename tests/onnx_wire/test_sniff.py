"""Formats told by content, whatever the file is called."""

from __future__ import annotations

import io
import os
import pickle
import tarfile
import zipfile
from pathlib import Path

import pytest
from onnx import helper

from weighbridge.errors import BadModel, UnsupportedFormat
from weighbridge.frontends.sniff import FORMATS, expect, identify

_MODEL = helper.make_model(helper.make_graph([], "g", [], [])).SerializeToString()


def _zip(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), b"")  # of a fixed date: the bytes name a test
    return stream.getvalue()


def _tar() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("model.onnx"))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("m.onnx", _MODEL, "onnx"),
        ("m.bin", _MODEL, "onnx"),
        ("m.onnx", b"\xff\xfe\xfd\xfc", "onnx"),
        ("m.bin", b"\xff\xfe\xfd\xfc", "unknown"),
        ("m.onnx", b"\x1c\0\0\0TFL3", "tflite"),
        ("m.onnx", b"GGUF\x03\0\0\0", "gguf"),
        ("m.onnx", b"\x89HDF\r\n\x1a\n", "hdf5"),
        ("m.onnx", (40).to_bytes(8, "little") + b'{"weight":{"dtype":"F32"}}', "safetensors"),
        ("m.onnx", _zip("archive/data.pkl", "archive/byteorder"), "torch"),
        ("m.onnx", _zip("archive/data/0", "archive/data.pkl", "archive/.data/version"), "torch"),
        ("m.onnx", _zip("archive/data.pkl")[:60], "torch"),
        ("m.pt", _zip("whatever"), "torch"),
        ("m.onnx", _zip("net/data.pkl", "net/code/__torch__.py", "net/constants.pkl"), "torchscript"),
        ("m.pt", _zip("net/data/0", "net/data.pkl", "net/code/__torch__/a.py"), "torchscript"),
        ("m.onnx", _zip("m/data/weights/weight_0", "m/models/model.json", "m/archive_format"), "pt2"),
        ("m.pt", _zip("m/data/sample_inputs/model.pt", "m/models/model.json", "m/archive_format"), "pt2"),
        ("m.onnx", _zip("version", "serialized_exported_program.json"), "pt2"),
        ("m.pt2", _zip("whatever"), "pt2"),
        ("m.pt2", _zip("m/models/model.json", "m/archive_format")[:70], "pt2"),
        ("m.keras", _zip("metadata.json", "config.json"), "keras"),
        ("m.onnx", _zip("a.npy"), "npz"),
        ("m.onnx", _zip("a.txt"), "zip"),
        ("m.onnx", _tar(), "tar"),
        ("m.onnx", b"\x1f\x8b\x08\0", "gzip"),
        ("m.onnx", pickle.dumps({"a": 1}, protocol=2), "pickle"),
        ("m.onnx", pickle.dumps({"a": 1}, protocol=5), "pickle"),
        ("m.pth", pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2), "pickle"),
        ("m.onnx", b"\x7fELF\x02\x01", "executable"),
        ("m.onnx", b'{"schema": 1}\n', "json"),
        ("m.onnx", b"  <!DOCTYPE html><html></html>", "html"),
        ("m.onnx", b"<?xml version='1.0'?>", "xml"),
        ("m.toml", b"name = 'net'\n", "toml"),
        ("m.onnx", b"ir_version: 8\ngraph {\n}\n", "text"),
        ("m.onnx", "ünïcödé ".encode() * 1000, "text"),
        ("saved_model.pb", b"\x08\x01\x12\x05serve", "savedmodel"),
        ("m.onnx", b"\0\x05\x16\x07\0\x02\0\0", "apple-double"),
    ],
)
def test_the_content_decides(name: str, content: bytes, found: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert identify(path) == found
    assert found in FORMATS
    if found in ("onnx", "unknown"):
        expect(path, "onnx")
        return
    with pytest.raises(UnsupportedFormat, match=f"^{name}: this is {FORMATS[found]}, not an ONNX model"):
        expect(path, "onnx")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("m.pt", _zip("m/data.pkl", "m/data/0"), "a pickle can run code"),
        ("m.pth", pickle.dumps({"a": 1}, protocol=2), "a pickle can run code"),
        ("m.pt", _zip("m/data.pkl", "m/constants.pkl", "m/code/m.py"), "it holds pickles, which can run code"),
    ],
)
def test_what_holds_pickles_is_refused_with_two_ways_out(name: str, content: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnsupportedFormat) as caught:
        expect(tmp_path / name, "onnx")
    assert why in caught.value.hint
    assert 'torch.export.save(torch.export.export(model, args), "model.pt2")' in caught.value.hint
    assert "path.py:factory" in caught.value.hint


def test_a_saved_model_folder_is_known(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(b"\x08\x01")
    assert identify(tmp_path) == "savedmodel"


def test_what_cannot_be_looked_at_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.onnx").write_bytes(b"")
    (tmp_path / "lfs.onnx").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    os.mkfifo(tmp_path / "pipe.onnx")
    (tmp_path / "loop.onnx").symlink_to(tmp_path / "loop.onnx")
    for name, says in {
        "empty.onnx": "the file is empty",
        "lfs.onnx": "run `git lfs pull`",
        "pipe.onnx": "no regular file",
        "loop.onnx": "cannot be read",
        "none.onnx": "there is no such file",
        ".": "this is a folder",
        "x" * 5000: "cannot be read",
        "nul\0.onnx": "cannot be read",
    }.items():
        with pytest.raises(BadModel, match=says) as caught:
            identify(tmp_path / name)
        assert caught.value.hint
