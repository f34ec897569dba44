"""``weighbridge.load`` and ``weighbridge.weigh``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weighbridge
from weighbridge import BadSpec, Graph, NeedsShape, Report, UnsupportedFormat, WeighbridgeError
from weighbridge.builder import Builder
from weighbridge.devices.catalogue import find
from weighbridge.dtypes import DTYPES

FLOAT = DTYPES["float32"]


def test_public_names() -> None:
    for name in weighbridge.__all__:
        assert getattr(weighbridge, name) is not None
        assert name in dir(weighbridge)
    with pytest.raises(AttributeError, match="nothing"):
        _ = weighbridge.nothing  # type: ignore[attr-defined]


def test_load_gives_a_graph_and_weigh_takes_it() -> None:
    graph = weighbridge.load("alexnet")
    assert isinstance(graph, Graph)
    report = weighbridge.weigh(graph)
    assert isinstance(report, Report)
    assert report.facts == weighbridge.weigh("alexnet").facts
    assert (report.network.format, report.network.source) == ("graph", "")


def test_attributes_have_the_names_of_the_json() -> None:
    report = weighbridge.weigh("alexnet", on=["stm32f746"])
    assert report.network.inputs[0].shape == (1, 3, 224, 224)
    assert report.facts.macs == 724_406_816
    assert report.facts.activations.peak["live"] == 440_928
    assert report.memory.peak_bytes["live"] == 1_763_712
    assert report.nodes[0].name == "conv1"
    assert report.on[0].fit.regions[1].short_bytes == 1_763_712 - 327_680
    assert report.on[0].conditions.batch == 1


def test_a_matrix_product_by_hand() -> None:
    builder = Builder("by hand")
    x = builder.input("x", (2, 5), FLOAT)
    w = builder.stored("w", (3, 5), FLOAT)
    (y,) = builder.add("linear", [("x", x), ("w", w)], name="fc")
    report = weighbridge.weigh(builder.graph([y]))
    assert (report.facts.weights, report.facts.macs) == (15, 30)
    assert report.memory.peak_bytes["live"] == 4 * (10 + 6)


@pytest.mark.parametrize(
    ("bits", "expected"),
    [
        (8, 60_954_656),
        ("8", 60_954_656),
        ({"first": 8, "last": 8, "rest": 4}, 32_542_752),
        (["first=8", "last=8", "rest=4"], 32_542_752),
        ([4, "first=8", "fc8=8"], 32_542_752),
    ],
)
def test_weight_bits(bits: object, expected: int) -> None:
    assert weighbridge.weigh("alexnet", weight_bits=bits).facts.weight_bytes == expected  # type: ignore[arg-type]


def test_precision_is_weights_activations_and_rate_and_bits_override_it() -> None:
    report = weighbridge.weigh("alexnet", precision="INT8", on="toy")
    assert report.facts.weight_bytes == 60_954_656
    assert report.facts.activations.total_bytes == 932_264
    assert report.on[0].conditions.precision == "int8"
    mixed = weighbridge.weigh("alexnet", precision="int8", weight_bits=4, activation_bits=16)
    assert mixed.facts.weight_bytes == 60_954_656 // 2
    assert mixed.facts.activations.total_bytes == 2 * 932_264


def test_half_precision_stays_floating_point() -> None:
    report = weighbridge.weigh("lenet5", precision="fp16")
    assert report.network.inputs[0].dtype == "float16"
    assert report.nodes[0].output_dtype == "float16"


@pytest.mark.parametrize("on", ["toy", ["toy"], ("toy",), find("toy"), [find("toy")], iter(["toy"])])
def test_devices_by_name_and_as_objects(on: object) -> None:
    assert [one.device for one in weighbridge.weigh("lenet5", on=on).on] == ["toy"]  # type: ignore[arg-type]


def test_no_device_means_no_verdict() -> None:
    assert weighbridge.weigh("lenet5").on == ()


def test_a_device_file(tmp_path: Path) -> None:
    import weighbridge.devices.catalogue as catalogue

    file = tmp_path / "mine.toml"
    file.write_bytes(Path(catalogue.__file__).with_name("toy.toml").read_bytes())
    assert weighbridge.weigh("lenet5", on=str(file)).on[0].device == "toy"


@pytest.mark.parametrize(
    "options",
    [
        {"on": "nothing"},
        {"on": ["toy", "nothing"]},
        {"precision": "int7"},
        {"weight_bits": 0},
        {"weight_bits": 65},
        {"weight_bits": "x"},
        {"weight_bits": {"": 4}},
        {"activation_bits": 0},
    ],
    ids=str,
)
def test_options_are_looked_at_before_the_network_is_read(
    options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weighbridge.api.read", lambda *_: pytest.fail("the network was read"))
    with pytest.raises(BadSpec):
        weighbridge.weigh("alexnet", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [{"batch": 2}, {"sequence": 2}, {"dims": {"n": 2}}, {"inputs": {"image": (1, 3, 9, 9)}}],
    ids=str,
)
def test_a_graph_has_its_sizes_already(options: dict[str, object]) -> None:
    with pytest.raises(BadSpec, match="sizes already"):
        weighbridge.weigh(weighbridge.load("lenet5"), **options)  # type: ignore[arg-type]


def test_dims_are_parameters_of_a_textbook_network() -> None:
    assert weighbridge.load("alexnet", dims={"resolution": 256}) == weighbridge.load("alexnet:resolution=256")
    with pytest.raises(BadSpec):
        weighbridge.load("alexnet:resolution=256", dims={"resolution": 224})


@pytest.mark.parametrize("source", ["", "nothing", "nothing.onnx", "a/b", ":", "http://host/model.onnx", "\x00"])
def test_a_source_that_does_not_exist(source: str) -> None:
    with pytest.raises(WeighbridgeError):
        weighbridge.load(source)


def test_a_path_object(shared: Path) -> None:
    path = shared / "data/onnx/real_models/mnist_example__mnist.onnx"
    if not path.exists():
        pytest.skip("shared: the model is not there")
    by_path, by_name = weighbridge.weigh(path), weighbridge.weigh(str(path))
    assert by_path == by_name
    assert by_path.network.format == "onnx"
    assert by_path.network.source == str(path)


def test_a_format_that_nobody_reads(tmp_path: Path) -> None:
    file = tmp_path / "data.bin"
    file.write_bytes(bytes(range(200, 256)))
    with pytest.raises(UnsupportedFormat, match="no format known"):
        weighbridge.load(file)


def sequence_model(folder: Path, *names: str) -> Path:
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info(f"x{index}", kind, ["batch", name, 8]) for index, name in enumerate(names)]
    outputs = [helper.make_tensor_value_info(f"y{index}", kind, None) for index in range(len(names))]
    nodes = [helper.make_node("Relu", [f"x{index}"], [f"y{index}"]) for index in range(len(names))]
    graph = helper.make_graph(nodes, "sequences", inputs, outputs)
    path = folder / "sequences.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.mark.parametrize(
    "name", ["seq", "sequence", "sequence_length", "seq_len", "max_seq_len_in_batch", "Seq-Length", "seqlen"]
)
def test_sequence_sets_dimensions_named_like_one(tmp_path: Path, name: str) -> None:
    graph = weighbridge.load(sequence_model(tmp_path, name), batch=2, sequence=16)
    assert graph.tensors["x0"].shape == (2, 16, 8)


def test_sequence_leaves_other_dimensions_open(tmp_path: Path) -> None:
    path = sequence_model(tmp_path, "seq", "past_sequence_length")
    with pytest.raises(NeedsShape, match="past_sequence_length"):
        weighbridge.load(path, batch=2, sequence=16)
    graph = weighbridge.load(path, batch=2, sequence=16, dims={"past_sequence_length": 3})
    assert [graph.tensors[name].shape for name in graph.inputs] == [(2, 16, 8), (2, 3, 8)]
    with pytest.raises(BadSpec, match="named like a sequence"):
        weighbridge.load(sequence_model(tmp_path, "width"), batch=2, sequence=16)


def test_a_given_dimension_wins_over_sequence(tmp_path: Path) -> None:
    graph = weighbridge.load(sequence_model(tmp_path, "seq"), batch=2, sequence=16, dims={"seq": 5})
    assert graph.tensors["x0"].shape == (2, 5, 8)


def test_repr_is_short_and_str_is_the_page() -> None:
    report = weighbridge.weigh("alexnet", on="stm32f746")
    assert repr(report) == "<Report alexnet: 60,965,224 parameters, 724,406,816 MACs, stm32f746: does not fit>"
    assert str(report).startswith("alexnet\n")
    assert "◀ peak" in str(report)


def test_reports_are_values() -> None:
    assert weighbridge.weigh("lenet5") == weighbridge.weigh("lenet5")
    with pytest.raises(AttributeError):
        weighbridge.weigh("lenet5").tool = "mine"  # type: ignore[misc]


_NOT_SIZES = (1.5, float("nan"), True, "8", b"8", [4], {"x": 4}, ...)


@pytest.mark.parametrize("option", ["batch", "sequence"])
@pytest.mark.parametrize("wrong", _NOT_SIZES, ids=repr)
def test_what_is_no_whole_number_is_no_size(option: str, wrong: Any) -> None:
    for call in (weighbridge.load, weighbridge.weigh):
        with pytest.raises(BadSpec, match=f"^{option}: must be a whole number"):
            call("mlp", **{option: wrong})


@pytest.mark.parametrize("option", ["dims", "inputs"])
@pytest.mark.parametrize("wrong", [0, 1.5, "x", ["x"], {1: 2}, {"x": 2.5}, {"x": [2, "3"]}, {"x": None}], ids=repr)
def test_sizes_by_name_are_a_mapping_from_names_to_sizes(option: str, wrong: Any) -> None:
    for call in (weighbridge.load, weighbridge.weigh):
        with pytest.raises(BadSpec, match=f"^{option}"):
            call("mlp", **{option: wrong})


def test_sizes_may_be_of_numpy() -> None:
    assert weighbridge.load("mlp", batch=np.int64(3)).tensors["digit"].shape == (3, 784)
    widths = weighbridge.weigh("mlp", on="toy", weight_bits=np.int64(8), activation_bits=np.uint8(8))
    assert widths == weighbridge.weigh("mlp", on="toy", weight_bits=8, activation_bits=8)
    asked = weighbridge.weigh("mlp", on="toy", batches=np.array([2, 8]), fps=np.float64(29.97), batch=np.int32(1))
    assert asked == weighbridge.weigh("mlp", on="toy", batches=[2, 8], fps="29.97", batch=1)
    assert json.loads(asked.to_json())["on"][0]["throughput"]["by_batch"][-1]["batch"] == 8


@pytest.mark.parametrize("wrong", [0, -1, 8.0, "8", True, None, np.True_, 2**31, [8]], ids=repr)
def test_what_is_no_batch_size_is_refused(wrong: Any) -> None:
    for one in (wrong, 10**5000):
        with pytest.raises(BadSpec, match=r"^batches: .* is no batch size; give whole numbers from 1 to 2,147,483,647"):
            weighbridge.weigh("mlp", on="toy", batches=[1, one])


@pytest.mark.parametrize("wrong", [0, -30, 1e-320, 1e-10, 1.1e9, 1e300, float("nan"), float("inf"), "1e99999999", True])
def test_what_is_no_frame_rate_is_refused_with_the_bounds(wrong: Any) -> None:
    for one in (wrong, 10**5000):
        with pytest.raises(BadSpec, match=r"^fps: .* is no frame rate; give frames a second from 1e-9 to 1e9"):
            weighbridge.weigh("mlp", on="toy", fps=one)


@pytest.mark.parametrize("fps", [1e-9, "1e9", "30000/1001"])
def test_frame_rates_up_to_the_bounds(fps: Any) -> None:
    report = weighbridge.weigh("mlp", on="toy", fps=fps)
    assert weighbridge.Report.from_json(report.to_json()) == report
    assert "frames a second" in str(report)


@pytest.mark.parametrize("source", [None, 123, b"alexnet", ["alexnet"], 1.5, ...], ids=repr)
def test_what_is_no_source_is_refused(source: Any) -> None:
    for call in (weighbridge.load, weighbridge.weigh):
        with pytest.raises(BadSpec, match="a source is a path or a name"):
            call(source)


@pytest.mark.parametrize("device", [0, 1.5, [None], [8], b"a100", {"a100": 1, 2: 3}, ...], ids=repr)
def test_what_is_no_device_is_refused(device: Any) -> None:
    with pytest.raises(BadSpec, match="on: a device is"):
        weighbridge.weigh("mlp", on=device)


@pytest.mark.parametrize("width", [b"8", 8.5, [b"8"], [8.5], True, ..., {"first": 8.5}, {1: None}], ids=repr)
def test_what_is_no_width_is_refused(width: Any) -> None:
    """The bytes of a text are no list of widths."""
    with pytest.raises(BadSpec):
        weighbridge.weigh("mlp", weight_bits=width)


@pytest.mark.parametrize("precision", [0, 8, 1.5, (1, 2), b"int8", ...], ids=repr)
def test_what_is_no_precision_is_refused(precision: Any) -> None:
    with pytest.raises(BadSpec, match="there is no precision"):
        weighbridge.weigh("mlp", precision=precision)


@pytest.mark.parametrize("precision", [None, "int8", "float16"])
def test_a_demand_is_what_the_report_is_made_from(precision: str | None) -> None:
    from weighbridge.api import demand_of
    from weighbridge.estimates import estimate

    device = find("toy")
    (reported,) = weighbridge.weigh("alexnet", precision=precision, on=device).on
    found = estimate(demand_of(weighbridge.load("alexnet"), precision), device, precision, 1)
    assert (found.fit, found.latency, found.nodes) == (reported.fit, reported.latency, reported.nodes)
