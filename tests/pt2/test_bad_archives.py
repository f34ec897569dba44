"""Archives that are damaged, of another kind, or made to harm: one clear error each, at little cost."""

from __future__ import annotations

import copy
import io
import json
import struct
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pt2.build import convolutional, dynamic, entries, node, program, written
from weighbridge.errors import BadModel, NeedsShape, UnsupportedFormat, WeighbridgeError
from weighbridge.frontends.aten_archive import load_pt2
from weighbridge.frontends.zip_entries import ZipEntries

Json = Any


def refused(content: bytes, folder: Path) -> WeighbridgeError:
    """The error in which a file ends; it says where, and what to do next."""
    path = folder / "net.pt2"
    path.write_bytes(content)
    with pytest.raises(WeighbridgeError) as caught:
        load_pt2(path)
    assert caught.value.where.startswith("net.pt2")
    assert caught.value.hint
    assert str(caught.value).isprintable()
    return caught.value


def with_program(made: Json) -> bytes:
    return written(entries(made))


def with_program_only(made: Json) -> bytes:
    return written({"net/models/model.json": json.dumps(made).encode(), "net/archive_format": b"pt2"})


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda data: data[: len(data) // 2], "the zip archive cannot be read"),
        (lambda data: data[:-30], "the zip archive cannot be read"),
        (lambda data: b"PK\x03\x04", "the zip archive cannot be read"),
        (lambda data: b"PK\x05\x06" + bytes(18), "no models/*.json in the archive"),
        (lambda data: data.replace(b'"graph_module"', b'"grafh_module"'), "Bad CRC-32"),
    ],
)
def test_a_file_that_is_cut_short_or_damaged(damage: Callable[[bytes], bytes], says: str, tmp_path: Path) -> None:
    error = refused(damage(with_program(convolutional())), tmp_path)
    assert isinstance(error, BadModel)
    assert says in str(error)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "this is no JSON"),
        (b"{", "this is no JSON"),
        (b"\xff\xfe", "this is no JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"graph_module":' * 100_000, "nested too deeply"),
        (b'{"schema_version": {"major": ' + b"9" * 5000 + b"}}", "this is no JSON"),
        (b"[]", "there should be an object"),
        (b"null", "there should be an object"),
        (b"{}", "there is no 'schema_version'"),
    ],
)
def test_what_is_no_program(text: bytes, says: str, tmp_path: Path) -> None:
    error = refused(written({**entries(convolutional()), "net/models/model.json": text}), tmp_path)
    assert says in error.what


@pytest.mark.parametrize(("major", "minor"), [(7, 3), (9, 0), (-1, 0)])
def test_a_version_that_is_not_known_is_named(major: int, minor: int, tmp_path: Path) -> None:
    made = convolutional()
    made["schema_version"] = {"major": major, "minor": minor}
    error = refused(with_program(made), tmp_path)
    assert isinstance(error, UnsupportedFormat)
    assert error.what == f"version {major}.{minor} of the format, written by PyTorch 2.14.1; version 8 is read here"


def test_a_newer_minor_version_is_read_and_named(tmp_path: Path) -> None:
    made = convolutional()
    made["schema_version"]["minor"] = 99
    path = tmp_path / "net.pt2"
    path.write_bytes(with_program(made))
    assert "format 8.99, newer than the 8.20 that is known here" in load_pt2(path).capture


def _graph(made: Json) -> Json:
    return made["graph_module"]["graph"]


def _x(made: Json) -> Json:
    return _graph(made)["tensor_values"]["x"]


