"""Part 03 of the source material: activations, as far as they are counted."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise

import weighbridge
from tests.estimates.demands import device, memory
from tests.lecture.entries import check, node, profile, rounds_to, weigh
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.report import markdown
from weighbridge.report.terminal import Look, text
from weighbridge.report.view import page


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


@check("imagenet_on_mcu", "rule")
def _(_rule):
    """The policy by which both networks have the source's figures: no pool and no addition counts."""
    peaks = weigh("resnet18", precision="int8").memory.peak_bytes
    assert peaks["held_contractions"] < peaks["held"]


@check("imagenet_on_mcu", "mobilenetv2_peak_B")
def _(value):
    for width in ("1.0", "0.75"):
        memory = weigh(f"mobilenet_v2:width={width}", precision="int8").memory
        assert memory.peak_bytes["held_contractions"] == value
        assert memory.peak_node["held_contractions"] == "block2.depthwise.conv"


@check("imagenet_on_mcu", "ratio")
def _(value):
    small, large = (weigh(name, precision="int8").memory for name in ("mobilenet_v2:width=0.75", "resnet18"))
    assert rounds_to(Fraction(small.peak_bytes["held_contractions"], large.peak_bytes["held_contractions"]), value)


@check("imagenet_on_mcu", "over_320_kB")
def _(value):
    peak = weigh("mobilenet_v2", precision="int8").memory.peak_bytes["held_contractions"]
    assert rounds_to(Fraction(peak, 320_000), value["decimal"])
    assert rounds_to(Fraction(peak, 320 * 1024), value["binary"])


@check("imagenet_on_mcu", "what")
def _(_what):
    """The model with fewer parameters has the larger peak, and neither fits the board."""
    small = weigh("mobilenet_v2:width=0.75", precision="int8", on="stm32f746")
    large = weigh("resnet18", precision="int8", on="stm32f746")
    assert small.facts.parameters < large.facts.parameters
    assert small.memory.peak_bytes["live"] > large.memory.peak_bytes["live"]
    assert small.on[0].fit.verdict == large.on[0].fit.verdict == "does not fit"


@check("imagenet_on_mcu", "mcunet_peak")
def _(text):
    """By the same rule as the two larger networks; in binary units, as the source writes 0.909 MiB as 0.9."""
    peak_mb, board_kb = map(Fraction, re.fullmatch(r"below ([\d.]+) MB: fits a (\d+) kB board", text).groups())
    report = weigh("mcunet_in4", precision="int8", on="stm32h743")
    assert report.memory.peak_bytes["held_contractions"] < peak_mb * 2**20
    (region,) = (one for one in report.on[0].fit.regions if "activations" in one.holds)
    assert (region.verdict, region.bytes) == ("fits", board_kb * 1024)


@check("imagenet_on_mcu", "resnet18_weights_MB")
def _(value):
    """The label counts the weights of the convolutions, one byte each: 11,166,912."""
    layers = [one for one in weigh("resnet18", precision="int8").nodes if one.operator == "conv"]
    assert rounds_to(Fraction(sum(one.weights for one in layers), 10**6), value)


@check("boards", "sram_budget_kB")
def _(value):
    """A budget of 256 kB of SRAM: what the five first blocks of MobileNetV2 exceed, and all others keep."""
    over = [size for size in by_block() if size > 1024 * value]
    assert len(over) == 5
    board = device(memory("SRAM", "activations", 1024 * value))
    for name, verdict in (("mobilenet_v2", "does not fit"), ("lenet5", "fits")):
        (region,) = weigh(name, precision="int8", on=board).on[0].fit.regions
        assert region.verdict == verdict


@check("boards", "big_mcu_sram_kB")
def _(value):
    """The catalogue has boards whose largest region has that much."""
    regions = [one for on in weigh("lenet5", precision="int8", on="mcu").on for one in on.fit.regions]
    assert 1024 * value in {region.bytes for region in regions if "activations" in region.holds}


@check("mobilenetv2_blocks", "stem_values")
def _(value):
    assert profile(weigh("mobilenet_v2", precision="int8"))["stem.conv"] == value


def by_block() -> list[int]:
    """The most that a node of each block of MobileNetV2 needs in 8 bits, depthwise layers in place; the stem is block 0."""
    needs = profile(weigh("mobilenet_v2", precision="int8"), "pair_in_place")
    blocks = ("stem", *(f"block{index}" for index in range(1, 18)))
    return [max(size for name, size in needs.items() if name.startswith(f"{block}.")) for block in blocks]


@check("mobilenetv2_blocks", "KiB")
def _(value):
    assert by_block() == [1024 * size for size in value]


@check("mobilenetv2_blocks", "over_256_KiB")
def _(value):
    assert [size > 256 * 1024 for size in by_block()] == [index < value for index in range(18)]


