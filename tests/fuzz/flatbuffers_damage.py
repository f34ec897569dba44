"""Damage to TensorFlow Lite files: to their bytes, and to numbers that mean something, in place.  The same seed does the same damage."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import NamedTuple

from mutations import damage_bytes

from weighbridge.frontends.tflite_schema import _OPTIONS, _OPTIONS_2, BUILTIN_OPERATORS, ELEMENT_TYPES

__all__ = ["damage_flatbuffer"]

_TABLES: Mapping[str, str] = {
    "Model": "I [OperatorCode [SubGraph s [Buffer [i [Metadata [SignatureDef [Group [External",
    "OperatorCode": "b s i i",
    "SubGraph": "[Tensor [i [i [Operator s",
    "Tensor": "[i b I s Quantisation ? Sparsity [i ? [Variant I",
    "Quantisation": "[f [f [f [q B Details i",
    "Details": "i i i [i",
    "Sparsity": "[i [i [Dimension",
    "Dimension": "b i B Index B Index",
    "Index": "[i",
    "Operator": "I [i [i B options [B b [? [i Q Q B options2",
    "Buffer": "[B Q Q",
    "Metadata": "s I",
    "SignatureDef": "[TensorMap [TensorMap s s I",
    "TensorMap": "s I",
    "Group": "s",
    "External": "I I Q Q s",
    "Variant": "[i b ?",
}
"""The kinds of the fields of the schema's tables, in their order; a name is a table."""
_WIDTHS = {kind: struct.calcsize(f"<{kind}") for kind in "?bBiIqQf"}
_INTEGERS = (0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 127, 128, 255, 65535, 65536, 2**24, 2**31 - 1, 2**31, 2**32 - 1)
_INTEGERS += (2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1, -1, -2, -3, -128, -(2**31), -(2**63))
_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-45, 3e38, float("inf"), float("-inf"), float("nan"))
_CONTROL = ("IF", "WHILE", "CALL", "CALL_ONCE", "STABLEHLO_COMPOSITE", "STABLEHLO_WHILE", "VAR_HANDLE", "READ_VARIABLE")
_CONTROL += ("ASSIGN_VARIABLE", "CUSTOM", "RESHAPE", "CONV_2D", "UNIDIRECTIONAL_SEQUENCE_LSTM", "SVDF", "STRIDED_SLICE")
_MOST_ELEMENTS = 64


class _Place(NamedTuple):
    """A number at a position of the file; ``path`` is the fields that led to it (``Tensor.1``), and ``kind`` its kind, or
    ``offset``, ``length`` or ``entry`` (of a list of fields).
    """

    position: int
    kind: str
    path: str


