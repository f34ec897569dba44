"""Files far larger than the memory that reading them may take: each measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from onnx import ModelProto, TensorProto, helper

from weighbridge.frontends.onnx_wire import _encode

_MEASURE = """
import resource, sys
from pathlib import Path
from weighbridge.frontends import onnx_model, onnx_proto
from weighbridge.frontends.onnx_wire import payload_note
onnx_proto.parse(b"")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = onnx_model.read(Path(sys.argv[1]))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
notes = [payload_note(tensor).bytes for tensor in model.proto.graph.initializer]
print(after - before, len(model.proto.graph.node), *notes)
"""


def _sparse_file(path: Path, sizes: list[int]) -> None:
    """A model with tensors of ``sizes`` bytes of zeros that the disk does not hold."""
    heads = [TensorProto(dims=[size // 4], data_type=1, name=f"w{size}").SerializeToString() for size in sizes]
    bodies = [head + b"\x4a" + _encode(size) for head, size in zip(heads, sizes, strict=True)]
    tail = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [], []).SerializeToString()
    lengths = [len(body) + size for body, size in zip(bodies, sizes, strict=True)]
    graph = sum(len(b"\x2a" + _encode(length)) + length for length in lengths) + len(tail)
    top = ModelProto(ir_version=8)
    top.opset_import.add(version=17)
    with path.open("wb") as file:
        file.write(top.SerializeToString() + b"\x3a" + _encode(graph))
        for body, size, length in zip(bodies, sizes, lengths, strict=True):
            file.write(b"\x2a" + _encode(length) + body)
            file.seek(size, 1)
        file.write(tail)


@pytest.mark.parametrize("sizes", [[100 << 20], [4 << 10] * 30 + [300 << 20, 46 << 20], [1500 << 20, 1 << 32, 8 << 10]])
def test_weights_are_neither_read_nor_held(sizes: list[int], tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    _sparse_file(path, sizes)
    child = subprocess.run(
        [sys.executable, "-c", _MEASURE, path], capture_output=True, text=True, check=True, timeout=60
    )
    grown_kib, nodes, *notes = map(int, child.stdout.split())
    assert nodes == 1
    assert notes == sizes
    assert grown_kib < 10_000
