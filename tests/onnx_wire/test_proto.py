"""Loading the generated classes without the onnx package, each order in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_MODEL = "onnx.helper.make_model(onnx.helper.make_graph([], 'g', [], []), producer_name='mine').SerializeToString()"
_DATA = rb'''b"\x08\x08\x12\x04mine\x3a\x03\x12\x01g\x42\x04\x0a\x00\x10\x11"'''.decode()


def _run(code: str, **environment: str) -> str:
    whole = {**os.environ, **environment}
    child = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=False, capture_output=True, text=True, env=whole, timeout=60
    )
    assert child.returncode == 0, child.stderr
    return child.stdout.strip()


def _package(folder: Path, **modules: str) -> None:
    (folder / "onnx").mkdir()
    for name, content in modules.items():
        (folder / "onnx" / f"{name}.py").write_text(content)


@pytest.mark.parametrize("implementation", ["upb", "python"])
def test_the_classes_come_without_onnx_and_onnx_still_loads_afterwards(implementation: str) -> None:
    code = f"""
import sys
from weighbridge.frontends.onnx_proto import parse
first = parse({_DATA})
assert "onnx" not in sys.modules and "numpy" not in sys.modules
import onnx, onnx.checker, onnx.onnx_ml_pb2
assert type(first) is onnx.ModelProto is onnx.onnx_ml_pb2.ModelProto
second = onnx.load_model_from_string({_MODEL})
second.graph.CopyFrom(first.graph)
assert parse(second.SerializeToString()) == second
onnx.shape_inference.infer_shapes(second)
print(first.producer_name, second.producer_name)
"""
    assert _run(code, PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=implementation) == "mine mine"


def test_a_loaded_onnx_is_used() -> None:
    code = f"""
import onnx
from weighbridge.frontends.onnx_proto import parse
assert type(parse({_MODEL})) is onnx.ModelProto
print("same")
"""
    assert _run(code) == "same"


def test_another_layout_of_the_package_is_imported_whole(tmp_path: Path) -> None:
    _package(
        tmp_path, __init__="class ModelProto:\n    @staticmethod\n    def FromString(data):\n        return 'parsed'\n"
    )
    code = "from weighbridge.frontends.onnx_proto import parse; print(parse(b''))"
    assert _run(code, PYTHONPATH=str(tmp_path)) == "parsed"


@pytest.mark.parametrize("content", [None, "raise ImportError('libprotobuf is broken')"])
def test_a_missing_or_broken_onnx_says_what_to_install(content: str | None, tmp_path: Path) -> None:
    hide = "sys.modules['onnx'] = None" if content is None else "pass"
    if content is not None:
        _package(tmp_path, __init__=content, onnx_ml_pb2=content)
    code = f"""
import sys
{hide}
from weighbridge.errors import MissingExtra
from weighbridge.frontends.onnx_proto import parse
try:
    parse(b"")
except MissingExtra as error:
    print(error)
"""
    assert 'pip install "weighbridge[onnx]"' in _run(code, PYTHONPATH=str(tmp_path))


@pytest.mark.parametrize("implementation", ["upb", "python"])
def test_nesting_beyond_the_parser_is_an_error_in_either_implementation(implementation: str) -> None:
    code = """
from weighbridge.errors import BadModel
from weighbridge.frontends.onnx_proto import parse
body = b""
for _ in range(60):
    for tag in (b"\\x32", b"\\x2a", b"\\x0a"):
        size = len(body)
        length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
        body = tag + length + body
try:
    parse(b"\\x3a" + bytes([len(body) & 127 | 128, len(body) >> 7]) + body)
except BadModel:
    print("refused")
"""
    assert _run(code, PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=implementation) == "refused"
