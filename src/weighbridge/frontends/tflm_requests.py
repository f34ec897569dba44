"""What TensorFlow Lite Micro asks for when it loads a model: the buffers of its arena and when each is in use.

The rules are those of micro_allocation_info.cc and micro_allocator.cc (tensorflow/tflite-micro).  A scope is counted up by
every operator, and once more by every subgraph that one calls; a buffer is in use from the first scope that makes it to the last
that makes or reads it.  What the planned graphs never touch has the scope -1: the runtime plans it, too, beside everything that lives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from weighbridge.arena import Arena, ArenaBuffer
from weighbridge.frontends.tflite_model import TfliteModel, TfliteTensor
from weighbridge.frontends.tflm_call import bytes_of, calls_of
from weighbridge.frontends.tflm_kernels import CALLED, refusal
from weighbridge.frontends.tflm_offline import Places, Unplannable, places_of
from weighbridge.frontends.tflm_persistent import persistent_of
from weighbridge.frontends.tflm_scratch import Scratch, scratch_of
from weighbridge.frontends.tflm_shapes import as_prepared

__all__ = ["arena_of"]

_UNTOUCHED: Final = -1
_MOST_SCOPES: Final = 1_000_000
_DEEPEST: Final = 100


def arena_of(
    model: TfliteModel, names: Mapping[tuple[int, int], str], tensor_names: Mapping[tuple[int, int], str]
) -> Arena:
    """The requests for a model as its file has it.

    ``names`` are those of nodes by (subgraph, operator), ``tensor_names`` those of tensors by (subgraph, tensor); what has none
    keeps that of the file.  Where TensorFlow Lite Micro does not load the model, ``reason`` says why.
    """
    written, model = model, as_prepared(model)
    reason = refusal(model)
    if reason:
        return Arena(reason=reason)
    try:
        places = places_of(model)
        lives = _Lives(model, names)
        lives.walk(0)
        buffers = (*_tensors(model, lives, places, tensor_names), *_scratch(lives))
    except Unplannable as refused:
        return Arena(reason=str(refused))
    return Arena(buffers, tuple(lives.scopes), persistent_of(model, written, places))


class _Lives:
    """Walks a model as the runtime calls it; ``scopes`` are the nodes of the scopes, ``first`` and ``last`` by tensor."""

    def __init__(self, model: TfliteModel, names: Mapping[tuple[int, int], str]) -> None:
        self._model, self._names = model, names
        self.scopes = [""]
        self.first = [[_UNTOUCHED] * len(subgraph.tensors) for subgraph in model.subgraphs]
        self.last = [[_UNTOUCHED] * len(subgraph.tensors) for subgraph in model.subgraphs]
        self.scratch: dict[tuple[int, int], tuple[int, int]] = {}

    def name(self, subgraph: int, operator: int) -> str:
        found = self._names.get((subgraph, operator))
        return found or f"{self._model.subgraphs[subgraph].operators[operator].op} {operator} of subgraph {subgraph}"

    def requests(self) -> Iterator[tuple[int, int, tuple[Scratch, ...]]]:
        for number, subgraph in enumerate(self._model.subgraphs):
            for place, call in enumerate(calls_of(self._model, subgraph)):
                yield number, place, scratch_of(call)

    def walk(self, number: int, depth: int = 0) -> None:
        if depth > _DEEPEST:
            raise Unplannable(f"its subgraphs call each other more than {_DEEPEST} deep")
        subgraph = self._model.subgraphs[number]
        self._make(number, subgraph.inputs)
        self._use(number, subgraph.inputs)
        for place, operator in enumerate(subgraph.operators):
            self._enter(self.name(number, place))
            begun = self._now
            self._make(number, operator.outputs)
            for option, _, _ in CALLED.get(operator.op, ()):
                self._enter(self.name(number, place))
                self.walk(operator.options[option], depth + 1)
            self._use(number, (*operator.inputs, *operator.outputs))
            self.scratch[number, place] = self.scratch.get((number, place), (begun, begun))[0], self._now
        self._make(number, subgraph.outputs)
        self._use(number, subgraph.outputs)

    def _make(self, number: int, tensors: tuple[int, ...]) -> None:
        """A tensor is there from the first time that something makes it."""
        first = self.first[number]
        for tensor in tensors:
            if first[tensor] == _UNTOUCHED:
                first[tensor] = self._now

    def _use(self, number: int, tensors: tuple[int, ...]) -> None:
        for tensor in tensors:
            if tensor >= 0:
                self.last[number][tensor] = self._now

    @property
    def _now(self) -> int:
        return len(self.scopes) - 1

    def _enter(self, node: str) -> None:
        self.scopes.append(node)
        if len(self.scopes) > _MOST_SCOPES:
            raise Unplannable(f"its subgraphs call each other more than {_MOST_SCOPES:,} times")


def _tensors(
    model: TfliteModel, lives: _Lives, places: Places, names: Mapping[tuple[int, int], str]
) -> list[ArenaBuffer]:
    """All tensors of all subgraphs, whether somebody uses them or not, but for those whose values are kept elsewhere."""
    buffers = []
    for number, subgraph in enumerate(model.subgraphs):
        handles = {
            tensor for operator in subgraph.operators if operator.op == "VAR_HANDLE" for tensor in operator.outputs
        }
        for index, tensor in enumerate(subgraph.tensors):
            offset = places.get((number, index))
            size = bytes_of(tensor) or 0
            if index in handles or not _is_planned(tensor, size, offset):
                continue
            first = lives.first[number][index]
            buffers.append(
                ArenaBuffer(
                    name=names.get((number, index), tensor.name),
                    bytes=size,
                    first=first,
                    last=lives.last[number][index],
                    node=lives.scopes[first] if first >= 0 else "",
                    offset=offset,
                )
            )
    return buffers


def _is_planned(tensor: TfliteTensor, size: int, offset: int | None) -> bool:
    """Variables are kept apart, unless the file's plan has a place for them."""
    if tensor.is_variable:
        return offset is not None
    return size > 0 and tensor.data is None


def _scratch(lives: _Lives) -> list[ArenaBuffer]:
    """The scratch of all operators, in the order in which they are prepared."""
    buffers = []
    for number, place, wanted in lives.requests():
        if wanted and (number, place) not in lives.scratch:
            what = f"an operator of subgraph {number}, which nothing calls, asks for scratch, whose size the runtime never sets"
            raise Unplannable(what)
        node = lives.name(number, place)
        for what, size in wanted:
            first, last = lives.scratch[number, place]
            buffers.append(ArenaBuffer(f"{node}: {what}", size, first, last, node=node, is_scratch=True))
    return buffers