def _input(made: Json) -> Json:
    return _graph(made)["nodes"][0]["inputs"][0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda made: _x(made)["sizes"].__setitem__(0, {"as_int": -1}), "a size of -1"),
        (lambda made: _x(made)["sizes"].__setitem__(0, {"as_int": 2**48 + 1}), f"a size of {2**48 + 1}"),
        (lambda made: _x(made)["sizes"].__setitem__(0, {"as_int": True}), "there should be a whole number, not true"),
        (lambda made: _x(made)["sizes"].__setitem__(0, {"as_int": 1.5}), "there should be a whole number, not 1.5"),
        (lambda made: _x(made)["sizes"].__setitem__(0, {"as_int": "1"}), 'there should be a whole number, not "1"'),
        (lambda made: _x(made)["sizes"].__setitem__(0, {"as_many": 1}), "a size cannot be 'as_many'"),
        (lambda made: _x(made)["sizes"].__setitem__(0, {}), "an object with one member"),
        (lambda made: _x(made).update(sizes=[{"as_int": 1}] * 65), "65 dimensions"),
        (lambda made: _x(made).update(dtype=99), "99 is no element type that is known"),
        (lambda made: _x(made).pop("sizes"), "there is no 'sizes'"),
        (lambda made: _input(made)["arg"].update(as_tensor={"name": "nowhere"}), "nothing makes the tensor 'nowhere'"),
        (lambda made: _input(made)["arg"].update(as_tensor={"name": "linear"}), "nothing makes the tensor 'linear'"),
        (lambda made: _input(made).update(arg={"as_unheard": 1}), "an argument of the kind 'as_unheard'"),
        (
            lambda made: _input(made).update(arg={"as_sym_int": {"as_name": "n"}}),
            "nothing is said about the number 'n'",
        ),
        (lambda made: _graph(made).update(nodes=5), "there should be a list, not 5"),
        (lambda made: _graph(made)["tensor_values"].pop("mean"), "nothing is said about the tensor 'mean'"),
        (
            lambda made: made["graph_module"]["signature"]["input_specs"].append({"new": {}}),
            "an input of the kind 'new'",
        ),
        (lambda made: made["graph_module"].pop("signature"), "there is no 'signature'"),
    ],
)
def test_a_program_that_contradicts_itself(change: Callable[[Json], object], says: str, tmp_path: Path) -> None:
    made = convolutional()
    change(made)
    error = refused(with_program_only(made), tmp_path)
    assert isinstance(error, BadModel)
    assert says in error.what
    assert "$" in error.where


@pytest.mark.parametrize(
    "text",
    [
        "2**1000",
        "Pow(Integer(2), Integer(9999999))",
        "Mul(" * 500 + "1" + ")" * 500,
        "(" * 5000 + "1" + ")" * 5000,
        "1 " + "+ 1" * 9000,
        "__import__('os').system('true')",
        "Symbol('x').__class__",
        "[i for i in range(9)]",
        "lambda: 1",
        "FloorDiv(Integer(1), Integer(0))",
        "Mul(Integer(9223372036854775807), Integer(9223372036854775807))",
        "LShift(Integer(1), Integer(1000000))",
        "Float('nan')",
        "Float('1e999')",
        "Float('1.5')",
        "Rational(1, 3)",
        "Integer(-4)",
        "Max()",
        "FloorDiv(Integer(1))",
        "Integer('5')",
        "True",
        "1e400",
        "9" * 5000,
        "",
        "\x00",
        "é",
    ],
)
@pytest.mark.parametrize("name", ["x", "conv2d"])
def test_a_size_that_is_no_formula(text: str, name: str, tmp_path: Path) -> None:
    made = convolutional()
    _graph(made)["tensor_values"][name]["sizes"][0] = {"as_expr": {"expr_str": text}}
    error = refused(with_program(made), tmp_path)
    if text not in ("é", "Symbol('x').__class__"):
        assert isinstance(error, BadModel)
        assert "$.graph_module.graph.tensor_values" in error.where


def test_a_formula_with_a_symbol_that_no_input_has(tmp_path: Path) -> None:
    made = convolutional()
    _graph(made)["tensor_values"]["conv2d"]["sizes"][0] = {"as_expr": {"expr_str": "2*s5"}}
    error = refused(with_program(made), tmp_path)
    assert isinstance(error, NeedsShape)
    assert error.hint == "give it: --dim s5=128"


# The archive


def test_an_entry_that_unpacks_to_too_much_is_never_unpacked(tmp_path: Path) -> None:
    bomb = b'{"a": "' + bytes(64 << 20) + b'"}'
    files = {**entries(convolutional()), "net/models/model.json": bomb}
    content = written(files, zipfile.ZIP_DEFLATED)
    assert len(content) < 1 << 20
    tracemalloc.start()
    error = refused(content, tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "unpacks" in error.what
    assert peak < 4 << 20


def test_an_entry_that_claims_to_be_huge_is_never_read(tmp_path: Path) -> None:
    content = with_program(convolutional())
    at = content.index(b"net/models/model.json", content.index(b"PK\x01\x02")) - 46
    sizes = struct.pack("<II", (300 << 20), (300 << 20))
    error = refused(content[: at + 20] + sizes + content[at + 28 :], tmp_path)
    assert "268,435,456 is the most that is read" in error.what


def test_an_entry_that_claims_to_be_smaller_than_it_is(tmp_path: Path) -> None:
    content = written(entries(convolutional()), zipfile.ZIP_DEFLATED)
    at = content.index(b"net/models/model.json", content.index(b"PK\x01\x02")) - 46
    assert isinstance(refused(content[: at + 24] + struct.pack("<I", 10) + content[at + 28 :], tmp_path), BadModel)


def test_a_directory_with_too_many_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weighbridge.frontends.zip_entries.MAX_ENTRIES", 9)
    files = {f"{number}": b"" for number in range(10)}
    assert refused(written(files), tmp_path).what == "an archive of 10 files; 9 is the most"


def test_a_directory_with_too_many_bytes(tmp_path: Path) -> None:
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 9, 9, 100 << 20, 0, 0)
    sparse = tmp_path / "sparse.pt2"
    with sparse.open("wb") as file:
        file.truncate(100 << 20)
        file.seek(0, 2)
        file.write(end)
    with pytest.raises(BadModel, match="a directory of 104,857,600 bytes"):
        load_pt2(sparse)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_of_one_name(tmp_path: Path) -> None:
    stream = io.BytesIO(with_program(convolutional()))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("net/models/model.json", json.dumps(dynamic()))
    assert "two files in the archive are called 'net/models/model.json'" in refused(stream.getvalue(), tmp_path).what


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_packing_are_refused(method: int, tmp_path: Path) -> None:
    assert "packed in a way that is not read" in refused(written(entries(convolutional()), method), tmp_path).what


