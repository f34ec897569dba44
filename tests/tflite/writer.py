"""Writes small TensorFlow Lite models through the ``tflite`` package."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import flatbuffers
import numpy as np
import tflite

BITS = {
    "INT2": 2,
    "INT4": 4,
    "UINT4": 4,
    "BOOL": 8,
    "COMPLEX64": 64,
    "COMPLEX128": 128,
    "STRING": 8,
    "RESOURCE": 8,
    "VARIANT": 8,
    "BFLOAT16": 16,
}
# Types and options that the package does not have yet, by their number in the schema.
NEW_TYPES = {"BFLOAT16": 18, "INT2": 19, "UINT4": 20}
NEW_OPERATORS = {"STABLEHLO_CASE": 209}
SHARED_OPTIONS = {
    "CONV_3D_TRANSPOSE": "Conv3D",
    "AVERAGE_POOL_2D": "Pool2D",
    "MAX_POOL_2D": "Pool2D",
    "L2_POOL_2D": "Pool2D",
    "L2_NORMALIZATION": "L2Norm",
    "MEAN": "Reducer",
    "SUM": "Reducer",
    "REDUCE_PROD": "Reducer",
    "REDUCE_MAX": "Reducer",
    "REDUCE_MIN": "Reducer",
    "REDUCE_ANY": "Reducer",
    "REDUCE_ALL": "Reducer",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNN",
    "RANDOM_STANDARD_NORMAL": "Random",
    "RANDOM_UNIFORM": "Random",
    "MULTINOMIAL": "Random",
}


class Tensor(NamedTuple):
    """``data`` is what the model stores: values, their bytes, or True for zeros.  ``scales`` is how many scales it has;
    with a ``block_size`` they are in the tensor of this name instead.  ``sparse`` is how many values of a sparse one are stored.
    """

    name: str
    shape: Sequence[int] | None
    type: str = "FLOAT32"
    data: Any = None
    variable: bool = False
    scales: int | str = 0
    zero_points: int | None = None
    axis: int = 0
    scale: float = 0.5
    block_size: int = 0
    signature: Sequence[int] | None = None
    sparse: int | None = None


class Op(NamedTuple):
    """``op`` is the name in the schema or that of a custom operator."""

    op: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    options: Mapping[str, Any] | None = None
    custom_options: bytes = b""
    intermediates: Sequence[str] = ()
    version: int = 1


class Subgraph(NamedTuple):
    tensors: Sequence[Tensor]
    operators: Sequence[Op]
    inputs: Sequence[str]
    outputs: Sequence[str]
    name: str = "main"


Signature = int | tuple[int, Mapping[str, str]]


class _Width:
    """Stands for a builder, to learn the width of a vector's elements."""

    def StartVector(self, size: int, count: int, alignment: int) -> None:  # noqa: N802
        self.size = size


