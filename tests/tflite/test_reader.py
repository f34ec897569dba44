"""The reader against the ``tflite`` package, which the schema's own compiler made: every record of every shared file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flatbuffers
import pytest
import tflite

from tests.tflite.build import graph, model, op, tensor
from tests.tflite.files import tflite_files
from tests.tflite.writer import NEW_TYPES
from weighbridge.frontends.tflite_model import Operator, TfliteModel, TfliteTensor
from weighbridge.frontends.tflite_read import read_model
from weighbridge.frontends.tflite_schema import BUILTIN_OPERATORS, ELEMENT_TYPES, _fields

CODES = {number: name for name, number in vars(tflite.BuiltinOperator).items() if isinstance(number, int)}
TYPES = {number: name for name, number in vars(tflite.TensorType).items() if isinstance(number, int)}
UNIONS = (tflite.BuiltinOptions, tflite.BuiltinOptions2)
NAMES = [{number: name for name, number in vars(union).items() if isinstance(number, int)} for union in UNIONS]
NOT_READ = {"NewHeight", "NewWidth"}
"""Fields that the schema says are no longer used."""


def accessors(kind: type) -> set[str]:
    """The fields that a class of the package reads."""
    known = re.compile(r"Init|GetRootAs\w*|\w+(Length|AsNumpy|IsNone|BufferHasIdentifier)")
    return {name for name in vars(kind) if name[0] != "_" and not known.fullmatch(name)}


def field(found: Any, name: str) -> Any:
    """What the package reads of a field: a number, text, or all of a vector."""
    length = getattr(found, f"{name}Length", None)
    if length is None:
        value = getattr(found, name)()
        return value.decode() if isinstance(value, bytes) else "" if value is None else value
    return [getattr(found, name)(index) for index in range(length())]


def kind_of(name: str) -> type:
    return next(kind for found, kind in vars(tflite).items() if found.lower() == name.lower())


def theirs(union: int, number: int, table: Any) -> dict[str, Any]:
    """All fields of an options table, by the names of the schema without underscores."""
    found = kind_of(NAMES[union][number])()
    found.Init(table.Bytes, table.Pos)
    return {name.lower(): field(found, name) for name in accessors(type(found)) - NOT_READ}


def ours(options: Any) -> dict[str, Any]:
    lists = {name: [] if value is None else list(value) for name, value in options.items() if is_list(value)}
    return {name.replace("_", ""): lists.get(name, value) for name, value in options.items()}


def is_list(value: Any) -> bool:
    return value is None or isinstance(value, tuple | bytes)


def test_the_names_of_operators_and_types_are_those_of_the_schema() -> None:
    assert {number: BUILTIN_OPERATORS[number] for number in CODES} == CODES
    said = {"complex64": "complex64", "opaque": "resource variant"}
    for number, name in TYPES.items():
        mine = ELEMENT_TYPES[number]
        assert name.lower() in said.get(mine, mine).split(), name
    for name, number in NEW_TYPES.items():
        assert ELEMENT_TYPES[number] == name.lower()


class Recorder:
    """Stands for a builder, and notes which slot of a table is written how, and what its default is."""

    def __init__(self) -> None:
        self.kind, self.slot, self.default = "", 0, None

    def __getattr__(self, name: str) -> Any:
        def prepend(slot: int, value: Any, default: Any) -> None:
            self.kind, self.slot, self.default = SLOTS[name], slot, default

        return prepend

    def StartVector(self, size: int, count: int, alignment: int) -> None:  # noqa: N802
        self.slot = size


SLOTS = {
    "PrependBoolSlot": "?",
    "PrependInt8Slot": "b",
    "PrependInt32Slot": "i",
    "PrependUint32Slot": "I",
    "PrependInt64Slot": "q",
    "PrependFloat32Slot": "f",
    "PrependUOffsetTRelativeSlot": "offset",
}


@pytest.mark.parametrize(
    ("union", "number"), [(union, number) for union, names in enumerate(NAMES) for number in names if number]
)
def test_every_field_of_every_option_is_where_the_package_writes_it(union: int, number: int) -> None:
    kind = kind_of(NAMES[union][number])
    mine = {name.replace("_", ""): (place, of, default) for place, name, of, default in _fields(union + 1, number)}
    found = {}
    for accessor in accessors(kind) - NOT_READ:
        recorder = Recorder()
        getattr(tflite, f"{kind.__name__}Add{accessor}")(recorder, 0)
        found[accessor.lower()] = recorder.slot, kind_written(kind, accessor, recorder), recorder.default
    assert {name: place for name, (place, _, _) in mine.items()} == {name: slot for name, (slot, _, _) in found.items()}
    for name, (_, of, default) in mine.items():
        if of == "s" or of[0] == "[":
            assert of == found[name][1]
        else:
            assert (of, default) == found[name][1:]


def kind_written(kind: type, accessor: str, recorder: Recorder) -> str:
    """The kind of a field as the schema here writes it."""
    if recorder.kind != "offset":
        return recorder.kind
    start = getattr(tflite, f"{kind.__name__}Start{accessor}Vector", None)
    if start is None:
        return "s"
    width = Recorder()
    start(width, 0)
    # The elements of a vector are told by what its accessor returns for a vector of zeros.
    data = flatbuffers.Builder(64)
    vector = data.CreateByteVector(bytes(8)) if width.slot == 1 else written(data, width.slot)
    getattr(tflite, f"{kind.__name__}Start")(data)
    getattr(tflite, f"{kind.__name__}Add{accessor}")(data, vector)
    data.Finish(getattr(tflite, f"{kind.__name__}End")(data))
    found = kind()
    found.Init(data.Output(), flatbuffers.encode.Get(flatbuffers.packer.uoffset, data.Output(), 0))
    return f"[{VECTORS[str(getattr(found, f'{accessor}AsNumpy')().dtype)]}"


VECTORS = {"int32": "i", "int64": "q", "float32": "f", "uint8": "B", "uint32": "I", "bool": "?"}


def written(data: Any, width: int) -> int:
    data.StartVector(width, 1, width)
    data.Prepend(flatbuffers.number_types.Uint64Flags if width == 8 else flatbuffers.number_types.Uint32Flags, 0)
    return data.EndVector()


def pairs(shared: Path) -> Iterator[tuple[str, TfliteModel, Any]]:
    for name, path in tflite_files(shared).items():
        if name != "litert/0_subgraphs.bin":
            yield name, read_model(path), tflite.Model.GetRootAs(bytearray(path.read_bytes()), 0)


def test_every_tensor_of_every_shared_file_is_what_the_package_reads(shared: Path) -> None:
    count = 0
    for name, mine, other in pairs(shared):
        assert (mine.version, mine.description) == (other.Version(), field(other, "Description"))
        assert len(mine.subgraphs) == other.SubgraphsLength()
        for number, subgraph in enumerate(mine.subgraphs):
            found = other.Subgraphs(number)
            assert (subgraph.name, list(subgraph.inputs), list(subgraph.outputs)) == (
                field(found, "Name"),
                field(found, "Inputs"),
                field(found, "Outputs"),
            )
            assert len(subgraph.tensors) == found.TensorsLength()
            for one in subgraph.tensors:
                assert of_tensor(one) == tensor_of(found.Tensors(one.number), other), (name, one.name)
                count += 1
    assert count > 1700


def of_tensor(one: TfliteTensor) -> tuple[Any, ...]:
    quantised = one.quantisation
    scales = (quantised.kind, quantised.axis) if quantised else None
    counts = (quantised.scales, quantised.zero_points) if quantised and quantised.kind == "affine" else None
    data = one.data[1] if one.data else 0
    stated = one.shape, one.has_rank, one.signature
    return one.name, *stated, one.dtype.name, one.buffer, one.is_variable, scales, counts, data


def tensor_of(one: Any, other: Any) -> tuple[Any, ...]:
    quantised, kinds = one.Quantization(), {0: "affine", 1: "custom", 2: "blockwise"}
    scales = counts = None
    if quantised is not None and (quantised.ScaleLength() or quantised.DetailsType()):
        scales = kinds[quantised.DetailsType()], quantised.QuantizedDimension()
        counts = None if quantised.DetailsType() else (quantised.ScaleLength(), quantised.ZeroPointLength())
    signature = None if one.ShapeSignatureIsNone() else tuple(field(one, "ShapeSignature"))
    held = other.Buffers(one.Buffer())
    data = held.Size() if held.Offset() > 1 else held.DataLength()
    kind = ELEMENT_TYPES[one.Type()]
    shape = None if one.ShapeIsNone() else tuple(field(one, "Shape"))
    stated = shape, one.HasRank(), signature
    return field(one, "Name"), *stated, kind, one.Buffer(), one.IsVariable(), scales, counts, data


def test_every_operator_of_every_shared_file_is_what_the_package_reads(shared: Path) -> None:
    seen: set[tuple[int, int]] = set()
    for name, mine, other in pairs(shared):
        for number, subgraph in enumerate(mine.subgraphs):
            found = other.Subgraphs(number)
            assert len(subgraph.operators) == found.OperatorsLength()
            for one in subgraph.operators:
                check(one, found.Operators(one.number), other, seen, name)
    assert {union for union, _ in seen} == {0, 1}
    assert len(seen) > 25


def check(one: Operator, found: Any, other: Any, seen: set[tuple[int, int]], name: str) -> None:
    code = other.OperatorCodes(found.OpcodeIndex())
    # The package's own BuiltinCode believes the old field wherever the new one is below 127, which runtimes do not.
    at = code._tab.Offset(10)
    new = code._tab.Get(flatbuffers.number_types.Int32Flags, code._tab.Pos + at) if at else 0
    number = max(new, code.DeprecatedBuiltinCode())
    assert (one.op, one.version) == (BUILTIN_OPERATORS[number], code.Version())
    assert one.custom == (field(code, "CustomCode") if one.op == "CUSTOM" else "")
    for mine, accessor in ((one.inputs, "Inputs"), (one.outputs, "Outputs"), (one.intermediates, "Intermediates")):
        assert list(mine) == field(found, accessor), name
    assert (one.custom_options or (0, 0))[1] == found.CustomOptionsLength() or found.LargeCustomOptionsSize()
    options: dict[str, Any] = {}
    for union, (kind, table) in enumerate(tables(found)):
        if kind and table is not None:
            options |= theirs(union, kind, table)
            seen.add((union, kind))
    if options:
        assert ours(one.options) == options, name


def tables(found: Any) -> list[tuple[int, Any]]:
    """The two unions of options: the package has no accessors of the second (fields 11 and 12)."""
    table = found._tab
    at, kind = table.Offset(4 + 2 * 12), table.Offset(4 + 2 * 11)
    number = table.Get(flatbuffers.number_types.Uint8Flags, table.Pos + kind) if kind else 0
    second = flatbuffers.table.Table(table.Bytes, table.Indirect(table.Pos + at)) if at else None
    return [(found.BuiltinOptionsType(), found.BuiltinOptions()), (number, second)]


def test_signatures_and_metadata_of_every_shared_file_are_what_the_package_reads(shared: Path) -> None:
    signatures = metadata = 0
    for name, mine, other in pairs(shared):
        assert len(mine.signatures) == other.SignatureDefsLength()
        for index, one in enumerate(mine.signatures):
            found = other.SignatureDefs(index)
            assert (one.key, one.subgraph) == (field(found, "SignatureKey"), found.SubgraphIndex())
            for maps, accessor in ((one.inputs, "Inputs"), (one.outputs, "Outputs")):
                assert maps == {field(each, "Name"): each.TensorIndex() for each in field(found, accessor)}
            signatures += 1
        for each in field(other, "Metadata"):
            data = (
                bytes(other.Buffers(each.Buffer()).DataAsNumpy()) if other.Buffers(each.Buffer()).DataLength() else b""
            )
            start, count = mine.metadata.get(field(each, "Name"), (0, 0))
            assert bytes(mine.data[start : start + count]) == data, name
            metadata += 1
    assert signatures > 25
    assert metadata > 50


def test_blockwise_scales_are_a_tensor_and_every_block_has_one(shared: Path) -> None:
    """Qwen's projection: 1,024 x 1,024 numbers of 4 bits, a float16 for each 32 of them."""
    mine = read_model(shared / "data" / "tflite" / "litert" / "qwen_fc_blockwise_quantized.tflite")
    _, weight, _, scales = mine.subgraphs[0].tensors
    assert weight.quantisation is not None
    assert (weight.quantisation.kind, weight.quantisation.block_size, weight.quantisation.zero_points) == (
        "blockwise",
        32,
        -1,
    )
    assert weight.quantisation.scales == scales.number
    assert weight.data is not None
    assert scales.data is not None
    assert weight.data[1] == 1024 * 1024 // 2
    assert scales.data[1] == 1024 * 1024 // 32 * 2
    # A scale of a quantised layer is a small positive number, each of them, when the bytes are those of the file.
    values = memoryview(bytes(mine.data[scales.data[0] :][: scales.data[1]])).cast("H")
    assert all(0 < value < 0x3C00 for value in values)


def test_scales_in_tensors_of_their_own_are_weighed_with_the_constants(shared: Path) -> None:
    from weighbridge import weigh

    facts = weigh(shared / "data" / "tflite" / "litert" / "qwen_fc_blockwise_quantized.tflite").facts
    assert (facts.parameters, facts.parameter_bytes, facts.constant_bytes) == (1 << 20, 1 << 19, 1 << 16)


def test_values_behind_the_flatbuffer_are_those_inside(tmp_path: Path) -> None:
    tensors = [tensor("x", (1, 2)), tensor("w", (3, 2), data=[[1, 2], [3, 4], [5, 6]]), tensor("y", (1, 3))]
    whole = graph(tensors, [op("FULLY_CONNECTED", "x w -", "y", {})], "x", "y")
    found = []
    for outside in (False, True):
        path = tmp_path / f"{outside}.tflite"
        path.write_bytes(model(whole, outside=outside))
        mine = read_model(path)
        start, count = mine.subgraphs[0].tensors[1].data or (0, 0)
        found.append(bytes(mine.data[start : start + count]))
    assert start == path.stat().st_size - 32  # the last of the file, in a place of a multiple of 16
    assert found[0] == found[1] != bytes(24)
