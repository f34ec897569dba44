"""torchvision's published figures, every weight set of every builder."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torchvision

import weighbridge
from benchmarks.torchvision_models import FAMILIES, Row, built, rows
from benchmarks.torchvision_table import Found, gmacs, page, recomputed, rule


@pytest.fixture(scope="module")
def table(shared: Path) -> list[Row]:
    return rows(shared / "facts" / "torchvision.csv")


def test_the_table_is_whole(table: list[Row]) -> None:
    assert len(table) == 166
    assert {row.builder for row in table} == set(torchvision.models.list_models())
    assert {row.family for row in table} == set(FAMILIES)


@pytest.mark.parametrize("builder", torchvision.models.list_models())
def test_published_figures(builder: str, table: list[Row]) -> None:
    """Parameters to the unit, multiply-accumulates at the published three decimals."""
    known: dict[object, Found] = {}
    for row in (one for one in table if one.builder == builder):
        found = known[row.network] if row.network in known else known.setdefault(row.network, recomputed(row))
        assert found.is_exact
        assert found.parameters == row.parameters
        assert gmacs(found.macs) == row.gmacs
    assert known


def test_a_detector_that_runs_multiplies_nothing_beside_its_networks(table: list[Row]) -> None:
    """Whatever number of boxes an untrained one finds in an image without values."""
    (row,) = (one for one in table if one.builder == "fasterrcnn_mobilenet_v3_large_320_fpn")
    none, one = (
        weighbridge.weigh(model, inputs=inputs).facts.macs for model, inputs in (built(row), built(row, boxes=1))
    )
    whole = weighbridge.weigh(f"torchvision:{row.builder}", inputs=([weighbridge.TensorSpec((3, 320, 320))],)).facts
    assert whole.exact
    assert one > none
    assert (whole.macs - none) % (one - none) == 0
    assert 0 <= (whole.macs - none) // (one - none) <= 1000


@pytest.mark.parametrize(
    "builder", ["quantized_resnet18", "quantized_mobilenet_v2", "quantized_shufflenet_v2_x0_5", "quantized_googlenet"]
)
def test_quantised_networks_multiply_as_before(builder: str, table: list[Row], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.quantized, "engine", torch.backends.quantized.engine)  # building sets another
    (row,) = (one for one in table if one.builder == builder)
    quantised = torchvision.models.get_model_builder(builder)(weights=None, quantize=True, **row.arguments).eval()
    facts = weighbridge.weigh(quantised, inputs=(1, 3, *row.crop)).facts
    assert facts.exact
    assert gmacs(facts.macs) == row.gmacs


def test_the_page_says_what_a_figure_depends_on(table: list[Row]) -> None:
    by_weights = {row.weights: row for row in table}

    def said(weights: str, macs: int) -> str:
        row = by_weights[weights]
        return rule(row, Found(row.parameters, macs, is_exact=True))

    assert said("ResNet18_Weights.IMAGENET1K_V1", 1_814_073_344) == ""
    assert said("ResNet18_Weights.IMAGENET1K_V1", 1_815_073_344) == "no rule is known"
    both = "1,000 boxes classified; 100 masks drawn"
    assert said("MaskRCNN_ResNet50_FPN_V2_Weights.COCO_V1", 333_577_359_872) == both
    row = by_weights["ResNet18_Weights.IMAGENET1K_V1"]
    text = page([(row, Found(row.parameters, 1_814_073_344, is_exact=True))])
    assert "| resnet18 | IMAGENET1K_V1 | 11,689,512 | 1.814 | 1.814 |  |" in text
