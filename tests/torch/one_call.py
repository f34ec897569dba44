"""One PyTorch operator at a time through the front end: what it becomes, held against PyTorch's own result."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from tests.torch.modules import OneCall
from weighbridge.counts.cost import call_of
from weighbridge.frontends.aten_call import Program, Rule
from weighbridge.frontends.aten_graph import build
from weighbridge.frontends.from_torch import capture
from weighbridge.graph import UNKNOWN, Graph
from weighbridge.operators.table import OPERATORS

_DTYPES = {
    "i": torch.int64,
    "b": torch.bool,
    "c": torch.complex64,
    "h": torch.float16,
    "u": torch.uint8,
    "d": torch.float64,
}


class Example(NamedTuple):
    """A call of tensors: each is said by its dimensions, letters standing for sizes that are drawn: ``"a b 3"``, ``"i:a"``."""

    call: Callable[..., Any]
    tensors: tuple[str, ...]


def example(call: Callable[..., Any], *tensors: str) -> Example:
    return Example(call, tensors)


def given(function: Callable[..., Any], *arguments: Any, **named: Any) -> Callable[..., Any]:
    """The function with these arguments behind the tensors."""
    return lambda *tensors: function(*tensors, *arguments, **named)


def drawn(texts: Sequence[str], seed: int) -> list[torch.Tensor]:
    """The tensors that the texts say, with sizes from 2 to 5 for the letters."""
    chance, sizes = random.Random(seed), {}
    tensors = []
    for text in texts:
        kind, _, dims = text.rpartition(":")
        shape = [int(one) if one.isdigit() else sizes.setdefault(one, chance.randint(2, 5)) for one in dims.split()]
        tensors.append(_filled(shape, _DTYPES.get(kind, torch.float32), seed))
    return tensors


def _filled(shape: list[int], dtype: torch.dtype, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype in (torch.int64, torch.uint8):
        return torch.randint(0, 2, shape, generator=generator, dtype=dtype)
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) > 0.4
    return torch.rand(shape, generator=generator).to(dtype) * 0.8 + 0.1


def checked(one: Example, seed: int) -> tuple[Program, Graph]:
    """The program and graph of an example, whose nodes all have a rule, a result like PyTorch's, and answers from the rules."""
    tensors = drawn(one.tensors, seed)
    program = capture(OneCall(one.call), tuple(tensors), {})
    graph = build(program)
    unknown = [f"{node.origin}: {node.reason}" for node in graph.nodes if node.operator == UNKNOWN]
    assert not unknown
    with torch.inference_mode():
        results = _flat(one.call(*tensors))
    ours = {(graph.tensors[name].shape, graph.tensors[name].dtype.name) for name in graph.outputs}
    assert ours == {(tuple(result.shape), str(result.dtype).removeprefix("torch.")) for result in results}
    for node in graph.nodes:
        call, op = call_of(node, graph), OPERATORS[node.operator]
        op.work(call)
        op.traffic(call)
    return program, graph


def _flat(value: Any) -> Iterable[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for one in value for tensor in _flat(one)]


def used(program: Program, rules: Mapping[str, Rule]) -> set[str]:
    """The keys of the rules that the calls of a program are translated by."""
    found = set()
    for call in program.calls:
        for name in (call.op, f"{call.op}_"):
            key = next((key for key in (f"{name}.{call.overload}", name) if key in rules), None)
            if key is not None:
                found.add(key)
                break
    return found