@check("mobilenetv2_blocks", "block2_B")
def _(value):
    memory = weigh("mobilenet_v2", precision="int8").memory
    assert by_block()[2] == memory.peak_bytes["pair_in_place"] == value


@check("in_place_depthwise", "what")
def _(_what):
    """N + 1 channels in place of 2 N; the second block's layer has stride 1: N channels of 112 x 112 B, in and out."""
    plain, less = (
        profile(weigh("mobilenet_v2", precision="int8"), policy)["block1.depthwise.conv"]
        for policy in ("pair", "pair_in_place")
    )
    assert (plain, less) == (2 * 32 * 112 * 112, (32 + 1) * 112 * 112)


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
    fall, growth = map(int, re.findall(r"about (\d+)x a stage", what))
    layers = [node("resnet18", f"layer{stage}.1.conv2") for stage in (1, 2, 3, 4)]
    for before, after in pairwise(layers):
        assert math.prod(before.output) == fall * math.prod(after.output)
        assert after.weights == growth * before.weights


SAID = (
    ("layer by layer", "no two in flight"),
    ("weights", "streamed from flash", "not counted"),
    ("branches", "alive are added a shared input once"),
    ("in place",),
    ("real runtimes", "need", "scratch", "im2col accumulators"),
)
"""What the entry says in each of its points and the page says too."""


def plain(text: str) -> str:
    """The words alone."""
    return " ".join(re.sub(r"[\W_]+", " ", text).split())


@check("peak_assumptions", "what")
def _(what):
    """Beside the peaks of a network with branches, and of one operator, on pages of any width."""
    points = what.partition(": ")[2]
    builder = Builder("one")
    (y,) = builder.add("relu", [("x", builder.input("x", (4,), DTYPES["float32"]))])
    pages = [page(report) for report in (weigh("resnet18"), weighbridge.weigh(builder.graph([y])))]
    texts = [text(shown, Look(width)) for shown in pages for width in (60, 80, 100)] + [*map(markdown.render, pages)]
    for point, parts in zip(points.split("; "), SAID, strict=True):
        for part in parts:
            assert all(part in plain(place) for place in (point, *texts))


@check("boards", "stm32f746")
def _(value):
    report = weigh("alexnet", on="stm32f746")
    sizes = {region.holds: region.bytes for region in report.on[0].fit.regions}
    assert sizes == {("weights",): value["flash_B"], ("activations",): value["sram_B"]}


@check("training_memory", "resnet50_parameters_MB", "mobilenetv2_1_4_parameters_MB")
def _(value, key):
    spec = "resnet50" if key.startswith("resnet50") else "mobilenet_v2:width=1.4"
    assert Decimal(weigh(spec, batch=8).facts.parameter_bytes) / 10**6 == value


def training(spec, **options):
    return weigh(spec, batch=8, train="sgd").memory.training if not options else update_of(spec, **options)


@cache
def update_of(spec, update):
    return weighbridge.weigh(spec, batch=8, train={"optimiser": "sgd", "update": update}).memory.training


MODELS = {"resnet50": "resnet50", "mobilenetv2_1_4": "mobilenet_v2:width=1.4"}


@check("training_memory", "resnet50_saved_MB", "mobilenetv2_1_4_saved_MB")
def _(value, key):
    assert Decimal(training(MODELS[key.removesuffix("_saved_MB")]).saved_bytes) / 10**6 == value


@check("training_memory", "mobilenetv2_1_4_peak_MB")
def _(value):
    found = training("mobilenet_v2:width=1.4")
    assert Decimal(found.peak_activation_bytes) / 10**6 == value
    assert found.peak_node == "last.relu6"
    assert training("resnet50").peak_activation_bytes == 712_775_168


@check("training_memory", "resnet50_saved_bias_only_MB", "mobilenetv2_1_4_saved_bias_only_MB")
def _(value, key):
    found = training(MODELS[key.removesuffix("_saved_bias_only_MB")], update="biases")
    assert Decimal(found.saved_bytes) / 10**6 == value


@check("training_memory", "bias_only")
def _(what):
    assert "the saved activations of conv and linear layers vanish" in what
    for spec in MODELS.values():
        kept = {layer.operator for layer in training(spec, update="biases").layers if layer.saved_bytes}
        assert kept <= {"relu", "clip"}


@check("training_memory", "rule")
def _(rule):
    """Word by word, on every layer of both networks."""
    assert "every conv, linear and batch-norm keeps its input (4 B a value), ReLU and ReLU6 keep 1 bit a value" in rule
    for spec in MODELS.values():
        graph = weighbridge.load(spec, batch=8)
        given = {one.name: math.prod(graph.tensors[one.inputs[0]].shape) for one in graph.nodes}
        for layer in training(spec).layers:
            bits = {"conv": 32, "linear": 32, "batch_norm": 32, "relu": 1, "clip": 1}[layer.operator]
            assert layer.saved_bytes * 8 == given[layer.name] * bits
