"""The option ``--input``, for files and for PyTorch models."""

from __future__ import annotations

from pathlib import Path

import pytest

from weighbridge import BadSpec, TensorSpec
from weighbridge.cli.main import main
from weighbridge.stated_inputs import parse


def test_by_position_by_name_and_with_types() -> None:
    stated = parse(["1x3x224x224", "ids=1x128:int64", "2,5:bool", "scale=scalar", "a=b=1X2", "n:0=7", "5"])
    assert stated.positional == (TensorSpec((1, 3, 224, 224)), TensorSpec((2, 5), "bool"), TensorSpec((5,)))
    assert stated.named == {
        "ids": TensorSpec((1, 128), "int64"),
        "scale": TensorSpec(()),
        "a=b": TensorSpec((1, 2)),
        "n:0": TensorSpec((7,)),
    }


def test_a_file_gets_shapes_by_name() -> None:
    assert parse(["x=1x3", "y=scalar"]).shapes(is_file=True) == {"x": (1, 3), "y": ()}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["x"], "is no shape of an input; write NAME=1x3x224x224"),
        (["x=1xx2"], "is no shape"),
        (["=1x2"], "is no shape"),
        (["x=1x-2"], "is no shape"),
        (["x="], "is no shape"),
        (["x=1x2:"], "no element type ''"),
        (["x=1x2:int46"], "no element type 'int46'"),
        (["x=99999999999999999999"], "is no shape"),
        (["x=999999999999999999"], "is no shape"),
        (["x=1", "x=2"], "'x' is given twice"),
    ],
    ids=str,
)
def test_what_is_no_input(options: list[str], words: str) -> None:
    with pytest.raises(BadSpec, match=f"^--input: .*{words}"):
        parse(options)


@pytest.mark.parametrize(
    ("option", "words"), [("1x3x9x9", "the input of a file has a name"), ("x=1x3:int64", "element types")]
)
def test_what_a_file_does_not_take(option: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")
    assert main(["weigh", str(tmp_path / "model.onnx"), "--input", option]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("option", ["1x3x9x9", "x=1x3:int64", "x=1x3"])
@pytest.mark.parametrize(
    ("source", "words"), [("alexnet", "alexnet:resolution=256"), ("none.onnx", "no such file"), ("Net", "neither")]
)
def test_what_is_no_file_is_refused_for_that(
    source: str, option: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["weigh", source, "--input", option]) == 2
    assert words in capsys.readouterr().err
