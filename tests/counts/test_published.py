"""Figures that others published for networks of the literature, through the textbook networks."""

from __future__ import annotations

import pytest

from weighbridge import counts, memory
from weighbridge.passes import bit_rules, deploy, set_bits
from weighbridge.textbook import find


@pytest.mark.parametrize(
    ("network", "parameters", "weights"),
    [
        ("alexnet", 60_965_224, 60_954_656),
        ("vgg16", 138_357_544, 138_344_128),
        ("resnet18", 11_689_512, 11_678_912),
        ("resnet50", 25_557_032, 25_502_912),
        ("mobilenet_v2", 3_504_872, 3_469_760),
    ],
)
def test_parameters(network: str, parameters: int, weights: int) -> None:
    graph = find(network)
    facts = counts.count(graph, deploy(graph))
    assert (facts.parameters, facts.weights, facts.exact) == (parameters, weights, True)


@pytest.mark.parametrize(
    ("network", "total"),
    [("alexnet", 932_264), ("mobilenet_v2", 7_047_304), ("resnet18", 3_589_096), ("resnet50", 16_987_624)],
)
def test_activations_of_the_deployed_network(network: str, total: int) -> None:
    graph = find(network)
    assert counts.count(graph, deploy(graph)).activations.total == total


@pytest.mark.parametrize(("network", "pair"), [("mobilenet_v2", 1_505_280), ("resnet18", 1_003_520)])
def test_peaks_in_8_bits(network: str, pair: int) -> None:
    graph = set_bits(find(network), bit_rules(["8"], 8))
    assert memory.plan(deploy(graph)).peak_bytes["pair"] == pair


def test_resnet50_in_floats_peaks_at_an_addition() -> None:
    plan = memory.plan(deploy(find("resnet50")))
    assert (plan.peak_bytes["pair"], plan.peak_bytes["live"]) == (9_633_792, 9_633_792)


def test_deploying_resnet_leaves_convolutions_pools_additions_and_a_linear_layer() -> None:
    """53 convolutions and a linear layer, 16 shortcuts, two pools and a flatten; no normalisation, no ReLU."""
    facts = counts.count(graph := find("resnet50"), deploy(graph))
    found = [node.operator for node in facts.nodes]
    assert {name: found.count(name) for name in sorted(set(found))} == {
        "add": 16,
        "conv": 53,
        "flatten": 1,
        "global_average_pool": 1,
        "linear": 1,
        "max_pool": 1,
    }
    assert sum(len(node.fused) for node in facts.nodes) == 49


def test_alexnet_with_its_first_and_last_layer_in_8_bits_and_the_rest_in_4() -> None:
    graph = set_bits(find("alexnet"), bit_rules(["first=8", "last=8", "rest=4"]))
    assert counts.count(graph, deploy(graph)).weight_bytes == 32_542_752
