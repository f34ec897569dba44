"""Damage to ONNX files: of their bytes, and of the model that the bytes hold.  The same seed does the same damage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto

__all__ = ["damage_bytes", "mutate"]

_BYTES = (0x00, 0x01, 0x02, 0x08, 0x0A, 0x7F, 0x80, 0xFF)
_INTEGERS = (
    0,
    1,
    2,
    3,
    4,
    7,
    64,
    224,
    65537,
    -1,
    -2,
    2**31 - 1,
    2**31,
    2**40,
    2**48,
    2**62,
    2**63 - 1,
    -(2**31),
    -(2**63),
)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-45, 3e38, float("inf"), float("-inf"), float("nan"))
_TEXTS = (
    "",
    "x",
    "\n",
    "\x1b[31m",
    "../../etc/passwd",
    "a" * 3000,
    "\u202e",
    "[bold]",
    "0",
    "Loop",
    "<script>",
    "=1+1",
    "é" * 40,
)
_DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "com.microsoft", "nowhere")
_CONTROL = ("If", "Loop", "Scan")


def mutate(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """``data`` with one to three faults; ``others`` are files to splice in and to borrow from."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        data = damage_bytes(data, others, random) if random.random() < 0.3 else _on_model(data, others, random)
    return data


# Bytes


def damage_bytes(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """``data`` with one fault that knows nothing of what the bytes mean."""
    return random.choice(_ON_BYTES)(data, others, random)


def _flip(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8)) if changed else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _set(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8)) if changed else 0):
        changed[random.randrange(len(changed))] = random.choice(_BYTES)
    return bytes(changed)


