"""Real ONNX and TensorFlow Lite files with a part of their channels gone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.onnx.files import OPEN, REFUSED, Sizes, onnx_files
from tests.passes.pruning import facts_of, pruned_by, shapes_that_differ
from tests.tflite.files import tflite_files
from weighbridge.api import load
from weighbridge.errors import BadSpec, WeighbridgeError
from weighbridge.graph import Graph

NETWORKS = {
    "onnx/external_data/resnet18/resnet18.onnx": 0.51,
    "onnx/onnx_light/light_bvlc_alexnet.onnx": 0.54,
    "onnx/onnx_light/light_inception_v2.onnx": 0.52,
    "onnx/onnx_light/light_shufflenet.onnx": 0.56,
    "onnx/onnx_light/light_vgg19.onnx": 0.51,
    "onnx/real_models/FastestDet.onnx": 0.58,
    "onnx/real_models/Ultraface_version-RFB-320.onnx": 0.58,
    "onnx/real_models/pretrainedResnet.onnx": 0.55,
    "onnx/ort_odd/bert_toy_optimized.onnx": 0.57,
    "tflite/mlperf_tiny/kws_ref_model.tflite": 0.56,
    "tflite/mlperf_tiny/vww_96_int8.tflite": 0.56,
    "tflite/mlperf_tiny/pretrainedResnet_quant.tflite": 0.55,
    "tflite/mlperf_tiny/model_ToyCar_quant.tflite": 0.64,
    "tflite/tflm/person_detect.tflite": 0.55,
}
"""Files of whole networks, and which part of the MACs is left at most with 30 % of the channels gone."""


def network(shared: Path, name: str) -> Graph:
    kind, _, below = name.partition("/")
    sizes = OPEN.get(below, Sizes()) if kind == "onnx" else Sizes()
    return load(shared / "data" / name, dims=sizes.dims, inputs=sizes.inputs)


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(shared: Path, name: str) -> None:
    graph = network(shared, name)
    before = facts_of(graph)
    assert pruned_by(graph, 0) is graph
    last = before.macs, before.parameters
    for percent in (10, 30, 50, 90):
        pruned = pruned_by(graph, percent)
        assert not shapes_that_differ(pruned, beside=graph)
        assert [pruned.tensors[one] for one in graph.inputs] == [graph.tensors[one] for one in graph.inputs]
        assert [pruned.tensors[one] for one in graph.outputs] == [graph.tensors[one] for one in graph.outputs]
        facts = facts_of(pruned)
        assert facts.exact == before.exact
        assert (facts.macs, facts.parameters) < last
        assert facts.macs < last[0]
        assert facts.parameters < last[1]
        last = facts.macs, facts.parameters
        if percent == 30:
            assert facts.macs < NETWORKS[name] * before.macs


def test_every_file(shared: Path) -> None:
    """Whatever a file holds, the result fits together, or nothing can be pruned and the error says so."""
    names = [f"onnx/{name}" for name in onnx_files(shared) if name not in REFUSED]
    names += [f"tflite/{name}" for name in tflite_files(shared)]
    outcomes: Counter[str] = Counter()
    for name in names:
        outcomes[outcome(shared, name)] += 1
    assert outcomes["pruned"] > 30, outcomes
    assert outcomes["not read"] < 5, outcomes


def outcome(shared: Path, name: str) -> str:
    try:
        graph = network(shared, name)
    except WeighbridgeError:
        return "not read"
    try:
        pruned = pruned_by(graph, 50)
    except BadSpec as error:
        assert "no channels to prune" in error.what or "no layer whose channels" in error.what, name
        return "nothing to prune"
    assert not shapes_that_differ(pruned, beside=graph), name
    assert pruned.inputs == graph.inputs
    assert [node.name for node in pruned.nodes] == [node.name for node in graph.nodes]
    assert any(note.startswith("prune:") for note in pruned.notes), name
    before, after = facts_of(graph), facts_of(pruned)
    assert (after.macs, after.parameters) <= (before.macs, before.parameters), name
    return "pruned"
