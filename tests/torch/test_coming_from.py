"""docs/coming-from.md: the figures that it gives for weighbridge are those of today."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import weighbridge

pytest.importorskip("torchvision", reason="torchvision is not installed")

from benchmarks.counters import COUNTERS, NETWORKS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from.md"


@pytest.mark.parametrize("name", NETWORKS)
def test_the_page_gives_our_macs(name: str) -> None:
    network = NETWORKS[name]
    with torch.device("meta"), torch.set_grad_enabled(network.grad):
        facts = weighbridge.weigh(network.build().eval(), inputs=network.shape).facts
    assert facts.exact
    assert f"| {name} | {facts.macs:,} |" in PAGE.read_text(encoding="utf-8")


def test_the_page_has_every_counter() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(counter in text for counter in COUNTERS)
