"""Files that are damaged or hostile: each ends in one clear error that names the file, never in anything else."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tflite.build import graph, load, model, op, tensor
from tests.tflite.damage import Damaged, plain
from tests.tflite.files import tflite_files
from weighbridge import weigh
from weighbridge.cli.main import main
from weighbridge.errors import BadModel, UnsupportedFormat, WeighbridgeError

DAMAGE: dict[str, tuple[Callable[[Damaged], Any], str]] = {
    "root outside": (lambda d: d.raw(0, "I", 1 << 31), "leads to byte 2,147,483,648 of a file of"),
    "root before the file": (lambda d: d.raw(0, "I", 0), "an offset leads to byte 0"),
    "no version": (lambda d: d.set(d.model, 0, "I", 0), "version 0 of the schema is not known, only 3"),
    "another version": (lambda d: d.set(d.model, 0, "I", 1 << 31), "version 2147483648 of the schema"),
    "list of fields outside": (lambda d: d.raw(d.root(), "i", -(1 << 30)), "leads to byte 1,073,7"),
    "list of fields before the file": (lambda d: d.raw(d.root(), "i", 1 << 30), "leads to byte -1,073,7"),
    "operators outside": (lambda d: d.set(d.graph, 3, "I", 1 << 30), "leads to byte 1,073,"),
    "2^31 operators": (lambda d: d.element(d.graph, 3, -1, "I", 1 << 31), "a list of 2,147,483,648 elements"),
    "2^32 - 1 tensors": (lambda d: d.element(d.graph, 0, -1, "I", (1 << 32) - 1), "a list of 4,294,967,295 elements"),
    "2^32 - 1 subgraphs": (lambda d: d.element(d.model, 2, -1, "I", (1 << 32) - 1), "a list of 4,294,967,295 elements"),
    "no subgraph": (lambda d: d.element(d.model, 2, -1, "I", 0), "there is no graph in it"),
    "a name of 1 GB": (
        lambda d: d.element(d.graph.Tensors(0), 3, -1, "I", 1 << 30),
        "tensor 0: a list of 1,073,741,824",
    ),
    "a dimension below -1": (
        lambda d: d.element(d.graph.Tensors(1), 0, 0, "i", -3),
        "tensor 1: it has the shape -3 x 4",
    ),
    "the smallest dimension": (
        lambda d: d.element(d.graph.Tensors(1), 0, 0, "i", -(1 << 31)),
        "the shape -2147483648 x 4",
    ),
    "an element type": (lambda d: d.set(d.graph.Tensors(4), 1, "b", 99), "tensor 4: the element type 99 is not known"),
    "a negative element type": (lambda d: d.set(d.graph.Tensors(4), 1, "b", -1), "the element type -1 is not known"),
    "a buffer": (lambda d: d.set(d.graph.Tensors(1), 2, "I", 77), "tensor 1: there is no buffer 77, only 4"),
    "values that are too few": (
        lambda d: d.element(d.model.Buffers(1), 0, -1, "I", 3),
        "has 3 bytes where its shape needs 12",
    ),
    "an operator code": (
        lambda d: d.set(d.graph.Operators(1), 0, "I", 9),
        "operator 1: there is no operator code 9, only 2",
    ),
    "an operand": (lambda d: d.element(d.graph.Operators(0), 1, 1, "i", 5), "operator 0: there is no tensor 5, only 5"),
    "an operand of -2": (lambda d: d.element(d.graph.Operators(0), 1, 1, "i", -2), "there is no tensor -2"),
    "a result that is absent": (lambda d: d.element(d.graph.Operators(0), 2, 0, "i", -1), "there is no tensor -1"),
    "an input": (lambda d: d.element(d.graph, 1, 0, "i", 1 << 30), "subgraph 0: there is no tensor 1073741824, only 5"),
    "an output": (lambda d: d.element(d.graph, 2, 0, "i", -1), "subgraph 0: there is no tensor -1"),
    "an output that nothing makes": (
        lambda d: d.element(d.graph.Operators(1), 2, 0, "i", 0),
        "makes tensor 0 .* exists already",
    ),
    "an operand that nothing makes": (
        lambda d: d.element(d.graph, 1, 0, "i", 4),
        r"h: reads tensor 0 \('x'\), which no operator before it makes; its operators are out of order, or in a circle",
    ),
    "a circle": (lambda d: d.element(d.graph.Operators(0), 1, 0, "i", 4), r"h: reads tensor 4 \('y'\)"),
    "an operator on its own result": (
        lambda d: d.element(d.graph.Operators(1), 1, 0, "i", 4),
        r"y: reads tensor 4 \('y'\)",
    ),
    "a tensor made twice": (
        lambda d: d.element(d.graph.Operators(1), 2, 0, "i", 3),
        r"makes tensor 3 \('h'\), which exists",
    ),
    "the subgraph of a signature": (
        lambda d: d.set(d.model.SignatureDefs(0), 4, "I", 3),
        "signature 0: there is no subgraph 3",
    ),
    "the buffer of metadata": (lambda d: d.set(d.model.Metadata(0), 1, "I", 50), "there is no buffer 50"),
    "the options of an operator": (
        lambda d: d.set(d.graph.Operators(0), 4, "I", 1 << 30),
        "operator 0: an offset leads to",
    ),
}


def damaged(name: str) -> bytes:
    """Numbers that are 0 stand in no file: the last tensor has a type that does, and signatures one subgraph more."""
    tensors = [
        tensor("x", (1, 4), "INT8"),
        tensor("w", (3, 4), "INT8", data=True),
        tensor("b", (3,), "INT32", data=True),
        tensor("h", (1, 3), "INT8"),
        tensor("y", (1, 3), "INT8"),
    ]
    made = [op("FULLY_CONNECTED", "x w b", "h", {"keep_num_dims": True}), op("RELU", "h", "y")]
    whole = graph(tensors, made, "x", "y")
    data = model(whole, graph(tensors[:1], [], "x", "x"), signatures={"serve": 1}, metadata={"note": b"text"})
    return bytes(DAMAGE[name][0](Damaged(data)))


@pytest.mark.parametrize("name", DAMAGE)
def test_one_wrong_number_is_one_clear_error(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(damaged(name))
    with pytest.raises(BadModel, match=rf"model\.tflite: .*{DAMAGE[name][1]}") as raised:
        weigh(path)
    assert raised.value.hint
    assert main(["weigh", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"weighbridge: error: {raised.value}\n"


def test_operators_out_of_order_are_named() -> None:
    tensors = [tensor(name, (2,)) for name in ("x", "a", "b", "y")]
    made = [op("ADD", "x b", "a", {}), op("RELU", "x", "b"), op("RELU", "a", "y")]
    with pytest.raises(BadModel, match=r"a: reads tensor 2 \('b'\), which no operator before it makes"):
        load(model(graph(tensors, made, "x", "y")))


def test_a_code_that_nobody_knows_stays_named_and_uncounted(tmp_path: Path) -> None:
    found = Damaged(plain())
    path = tmp_path / "model.tflite"
    path.write_bytes(bytes(found.set(found.model.OperatorCodes(1), 3, "i", 4321)))
    facts = weigh(path).facts
    assert not facts.exact
    assert [(one.operator, one.reason) for one in facts.uncounted] == [
        ("BUILTIN_4321", "there is no rule for BUILTIN_4321")
    ]
    assert facts.macs == 12


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        ((2**31 - 1, 2**31 - 1, 2**31 - 1), "more bytes than 64 bits can count"),
        ((2**31 - 1, 2**31 - 1, 2), "more bytes than 64 bits can count"),
        ((1,) * 65, "it has 65 dimensions, more than 64"),
        ((1,) * 5000, "it has 5,000 dimensions"),
    ],
    ids=["3 dimensions", "of 4 bytes", "65 dimensions", "5,000 dimensions"],
)
def test_a_shape_that_no_machine_holds_is_refused(shape: tuple[int, ...], says: str) -> None:
    with pytest.raises(BadModel, match=rf"subgraph 0: tensor 0: .*{says}"):
        load(model(graph([tensor("x", shape), tensor("y", shape)], [op("RELU", "x", "y")], "x", "y")))


def test_the_largest_shape_that_64_bits_count_is_weighed() -> None:
    shape = (2**31 - 1, 2**31 - 1)
    found = load(
        model(graph([tensor("x", shape, "INT8"), tensor("y", shape, "INT8")], [op("ABS", "x", "y")], "x", "y"))
    )
    assert found.tensors[found.outputs[0]].shape == shape


# Whole files


def ends_well(path: Path) -> str:
    """What weighing a file ends in: a report, or an error of ours."""
    try:
        weigh(path)
    except WeighbridgeError as error:
        assert error.what
        assert str(error).isprintable()
        return type(error).__name__
    return "a report"


def test_every_cut_of_a_model_is_an_error_or_a_report(tmp_path: Path) -> None:
    data, path = plain(), tmp_path / "model.tflite"
    ends = []
    for length in range(len(data)):
        path.write_bytes(data[:length])
        ends.append(ends_well(path))
    assert set(ends) <= {"BadModel", "UnsupportedFormat", "a report"}
    assert ends.count("BadModel") > len(data) * 0.9
    assert ends[0] == ends[8] == ends[40] == "BadModel"


def test_cuts_of_real_models_are_errors_or_reports(shared: Path, tmp_path: Path) -> None:
    path, count = tmp_path / "model.tflite", 0
    for name, file in list(tflite_files(shared).items())[::7]:
        data = file.read_bytes()
        for length in range(0, len(data), max(1, len(data) // 12)):
            path.write_bytes(data[:length])
            assert ends_well(path) in ("BadModel", "UnsupportedFormat", "a report"), (name, length)
            count += 1
    assert count > 250


def test_the_bad_inputs_end_in_one_clear_error(shared: Path) -> None:
    expected = {
        "._source_model.tflite": (UnsupportedFormat, "this is a resource file of macOS, .* without the leading '._'"),
        "DERIVED_identifier_only.tflite": (BadModel, "an offset leads to byte"),
        "LFSPOINTER__ad_large_int8.tflite": (BadModel, "this is a Git LFS pointer, .*git lfs pull"),
        "simple_model_google_tensor.bin": (UnsupportedFormat, "of no format known here"),
        "simple_model_qualcomm.bin": (UnsupportedFormat, "of no format known here"),
    }
    for name, (kind, message) in expected.items():
        with pytest.raises(kind, match=message):
            weigh(shared / "data" / "bad_inputs" / name)


@pytest.mark.parametrize(
    ("content", "kind", "says"),
    [
        (b"", BadModel, "the file is empty"),
        (b"\x1c\0\0\0TFL3", BadModel, "an offset leads to byte 28 of a file of 8"),
        (b"\x1c\0\0\0TFL2" + bytes(64), UnsupportedFormat, "of no format known here"),
        (b"TFL3", UnsupportedFormat, "this is plain text"),
        (b"\0\0\0\0TFL3" + bytes(4096), BadModel, "an offset leads to byte 0"),
        (b"\x04\0\0\0TFL3", BadModel, "an offset"),
        (b"\xff" * 4 + b"TFL3" + b"\xff" * 4096, BadModel, "an offset leads to byte 4,294,967,295"),
        (b"\x08\0\0\0TFL3" + b"\x04\0\0\0" * 1024, BadModel, "the list of fields|is cut off|version"),
    ],
)
def test_bytes_that_are_no_model(content: bytes, kind: type[WeighbridgeError], says: str, tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(content)
    with pytest.raises(kind, match=says):
        weigh(path)


def test_paths_that_hold_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "folder.tflite").mkdir()
    os.mkfifo(tmp_path / "pipe.tflite")
    for name, says in (
        ("folder.tflite", "this is a folder"),
        ("pipe.tflite", "this is no regular file"),
        ("absent.tflite", "there is no such file"),
        ("absent.tflite:serve", "there is no such file"),
    ):
        assert main(["weigh", str(tmp_path / name)]) == 2
        assert says in capsys.readouterr().err


def test_an_unreadable_file_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(plain())

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(BadModel, match=r"the file cannot be read \(Permission denied\)"):
        weigh(path)


def test_a_file_system_that_maps_no_files_is_read_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(plain())
    expected = weigh(path).facts

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise OSError(19, "No such device")

    monkeypatch.setattr(mmap, "mmap", refuse)
    assert weigh(path).facts == expected


# Buffers behind the flatbuffer


@pytest.mark.parametrize(
    ("offset", "size"),
    [(1 << 40, 48), (2, 1 << 40), ((1 << 64) - 1, (1 << 64) - 1), (1 << 63, 1 << 63), (2, (1 << 64) - 2)],
)
def test_a_buffer_beyond_the_file_is_refused(offset: int, size: int) -> None:
    tensors = [tensor("x", (1, 4)), tensor("w", (3, 4), data=True), tensor("y", (1, 3))]
    data = model(graph(tensors, [op("FULLY_CONNECTED", "x w -", "y", {})], "x", "y"), outside=True)
    found = Damaged(data)
    found.set(found.model.Buffers(1), 1, "Q", offset).set(found.model.Buffers(1), 2, "Q", size)
    with pytest.raises(BadModel, match=f"a buffer of {size:,} bytes at byte {offset:,} goes beyond the file"):
        load(bytes(found))


def test_a_file_that_lost_what_stands_behind_its_flatbuffer_is_refused() -> None:
    tensors = [tensor("x", (1, 4)), tensor("w", (3, 4), data=True), tensor("y", (1, 3))]
    data = model(graph(tensors, [op("FULLY_CONNECTED", "x w -", "y", {})], "x", "y"), outside=True)
    with pytest.raises(BadModel, match=r"goes beyond the file .* the file was cut"):
        load(data[:-48])
