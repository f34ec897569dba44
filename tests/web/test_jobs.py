"""Files that somebody made to do harm: each is an error of ours, names the file as its owner did, and no other file is read."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from onnx import TensorProto, helper

from weighbridge.errors import BadSpec, WeighbridgeError
from weighbridge.web.jobs import Order, Saved, report_json, saved_json
from weighbridge.web.shelf import Shelf, opened
from weighbridge.web.work import Work


@pytest.fixture(scope="module")
def work() -> Iterator[Work]:
    made = Work()
    yield made
    made.close()


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    with opened() as made:
        yield made


def order(shelf: Shelf, name: str, content: bytes, choices: str = "") -> Order:
    model = shelf.add_model(name, io.BytesIO(content))
    return Order(model.name, str(model.folder), choices)


def refused(work: Work, asked: Order) -> str:
    with pytest.raises(WeighbridgeError) as caught:
        work.do(report_json, asked)
    said = str(caught.value)
    assert str(Path(asked.folder).parent) not in said
    assert said.replace("\n", "").isprintable()
    return said


def reaching(location: str) -> bytes:
    """A model whose shapes follow from what is in another file."""
    shape = TensorProto(name="shape", data_type=TensorProto.INT64, dims=[2], data_location=TensorProto.EXTERNAL)
    entry = shape.external_data.add()
    entry.key, entry.value = "location", location
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    return helper.make_model(helper.make_graph([node], "g", inputs, outputs, [shape])).SerializeToString()


@pytest.mark.parametrize("location", ["/etc/passwd", "../../etc/passwd", "OTHER", "sub/../../x", "", "./../x", "a\0b"])
def test_a_model_reads_no_file_but_those_beside_it(location: str, shelf: Shelf, work: Work) -> None:
    other = shelf.add_model("secret.bin", io.BytesIO((4).to_bytes(8, "little") * 2))
    place = f"../{other.folder.name}/secret.bin" if location == "OTHER" else location
    said = refused(work, order(shelf, "evil.onnx", reaching(place)))
    assert said.startswith("evil.onnx: ")
    assert "root:" not in said


def bomb() -> bytes:
    """A program of PyTorch whose entries unpack to a quarter of a gigabyte each."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m/archive_format", "pt2")
        archive.writestr("m/archive_version", "0")
        for name in ("m/models/model.json", "m/data/weights/model_weights_config.json"):
            with archive.open(name, "w", force_zip64=True) as entry:
                for _ in range(16):
                    entry.write(bytes(16 << 20))
    return content.getvalue()


HOSTILE = {
    "bomb.pt2": bomb,
    "pickle.pt": lambda: pickle.dumps(Path("x")),
    "script.py": lambda: b"import os\nos.abort()\n",
    "brackets.toml": lambda: b"a = " + b"[" * 1_000_000,
    "tables.toml": lambda: b"".join(b"[t%d]\n" % one for one in range(100_000)),
    "dots.toml": lambda: b".".join([b"a"] * 300_000) + b" = 1",
    "long.toml": lambda: b"x = 1\n" * 500_000,
    "wide.onnx": lambda: reaching("x") * 20_000,
    "nested.json": lambda: b'{"a":' * 1_000_000,
    "big.tflite": lambda: b"\xff\xff\xff\x7fTFL3" + b"\xff" * 1000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_was_made_to_do_harm_is_an_error_that_names_it(name: str, shelf: Shelf, work: Work) -> None:
    assert refused(work, order(shelf, name, HOSTILE[name]())).startswith(f"{name}: ")


def test_no_python_file_runs_however_it_is_named(shelf: Shelf, work: Work, tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    code = f"open({str(sign)!r}, 'w')\n".encode()
    for name, choices in (("x.py", ""), ("x.py", "build"), ("x", "y.py"), ("x", "y.py:build"), ("x.onnx", "../x.py")):
        refused(work, order(shelf, name, code, choices))
    assert not sign.exists()


@pytest.mark.parametrize("name", ["torchvision", "timm", "transformers"])
def test_an_upload_that_is_called_like_a_library_is_a_file(name: str, shelf: Shelf, work: Work) -> None:
    assert f"_{name}" in refused(work, order(shelf, name, b"text", "resnet50"))


def test_an_upload_that_is_called_like_a_network_is_a_file(shelf: Shelf, work: Work) -> None:
    assert refused(work, order(shelf, "alexnet", b"text")).startswith("alexnet: ")
    assert json.loads(work.do(report_json, Order("alexnet")))["network"]["name"] == "alexnet"


def test_an_upload_that_has_gone_is_said(shelf: Shelf, work: Work) -> None:
    asked = order(shelf, "a.onnx", b"x")
    shelf.drop_model(Path(asked.folder).name)
    for one in list(Path(asked.folder).iterdir()):
        one.unlink()
    Path(asked.folder).rmdir()
    assert refused(work, asked) == "model: this model is not here any more; upload it again"


@pytest.mark.parametrize("content", [b"", b"[" * 1_000_000, b'{"a":' * 1_000_000, b"\xff", b"{}", b"null", b"1e999"])
def test_what_is_no_report_is_said_by_its_name(content: bytes, work: Work) -> None:
    with pytest.raises(BadSpec, match=r"^mine\.json: "):
        work.do(saved_json, Saved("mine.json", content))
