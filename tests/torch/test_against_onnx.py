"""The same module through torch.onnx.export and the ONNX front end: two readers, one graph that runs."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch
import torchvision
from torch import nn

import weighbridge
from weighbridge.frontends.from_torch import load_torch

_ARCHITECTURES = (
    "alexnet",
    "convnext_tiny",
    "densenet121",
    "efficientnet_b0",
    "efficientnet_v2_s",
    "googlenet",
    "mnasnet0_5",
    "mnasnet1_3",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
    "regnet_x_400mf",
    "regnet_y_400mf",
    "resnet18",
    "resnet50",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_5",
    "squeezenet1_0",
    "squeezenet1_1",
    "wide_resnet50_2",
)


def _built(name: str) -> nn.Module:
    """A network with random parameters and statistics: the exporter merges tensors that are equal."""
    extra = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
    model = torchvision.models.get_model(name, weights=None, **extra).eval()
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            if tensor.is_floating_point():
                tensor.uniform_(0.1, 0.9)
    return model


@pytest.mark.parametrize("name", _ARCHITECTURES)
def test_architecture(name: str, tmp_path: Path) -> None:
    size = 224 if name == "alexnet" else 64  # its adaptive pooling exports where it does nothing
    model, x = _built(name), torch.rand(1, 3, size, size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own: it is the old one, and five times as fast
        torch.onnx.export(model, (x,), tmp_path / "model.onnx", dynamo=False)
    through_onnx = weighbridge.weigh(tmp_path / "model.onnx")
    ours = weighbridge.weigh(load_torch(model, (x,)))
    assert ours.facts.exact and through_onnx.facts.exact
    assert _deployed(ours) == _deployed(through_onnx)
    assert ours.facts.parameters == sum(parameter.numel() for parameter in model.parameters())


def _deployed(report: weighbridge.Report) -> dict[str, object]:
    facts, memory = report.facts, report.memory
    return {
        "macs": facts.macs,
        "deployed_parameters": facts.deployed_parameters,
        "activations": facts.activations.total,
        "peaks": {policy: memory.peak_bytes[policy] for policy in ("pair", "live")},
        "peaks, elements": {policy: memory.peak_elements[policy] for policy in ("pair", "live")},
    }