def _truncate(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _splice(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    other = random.choice(others)
    at, start = random.randrange(len(data) + 1), random.randrange(len(other) + 1)
    skipped = at + random.choice((0, random.randrange(64)))
    return data[:at] + other[start : start + random.randrange(200)] + data[skipped:]


def _remove(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + data[at + random.randrange(1, 64) :]


def _repeat(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + data[at : at + random.randrange(1, 64)] * random.choice((2, 2, 3, 100)) + data[at:]


def _varint(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Another number where one may be: a length, a tag, a value."""
    at = random.randrange(len(data) + 1)
    value = random.choice((0, 127, 128, 2**21, 2**28, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 2**70))
    number = bytearray()
    while value > 0x7F:
        number.append(value & 0x7F | 0x80)
        value >>= 7
    return data[:at] + bytes(number) + bytes([value]) + data[at + 1 :]


_ON_BYTES: tuple[Callable[[bytes, Sequence[bytes], Random], bytes], ...] = (
    _flip,
    _flip,
    _set,
    _truncate,
    _splice,
    _remove,
    _repeat,
    _varint,
)


# Models


def _on_model(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    try:
        model = ModelProto.FromString(data)
        other = ModelProto.FromString(random.choice(others))
    except (DecodeError, ValueError):  # ValueError: protobuf's pure Python implementation, of a name that is no UTF-8
        return _flip(data, others, random)
    try:
        for _ in range(random.choice((1, 1, 2))):
            random.choice(_ON_MODELS)(model, other, random)
        return model.SerializeToString()
    except ValueError:  # protobuf takes no names that an earlier fault made no UTF-8
        return _flip(data, others, random)


def _messages(message: Any) -> list[Any]:
    """A message and all inside it."""
    found = [message]
    for field, value in message.ListFields():
        if field.message_type is not None:
            for item in value if field.is_repeated else [value]:
                found += _messages(item)
    return found


def _any(model: Any, name: str, random: Random) -> Any:
    """A random message of a type, or None."""
    return random.choice([message for message in _messages(model) if message.DESCRIPTOR.name == name] or [None])


def _change_a_field(model: Any, other: Any, random: Random) -> None:
    """Another value in any scalar field of any message."""
    message = random.choice(_messages(model))
    scalars = [field for field in message.DESCRIPTOR.fields if field.message_type is None]
    if not scalars:
        return
    field = random.choice(scalars)
    try:
        if field.is_repeated:
            values = getattr(message, field.name)
            if values and random.random() < 0.7:
                values[random.randrange(len(values))] = _scalar(field, random)
            else:
                values.append(_scalar(field, random))
        else:
            setattr(message, field.name, _scalar(field, random))
    except (ValueError, TypeError):
        message.ClearField(field.name)


def _scalar(field: Any, random: Random) -> Any:
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return random.choice(_FLOATS)
    if field.cpp_type == field.CPPTYPE_ENUM:
        return random.choice(field.enum_type.values).number
    if field.cpp_type == field.CPPTYPE_STRING:
        text = random.choice(_TEXTS)
        return text.encode() if field.type == field.TYPE_BYTES else text
    return random.choice(_INTEGERS)


def _remove_a_field(model: Any, other: Any, random: Random) -> None:
    message = random.choice(_messages(model))
    fields = message.ListFields()
    if not fields:
        return
    field, value = random.choice(fields)
    if field.is_repeated:
        del value[random.randrange(len(value))]
    else:
        message.ClearField(field.name)


def _repeat_a_field(model: Any, other: Any, random: Random) -> None:
    lists = [value for message in _messages(model) for field, value in message.ListFields() if field.is_repeated]
    if lists:
        values = random.choice(lists)
        values.append(random.choice(values))


def _borrow(model: Any, other: Any, random: Random) -> None:
    """A message replaced by one of its type from another file."""
    message = random.choice(_messages(model)[1:] or [model])
    source = _any(other, message.DESCRIPTOR.name, random)
    if source is not None:
        message.CopyFrom(source)


def _change_a_dimension(model: Any, other: Any, random: Random) -> None:
    kind = random.choice(("TensorProto", "Dimension", "Dimension"))
    message = _any(model, kind, random)
    if message is None:
        return
    if kind == "Dimension":
        if random.random() < 0.3:
            message.dim_param = random.choice(_TEXTS)
        else:
            message.dim_value = random.choice(_INTEGERS)
    elif message.dims and random.random() < 0.7:
        message.dims[random.randrange(len(message.dims))] = random.choice(_INTEGERS)
    else:
        message.dims.append(random.choice(_INTEGERS))


def _change_an_attribute(model: Any, other: Any, random: Random) -> None:
    attribute = _any(model, "AttributeProto", random)
    if attribute is None:
        return
    fault = random.randrange(5)
    if fault == 0:
        attribute.type = random.randrange(15)
    elif fault == 1:
        attribute.i = random.choice(_INTEGERS)
    elif fault == 2:
        del attribute.ints[random.randrange(len(attribute.ints) + 1) :]
    elif attribute.ints:
        attribute.ints[random.randrange(len(attribute.ints))] = random.choice(_INTEGERS)
    else:
        attribute.ints.append(random.choice(_INTEGERS))


def _rewire(model: Any, other: Any, random: Random) -> None:
    """An operand that is another tensor, of a later node perhaps, or is not there."""
    node = _any(model, "NodeProto", random)
    if node is None:
        return
    names = [
        name for one in _messages(model) if one.DESCRIPTOR.name == "NodeProto" for name in (*one.input, *one.output)
    ]
    name = random.choice((*names, *_TEXTS))
    slots = node.input if random.random() < 0.7 else node.output
    if slots and random.random() < 0.8:
        slots[random.randrange(len(slots))] = name
    else:
        slots.append(name)


def _change_an_operator(model: Any, other: Any, random: Random) -> None:
    node = _any(model, "NodeProto", random)
    source = _any(other, "NodeProto", random)
    if node is None:
        return
    node.op_type = random.choice((*_CONTROL, *_TEXTS[:2], source.op_type if source is not None else "Conv"))
    if random.random() < 0.2:
        node.domain = random.choice(_DOMAINS)


def _move_a_node(model: Any, other: Any, random: Random) -> None:
    graph = _any(model, "GraphProto", random)
    if graph is None or not graph.node:
        return
    node = type(graph.node[0])()
    node.CopyFrom(random.choice(graph.node))
    if random.random() < 0.5:
        del graph.node[random.randrange(len(graph.node))]
    graph.node.insert(random.randrange(len(graph.node) + 1), node)


def _nest(model: Any, other: Any, random: Random) -> None:
    """The graph inside one of its own nodes, or another's there."""
    node = _any(model, "NodeProto", random)
    if node is None:
        return
    inner = ModelProto()
    inner.CopyFrom(random.choice((model, other)))
    if inner.ByteSize() > 20_000:
        return
    node.op_type = random.choice(_CONTROL)
    for name in random.choice((("then_branch", "else_branch"), ("body",))):
        attribute = node.attribute.add(name=name, type=5)
        attribute.g.CopyFrom(inner.graph)


def _change_a_payload(model: Any, other: Any, random: Random) -> None:
    tensor = _any(model, "TensorProto", random)
    if tensor is None:
        return
    fault = random.randrange(5)
    if fault == 0:
        tensor.raw_data = tensor.raw_data[: random.randrange(len(tensor.raw_data) + 1)]
    elif fault == 1:
        tensor.raw_data += bytes(random.randrange(1, 9))
    elif fault == 2:
        tensor.data_type = random.choice((*TensorProto.DataType.values(), -100, 99))
    elif fault == 3:
        tensor.data_location = 1
        tensor.external_data.add(key="location", value=random.choice((*_TEXTS, "missing.bin")))
    else:
        size = len(tensor.raw_data)
        tensor.raw_data = b"".join(
            random.choice(_INTEGERS[:12]).to_bytes(8, "little", signed=True) for _ in range(size // 8)
        )


def _change_the_version(model: Any, other: Any, random: Random) -> None:
    if model.opset_import and random.random() < 0.7:
        random.choice(model.opset_import).version = random.choice((*range(1, 30), 0, -1, 2**40))
    else:
        model.ir_version = random.choice((0, 1, 2, 3, 4, 10, 99, -1))


_ON_MODELS: tuple[Callable[[Any, Any, Random], None], ...] = (
    _change_a_field,
    _change_a_field,
    _remove_a_field,
    _repeat_a_field,
    _borrow,
    _change_a_dimension,
    _change_a_dimension,
    _change_an_attribute,
    _change_an_attribute,
    _rewire,
    _rewire,
    _change_an_operator,
    _move_a_node,
    _nest,
    _change_a_payload,
    _change_the_version,
)
