"""Writes a generated TensorFlow Lite model: ``tflite_models.py chain_20000 PATH``; needs the package ``tflite`` (extra ``test``)."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.tflite.build import graph, model, op, tensor


def chain(nodes: int) -> bytes:
    """Convolutions of one weight each, additions and rectifiers, one behind the other."""
    tensors, made, last = [tensor("x", (1, 8, 8, 4), "INT8", scales=1)], [], "x"
    for index in range(nodes // 4):
        names = [f"{name}{index}" for name in ("w", "b", "c", "r", "s", "t")]
        w, b, c, r, s, t = names
        tensors += [tensor(w, (4, 1, 1, 4), "INT8", data=True, scales=4), tensor(b, (4,), "INT32", data=True, scales=4)]
        tensors += [tensor(name, (1, 8, 8, 4), "INT8", scales=1) for name in (c, r, s, t)]
        made.append(op("CONV_2D", f"{last} {w} {b}", c, {"stride_w": 1, "stride_h": 1}))
        made += [op("RELU", c, r), op("ADD", f"{r} {last}", s, {}), op("LOGISTIC", s, t)]
        last = t
    return model(graph(tensors, made, "x", last))


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(chain(int(sys.argv[1].rpartition("_")[2])))
