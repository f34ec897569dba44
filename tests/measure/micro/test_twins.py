"""Single operators in PyTorch put out what the ONNX file of the same spec does in ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")

import torch

from weighbridge.measure.micro.onnx_file import written
from weighbridge.measure.micro.orders import operator_by_name, product_by_name
from weighbridge.measure.micro.record import Spec
from weighbridge.measure.micro.specs import SPECS
from weighbridge.measure.micro.twins import single, twin
from weighbridge.measure.micro.values import inputs, picked
from weighbridge.measure.runners.filled import filled
from weighbridge.measure.runners.with_torch import ready


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_both_put_out_the_same(spec: Spec, tmp_path: Path) -> None:
    files = picked(spec, tmp_path)
    given = {name: filled(name, *one, files)[0] for name, one in inputs(spec).items()}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(written(spec, tmp_path)), options, providers=["CPUExecutionProvider"])
    (theirs,) = session.run(None, given)
    with torch.inference_mode():
        ours = twin(spec)(*(torch.from_numpy(one) for one in given.values())).numpy()
    if spec.operators == "recurrence":
        theirs = theirs[:, 0]  # of the one direction
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() <= 1e-4 * np.abs(theirs).max()
    assert 1e-4 < np.abs(theirs).max() < 1e6  # neither denormal nor infinite at the end of a chain


@pytest.mark.parametrize("name", ["lookup, 16 of 1024 rows of 64", "Add, 1x64, 8 in a row"])
def test_the_runner_of_pytorch_runs_an_operator_by_name(name: str, tmp_path: Path) -> None:
    spec = next(one for one in SPECS if one.name == name)
    runner = ready(operator_by_name(spec, 1, inputs(spec), picked(spec, tmp_path)))
    assert runner.about.mode == "eager"
    assert [one.shape for one in runner.about.inputs] == [spec.shape, *spec.others]
    assert len(runner.samples(3, 2)) == 3


@pytest.mark.parametrize("precision", ["float64", "float32", "bfloat16", "int8"])
def test_products_are_computed_in_their_precision(precision: str) -> None:
    runner = ready(product_by_name(precision, 32, 1))
    assert {one.dtype for one in runner.about.inputs} == {precision}


def test_what_is_no_operator_is_none() -> None:
    assert single("torchvision:resnet18") is None
    assert single("operator:nothing of that name") is None
