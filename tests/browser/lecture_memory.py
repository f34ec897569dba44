"""What the lecture says of memory, to run and to train, as the pages show it, literally."""

from __future__ import annotations

from typing import Final

from tests.browser.lecture_shown import Shown, State

__all__ = ["MEMORY"]


MEMORY: Final = (
    State(
        "budgets",
        {"bits": "8"},
        (
            Shown(
                "imagenet_on_mcu.resnet18_peak_B", "resnet18.peak_bytes", "953,344 B = 953.3 kB = 931.0 KiB", "953344"
            ),
            Shown(
                "imagenet_on_mcu.mobilenetv2_peak_B",
                "mobilenet_v2.peak_bytes",
                "1,705,984 B = 1.706 MB = 1.627 MiB",
                "1705984",
            ),
            Shown("imagenet_on_mcu.ratio", "sentence", "which has 1.789 times the peak of ResNet-18", "1.79"),
            Shown("imagenet_on_mcu.mobilenetv2_075_parameters", "mobilenet_v2.parameters", "2,636,424", "2636424"),
            Shown(
                "boards.stm32f746.flash_B", "about resnet18.flash_verdict", "1,048,576 B, flash of stm32f746", "1048576"
            ),
            Shown("boards.stm32f746.sram_B", "about resnet18.sram_verdict", "327,680 B, SRAM of stm32f746", "327680"),
            Shown("boards.sram_budget_kB", "box line_kib", "256", "256"),
            Shown("mobilenetv2_blocks.over_256_KiB", "blocks_over", "5", "5"),
            Shown("mobilenetv2_blocks.block2_B", "most_bytes", "1,404,928 B = 1.405 MB = 1.340 MiB", "1404928"),
        ),
        "?bits=32",
    ),
    State(
        "budgets",
        {"on": "stm32h743"},
        (
            Shown("imagenet_on_mcu.mcunet_peak", "mcunet_in4.peak_bytes", "512,000 B = 512.0 kB = 500.0 KiB", None),
            Shown("imagenet_on_mcu.mcunet_peak", "mcunet_in4.sram_verdict", "fits", None),
        ),
    ),
    State(
        "peak",
        {"step": "1"},
        (Shown("alexnet_totals.activations_peak", "alive_bytes", "440,928 B = 440.9 kB = 430.6 KiB", "440928"),),
        "?step=3",
    ),
    State(
        "peak",
        {"step": "2"},
        (
            Shown("alexnet_totals.activations_at_pool1", "alive_bytes", "360,384 B = 360.4 kB = 351.9 KiB", "360384"),
            Shown("alexnet_totals.activations_peak", "peak_bytes", "440,928 B = 440.9 kB = 430.6 KiB", "440928"),
        ),
    ),
    State(
        "peak",
        {"on": "stm32h743"},
        (Shown("boards.big_mcu_sram_kB", "available_bytes", "524,288 B = 524.3 kB = 512.0 KiB", "512"),),
    ),
    State(
        "peak",
        {"network": "mobilenet_v2", "policy": "pair_in_place"},
        (Shown("mobilenetv2_blocks.stem_values", "alive_bytes", "551,936 B = 551.9 kB = 539.0 KiB", "551936"),),
    ),
    State(
        "peak",
        {"network": "mobilenet_v2", "policy": "pair", "step": "5"},
        (
            Shown(
                "mobilenetv2_blocks.plain_in_plus_out_B", "alive_bytes", "1,505,280 B = 1.505 MB = 1.436 MiB", "1505280"
            ),
        ),
    ),
    State(
        "training",
        {"batch": "8"},
        (
            Shown(
                "training_memory.resnet50_parameters_MB",
                "parameter_bytes",
                "102,228,128 B = 102.2 MB = 97.49 MiB",
                "102.228128",
                "1e6",
            ),
            Shown(
                "training_memory.resnet50_saved_MB",
                "saved_bytes",
                "706,518,528 B = 706.5 MB = 673.8 MiB",
                "706.518528",
                "1e6",
            ),
            Shown("training_memory.rule", "peak_activation_bytes", "712,775,168 B = 712.8 MB = 679.8 MiB", None),
        ),
        "?batch=1",
    ),
    State(
        "training",
        {"network": "mobilenet_v2", "width": "1.4"},
        (
            Shown(
                "training_memory.mobilenetv2_1_4_parameters_MB",
                "parameter_bytes",
                "24,435,104 B = 24.44 MB = 23.30 MiB",
                "24.435104",
                "1e6",
            ),
            Shown(
                "training_memory.mobilenetv2_1_4_saved_MB",
                "saved_bytes",
                "623,518,448 B = 623.5 MB = 594.6 MiB",
                "623.518448",
                "1e6",
            ),
            Shown(
                "training_memory.mobilenetv2_1_4_peak_MB",
                "peak_activation_bytes",
                "626,183,152 B = 626.2 MB = 597.2 MiB",
                "626.183152",
                "1e6",
            ),
        ),
    ),
    State(
        "training",
        {"update": "biases"},
        (
            Shown(
                "training_memory.resnet50_saved_bias_only_MB",
                "saved_bytes",
                "9,608,704 B = 9.609 MB = 9.164 MiB",
                "9.608704",
                "1e6",
            ),
            Shown("training_memory.bias_only", ("conv", "kept, B"), "0", None),
        ),
    ),
    State(
        "training",
        {"network": "mobilenet_v2", "width": "1.4", "update": "biases"},
        (
            Shown(
                "training_memory.mobilenetv2_1_4_saved_bias_only_MB",
                "saved_bytes",
                "8,754,928 B = 8.755 MB = 8.349 MiB",
                "8.754928",
                "1e6",
            ),
        ),
    ),
    State("ucurve", {"layer": "1"}, (Shown("u_curve.conv1_ratio", "outputs_per_weight", "8.333", "8.33"),), "?layer=2"),
    State(
        "ucurve",
        {"layer": "3"},
        (Shown("u_curve.conv3_ratio", "sentence", "conv3 has 13.63 times more weights than outputs", "13.6"),),
    ),
    State(
        "peak",
        {"network": "mobilenet_v2", "policy": "pair_in_place", "step": "2"},
        (
            # A depthwise layer of 32 channels of 112 x 112: 33 of them, not 64.
            Shown("in_place_depthwise.what", "alive_bytes", "413,952 B = 414.0 kB = 404.3 KiB", None),
            Shown("in_place_depthwise.what", "node", "block1.depthwise.conv", None),
        ),
    ),
)
