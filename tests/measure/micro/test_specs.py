"""Single operators: of every class that takes time, and what is weighed of each file is what the spec says."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

pytest.importorskip("onnx")

import onnx

from weighbridge.api import load, node_works_of
from weighbridge.estimates.class_work import class_work
from weighbridge.measure.micro.onnx_file import PRODUCTS, product_written, written
from weighbridge.measure.micro.record import Spec
from weighbridge.measure.micro.specs import SPECS
from weighbridge.measure.micro.values import picked, weights
from weighbridge.operators.time_class import TIME_CLASSES

CHAINS = [spec for spec in SPECS if spec.chain > 1]


def macs(spec: Spec) -> int:
    """Of the whole chain, by the textbook."""
    if spec.operator == "Conv":
        made, taken, *kernel = spec.weights[0]
        (stride, _), size, done = spec.attributes["strides"], spec.shape[-1], 0  # type: ignore[misc]
        for _ in range(spec.chain):
            size = -(-size // stride)
            done += size * size * made * taken * prod(kernel)
        return done
    if spec.operator in ("LSTM", "GRU"):
        steps, batch, _ = spec.shape
        return steps * batch * sum(prod(one) for one in spec.weights[:2])
    if spec.operator == "Gemm":
        return spec.chain * spec.shape[0] * prod(spec.weights[0])
    if spec.operator == "MatMul":
        columns = (spec.weights or spec.others)[0][-1]
        return spec.chain * prod(spec.shape) * columns
    if spec.operator == "Attention":
        return spec.chain * 2 * prod(spec.shape) * spec.shape[2]
    return 0


def test_every_class_that_takes_time_has_some_and_all_have_names_of_their_own() -> None:
    assert {spec.operators for spec in SPECS} == set(TIME_CLASSES) - {"other"}
    assert len({spec.name for spec in SPECS}) == len(SPECS)


@pytest.mark.parametrize("operators", sorted({spec.operators for spec in SPECS}))
def test_a_class_has_what_is_tiny_and_what_is_not(operators: str) -> None:
    values = sorted(
        prod(spec.shape) + sum(prod(one) for one in spec.weights) for spec in SPECS if spec.operators == operators
    )
    assert values[0] < 4_000
    assert values[-1] > 100_000
    assert len(values) >= 4


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_what_is_weighed_of_the_file_is_what_the_spec_says(spec: Spec, tmp_path: Path) -> None:
    graph = load(written(spec, tmp_path))
    for fuses in (False, True):
        (work,) = class_work(node_works_of(graph, fuses))
        assert (work.operators, work.macs, work.nodes, work.exact) == (spec.operators, macs(spec), spec.chain, True)


@pytest.mark.parametrize("spec", CHAINS, ids=lambda spec: spec.name)
def test_the_runtime_leaves_a_chain_as_long_as_it_is(spec: Spec, tmp_path: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    onnxruntime.InferenceSession(str(written(spec, tmp_path)), options, providers=["CPUExecutionProvider"])
    kinds = [node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node]
    assert kinds.count(spec.operator) == spec.chain


def test_each_of_a_chain_has_weights_of_its_own_and_always_the_same() -> None:
    spec = next(one for one in CHAINS if one.weights)
    (first, *_), (second, *_), *_ = weights(spec)
    assert not np.array_equal(first, second)
    assert np.array_equal(first, weights(spec)[0][0])


def test_rows_are_picked_all_over_the_table(tmp_path: Path) -> None:
    spec = max((one for one in SPECS if one.rows), key=lambda one: one.shape)
    rows = np.load(picked(spec, tmp_path)["x"])
    assert rows.shape == spec.shape
    assert rows.max() > 0.9 * (spec.rows or 0) > 10 * rows.min()
    assert picked(SPECS[0], tmp_path) == {}


@pytest.mark.parametrize("precision", PRODUCTS)
def test_products_are_in_their_precision(precision: str, tmp_path: Path) -> None:
    model = onnx.load(product_written(precision, 8, tmp_path))
    (stored,) = model.graph.initializer
    assert onnx.helper.tensor_dtype_to_np_dtype(stored.data_type) == np.dtype(precision)
    assert tuple(stored.dims) == (8, 8)
