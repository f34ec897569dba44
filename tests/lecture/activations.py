"""Part 03 of the source material: activations, as far as they are counted."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from tests.lecture.entries import check, node, profile, rounds_to, weigh


@check("imagenet_on_mcu", "mobilenetv2_075_parameters")
def _(value):
    assert weigh("mobilenet_v2:width=0.75").facts.parameters == value


@check("imagenet_on_mcu", "resnet18_peak_B")
def _(value):
    """The first convolution in and out; over all nodes the max-pool sets the peak, as the entry's remark says."""
    report = weigh("resnet18", precision="int8")
    assert profile(report)["conv1"] == value
    contractions = {one.name for one in report.nodes if one.kind == "contraction"}
    assert max(size for name, size in profile(report).items() if name in contractions) == value
    assert report.memory.peak_node["pair"] == "maxpool"


@check("imagenet_on_mcu", "what")
def _(what):
    """The model with fewer parameters has the larger peak, and neither fits the board."""
    assert "the smaller model has the larger peak; neither fits" in what
    small = weigh("mobilenet_v2:width=0.75", precision="int8", on="stm32f746")
    large = weigh("resnet18", precision="int8", on="stm32f746")
    assert small.facts.parameters < large.facts.parameters
    assert small.memory.peak_bytes["live"] > large.memory.peak_bytes["live"]
    assert small.on[0].fit.verdict == large.on[0].fit.verdict == "does not fit"


@check("mobilenetv2_blocks", "stem_values")
def _(value):
    assert profile(weigh("mobilenet_v2", precision="int8"))["stem.conv"] == value


@check("mobilenetv2_blocks", "plain_in_plus_out_B")
def _(value):
    memory = weigh("mobilenet_v2", precision="int8").memory
    assert memory.peak_bytes["pair"] == value
    assert memory.peak_node["pair"] == "block2.depthwise.conv"


@check("u_curve", "conv1_ratio", "conv3_ratio")
def _(value, key):
    layer = node("alexnet", key.removesuffix("_ratio"))
    ratio = Fraction(math.prod(layer.output), layer.weights)
    assert rounds_to(ratio if key == "conv1_ratio" else 1 / ratio, value)


@check("u_curve", "what")
def _(what):
    """Stage by stage of a ResNet, counted at the second convolution of each second block."""
    assert what.startswith("per layer: activations fall about 2x a stage, weights grow about 4x a stage")
    layers = [node("resnet18", f"layer{stage}.1.conv2") for stage in (1, 2, 3, 4)]
    for before, after in pairwise(layers):
        assert math.prod(before.output) == 2 * math.prod(after.output)
        assert after.weights == 4 * before.weights


@check("boards", "stm32f746")
def _(value):
    report = weigh("alexnet", on="stm32f746")
    sizes = {region.holds: region.bytes for region in report.on[0].fit.regions}
    assert sizes == {("weights",): value["flash_B"], ("activations",): value["sram_B"]}


@check("training_memory", "resnet50_parameters_MB", "mobilenetv2_1_4_parameters_MB")
def _(value, key):
    spec = "resnet50" if key.startswith("resnet50") else "mobilenet_v2:width=1.4"
    assert Decimal(weigh(spec, batch=8).facts.parameter_bytes) / 10**6 == value
