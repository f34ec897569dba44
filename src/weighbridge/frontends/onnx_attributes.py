"""Attributes of ONNX nodes as plain Python values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weighbridge.errors import BadModel

__all__ = ["attributes_of"]

_FLOAT, _INT, _STRING, _TENSOR, _GRAPH, _FLOATS, _INTS, _STRINGS = range(1, 9)
_FIELDS = ("f", "i", "s", "t", "g", "floats", "ints", "strings", "tensors", "graphs", "sparse_tensor")
"""The field that holds the value, by AttributeProto.AttributeType less one."""
_REPEATED = frozenset({_FLOATS, _INTS})
_BY_PRESENCE = ("ints", "floats", "strings", "tensors", "graphs")


def attributes_of(protos: Iterable[Any], given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Values by name: numbers, text, tuples of them; tensors, graphs and types stay messages.

    ``given`` are the attributes that the caller of a function passed: one that refers to them by ``ref_attr_name`` takes
    the value from there, and is left out where the caller left it out.
    """
    attributes: dict[str, Any] = {}
    for proto in protos:
        if given is not None and proto.ref_attr_name:
            if proto.ref_attr_name in given:
                attributes[proto.name] = given[proto.ref_attr_name]
            continue
        attributes[proto.name] = _value(proto)
    return attributes


def _value(proto: Any) -> Any:
    kind = proto.type
    if kind == 0:
        return _untyped(proto)
    if kind == _STRING:
        return _text(proto.s)
    if kind in _REPEATED:
        return tuple(proto.ints if kind == _INTS else proto.floats)
    if kind == _STRINGS:
        return tuple(map(_text, proto.strings))
    if kind <= len(_FIELDS):
        return getattr(proto, _FIELDS[kind - 1])
    return proto


def _untyped(proto: Any) -> Any:
    """Files of IR version 1 do not say which field they use."""
    for name in ("f", "i", "s", "t", "g"):
        if proto.HasField(name):
            value = getattr(proto, name)
            return _text(value) if name == "s" else value
    for name in _BY_PRESENCE:
        values = getattr(proto, name)
        if values:
            return tuple(map(_text, values)) if name == "strings" else tuple(values)
    raise BadModel(f"the attribute {proto.name!r} has no value")


def _text(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")
