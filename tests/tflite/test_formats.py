"""One network as TensorFlow Lite, ONNX and PyTorch: the same counts and peaks, whatever the layout."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from weighbridge import weigh
from weighbridge.report import Report

from .mobilenet import mobilenet_v2

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

NETWORKS = ("ResNet8", "DepthwiseSeparable", "MobileNetV2")
SHARED = {
    "ResNet8": ("pretrainedResnet.tflite", "pretrainedResnet_quant.tflite"),
    "DepthwiseSeparable": ("kws_ref_model_float32.tflite", "kws_ref_model.tflite"),
}
MACS = {"ResNet8": 12_501_632, "DepthwiseSeparable": 2_656_768, "MobileNetV2": 300_774_272}
POLICIES = ("pair", "live", "pair_in_place", "live_in_place", "arena_tflm")


def _module(name: str) -> torch.nn.Module:
    from . import twins

    if name == "MobileNetV2":
        torchvision = pytest.importorskip("torchvision", reason="torchvision is not installed")
        module = torchvision.models.mobilenet_v2(weights=None)
    else:
        module = getattr(twins, name)()
    for tensor in (*module.parameters(), *module.buffers()):
        # As in a trained network no two are equal: an exporter keeps equal ones once.
        if tensor.is_floating_point():
            torch.nn.init.uniform_(tensor, 0.1, 1.0)
    return module.eval()


@pytest.fixture(scope="module", params=NETWORKS)
def reports(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Mapping]]:
    """The reports of one network by how it came here."""
    from .twins import shapes

    name, folder = request.param, tmp_path_factory.mktemp(request.param)
    module, found = _module(name), {}
    found["module"] = weigh(module, inputs=shapes[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (torch.zeros(shapes[name]),), folder / "net.onnx", dynamo=True, verbose=False)
    found["onnx"] = weigh(folder / "net.onnx")
    if name == "MobileNetV2":
        for dtype in ("FLOAT32", "INT8"):
            path = folder / f"{dtype}.tflite"
            path.write_bytes(mobilenet_v2(dtype=dtype))
            found[f"tflite {dtype}"] = weigh(path)
    yield name, found


def _figures(report: Report) -> dict[str, object]:
    facts = report.facts
    return {
        "exact": facts.exact,
        "macs": facts.macs,
        "deployed_parameters": facts.deployed_parameters,
        "activations": facts.activations.total,
        **{policy: report.memory.peak_elements.get(policy) for policy in POLICIES[:-1]},
    }


def _all_equal(name: str, found: Mapping[str, Report]) -> None:
    figures = {origin: _figures(report) for origin, report in found.items()}
    assert figures["module"]["macs"] == MACS[name]
    assert figures["module"]["exact"]
    assert all(one == figures["module"] for one in figures.values()), figures


def test_equal_across_formats(reports: tuple[str, Mapping[str, Report]]) -> None:
    _all_equal(*reports)


def test_shared_files_are_equal_to_the_module(reports: tuple[str, Mapping[str, Report]], shared: Path) -> None:
    name, found = reports
    for file in SHARED.get(name, ()):
        found = {**found, file: weigh(shared / "data" / "tflite" / "mlperf_tiny" / file)}
    _all_equal(name, found)


def test_an_arena_is_the_same_in_bytes_where_elements_are_of_one_type(
    reports: tuple[str, Mapping[str, Report]],
) -> None:
    """Of float networks: the file's operators one by one, and the deployed graph of the others."""
    _, found = reports
    floats = {
        origin: report.memory.peak_bytes.get("arena_tflm") for origin, report in found.items() if "INT8" not in origin
    }
    assert len(set(floats.values())) == 1
