"""Transformers that an exporter took apart weigh what the module does: attention, GELU and layer norm are found again."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional
from torchvision.models import VisionTransformer

import weighbridge
from weighbridge.frontends.from_torch import load_torch

WIDTH, HEADS, POSITIONS = 32, 4, 5
DEPTH = WIDTH // HEADS
X = torch.rand(2, POSITIONS, WIDTH)


class Projected(nn.Module):
    """Queries, keys and values of all heads, what a subclass makes of them, and the heads joined."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def heads(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [one(x).view(*x.shape[:2], HEADS, DEPTH).transpose(1, 2) for one in (self.q, self.k, self.v)]

    def joined(self, y: torch.Tensor) -> torch.Tensor:
        return self.o(y.transpose(1, 2).reshape(y.shape[0], -1, WIDTH))


class Fused(Projected):
    """PyTorch's own attention."""

    def __init__(self, *, is_causal: bool = False) -> None:
        super().__init__()
        self.is_causal = is_causal

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        y = functional.scaled_dot_product_attention(*self.heads(x), attn_mask=mask, is_causal=self.is_causal)
        return self.joined(y)


class Encoder(Projected):
    """BERT's layer as it is written out, with a mask that is added."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 48), nn.Linear(48, WIDTH)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        q, k, v = self.heads(x)
        weights = functional.softmax(q @ k.transpose(-1, -2) / math.sqrt(DEPTH) + mask, dim=-1)
        x = self.first(x + self.joined(self.dropout(weights) @ v))
        return self.second(x + self.narrow(functional.gelu(self.wide(x))))


class Decoder(Encoder):
    """GPT-2's layer: causal by a stored triangle, the keys handed on, the tanh form of GELU by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("triangle", torch.ones(8, 8, dtype=torch.bool).tril())

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        q, k, v = self.heads(self.first(x))
        scores = q @ k.transpose(-1, -2) * DEPTH**-0.5
        scores = scores.masked_fill(~self.triangle[:POSITIONS, :POSITIONS], -torch.inf)
        x = x + self.joined(functional.softmax(scores, dim=-1) @ v)
        h = self.wide(self.second(x))
        h = 0.5 * h * (1 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * torch.pow(h, 3))))
        return x + self.narrow(h), k


class Capped(Projected):
    """Gemma's attention: RMS norm, keys shared by two heads, scores capped; and quick GELU."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
        q, k, v = self.heads(x)
        k, v = (one[:, ::2].repeat_interleave(2, dim=1) for one in (k, v))
        scores = torch.tanh(q @ k.transpose(2, 3) * DEPTH**-0.5 / 50) * 50 + mask
        y = self.joined(functional.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype) @ v)
        return y * torch.sigmoid(1.702 * y)


def _vision() -> nn.Module:
    return VisionTransformer(32, 8, num_layers=2, num_heads=HEADS, hidden_dim=WIDTH, mlp_dim=48, num_classes=10)


MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[torch.Tensor, ...], dict[str, int]]] = {
    "fused": (Fused, (X,), {"attention": 1}),
    "fused, causal": (lambda: Fused(is_causal=True), (X,), {"attention": 1}),
    "fused, mask added": (Fused, (X, torch.zeros(2, 1, POSITIONS, POSITIONS)), {"attention": 1}),
    "fused, mask of truth": (Fused, (X, torch.ones(2, 1, POSITIONS, POSITIONS) > 0), {"attention": 1}),
    "layer": (
        # The older exporter fails on such a layer that stands alone.
        lambda: nn.Sequential(nn.TransformerEncoderLayer(WIDTH, HEADS, 48, activation="gelu", batch_first=True)),
        (X,),
        {"attention": 1, "layer_norm": 2, "gelu": 1},
    ),
    "encoder": (Encoder, (X, torch.zeros(2, 1, 1, POSITIONS)), {"attention": 1, "layer_norm": 2, "gelu": 1}),
    "decoder": (Decoder, (X,), {"attention": 1, "layer_norm": 2, "gelu": 1}),
    "capped": (Capped, (X, torch.zeros(POSITIONS, POSITIONS)), {"attention": 1, "rms_norm": 1, "gelu": 1}),
    "vision": (_vision, (torch.rand(1, 3, 32, 32),), {"attention": 2, "layer_norm": 5, "gelu": 2}),
}
NEEDS_14 = {name for name in MODULES if name.startswith("fused")} | {"layer", "vision"}
CASES = [
    (name, opset, dynamo)
    for name in MODULES
    for opset, dynamo in ((13, False), (17, False), (18, True))
    if opset >= 14 or name not in NEEDS_14
]


def _built(name: str) -> nn.Module:
    """A module with random parameters: exporters merge tensors that are equal."""
    module = MODULES[name][0]().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(0.1, 0.9)
    return module


@pytest.mark.parametrize(("name", "opset", "dynamo"), CASES)
def test_module_and_export(name: str, opset: int, dynamo: bool, tmp_path: Path) -> None:
    module, (_, inputs, found) = _built(name), MODULES[name]
    extra = {"verbose": False, "external_data": False} if dynamo else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, inputs, tmp_path / "model.onnx", opset_version=opset, dynamo=dynamo, **extra)
    through_onnx = weighbridge.weigh(tmp_path / "model.onnx")
    ours = weighbridge.weigh(load_torch(module, inputs))
    expected, actual = _deployed(ours), _deployed(through_onnx)
    if (name, dynamo) == ("fused, causal", True):
        # This exporter stores the triangle of causality as an initialiser, which nothing tells from a learned bias.
        assert actual.pop("deployed_parameters") - expected.pop("deployed_parameters") == POSITIONS**2
        assert actual.pop("work").compare - expected.pop("work").compare == -(2 * HEADS * POSITIONS**2)
    assert actual == expected
    assert {kind: count for kind, count in _operators(through_onnx).items() if kind in _PUT_TOGETHER} == found


_PUT_TOGETHER = ("attention", "gelu", "layer_norm", "rms_norm")


def _operators(report: weighbridge.Report) -> Counter[str]:
    return Counter(one for node in report.nodes for one in (node.operator, *node.fused))


def _deployed(report: weighbridge.Report) -> dict[str, object]:
    facts, memory = report.facts, report.memory
    assert facts.exact and facts.work_exact
    return {
        "macs": facts.macs,
        "work": facts.work,
        "deployed_parameters": facts.deployed_parameters,
        "activations": facts.activations.total,
        "peaks": {
            policy: memory.peak_elements[policy] for policy in ("pair", "live", "pair_in_place", "live_in_place")
        },
    }
