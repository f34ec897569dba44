"""What autograd saves and holds in a step of training, against PyTorch's own hooks and tracker in real runs: to the byte."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn

from tests.torch.real_training import IGNORED, Seen, assert_equal, seen
from weighbridge.frontends.torch_training import training_run

pytestmark = [pytest.mark.filterwarnings(one) for one in IGNORED]

TORCHVISION = ("resnet18", "mobilenet_v3_small", "squeezenet1_1", "swin_t")
TIMM = {"vit_tiny_patch16_224": 224, "resnext26ts": 64}


@pytest.mark.parametrize(("attention", "saved"), [("math", 309_851_216), ("flash", 236_321_360), ("", 236_321_360)])
def test_vit(attention: str, saved: int) -> None:
    """ViT-B/16 at batch 2, by the kernel of attention: nothing is computed, so that nothing of this size is there."""
    models = pytest.importorskip("torchvision.models")
    with torch.device("meta"):
        model = models.vit_b_16().train()
    run = training_run(model, (torch.empty(2, 3, 224, 224, device="meta"),), {}, attention=attention)
    assert run.saved_bytes == saved
    assert run.attention == (attention or "flash")
    assert run.at_peak.parameter_bytes == 86_567_656 * 4


@pytest.mark.parametrize("name", TORCHVISION)
def test_torchvision(name: str) -> None:
    model = pytest.importorskip("torchvision.models").get_model(name).train()
    assert_equal(model, torch.randn(2, 3, 64, 64))


@pytest.mark.parametrize("name", TIMM)
def test_timm(name: str) -> None:
    model = pytest.importorskip("timm").create_model(name).train()
    assert_equal(model, torch.randn(2, 3, TIMM[name], TIMM[name]))


def _random_network(seed: int) -> nn.Sequential:
    """Layers of a convolutional network in an order that ``seed`` decides, and a head."""
    choose = random.Random(seed)
    layers: list[nn.Module] = []
    channels = 3
    for _ in range(choose.randint(2, 7)):
        wide = choose.choice([4, 6, 8])
        kind = choose.choice(["convolution", "depthwise", "residual", "bottleneck"])
        if kind == "convolution":
            layers.append(nn.Conv2d(channels, wide, choose.choice([1, 3]), padding=1, bias=choose.random() < 0.5))
            channels = wide
        elif kind == "depthwise":
            layers.append(nn.Conv2d(channels, channels, 3, padding=1, groups=channels))
        elif kind == "residual":
            layers.append(_Residual(nn.Conv2d(channels, channels, 3, padding=1)))
        else:
            layers.append(nn.Sequential(nn.Conv2d(channels, 2, 1), nn.ReLU(), nn.Conv2d(2, channels, 1)))
        norms = [nn.BatchNorm2d(channels), nn.GroupNorm(1, channels), nn.InstanceNorm2d(channels), nn.Identity()]
        acts = [nn.ReLU(), nn.ReLU(inplace=True), nn.GELU(), nn.Hardswish(), nn.SiLU(), nn.LeakyReLU(), nn.PReLU()]
        layers += [choose.choice(norms), choose.choice(acts)]
        layers.append(choose.choice([nn.Identity(), nn.MaxPool2d(2), nn.AvgPool2d(2), nn.Dropout(0.2)]))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 5), nn.LogSoftmax(1))


class _Residual(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.inner(x)


@pytest.mark.parametrize("seed", range(16))
def test_random_networks(seed: int) -> None:
    network, choose = _random_network(seed), random.Random(seed)
    for parameter in network.parameters():
        parameter.requires_grad_(choose.random() < 0.7)
    network[-2].requires_grad_(True)
    assert_equal(network, torch.randn(3, 3, 40, 40))


@pytest.mark.parametrize("is_checkpointed", [False, True])
def test_transformers(is_checkpointed: bool) -> None:
    """With checkpoints of its own a model keeps no cache of keys, and looks whether sequences are packed: that takes values."""
    transformers = pytest.importorskip("transformers")
    sizes = {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100, "n_positions": 64}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)).train()
    if is_checkpointed:
        model.activation_checkpointing_enable()
    words = torch.zeros(2, 32, dtype=torch.int64)
    run = training_run(model, (), {"input_ids": words, "labels": words})
    assert Seen(run.saved_bytes, run.peak_bytes) == seen(model, input_ids=words, labels=words)
    assert any("ran with values" in note for note in run.notes) == is_checkpointed
    assert transformers.utils.import_utils.is_fake_tensor.__name__ == "is_fake_tensor"


def test_torchscript_runs_with_values() -> None:
    network = torch.jit.script(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 5)))
    run = training_run(network, (torch.randn(4, 16),), {})
    assert run.saved_bytes == 4 * 16 * 4 + 4 * 32 * 4
    assert "ran with values" in run.notes[0]
    assert not any("got no gradient" in note for note in run.notes)
    assert all(parameter.grad is None and parameter.requires_grad for parameter in network.parameters())
