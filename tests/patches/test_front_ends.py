"""The same network has the same patches, whichever format it is written in; PyTorch's are in tests/torch."""

from __future__ import annotations

from tests.patches.front_ends import as_onnx, as_tflite, figures
from weighbridge import weigh


def test_onnx_and_tflite_have_the_same_patches() -> None:
    onnx, tflite = figures(as_onnx()), figures(as_tflite())
    assert onnx == tflite
    # 17 rows of which the first patch has 5, of 10 upsampled ones: 5 of the stem with one more for the depthwise layer, of 12 of x
    assert onnx["patches"][0][:4] == ((0, 5), (0, 8), (0, 12), (0, 18))


def test_macs_are_those_of_the_weighing() -> None:
    for graph in (as_onnx(), as_tflite()):
        assert figures(graph)["macs"][3] == weigh(graph).facts.macs
