"""Values of TensorFlow Lite files against the bytes that the generated reader finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tflite

import weighbridge
from weighbridge.errors import WeighbridgeError
from weighbridge.frontends.from_tflite import load_stored
from weighbridge.frontends.weights_tflite import values_of

NUMPY = {
    "float32": "<f4",
    "float16": "<f2",
    "int32": "<i4",
    "uint8": "u1",
    "int64": "<i8",
    "int16": "<i2",
    "int8": "i1",
}


def test_real_files_have_the_values_that_are_stored(shared: Path) -> None:
    checked = 0
    for path in sorted((shared / "data" / "tflite").rglob("*.tflite")):
        found = load_stored(path)
        model = tflite.Model.GetRootAs(path.read_bytes(), 0)
        for name, values in values_of(found).items():
            tensor = found.tensors[name]
            buffer = model.Buffers(tensor.buffer)
            kind = NUMPY.get(tensor.dtype.name)
            if values.read is None or kind is None or not buffer.DataLength():
                continue
            expected = np.frombuffer(buffer.DataAsNumpy().tobytes(), kind)
            read = values.read()
            np.testing.assert_array_equal(read.astype(np.float64), expected[: read.size].astype(np.float64))
            checked += 1
    assert checked > 300


def test_real_files_are_compressed(shared: Path) -> None:
    measured = 0
    for path in sorted((shared / "data" / "tflite").rglob("*.tflite")):
        found = weighbridge.compress(path)
        facts = weighbridge.weigh(path).facts
        assert found.total.weights == facts.weights
        assert found.total.weights + found.total.biases + found.total.other_parameters == facts.parameters
        for layer in found.layers:
            if layer.values.entropy_bits is not None:
                assert layer.values.entropy_bits <= layer.values.huffman_bits
                measured += 1
    assert measured > 100


def test_damaged_files_are_refused(shared: Path) -> None:
    for path in sorted((shared / "data" / "bad_inputs").iterdir()):
        with pytest.raises(WeighbridgeError):
            weighbridge.compress(path)
