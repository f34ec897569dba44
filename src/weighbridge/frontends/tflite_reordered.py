"""A TensorFlow Lite file with its operators in another order: the offsets in the list of a subgraph lead to other tables.

An offset counts from its own position, so that it is another number in another place; tables, weights and what stands behind
the flatbuffer stay where they are, and the file keeps its length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from weighbridge.errors import BadModel, BadSpec
from weighbridge.frontends.file_order import Piece, Rewritten
from weighbridge.frontends.flatbuffer import Buffer
from weighbridge.frontends.tflite_hash_tables import HASH_TABLES
from weighbridge.frontends.tflite_inputs import entry_of
from weighbridge.frontends.tflite_model import Operator, Subgraph, TfliteModel
from weighbridge.frontends.tflite_read import read_model
from weighbridge.frontends.tflite_variables import VARIABLES
from weighbridge.named_tuple import NamedTuple

__all__ = ["TfliteList", "tflite_list"]

_SUBGRAPHS, _OPERATORS = 2, 3
"""Fields of a model and of a subgraph."""
_WORD: Final = 4
_CONTROL: Final = "model_control_dependencies"
_PLAN: Final = "OfflineMemoryAllocation"
_PLAN_HEADER: Final = 3
_UNPLANNED: Final = -1
_COMPILED: Final = "ethos-u"
_CALLS: Final = frozenset(
    {"CALL", "CALL_ONCE", "IF", "WHILE", "STABLEHLO_CASE", "STABLEHLO_COMPOSITE", "STABLEHLO_WHILE"}
)
_EFFECTS: Final = frozenset(
    {*VARIABLES, *HASH_TABLES, "HASHTABLE_FIND", "HASHTABLE_LOOKUP", "HASHTABLE_SIZE", "CALL_ONCE"}
)


class TfliteList(NamedTuple):
    """The operators of the subgraph ``number`` of a model; ``start`` is where the offsets of its list begin."""

    before: tuple[frozenset[int], ...]
    order: tuple[int, ...]
    effects: frozenset[int]
    model: TfliteModel
    number: int
    start: int

    def rewritten(self, order: Sequence[int]) -> Rewritten:
        """The file with its operators in this order, and without a plan of memory, which was made for the old one.

        Raises ``BadSpec`` for a file that says of operators by their number what runs before what, and for one whose plan belongs
        to compiled code, and ``BadModel`` where the list cannot be written.
        """
        model = self.model
        if _CONTROL in model.metadata:
            hint = "convert it without that, or keep its order"
            raise BadSpec(f"the file says in its metadata {_CONTROL} what runs before what", where="export", hint=hint)
        changes = {self.start: _moved(model.data, self.start, order)}
        notes = []
        if _PLAN in model.metadata:
            place, words = _unplanned(model)
            changes[place] = words
            what = "its plan of memory was made for the old order and is taken out: the runtime makes one"
            notes.append(f"{what} ({_PLAN})")
        return Rewritten(tuple(_pieces(changes, len(model.data))), tuple(notes))


def tflite_list(path: Path, signature: str = "") -> TfliteList:
    """The operators of the subgraph that a signature names, the first one by default, in the file at ``path``.

    Raises what reading a model does, and ``BadModel`` where two subgraphs have one list.
    """
    model = read_model(path)
    number = entry_of(model, signature).subgraph
    subgraph = model.subgraphs[number]
    makers = {tensor: one.number for one in subgraph.operators for tensor in one.outputs}
    before = [frozenset(makers[tensor] for tensor in one.inputs if tensor in makers) for one in subgraph.operators]
    effects = frozenset(one.number for one in subgraph.operators if _has_effects(model, number, one))
    try:
        start = _list_start(model, number)
    except BadModel as error:
        raise error.at(path.name) from None
    return TfliteList(tuple(before), tuple(range(len(before))), effects, model, number, start)


def _has_effects(model: TfliteModel, number: int, operator: Operator) -> bool:
    """Whether an operator reads or writes what outlives it, itself or, as far as can be told, in a subgraph that it calls."""
    if _touches(model.subgraphs[number], operator):
        return True
    others = (one for index, one in enumerate(model.subgraphs) if index != number)
    return operator.op in _CALLS and any(_touches(other, one) for other in others for one in other.operators)


def _touches(subgraph: Subgraph, operator: Operator) -> bool:
    variables = any(one >= 0 and subgraph.tensors[one].is_variable for one in operator.inputs)
    return variables or operator.op in _EFFECTS or not operator.outputs


def _list_start(model: TfliteModel, number: int) -> int:
    """Where the offsets of the operators of a subgraph begin; the end of the file where it has none."""
    spans = [one.span(_OPERATORS, _WORD) for one in Buffer(model.data).root().tables(_SUBGRAPHS)]
    found = spans[number]
    if found is None:
        return len(model.data)
    start, stop = found[0], found[0] + _WORD * found[1]
    for index, other in enumerate(spans):
        if index != number and other is not None and other[0] < stop and start < other[0] + _WORD * other[1]:
            raise BadModel(f"subgraphs {number} and {index} have one list of operators", hint="convert it again")
    return start


def _moved(data: memoryview, start: int, order: Sequence[int]) -> bytes:
    """The offsets of a list whose entries come in this order."""
    positions = range(start, start + _WORD * len(order), _WORD)
    targets = [place + struct.unpack_from("<I", data, place)[0] for place in positions]
    offsets = [targets[old] - place for place, old in zip(positions, order, strict=True)]
    for offset, old in zip(offsets, order, strict=True):
        if not 0 < offset < 1 << 32:
            what = f"operator {old} stands in front of its list, where no offset leads back to it"
            raise BadModel(what, hint="convert the model again")
    return struct.pack(f"<{len(offsets)}I", *offsets)


def _unplanned(model: TfliteModel) -> tuple[int, bytes]:
    """Where the offsets of the plan in the file are, and as many that leave it to the runtime.

    Raises ``BadSpec`` where code for an NPU expects its tensors where the plan has them, and ``BadModel`` where the plan is no
    plan, or its bytes are those of a tensor as well.
    """
    if any(one.custom == _COMPILED for subgraph in model.subgraphs for one in subgraph.operators):
        what = f"its plan of memory ({_PLAN}) belongs to code that was compiled for an NPU ({_COMPILED})"
        raise BadSpec(what, where="export", hint="write the order into the model first, and compile that")
    place, size = model.metadata[_PLAN]
    held = (tensor.data for subgraph in model.subgraphs for tensor in subgraph.tensors if tensor.data is not None)
    if any(start < place + size and place < start + length for start, length in held):
        raise BadModel(f"its plan of memory ({_PLAN}) is a tensor as well", hint="convert the model again")
    count = max(size // _WORD - _PLAN_HEADER, 0)
    return place + _WORD * _PLAN_HEADER, struct.pack(f"<{count}i", *[_UNPLANNED] * count)


def _pieces(changes: dict[int, bytes], size: int) -> Iterator[Piece]:
    """The file with other bytes in some places."""
    copied = 0
    for place, content in sorted(changes.items()):
        if content:
            yield copied, place
            yield content
            copied = place + len(content)
    yield copied, size