class Writer:
    """``start`` is where values that stand behind the flatbuffer begin; 0 keeps them inside."""

    def __init__(
        self,
        graphs: Sequence[Subgraph],
        signatures: Mapping[str, Signature],
        metadata: Mapping[str, bytes],
        start: int = 0,
    ) -> None:
        self.builder = flatbuffers.Builder(1024)
        self.graphs = graphs
        self.signatures = signatures
        self.metadata = metadata
        self.start = start
        self.outside = b""
        self.buffers = [self.table("Buffer", {})]
        self.codes: dict[tuple[str, int], int] = {}

    def finish(self) -> bytes:
        graphs = [self.subgraph(each) for each in self.graphs]
        metadata = [
            self.table("Metadata", {"name": self.text(name), "buffer": self.buffer(data)})
            for name, data in self.metadata.items()
        ]
        signatures = [self.signature(key, given) for key, given in self.signatures.items()]
        fields = {
            "version": 3,
            "description": self.text("test"),
            "operator_codes": self.offsets([self.code(*each) for each in self.codes]),
            "subgraphs": self.offsets(graphs),
            "buffers": self.offsets(self.buffers),
            "metadata": self.offsets(metadata),
            "signature_defs": self.offsets(signatures),
        }
        self.builder.Finish(self.table("Model", fields), b"TFL3")
        return bytes(self.builder.Output())

    # Parts of a flatbuffer

    def text(self, text: str) -> int:
        return self.builder.CreateString(text)

    def numbers(self, numbers: Sequence[int] | Sequence[float], dtype: str = "int32") -> int:
        return self.builder.CreateNumpyVector(np.array(numbers, dtype))

    def offsets(self, offsets: Sequence[int]) -> int:
        self.builder.StartVector(4, len(offsets), 4)
        for each in reversed(offsets):
            self.builder.PrependUOffsetTRelative(each)
        return self.builder.EndVector()

    def table(self, name: str, fields: Mapping[str, Any]) -> int:
        """A table of the schema; whatever is no number has been written before."""
        made = {field: self.value(name, field, given) for field, given in fields.items()}
        call: Callable[[str], Any] = lambda what: getattr(tflite, f"{name}{what}")  # noqa: E731
        call("Start")(self.builder)
        for field, written in made.items():
            call(f"Add{_camel(field)}")(self.builder, written)
        return call("End")(self.builder)

    def value(self, name: str, field: str, given: Any) -> Any:
        if isinstance(given, str):
            return self.text(given)
        if not isinstance(given, Sequence | np.ndarray):
            return given
        width = _Width()
        getattr(tflite, f"{name}Start{_camel(field)}Vector")(width, 0)
        kind = "float" if np.asarray(given).dtype.kind == "f" else "int"
        return self.numbers(list(given), "uint8" if width.size == 1 else f"{kind}{8 * width.size}")

    # Parts of a model

    def buffer(self, data: bytes) -> int:
        """The number of a new buffer."""
        if self.start:
            fields = {"offset": self.start + len(self.outside), "size": len(data)}
            self.outside += data.ljust(-(-len(data) // 16) * 16, b"\0")
        else:
            fields = {"data": self.builder.CreateByteVector(data)}
        self.buffers.append(self.table("Buffer", fields))
        return len(self.buffers) - 1

    def code(self, name: str, version: int) -> int:
        number = NEW_OPERATORS.get(name) or getattr(tflite.BuiltinOperator, name, tflite.BuiltinOperator.CUSTOM)
        fields = {"deprecated_builtin_code": min(number, 127), "version": version, "builtin_code": number}
        if number == tflite.BuiltinOperator.CUSTOM:
            fields["custom_code"] = self.text(name)
        return self.table("OperatorCode", fields)

    def signature(self, key: str, given: Signature) -> int:
        number, inputs = given if isinstance(given, tuple) else (given, {})
        numbers = {each.name: place for place, each in enumerate(self.graphs[number].tensors)}
        maps = [
            self.table("TensorMap", {"name": self.text(name), "tensor_index": numbers[each]})
            for name, each in inputs.items()
        ]
        fields = {"signature_key": self.text(key), "subgraph_index": number, "inputs": self.offsets(maps)}
        return self.table("SignatureDef", fields)

    def subgraph(self, given: Subgraph) -> int:
        numbers = {each.name: number for number, each in enumerate(given.tensors)} | {"-": -1}
        tensors = [self.tensor(each, numbers) for each in given.tensors]
        made = [self.operator(each, numbers) for each in given.operators]
        fields = {
            "tensors": self.offsets(tensors),
            "operators": self.offsets(made),
            "inputs": self.numbers([numbers[name] for name in given.inputs]),
            "outputs": self.numbers([numbers[name] for name in given.outputs]),
            "name": self.text(given.name),
        }
        return self.table("SubGraph", fields)

    def tensor(self, given: Tensor, numbers: Mapping[str, int]) -> int:
        number = NEW_TYPES.get(given.type)
        fields: dict[str, Any] = {
            "name": self.text(given.name),
            "type": getattr(tflite.TensorType, given.type) if number is None else number,
            "is_variable": given.variable,
            "buffer": 0 if given.data is None else self.buffer(_bytes(given)),
        }
        if given.shape is not None:
            fields |= {"shape": self.numbers(given.shape), "has_rank": True}
        if given.signature is not None:
            fields["shape_signature"] = self.numbers(given.signature)
        if given.sparse is not None:
            fields["sparsity"] = self.sparsity(given)
        if given.scales:
            fields["quantization"] = self.quantisation(given, numbers)
        return self.table("Tensor", fields)

    def sparsity(self, given: Tensor) -> int:
        """Dense but for the last dimension, which is stored as in compressed sparse rows."""
        dense = [
            self.table("DimensionMetadata", {"format": 0, "dense_size": size}) for size in (given.shape or ())[:-1]
        ]
        values = self.table("Int32Vector", {"values": self.numbers([0] * (given.sparse or 0))})
        fields = {"format": 1, "array_indices_type": 1, "array_indices": values}
        return self.table(
            "SparsityParameters", {"dim_metadata": self.offsets([*dense, self.table("DimensionMetadata", fields)])}
        )

    def quantisation(self, given: Tensor, numbers: Mapping[str, int]) -> int:
        if isinstance(given.scales, str):
            # BlockwiseQuantization (scales, zero_points, block_size), which the package does not have.
            self.builder.StartObject(3)
            self.builder.PrependInt32Slot(0, numbers[given.scales], 0)
            self.builder.PrependInt32Slot(1, -1, 0)
            self.builder.PrependInt32Slot(2, given.block_size, 0)
            details = {"details_type": 2, "details": self.builder.EndObject()}
            return self.table("QuantizationParameters", {**details, "quantized_dimension": given.axis})
        zero_points = given.scales if given.zero_points is None else given.zero_points
        fields = {
            "scale": self.numbers([given.scale] * given.scales, "float32"),
            "zero_point": self.numbers([0] * zero_points, "int64"),
            "quantized_dimension": given.axis,
        }
        return self.table("QuantizationParameters", fields)

    def operator(self, given: Op, numbers: Mapping[str, int]) -> int:
        code = self.codes.setdefault((given.op, given.version), len(self.codes))
        fields: dict[str, Any] = {
            "opcode_index": code,
            "inputs": self.numbers([numbers[name] for name in given.inputs]),
            "outputs": self.numbers([numbers[name] for name in given.outputs]),
        }
        if given.intermediates:
            fields["intermediates"] = self.numbers([numbers[name] for name in given.intermediates])
        if given.custom_options:
            fields["custom_options"] = self.builder.CreateByteVector(given.custom_options)
        if given.op == "STABLEHLO_CASE":
            return self.operator_2(fields, 23, self.case(given))
        if given.options is not None:
            union, number, name = _options_type(given.op)
            table = self.table(name, given.options)
            if union == 1:
                fields |= {"builtin_options_type": number, "builtin_options": table}
            else:
                return self.operator_2(fields, number, table)
        return self.table("Operator", fields)

    def case(self, given: Op) -> int:
        """StablehloCaseOptions (branch_subgraph_indices), which the package does not have."""
        numbers = self.numbers((given.options or {})["branch_subgraph_indices"])
        self.builder.StartObject(1)
        self.builder.PrependUOffsetTRelativeSlot(0, numbers, 0)
        return self.builder.EndObject()

    def operator_2(self, fields: Mapping[str, Any], number: int, table: int) -> int:
        """An operator with options of the second union, whose fields (11, 12) the package does not write."""
        places = {"opcode_index": 0, "inputs": 1, "outputs": 2, "custom_options": 5, "intermediates": 8}
        self.builder.StartObject(13)
        for field, written in fields.items():
            if field == "opcode_index":
                self.builder.PrependUint32Slot(0, written, 0)
            else:
                self.builder.PrependUOffsetTRelativeSlot(places[field], written, 0)
        self.builder.PrependUint8Slot(11, number, 0)
        self.builder.PrependUOffsetTRelativeSlot(12, table, 0)
        return self.builder.EndObject()


def _camel(field: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in field.split("_"))


def _options_type(name: str) -> tuple[int, int, str]:
    """(union, number, name) of the options of an operator."""
    wanted = SHARED_OPTIONS.get(name, name.replace("_", "")).lower() + "options"
    for union, kinds in ((1, tflite.BuiltinOptions), (2, tflite.BuiltinOptions2)):
        for found, number in vars(kinds).items():
            if found.lower() == wanted:
                return union, number, found
    raise LookupError(f"{name} has no options")


def _bytes(given: Tensor) -> bytes:
    if isinstance(given.data, bytes):
        return given.data
    named = re.search(r"\d+", given.type)
    bits = BITS.get(given.type) or int(named.group() if named else 8)
    if given.data is True:
        elements = int(np.prod(given.shape or (), dtype="int64"))
        return bytes(max(1, -(-elements * bits // 8)))
    return np.array(given.data, "bool" if given.type == "BOOL" else given.type.lower()).tobytes()
