"""Small TensorFlow Lite models for the tests, written with the schema's own classes of the package ``tflite_micro``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import flatbuffers
import numpy
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

BYTES = {
    "UINT32": 4,
    "UINT64": 8,
    "FLOAT32": 4,
    "INT32": 4,
    "INT64": 8,
    "INT16": 2,
    "INT8": 1,
    "UINT8": 1,
    "BOOL": 1,
    "INT4": 1,
    "FLOAT64": 8,
    "FLOAT16": 2,
}


class Tensor(NamedTuple):
    """A tensor.  ``data`` is its values in bytes, or True for zeros; ``scales`` is how many scales it has, 0 for none."""

    shape: Sequence[int]
    type: str = "FLOAT32"
    data: bytes | bool = False
    variable: bool = False
    scales: int = 0
    zero_points: int | None = None
    zero: int = 0
    axis: int = 0
    scale: float = 0.5


class Op(NamedTuple):
    """An operator: its name in the schema or that of a custom one, tensors by number, and options by name."""

    op: str
    inputs: Sequence[int]
    outputs: Sequence[int]
    options: tuple[str, Mapping[str, Any]] | None = None
    custom_options: bytes = b""
    intermediates: Sequence[int] = ()


class Graph(NamedTuple):
    """A graph."""

    tensors: Sequence[Tensor]
    operators: Sequence[Op]
    inputs: Sequence[int]
    outputs: Sequence[int]


def ints(*numbers: int) -> bytes:
    return numpy.array(numbers, numpy.int32).tobytes()


def model(*graphs: Graph, metadata: Mapping[str, bytes] | None = None) -> bytes:
    """The bytes of a model; every value that is stored has a buffer of its own."""
    whole = schema.ModelT()
    whole.version, whole.description = 3, b"test"
    whole.buffers, whole.operatorCodes, whole.metadata = [schema.BufferT()], [], []
    codes: dict[str, int] = {}
    whole.subgraphs = [_graph(graph, whole, codes) for graph in graphs]
    for name, data in (metadata or {}).items():
        entry = schema.MetadataT()
        entry.name, entry.buffer = name.encode(), _buffer(whole, data)
        whole.metadata.append(entry)
    builder = flatbuffers.Builder(1024)
    builder.Finish(whole.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _buffer(whole: Any, data: bytes) -> int:
    buffer = schema.BufferT()
    buffer.data = numpy.frombuffer(data, numpy.uint8)
    whole.buffers.append(buffer)
    return len(whole.buffers) - 1


def _graph(graph: Graph, whole: Any, codes: dict[str, int]) -> Any:
    made = schema.SubGraphT()
    made.tensors = [_tensor(number, tensor, whole) for number, tensor in enumerate(graph.tensors)]
    made.operators = [_operator(one, whole, codes) for one in graph.operators]
    made.inputs, made.outputs = list(graph.inputs), list(graph.outputs)
    return made


def _tensor(number: int, tensor: Tensor, whole: Any) -> Any:
    made = schema.TensorT()
    made.name, made.shape = f"t{number}".encode(), list(tensor.shape)
    made.type = getattr(schema.TensorType, tensor.type)
    made.isVariable = tensor.variable
    made.buffer = 0
    if tensor.data is True:
        made.buffer = _buffer(whole, bytes(max(1, prod(tensor.shape) * BYTES[tensor.type])))
    elif tensor.data:
        made.buffer = _buffer(whole, tensor.data)
    if tensor.scales:
        made.quantization = schema.QuantizationParametersT()
        made.quantization.scale = [tensor.scale] * tensor.scales
        zero_points = tensor.scales if tensor.zero_points is None else tensor.zero_points
        made.quantization.zeroPoint = [tensor.zero] * zero_points
        made.quantization.quantizedDimension = tensor.axis
    return made


def _operator(one: Op, whole: Any, codes: dict[str, int]) -> Any:
    if one.op not in codes:
        code, number = schema.OperatorCodeT(), getattr(schema.BuiltinOperator, one.op, None)
        code.builtinCode = schema.BuiltinOperator.CUSTOM if number is None else number
        code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), 1
        code.customCode = one.op.encode() if number is None else None
        codes[one.op] = len(whole.operatorCodes)
        whole.operatorCodes.append(code)
    made = schema.OperatorT()
    made.opcodeIndex = codes[one.op]
    made.inputs, made.outputs, made.intermediates = list(one.inputs), list(one.outputs), list(one.intermediates)
    if one.options is not None:
        name, fields = one.options
        made.builtinOptionsType = getattr(schema.BuiltinOptions, name)
        made.builtinOptions = getattr(schema, name + "T")()
        for field, value in fields.items():
            if not hasattr(made.builtinOptions, field):
                raise AttributeError(f"{name} has no {field}")
            setattr(made.builtinOptions, field, value)
    if one.custom_options:
        made.customOptions = numpy.frombuffer(one.custom_options, numpy.uint8)
    return made
