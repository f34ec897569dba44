"""Which of a file's signatures is weighed, and what a user may say of its inputs: names, sizes, types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tflite.build import graph, load, model, op, shapes, tensor
from tests.tflite.damage import Damaged, external, renamed
from weighbridge import weigh
from weighbridge.cli.main import main
from weighbridge.errors import BadModel, BadSpec, NeedsShape

OPEN = (-1, 8)


def linear(shape: tuple[int, ...], signature: tuple[int, ...] | None = None, name: str = "serving_default_x:0") -> Any:
    """A layer of 8 features to 4, which takes any number of rows."""
    tensors = [
        tensor(name, shape, signature=signature),
        tensor("w", (4, 8), data=True),
        tensor("y", (*shape[:-1], 4), signature=None if signature is None else (*signature[:-1], 4)),
    ]
    return graph(tensors, [op("FULLY_CONNECTED", f"{name} w -", "y", {"keep_num_dims": True})], name, "y")


def two() -> bytes:
    """A signature for a product of 2 x 8, and one for a product of 16 x 8."""
    graphs = [linear((2, 8), name="encode_x:0"), linear((16, 8), name="decode_x:0")]
    return model(*graphs, signatures={"encode": (0, {"x": "encode_x:0"}), "decode": (1, {"x": "decode_x:0"})})


# Signatures


def test_a_signature_chooses_its_subgraph_and_a_note_names_the_others(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(two())
    assert weigh(path).facts.macs == weigh(f"{path}:encode").facts.macs == 2 * 32
    report = weigh(f"{path}:decode")
    assert report.facts.macs == 16 * 32
    assert [one.name for one in report.network.inputs] == ["decode_x:0"]
    notes = "\n".join(report.notes)
    assert "weighed is the signature decode; path:NAME chooses another signature: encode, decode" in notes
    assert "subgraphs that nothing calls are not counted: 0" in notes


@pytest.mark.parametrize("name", ["model.tflite", "model.bin", "model", "a:b.tflite"])
def test_a_signature_stands_behind_a_path_of_any_ending(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(two())
    assert weigh(f"{path}:decode").facts.macs == 16 * 32


def test_a_signature_that_does_not_exist_is_an_error_that_names_those_that_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(two())
    assert main(["weigh", f"{path}:encoder"]) == 2
    said = "model.tflite: there is no signature 'encoder'; its signatures are encode, decode"
    assert said in capsys.readouterr().err
    path.write_bytes(model(linear((2, 8))))
    with pytest.raises(BadSpec, match="there is no signature 'serve'; it has no signatures"):
        weigh(f"{path}:serve")


def test_a_signature_whose_subgraph_is_not_the_first_is_no_default() -> None:
    graphs = [linear((2, 8), name="a"), linear((16, 8), name="b")]
    made = model(*graphs, signatures={"one": 1, "other": 1})
    assert load(made).inputs == ("a",)
    assert "weighed is the first subgraph, of no signature" in "\n".join(load(made).notes)
    assert load(made, signature="one").inputs == ("b",)


def test_what_stands_behind_the_path_of_another_format_is_refused(shared: Path) -> None:
    path = shared / "data" / "onnx" / "real_models" / "Regression.onnx"
    with pytest.raises(BadSpec, match="there is nothing to choose in an ONNX model"):
        weigh(f"{path}:serve")


# Names of inputs


def signed(**more: Any) -> bytes:
    return model(linear((1, 8), OPEN), signatures={"serving_default": (0, {"x": "serving_default_x:0"})}, **more)


@pytest.mark.parametrize("name", ["x", "serving_default_x:0"])
def test_an_input_has_the_name_of_its_tensor_and_that_in_the_signature(name: str, tmp_path: Path) -> None:
    found = load(signed(), inputs={name: (5, 8)})
    assert found.inputs == ("serving_default_x:0",)
    assert shapes(found) == [(5, 4)]
    path = tmp_path / "model.tflite"
    path.write_bytes(signed())
    for source in (str(path), f"{path}:serving_default"):
        assert main(["weigh", source, "--input", f"{name}=5x8", "-o", str(tmp_path / "out.json")]) == 0


def test_messages_use_the_name_in_the_signature() -> None:
    with pytest.raises(BadSpec, match="the model has no input 'z'; its inputs are x"):
        load(signed(), inputs={"z": (5, 8)})
    with pytest.raises(BadSpec, match="the input 'x' is given twice; x is another name for it"):
        load(signed(), inputs={"serving_default_x:0": (5, 8), "x": (5, 8)})


def test_a_name_in_the_signature_that_is_the_tensor_of_another_input_is_that_tensors() -> None:
    tensors = [tensor(name, (2,)) for name in ("a", "b", "y")]
    crossed = {"serve": (0, {"b": "a", "a": "b"})}
    found = load(model(graph(tensors, [op("ADD", "a b", "y", {})], "a b", "y"), signatures=crossed), inputs={"a": (1,)})
    assert [found.tensors[name].shape for name in found.inputs] == [(1,), (2,)]


def test_inputs_of_one_name_are_numbered_and_can_each_be_given() -> None:
    tensors = [tensor(name, (2, 3)) for name in ("1", "2", "3", "y")]
    whole = graph(tensors, [op("ADD_N", "1 2 3", "y")], "1 2 3", "y")
    data = renamed(whole, lambda name: {"1": "x", "2": "x", "3": ""}.get(name, name))
    assert load(data).inputs == ("x", "x#2", "input_2")
    found = load(data, inputs={"x": (4, 3), "x#2": (4, 3), "input_2": (4, 3)})
    assert shapes(found) == [(4, 3)]


def test_an_input_that_is_listed_twice_is_one() -> None:
    tensors = [tensor("x", (2,)), tensor("y", (2,))]
    assert load(model(graph(tensors, [op("ADD", "x x", "y", {})], "x x", "y y"))).inputs == ("x",)


# Sizes


def test_the_stored_shape_is_weighed_with_a_note_whatever_may_change() -> None:
    found = load(signed())
    assert shapes(found) == [(1, 4)]
    assert found.notes == (
        "the file lets dimensions of serving_default_x:0 change: weighed at the shape that it stores",
    )
    assert "lets dimensions" not in "".join(load(signed(), batch=3).notes)


def test_only_an_open_size_in_the_shape_itself_is_a_question() -> None:
    made = model(linear((-1, 8)), signatures={"serve": (0, {"x": "serving_default_x:0"})})
    with pytest.raises(NeedsShape, match=r"dimension 0 of the input 'x' \(\? x 8\) is open; give it: --batch 4"):
        load(made)
    for sizes in ({"batch": 7}, {"inputs": {"x": (7, 8)}}):
        assert shapes(load(made, **sizes)) == [(7, 4)]
    with pytest.raises(NeedsShape, match=r"dimension 1 of the input 'x' .* is open; give it: --input x=1x128x8"):
        load(model(linear((1, -1, 8)), signatures={"serve": (0, {"x": "serving_default_x:0"})}))


def test_where_a_file_leaves_a_size_open_its_arena_is_that_of_the_size_given() -> None:
    """Slices and reshapes have kernels that compute with the sizes that the file states."""
    ends = [tensor(name, (2,), "INT32", data=values) for name, values in (("b", [0, 0]), ("e", [9, 4]), ("s", [1, 2]))]
    tensors = [tensor("x", (-1, 8)), *ends, tensor("y", (-1, 2))]
    options = {"begin_mask": 1, "end_mask": 1}
    made = model(graph(tensors, [op("STRIDED_SLICE", "x b e s", "y", options)], "x", "y"))
    found = load(made, batch=6)
    assert shapes(found) == [(6, 2)]
    assert found.arena is not None
    assert {one.bytes for one in found.arena.buffers} == {6 * 8 * 4, 6 * 2 * 4}
    left = tensor("left", (-1, -1))
    kept = load(model(graph([*tensors, left], [op("STRIDED_SLICE", "x b e s", "y", options)], "x", "y")), batch=6)
    assert kept.arena is not None
    assert not kept.arena.buffers


def test_a_size_that_the_file_fixes_is_replaced() -> None:
    assert shapes(load(model(linear((2, 8))), batch=9)) == [(9, 4)]
    assert shapes(load(model(linear((2, 3, 8))), inputs={"serving_default_x:0": (5, 6, 8)})) == [(5, 6, 4)]


def test_dimensions_without_names_cannot_be_given_by_name(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(signed())
    with pytest.raises(BadSpec, match="no input has a dimension called 'n'; it has no named dimensions"):
        weigh(path, dims={"n": 4})
    with pytest.raises(BadSpec, match="this format names no dimensions; give the whole shape: --input x=1x128"):
        weigh(path, sequence=4)


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({"x": (5, 8, 1)}, "3 dimensions for the input 'x'; it is 1 x 8"),
        ({"x": (5, 7)}, "features"),
        ({"x": (0, 8)}, "a size of 0 for the input 'x'"),
        ({"x": (1 << 60, 8)}, "a size of 1152921504606846976"),
    ],
)
def test_sizes_that_do_not_fit_are_errors(inputs: dict[str, tuple[int, ...]], says: str) -> None:
    with pytest.raises((BadSpec, BadModel), match=says):
        load(signed(), inputs=inputs)


# Element types


@pytest.mark.parametrize(
    ("kind", "name", "size"),
    [
        ("FLOAT32", "float32", 400),
        ("FLOAT16", "float16", 200),
        ("BFLOAT16", "bfloat16", 200),
        ("INT4", "int4", 50),
        ("UINT4", "uint4", 50),
        ("INT2", "int2", 25),
        ("BOOL", "bool", 100),
        ("COMPLEX64", "complex64", 800),
        ("COMPLEX128", "complex128", 1600),
        ("UINT64", "uint64", 800),
        ("UINT16", "uint16", 200),
    ],
)
def test_inputs_of_every_type_have_their_size(kind: str, name: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(model(graph([tensor("x", (100,), kind), tensor("y", (100,), kind)], [], "x", "x")))
    report = weigh(path)
    assert [(one.dtype, one.shape) for one in report.network.inputs] == [(name, (100,))]
    assert report.facts.activations.total_bytes == size


@pytest.mark.parametrize("number", [21, 22])
def test_the_newest_types_are_known(number: int) -> None:
    found = Damaged(model(graph([tensor("x", (3,), "INT8")], [], "x", "x")))
    kept = load(bytes(found.set(found.graph.Tensors(0), 1, "b", number)))
    assert kept.tensors["x"].dtype.bits == 8
    assert kept.tensors["x"].dtype.kind == "float"


def test_text_has_no_size_and_a_note_says_so(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    tensors = [tensor("text", (2, 3), "STRING"), tensor("y", (3, 2), "STRING")]
    shape = tensor("shape", (2,), "INT32", data=[3, 2])
    path.write_bytes(model(graph([*tensors, shape], [op("RESHAPE", "text shape", "y")], "text", "y")))
    report = weigh(path)
    assert report.facts.exact
    assert report.facts.activations.total_bytes is None
    assert report.memory.peak_bytes["live"] is None
    assert "the size of text is unknown" in "\n".join(report.notes)


def test_a_sparse_tensor_counts_with_all_values_and_a_note(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    w = tensor("w", (4, 8), data=bytes(4 * 5), sparse=5)
    tensors = [tensor("x", (1, 8)), w, tensor("y", (1, 4))]
    path.write_bytes(model(graph(tensors, [op("FULLY_CONNECTED", "x w -", "y", {})], "x", "y")))
    report = weigh(path)
    assert (report.facts.parameters, report.facts.macs, report.facts.exact) == (32, 32, True)
    assert "w is stored sparse: 5 of 32 values; it counts with all of them" in report.notes


def test_stored_tensors_that_nothing_reads_are_named() -> None:
    tensors = [tensor("x", (2,)), tensor("y", (2,)), tensor("left", (3,), data=True), tensor("over", (5,), data=True)]
    found = load(model(graph(tensors, [op("RELU", "x", "y")], "x", "y")))
    assert found.notes == ("stored tensors that nothing reads are not counted, 32 B: left, over",)


def test_values_in_another_file_count_by_their_size(tmp_path: Path) -> None:
    """The schema's ExternalBuffer, which the package does not write: a number for it, and how many bytes it has."""
    path = tmp_path / "model.tflite"
    path.write_bytes(external(48))
    report = weigh(path)
    assert (report.facts.parameters, report.facts.parameter_bytes, report.facts.exact) == (12, 48, True)
    path.write_bytes(external(47))
    with pytest.raises(BadModel, match="has 47 bytes where its shape needs 48"):
        weigh(path)
    path.write_bytes(external(48, number=9))
    with pytest.raises(BadModel, match="there is no external buffer 7"):
        weigh(path)
