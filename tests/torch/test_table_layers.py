"""Every line of the table of layers: PyTorch runs the operator, the capture sees it, and shapes and work are right."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody writes it

from tests.torch.examples_layers import EXAMPLES, R, X
from tests.torch.table_examples import by_hand, captured, example
from weighbridge.counts import count
from weighbridge.frontends.aten_table_layers import RULES_LAYERS
from weighbridge.frontends.from_torch import load_torch
from weighbridge.passes import deploy

# Kernels of libraries that this machine may lack, and forms that only they have.
ELSEWHERE = {
    **dict.fromkeys(("aten.cudnn_batch_norm", "aten.miopen_batch_norm"), "batch_norm"),
    **{f"aten.mkldnn_max_pool{rank}d": "max_pool" for rank in (1, 2, 3)},
    "aten.quantized_max_pool3d": "max_pool",
    "aten.cudnn_grid_sampler": "grid_sample",
    "aten.cudnn_affine_grid_generator": "affine_grid",
}


def test_every_line_has_an_example():
    assert {key for key, _ in EXAMPLES} | set(ELSEWHERE) == set(RULES_LAYERS)


@pytest.mark.parametrize(("key", "one"), EXAMPLES, ids=[f"{key}-{place}" for place, (key, _) in enumerate(EXAMPLES)])
def test_what_pytorch_does_is_what_the_table_says(key, one):
    captured(one, key)


@pytest.mark.parametrize(
    ("op", "arguments", "result"),
    [
        *[
            (
                f"aten.{library}_batch_norm",
                {
                    "input": [(2, 6, 4)],
                    **{name: [(6,)] for name in ("weight", "bias", "running_mean", "running_var")},
                    "training": True,
                    "exponential_average_factor": 0.1,
                    "epsilon": 1e-3,
                },
                (2, 6, 4),
            )
            for library in ("cudnn", "miopen")
        ],
        ("aten.mkldnn_max_pool1d", {"self": [(2, 3, 8)], "kernel_size": 2}, (2, 3, 4)),
        ("aten.mkldnn_max_pool2d", {"self": [(2, 3, 8, 8)], "kernel_size": 2, "stride": 1}, (2, 3, 7, 7)),
        ("aten.mkldnn_max_pool3d", {"self": [(2, 3, 8, 8, 8)], "kernel_size": 3, "padding": 1}, (2, 3, 3, 3, 3)),
        ("aten.quantized_max_pool3d", {"self": [(2, 3, 8, 8, 8)], "kernel_size": 2}, (2, 3, 4, 4, 4)),
        ("aten.cudnn_grid_sampler", {"self": [(2, 3, 8, 8)], "grid": [(2, 4, 5, 2)]}, (2, 3, 4, 5)),
        ("aten.cudnn_affine_grid_generator", {"theta": [(2, 2, 3)], "N": 2, "C": 3, "H": 4, "W": 5}, (2, 4, 5, 2)),
    ],
)
def test_kernels_of_other_machines(op, arguments, result):
    (node,) = by_hand(op, arguments, result).nodes
    assert node.operator == ELSEWHERE[op]
    if "epsilon" in arguments:
        assert node.attributes["epsilon"] == 1e-3


def test_an_interpolation_size_is_rounded_as_pytorch_does():
    # The product of two doubles, of which PyTorch keeps the whole number.
    for size, scale in ((10, 1.21), (7, 1 / 0.7), (29, 2.1), (3, 4 / 3), (1_000, 0.999)):
        one = example("resize", lambda x, s=scale: F.interpolate(x, scale_factor=s), R(1, 1, size))
        captured(one, "aten.upsample_nearest1d")


def test_only_results_that_are_read_are_outputs():
    both = captured(
        example("max_pool", lambda x: F.max_pool2d(x, 2, return_indices=True), X), "aten.max_pool2d_with_indices"
    )
    one = captured(
        example("max_pool", lambda x: F.max_pool2d(x, 2, return_indices=True)[0], X), "aten.max_pool2d_with_indices"
    )
    assert both.nodes[0].attributes["outputs"] == ("y", "indices")
    assert one.nodes[0].attributes["outputs"] == ("y",)
    assert len(one.nodes[0].outputs) == 1


def block():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU())


def test_batch_norm_folds_in_eval_and_stays_in_training():
    x = R(2, 3, 8, 8)
    evaluated, trained = load_torch(block().eval(), (x,)), load_torch(block().train(), (x,))
    assert [node.operator for node in deploy(evaluated).nodes] == ["conv"]
    assert [node.operator for node in deploy(trained).nodes] == ["conv", "batch_norm", "relu"]
    facts, in_training = count(evaluated, deploy(evaluated)), count(trained, deploy(trained))
    assert facts.macs == in_training.macs == 2 * 36 * 8 * 27
    assert facts.parameters == in_training.parameters == 8 * 27 + 2 * 8
    assert facts.deployed_parameters == 8 * 27 + 8
    (norm,) = [node for node in trained.nodes if node.operator == "batch_norm"]
    assert norm.attributes["training"]
    assert norm.attributes["outputs"] == ("y",)


def test_a_frozen_batch_norm_is_arithmetic_on_buffers():
    from torchvision.ops import FrozenBatchNorm2d

    graph = load_torch(FrozenBatchNorm2d(8), (R(2, 8, 4, 4),))
    assert not any(node.operator == "batch_norm" for node in graph.nodes)
    facts = count(graph, deploy(graph))
    assert (facts.macs, facts.parameters) == (0, 0)
    assert (
        facts.work.mul == facts.work.add == 2 * 8 * 16
    )  # one of each a value; what depends on buffers alone is static


@pytest.mark.parametrize("kind", ["eval", "train"])
def test_a_standardised_weight_costs_nothing_at_inference(kind):
    """Its batch norm in training mode depends on no input."""

    class Standardised(nn.Conv2d):
        def forward(self, x):
            weight = F.batch_norm(self.weight.reshape(1, self.out_channels, -1), None, None, training=True, eps=1e-6)
            return F.conv2d(x, weight.reshape_as(self.weight), self.bias)

    model = Standardised(3, 8, 3)
    graph = load_torch(model.train(kind == "train"), (R(2, 3, 8, 8),))
    facts = count(graph, deploy(graph))
    assert (facts.macs, facts.parameters) == (2 * 36 * 8 * 27, 8 * 27 + 8)
    assert [node.operator for node in deploy(graph).nodes if "conv" in node.operator] == ["conv"]
    plain = load_torch(nn.Conv2d(3, 8, 3), (R(2, 3, 8, 8),))
    assert facts.work == count(plain, deploy(plain)).work
