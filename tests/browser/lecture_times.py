"""The times, rates and energies of the lecture, as the pages show them, literally."""

from __future__ import annotations

from typing import Final

from tests.browser.lecture_shown import Shown, State

__all__ = ["TIMES"]


TIMES: Final = (
    State(
        "latency", {"batch": "1"}, (Shown("alexnet_totals.flops", "ops", "1,448,813,632", "1448813632"),), "?batch=2"
    ),
    State(
        "street",
        {"fps": "30"},
        (
            Shown("latency.frame_ms", "deadline_s", "33.33 ms", "33.3"),
            Shown("latency.segformer_b5_ms", "one.latency_s", "638 ms", "638"),
            Shown("latency.frames_missed.segformer_b5", "one.frames_missed", "19", "19"),
            Shown("latency.segformer_b5_gmacs", "one.macs", "1.460 T", "1460", "0.001"),
            Shown("latency.efficientvit_l1_ms", "other.latency_s", "45.9 ms", "45.9"),
            Shown("latency.frames_missed.efficientvit_l1", "other.frames_missed", "1", "1"),
            Shown("latency.efficientvit_l1_gmacs", "other.macs", "282.0 G", "282"),
            Shown("latency.latency_ratio", "sentence", "is 13.90 times that of EfficientViT-L1", "13.9"),
            Shown("latency.conditions_of_these", "one.hardware", "Jetson AGX Orin", None),
            Shown("latency.conditions_of_these", "one.runtime", "TensorRT", None),
            Shown("latency.conditions_of_these", "one.precision", "fp16", None),
            Shown("latency.conditions_of_these", "one.batch", "1", None),
        ),
        "?fps=60",
    ),
    State(
        "street",
        {"one": "efficientvit_b1_orin", "other": "efficientvit_b1_nano"},
        (
            Shown("latency.same_model_two_boards_ms.efficientvit_b1[0]", "one.latency_s", "24.3 ms", "24.3"),
            Shown("latency.same_model_two_boards_ms.efficientvit_b1[1]", "other.latency_s", "820 ms", "820"),
        ),
    ),
    State(
        "street",
        {"one": "segformer_b1_orin", "other": "segformer_b1_nano"},
        (
            Shown("latency.same_model_two_boards_ms.segformer_b1[0]", "one.latency_s", "146 ms", "146"),
            Shown("latency.same_model_two_boards_ms.segformer_b1[1]", "other.latency_s", "5,600 ms", "5600"),
        ),
    ),
    State(
        "street",
        {"one": "i3d", "other": "tsm_8f_batch_16"},
        (
            Shown("throughput.i3d.throughput_per_s", "one.throughput_per_s", "6.1 a second", "6.1"),
            Shown("throughput.i3d.gflops", "one.flops", "306.0 G", "306"),
            Shown("throughput.tsm_8f.throughput_per_s_batch_16", "other.throughput_per_s", "77.4 a second", "77.4"),
            Shown("throughput.tsm_8f_gflops", "other.flops", "33.00 G", "33"),
        ),
    ),
    State(
        "street",
        {"one": "tsm_8f"},
        (Shown("throughput.tsm_8f.latency_ms_batch_1", "one.latency_s", "17.4 ms", "17.4"),),
    ),
    State(
        "designs",
        {"one_ms": "50", "other_ms": "100"},
        (
            Shown("throughput.design_1.batch", "box one_batch", "1", "1"),
            Shown("throughput.design_1.latency_ms", "one.latency_s", "50.00 ms", "50"),
            Shown("throughput.design_1.throughput_per_s", "one.throughput_per_s", "20.00 a second", "20"),
            Shown("throughput.design_2.batch", "box other_batch", "4", "4"),
            Shown("throughput.design_2.latency_ms", "other.latency_s", "100.0 ms", "100"),
            Shown("throughput.design_2.throughput_per_s", "other.throughput_per_s", "40.00 a second", "40"),
        ),
        "?one_ms=7&other_ms=7",
    ),
    State(
        "designs",
        {"one_ms": "2", "other_batch": "32", "other_ms": "8"},
        (
            Shown("throughput.server_1.batch", "box one_batch", "1", "1"),
            Shown("throughput.server_1.latency_ms", "one.latency_s", "2.000 ms", "2"),
            Shown("throughput.server_1.throughput_per_s", "one.throughput_per_s", "500.0 a second", "500"),
            Shown("throughput.server_32.batch", "box other_batch", "32", "32"),
            Shown("throughput.server_32.latency_ms", "other.latency_s", "8.000 ms", "8"),
            Shown("throughput.server_32.throughput_per_s", "other.throughput_per_s", "4,000 a second", "4000"),
        ),
    ),
    State(
        "designs",
        {"one_ms": "17.4"},
        (Shown("throughput.tsm_8f.reciprocal_per_s", "one.throughput_per_s", "57.47 a second", "57.5"),),
    ),
    State(
        "energies",
        {"over": "32-bits-from-dram", "under": "multiply-int32"},
        (
            Shown("energy_45nm_0V9.ratios.dram_over_int_multiply", "ratio", "~206.5 times", "206.5"),
            Shown("energy_45nm_0V9.int32_add", "add-int32", "0.1 pJ", "0.1"),
            Shown("energy_45nm_0V9.float32_add", "add-float32", "0.9 pJ", "0.9"),
            Shown("energy_45nm_0V9.int32_multiply", "multiply-int32", "3.1 pJ", "3.1"),
            Shown("energy_45nm_0V9.float32_multiply", "multiply-float32", "3.7 pJ", "3.7"),
            Shown("energy_45nm_0V9.sram_32KB_read_32bit", "32-bits-from-sram", "~5 pJ", "5"),
            Shown("energy_45nm_0V9.dram_read_32bit", "32-bits-from-dram", "~640 pJ", "640"),
            Shown("energy_45nm_0V9.register_file_32bit", "32-bits-from-register-file", "~1 pJ", "1"),
            Shown("energy_45nm_0V9.mac_pJ.float32", "multiply-accumulate-float32", "4.6 pJ", "4.6"),
            Shown("energy_45nm_0V9.mac_pJ.int32", "multiply-accumulate-int32", "3.2 pJ", "3.2"),
        ),
        "?over=add-int32&under=add-float32",
    ),
    State(
        "energies",
        {"under": "32-bits-from-sram"},
        (Shown("energy_45nm_0V9.ratios.dram_over_sram", "ratio", "~128.0 times", "128"),),
    ),
    State(
        "energies",
        {"over": "add-float32", "under": "add-int32"},
        (Shown("energy_45nm_0V9.ratios.float_add_over_int_add", "ratio", "9.000 times", "9"),),
    ),
    State(
        "energies",
        {"under": "add-int32"},
        (Shown("energy_45nm_0V9.ratios.dram_over_int_add", "ratio", "~6,400 times", "6400"),),
    ),
    State(
        "bill",
        {"batch": "1"},
        (
            Shown("energy_45nm_0V9.alexnet_float32_mJ.arithmetic", "arithmetic_j", "3.3323 mJ", "3.332"),
            Shown("energy_45nm_0V9.alexnet_float32_mJ.weights_dram", "weights_j", "39.011 mJ", "39.011"),
            Shown("energy_45nm_0V9.alexnet_float32_mJ.activations_dram", "activations_j", "596.65 µJ", "0.597", "1000"),
        ),
        "?batch=2",
    ),
    State(
        "bill",
        {"from_sram": "1"},
        (Shown("energy_45nm_0V9.alexnet_float32_mJ.everything_from_sram", "moved_j", "309.43 µJ", "0.309", "1000"),),
    ),
    State(
        "latency",
        {"network": "alexnet"},
        (
            Shown("latency.model", "one.compute_s", "~34.08 µs", None),
            Shown("latency.model", "one.memory_s", "~596.9 µs", None),
            Shown("latency.model", "one.floor_s", "~596.9 µs", None),
            Shown("latency.model", "one.bound", "memory", None),
        ),
        "?network=resnet50",
    ),
    State(
        "dozen",
        {"precision": "int8"},
        (
            Shown("rates.what", "ops", "1,448,813,632", None),
            Shown("rates.what", "a100.floor_s", "29.98 µs", None),
            Shown("rates.what", "stm32f746.floor_s", "~1.676 s", None),
        ),
        "?precision=float16",
    ),
    State(
        "bill",
        {"capacity_mah": "2000", "voltage_v": "3.7"},
        (
            Shown("charge.what", "charge_mah", "0.003224 mAh", None),
            Shown("charge.what", "inferences", "620,402", None),
        ),
        "?capacity_mah=1000&voltage_v=5",
    ),
)
