"""Damage to exported PyTorch programs: of the archive's bytes, and of the JSON inside.  The same seed does the same damage."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
import zlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from mutations import damage_bytes

__all__ = ["damage_archive", "entry"]

_PROGRAM = "models/model.json"
_UNREADABLE = (
    *(AttributeError, EOFError, IndexError, KeyError, NotImplementedError, OSError, RuntimeError, StopIteration),
    *(TypeError, ValueError, zipfile.BadZipFile, zlib.error),
)
"""What an earlier fault can lead to."""
_VALUES = (
    None,
    True,
    False,
    0,
    1,
    -1,
    7,
    2**31,
    2**48,
    2**63,
    2**70,
    0.5,
    1e300,
    "",
    "x",
    "Infinity",
    [],
    {},
    [1],
    [[]],
)
_TEXTS = (
    "",
    "x",
    "\x1b[31m",
    "../../etc/passwd",
    "a" * 3000,
    "torch.ops.aten.conv2d.default",
    "torch.ops.aten.add_.Tensor",
    "torch.ops.aten.view.default",
    "torch.ops.higher_order.wrap",
    "_operator.add",
    "Symbol('s0', integer=True)",
    "Mul(Integer(2), Symbol('s77', positive=True, integer=True))",
    "2**62",
    "s0//0",
)
_KINDS = (
    "as_none",
    "as_tensor",
    "as_tensors",
    "as_int",
    "as_ints",
    "as_float",
    "as_sym_int",
    "as_expr",
    "as_graph",
    "as_string",
)


def damage_archive(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """``data`` with one to three faults; ``others`` are archives to borrow from."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        data = damage_bytes(data, others, random) if random.random() < 0.3 else _on_json(data, others, random)
    return data


def entry(data: bytes) -> Any:
    """The program in an archive; an error where it cannot be read any more."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return json.loads(archive.read(next(name for name in archive.namelist() if name.endswith(_PROGRAM))))


def _on_json(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        name = next(name for name in files if name.endswith(_PROGRAM))
        made, other = json.loads(files[name]), entry(random.choice(others))
        for _ in range(random.choice((1, 1, 2))):
            random.choice(_ON_JSON)(made, other, random)
        files[name] = json.dumps(made).encode()
    except _UNREADABLE:
        return damage_bytes(data, others, random)
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w") as archive:
        warnings.simplefilter("ignore")
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every member and element of a structure, by what holds it and its key."""
    found, open_ = [], [value]
    while open_:
        holder = open_.pop()
        for key, inner in holder.items() if isinstance(holder, dict) else enumerate(holder):
            found.append((holder, key))
            if isinstance(inner, dict | list):
                open_.append(inner)
    return found


def _any(made: Any, random: Random, kind: type | tuple[type, ...]) -> tuple[Any, Any] | None:
    places = [(holder, key) for holder, key in _places(made) if isinstance(holder[key], kind)]
    return random.choice(places) if places else None


def _change_a_value(made: Any, other: Any, random: Random) -> None:
    holder, key = random.choice(_places(made))
    holder[key] = random.choice(_VALUES)


def _change_a_number(made: Any, other: Any, random: Random) -> None:
    place = _any(made, random, int)
    if place is not None:
        place[0][place[1]] = random.choice((0, 1, 2, 3, 5, 8, 12, -1, 2**31, 2**47))


def _change_a_text(made: Any, other: Any, random: Random) -> None:
    place, source = _any(made, random, str), _any(random.choice((made, other)), random, str)
    if place is not None and source is not None:
        place[0][place[1]] = random.choice((*_TEXTS, *[source[0][source[1]]] * 12))


def _take_away(made: Any, other: Any, random: Random) -> None:
    holder, key = random.choice(_places(made))
    del holder[key]


def _repeat(made: Any, other: Any, random: Random) -> None:
    place = _any(made, random, list)
    if place is not None and place[0][place[1]]:
        values = place[0][place[1]]
        values.insert(random.randrange(len(values) + 1), json.loads(json.dumps(random.choice(values))))


def _borrow(made: Any, other: Any, random: Random) -> None:
    """A structure replaced by one of its kind, from here or from another program."""
    place = _any(made, random, (dict, list))
    if place is None:
        return
    holder, key = place
    same = [one for one, name in _places(random.choice((made, other))) if name == key for one in [one[name]]]
    if same:
        holder[key] = json.loads(json.dumps(random.choice(same)))


def _change_a_kind(made: Any, other: Any, random: Random) -> None:
    """A union that says it is something else."""
    unions = [holder[key] for holder, key in _places(made) if isinstance(holder[key], dict) and len(holder[key]) == 1]
    if unions:
        union = random.choice(unions)
        _, value = union.popitem()
        union[random.choice(_KINDS)] = value


def _move_a_node(made: Any, other: Any, random: Random) -> None:
    nodes = made["graph_module"]["graph"]["nodes"]
    taken = nodes.pop(random.randrange(len(nodes)))
    nodes.insert(random.randrange(len(nodes) + 1), taken)


def _rewire(made: Any, other: Any, random: Random) -> None:
    """An operand that is another tensor, of a later node perhaps."""
    names = list(made["graph_module"]["graph"]["tensor_values"])
    places = [(holder, key) for holder, key in _places(made["graph_module"]["graph"]["nodes"]) if key == "name"]
    holder, key = random.choice(places)
    holder[key] = random.choice(names)


def _nest(made: Any, other: Any, random: Random) -> None:
    """The graph inside one of its own nodes, or another's there."""
    graph = json.loads(json.dumps(random.choice((made, other))["graph_module"]["graph"]))
    node = random.choice(made["graph_module"]["graph"]["nodes"])
    node["target"] = random.choice(("torch.ops.higher_order.wrap", "torch.ops.higher_order.cond"))
    node["inputs"].insert(0, {"name": "", "arg": {"as_graph": {"name": "g", "graph": graph}}, "kind": 1})


def _open_a_size(made: Any, other: Any, random: Random) -> None:
    sizes = [(holder, key) for holder, key in _places(made) if key == "as_int" and len(holder) == 1]
    if sizes:
        holder, _ = random.choice(sizes)
        holder.clear()
        holder["as_expr"] = {"expr_str": random.choice(_TEXTS[-4:])}


_ON_JSON: tuple[Callable[[Any, Any, Random], None], ...] = (
    _change_a_value,
    _change_a_number,
    _change_a_number,
    _change_a_text,
    _take_away,
    _repeat,
    _borrow,
    _borrow,
    _change_a_kind,
    _move_a_node,
    _rewire,
    _rewire,
    _nest,
    _open_a_size,
)
