"""The bookkeeping of AlexNet, layer by layer, beside what the paper prints."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

import weighbridge
from weighbridge.compression import Compression
from weighbridge.errors import BadSpec

LAYERS = ("conv1", "conv2", "conv3", "conv4", "conv5", "fc6", "fc7", "fc8")


@pytest.fixture(scope="module")
def found() -> Compression:
    return weighbridge.compress("alexnet", plan="deep-compression")


@pytest.fixture(scope="module")
def facts(shared: Path) -> dict[str, list[Decimal]]:
    text = (shared / "facts" / "lecture.toml").read_text(encoding="utf-8")
    return tomllib.loads(text, parse_float=Decimal)["deep_compression_alexnet"]


def test_the_plan_has_the_table_of_the_source(found: Compression, facts) -> None:
    for layer in found.layers:
        keep, value_bits, coded_value, index_bits, coded_index, before, after = map(Fraction, facts[layer.name])
        assert layer.indices is not None
        assert layer.published is not None
        assert 100 * layer.kept_share == keep
        assert (layer.values.width_bits, layer.values.huffman_bits_each) == (value_bits, coded_value)
        assert (layer.indices.width_bits, layer.indices.huffman_bits_each) == (index_bits, coded_index)
        assert (layer.published.before_huffman_percent, layer.published.percent) == (before, after)


def test_kept_weights(found: Compression, facts) -> None:
    assert found.total.kept == facts["kept_weights"] == 6_796_192
    assert found.total.weights == 60_954_656
    assert round(found.total.pruned_ratio) == 9


def test_every_layer_by_hand(found: Compression) -> None:
    """(values + indices) x kept + codebook + biases, and the tables of the codes behind Huffman."""
    layers = {layer.name: layer for layer in found.layers}
    assert tuple(layers) == LAYERS
    fc7, conv1 = layers["fc7"], layers["conv1"]
    kept = Fraction(9, 100) * 4096 * 4096
    assert fc7.before_huffman_bits == kept * (5 + 4) + 32 * 32 + 32 * 4096
    assert fc7.bits == kept * Fraction("7.3") + 32 * 32 + 32 * 4096 + 8 * (32 + 16)
    kept = Fraction(84, 100) * 96 * 3 * 11 * 11
    assert conv1.before_huffman_bits == kept * (8 + 4) + 256 * 32 + 96 * 32
    assert conv1.bits == kept * Fraction("7.5") + 256 * 32 + 96 * 32 + 8 * (256 + 16)


def test_each_published_percentage_is_met_or_explained(found: Compression) -> None:
    """Rounding explains the convolutions; the linear layers have fillers, the same number by both columns."""
    by_layer = {name: [one for one in found.comparisons if one.layer == name] for name in LAYERS}
    for name, (before, after) in by_layer.items():
        assert (before.stage, after.stage) == ("before Huffman", "after Huffman")
        assert {before.explained_by, after.explained_by} == {"rounding" if name.startswith("conv") else "fillers"}
        if before.explained_by == "fillers":
            assert before.implied_fillers == pytest.approx(after.implied_fillers, abs=0.02)
            assert before.implied_fillers > 0


def test_the_total_and_its_gap(found: Compression) -> None:
    """Left out, fillers make it 6.2 MB; with those that the layers' percentages imply it is 7.07 MB, and 6.9 MB are 2.88 % of 240."""
    total, compared = found.total, found.compared_total
    assert compared is not None
    assert not found.is_exact
    assert total.fillers is None
    assert total.dense_bytes == 4 * (60_954_656 + 10_568)
    assert total.bytes < 6_900_000 < total.bytes_with_expected_fillers
    assert compared.bytes_with_implied_fillers == pytest.approx(compared.bytes, rel=1e-3)
    assert round(compared.ratio, 0) == 34
    assert Fraction(compared.published.dense_mb) * compared.published.percent / 100 == Fraction("6.912")


def test_with_its_fillers_given_it_is_exact_and_as_published() -> None:
    given = {"fc6": 0.19, "fc7": 0.19, "fc8": 0.036, "rest": 0}
    found = weighbridge.compress("alexnet", plan="deep-compression", fillers=given)
    assert found.is_exact
    assert found.total.bytes == pytest.approx(7_072_000, rel=3e-3)
    assert {one.explained_by for one in found.comparisons} == {"rounding"}


def test_what_python_shows_is_a_line(found: Compression) -> None:
    assert repr(found) == "<Compression alexnet: >= 6,205,225 B of 243,860,896 B, 8 layers>"


def test_options_override_the_plan() -> None:
    found = weighbridge.compress("alexnet", plan="deep-compression", keep={"conv*": 0.5}, index_bits=["fc6=5"])
    layers = {layer.name: layer for layer in found.layers}
    assert {layers[f"conv{place}"].kept_share for place in range(1, 6)} == {Fraction(1, 2)}
    assert layers["fc6"].indices.width_bits == 5
    assert layers["fc7"].kept_share == Fraction(9, 100)


def test_without_rules_it_is_dense() -> None:
    found = weighbridge.compress("alexnet")
    assert found.is_exact
    assert found.total.bytes == found.total.dense_bytes
    assert found.total.ratio == 1


def test_a_plan_for_another_network_is_refused() -> None:
    with pytest.raises(BadSpec, match="conv1"):
        weighbridge.compress("mobilenet_v2", plan="deep-compression")


def test_parameters_of_no_layer_are_in_the_total() -> None:
    found = weighbridge.compress("mobilenet_v2", codebook=8)
    facts = weighbridge.weigh("mobilenet_v2").facts
    assert found.total.weights == facts.weights
    assert found.total.dense_bytes == 4 * facts.parameters
    assert found.others.elements == facts.parameters - found.total.weights - found.total.biases
    layers = sum(layer.bits for layer in found.layers)
    assert found.total.bits == layers + found.others.bits
