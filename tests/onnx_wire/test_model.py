"""Reading whole files: what is refused, and data that lies outside the file."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from weighbridge.errors import BadModel, WeighbridgeError
from weighbridge.frontends.onnx_model import read


def _model(*stored: TensorProto, **top: object) -> onnx.ModelProto:
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="relu")], "g", [], [], list(stored))
    return helper.make_model(graph, **top)


def _save(model: onnx.ModelProto, path: Path) -> Path:
    path.write_bytes(model.SerializeToString())
    return path


def _external(
    location: str, *, kind: int = TensorProto.INT64, dims: tuple[int, ...] = (3,), **place: object
) -> TensorProto:
    tensor = TensorProto(name="outside", dims=dims, data_type=kind, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **place}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def test_versions_are_those_of_the_file(tmp_path: Path) -> None:
    imports = [helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx", 17), helper.make_opsetid("com.microsoft", 1)]
    model = read(_save(_model(opset_imports=[*imports, helper.make_opsetid("", 0)], ir_version=8), tmp_path / "m.onnx"))
    assert model.opsets == {"": 17, "com.microsoft": 1}
    assert model.ir_version == 8
    assert model.path == tmp_path / "m.onnx"


def test_no_opset_is_version_one_in_the_oldest_files_and_an_error_later(tmp_path: Path) -> None:
    model = _model(ir_version=2)
    model.ClearField("opset_import")
    assert read(_save(model, tmp_path / "old.onnx")).opsets == {"": 1}
    model.ir_version = 3
    with pytest.raises(BadModel, match="which operator set"):
        read(_save(model, tmp_path / "new.onnx"))


def test_a_model_without_a_graph_is_refused(tmp_path: Path) -> None:
    model = _model()
    model.ClearField("graph")
    with pytest.raises(BadModel, match=r"m\.onnx: there is no graph"):
        read(_save(model, tmp_path / "m.onnx"))


@pytest.mark.parametrize("old", [b"relu", b"Relu", b"x"])
def test_a_name_that_is_not_text_is_refused(old: bytes, tmp_path: Path) -> None:
    model = _model()
    model.graph.node[0].input[0] = "x"
    data = (
        model.SerializeToString().replace(b"\x0a\x01x", b"\x0a\x01\xff") if old == b"x" else model.SerializeToString()
    )
    (tmp_path / "m.onnx").write_bytes(data.replace(old, b"\xff" * len(old)) if old != b"x" else data)
    with pytest.raises(BadModel, match="not UTF-8"):
        read(tmp_path / "m.onnx")


@pytest.mark.parametrize(
    "location",
    [
        "/etc/passwd",
        "../weights.bin",
        "data/../../weights.bin",
        "C:\\weights.bin",
        "C:weights.bin",
        "data\\weights.bin",
        "\\\\server\\weights.bin",
        "bad\0name",
        "",
    ],
)
@pytest.mark.parametrize("where", ["initializer", "attribute", "subgraph", "function"])
def test_data_outside_the_folder_is_refused(location: str, where: str, tmp_path: Path) -> None:
    tensor = _external(location, kind=TensorProto.FLOAT)
    model = _model()
    if where == "initializer":
        model.graph.initializer.append(tensor)
    elif where == "attribute":
        model.graph.node[0].attribute.append(helper.make_attribute("value", tensor))
    elif where == "subgraph":
        body = helper.make_graph([], "b", [], [], [tensor])
        model.graph.node[0].attribute.append(helper.make_attribute("body", body))
    else:
        node = helper.make_node("Constant", [], ["c"], value=tensor)
        model.functions.append(helper.make_function("d", "f", [], ["c"], [node], [helper.make_opsetid("", 17)]))
    with pytest.raises(BadModel, match="no path inside the model's folder"):
        read(_save(model, tmp_path / "m.onnx"))


def test_a_link_out_of_the_folder_is_refused_and_one_inside_is_not(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(24))
    (folder / "data.bin").write_bytes(bytes(24))
    (folder / "out.bin").symlink_to(tmp_path / "secret.bin")
    (folder / "in.bin").symlink_to(folder / "data.bin")
    (folder / "away").symlink_to(tmp_path)
    for location in ("out.bin", "away/secret.bin"):
        with pytest.raises(BadModel, match="link out of the model's folder"):
            read(_save(_model(_external(location)), folder / "m.onnx"))
    model = read(_save(_model(_external("in.bin")), folder / "m.onnx"))
    assert model.integers(model.proto.graph.initializer[0]) == ((3,), (0, 0, 0))


def test_small_integers_are_fetched_from_their_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "shapes.bin").write_bytes(
        b"\0" * 8 + (7).to_bytes(8, "little") + (-1).to_bytes(8, "little", signed=True)
    )
    path = _save(_model(_external("sub/shapes.bin", dims=(2,), offset=8, length=16)), tmp_path / "m.onnx")
    model = read(path)
    assert model.integers(model.proto.graph.initializer[0]) == ((2,), (7, -1))


def test_a_missing_file_matters_only_when_it_is_asked_for(tmp_path: Path) -> None:
    floats = _external("gone.bin", kind=TensorProto.FLOAT)
    large = _external("gone.bin", dims=(8193,))
    model = read(_save(_model(_external("gone.bin"), floats, large), tmp_path / "m.onnx"))
    small, floats, large = model.proto.graph.initializer
    assert model.integers(floats) is None
    assert model.integers(large) is None
    with pytest.raises(BadModel, match=r"outside: a shape is computed from this tensor, but its data file 'gone\.bin'"):
        model.integers(small)


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ({}, "ends before byte 24"),
        ({"offset": 4}, "ends before byte 28"),
        ({"length": 16}, "has 16 bytes where 24 are needed"),
        ({"offset": "-1"}, "offset or length"),
        ({"offset": "1e9"}, "offset or length"),
        ({"offset": "9" * 19}, "ends before|cannot be read"),
        ({"offset": "9" * 5000}, "offset or length"),
        ({"length": "\u0663"}, "offset or length"),
    ],
)
def test_a_short_file_or_a_strange_place_is_refused(place: dict[str, object], says: str, tmp_path: Path) -> None:
    (tmp_path / "d.bin").write_bytes(bytes(20))
    model = read(_save(_model(_external("d.bin", **place)), tmp_path / "m.onnx"))
    with pytest.raises(BadModel, match=says):
        model.integers(model.proto.graph.initializer[0])


def test_a_data_file_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.bin")
    model = read(_save(_model(_external("pipe.bin")), tmp_path / "m.onnx"))
    with pytest.raises(BadModel, match=r"pipe\.bin' cannot be read \(it is no regular file\)"):
        model.integers(model.proto.graph.initializer[0])


def test_a_ring_of_links_is_followed_to_no_data(tmp_path: Path) -> None:
    (tmp_path / "one.bin").symlink_to("two.bin")
    (tmp_path / "two.bin").symlink_to("one.bin")
    path = _save(_model(_external("one.bin")), tmp_path / "m.onnx")
    with pytest.raises(BadModel, match=r"link without an end|cannot be read"):
        model = read(path)
        model.integers(model.proto.graph.initializer[0])


def test_values_inside_the_file_are_read_too(tmp_path: Path) -> None:
    model = read(_save(_model(helper.make_tensor("t", TensorProto.INT32, [2], [3, -4])), tmp_path / "m.onnx"))
    assert model.integers(model.proto.graph.initializer[0]) == ((2,), (3, -4))


def test_the_bad_inputs_end_in_one_clear_error(shared: Path) -> None:
    files = sorted((shared / "data" / "bad_inputs").iterdir())
    assert len(files) >= 7
    for file in files:
        with pytest.raises(WeighbridgeError) as caught:
            read(file)
        assert file.name in str(caught.value)
        assert caught.value.hint
        assert "\n" not in str(caught.value)


def test_the_traps_among_the_real_models_are_refused(shared: Path) -> None:
    folder = shared / "data" / "onnx" / "external_data"
    with pytest.raises(BadModel, match="etc/passwd"):
        read(folder / "test_arbitrary_external_file" / "test_arbitrary_external_file.onnx")
    evil = read(folder / "test_evil_weights" / "test_evil_weights.onnx")
    with pytest.raises(BadModel, match="_ORT_MEM_ADDR_"):
        evil.integers(evil.proto.graph.initializer[0])
    pads = read(folder / "model_with_external_initializers" / "model_with_external_initializers.onnx")
    found = [pads.integers(tensor) for tensor in pads.proto.graph.initializer]
    assert ((4,), (0, 0, 1, 1)) in found


def test_an_unreadable_file_says_so(tmp_path: Path) -> None:
    path = _save(_model(), tmp_path / "m.onnx")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user reads everything")
    with pytest.raises(BadModel, match="cannot be read"):
        read(path)
