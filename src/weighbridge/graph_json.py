"""A graph as plain data, and back: dictionaries, lists, strings, numbers; exactly the same graph after a round trip.

```
{"schema": 1, "name": …, "tensors": [{"id", "shape", "dtype", "role", "nonzeros"}],
"nodes": [{"name", "operator", "operands": [[name, id]], "outputs", "attributes", "scope", "origin",
"bodies": [{"name", "trips", "graph"}], "fused", "reason", "file_node": [graph, position, name]}],
"inputs": [id], "outputs": [id], "notes": […], "capture", "allocations": [[bytes, first, last, node]],
"blocks": [scope], "arena": {"buffers": [[name, bytes, first, last, node, offset, is_scratch]], "scopes": [node],
"persistent": [[library, pointer_bytes, structure_bytes, kernel_bytes, basis]], "reason"}}
```

A shape is null where it is unknown; a type is a name, or an object where no table has it.  Fields of a node that are empty
are left out, and so are ``nonzeros`` where nobody said them, an empty ``capture``, empty ``allocations``, ``blocks`` where
they are not known, and ``arena`` where there is none.
Numbers that JSON lacks are ``{"float": "nan"}``, ``"inf"`` and ``"-inf"``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Final, NoReturn, TypeVar

from weighbridge.arena import Arena, ArenaBuffer, PersistentBytes
from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import BadSpec
from weighbridge.graph import Allocation, Attribute, Body, FileNode, Graph, Node, Role, Shape, Tensor

__all__ = ["graph_from_dict", "graph_from_json", "graph_to_dict", "graph_to_json"]

SCHEMA: Final = 1

_GRAPH_KEYS: Final = ("name", "tensors", "nodes", "inputs", "outputs")
_GRAPH_EXTRAS: Final = ("notes", "capture", "allocations", "blocks", "arena")
_NODE_KEYS: Final = ("name", "operator", "operands", "outputs")
_NODE_EXTRAS: Final = ("attributes", "scope", "origin", "bodies", "fused", "reason", "file_node")
_WORD_FLOATS: Final = ("nan", "inf", "-inf")

T = TypeVar("T")


def graph_to_json(graph: Graph) -> str:
    """The graph as JSON text."""
    return json.dumps(graph_to_dict(graph), allow_nan=False)


def graph_from_json(text: str) -> Graph:
    """The graph in a JSON text.  Raises ``BadSpec`` (with a ``$.path``) or ``GraphError``."""
    try:
        document = json.loads(text)
    except RecursionError:
        raise BadSpec("the document is nested too deeply", where="$") from None
    except ValueError as error:
        raise BadSpec(f"this is no JSON: {error}", where="$") from None
    return graph_from_dict(document)


def graph_to_dict(graph: Graph) -> dict[str, object]:
    """The graph as plain data that JSON can hold."""
    return {"schema": SCHEMA, **_from_graph(graph)}


def graph_from_dict(document: object) -> Graph:
    """The graph that plain data describes.

    Raises ``BadSpec`` with the ``$.path`` of what is missing, unknown or of the wrong type, and ``GraphError`` where the
    parts contradict each other.
    """
    fields = _object(document, "$", ("schema", *_GRAPH_KEYS), _GRAPH_EXTRAS)
    if fields["schema"] != SCHEMA or isinstance(fields["schema"], bool):
        _refuse(f"schema {fields['schema']!r} is not known", "$.schema", f"this version reads schema {SCHEMA}")
    try:
        return _to_graph(fields, "$")
    except RecursionError:
        raise BadSpec("the document is nested too deeply", where="$") from None


def _from_graph(graph: Graph) -> dict[str, object]:
    return {
        "name": graph.name,
        "tensors": [_from_tensor(tensor) for tensor in graph.tensors.values()],
        "nodes": [_from_node(node) for node in graph.nodes],
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
        "notes": list(graph.notes),
        **({"capture": graph.capture} if graph.capture else {}),
        **({"allocations": [list(one) for one in graph.allocations]} if graph.allocations else {}),
        **({} if graph.blocks is None else {"blocks": sorted(graph.blocks)}),
        **({} if graph.arena is None else {"arena": _from_arena(graph.arena)}),
    }


def _from_arena(arena: Arena) -> dict[str, object]:
    return {
        "buffers": [list(one) for one in arena.buffers],
        "scopes": list(arena.scopes),
        "persistent": [list(one) for one in arena.persistent],
        "reason": arena.reason,
    }


def _from_tensor(tensor: Tensor) -> dict[str, object]:
    shape = None if tensor.shape is None else list(tensor.shape)
    fields = {"id": tensor.id, "shape": shape, "dtype": _from_dtype(tensor.dtype), "role": tensor.role.value}
    return fields if tensor.nonzeros is None else {**fields, "nonzeros": tensor.nonzeros}


def _from_dtype(dtype: DType) -> object:
    if DTYPES.get(dtype.name) == dtype:
        return dtype.name
    return {
        "name": dtype.name,
        "kind": dtype.kind,
        "block_bits": dtype.block_bits,
        "block_length": dtype.block_length,
    }


def _from_node(node: Node) -> dict[str, object]:
    extras: dict[str, object] = {
        "attributes": {name: _from_attribute(value) for name, value in node.attributes.items()},
        "scope": node.scope,
        "origin": node.origin,
        "bodies": [{"name": body.name, "trips": body.trips, "graph": _from_graph(body.graph)} for body in node.bodies],
        "fused": [_from_node(function) for function in node.fused],
        "reason": node.reason,
        "file_node": node.file_node and list(node.file_node),
    }
    return {
        "name": node.name,
        "operator": node.operator,
        "operands": [list(operand) for operand in node.operands],
        "outputs": list(node.outputs),
        **{name: value for name, value in extras.items() if value},
    }


def _from_attribute(value: Attribute) -> object:
    if isinstance(value, tuple):
        return [_from_attribute(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return {"float": str(value)}
    return value


def _refuse(what: str, path: str, hint: str = "") -> NoReturn:
    raise BadSpec(what, where=path, hint=hint)


def _object(value: object, path: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, object]:
    if not isinstance(value, Mapping):
        _refuse("an object belongs here", path)
    for key in required:
        if key not in value:
            _refuse(f"the field {key} is missing", path)
    for key in value:
        if key not in required and key not in optional:
            _refuse(f"there is no field {key!r}", path, f"the fields are {', '.join((*required, *optional))}")
    return dict(value)


def _text(value: object, path: str) -> str:
    if not isinstance(value, str):
        _refuse("text belongs here", path)
    return value


def _integer(value: object, path: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        _refuse("a whole number belongs here", path)
    return value


def _optional_integer(value: object, path: str) -> int | None:
    return None if value is None else _integer(value, path)


def _items(value: object, path: str, read: Callable[[object, str], T]) -> tuple[T, ...]:
    if not isinstance(value, list | tuple):
        _refuse("a list belongs here", path)
    return tuple(read(item, f"{path}[{index}]") for index, item in enumerate(value))


def _to_graph(fields: Mapping[str, object], path: str) -> Graph:
    tensors: dict[str, Tensor] = {}
    for index, tensor in enumerate(_items(fields["tensors"], f"{path}.tensors", _to_tensor)):
        if tensor.id in tensors:
            _refuse(f"there are two tensors called {tensor.id!r}", f"{path}.tensors[{index}].id")
        tensors[tensor.id] = tensor
    return Graph(
        _text(fields["name"], f"{path}.name"),
        tensors,
        _items(fields["nodes"], f"{path}.nodes", _to_node),
        _items(fields["inputs"], f"{path}.inputs", _text),
        _items(fields["outputs"], f"{path}.outputs", _text),
        _items(fields.get("notes", ()), f"{path}.notes", _text),
        _text(fields.get("capture", ""), f"{path}.capture"),
        _items(fields.get("allocations", ()), f"{path}.allocations", _to_allocation),
        frozenset(_items(fields["blocks"], f"{path}.blocks", _text)) if "blocks" in fields else None,
        _to_arena(fields["arena"], f"{path}.arena") if "arena" in fields else None,
    )


def _to_allocation(value: object, path: str) -> Allocation:
    if not isinstance(value, list | tuple) or len(value) != 4:
        _refuse("bytes, the first and the last moment and the name of a node belong here", path)
    size, first, last = (_integer(one, f"{path}[{place}]") for place, one in enumerate(value[:3]))
    if size < 0 or not 0 <= first <= last:
        _refuse("an allocation has no negative size, and ends after it begins", path)
    return Allocation(size, first, last, _text(value[3], f"{path}[3]"))


def _to_arena(value: object, path: str) -> Arena:
    fields = _object(value, path, ("buffers", "scopes", "persistent", "reason"))
    scopes = _items(fields["scopes"], f"{path}.scopes", _text)
    buffers = _items(fields["buffers"], f"{path}.buffers", _to_buffer)
    for place, buffer in enumerate(buffers):
        if buffer.last >= len(scopes):
            _refuse(f"there are {len(scopes)} scopes, no scope {buffer.last}", f"{path}.buffers[{place}][3]")
    return Arena(
        buffers,
        scopes,
        _items(fields["persistent"], f"{path}.persistent", _to_persistent),
        _text(fields["reason"], f"{path}.reason"),
    )


def _to_buffer(value: object, path: str) -> ArenaBuffer:
    if not isinstance(value, list | tuple) or len(value) != 7:
        _refuse("name, bytes, first and last scope, node, offset and whether it is scratch belong here", path)
    size, first, last = (_integer(one, f"{path}[{place}]") for place, one in enumerate(value[1:4], 1))
    offset, is_scratch = _optional_integer(value[5], f"{path}[5]"), value[6]
    if size < 0 or (offset or 0) < 0 or not -1 <= first <= last:
        _refuse("a buffer has no negative size or offset, and ends after it begins", path)
    if not isinstance(is_scratch, bool):
        _refuse("true or false belongs here", f"{path}[6]")
    return ArenaBuffer(
        _text(value[0], f"{path}[0]"), size, first, last, _text(value[4], f"{path}[4]"), offset, is_scratch
    )


def _to_persistent(value: object, path: str) -> PersistentBytes:
    if not isinstance(value, list | tuple) or len(value) != 5:
        _refuse("library, bytes of a pointer, of structures and of kernels, and the basis belong here", path)
    pointer, structures = (_integer(one, f"{path}[{place}]") for place, one in enumerate(value[1:3], 1))
    kernels = _optional_integer(value[3], f"{path}[3]")
    if min(pointer, structures, kernels or 0) < 0:
        _refuse("nothing takes less than no bytes", path)
    return PersistentBytes(_text(value[0], f"{path}[0]"), pointer, structures, kernels, _text(value[4], f"{path}[4]"))


def _to_tensor(value: object, path: str) -> Tensor:
    fields = _object(value, path, ("id", "shape", "dtype", "role"), ("nonzeros",))
    role = _text(fields["role"], f"{path}.role")
    if role not in frozenset(Role):
        _refuse(f"there is no role {role!r}", f"{path}.role", f"the roles are {', '.join(Role)}")
    return Tensor(
        _text(fields["id"], f"{path}.id"),
        _to_shape(fields["shape"], f"{path}.shape"),
        _to_dtype(fields["dtype"], f"{path}.dtype"),
        Role(role),
        _optional_integer(fields.get("nonzeros"), f"{path}.nonzeros"),
    )


def _to_shape(value: object, path: str) -> Shape | None:
    return None if value is None else _items(value, path, _integer)


def _to_dtype(value: object, path: str) -> DType:
    if isinstance(value, str):
        if value not in DTYPES:
            _refuse(f"there is no element type {value!r}", path, f"the types are {', '.join(DTYPES)}")
        return DTYPES[value]
    fields = _object(value, path, ("name", "kind", "block_bits", "block_length"))
    bits = _optional_integer(fields["block_bits"], f"{path}.block_bits")
    length = _integer(fields["block_length"], f"{path}.block_length")
    if length < 1 or (bits is not None and bits < 1):
        _refuse("an element takes at least one bit, and a block holds at least one element", path)
    return DType(_text(fields["name"], f"{path}.name"), _text(fields["kind"], f"{path}.kind"), bits, length)


def _to_node(value: object, path: str) -> Node:
    fields = _object(value, path, _NODE_KEYS, _NODE_EXTRAS)
    return Node(
        _text(fields["name"], f"{path}.name"),
        _text(fields["operator"], f"{path}.operator"),
        _items(fields["operands"], f"{path}.operands", _to_operand),
        _items(fields["outputs"], f"{path}.outputs", _text),
        _to_attributes(fields.get("attributes", {}), f"{path}.attributes"),
        _text(fields.get("scope", ""), f"{path}.scope"),
        _text(fields.get("origin", ""), f"{path}.origin"),
        _items(fields.get("bodies", ()), f"{path}.bodies", _to_body),
        _items(fields.get("fused", ()), f"{path}.fused", _to_node),
        _text(fields.get("reason", ""), f"{path}.reason"),
        _to_file_node(fields["file_node"], f"{path}.file_node") if "file_node" in fields else None,
    )


def _to_file_node(value: object, path: str) -> FileNode:
    if not isinstance(value, list | tuple) or len(value) != 3:
        _refuse("the name of a graph, a position in it and the name of a node belong here", path)
    return FileNode(_text(value[0], f"{path}[0]"), _integer(value[1], f"{path}[1]"), _text(value[2], f"{path}[2]"))


def _to_operand(value: object, path: str) -> tuple[str, str]:
    pair = _items(value, path, _text)
    if len(pair) != 2:
        _refuse("the name of an operand and the id of a tensor belong here", path)
    return pair[0], pair[1]


def _to_body(value: object, path: str) -> Body:
    fields = _object(value, path, ("name", "trips", "graph"))
    trips = _optional_integer(fields["trips"], f"{path}.trips")
    if trips is not None and trips < 0:
        _refuse("a body cannot run less than no times", f"{path}.trips")
    inner = _object(fields["graph"], f"{path}.graph", _GRAPH_KEYS, _GRAPH_EXTRAS)
    return Body(_text(fields["name"], f"{path}.name"), _to_graph(inner, f"{path}.graph"), trips)


def _to_attributes(value: object, path: str) -> dict[str, Attribute]:
    if not isinstance(value, Mapping):
        _refuse("an object belongs here", path)
    return {_text(name, path): _to_attribute(item, f"{path}.{name}") for name, item in value.items()}


def _to_attribute(value: object, path: str) -> Attribute:
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return _items(value, path, _to_attribute)
    if isinstance(value, Mapping) and list(value) == ["float"] and value["float"] in _WORD_FLOATS:
        return float(str(value["float"]))
    _refuse("a number, text, true, false or a list of these belongs here", path)