def test_names_are_never_paths(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    secret = tmp_path / "models"
    secret.mkdir()
    (secret / "model.json").write_text("{}")
    files = entries(convolutional())
    evil = {name.replace("net/", "../"): content for name, content in files.items()}
    path = inside / "net.pt2"
    path.write_bytes(written(evil))
    assert len(load_pt2(path).nodes) == 4
    assert sorted(one.name for one in tmp_path.iterdir()) == ["inside", "models"]
    assert sorted(one.name for one in inside.iterdir()) == ["net.pt2"]


def test_only_json_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    read = ZipEntries.read

    def noted(self: ZipEntries, name: str, most_bytes: int) -> bytes:
        opened.append(name)
        return read(self, name, most_bytes)

    monkeypatch.setattr(ZipEntries, "read", noted)
    path = tmp_path / "net.pt2"
    path.write_bytes(with_program(convolutional()))
    load_pt2(path)
    assert sorted(opened) == [
        "net/data/constants/model_constants_config.json",
        "net/data/weights/model_weights_config.json",
        "net/models/model.json",
    ]


def test_weights_and_constants_may_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "net.pt2"
    content = with_program(convolutional()).replace(b"touch poisoned", b"TOUCH poisoned")
    path.write_bytes(content)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is not None
    assert len(load_pt2(path).nodes) == 4


def test_compiled_code_is_refused(tmp_path: Path) -> None:
    files = {"net/archive_format": b"pt2", "net/data/aotinductor/model/a.so": b"\x7fELF"}
    error = refused(written(files), tmp_path)
    assert isinstance(error, UnsupportedFormat)
    assert "compiled code and no program" in error.what
    assert "torch.export.save" in error.hint


def test_names_that_would_move_the_cursor_are_escaped(tmp_path: Path) -> None:
    made = convolutional()
    _input(made)["arg"]["as_tensor"]["name"] = "\x1b[31m\n\u202e"
    assert "\\x1b[31m" in str(refused(with_program(made), tmp_path))


def _deep(depth: int) -> Json:
    made = program([node("aten.relu.default", {"self": "a"}, ["r"])], {"a": (1,), "r": (1,)}, ["r"], inputs=("a",))
    for _ in range(depth):
        graph = {"as_graph": {"name": "g", "graph": _graph(made)}}
        wrap = node("higher_order.wrap", {"g": graph, "a": "a"}, ["r"])
        made = program([wrap], {"a": (1,), "r": (1,)}, ["r"], inputs=("a",))
    return made


def test_graphs_inside_graphs_end_somewhere(tmp_path: Path) -> None:
    path = tmp_path / "net.pt2"
    path.write_bytes(with_program(_deep(16)))
    assert len(load_pt2(path).nodes) == 1
    assert "nested too deeply" in refused(with_program(_deep(17)), tmp_path).what


def _places(value: Json) -> Iterator[tuple[Json, Any]]:
    """Every member and element of a structure, by what holds it and its key."""
    pairs = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, inner in pairs:
        yield value, key
        yield from _places(inner)


@pytest.mark.parametrize("wrong", [None, -1, "x", [], "__missing__"], ids=repr)
def test_any_single_value_may_be_wrong(wrong: Json, tmp_path: Path) -> None:
    """Each value of the whole program replaced or taken away: a graph, or an error that says where it stands."""
    whole = dynamic()
    path = tmp_path / "net.pt2"
    count = len(list(_places(whole)))
    for index in range(count):
        made = copy.deepcopy(whole)
        holder, key = list(_places(made))[index]
        if wrong == "__missing__":
            del holder[key]
        else:
            holder[key] = wrong
        path.write_bytes(with_program_only(made))
        try:
            load_pt2(path, dims={"s77": 4, "s27": 16})
        except WeighbridgeError as error:
            assert error.where.startswith("net.pt2")
            assert str(error).isprintable()
