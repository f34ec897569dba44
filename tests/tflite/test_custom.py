"""Custom operators of TensorFlow Lite: those whose name says what they compute, and the reasons of all others."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

from tests.operators.execution import call as asked
from tests.operators.execution import least_of, typed, work_of
from tests.tflite.build import Tensor, one, op, operators, shapes, tensor
from tests.tflite.test_contractions import agrees
from weighbridge import weigh
from weighbridge.errors import BadModel
from weighbridge.graph import UNKNOWN, Graph, Shape


def options(**given: Any) -> bytes:
    return bytes(flexbuffers.Dumps(given))


def custom(name: str, tensors: list[Tensor], inputs: str, outputs: str, given: bytes = b"") -> Graph:
    return one(tensors, op(name, inputs, outputs, custom_options=given))


SAMPLES: Mapping[str, tuple[Shape, Shape, bytes]] = {
    "SignalWindow": ((2, 480), (2, 480), options(shift=12)),
    "SignalDelay": ((2, 480), (2, 480), options(delay_length=7)),
    "SignalRfft": ((2, 480), (2, 514), options(T=7, fft_length=512)),
    "SignalIrfft": ((2, 514), (2, 512), options(T=7, fft_length=512)),
    "SignalEnergy": ((514,), (257,), options(start_index=5, end_index=241)),
    "SignalFilterBankLog": ((40,), (40,), options(input_correction_bits=3, output_scale=64)),
    "SignalOverlapAdd": ((2, 3, 400), (2, 480), options(T=7, frame_step=160)),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_signals_of_one_result(name: str) -> None:
    x, y, given = SAMPLES[name]
    tensors = [tensor("x", x, "INT16"), tensor("window", x[-1:], "INT16", data=True), tensor("y", y, "INT16")]
    inputs = "x window" if name == "SignalWindow" else "x"
    facts = agrees(custom(name, tensors, inputs, "y", given), y).facts
    assert (facts.exact, facts.work_exact, facts.macs) == (True, True, 0)


def test_a_transform_counts_the_butterflies_of_its_length() -> None:
    """256 butterflies for each of 9 doublings, half of them for real values: 10 operations each, 6 add and 4 mul."""
    x, y, given = SAMPLES["SignalRfft"]
    found = custom("SignalRfft", [tensor("x", x, "INT16"), tensor("y", y, "INT16")], "x", "y", given)
    work = weigh(found).facts.work
    assert operators(found) == ["reshape", "fourier_transform", "reshape"]
    assert (work.add, work.mul) == (2 * 256 * 9 * 6 // 2, 2 * 256 * 9 * 4 // 2)
    back = SAMPLES["SignalIrfft"]
    found = custom("SignalIrfft", [tensor("x", back[0], "INT16"), tensor("y", back[1], "INT16")], "x", "y", back[2])
    assert weigh(found).facts.work == work


def test_the_way_of_sound_into_a_network() -> None:
    """A scaled frame, channels of a filter bank, their roots, less the noise, by a gain."""
    scaled = [tensor("x", (480,), "INT16"), tensor("y", (480,), "INT16"), tensor("bits", (), "INT32")]
    agrees(custom("SignalFftAutoScale", scaled, "x", "y bits"), (480,), ())
    bank = [
        tensor("x", (257,), "UINT32"),
        tensor("weights", (20,), "INT16", data=True),
        tensor("rest", (20,), "INT16", data=True),
        tensor("starts", (4,), "INT16", data=(0, 4, 8, 12)),
        tensor("weight_starts", (4,), "INT16", data=(0, 4, 8, 12)),
        tensor("widths", (4,), "INT16", data=(4, 3, 4, 6)),
        tensor("y", (3,), "UINT64"),
    ]
    found = custom("SignalFilterBank", bank, "x weights rest starts weight_starts widths", "y", options(num_channels=3))
    facts = agrees(found, (3,)).facts
    assert (facts.macs, facts.parameters, facts.constant_bytes) == (2 * 17, 0, 2 * 52)
    root = [tensor("x", (3,), "UINT64"), tensor("bits", (), "INT32"), tensor("y", (3,), "UINT32")]
    found = custom("SignalFilterBankSquareRoot", root, "x bits", "y")
    assert agrees(found, (3,)).facts.work.special == 3
    assert found.tensors[found.outputs[0]].dtype.name == "uint32"
    pair = [tensor("x", (3,), "UINT32"), tensor("y", (3,), "UINT32"), tensor("noise", (3,), "UINT32")]
    agrees(custom("SignalFilterBankSpectralSubtraction", pair, "x", "y noise"), (3,), (3,))
    gains = tensor("gains", (125,), "INT16", data=True)
    assert agrees(custom("SignalPCAN", [*pair, gains], "x noise gains", "y", options(snr_shift=6)), (3,)).facts.exact


def test_frames_and_stacks_say_whether_there_were_enough_samples() -> None:
    valid = tensor("valid", (), "BOOL")
    frames = [tensor("x", (1, 320), "INT16"), tensor("y", (1, 2, 400), "INT16"), valid]
    given = options(frame_size=400, frame_step=160, prefill=True)
    agrees(custom("SignalFramer", frames, "x", "y valid", given), (1, 2, 400), ())
    stack = [tensor("x", (40,), "INT16"), tensor("y", (160,), "INT16"), valid]
    given = options(num_channels=40, stacker_left_context=1, stacker_right_context=2, stacker_step=1)
    agrees(custom("SignalStacker", stack, "x", "y valid", given), (160,), ())


@pytest.mark.parametrize("given", [b"", options(other=1), options(fft_length=1.5)])
def test_options_that_are_missing_are_named(given: bytes) -> None:
    tensors = [tensor("x", (480,), "INT16"), tensor("y", (514,), "INT16")]
    found = custom("SignalRfft", tensors, "x", "y", given)
    assert [node.reason for node in found.nodes] == ["SignalRfft lacks its option fft_length"]


def test_damaged_options_are_refused() -> None:
    tensors = [tensor("x", (480,), "INT16"), tensor("y", (514,), "INT16")]
    with pytest.raises(BadModel, match="options of a custom operator"):
        custom("SignalRfft", tensors, "x", "y", b"\xff\x24\x01")


DETECTION = {
    "max_detections": 10,
    "max_classes_per_detection": 2,
    "num_classes": 3,
    "detections_per_class": 100,
    "y_scale": 10.0,
}


@pytest.mark.parametrize("dtype", ["FLOAT32", "UINT8"])
def test_detections_are_decoded_at_least(dtype: str) -> None:
    tensors = [
        tensor("boxes", (1, 6, 4), dtype),
        tensor("scores", (1, 6, 4), dtype),
        tensor("anchors", (6, 4), dtype, data=True),
        *(tensor(f"y{number}", shape) for number, shape in enumerate([(1, 20, 4), (1, 20), (1, 20), (1,)])),
    ]
    found = custom("TFLite_Detection_PostProcess", tensors, "boxes scores anchors", "y0 y1 y2 y3", options(**DETECTION))
    facts = agrees(found, (1, 20, 4), (1, 20), (1, 20), (1,)).facts
    shapes_ = {"boxes": (1, 6, 4), "scores": (1, 6, 4), "anchors": (6, 4)}
    types = {name: typed(shape, dtype.lower()) for name, shape in shapes_.items()}
    assert facts.work == least_of("detections", asked("detections", {"count": 20, "classes": 3}, **types))
    assert (facts.exact, facts.work_exact, facts.parameters) == (True, False, 0)


def window(padding: int, stride: tuple[int, int], kernel: tuple[int, int]) -> bytes:
    """What MediaPipe keeps of a pool, as it lies in memory: width before height, then a function and offsets."""
    return struct.pack("<10i", padding, stride[1], stride[0], kernel[1], kernel[0], 0, 0, 0, 0, 0)


@pytest.mark.parametrize(("padding", "y"), [(1, (1, 4, 3, 2)), (2, (1, 3, 2, 2))])
def test_a_pool_that_tells_where_its_values_came_from(padding: int, y: Shape) -> None:
    tensors = [tensor("x", (1, 8, 9, 2)), tensor("y", y), tensor("places", y)]
    given = window(padding, (2, 3), (3, 4))
    found = custom("MaxPoolingWithArgmax2D", tensors, "x", "y places", given)
    assert agrees(found, y, y).facts.work.compare == 11 * int(np.prod(y))
    assert {found.tensors[name].dtype.name for name in found.outputs} == {"float32"}
    assert operators(custom("MaxPoolingWithArgmax2D", tensors[:2], "x", "y", given)) == ["max_pool"]


@pytest.mark.parametrize(
    ("name", "padding", "y"),
    [
        ("MaxUnpooling2D", 1, (2, 6, 12, 5)),
        ("LiteRtMaxUnpooling2D", 1, (2, 4, 9, 5)),
        ("LiteRtMaxUnpooling2D", 2, (2, 5, 10, 5)),
    ],
)
def test_the_way_back_from_it(name: str, padding: int, y: Shape) -> None:
    tensors = [tensor("x", (2, 2, 3, 5)), tensor("places", (2, 2, 3, 5), "INT32"), tensor("y", y)]
    found = custom(name, tensors, "x places", "y", window(padding, (2, 3), (3, 4)))
    assert agrees(found, y).facts.exact
    assert operators(found) == ["max_unpool"]


@pytest.mark.parametrize(("padding", "y"), [(2, (1, 11, 13, 4)), (1, (1, 9, 13, 4))])
def test_a_transposed_convolution_with_a_bias(padding: int, y: Shape) -> None:
    """As far as every input value reaches; with SAME the smallest map that a convolution of its stride would make the input of."""
    tensors = [
        tensor("x", (1, 5, 5, 3)),
        tensor("w", (4, 3, 1, 3), data=True),
        tensor("b", (4,), data=True),
        tensor("y", y),
    ]
    given = struct.pack("<3i", padding, 3, 2)
    facts = agrees(custom("Convolution2DTransposeBias", tensors, "x w b", "y", given), y).facts
    assert (facts.macs, facts.weights, facts.biases) == (25 * 3 * 4 * 3, 36, 4)


@pytest.mark.parametrize("given", [b"", b"\0" * 8, struct.pack("<3i", 0, 1, 1), struct.pack("<3i", 1, 0, 1)])
@pytest.mark.parametrize("name", ["Convolution2DTransposeBias", "MaxPoolingWithArgmax2D", "MaxUnpooling2D"])
def test_windows_that_are_none_stay_unknown(name: str, given: bytes) -> None:
    given = given + struct.pack("<7i", 1, 1, 0, 0, 0, 0, 0) if len(given) == 12 and name[0] == "M" else given
    tensors = [tensor("x", (1, 5, 5, 3)), tensor("w", (4, 3, 1, 3)), tensor("b", (4,)), tensor("y", (1, 5, 5, 3))]
    assert operators(custom(name, tensors, "x w b" if name[0] == "C" else "x x", "y", given)) == [UNKNOWN]


@pytest.mark.parametrize(
    ("name", "ours", "result"),
    [
        ("FlexAddV2", "add", "FLOAT32"),
        ("FlexMaximum", "max", "FLOAT32"),
        ("FlexSoftplus", "softplus", "FLOAT32"),
        ("FlexIdentity", "identity", "FLOAT32"),
        ("FlexLess", "less", "BOOL"),
        ("FlexLogicalNot", "not", "BOOL"),
        ("FlexCumsum", "cumsum", "FLOAT32"),
        ("FlexStridedSlice", "slice", "FLOAT32"),
    ],
)
def test_operators_of_tensorflow_that_their_name_defines(name: str, ours: str, result: str) -> None:
    x = tensor("x", (4, 5), "BOOL" if ours == "not" else "FLOAT32")
    more = [tensor("z", (4, 5)), tensor("axis", (), "INT32", data=(1,)), tensor("bounds", (2,), "INT32")]
    inputs = {"cumsum": "x axis", "slice": "x bounds bounds bounds", "softplus": "x", "identity": "x", "not": "x"}
    found = custom(name, [x, *more, tensor("y", (4, 5), result)], inputs.get(ours, "x z"), "y")
    facts = agrees(found, (4, 5)).facts
    assert operators(found) == [ours]
    assert found.tensors[found.outputs[0]].dtype.name == result.lower()
    if ours == "softplus":
        assert facts.work == work_of("softplus", asked("softplus", {}, x=(4, 5)))


REASONS = {
    "DISPATCH_OP": "an accelerator",
    "edgetpu-custom-op": "Edge TPU",
    "ethos-u": "Ethos-U",
    "MTKEXT_CONV_2D": "MediaTek",
    "FlexRaggedRange": "an operator of TensorFlow without a rule",
    "FlexConv2D": "an operator of TensorFlow without a rule",
    "MyLayer": "in the program that runs it",
    "Signal": "in the program that runs it",
}


@pytest.mark.parametrize("name", REASONS)
def test_what_nobody_can_count_is_named_with_the_reason(name: str) -> None:
    found = custom(name, [tensor("x", (4, 5)), tensor("y", (4, 5))], "x", "y", b"any bytes")
    (node,) = found.nodes
    assert (node.operator, node.origin, shapes(found)) == (UNKNOWN, f"CUSTOM.{name}", [(4, 5)])
    assert REASONS[name] in node.reason
    facts = weigh(found).facts
    assert not facts.exact
    assert [one.operator for one in facts.uncounted] == [f"CUSTOM.{name}"]
