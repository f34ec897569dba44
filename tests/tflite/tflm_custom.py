"""Small graphs of the custom operators that TensorFlow Lite Micro has kernels for, for the tests of its arena."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flatbuffers import flexbuffers

from tests.tflite.tflm_cases import f, one, q, stored
from tests.tflite.tflm_models import Graph, Tensor


def custom(
    op: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], options: Mapping[str, int | float | bool]
) -> Graph:
    """A graph of one custom operator, its options a map."""
    graph = one(op, inputs, outputs)
    return graph._replace(
        operators=[graph.operators[0]._replace(custom_options=bytes(flexbuffers.Dumps(dict(options))))]
    )


def _half(*shape: int) -> Tensor:
    return Tensor(shape, "INT16")


def _word(*shape: int) -> Tensor:
    return Tensor(shape, "UINT32")


def _custom() -> dict[str, Graph]:
    short, wide = {"T": 7, "fft_length": 64}, {"fft_length": 64}
    boxes = {
        "max_detections": 5,
        "max_classes_per_detection": 1,
        "num_classes": 7,
        "nms_score_threshold": 0.5,
        "nms_iou_threshold": 0.5,
        "y_scale": 10.0,
        "x_scale": 10.0,
        "h_scale": 5.0,
        "w_scale": 5.0,
        "detections_per_class": 3,
        "use_regular_nms": False,
    }
    return {
        "TFLite_Detection_PostProcess": custom(
            "TFLite_Detection_PostProcess",
            [f(1, 60, 4), f(1, 60, 8), stored([60, 4])],
            [f(1, 5, 4), f(1, 5), f(1, 5), f(1)],
            boxes,
        ),
        "SignalRfft int16": custom("SignalRfft", [_half(60)], [_half(66)], short),
        "SignalRfft int32": custom("SignalRfft", [Tensor([60], "INT32")], [Tensor([66], "INT32")], {"T": 2, **wide}),
        "SignalRfft float": custom("SignalRfft", [f(60)], [f(66)], {"T": 0, **wide}),
        "SignalIrfft int16": custom("SignalIrfft", [_half(66)], [_half(64)], short),
        "SignalIrfft float": custom("SignalIrfft", [f(66)], [f(64)], {"T": 0, **wide}),
        "SignalWindow": custom("SignalWindow", [_half(3, 60), _half(60)], [_half(3, 60)], {"shift": 12}),
        "SignalFftAutoScale": custom("SignalFftAutoScale", [_half(60)], [_half(60), Tensor([], "INT32")], {"x": 1}),
        "SignalEnergy": custom("SignalEnergy", [_half(66)], [_word(33)], {"start_index": 2, "end_index": 30}),
        "SignalFilterBankLog": custom(
            "SignalFilterBankLog", [_word(40)], [_half(40)], {"input_correction_bits": 3, "output_scale": 64}
        ),
        "SignalFilterBank": custom(
            "SignalFilterBank",
            [_word(33), *[Tensor([20], "INT16", data=True)] * 2, *[Tensor([11], "INT16", data=True)] * 3],
            [Tensor([10], "UINT64")],
            {"num_channels": 10},
        ),
        "SignalFilterBankSquareRoot": custom(
            "SignalFilterBankSquareRoot", [Tensor([40], "UINT64"), Tensor([], "INT32")], [_word(40)], {"x": 1}
        ),
        "SignalFilterBankSpectralSubtraction": custom(
            "SignalFilterBankSpectralSubtraction",
            [_word(40)],
            [_word(40), _word(40)],
            {
                "alternate_one_minus_smoothing": 1,
                "alternate_smoothing": 1,
                "clamping": False,
                "min_signal_remaining": 1,
                "num_channels": 40,
                "one_minus_smoothing": 1,
                "smoothing": 1,
                "smoothing_bits": 1,
                "spectral_subtraction_bits": 1,
            },
        ),
        "SignalPCAN": custom("SignalPCAN", [_word(40), _word(40), _half(125)], [_word(40)], {"snr_shift": 6}),
        "SignalDelay": custom("SignalDelay", [_half(3, 60)], [_half(3, 60)], {"delay_length": 7}),
        "SignalFramer": custom(
            "SignalFramer",
            [_half(3, 20)],
            [_half(3, 2, 30), Tensor([], "BOOL")],
            {"frame_size": 30, "frame_step": 10, "prefill": True},
        ),
        "SignalStacker": custom(
            "SignalStacker",
            [_half(40)],
            [_half(160), Tensor([], "BOOL")],
            {"num_channels": 40, "stacker_left_context": 2, "stacker_right_context": 1, "stacker_step": 3},
        ),
        "SignalOverlapAdd int16": custom(
            "SignalOverlapAdd", [_half(3, 4, 30)], [_half(3, 40)], {"T": 7, "frame_step": 10}
        ),
        "SignalOverlapAdd float": custom("SignalOverlapAdd", [f(3, 4, 30)], [f(3, 40)], {"T": 0, "frame_step": 10}),
        "CIRCULAR_BUFFER": custom("CIRCULAR_BUFFER", [q([1, 1, 1, 8])], [q([1, 4, 1, 8])], {"cycles_max": 2}),
    }


CUSTOM: Mapping[str, Graph] = _custom()
