"""Every real ONNX file: weighed, or refused with a reason that is written down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.onnx.files import OPEN, REFUSED, Sizes, onnx_files, report_of
from weighbridge import load
from weighbridge.errors import BadModel, NeedsShape
from weighbridge.frontends.from_onnx import load_onnx

PUBLISHED = {
    # torchvision's table of resnet18 (1.814 GMACs, 11,689,512 parameters), whose 20 batch norms are folded here: 4,800 of
    # their 9,600 parameters became biases.
    "external_data/resnet18/resnet18.onnx": (1_814_073_344, 11_689_512 - 9_600 + 4_800),
    # Krizhevsky et al. (2012), grouped, at 224 as Caffe's export has it; 60,965,224 parameters in every description.
    "onnx_light/light_bvlc_alexnet.onnx": (None, 60_965_224),
    # Simonyan and Zisserman (2014), table 2: 144 million; torchvision's table: 143,667,240 and 19.632 GMACs.
    "onnx_light/light_vgg19.onnx": (19_632_062_464, 143_667_240),
}


def test_all_files_are_weighed_or_refused(shared: Path) -> None:
    files = onnx_files(shared)
    assert len(files) == 147
    assert len(REFUSED) <= 10
    exact = 0
    for name, path in files.items():
        if name in REFUSED:
            with pytest.raises(BadModel, match=path.name):
                report_of(name, path)
            continue
        report = report_of(name, path)
        assert report.facts.exact or report.facts.uncounted, name
        assert all(one.node and one.operator and one.reason for one in report.facts.uncounted), name
        assert json.dumps(report.notes), name
        exact += report.facts.exact
    assert exact >= 123


def test_what_is_open_is_asked_for(shared: Path) -> None:
    """The sizes that the tests give are needed, and only by files that leave something open."""
    files = onnx_files(shared)
    assert OPEN.keys() <= files.keys()
    for name in OPEN.keys() - REFUSED.keys():
        with pytest.raises(NeedsShape, match=r"is open; give it: --|has no shape; give it: --"):
            load_onnx(files[name])


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_figures(shared: Path, name: str) -> None:
    macs, parameters = PUBLISHED[name]
    facts = report_of(name, onnx_files(shared)[name]).facts
    assert facts.parameters == parameters
    assert facts.macs == macs or macs is None


def test_custom_operators_keep_the_types_that_the_file_states(shared: Path) -> None:
    graph = load(onnx_files(shared)["op_cover/custom_mul.onnx"])
    assert [node.origin for node in graph.nodes] == ["test.Custom_Mul"]
    assert graph.nodes[0].reason == "there is no rule for test.Custom_Mul"
    assert [graph.tensors[name].shape for name in graph.outputs] == [(3, 2)]


def test_a_missing_data_file_does_not_matter_where_no_shape_needs_it(shared: Path) -> None:
    folder = shared / "data" / "onnx" / "external_data" / "resnet18"
    assert [path.name for path in folder.iterdir()] == ["resnet18.onnx"]
    assert report_of("external_data/resnet18/resnet18.onnx", folder / "resnet18.onnx").facts.exact


def test_a_data_file_is_read_where_a_shape_needs_it(shared: Path) -> None:
    name = "external_data/model_with_external_initializers/model_with_external_initializers.onnx"
    assert report_of(name, onnx_files(shared)[name]).facts.activations.total == 2 + 6


def test_sizes_are_all_of_the_model(shared: Path) -> None:
    assert Sizes() == ({}, {})
    assert not OPEN.keys() & {"external_data/resnet18/resnet18.onnx"}
