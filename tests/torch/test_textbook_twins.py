"""Networks of the literature, written by hand as TOML, against their twins in torchvision."""

from __future__ import annotations

import pytest
import torch
import torchvision

import weighbridge
from weighbridge.frontends.from_torch import load_torch

_TWINS = {
    "vgg16": "vgg16",
    "resnet18": "resnet18",
    "resnet50": "resnet50",
    "mobilenet_v2": "mobilenet_v2",
    "squeezenet": "squeezenet1_0",
}


@pytest.mark.parametrize("name", _TWINS)
def test_twin(name: str) -> None:
    with torch.device("meta"):
        model = torchvision.models.get_model(_TWINS[name], weights=None).eval()
    module = weighbridge.weigh(load_torch(model, (torch.empty(1, 3, 224, 224, device="meta"),)))
    textbook = weighbridge.weigh(name)
    assert module.facts.exact
    assert _figures(module) == _figures(textbook)


def _figures(report: weighbridge.Report) -> dict[str, object]:
    facts, memory = report.facts, report.memory
    figures: dict[str, object] = {
        key: getattr(facts, key)
        for key in ("parameters", "weights", "biases", "other_parameters", "deployed_parameters", "macs", "work")
    }
    figures["activations"] = facts.activations.total, facts.activations.total_bytes
    figures["peaks"] = {policy: peak for policy, peak in memory.peak_bytes.items() if policy != "eager"}
    figures["macs by layer"] = [node.macs for node in report.nodes if node.macs]
    return figures
