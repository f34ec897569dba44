"""ONNX files written with their nodes in another order, and what ONNX Runtime computes of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from tests.onnx.files import Sizes
from weighbridge.frontends.file_order import check_order, in_turn, ordered_by
from weighbridge.frontends.onnx_reordered import OnnxList, onnx_list

onnxruntime.set_default_logger_severity(4)


def shuffled(listed: OnnxList, seed: int) -> tuple[int, ...]:
    """An order that the file can have, by times drawn for some of its nodes."""
    r = random.Random(seed)
    times = {place: r.random() for place in range(len(listed.order)) if r.random() < 0.8}
    order = ordered_by(times, in_turn(listed.before, listed.order, listed.effects))
    check_order(order, listed.before)
    return order


def rewritten(path: Path, order: tuple[int, ...], to: Path) -> Path:
    source = path.read_bytes()
    pieces = onnx_list(path).rewritten(order).pieces
    to.write_bytes(b"".join(one if isinstance(one, bytes) else source[slice(*one)] for one in pieces))
    return to


def fed(session: onnxruntime.InferenceSession, sizes: Sizes) -> dict[str, Any] | None:
    """Numbers for every input; None where one is of another kind."""
    made = {}
    numbers = np.random.default_rng(1)
    for one in session.get_inputs():
        shape = sizes.inputs.get(one.name) or [
            size if isinstance(size, int) else sizes.dims.get(size, 1) for size in one.shape
        ]
        if one.type in ("tensor(float)", "tensor(double)", "tensor(float16)"):
            kind = {"tensor(float)": np.float32, "tensor(double)": np.float64}.get(one.type, np.float16)
            made[one.name] = numbers.standard_normal(shape).astype(kind)
        elif one.type in ("tensor(int64)", "tensor(int32)", "tensor(uint8)", "tensor(int8)"):
            kind = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8}.get(
                one.type, np.int8
            )
            made[one.name] = numbers.integers(0, 2, shape).astype(kind)
        elif one.type == "tensor(bool)":
            made[one.name] = numbers.integers(0, 2, shape).astype(bool)
        else:
            return None
    return made


def executed(path: Path, sizes: Sizes = Sizes()) -> list[Any] | None:  # noqa: B008
    """What the file computes, node by node as it stands there; None where ONNX Runtime does not run it."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.execution_order = onnxruntime.ExecutionOrder.PRIORITY_BASED
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        given = fed(session, sizes)
        return None if given is None else session.run(None, given)
    except Exception:  # what ONNX Runtime raises has no base of its own
        return None


def is_equal(found: list[Any] | None, wanted: list[Any]) -> bool:
    try:
        np.testing.assert_equal(found, wanted)
    except AssertionError:
        return False
    return True