def damage_flatbuffer(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """``data`` with one to three faults; ``others`` are files to splice in and to borrow from."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        places = _places(data) if random.random() < 0.85 else ()
        data = random.choice(_ON_PLACES)(data, places, random) if places else damage_bytes(data, others, random)
    return data


@lru_cache(maxsize=256)
def _places(data: bytes) -> tuple[_Place, ...]:
    """Every number that says something of the structure; nothing where the file cannot be walked any more."""
    found: list[_Place] = [_Place(0, "offset", "Model")]
    try:
        _walk(data, struct.unpack_from("<I", data, 0)[0], "Model", found, 0)
    except (struct.error, IndexError, RecursionError, ValueError):
        return tuple(found)
    return tuple(found)


def _walk(data: bytes, position: int, table: str, found: list[_Place], union: int) -> None:
    if len(found) > 50_000:
        raise ValueError(table)
    vtable = position - struct.unpack_from("<i", data, position)[0]
    kinds = _kinds(table, union)
    count = (struct.unpack_from("<H", data, vtable)[0] - 4) // 2
    found.append(_Place(position, "i", f"{table}.vtable"))
    number = 0
    for place in range(min(count, len(kinds))):
        at = struct.unpack_from("<H", data, vtable + 4 + 2 * place)[0]
        found.append(_Place(vtable + 4 + 2 * place, "entry", f"{table}.{place}"))
        if at:
            number = _field(data, position + at, f"{table}.{place}", kinds[place], found, number)


def _field(data: bytes, position: int, path: str, kind: str, found: list[_Place], union: int) -> int:
    """Note a field and what is behind it; returns its number where it may say which options follow."""
    if kind in _WIDTHS:
        found.append(_Place(position, kind, path))
        return int(data[position]) if kind == "B" else union
    found.append(_Place(position, "offset", path))
    target = position + struct.unpack_from("<I", data, position)[0]
    if kind == "s" or kind[0] == "[":
        found.append(_Place(target, "length", path))
        _elements(data, target, path, kind[1:] or "B", found)
    else:
        _walk(data, target, kind, found, union)
    return union


def _elements(data: bytes, start: int, path: str, kind: str, found: list[_Place]) -> None:
    count = min(struct.unpack_from("<I", data, start)[0], _MOST_ELEMENTS)
    width = _WIDTHS.get(kind, 4)
    for index in range(count):
        position = start + 4 + index * width
        if kind in _WIDTHS:
            found.append(_Place(position, kind, f"{path}[]"))
        else:
            found.append(_Place(position, "offset", f"{path}[]"))
            _walk(data, position + struct.unpack_from("<I", data, position)[0], kind, found, 0)


def _kinds(table: str, union: int) -> list[str]:
    if table in _TABLES:
        return _TABLES[table].split()
    words = (_OPTIONS if table == "options" else _OPTIONS_2).get(union, "").split()
    return [word.partition("=")[0].partition(":")[2] or "i" for word in words]


def _written(data: bytes, position: int, kind: str, value: float) -> bytes:
    width = _WIDTHS.get(kind, 4)
    if not 0 <= position <= len(data) - width:
        return data
    packed = struct.pack("<f", value) if kind == "f" else (int(value) % (1 << 8 * width)).to_bytes(width, "little")
    return data[:position] + packed + data[position + width :]


def _some(places: Sequence[_Place], random: Random, *wanted: str) -> _Place:
    """The place of a number whose path begins with one of the wanted ones; of any number where there is none."""
    numbers = [place for place in places if place.kind in _WIDTHS]
    return random.choice([place for place in numbers if place.path.startswith(wanted)] or numbers or places)


def _change_a_number(data: bytes, places: Sequence[_Place], random: Random) -> bytes:
    place = _some(places, random, "") if random.random() < 0.8 else random.choice(places)
    if place.kind == "entry":
        return _change_a_layout(data, [place], random)
    return _written(data, place.position, place.kind, random.choice(_FLOATS if place.kind == "f" else _INTEGERS))


def _change_a_layout(data: bytes, places: Sequence[_Place], random: Random) -> bytes:
    """A field that is left out, or that is where another one is."""
    entries = [place for place in places if place.kind == "entry"]
    if not entries:
        return data
    value = random.choice((0, 0, 0, 4, 8, 12, 16, 65535))
    at = random.choice(entries).position
    return data[:at] + value.to_bytes(2, "little") + data[at + 2 :]


def _change_a_shape(data: bytes, places: Sequence[_Place], random: Random) -> bytes:
    place = _some(places, random, "Tensor.0", "Tensor.7")
    return _written(data, place.position, place.kind, random.choice((*_INTEGERS, *range(-2, 12), *range(12))))


def _change_a_type(data: bytes, places: Sequence[_Place], random: Random) -> bytes:
    place = _some(places, random, "Tensor.1", "Tensor.5")
    return _written(data, place.position, place.kind, random.randrange(-1, len(ELEMENT_TYPES) + 2))


def _rewire(data: bytes, places: Sequence[_Place], random: Random) -> bytes:
    """An operand that is another tensor, of a later operator perhaps, or absent."""
    place = _some(places, random, "Operator.1[]", "Operator.2[]", "SubGraph.1[]", "SubGraph.2[]")
    tensors = sum(place.path == "SubGraph.0[]" for place in places)
    wrong = random.choice((-1, tensors, random.choice(_INTEGERS)))
    number = random.randrange(max(1, tensors)) if random.random() < 0.8 else wrong
    return _written(data, place.position, place.kind, number)


def _change_an_operator(data: bytes, places: Sequence[_Place], random: Random) -> bytes:
    place = _some(places, random, "OperatorCode.0", "OperatorCode.3", "Operator.0")
    if place.path == "Operator.0":
        return _written(data, place.position, place.kind, random.randrange(6))
    name = random.choice((*_CONTROL, *BUILTIN_OPERATORS))
    return _written(data, place.position, place.kind, BUILTIN_OPERATORS.index(name) + random.choice((0, 0, 0, 100)))


def _change_an_option(data: bytes, places: Sequence[_Place], random: Random) -> bytes:
    place = _some(places, random, "options", "Operator.3", "Operator.11")
    numbers = _FLOATS if place.kind == "f" else (*_INTEGERS, *range(12))
    return _written(data, place.position, place.kind, random.choice(numbers))


def _swap(data: bytes, places: Sequence[_Place], random: Random) -> bytes:
    """Two parts of one list in each other's place: operators out of order, tensors of other numbers."""
    lists = ("SubGraph.3[]", "SubGraph.0[]", "Model.2[]", "Model.1[]", "Model.4[]")
    first = random.choice([place for place in places if place.path in lists] or places)
    second = random.choice([place for place in places if place.path == first.path])
    return _pointed(_pointed(data, first, _target(data, second)), second, _target(data, first))


def _share(data: bytes, places: Sequence[_Place], random: Random) -> bytes:
    """An offset that leads where another one does: to a part of the same kind, or of any."""
    first = random.choice([place for place in places if place.kind == "offset"])
    same = [place for place in places if place.kind == "offset" and place.path == first.path]
    other = random.choice(same if random.random() < 0.7 else [place for place in places if place.kind == "offset"])
    return _pointed(data, first, _target(data, other))


def _target(data: bytes, place: _Place) -> int:
    return place.position + int.from_bytes(data[place.position : place.position + 4], "little")


def _pointed(data: bytes, place: _Place, target: int) -> bytes:
    return _written(data, place.position, "I", target - place.position)


def _lengthen(data: bytes, places: Sequence[_Place], random: Random) -> bytes:
    lengths = [place for place in places if place.kind == "length"]
    if not lengths:
        return data
    place = random.choice(lengths)
    count = int.from_bytes(data[place.position : place.position + 4], "little")
    return _written(data, place.position, "I", random.choice((count + 1, count - 1, count * 2, 0, 1, *_INTEGERS)))


def _change_values(data: bytes, places: Sequence[_Place], random: Random) -> bytes:
    """Other whole numbers in a buffer: axes, shapes, paddings."""
    place = _some(places, random, "Buffer.0[]")
    number = random.choice((*_INTEGERS, *range(-4, 12)))
    return _written(data, place.position, "i", number)


_ON_PLACES: tuple[Callable[[bytes, Sequence[_Place], Random], bytes], ...] = (
    _change_a_number,
    _change_a_number,
    _change_a_layout,
    _change_a_shape,
    _change_a_shape,
    _change_a_type,
    _rewire,
    _rewire,
    _change_an_operator,
    _change_an_operator,
    _change_an_option,
    _change_an_option,
    _swap,
    _share,
    _lengthen,
    _change_values,
    _change_values,
)
