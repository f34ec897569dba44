"""Part 02 of the source material: parameters and model size."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

from tests.lecture.entries import check, node, profile, rounds_to, weigh

# 02 parameters


@check("linear_5_to_3", "value")
def _(value):
    assert weigh("linear_5_to_3").facts.weights == value
    assert weigh("linear_5_to_3:batch=64").facts.weights == value
    assert weigh("linear_5_to_3:bias=true").facts.weights == value


@check("alexnet_conv3_weights", "value")
def _(value):
    assert node("alexnet", "conv3").weights == value
    assert node("alexnet:resolution=256", "conv3").weights == value


@check("alexnet_conv3_weights", "what")
def _(what):
    filters, channels, height, width, one_filter = (
        int(text.replace(",", "")) for text in re.findall(r"[\d,]+\d|\d", what)[:5]
    )
    conv3 = node("alexnet", "conv3")
    (product,) = conv3.loops
    assert (product.m, product.k) == (filters, channels * height * width) == (filters, one_filter)


LAYERS = ("conv1", "pool1", "conv2", "pool2", "conv3", "conv4", "conv5", "pool5", "fc6", "fc7", "fc8")


@check("alexnet_layers", *LAYERS)
def _(value, key):
    found = node("alexnet", key)
    assert [found.weights, found.macs, math.prod(found.output)] == value
    assert found.exact


def sums(prefix: str, fact: str) -> int:
    return sum(getattr(one, fact) for one in weigh("alexnet").nodes if one.name.startswith(prefix))


@check("alexnet_totals", "weights", "macs", "flops", "parameters_with_bias")
def _(value, key):
    facts = weigh("alexnet").facts
    assert getattr(facts, {"parameters_with_bias": "parameters"}.get(key, key)) == value
    assert facts.flops == facts.ops == 2 * facts.macs


@check("alexnet_totals", "conv_weights", "conv_macs", "linear_weights", "linear_macs")
def _(value, key):
    kind, _, fact = key.partition("_")
    assert sums({"conv": "conv", "linear": "fc"}[kind], fact) == value


@check("alexnet_totals", "activations_total")
def _(value):
    activations = weigh("alexnet").facts.activations
    assert activations.total == value
    assert activations.total_bytes == 4 * value


@check("alexnet_totals", "activations_peak")
def _(value):
    report = weigh("alexnet")
    assert report.facts.activations.peak["pair"] == value
    assert report.memory.peak_node["pair"] == "conv1"
    assert report.memory.peak_bytes["pair"] == 4 * value
    assert weigh("alexnet", precision="int8").memory.peak_bytes["pair"] == value


@check("alexnet_totals", "activations_at_pool1")
def _(value):
    int8 = weigh("alexnet", precision="int8")
    assert profile(int8)["pool1"] == profile(int8, "live")["pool1"] == value


@check("alexnet_totals", "uses_per_weight")
def _(value):
    for name, uses in value.items():
        assert node("alexnet", name).uses_per_weight == uses
    assert set(value) <= set(LAYERS)


@check("alexnet_totals", "neurons")
def _(value):
    weighted = [one for one in weigh("alexnet").nodes if one.weights]
    assert len(weighted) == 8
    assert sum(math.prod(one.output) for one in weighted) == value


@check("alexnet_totals", "graph")
def _(_value):
    """No response normalisation, no softmax; activation functions fused; a flatten owns no values."""
    report = weigh("alexnet")
    assert {one.operator for one in report.nodes} == {"conv", "max_pool", "flatten", "linear"}
    assert [one.fused for one in report.nodes if one.operator == "conv"] == [("relu",)] * 5
    assert node("alexnet", "flatten").output_bytes == 0


@check("alexnet_totals", "at_256_pixels")
def _(value):
    fc6 = node("alexnet:resolution=256", "fc6")
    assert fc6.weights == value["fc6_weights"]
    assert fc6.loops[0].k == value["fc6_inputs"]


# 02 model size


@check("alexnet_size", "fp32_MB", "int8_MB")
def _(value, key):
    bits = {"fp32_MB": 32, "int8_MB": 8}[key]
    assert Decimal(weigh("alexnet", weight_bits=bits).facts.weight_bytes) / 10**6 == value
    if bits == 32:
        assert weigh("alexnet").facts.weight_bytes == value * 10**6


@check("alexnet_size", "conv3_int8_kB", "conv3_fp32_kB")
def _(value, key):
    # The size of one layer is what setting it to 4 bits saves, as that is a known part of it.
    bits = {"conv3_int8_kB": 8, "conv3_fp32_kB": 32}[key]
    whole = weigh("alexnet", weight_bits=bits).facts.weight_bytes
    saved = whole - weigh("alexnet", weight_bits=("conv3=4", f"rest={bits}")).facts.weight_bytes
    assert Fraction(saved * bits, bits - 4) == Fraction(value) * 1000


@check("alexnet_size", "mixed_first_last_8_rest_4_B", "mixed")
def _(value, key):
    mixed = weigh("alexnet", weight_bits=("first=8", "last=8", "rest=4"))
    widths = {"conv1": 8, "fc8": 8}
    by_hand = sum(one.weights * widths.get(one.name, 4) for one in mixed.nodes)
    assert 8 * mixed.facts.weight_bytes == by_hand
    assert mixed.facts.macs == weigh("alexnet").facts.macs
    if key != "mixed":
        assert mixed.facts.weight_bytes == value


@check("alexnet_size", "flash_ratio")
def _(value):
    report = weigh("alexnet", precision="int8", on="stm32f746")
    flash = next(region for region in report.on[0].fit.regions if region.name == "flash")
    assert flash.verdict == "does not fit"
    assert rounds_to(flash.weight_ratio, value["per_MiB"])
    assert rounds_to(flash.weight_ratio * flash.bytes / 10**6, value["per_MB"])


@check("resolution", "what")
def _(what):
    inputs = int(re.search(r"([\d,]+)\)", what).group(1).replace(",", ""))
    assert node("alexnet", "fc6").loops[0].k == inputs
    for resolution in (192, 256, 320):
        small, large = weigh("alexnet"), weigh(f"alexnet:resolution={resolution}")
        pairs = list(zip(small.nodes, large.nodes, strict=True))
        assert [a.name for a, b in pairs if a.weights != b.weights] == ["fc6"]
    without, larger = weigh("alexnet:head=gap"), weigh("alexnet:head=gap,resolution=256")
    assert without.facts.weights == larger.facts.weights < small.facts.weights
    assert without.facts.macs < larger.facts.macs


@check("edge_detector", "what")
def _(what):
    dense = int(re.search(r"= ([\d,]+)$", what).group(1).replace(",", ""))
    width, height = map(int, re.search(r"over a (\d+) x (\d+) image", what).groups())
    sizes = f"width={width},height={height}"
    assert weigh(f"edge_detector:{sizes}").facts.weights == 2
    assert weigh(f"edge_detector:{sizes},form=dense").facts.weights == dense
    # Both compute the same values: as many come out.
    outputs = [weigh(f"edge_detector:{sizes},form={form}").nodes[-1].output for form in ("convolution", "dense")]
    assert math.prod(outputs[0]) == math.prod(outputs[1])
