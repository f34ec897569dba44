"""Part 04 of the source material: MACs, matrix products, rates; and the model of a latency of part 01."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest

import weighbridge
from tests.lecture.entries import check, weigh


@check("gemm", "matrix_vector")
def _(_text):
    """A matrix of m x n times a vector: m n MACs, each weight used once."""
    for m, n in ((3, 5), (1000, 4096)):
        (layer,) = weigh(f"linear:inputs={n},outputs={m}").nodes
        assert (layer.macs, layer.uses_per_weight) == (m * n, 1)


@check("gemm", "matrix_matrix")
def _(_text):
    """m x k by k x n: m n k MACs, twice as many FLOPs."""
    for m, k, n in ((3, 5, 7), (64, 32, 100)):
        (layer,) = weigh(f"linear:inputs={k},outputs={m},batch={n}").nodes
        assert (layer.macs, layer.flops, layer.uses_per_weight) == (m * n * k, 2 * m * n * k, n)
        assert layer.loops[0][:3] == (m, n, k)


@check("gemm", "conv_as_gemm")
def _(_text):
    """g products of m = c_o / g, k = c_i / g * k_h * k_w, n = batch * h_o * w_o."""
    graph = weighbridge.load("alexnet:batch=3")
    for layer in weigh("alexnet:batch=3").nodes:
        if layer.operator != "conv":
            continue
        (product,) = layer.loops
        groups = {"conv2": 2, "conv4": 2, "conv5": 2}.get(layer.name, 1)
        c_o, c_i_group, k_h, k_w = graph.tensors[f"{layer.name}.weight"].shape
        batch, channels, h_o, w_o = layer.output
        assert channels == c_o
        assert product[:4] == (c_o // groups, batch * h_o * w_o, c_i_group * k_h * k_w, groups)
        assert product.macs == layer.macs


@check("gemm", "neuron")
def _(text):
    inputs, macs = map(int, re.fullmatch(r"(\d+) inputs: (\d+) MACs", text).groups())
    assert weigh(f"linear:inputs={inputs},outputs=1").facts.macs == macs


@check("depthwise_separable", "what")
def _(_text):
    """1/N + 1/D² of the cost."""
    for out, kernel in ((64, 3), (128, 3), (24, 5)):
        spec = f"depthwise_separable:channels_out={out},kernel={kernel}"
        separable, standard = weigh(spec), weigh(f"{spec},form=standard")
        ratio = Fraction(1, out) + Fraction(1, kernel**2)
        assert Fraction(separable.facts.macs, standard.facts.macs) == ratio
        assert Fraction(separable.facts.weights, standard.facts.weights) == ratio
        assert separable.nodes[-1].output == standard.nodes[-1].output


DEVICES = ("toy", "stm32f746", "jetson-agx-orin", "a100", "raspberry-pi-5")


@check("rates", "what")
def _(_text):
    """The count of the model over the rate of the hardware is the time of the computation."""
    for precision in ("float32", "int8"):
        report = weigh("alexnet", precision=precision, on=DEVICES)
        known = [one.latency for one in report.on if one.latency.peak_ops_per_s is not None]
        assert len(known) >= 3
        for latency in known:
            assert latency.compute_s == pytest.approx(report.facts.ops / latency.peak_ops_per_s, rel=1e-12)
    # A toy processor of 10^9 operations a second: as many nanoseconds as operations.
    toy = weigh("alexnet", on="toy").on[0].latency
    assert round(toy.compute_s * 10**9) == weigh("alexnet").facts.flops


@check("latency", "model")
def _(_text):
    """T = max(operations / OPS, weight bytes / bandwidth + activation bytes / bandwidth)."""
    for spec, bound in (
        ("alexnet", "compute"),
        ("alexnet:batch=64", "compute"),
        ("linear:inputs=4096,outputs=4096", "memory"),
    ):
        report = weigh(spec, on="toy")
        latency, moved = report.on[0].latency, report.facts.parameter_bytes
        moved += 4 * math.prod(report.network.inputs[0].shape) + report.nodes[-1].output_bytes
        assert latency.memory_s == pytest.approx(moved / 10**9, rel=1e-12)
        assert latency.floor_s == max(latency.compute_s, latency.memory_s)
        assert latency.bound == bound


@check("latency", "conditions")
def _(text):
    named = re.search(r"without (.*)", text).group(1)
    conditions = weigh("alexnet:batch=2", precision="int8", on="toy").on[0].conditions
    for word, field in (
        ("hardware", "hardware"),
        ("runtime", "runtime"),
        ("precision", "precision"),
        ("batch", "batch"),
    ):
        assert word in named
        assert hasattr(conditions, field)
    assert (conditions.precision, conditions.batch) == ("int8", 2)
