"""torchvision's operators: run for real, captured, and counted."""

from __future__ import annotations

import pytest
import torch
import torchvision
from torch import nn
from torchvision import ops

from tests.torch.table_examples import captured, example
from weighbridge.counts import count
from weighbridge.frontends.aten_table_vision import RULES_VISION
from weighbridge.frontends.from_torch import load_torch
from weighbridge.graph import UNKNOWN, Graph
from weighbridge.operators.record import Work
from weighbridge.passes import deploy

R = torch.randn
IMAGE = R(2, 8, 16, 16)
BOXES = torch.tensor([[0.0, 0.0, 4.0, 4.0], [1.0, 1.0, 9.0, 9.0], [0.0, 0.0, 4.1, 4.0], [2.0, 2.0, 3.0, 8.0]])
SCORES = torch.tensor([0.9, 0.8, 0.7, 0.6])
REGIONS = torch.cat([torch.tensor([[0.0], [1.0], [1.0], [0.0]]), BOXES], 1)
KERNEL, OFFSET, MASK = R(4, 4, 3, 3), R(2, 36, 14, 14), torch.rand(2, 18, 14, 14)


def eight_bits(x):
    return torch.quantize_per_tensor(x, 0.25, 4, torch.quint8).int_repr()


def regions_of_eight_bits(x, r):
    q, s = eight_bits(x), torch.quantize_per_tensor(r, 0.5, 0, torch.quint8).int_repr()
    return torch.ops.torchvision.qroi_align(q, s, 0.25, 4, 0.5, 0, 1.0, 3, 2, 2, False)


EXAMPLES = [
    ("torchvision.nms", example("non_max_suppression", lambda b, s: ops.nms(b, s, 0.5), BOXES, SCORES)),
    (
        "torchvision.qnms",
        example(
            "non_max_suppression",
            lambda b, s: torch.ops.torchvision.qnms(eight_bits(b), eight_bits(s), 0.5),
            BOXES,
            SCORES,
        ),
    ),
    ("torchvision.roi_align", example("roi_align", lambda x, r: ops.roi_align(x, r, (3, 2), 0.5, 2), IMAGE, REGIONS)),
    ("torchvision.roi_align", example("roi_align", lambda x, r: ops.roi_align(x, r, 3), IMAGE, REGIONS)),
    ("torchvision.qroi_align", example("roi_align", regions_of_eight_bits, IMAGE[:1], REGIONS[:1])),
    ("torchvision.roi_pool", example("max_roi_pool", lambda x, r: ops.roi_pool(x, r, (3, 2)), IMAGE, REGIONS)),
    (
        "torchvision.roi_pool",
        example("max_roi_pool", lambda x, r: torch.ops.torchvision.roi_pool(x, r, 1.0, 3, 2), IMAGE, REGIONS),
    ),
    (
        "torchvision.ps_roi_align",
        example("roi_align", lambda x, r: ops.ps_roi_align(x, r, (2, 2), 1.0, 2), IMAGE, REGIONS),
    ),
    (
        "torchvision.ps_roi_pool",
        example("position_sensitive_roi_pool", lambda x, r: ops.ps_roi_pool(x, r, (4, 2)), IMAGE, REGIONS),
    ),
    (
        "torchvision.deform_conv2d",
        example("deformable_conv", lambda x, o, w, m: ops.deform_conv2d(x, o, w, mask=m), IMAGE, OFFSET, KERNEL, MASK),
    ),
    (
        "torchvision.deform_conv2d",
        example(
            "deformable_conv",
            lambda x, o, w: ops.deform_conv2d(x, o, w, stride=2, padding=2, dilation=2),
            IMAGE,
            R(2, 18, 8, 8),
            KERNEL,
        ),
    ),
]


def facts(graph: Graph):
    return count(graph, deploy(graph))


def test_every_line_has_an_example():
    assert {key for key, _ in EXAMPLES} == set(RULES_VISION)


@pytest.mark.parametrize(("key", "one"), EXAMPLES, ids=[f"{key}-{place}" for place, (key, _) in enumerate(EXAMPLES)])
def test_what_torchvision_does_is_what_the_table_says(key, one):
    captured(one, key)


def test_a_region_without_a_sampling_ratio_has_no_known_work():
    """The size of each region then decides, which no shape tells; the MACs stay exact."""
    sampled, adaptive = (facts(load_torch(ops.RoIAlign((3, 2), 1.0, ratio), (IMAGE, REGIONS))) for ratio in (2, -1))
    values = 4 * 8 * 3 * 2
    assert sampled.work == Work(add=(3 + 1) * 4 * values, mul=4 * 4 * values, div=values)
    assert sampled.work_exact
    assert adaptive.exact
    assert not adaptive.work_exact


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
def test_a_deformable_convolution_has_the_macs_of_a_plain_one(masked, groups):
    plain, deformable = nn.Conv2d(8, 4, 3, groups=groups), ops.DeformConv2d(8, 4, 3, groups=groups)
    more = (MASK[:, :9],) if masked else ()
    one = facts(load_torch(deformable, (IMAGE, OFFSET[:, :18], *more)))
    other = facts(load_torch(plain, (IMAGE,)))
    assert (one.macs, one.weights, one.biases) == (other.macs, other.weights, other.biases)
    assert one.macs == 2 * 14 * 14 * 4 * (8 // groups) * 9


def unknown(graph: Graph) -> list[str]:
    return [f"{node.origin}: {node.reason}" for node in graph.nodes if node.operator == UNKNOWN]


@pytest.mark.parametrize("name", ["fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"])
def test_segmentation_models_are_known(name):
    model = torchvision.models.get_model(name, weights=None, weights_backbone=None).eval()
    assert unknown(load_torch(model, (R(1, 3, 64, 64),))) == []
