"""The precision that a network is run in, read from real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.measure.orders import onnx_file
from weighbridge.api import load
from weighbridge.run_precision import precision_of_run


@pytest.mark.parametrize(
    ("file", "precision"),
    [
        ("tflite/mlperf_tiny/vww_96_int8.tflite", "int8"),
        ("tflite/mlperf_tiny/model_ToyCar_quant_fullint.tflite", "int8"),
        ("tflite/mlperf_tiny/pretrainedResnet.tflite", "float32"),
        ("onnx/real_models/pretrainedResnet.onnx", "float32"),
        ("onnx/real_models/QuantizedMLP__model.onnx", "int8"),
        ("onnx/ort_odd/qdq_convs~1.onnx", "int8"),
        ("onnx/real_models/gemm_256_8192_2048.onnx", "bfloat16"),
    ],
)
def test_it_is_what_all_products_are_of(shared: Path, file: str, precision: str) -> None:
    assert precision_of_run(load(shared / "data" / file)) == (precision, "")


def test_where_there_are_several_they_are_named_with_their_shares(shared: Path) -> None:
    """A residual network whose last layer stays in floating point."""
    found, note = precision_of_run(load(shared / "data" / "onnx" / "real_models" / "models__resnet.onnx"))
    assert found is None
    assert note == "its multiply-accumulates are of several precisions: int8 (over 99.9%), float32 (under 0.1%)"


def test_where_nothing_is_multiplied_there_is_none(shared: Path) -> None:
    found, note = precision_of_run(
        load(shared / "data" / "onnx" / "real_models" / "dx_preprocessor_efficient_net.onnx")
    )
    assert found is None
    assert note.startswith("nothing in it is a multiply-accumulate")


def test_of_a_small_file(tmp_path: Path) -> None:
    assert precision_of_run(load(onnx_file(tmp_path / "a.onnx"))) == ("float32", "")
