"""``what_if`` on PyTorch models: modules, models by name, and those that a Python file makes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from weighbridge import WhatIf, weigh, what_if
from weighbridge.cli.main import main


class Classifier(nn.Module):
    """Two convolutions, flattened for a linear layer."""

    def __init__(self, width: int = 8, pooled: bool = False, separable: bool = False) -> None:
        super().__init__()
        second = nn.Conv2d(width, 12, 3, stride=2, padding=1)
        if separable:
            by_channel = nn.Conv2d(width, width, 3, stride=2, padding=1, groups=width, bias=False)
            second = nn.Sequential(by_channel, nn.Conv2d(width, 12, 1))
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), second, nn.ReLU()
        )
        self.pool = nn.AdaptiveAvgPool2d(1) if pooled else nn.Identity()
        self.fc = nn.Linear(12 if pooled else 12 * 64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(torch.flatten(self.pool(self.features(x)), 1))


@pytest.mark.parametrize(
    ("change", "twin"),
    [
        ("global-pool", {"pooled": True}),
        ("depthwise:features.3", {"separable": True}),
        ("prune:features.0=25%", {"width": 6}),
    ],
)
def test_a_changed_module_costs_what_one_built_so_does(change: str, twin: dict) -> None:
    found = what_if(Classifier(), change, inputs=(1, 3, 16, 16))
    built = weigh(Classifier(**twin), inputs=(1, 3, 16, 16))
    for name in ("parameters", "weights", "biases", "deployed_parameters", "parameter_bytes", "macs", "work"):
        assert getattr(found.after.facts, name) == getattr(built.facts, name), name
    assert found.after.facts.activations.total == built.facts.activations.total
    live = found.metric("peak_bytes.live")
    assert live.after == built.memory.peak_bytes["live"]
    assert found.before.memory.peak_bytes == weigh(Classifier(), inputs=(1, 3, 16, 16)).memory.peak_bytes


def test_what_pytorch_held_is_not_known_of_a_network_that_never_ran() -> None:
    found = what_if(Classifier(), "global-pool", inputs=(1, 3, 16, 16))
    eager = found.metric("peak_bytes.eager")
    assert (eager.before is not None, eager.after, eager.ratio, eager.exact) == (True, None, None, False)
    assert any("eager memory is not known" in note for note in found.notes)


def test_a_recurrent_module_with_sparse_weights() -> None:
    found = what_if(nn.LSTM(8, 16), "sparsity=75%", inputs=(5, 1, 8))
    macs = found.metric("nonzero_macs")
    assert (macs.before, macs.after) == (5 * 4 * 16 * 24, 5 * 4 * 16 * 24 // 4)


def test_the_command_takes_a_python_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(
        "from torch import nn\ndef net(width=4): return nn.Sequential(nn.Linear(64, width), nn.Linear(width, 64))\n"
    )
    assert main(["what-if", "model.py:net:width=32", "low-rank:0=4", "--input", "1x64", "--steps", "--json", "-"]) == 0
    found = WhatIf.from_json(capsys.readouterr().out)
    assert {found.source, found.before.network.source, found.steps[0].report.network.source} == {
        "model.py:net:width=32"
    }
    assert found.metric("weights").before - found.metric("weights").after == 64 * 32 - 4 * (64 + 32)


def test_a_model_by_name() -> None:
    pytest.importorskip("torchvision")
    found = what_if("torchvision:alexnet", ["prune:classifier=50%"])
    assert found.source == "torchvision:alexnet"
    assert found.metric("parameters").ratio < 0.46 < 0.95 < found.metric("macs").ratio
