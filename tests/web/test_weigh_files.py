"""Real files, and bad ones: the app says of each what the command line says, and keeps none that is no model."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from tests.web.client import ask, fresh, read
from weighbridge.cli.main import main

GOOD = (
    "tflite/tflm/person_detect.tflite",
    "tflite/litert/simple_add_dynamic_shape.tflite",
    "onnx/ort_odd/30_nested_loops.onnx",
    "onnx/ort_odd/conv.int4_weights.qdq.onnx",
    "onnx/external_data/resnet18/resnet18.onnx",
)
BAD = {
    "truncated.onnx": "bad_inputs/DERIVED_truncated.onnx",
    "identifier.tflite": "bad_inputs/DERIVED_identifier_only.tflite",
    "pointer.tflite": "bad_inputs/LFSPOINTER__ad_large_int8.tflite",
    "pointer.onnx": "bad_inputs/LFSPOINTER__adv_inception_v3_Opset16.onnx",
    "npu.bin": "bad_inputs/simple_model_qualcomm.bin",
    "evil.onnx": "onnx/external_data/test_arbitrary_external_file/test_arbitrary_external_file.onnx",
}
FAULTY = """
name = "x"
inputs = [{ name = "x", shape = [1, -8] }]
layers = [{ name = "fc", op = "liner", out = 4 }, { op = "relu", colour = 1 }]
"""
MADE = {
    "empty.onnx": b"",
    "._model.onnx": b"\0\5\x16\7\0\2\0\0" + bytes(100),
    "pickle.pt": pickle.dumps({"a": 1}),
    "pickle.onnx": pickle.dumps({"a": 1}),
    "python.onnx": b"import os\nos.abort()\n",
    "brackets.json": b"[" * 1_000_000,
    "brackets.onnx": b"[" * 1_000_000,
    "zip.onnx": b"PK\x03\x04" + bytes(100),
    "page.onnx": b"<!doctype html><html><body>not found</body></html>",
    "faulty.toml": FAULTY.encode(),
    "no.toml": b"= [",
}


def told(capsys: pytest.CaptureFixture[str], name: str, *options: str) -> str:
    """What the command line says of a file of this folder."""
    assert main(["weigh", name, "--json", "-", *options]) != 0
    return capsys.readouterr().err.removeprefix("weighbridge: error: ").strip()


def content_of(name: str, shared: Path | None) -> bytes:
    return MADE[name] if shared is None else (shared / "data" / BAD[name]).read_bytes()


def is_said(name: str, content: bytes, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / name).write_bytes(content)
    said = told(capsys, name)
    app = fresh()
    answer = ask("/weigh", method="POST", app=app, files={"file": (name, content)})
    page = read(answer.text)
    assert answer.status_code == 422
    assert page.texts["fault-"].strip() == said
    assert page.fields["model"] == ""
    assert name not in read(ask("/weigh", app=app).text).text
    twin = ask("/weigh.json", method="POST", app=app, files={"file": (name, content)}, data={"batch": "1"})
    assert twin.status_code == 422
    assert twin.json() == {"error": said} or said.splitlines()[0] in twin.json()["error"]


@pytest.mark.parametrize("name", MADE)
def test_of_a_bad_file_the_page_says_what_the_command_line_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    is_said(name, content_of(name, None), tmp_path, capsys)


@pytest.mark.parametrize("name", BAD)
def test_of_a_bad_file_of_somebody_elses_too(
    name: str, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    is_said(name, content_of(name, shared), tmp_path, capsys)


def test_a_python_file_is_not_run() -> None:
    answer = ask("/weigh", method="POST", files={"file": ("net.py", b"raise SystemExit(3)")})
    said = read(answer.text).texts["fault-"]
    assert answer.status_code == 422
    assert said.startswith("net.py: a Python file is imported by the command line alone, as importing it runs it")


def test_a_dimension_that_a_file_leaves_open_is_asked_for_beside_its_field(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = (shared / "data/onnx/external_data/test_evil_weights/test_evil_weights.onnx").read_bytes()
    (tmp_path / "open.onnx").write_bytes(content)
    monkeypatch.chdir(tmp_path)
    said = told(capsys, "open.onnx")
    app = fresh()
    answer = ask("/weigh", method="POST", app=app, files={"file": ("open.onnx", content)})
    page = read(answer.text)
    assert answer.status_code == 422
    assert page.texts["fault-"].strip().startswith(said)
    assert "--batch 4 --input input=4x128" in said
    for name, value in (("batch", "4"), ("inputs", "input=4x128")):
        assert page.texts[f"fault-{name}"].strip() == f"The file leaves this open: it could be {value}"
    assert page.texts["kept"].startswith("The file itself is fine and stays here: fill in batch and inputs, ")
    assert page.texts["fault-dims"].strip() == ""
    # the file is a good one: what it leaves open is filled in without sending it again
    model = page.fields["model"]
    asked = ask("/weigh", method="POST", app=app, data={"model": model, "batch": "4", "inputs": "input=4x128"})
    report = ask(asked.headers["location"].replace("/weighed", "/weighed.json"), app=app)
    assert main(["weigh", "open.onnx", "--batch", "4", "--input", "input=4x128", "--json", "-"]) in (0, 2)
    ours = capsys.readouterr()
    if report.status_code == 200:
        assert report.json() == json.loads(ours.out)
    else:
        assert report.json()["error"] == ours.err.removeprefix("weighbridge: error: ").strip()


@pytest.mark.parametrize("path", GOOD)
def test_an_upload_weighs_what_its_file_does(
    path: str, shared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = shared / "data" / path
    app = fresh()
    sent = ask(
        "/weigh", method="POST", app=app, files={"file": (file.name, file.read_bytes())}, data={"on": "stm32f746"}
    )
    assert sent.status_code == 303
    twin = ask(sent.headers["location"].replace("/weighed", "/weighed.json"), app=app)
    monkeypatch.chdir(file.parent)
    assert main(["weigh", file.name, "--on", "stm32f746", "--json", "-"]) == 0
    assert twin.json() == json.loads(capsys.readouterr().out)
    assert ask(sent.headers["location"], app=app).status_code == 200


def test_a_shape_that_is_computed_from_a_file_of_weights_takes_that_file(
    shared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "data/onnx/external_data/model_with_external_initializers"
    model = (
        "file",
        ("model_with_external_initializers.onnx", (folder / "model_with_external_initializers.onnx").read_bytes()),
    )
    data = ("file", ("folder/Pads.bin", (folder / "Pads.bin").read_bytes()))
    alone = ask("/weigh.json", method="POST", files=[model])
    assert alone.status_code == 422
    assert "its data file 'Pads.bin' cannot be read" in alone.json()["error"]
    monkeypatch.chdir(folder)
    assert main(["weigh", "model_with_external_initializers.onnx", "--json", "-"]) == 0
    ours = json.loads(capsys.readouterr().out)
    for files in ([model, data], [data, model]):
        assert ask("/weigh.json", method="POST", files=files).json() == ours
    for files in ([data, data], [model, model], [model, ("file", ("other.bin", b"x"))]):
        wrong = ask("/weigh.json", method="POST", files=files)
        assert wrong.status_code == 422
        assert "its weights are in" in wrong.json()["error"]
